//! Programs and libraries: files of machine code, whoever made them.

use crate::room::{self, contents};
use crate::target::{Said, Shape, Target, about, check_sentence};
use fathomp_analysis::symbols::{Symbols, Variables};
use fathomp_cfg::{Decoded, Effects, Flow, Image, decode, is_call, jump_target, successors, sync};
use fathomp_regions::Regions;
use fathomp_scan::scan_bytes;
use fathomp_trips::dry::{Answer, DryPlan, LoopPlan, Memory, Start, run};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions and flow graphs.
pub(super) const IMAGE: Target = Target {
    name: "image",
    what: "programs: functions, flow graphs, imports, what calls leave",
    shape: Shape::Elf,
    seeds: programs,
    read: image,
};

/// What regions contain.
pub(super) const SCAN: Target = Target {
    name: "scan",
    what: "programs: what their parallel regions contain",
    shape: Shape::Elf,
    seeds: programs,
    read: scan,
};

/// Atomics and loops that wait.
pub(super) const PATCH: Target = Target {
    name: "patch",
    what: "programs: inline atomics, and loops that wait",
    shape: Shape::Elf,
    seeds: programs,
    read: patch,
};

/// Names and lines.
pub(super) const SYMBOLS: Target = Target {
    name: "symbols",
    what: "programs: symbols, lines and variables (DWARF)",
    shape: Shape::Elf,
    seeds: programs,
    read: symbols,
};

/// Instructions.
pub(super) const INSTRUCTIONS: Target = Target {
    name: "instructions",
    what: "bytes as machine code",
    shape: Shape::Bytes,
    seeds: code,
    read: instructions,
};

/// Dry runs.
pub(super) const DRY: Target = Target {
    name: "dry-run",
    what: "bytes as a body's machine code that is run dry",
    shape: Shape::Bytes,
    seeds: code,
    read: dry,
};

/// Small programs with and without debug information, made by the compiler that everything
/// here needs.
fn programs() -> Vec<Vec<u8>> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
    let directory = room::path().join("programs");
    if !directory.exists() {
        fs::create_dir_all(&directory).expect("a directory in the room");
        let build = |source: &str, flags: &[&str], name: &str| {
            let mut gcc = Command::new("gcc");
            gcc.args(flags).arg(root.join(source)).args(["-lm", "-o"]);
            let status = gcc.arg(directory.join(name)).status();
            assert!(
                status.is_ok_and(|status| status.success()),
                "gcc makes {source}"
            );
        };
        build(
            "binary/scan/tests/damage/loops.c",
            &["-O2", "-g", "-fopenmp"],
            "loops",
        );
        build("binary/cfg/tests/programs/switches.c", &["-O2"], "switches");
        let shared = ["-shared", "-nostdlib"];
        build("binary/cfg/tests/programs/graphs.s", &shared, "graphs");
    }
    contents(&directory).expect("a directory of seeds")
}

/// What the first program's regions contain.
pub(super) fn scanned() -> Regions {
    let programs = programs();
    let scanned = programs.iter().filter_map(|program| {
        let regions = scan_bytes(Path::new("loops"), program.as_slice()).ok()?;
        (!regions.regions.is_empty()).then_some(regions)
    });
    scanned.into_iter().next().expect("a program with regions")
}

fn image(input: &[u8]) -> Said {
    let image = match Image::parse(input) {
        Ok(image) => image,
        Err(error) => return Said::refused(&error),
    };
    let mut graphs = [0, 0];
    for id in image.ids() {
        match Flow::of(&image, id) {
            Ok(flow) => {
                let _ = flow.post_dominators();
                graphs[0] += 1;
            }
            Err(error) => {
                check_sentence(&error.to_string());
                graphs[1] += 1;
            }
        }
    }
    let effects = Effects::of(&image, image.ids());
    for id in image.ids() {
        let _ = (image.name(id), effects.left(id));
    }
    let _ = image.users(|name| name.starts_with("GOMP_"));
    for section in image.sections() {
        let _ = image.constant(section.range.start, 8);
        let _ = image.bytes(section.range.start, 16);
    }
    Said::read((
        graphs.map(about),
        about(image.sections().len()),
        image.is_stripped(),
    ))
}

fn scan(input: &[u8]) -> Said {
    match scan_bytes(Path::new("foreign"), input) {
        Ok(regions) => {
            let text = regions.to_json().expect("numbers that JSON can say");
            let again = Regions::from_json(&text).expect("what was just written");
            assert_eq!(again, regions, "regions change when they are written");
            for problem in &regions.problems {
                check_sentence(problem);
            }
            Said::read([
                about(regions.regions.len()),
                about(text.len()),
                about(regions.problems.len()),
            ])
        }
        Err(error) => Said::refused(&error),
    }
}

fn patch(input: &[u8]) -> Said {
    let path = room::put("patched", input);
    match fathomp_rewriting::analyse(&path, 0x5555_0000_0000) {
        Ok(found) => Said::read(about(format!("{found:?}").len())),
        Err(error) => Said::refused(&error),
    }
}

fn symbols(input: &[u8]) -> Said {
    let path = room::put("program", input);
    let mut symbols = Symbols::new();
    let mut letters = 0;
    for address in (0x1000..0x1400).step_by(16) {
        let place = symbols.place(&path, address, address + 8);
        letters += place.label.len();
        for place in symbols.places(&path, address) {
            letters += place.label.len();
        }
        let _ = symbols.lines(&path, address);
    }
    let variables = Variables::open(&path);
    let shown = format!("{variables:?}");
    Said::read([
        about(letters),
        about(shown.len()),
        about(symbols.without_lines().len()),
    ])
}

/// The text sections of the programs.
fn code() -> Vec<Vec<u8>> {
    let all = programs();
    let images = all
        .iter()
        .filter_map(|program| Image::parse(program.as_slice()).ok());
    let code = images.filter_map(|image| {
        let text = image.sections().iter().find(|section| section.execute)?;
        image
            .bytes(text.range.start, text.range.end - text.range.start)
            .map(<[u8]>::to_vec)
    });
    // Short, so that a change is likely to matter.
    code.flat_map(|code| code.chunks(256).map(<[u8]>::to_vec).collect::<Vec<_>>())
        .take(40)
        .collect()
}

fn instructions(input: &[u8]) -> Said {
    let (mut decoded, mut nothing, mut calls) = (0, 0, 0);
    let mut syncs = 0;
    decode(input, u64::MAX - 100, |found, constants| match found {
        Decoded::Instruction(instruction) => {
            decoded += instruction.len();
            calls += usize::from(is_call(instruction));
            syncs += usize::from(sync(instruction).is_some());
            let _ = constants(instruction);
            let _ = jump_target(instruction);
            let _ = successors(instruction);
        }
        Decoded::Nothing(_) => nothing += 1,
    });
    assert_eq!(decoded + nothing, input.len(), "bytes were left out");
    Said::read([about(decoded), about(nothing), about(calls), about(syncs)])
}

/// Code at its address, and behind it memory that as its address.
struct Code<'a>(&'a [u8]);

const CODE: u64 = 0x40_0000;

impl Memory for Code<'_> {
    fn read(&self, address: u64, into: &mut [u8]) -> usize {
        if address > 1 << 46 {
            return 0;
        }
        for (byte, address) in into.iter_mut().zip(address..) {
            let offset = usize::try_from(address.wrapping_sub(CODE)).unwrap_or(usize::MAX);
            *byte = self.0.get(offset).copied().unwrap_or((address >> 3) as u8);
        }
        into.len()
    }
}

fn dry(input: &[u8]) -> Said {
    let plan = DryPlan {
        loops: vec![LoopPlan {
            id: 0,
            header: 16,
            parent: None,
            trips: None,
        }],
        calls: vec![(0, Answer::Unknown), (5, Answer::Value(3))],
    };
    let start = Start {
        plan: &plan,
        function: CODE,
        bias: CODE,
        code: (CODE, CODE + input.len() as u64),
        data: 0x7000_0000,
        trips: &[None],
        steps_max: 20_000,
    };
    match run(start, &Code(input)) {
        Ok(found) => {
            assert!(found.steps <= 20_000, "more steps than allowed");
            Said::read((found.loops.len(), about(found.steps as usize)))
        }
        // A fragment of a program seldom runs to an end.
        Err(error) => Said::read(error.to_string()),
    }
}
