//! How much of programs a scan understands: `coverage [--json|--loops] FILES...`.

use fathomp_regions::{AccessClass, Coverage, Known, Regions, Share};
use std::path::Path;
use std::time::Instant;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mode = match arguments.first().map(String::as_str) {
        Some("--json" | "--loops" | "--unknown") => arguments.remove(0),
        _ => String::new(),
    };
    let mut all = Coverage::default();
    let begin = Instant::now();
    println!(
        "{:<28} {:>9} {:>13} {:>13} {:>11} {:>6}",
        "program", "bodies", "innermost", "outer", "trips", "ms"
    );
    for file in &arguments {
        let begin = Instant::now();
        let regions = match fathomp_scan::scan(Path::new(file)) {
            Ok(regions) => regions,
            Err(error) => {
                println!("{error}");
                continue;
            }
        };
        let ms = begin.elapsed().as_millis();
        for problem in &regions.problems {
            println!("  {problem}");
        }
        match mode.as_str() {
            "--json" => println!("{}", regions.to_json().unwrap_or_default()),
            "--loops" => loops(&regions),
            "--unknown" => unknown(&regions),
            _ => {}
        }
        let coverage = &regions.modules[0].coverage;
        let name = Path::new(file).file_name().unwrap_or_default();
        row(&name.to_string_lossy(), coverage, ms);
        add(&mut all, coverage);
    }
    row("all", &all, begin.elapsed().as_millis());
    println!("unknown: {:?}", all.unknown);
}

fn row(name: &str, coverage: &Coverage, ms: u128) {
    println!(
        "{name:<28} {:>9} {:>13} {:>13} {:>11} {ms:>6}",
        format!("{}/{}", coverage.bodies.known, coverage.bodies.all),
        share(&coverage.innermost_accesses),
        share(&coverage.outer_accesses),
        share(&coverage.trips),
    );
}

fn share(share: &Share) -> String {
    let percent = 100.0 * share.known as f64 / share.all.max(1) as f64;
    format!("{}/{} {percent:.0}%", share.known, share.all)
}

fn add(all: &mut Coverage, one: &Coverage) {
    all.bodies.add(&one.bodies);
    all.innermost_accesses.add(&one.innermost_accesses);
    all.outer_accesses.add(&one.outer_accesses);
    all.trips.add(&one.trips);
    for (kind, count) in &one.unknown {
        match all.unknown.iter_mut().find(|(known, _)| known == kind) {
            Some((_, sum)) => *sum += count,
            None => all.unknown.push((*kind, *count)),
        }
    }
    all.unknown
        .sort_by_key(|(_, count)| std::cmp::Reverse(*count));
}

fn loops(regions: &Regions) {
    for body in regions
        .regions
        .iter()
        .filter_map(|region| region.body.as_ref())
    {
        let name = body.symbol.as_deref().unwrap_or("?");
        println!(
            "\n{name} at {:#x}, {:?}, {} starts",
            body.address,
            body.kind,
            body.starts.len()
        );
        for (number, one) in body.loops.iter().enumerate() {
            let indent = "  ".repeat(one.depth as usize + 1);
            let line = one.place.as_ref().map_or(0, |place| place.line);
            println!(
                "{indent}i{number} {:#x} line {line} {:?}",
                one.header, one.role
            );
            match &one.trips {
                Known::Known(trips) => println!("{indent}   trips {trips}"),
                Known::Unknown(reason) => println!("{indent}   trips unknown {reason:?}"),
            }
            match &one.entered_if {
                Some(Known::Known(guard)) => println!("{indent}   if {guard}"),
                Some(Known::Unknown(reason)) => println!("{indent}   if ? {reason:?}"),
                None => {}
            }
            if let Some(schedule) = &one.worksharing {
                println!("{indent}   {schedule:?}");
            }
        }
        for access in &body.accesses {
            let address = match &access.address {
                Known::Known(address) => {
                    let strides: Vec<String> = address
                        .strides
                        .iter()
                        .map(|stride| format!("i{}*{}", stride.over.0, stride.bytes))
                        .collect();
                    format!("{} [{}]", address.start, strides.join(", "))
                }
                Known::Unknown(reason) => format!("unknown {reason:?}"),
            };
            println!(
                "  {:#x} in {:?} {:?} {} {:?} g{} {:.2} {} {} {address}",
                access.at,
                access.inside.map(|id| id.0),
                access.direction,
                access.bytes,
                access.class,
                access.group,
                access.coverage,
                if access.always { "always" } else { "sometimes" },
                access.base.name.as_deref().unwrap_or("-"),
            );
        }
        for sum in &body.arithmetic {
            println!("  {sum:?}");
        }
        for call in &body.calls {
            println!("  {call:?}");
        }
    }
}

fn unknown(regions: &Regions) {
    for body in regions
        .regions
        .iter()
        .filter_map(|region| region.body.as_ref())
    {
        let name = body.symbol.as_deref().unwrap_or("?");
        for (number, one) in body.loops.iter().enumerate() {
            if let Known::Unknown(reason) = &one.trips {
                println!("{name} i{number} {:#x}: {reason:?}", one.header);
            }
        }
        for access in &body.accesses {
            if let AccessClass::Unknown(reason) = &access.class {
                println!(
                    "{name} access {:#x} in {:?}: {reason:?}",
                    access.at, access.inside
                );
            }
        }
    }
}
