//! Predictions held against what was measured: every number of threads is
//! predicted from all others, by our model, by the published ones and by simple
//! ones, in the form of table 4 of the ACSAC 2008 paper that [`crate::published`] models
//! is from.

use crate::counts::{self, Counted, RecordingsError};
use crate::nodes::{self, Beside, NodesInterval, NodesRegion, NodesTerms, NodesTime, Precision};
use crate::prices::{Cluster, ClusterError, Protocol};
use crate::published::{self, mean_relative_error};
use crate::recorded::{PredictError, Runs, threads_of};
use crate::threads::{Options, predict};
use fathomp_analyse::{Analysis, Outcome};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Name of the schema in JSON.
pub const SCHEMA: &str = "fathomp.validation";
/// Version of the schema in JSON.
pub const VERSION: u32 = 1;

/// Who predicts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// p threads are p times as fast.
    Ideal,
    /// Amdahl's law, fitted to the other numbers of threads.
    Amdahl,
    /// The universal scalability law, fitted likewise.
    Usl,
    /// Our model, fitted likewise.
    Fathomp,
    /// Our model of nodes.
    Nodes,
    /// The critical-path model.
    Critical,
    /// The aggregate model if all faults overlap.
    #[serde(rename = "aggregate_f0")]
    AggregateF0,
    /// The aggregate model if no faults overlap.
    #[serde(rename = "aggregate_f1")]
    AggregateF1,
    /// The aggregate model with the f that fits the other numbers of threads.
    AggregateFit,
}

/// What was predicted and what was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Validated {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Whose prices the published models used, if any.
    pub cluster: Option<String>,
    /// By program and number of threads; not 1, to which speedups are relative.
    pub rows: Vec<Row>,
    /// Mean errors over programs: the form of the published table 4.
    pub errors: Vec<PredictorError>,
    /// What makes the comparison doubtful, in words.
    pub warnings: Vec<String>,
}

/// A number of threads of a program.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The program.
    pub program: String,
    /// Threads of all nodes together.
    pub threads: u32,
    /// Recordings with so many.
    pub runs: u32,
    /// Threads that shared processors: their time is also waiting for these.
    pub oversubscribed: bool,
    /// What was observed is emulated time, in which nodes share no processors.
    pub emulated_time: bool,
    /// Part of the processors' time that the program itself took, with all its threads
    /// and those that serve other nodes; none if that was not recorded.
    pub processors_used: Option<f64>,
    /// Median time with one thread over the median with so many; of emulated time the least.
    pub speedup_observed: f64,
    /// In the order of [`Predictor`]; those who cannot say are left out.
    pub predictions: Vec<Cell>,
    /// What the time of our model of nodes consists of; none without counts.
    pub nodes: Option<NodesTime>,
    /// The same region by region.
    pub nodes_regions: Vec<NodesRegion>,
    /// Where that time is expected, nine times of ten.
    pub nodes_interval: Option<NodesInterval>,
}

/// A predicted speedup.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Who predicts.
    pub predictor: Predictor,
    /// What.
    pub speedup: f64,
    /// (predicted - observed) / observed.
    pub relative_error: f64,
    /// Whether what was observed lies in the interval, if there is one.
    pub inside: Option<bool>,
}

/// Mean error of a predictor over programs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PredictorError {
    /// Who predicts.
    pub predictor: Predictor,
    /// Threads.
    pub threads: u32,
    /// Programs.
    pub programs: u32,
    /// Mean of |predicted - observed| / observed.
    pub mean_relative_error: f64,
    /// Programs whose observed speedup lies in the predictor's interval; none if it
    /// gives no intervals.
    pub inside: Option<u32>,
}

/// A cluster, and which of its prices are meant.
#[derive(Clone, Copy, Debug)]
pub struct Priced<'a> {
    /// The cluster that the recordings were made on.
    pub cluster: &'a Cluster,
    /// With which protocol's prices; none: those of the protocol counted.
    pub protocol: Option<Protocol>,
    /// Size of a diff to a home; none: a page.
    pub diff_bytes: Option<u32>,
    /// Terms that our model of nodes leaves out.
    pub without: NodesTerms,
}

/// Why nothing can be validated.
#[derive(Debug, Error)]
pub enum ValidateError {
    /// Nothing to predict from.
    #[error(transparent)]
    Predict(#[from] PredictError),
    /// Nothing to relate speedups to.
    #[error(
        "no recording of {program} has 1 thread: speedups are relative to it, so make one with `fathomp record --threads 1`"
    )]
    Alone {
        /// Which program.
        program: String,
    },
    /// Nothing to compare with.
    #[error(
        "all recordings have 1 thread, whose speedup is 1: give recordings with other numbers too"
    )]
    OnlyAlone,
    /// No counts for the published models.
    #[error(transparent)]
    Counts(#[from] RecordingsError),
    /// No prices for them.
    #[error(transparent)]
    Prices(#[from] ClusterError),
}

/// Predicts each number of threads from all others, and with a cluster also by
/// the published models from its own counts, and compares with what was
/// observed. Recordings may be of several programs, and several of each number
/// of threads.
///
/// # Errors
/// If a program lacks a recording with 1 thread or any other, or with a cluster
/// none was made on several nodes.
pub fn validate(
    analyses: &[&Analysis],
    options: &Options,
    priced: Option<Priced<'_>>,
) -> Result<Validated, ValidateError> {
    let ended = |one: &&&Analysis| !matches!(one.program.outcome, Some(Outcome::Signalled(_)));
    let whole: Vec<&Analysis> = analyses.iter().filter(ended).copied().collect();
    let cut_short = analyses.len() - whole.len();
    let analyses = whole.as_slice();
    let mut programs: BTreeMap<&str, Vec<&Analysis>> = BTreeMap::new();
    for analysis in analyses {
        let name = analysis.program.name.as_str();
        programs.entry(name).or_default().push(analysis);
    }
    if programs.is_empty() {
        return Err(PredictError::Nothing.into());
    }
    let (mut rows, mut counted) = (Vec::new(), false);
    let mut precisions = Vec::new();
    for (name, analyses) in &programs {
        let runs = Runs::new(analyses)?;
        let alone_ns = runs.typical(1).ok_or_else(|| ValidateError::Alone {
            program: (*name).to_owned(),
        })?;
        let mut published = match priced {
            Some(priced) => published(&runs, alone_ns, priced)?,
            None => BTreeMap::new(),
        };
        counted |= !published.is_empty();
        let processors = Some(runs.processors()).filter(|known| *known > 0);
        for group in runs.groups.iter().filter(|group| group.threads > 1) {
            let threads = group.threads;
            let observed = alone_ns / group.typical();
            let emulated_time = group.typical_run().analysis.program.emulated_time;
            let mut predictions = vec![cell(Predictor::Ideal, threads.into(), observed)];
            predictions.extend(fitted(analyses, threads, alone_ns, observed, options)?);
            let counts = published.remove(&threads);
            let nodes = counts.as_ref().and_then(|counts| counts.nodes.clone());
            let nodes_regions = nodes.unwrap_or_default();
            let times = nodes_regions.iter().map(|region| &region.time);
            let nodes = (!nodes_regions.is_empty()).then(|| times.sum::<NodesTime>());
            predictions.extend(nodes.map(|time| {
                let speedup = alone_ns / time.time_ns();
                cell(Predictor::Nodes, speedup, observed)
            }));
            predictions.extend(counts.into_iter().flat_map(|counts| counts.published));
            rows.push(Row {
                program: (*name).to_owned(),
                threads,
                runs: group.runs.len() as u32,
                oversubscribed: !emulated_time && processors.is_some_and(|most| threads > most),
                emulated_time,
                processors_used: processors
                    .and_then(|all| processors_used(group.typical_run().analysis, all)),
                speedup_observed: observed,
                predictions,
                nodes,
                nodes_regions,
                nodes_interval: None,
            });
            precisions.push(Precision {
                work: runs.groups[0].noise,
                measured: priced.is_some_and(|priced| priced.cluster.measured.is_some()),
                seen: None,
            });
        }
    }
    if rows.is_empty() {
        return Err(ValidateError::OnlyAlone);
    }
    if priced.is_some() && !counted {
        return Err(RecordingsError::NoCounts.into());
    }
    expect(&mut rows, &precisions);
    Ok(Validated {
        schema: SCHEMA,
        version: VERSION,
        cluster: priced.map(|priced| priced.cluster.name.clone()),
        errors: errors(&rows),
        warnings: warnings(&rows)
            .into_iter()
            .chain((cut_short > 0).then(|| {
                format!(
                    "{cut_short} recordings of programs that were ended by a signal were left out."
                )
            }))
            .chain(priced.and_then(|priced| other_network(analyses, priced.cluster)))
            .collect(),
        rows,
    })
}

fn processors_used(analysis: &Analysis, processors: u32) -> Option<f64> {
    let all_ns = analysis.wall_ns as f64 * f64::from(processors);
    let own_ns = analysis.program.processor_ns? as f64;
    (all_ns > 0.0).then(|| (own_ns / all_ns).min(1.0))
}

/// Programs that must tell how far off our model of nodes is, before they are heard.
const HEARD_FROM: usize = 3;

/// Gives the times of our model of nodes their intervals: a program's from the
/// precision of what went in and from how far off those of the others are.
fn expect(rows: &mut [Row], precisions: &[Precision]) {
    let off: Vec<Option<f64>> = rows.iter().map(off).collect();
    for at in 0..rows.len() {
        let Some(time) = rows[at].nodes else { continue };
        let others = rows.iter().zip(&off).filter(|(other, _)| {
            other.threads == rows[at].threads && other.program != rows[at].program
        });
        let others: Vec<f64> = others.filter_map(|(_, off)| *off).collect();
        let squares: f64 = others.iter().map(|off| off * off).sum();
        let seen = (others.len() >= HEARD_FROM).then(|| (squares / others.len() as f64).sqrt());
        let interval = nodes::interval(
            &time,
            &Precision {
                seen,
                ..precisions[at]
            },
        );
        let row = &mut rows[at];
        row.nodes_interval = Some(interval);
        for cell in &mut row.predictions {
            if cell.predictor == Predictor::Nodes {
                // Of the same sequential time.
                let observed_ns = time.time_ns() * cell.speedup / row.speedup_observed;
                cell.inside = Some((interval.low_ns..=interval.high_ns).contains(&observed_ns));
            }
        }
    }
}

/// ln(predicted / observed) time of our model of nodes.
fn off(row: &Row) -> Option<f64> {
    let mut cells = row.predictions.iter();
    let cell = cells.find(|cell| cell.predictor == Predictor::Nodes)?;
    Some((row.speedup_observed / cell.speedup).ln())
}

fn cell(predictor: Predictor, speedup: f64, observed: f64) -> Cell {
    Cell {
        predictor,
        speedup,
        relative_error: speedup / observed - 1.0,
        inside: None,
    }
}

/// Predictions from all numbers of threads but this one.
fn fitted(
    analyses: &[&Analysis],
    threads: u32,
    alone_ns: f64,
    observed: f64,
    options: &Options,
) -> Result<Vec<Cell>, ValidateError> {
    let others: Vec<&Analysis> = analyses
        .iter()
        .copied()
        .filter(|analysis| threads_of(analysis) != threads)
        .collect();
    let options = Options {
        at: vec![threads],
        ..options.clone()
    };
    let prediction = predict(&others, &options)?;
    let mut cells = Vec::new();
    for (name, predictor) in [("amdahl", Predictor::Amdahl), ("usl", Predictor::Usl)] {
        let baseline = prediction.baselines.iter().find(|one| one.name == name);
        let points = baseline.into_iter().flat_map(|one| &one.points);
        let times = points.filter(|(at, _)| *at == threads);
        cells.extend(times.map(|(_, time_ns)| cell(predictor, alone_ns / time_ns, observed)));
    }
    let points = prediction.points.iter();
    cells.extend(
        points
            .filter(|point| point.threads == threads)
            .map(|point| {
                let observed_ns = alone_ns / observed;
                Cell {
                    inside: Some((point.low_ns..=point.high_ns).contains(&observed_ns)),
                    ..cell(Predictor::Fathomp, alone_ns / point.time_ns, observed)
                }
            }),
    );
    Ok(cells)
}

/// What counts say of a number of threads.
struct FromCounts {
    nodes: Option<Vec<NodesRegion>>,
    published: Vec<Cell>,
}

/// Predictions from counts, by number of threads; none if there are no counts.
fn published(
    runs: &Runs<'_>,
    alone_ns: f64,
    priced: Priced<'_>,
) -> Result<BTreeMap<u32, FromCounts>, ValidateError> {
    let middle: Vec<&Analysis> = runs
        .groups
        .iter()
        .map(|one| one.typical_run().analysis)
        .collect();
    let counted = match Counted::from_analyses(&middle, Some(alone_ns)) {
        Err(RecordingsError::NoCounts) => return Ok(BTreeMap::new()),
        counted => counted?,
    };
    let protocol = priced.protocol.unwrap_or(counted.protocol);
    let prices = priced.cluster.prices(protocol, priced.diff_bytes)?.prices;
    let mut runs_counted: Vec<counts::Run> = Vec::new();
    for program in counted.programs {
        runs_counted.extend(program.runs);
    }
    for run in &mut runs_counted {
        let observed_ns = runs.typical(run.threads);
        run.speedup_observed = observed_ns.map(|observed_ns| alone_ns / observed_ns);
    }
    let mut cells = BTreeMap::new();
    for run in &runs_counted {
        let Some(observed) = run.speedup_observed else {
            continue;
        };
        let others: Vec<counts::Run> = runs_counted
            .iter()
            .filter(|other| other.threads != run.threads)
            .cloned()
            .collect();
        let aggregate = |f: f64| published::aggregate(run, &prices, f);
        let all = [
            (
                Predictor::Critical,
                published::critical(run, &prices).map(|found| found.0),
            ),
            (Predictor::AggregateF0, aggregate(0.0)),
            (Predictor::AggregateF1, aggregate(1.0)),
            (
                Predictor::AggregateFit,
                published::fit_f(&others, &prices).and_then(aggregate),
            ),
        ];
        let found = all.into_iter().filter_map(|(predictor, time)| {
            Some(cell(predictor, alone_ns / time?.time_ns(), observed))
        });
        let with = |threads| middle.iter().find(|one| threads_of(one) == threads);
        let ours = with(run.threads).zip(with(1)).and_then(|(one, alone)| {
            let others: Vec<&Analysis> = middle
                .iter()
                .copied()
                .filter(|other| other.program.nodes > 1 && threads_of(other) != run.threads)
                .collect();
            let beside = Beside {
                alone,
                others: &others,
                processors: Some(runs.processors())
                    .filter(|known| *known > 0 && !one.program.emulated_time),
                cluster: priced.cluster,
                protocol,
                prices: &prices,
            };
            let mut regions = nodes::nodes(one, &beside)?;
            for region in &mut regions {
                region.time = region.time.without(priced.without);
            }
            Some(regions)
        });
        let from_counts = FromCounts {
            published: found.collect(),
            nodes: ours,
        };
        cells.insert(run.threads, from_counts);
    }
    Ok(cells)
}

fn errors(rows: &[Row]) -> Vec<PredictorError> {
    let all = || {
        rows.iter()
            .flat_map(|row| row.predictions.iter().map(move |cell| (row, cell)))
    };
    let kinds: BTreeSet<(Predictor, u32)> = all()
        .map(|(row, cell)| (cell.predictor, row.threads))
        .collect();
    kinds
        .into_iter()
        .filter_map(|(predictor, threads)| {
            let same =
                |row: &Row, cell: &Cell| row.threads == threads && cell.predictor == predictor;
            let of_kind = || all().filter(|(row, cell)| same(row, cell));
            let pairs: Vec<(f64, f64)> = of_kind()
                .map(|(row, cell)| (cell.speedup, row.speedup_observed))
                .collect();
            let inside: Option<Vec<bool>> = of_kind().map(|(_, cell)| cell.inside).collect();
            Some(PredictorError {
                predictor,
                threads,
                programs: pairs.len() as u32,
                mean_relative_error: mean_relative_error(&pairs)?,
                inside: inside.map(|all| all.iter().filter(|inside| **inside).count() as u32),
            })
        })
        .collect()
}

/// Says so if prices are of another network than that recorded on.
fn other_network(analyses: &[&Analysis], cluster: &Cluster) -> Option<String> {
    let priced = match &cluster.measured {
        Some(measured) => measured.network_emulated,
        None => Some(cluster.network),
    };
    let priced =
        priced.map(|net| fathomp_launch::Network::new(net.latency_us, net.bandwidth_mb_per_s));
    let priced = priced.and_then(Result::ok);
    let on_nodes = analyses.iter().filter(|one| one.program.nodes > 1);
    let mut networks = on_nodes.map(|one| one.program.sharing?.network);
    let other = networks.find(|network| *network != priced)?;
    let words = |network: Option<fathomp_launch::Network>| match network {
        Some(network) => format!(
            "a network of {} us and {} MB/s",
            network.latency_us(),
            network.mb_per_s()
        ),
        None => "this machine's memory".to_owned(),
    };
    Some(format!(
        "Recorded over {} and priced for {}: the errors say nothing about the models.",
        words(other),
        words(priced)
    ))
}

fn warnings(rows: &[Row]) -> Vec<String> {
    let shared = || rows.iter().filter(|row| row.oversubscribed);
    let mut warnings = Vec::new();
    if let Some(least) = shared().map(|row| row.threads).min() {
        let used = shared().filter_map(|row| row.processors_used);
        let busy = used.fold(0.0, f64::max);
        let busy = if busy > 0.0 {
            format!(
                ", which the programs themselves kept busy for up to {:.0} % of the time",
                100.0 * busy
            )
        } else {
            String::new()
        };
        warnings.push(format!(
            "Runs with {least} threads or more shared processors{busy}: what was observed holds their waiting for one another, of which our model of nodes knows only that they work more slowly, and the others nothing. Work is divided as the threads' time on processors was."
        ));
    }
    let emulated = rows.iter().filter(|row| row.emulated_time).count();
    if emulated > 0 {
        warnings.push(format!(
            "{emulated} of {} observed speedups are of emulated time: programs take the processor time of their threads here, and messages the time of the network.",
            rows.len()
        ));
    }
    let once = rows.iter().filter(|row| row.runs < 3).count();
    if once > 0 {
        warnings.push(format!(
            "{once} of {} observed speedups are from fewer than 3 runs: how far they scatter is not known.",
            rows.len()
        ));
    }
    warnings
}
