//! Advice as changes to a program's source: clauses on the directives of its regions.

mod diff;
mod directive;

use crate::advice::{Advice, RegionAdvice, Step};
use directive::Found;
use fathomp_regions::{Construct, Language, Region, Regions};
use std::collections::BTreeMap;

/// Changes to sources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourcePatch {
    /// A unified diff, for `patch -p1` or `git apply`; empty if nothing is to be changed.
    pub diff: String,
    /// Regions whose directives were changed.
    pub changed: usize,
    /// Sentences about regions that it leaves as they are although advice is other than
    /// all threads.
    pub left: Vec<String>,
}

/// The changes that `advice` asks for: `num_threads(N)` where fewer threads than all are
/// advised, `if(...)` where small executions are better off with one thread and the loop's
/// bounds can be written down. `read` gives the text of a source file by its path.
#[must_use]
pub fn patch(
    advice: &Advice,
    regions: Option<&Regions>,
    read: &mut dyn FnMut(&str) -> Option<String>,
) -> SourcePatch {
    let mut by_file: BTreeMap<&str, Vec<(u32, &RegionAdvice)>> = BTreeMap::new();
    let mut patch = SourcePatch::default();
    for region in &advice.regions {
        if !wanted(region, advice.machine.cores) {
            continue;
        }
        match &region.place {
            Some(place) if place.line > 0 => {
                by_file
                    .entry(&place.file)
                    .or_default()
                    .push((place.line, region));
            }
            _ => patch.left.push(format!(
                "{}: where its directive stands is not known; compile with -g.",
                region.name
            )),
        }
    }
    for (file, mut changes) in by_file {
        let Some(text) = read(file) else {
            patch.left.push(format!(
                "{file} cannot be read: its regions are left as they are."
            ));
            continue;
        };
        changes.sort_by_key(|(line, _)| *line);
        changes.dedup_by_key(|(line, _)| *line);
        let old: Vec<&str> = text.lines().collect();
        let mut edits = Vec::new();
        for (line, region) in changes {
            let construct = scanned(regions, region).and_then(|one| one.construct.as_ref());
            match change(&old, file, line, region, construct, advice.machine.cores) {
                Ok(edit) => {
                    patch.changed += 1;
                    edits.push(edit);
                }
                Err(why) => patch.left.push(format!("{}: {why}.", region.name)),
            }
        }
        patch.diff.push_str(&diff::unified(file, &text, &edits));
    }
    patch
}

/// Whether advice is anything but: all threads, always.
fn wanted(region: &RegionAdvice, cores: u32) -> bool {
    region.advised.threads < cores || one_below(region).is_some()
}

/// The step from which on more than one thread is advised, where one is below.
fn one_below(region: &RegionAdvice) -> Option<&Step> {
    let first = region.steps.first().filter(|step| step.threads == 1)?;
    let next = region.steps.iter().find(|step| step.threads > 1)?;
    (first.from_trips == 0).then_some(next)
}

fn scanned<'a>(regions: Option<&'a Regions>, advice: &RegionAdvice) -> Option<&'a Region> {
    let place = advice.place.as_ref()?;
    let same = |region: &&Region| {
        region
            .place
            .as_ref()
            .is_some_and(|own| own.file == place.file && own.line == place.line)
    };
    regions?.regions.iter().find(same)
}

/// Lines of the old text, and what stands in their place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// Index of the first line.
    pub(crate) from: usize,
    /// Number of lines.
    pub(crate) lines: usize,
    /// New lines.
    pub(crate) with: Vec<String>,
}

fn change(
    lines: &[&str],
    file: &str,
    line: u32,
    region: &RegionAdvice,
    construct: Option<&Construct>,
    cores: u32,
) -> Result<Edit, String> {
    let language = language(file);
    let found = Found::near(lines, line as usize, language)
        .ok_or_else(|| format!("line {line} of {file} holds no parallel directive"))?;
    let mut clauses = Vec::new();
    if region.advised.threads < cores {
        if found.has("num_threads") {
            return Err("it has a num_threads clause of its own".to_owned());
        }
        clauses.push(format!("num_threads({})", region.advised.threads));
    }
    if region.advised.threads > 1
        && let Some(step) = one_below(region)
    {
        if found.has("if") {
            return Err("it has an if clause of its own".to_owned());
        }
        let condition = construct.and_then(|one| condition(one, step.from_iterations?, language));
        match condition {
            Some(condition) => clauses.push(format!("if({condition})")),
            None if clauses.is_empty() => {
                return Err(format!(
                    "below {} iterations one thread is quicker, but its loop's bounds are not known before the directive",
                    step.from_trips
                ));
            }
            None => {}
        }
    }
    if clauses.is_empty() {
        return Err("nothing that a clause could say".to_owned());
    }
    Ok(found.with(lines, &clauses.join(" ")))
}

/// Whether the divided loop has at least so many iterations, as an expression of the source.
fn condition(construct: &Construct, iterations: u64, language: Language) -> Option<String> {
    let shared: Vec<_> = construct
        .loops
        .iter()
        .filter(|one| one.worksharing)
        .collect();
    // Of several constructs in one region, no single loop decides.
    let first = shared.first()?;
    let chained = shared.windows(2).all(|pair| {
        let at = construct.loops.iter().position(|one| one == pair[0]);
        pair[1].parent == at
    });
    if !chained || !first.depends_on.is_empty() {
        return None;
    }
    let mut factors = Vec::new();
    for one in &shared {
        if !one.depends_on.is_empty() || one.from.is_empty() || one.to.is_empty() {
            return None;
        }
        factors.push(count(one, language)?);
    }
    Some(format!("{} >= {}", factors.join(" * "), iterations.max(1)))
}

/// Iterations of a loop as an expression.
fn count(one: &fathomp_regions::SourceLoop, language: Language) -> Option<String> {
    let simple = |text: &str| {
        !text.is_empty()
            && text
                .chars()
                .all(|letter| letter.is_alphanumeric() || "_.".contains(letter))
    };
    let wrapped = |text: &str| match simple(text) {
        true => text.to_owned(),
        false => format!("({text})"),
    };
    let down = one.comparison.starts_with('>');
    let (from, to) = match down {
        true => (&one.to, &one.from),
        false => (&one.from, &one.to),
    };
    let inclusive = one.comparison.ends_with('=') && one.comparison != "!=";
    let step = one.step.trim().trim_start_matches(['+', '-']);
    if !matches!(step, "" | "1" | "++" | "--") {
        return None;
    }
    let wide = if fortran(language) { "" } else { "(long)" };
    let span = match (from.trim(), inclusive) {
        ("0", false) | ("1", true) => return Some(format!("{wide}{}", wrapped(to))),
        (from, false) => format!("({wide}{} - {})", wrapped(to), wrapped(from)),
        (from, true) => format!("({wide}{} - {} + 1)", wrapped(to), wrapped(from)),
    };
    Some(span)
}

fn fortran(language: Language) -> bool {
    matches!(language, Language::FortranFree | Language::FortranFixed)
}

/// By the name of the file, as compilers do.
fn language(file: &str) -> Language {
    match file.rsplit('.').next().unwrap_or("") {
        "f" | "F" | "for" | "ftn" | "f77" | "F77" => Language::FortranFixed,
        "f90" | "F90" | "f95" | "F95" | "f03" | "F03" | "f08" | "F08" => Language::FortranFree,
        "cc" | "cpp" | "cxx" | "C" | "hpp" | "hxx" | "h" => Language::Cpp,
        _ => Language::C,
    }
}
