//! Both sides of a region together: what the binary says and what the source says, lined
//! up by file and line, and where they differ.

mod differences;
mod paths;

use crate::scan::Scanned;
use fathomp_regions::{Body, BodyKind, Construct, Place, Region, Regions};
use paths::same_file;

/// Adds what sources say to what binaries say: constructs are put to the bodies that were
/// made from them, others become regions of their own. Of a source that is compiled several
/// times (templates, clones), each body gets the construct.
pub fn join(regions: &mut Regions, scanned: Vec<Scanned>) {
    let bodies = regions.regions.len();
    let has_lines = regions.modules.iter().any(|module| module.has_lines);
    for source in scanned {
        let path = source.file.path.clone();
        regions.sources.push(source.file);
        regions.problems.extend(source.problems);
        let mut used = vec![false; source.constructs.len()];
        let mut seen = false;
        // Bodies without a directive, and their lines.
        let mut alone: Vec<(usize, u32)> = Vec::new();
        for (at, region) in regions.regions[..bodies].iter_mut().enumerate() {
            let Some(body) = &region.body else { continue };
            let lines = lines(region, body, &path);
            if lines.is_empty() || region.construct.is_some() {
                continue;
            }
            seen = true;
            let constructs = source.constructs.iter().map(|found| &found.construct);
            let Some(number) = best(constructs, body.kind, &lines) else {
                // Orphaned loops lie in functions of which lines are all that is known.
                if body.kind != BodyKind::Orphaned && is_exact(region, &path) {
                    alone.push((at, lines[0]));
                }
                continue;
            };
            used[number] = true;
            let found = &source.constructs[number];
            region.construct = Some(found.construct.clone());
            if region.function.is_none() {
                region.function.clone_from(&found.function);
            }
            let differences = differences::between(body, &found.construct, &path);
            region.differences.extend(differences);
        }
        if has_lines && !seen && !source.constructs.is_empty() {
            regions.problems.push(format!(
                "{path}: no code of its directives was found: it was compiled without -fopenmp or without -g, or belongs to another program"
            ));
        }
        // Of a function with both, one may be what became of the other.
        let mut unclear = vec![false; used.len()];
        for (at, line) in alone {
            let region = &mut regions.regions[at];
            let mut certain = true;
            for (number, found) in source.constructs.iter().enumerate() {
                let left = !used[number] && becomes_code(&found.construct);
                if left && is_function_of(region, found.function.as_deref()) {
                    unclear[number] = true;
                    certain = false;
                }
            }
            if certain {
                region.differences.push(format!(
                    "{path} has no directive at line {line}: it was changed after the program was built, or the directive stands in a macro"
                ));
            }
        }
        for (number, found) in source.constructs.into_iter().enumerate() {
            if used[number] {
                continue;
            }
            let missing = !unclear[number] && seen && becomes_code(&found.construct);
            regions.regions.push(Region {
                place: Some(found.construct.directive.place.clone()),
                function: found.function,
                construct: Some(found.construct),
                differences: missing
                    .then(|| {
                        "no code of this directive was found: its function was removed as unused, or is an unused template".to_owned()
                    })
                    .into_iter()
                    .collect(),
                ..Region::default()
            });
        }
    }
}

/// Whether a function is the one that a region lies in, or that its body was made from.
fn is_function_of(region: &Region, function: Option<&str>) -> bool {
    let Some(function) = function else {
        return false;
    };
    let symbol = region.body.as_ref().and_then(|body| body.symbol.as_deref());
    let made_from = symbol.and_then(|symbol| symbol.split('.').next());
    region.function.as_deref() == Some(function) || made_from == Some(function)
}

/// Lines of a source that a body was made from: that of its directive first.
fn lines(region: &Region, body: &Body, path: &str) -> Vec<u32> {
    let own = region.place.iter();
    let starts = body.starts.iter().filter_map(|start| start.place.as_ref());
    let loops = body.loops.iter().filter_map(|one| one.place.as_ref());
    let all = own.chain(starts).chain(loops);
    all.filter(|place| place.line > 0 && same_file(&place.file, path))
        .map(|place| place.line)
        .collect()
}

/// Whether the binary says where the directive itself stands, and that is in this file.
fn is_exact(region: &Region, path: &str) -> bool {
    let is_here = |place: &Place| place.line > 0 && same_file(&place.file, path);
    region.place.as_ref().is_some_and(is_here)
}

/// The construct that a body was made from: one of its kind whose directive stands at the
/// first line, or the innermost one around it.
fn best<'c>(
    constructs: impl Iterator<Item = &'c Construct> + Clone,
    kind: BodyKind,
    lines: &[u32],
) -> Option<usize> {
    let suitable = constructs
        .enumerate()
        .filter(|(_, construct)| suits(kind, &construct.directive.name));
    lines.iter().find_map(|line| {
        let at_line = suitable
            .clone()
            .find(|(_, construct)| construct.directive.place.line == *line);
        let around = || {
            let around = suitable
                .clone()
                .filter(|(_, construct)| construct.lines.0 <= *line && *line <= construct.lines.1);
            around.min_by_key(|(_, construct)| construct.lines.1 - construct.lines.0)
        };
        at_line.or_else(around).map(|(number, _)| number)
    })
}

/// Whether a directive can become a body of this kind.
fn suits(kind: BodyKind, name: &str) -> bool {
    let has = |word: &str| name.split(' ').any(|found| found == word);
    match kind {
        BodyKind::Parallel | BodyKind::ParallelLoop | BodyKind::ParallelSections => has("parallel"),
        BodyKind::Task => has("task"),
        BodyKind::Taskloop => has("taskloop"),
        BodyKind::Target => has("target") || has("teams"),
        BodyKind::Orphaned => crate::text::directive::is_worksharing(name),
    }
}

/// Whether a construct must have code of its own in a program with OpenMP.
fn becomes_code(construct: &Construct) -> bool {
    let name = &construct.directive.name;
    ["parallel", "task", "taskloop"]
        .iter()
        .any(|word| name.split(' ').next() == Some(*word))
}

#[cfg(test)]
mod tests;
