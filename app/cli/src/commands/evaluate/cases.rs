//! From recordings to cases.

use super::kept::{Kept, Measured};
use crate::failure::Failure;
use crate::load;
use fathomp_advise::evaluate::{Case, Times};
use fathomp_advise::{Evidence, Target, is_disturbed, subjects};
use fathomp_analysis::Analysis;
use fathomp_regions::{Facts, Regions};
use fathomp_score::{Kernel, Weights};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Regions with less of their program's time are no choice that matters,
const SHARE: f64 = 0.01;
/// nor are those of less time in a run.
const LEAST_NS: f64 = 2e6;

pub(super) struct Gathered {
    pub(super) cases: Vec<Case>,
    pub(super) notes: Vec<String>,
    /// What the published score of each case is computed from, and bytes of data.
    pub(super) kernels: Vec<Option<(Kernel, f64)>>,
    /// Runs of regions that are used, and those of them that were disturbed.
    pub(super) runs: (u32, u32),
}

/// The regions of all programs with their times and what is known of them from runs with
/// one thread.
pub(super) fn gather(
    kept: &Kept,
    directory: &Path,
    target: &Target,
    weights: &Weights,
    disturbed: bool,
) -> Result<Gathered, Failure> {
    let mut gathered = Gathered {
        cases: Vec::new(),
        notes: Vec::new(),
        kernels: Vec::new(),
        runs: (0, 0),
    };
    let mut small = 0;
    for program in &kept.programs {
        small += of_program(
            program,
            (kept, directory),
            target,
            weights,
            disturbed,
            &mut gathered,
        )?;
    }
    // What several benchmarks share, such as filling arrays, would be judged many times, and
    // fitted to what it is judged by.
    let mut benchmarks: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in &gathered.cases {
        let among = benchmarks.entry(&case.region).or_default();
        among.insert(&case.benchmark);
    }
    let shared: BTreeSet<String> = benchmarks
        .iter()
        .filter(|(_, among)| among.len() > 1)
        .map(|(region, _)| (*region).to_owned())
        .collect();
    let mut alone = gathered
        .cases
        .iter()
        .map(|case| !shared.contains(&case.region));
    gathered.kernels.retain(|_| alone.next().unwrap_or(false));
    gathered.cases.retain(|case| !shared.contains(&case.region));
    if !shared.is_empty() {
        let names: Vec<&str> = shared.iter().map(String::as_str).collect();
        gathered.notes.push(format!(
            "Regions that several benchmarks have in common were not judged: {}.",
            names.join(", ")
        ));
    }
    if small > 0 {
        gathered.notes.push(format!(
            "{small} regions with less than {:.0} % of their program's parallel time, or less than {:.0} ms, were not judged.",
            SHARE * 100.0,
            LEAST_NS / 1e6
        ));
    }
    Ok(gathered)
}

fn of_program(
    program: &Measured,
    (kept, directory): (&Kept, &Path),
    target: &Target,
    weights: &Weights,
    keep: bool,
    gathered: &mut Gathered,
) -> Result<usize, Failure> {
    let mut analyses: Vec<(u32, Analysis)> = Vec::new();
    let mut regions: Option<Regions> = None;
    let mut facts: Vec<Facts> = Vec::new();
    for run in &program.runs {
        let evidence = load::open(&directory.join(&run.recording), Some(&target.machine))?;
        // What the model may know are runs with one thread.
        if run.threads == 1 && facts.is_empty() {
            facts = fathomp_analysis::facts(&evidence.recording);
        }
        regions = regions.or(evidence.recording.regions);
        analyses.push((run.threads, evidence.analysis));
    }
    if let Some(regions) = &mut regions {
        // The published score is about sources.
        crate::commands::scan::join_named(regions);
    }
    let mut times: BTreeMap<(String, u32), Times> = BTreeMap::new();
    for (threads, analysis) in &analyses {
        for region in &analysis.regions {
            let times = times
                .entry((region.key.clone(), *threads))
                .or_insert_with(|| Times {
                    threads: *threads,
                    ..Times::default()
                });
            let disturbed = is_disturbed(analysis, region);
            if disturbed && !keep {
                times.disturbed += 1;
            } else {
                gathered.runs.0 += 1;
                gathered.runs.1 += u32::from(disturbed);
                times.runs_ns.push(region.outermost_ns as f64);
            }
        }
    }
    let mut alone: Vec<&Analysis> = analyses
        .iter()
        .filter(|(threads, one)| *threads == 1 && (keep || !one.program.disturbed()))
        .map(|(_, analysis)| analysis)
        .collect();
    if alone.is_empty() {
        alone = analyses
            .iter()
            .filter(|(threads, _)| *threads == 1)
            .map(|(_, analysis)| analysis)
            .collect();
    }
    let evidence = Evidence {
        analyses: &alone,
        regions: regions.as_ref(),
        facts: &facts,
    };
    let at = target.candidates();
    let mut small = 0;
    for subject in subjects(evidence, target, &at, weights) {
        let of_region: Vec<Times> = times
            .iter()
            .filter(|((key, threads), _)| *key == subject.key && *threads >= kept.unit)
            .map(|(_, times)| times.clone())
            .collect();
        let first = of_region.first().and_then(Times::typical);
        if subject.weight < SHARE || first.is_some_and(|time| time < LEAST_NS) {
            small += 1;
            continue;
        }
        let demand = subject.profile.demand.as_ref();
        let bytes = demand.map_or(0.0, |demand| demand.footprint);
        let kernel = subject.scanned.and_then(|region| Kernel::of(region).ok());
        gathered.kernels.push(kernel.map(|kernel| (kernel, bytes)));
        gathered.cases.push(Case {
            benchmark: program.benchmark.clone(),
            size: program.size.clone(),
            region: subject.name,
            times: of_region,
            profile: subject.profile,
            score: subject.score,
        });
    }
    Ok(small)
}
