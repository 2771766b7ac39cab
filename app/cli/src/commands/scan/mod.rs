//! `fathomp scan`: what the parallel regions of programs and sources contain.

mod inputs;
mod named;
mod score;

use crate::args::Scan;
use crate::console::{self, Console};
use crate::failure::{Failure, Outcome, exit};
use crate::output;
use fathomp_directives::{Compiled, Scanned, compile_commands, join, scan_file};
use fathomp_regions::{BodyKind, Region, Regions};
use fathomp_report::text::{self, ScanOptions};
use inputs::Inputs;
use std::fmt::Write as _;
use std::path::Path;

pub(super) fn scan(plan: &Scan, console: Console) -> Outcome {
    for file in plan.output.iter().chain(&plan.region_lines) {
        output::check_file(file, plan.force)?;
    }
    let mut inputs = Inputs::sort(&plan.inputs)?;
    if let Some(list) = &plan.commands {
        let compiled = compile_commands(list)?;
        if compiled.is_empty() && plan.inputs.is_empty() {
            return Err(Failure::new(format!(
                "{}: lists no source in C, C++ or Fortran: name sources or a program instead",
                list.display()
            )));
        }
        inputs.listed = compiled;
    }
    if plan.no_source && inputs.programs.is_empty() {
        return Err(Failure::new(
            "--no-source leaves out the sources that programs name, and there is no program: name one, or leave --no-source out",
        )
        .with_code(exit::USAGE));
    }
    let mut regions = Regions::default();
    for program in &inputs.programs {
        let found = fathomp_scan::scan(program)?;
        add(&mut regions, found);
    }
    let scanned = sources(plan, &inputs, &mut regions)?;
    join(&mut regions, scanned);
    if regions.regions.is_empty() {
        return Err(nothing(&regions, &inputs));
    }
    let scores = match plan.score {
        true => Some(score::scores(plan, &regions)?),
        false => None,
    };
    write(plan, &regions, console)?;
    if let Some(scores) = &scores {
        console.result("fathomp.score", scores, || scores.text())?;
        return Ok(0);
    }
    if console.json {
        return console::print_json(&regions).map(|()| 0);
    }
    let options = ScanOptions {
        width: console.width(),
        verbose: plan.verbose,
    };
    console::print(&text::scan(&regions, &options))?;
    Ok(0)
}

/// Joins the sources that debugging information names, as far as they are there; nothing
/// where sources were joined before.
pub(super) fn join_named(regions: &mut Regions) {
    if regions.regions.iter().any(|one| one.construct.is_some()) {
        return;
    }
    let mut scanned = Vec::new();
    for one in named::sources(regions, &[]) {
        match scan_file(&one.path, &one.options) {
            Ok(one) => scanned.push(one),
            Err(error) => regions.problems.push(Failure::of(&error).sentence),
        }
    }
    scanned.retain(|one| !one.constructs.is_empty());
    join(regions, scanned);
}

/// Adds what another module contains.
fn add(all: &mut Regions, one: Regions) {
    let before = all.modules.len();
    all.modules.extend(one.modules);
    all.sources.extend(one.sources);
    all.problems.extend(one.problems);
    all.regions
        .extend(one.regions.into_iter().map(|region| Region {
            module: region.module.map(|index| index + before),
            ..region
        }));
}

/// Reads sources: those that were named, of which each must be readable; those that are
/// listed, and those that programs name, of which what is missing is a problem.
fn sources(plan: &Scan, inputs: &Inputs, regions: &mut Regions) -> Result<Vec<Scanned>, Failure> {
    let mut scanned = Vec::new();
    for source in &inputs.sources {
        let one = scan_file(source, &Default::default())?;
        scanned.push(one);
    }
    let mut others: Vec<Compiled> = inputs.listed.clone();
    if !plan.no_source {
        let known = inputs
            .sources
            .iter()
            .chain(others.iter().map(|one| &one.path));
        let known: Vec<_> = known.cloned().collect();
        others.extend(named::sources(regions, &known));
    }
    for one in &others {
        match scan_file(&one.path, &one.options) {
            Ok(one) => scanned.push(one),
            Err(error) => regions.problems.push(Failure::of(&error).sentence),
        }
    }
    // Files without any directive would only make the tables longer.
    let asked = inputs.sources.len();
    let mut place = 0;
    scanned.retain(|one| {
        place += 1;
        place <= asked || !one.constructs.is_empty() || !one.file.unread.is_empty()
    });
    Ok(scanned)
}

/// Why there is no region.
fn nothing(regions: &Regions, inputs: &Inputs) -> Failure {
    if let [problem] = regions.problems.as_slice() {
        return Failure::new(problem.clone());
    }
    let read = inputs.programs.len() + inputs.sources.len() + inputs.listed.len();
    let mut sentence = format!(
        "no OpenMP was found in {}: name a program compiled with -fopenmp, or sources with OpenMP directives",
        match inputs.first() {
            Some(first) if read == 1 => first.display().to_string(),
            _ => format!("{read} files"),
        }
    );
    for problem in &regions.problems {
        // Writing to a String cannot fail.
        let _ = write!(sentence, "; {problem}");
    }
    Failure::new(sentence)
}

fn write(plan: &Scan, regions: &Regions, console: Console) -> Result<(), Failure> {
    let wrote = |path: &Path, content: String| {
        output::write_file(path, content.as_bytes())?;
        console.say(format!("wrote {}", path.display()));
        Ok::<(), Failure>(())
    };
    if let Some(path) = &plan.output {
        let json = regions.to_json()?;
        wrote(path, json + "\n")?;
    }
    if let Some(path) = &plan.region_lines {
        wrote(path, region_lines(regions))?;
    }
    Ok(())
}

/// A line `FILE:LINE` for each parallel region whose place is known, by file and line.
fn region_lines(regions: &Regions) -> String {
    let is_parallel = |region: &&Region| match (&region.construct, &region.body) {
        (Some(construct), _) => construct
            .directive
            .name
            .split(' ')
            .any(|word| word == "parallel"),
        (None, Some(body)) => matches!(
            body.kind,
            BodyKind::Parallel | BodyKind::ParallelLoop | BodyKind::ParallelSections
        ),
        (None, None) => false,
    };
    let parallel = regions.regions.iter().filter(is_parallel);
    let mut places: Vec<(&str, u32)> = parallel
        .filter_map(|region| {
            // The source knows its directive's line best.
            let directive = region.construct.as_ref().map(|one| &one.directive.place);
            let place = directive.or(region.place.as_ref())?;
            (place.line > 0).then_some((place.file.as_str(), place.line))
        })
        .collect();
    places.sort_unstable();
    places.dedup();
    let lines = places
        .into_iter()
        .map(|(file, line)| format!("{file}:{line}\n"));
    lines.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_regions::{Body, Construct, Directive, Place};

    #[test]
    fn each_parallel_region_has_one_line() {
        let place = |line| Place {
            file: "a.c".to_owned(),
            line,
            column: 0,
        };
        let of_body = |kind, line| Region {
            place: Some(place(line)),
            body: Some(Body {
                kind,
                ..Body::default()
            }),
            ..Region::default()
        };
        let of_source = |name: &str, line| Region {
            construct: Some(Construct {
                directive: Directive {
                    name: name.to_owned(),
                    place: place(line),
                    ..Directive::default()
                },
                ..Construct::default()
            }),
            ..Region::default()
        };
        let regions = Regions {
            regions: vec![
                of_body(BodyKind::Parallel, 9),
                of_body(BodyKind::Task, 4),
                of_source("parallel for", 20),
                of_source("target teams distribute parallel for", 3),
                of_source("for", 5),
                of_body(BodyKind::ParallelLoop, 9),
            ],
            ..Regions::default()
        };
        assert_eq!(region_lines(&regions), "a.c:3\na.c:9\na.c:20\n");
    }
}
