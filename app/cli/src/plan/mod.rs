//! What the runtime is told of a program before it runs: which words of memory the trips of
//! its regions depend on.
//!
//! The program and the libraries that it brings along are scanned, which is kept in the
//! user's cache; what follows from it for the runtime goes into a file that the environment
//! names. Whatever goes wrong here only leaves iterations unknown.

mod kept;
mod modules;

use crate::program::Program;
use fathomp_analysis::symbols::Symbols;
use fathomp_launch::names::SCAN;
use fathomp_launch::of_this_process;
use fathomp_regions::{Place, Regions};
use fathomp_trips::{BodyPlan, Identity, ModulePlan, Plan};
use kept::{Kept, identity};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;
use tempfile::NamedTempFile;

/// Libraries with more calls that begin regions are not scanned before a program runs.
const LIBRARY_STARTS_MAX: usize = 1000;

/// A program's scan, and the file with its plan, which goes with this.
#[derive(Debug, Default)]
pub(crate) struct Planned {
    /// What the scan found; none if there was nothing to scan.
    pub(crate) regions: Option<Regions>,
    file: Option<NamedTempFile>,
    /// What could not be scanned, each as one sentence.
    pub(crate) problems: Vec<String>,
}

/// Scans a program, or takes what is kept of an earlier scan, and plans.
pub(crate) fn plan(program: &Program) -> Planned {
    let mut planned = Planned::default();
    if of_this_process(SCAN.name).is_some_and(|switch| switch == "0") {
        return planned;
    }
    let mut regions = Regions::default();
    let mut identities = Vec::new();
    let kept = Kept::open();
    let own = std::fs::canonicalize(&program.path).ok();
    for path in modules::of(program) {
        let is_library = Some(&path) != own.as_ref();
        let look = if is_library { scan_library } else { scan };
        match kept.scan_by(&path, None, look) {
            Ok(found) => {
                let first = regions.modules.len();
                identities.extend(found.modules.iter().map(|_| identity(&path)));
                append(&mut regions, found, first);
            }
            Err(sentence) => planned.problems.push(sentence),
        }
    }
    if regions.modules.is_empty() {
        return planned;
    }
    for body in regions
        .regions
        .iter_mut()
        .filter_map(|region| region.body.as_mut())
    {
        body.words = fathomp_trips::words(body);
    }
    let plan = of_regions(&regions, &identities);
    if !plan.is_empty() {
        match write(&plan) {
            Ok(file) => planned.file = Some(file),
            Err(error) => planned.problems.push(format!(
                "Iterations of static loops are not known because no file could be written among the temporary files: {error}."
            )),
        }
    }
    planned.regions = Some(regions);
    planned
}

/// Scans a program so that planning finds what was kept: what may take long is done where
/// that can be said. Without a place to keep it nothing is done twice.
pub(crate) fn keep(program: &Program) {
    if Kept::open().is_possible() {
        plan(program);
    }
}

impl Planned {
    /// Names the plan to the runtime, if there is one.
    pub(crate) fn tell(&self, plan: &mut fathomp_launch::Plan) {
        if let Some(file) = &self.file {
            plan.trips = Some(file.path().to_owned());
        }
    }
}

/// Adds what was found in one module.
fn append(regions: &mut Regions, found: Regions, first: usize) {
    regions.modules.extend(found.modules);
    regions.problems.extend(found.problems);
    regions
        .regions
        .extend(found.regions.into_iter().map(|mut region| {
            region.module = region.module.map(|module| module + first);
            region
        }));
}

fn of_regions(regions: &Regions, identities: &[Option<Identity>]) -> Plan {
    let mut bodies: BTreeMap<usize, BTreeMap<u64, BodyPlan>> = BTreeMap::new();
    for region in &regions.regions {
        let (Some(module), Some(body)) = (region.module, &region.body) else {
            continue;
        };
        if let Some(plan) = fathomp_trips::compile(body) {
            bodies.entry(module).or_default().insert(body.address, plan);
        }
    }
    let modules = bodies.into_iter().filter_map(|(module, bodies)| {
        Some(ModulePlan {
            identity: identities.get(module)?.clone()?,
            bodies: bodies.into_values().collect(),
        })
    });
    Plan {
        modules: modules.take(fathomp_trips::MODULES_MAX).collect(),
    }
}

fn write(plan: &Plan) -> std::io::Result<NamedTempFile> {
    let mut file = tempfile::Builder::new()
        .prefix("fathomp-plan-")
        .tempfile()?;
    file.write_all(&plan.to_bytes())?;
    Ok(file)
}

/// What the bodies at these addresses of a file contain, or what is kept of an earlier look.
pub(crate) fn executed(path: &Path, addresses: &BTreeSet<u64>) -> Result<Regions, String> {
    Kept::open().scan_by(path, Some(addresses), |path| {
        fathomp_scan::scan_only(path, addresses).map_err(|error| not_scanned(path, &error))
    })
}

/// Scans one file.
fn scan(path: &Path) -> Result<Regions, String> {
    let found = fathomp_scan::scan(path).map_err(|error| not_scanned(path, &error))?;
    Ok(named(path, found))
}

/// Gives each region the line, last line and function that an analysis of the recording would look up
/// in the file. An analysis that is made after the file was built anew takes them from here.
fn named(path: &Path, mut found: Regions) -> Regions {
    let mut symbols = Symbols::new();
    for region in &mut found.regions {
        let Some(body) = &region.body else {
            continue;
        };
        let call = body.starts.first().map_or(0, |start| start.returns_to);
        let known = symbols.place(path, call, body.address);
        let lines = symbols.lines(path, body.address);
        region.last_line = lines.map(|lines| lines.last);
        if let (Some(file), Some(line)) = (known.file, known.line) {
            region.place = Some(Place {
                file,
                line,
                column: known.column.unwrap_or(0),
            });
        }
        region.function = known.function.or(region.function.take());
    }
    found
}

/// Scans a library, unless it holds so many regions that the program would wait for minutes:
/// those that it executes are looked at afterwards.
fn scan_library(path: &Path) -> Result<Regions, String> {
    let found = fathomp_scan::scan_up_to(path, LIBRARY_STARTS_MAX);
    let found = found.map_err(|error| not_scanned(path, &error))?;
    found.map(|found| named(path, found)).map_err(|starts| {
        format!(
            "Iterations of loops in {} are not known: it begins parallel regions in {starts} places, too many to look into before each program that uses it.",
            path.display()
        )
    })
}

fn not_scanned(path: &Path, error: &fathomp_scan::ScanError) -> String {
    format!(
        "The regions of {} could not be looked into: {error}.",
        path.display()
    )
}

#[cfg(test)]
mod tests;
