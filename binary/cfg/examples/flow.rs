//! Shows what is understood of a program's code: `cargo run -p fathomp-cfg --example flow --
//! PROGRAM [FUNCTION]`.

use fathomp_cfg::{Flow, Image};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    let Some(program) = arguments.next().map(PathBuf::from) else {
        eprintln!("usage: flow PROGRAM [FUNCTION]");
        return ExitCode::FAILURE;
    };
    let chosen = arguments
        .next()
        .map(|name| name.to_string_lossy().into_owned());
    let start = Instant::now();
    let image = match Image::read(&program) {
        Ok(image) => image,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let read = start.elapsed();
    let start = Instant::now();
    let (mut instructions, mut blocks, mut cycles, mut irreducible) = (0, 0, 0, 0);
    let mut flaws: BTreeMap<String, usize> = BTreeMap::new();
    for id in image.ids() {
        let name = image.name(id).unwrap_or_default();
        if chosen.as_deref().is_some_and(|chosen| chosen != name) {
            continue;
        }
        match Flow::of(&image, id) {
            Ok(flow) => {
                if chosen.is_some() {
                    show(&flow);
                }
                instructions += flow.instructions.len();
                blocks += flow.blocks.len();
                cycles += flow.cycles.len();
                irreducible += flow.cycles.iter().filter(|c| c.is_irreducible()).count();
                for flaw in &flow.flaws {
                    *flaws.entry(format!("{:?}", flaw.kind)).or_default() += 1;
                    if chosen.is_some() {
                        println!("{:#x} {:?}", flaw.at, flaw.kind);
                    }
                }
            }
            Err(error) => println!("{error}"),
        }
    }
    println!(
        "{} functions, {instructions} instructions, {blocks} blocks, {cycles} loops, \
         {irreducible} with several entries, {flaws:?}; read in {read:.1?}, joined in {:.1?}",
        image.functions().len(),
        start.elapsed()
    );
    ExitCode::SUCCESS
}

fn show(flow: &Flow) {
    for id in flow.ids() {
        let block = flow.block(id);
        println!(
            "{} {:#x} {} instructions -> {:?} {:?} loop {:?}{}",
            id.0,
            block.start,
            block.instructions.len(),
            block.successors.iter().map(|to| to.0).collect::<Vec<_>>(),
            block.leaves,
            flow.cycle_of(id).map(|cycle| cycle.0),
            if block.reachable {
                ""
            } else {
                " (not reachable)"
            }
        );
    }
    for (number, cycle) in flow.cycles.iter().enumerate() {
        println!(
            "loop {number} in {:?}, entries {:?}, {} blocks, exits {:?}",
            cycle.parent.map(|parent| parent.0),
            cycle
                .entries
                .iter()
                .map(|entry| entry.0)
                .collect::<Vec<_>>(),
            cycle.blocks.len(),
            cycle.exits
        );
    }
}
