//! From samples to overheads, ratios and a verdict.
//!
//! The reference is the same work under every runtime, so all processes' runs
//! of it are pooled: its noise then shifts all overheads of a row alike
//! instead of deciding which runtime looks better. An overhead smaller than
//! the reference's own uncertainty is counted as that uncertainty (the floor):
//! a ratio of two numbers that both mean "too small to see" must be 1.

use super::plan::{Config, Plan};
use super::trial::{Samples, Trials};
use crate::stats::{
    Interval, Resampler, Spread, geometric_mean, grouped_median, percentile_interval, quantile,
    spread,
};
use serde::Serialize;

/// Bootstrap replicates.
const REPLICATES: usize = 400;
/// No floor below this: the clock's step and call.
const LEAST_FLOOR_NS: f64 = 1.0;
/// The quantile that stands for a machine without other load.
const QUIET: f64 = 0.1;
/// Rows shown for completeness: gcc compiles these without (or almost
/// without) calls into the runtime, or nobody promises their speed.
const UNJUDGED: &[&str] = &[
    "MASTER",
    "STATIC",
    "STATIC 1",
    "NESTED PARALLEL",
    "NESTED SERIAL",
];
/// A single construct may cost this much of the best baseline's overhead.
pub(super) const LIMIT: f64 = 1.3;

/// One thread count and wait policy.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// What was set.
    pub config: Config,
    /// One row per construct.
    pub rows: Vec<Row>,
    /// The subject against the best baseline; absent without a subject or
    /// without a common row.
    pub verdict: Option<Verdict>,
}

/// One construct.
#[derive(Debug, Clone, Serialize)]
pub struct Row {
    /// EPCC's name of it.
    pub construct: String,
    /// Counts in the verdict.
    pub judged: bool,
    /// Time of the work without the construct, nanoseconds.
    pub reference_ns: f64,
    /// Overheads below this cannot be told from nothing, nanoseconds.
    pub floor_ns: f64,
    /// One per runtime, in the plan's order.
    pub costs: Vec<Cost>,
    /// Subject over best baseline.
    pub ratio: Option<Ratio>,
}

/// One construct under one runtime.
#[derive(Debug, Clone, Serialize)]
pub struct Cost {
    /// The runtime's name.
    pub runtime: String,
    /// Median over processes of the median overhead, nanoseconds.
    pub overhead_ns: Option<f64>,
    /// Its bootstrap interval.
    pub interval_ns: Option<Interval>,
    /// Overhead from the lowest tenth of samples, nanoseconds.
    pub quiet_ns: Option<f64>,
    /// Scatter of the samples.
    pub spread: Option<Spread>,
    /// Why there is nothing, or what was wrong beside the numbers.
    pub failure: Option<String>,
}

/// Subject's overhead over the best baseline's.
#[derive(Debug, Clone, Serialize)]
pub struct Ratio {
    /// From medians.
    pub value: f64,
    /// Its bootstrap interval.
    pub interval: Interval,
    /// From the lowest tenth of samples.
    pub quiet: f64,
    /// The baseline that was best.
    pub against: String,
    /// Both overheads were at the floor: the ratio carries no information.
    pub at_floor: bool,
}

/// The subject's standing over all judged rows.
#[derive(Debug, Clone, Serialize)]
pub struct Verdict {
    /// The runtime judged.
    pub subject: String,
    /// Geometric mean of the ratios.
    pub geometric_mean: f64,
    /// Its bootstrap interval.
    pub interval: Interval,
    /// Geometric mean of the quiet ratios.
    pub quiet: f64,
    /// Rows that went into it.
    pub rows: usize,
    /// Constructs whose ratio is above 1.3 with its whole interval.
    pub above_limit: Vec<String>,
    /// Judged constructs that failed under the subject.
    pub failed: Vec<String>,
}

/// The samples of one construct, grouped by process.
struct Evidence {
    reference: Vec<Vec<f64>>,
    floor: f64,
    /// Per runtime; empty where it failed.
    construct: Vec<Vec<Vec<f64>>>,
}

/// Estimates of one replicate (or of the original samples).
struct Estimate {
    reference: f64,
    /// Per runtime.
    overhead: Vec<Option<f64>>,
}

impl Evidence {
    fn gather(trials: &Trials, construct: &str) -> Option<Self> {
        let processes: Vec<&[Samples]> = trials
            .runtimes()
            .iter()
            .map(|runtime| trials.processes(construct, runtime))
            .collect();
        let reference: Vec<Vec<f64>> = processes
            .iter()
            .flat_map(|p| p.iter())
            .map(|s| s.reference_ns.clone())
            .collect();
        let medians: Vec<f64> = reference
            .iter()
            .filter_map(|group| quantile(group, 0.5))
            .collect();
        let half_iqr = (quantile(&medians, 0.75)? - quantile(&medians, 0.25)?) / 2.0;
        Some(Self {
            reference,
            floor: half_iqr.max(LEAST_FLOOR_NS),
            construct: processes
                .iter()
                .map(|p| p.iter().map(|s| s.construct_ns.clone()).collect())
                .collect(),
        })
    }

    /// Applies one way of reducing groups to a number to every column.
    fn estimate(&self, mut reduce: impl FnMut(&[Vec<f64>]) -> Option<f64>) -> Option<Estimate> {
        let reference = reduce(&self.reference)?;
        let overhead = self
            .construct
            .iter()
            .map(|groups| reduce(groups).map(|time| time - reference));
        Some(Estimate {
            reference,
            overhead: overhead.collect(),
        })
    }

    fn medians(&self) -> Option<Estimate> {
        self.estimate(grouped_median)
    }

    fn quiet(&self) -> Option<Estimate> {
        self.estimate(|groups| quantile(&groups.concat(), QUIET))
    }
}

impl Estimate {
    /// Subject over the best baseline, with both raised to the floor; and
    /// which baseline that was.
    fn ratio(&self, subject: usize, floor: f64) -> Option<(f64, usize)> {
        let own = self.overhead.get(subject).copied().flatten()?.max(floor);
        let (best, overhead) = self
            .overhead
            .iter()
            .enumerate()
            .filter(|(index, _)| *index != subject)
            .filter_map(|(index, overhead)| overhead.map(|o| (index, o.max(floor))))
            .min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((own / overhead, best))
    }
}

/// Compares all runtimes of one configuration.
#[must_use]
pub fn compare(plan: &Plan, config: Config, trials: &Trials) -> Comparison {
    let subject = plan
        .subject
        .as_ref()
        .and_then(|name| trials.runtimes().iter().position(|r| r == name));
    let mut rows = Vec::new();
    // Per judged row with a ratio: its value, its quiet value, its replicates.
    let mut judged: Vec<(f64, f64, Vec<f64>)> = Vec::new();
    for (index, construct) in trials.constructs().iter().enumerate() {
        let (row, replicates) = row(trials, construct, subject, index as u64);
        if let Some(ratio) = row.ratio.as_ref().filter(|_| row.judged) {
            judged.push((ratio.value, ratio.quiet, replicates));
        }
        rows.push(row);
    }
    let verdict = subject.and_then(|s| verdict(&trials.runtimes()[s], &rows, &judged));
    Comparison {
        config,
        rows,
        verdict,
    }
}

fn row(trials: &Trials, construct: &str, subject: Option<usize>, seed: u64) -> (Row, Vec<f64>) {
    let failures = trials
        .runtimes()
        .iter()
        .map(|runtime| trials.failure(construct, runtime).map(ToString::to_string));
    let mut row = Row {
        construct: construct.to_owned(),
        judged: !UNJUDGED.contains(&construct),
        reference_ns: f64::NAN,
        floor_ns: f64::NAN,
        costs: trials
            .runtimes()
            .iter()
            .zip(failures)
            .map(|(runtime, failure)| Cost {
                runtime: runtime.clone(),
                overhead_ns: None,
                interval_ns: None,
                quiet_ns: None,
                spread: None,
                failure,
            })
            .collect(),
        ratio: None,
    };
    let Some(evidence) = Evidence::gather(trials, construct) else {
        return (row, Vec::new());
    };
    let (Some(medians), Some(quiet)) = (evidence.medians(), evidence.quiet()) else {
        return (row, Vec::new());
    };
    let mut resampler = Resampler::new(seed);
    let replicates: Vec<Estimate> = (0..REPLICATES)
        .filter_map(|_| evidence.estimate(|groups| resampler.draw_grouped_median(groups)))
        .collect();

    row.reference_ns = medians.reference;
    row.floor_ns = evidence.floor;
    for (index, cost) in row.costs.iter_mut().enumerate() {
        let drawn: Vec<f64> = replicates
            .iter()
            .filter_map(|e| e.overhead[index])
            .collect();
        cost.overhead_ns = medians.overhead[index];
        cost.quiet_ns = quiet.overhead[index];
        cost.interval_ns = percentile_interval(&drawn);
        cost.spread = spread(&evidence.construct[index].concat());
    }
    let Some(subject) = subject else {
        return (row, Vec::new());
    };
    let drawn: Vec<f64> = replicates
        .iter()
        .filter_map(|e| e.ratio(subject, evidence.floor))
        .map(|(ratio, _)| ratio)
        .collect();
    row.ratio = (|| {
        let (value, best) = medians.ratio(subject, evidence.floor)?;
        let at_floor = |index: usize| medians.overhead[index].is_some_and(|o| o <= evidence.floor);
        Some(Ratio {
            value,
            interval: percentile_interval(&drawn)?,
            quiet: quiet.ratio(subject, evidence.floor)?.0,
            against: trials.runtimes()[best].clone(),
            at_floor: at_floor(subject) && at_floor(best),
        })
    })();
    (row, drawn)
}

fn verdict(subject: &str, rows: &[Row], judged: &[(f64, f64, Vec<f64>)]) -> Option<Verdict> {
    let values: Vec<f64> = judged.iter().map(|(value, _, _)| *value).collect();
    let quiet: Vec<f64> = judged.iter().map(|(_, quiet, _)| *quiet).collect();
    let replicates: Vec<f64> = (0..REPLICATES)
        .filter_map(|i| {
            let drawn: Vec<f64> = judged
                .iter()
                .filter_map(|(_, _, r)| r.get(i).copied())
                .collect();
            geometric_mean(&drawn)
        })
        .collect();
    let of_judged = |wanted: &dyn Fn(&Row) -> bool| {
        rows.iter()
            .filter(|row| row.judged && wanted(row))
            .map(|row| row.construct.clone())
            .collect()
    };
    Some(Verdict {
        subject: subject.to_owned(),
        geometric_mean: geometric_mean(&values)?,
        interval: percentile_interval(&replicates)?,
        quiet: geometric_mean(&quiet)?,
        rows: judged.len(),
        above_limit: of_judged(&|row| {
            row.ratio
                .as_ref()
                .is_some_and(|r| r.value > LIMIT && r.interval.low > LIMIT)
        }),
        failed: of_judged(&|row| {
            row.costs
                .iter()
                .any(|c| c.runtime == subject && c.failure.is_some())
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::super::plan::{Policy, Runtime};
    use super::super::trial::Failure;
    use super::*;

    const CONFIG: Config = Config {
        threads: 2,
        policy: Policy::Active,
    };

    fn runtimes() -> Vec<Runtime> {
        ["libgomp", "libomp", "mine"]
            .iter()
            .map(|name| Runtime {
                name: (*name).to_owned(),
                library: None,
            })
            .collect()
    }

    /// Five processes of twenty samples: reference 100 ns, construct
    /// `100 + overhead`, with a little deterministic scatter.
    fn fill(trials: &mut Trials, construct: &str, runtime: &str, overhead: f64) {
        for process in 0..5 {
            let wobble = |i: i32| f64::from((i * 7 + process * 3) % 5) * 0.2;
            let list = |base: f64| {
                (0..20)
                    .map(|i| (base + wobble(i)).to_string())
                    .collect::<Vec<_>>()
                    .join(",")
            };
            let line = format!(
                "{{\"runtime\":\"x\",\"threads\":2,\"wrong\":0,\"reference_ns\":[{}],\"construct_ns\":[{}]}}",
                list(100.0),
                list(100.0 + overhead)
            );
            let linked = Runtime {
                name: runtime.to_owned(),
                library: None,
            };
            trials.add(construct, runtime, Samples::parse(&line, CONFIG, &linked));
        }
    }

    fn plan() -> Plan {
        Plan {
            runtimes: runtimes(),
            subject: Some("mine".to_owned()),
            ..Plan::default()
        }
    }

    #[test]
    fn the_best_baseline_is_the_measure() {
        let mut trials = Trials::new(&["BARRIER".into(), "FOR".into()], &runtimes());
        for (construct, gomp, omp, mine) in [
            ("BARRIER", 200.0, 400.0, 100.0),
            ("FOR", 300.0, 150.0, 300.0),
        ] {
            fill(&mut trials, construct, "libgomp", gomp);
            fill(&mut trials, construct, "libomp", omp);
            fill(&mut trials, construct, "mine", mine);
        }
        let comparison = compare(&plan(), CONFIG, &trials);
        let ratios: Vec<&Ratio> = comparison
            .rows
            .iter()
            .map(|r| r.ratio.as_ref().unwrap())
            .collect();
        assert_eq!(ratios[0].against, "libgomp");
        assert_eq!(ratios[1].against, "libomp");
        assert!((ratios[0].value - 0.5).abs() < 0.02, "{ratios:?}");
        assert!((ratios[1].value - 2.0).abs() < 0.05, "{ratios:?}");
        let verdict = comparison.verdict.unwrap();
        assert!((verdict.geometric_mean - 1.0).abs() < 0.02);
        assert!(verdict.interval.contains(verdict.geometric_mean));
        assert_eq!(verdict.above_limit, ["FOR"]);
    }

    #[test]
    fn overheads_too_small_to_see_compare_as_equal() {
        let mut trials = Trials::new(&["ATOMIC".into()], &runtimes());
        fill(&mut trials, "ATOMIC", "libgomp", 0.3);
        fill(&mut trials, "ATOMIC", "libomp", -0.5);
        fill(&mut trials, "ATOMIC", "mine", 0.9);
        let comparison = compare(&plan(), CONFIG, &trials);
        let ratio = comparison.rows[0].ratio.as_ref().unwrap();
        assert_eq!(ratio.value, 1.0);
        assert!(ratio.at_floor);
    }

    #[test]
    fn a_failure_is_named_and_takes_the_row_out() {
        let mut trials = Trials::new(&["FOR".into(), "SINGLE".into()], &runtimes());
        for runtime in ["libgomp", "libomp", "mine"] {
            fill(&mut trials, "FOR", runtime, 50.0);
        }
        fill(&mut trials, "SINGLE", "libgomp", 50.0);
        trials.add("SINGLE", "mine", Err(Failure::Wrong(3)));
        let comparison = compare(&plan(), CONFIG, &trials);
        let verdict = comparison.verdict.unwrap();
        assert_eq!(verdict.failed, ["SINGLE"]);
        assert_eq!(verdict.rows, 1);
        assert!(comparison.rows[1].ratio.is_none());
    }

    #[test]
    fn without_samples_there_is_no_verdict() {
        let trials = Trials::new(&["FOR".into()], &runtimes());
        let comparison = compare(&plan(), CONFIG, &trials);
        assert!(comparison.verdict.is_none());
        assert_eq!(comparison.rows.len(), 1);
    }

    #[test]
    fn a_row_that_is_not_judged_does_not_count() {
        let mut trials = Trials::new(&["FOR".into(), "MASTER".into()], &runtimes());
        for runtime in ["libgomp", "libomp"] {
            fill(&mut trials, "FOR", runtime, 50.0);
            fill(&mut trials, "MASTER", runtime, 10.0);
        }
        fill(&mut trials, "FOR", "mine", 50.0);
        fill(&mut trials, "MASTER", "mine", 1000.0);
        let verdict = compare(&plan(), CONFIG, &trials).verdict.unwrap();
        assert_eq!(verdict.rows, 1);
        assert!(verdict.above_limit.is_empty());
    }
}
