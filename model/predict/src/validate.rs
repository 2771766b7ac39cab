//! Predictions held against what was measured: every number of threads is
//! predicted from all others, by our model, by the published ones and by simple
//! ones, in the form of table 4 of the ACSAC 2008 paper that [`crate::published`] models
//! is from.

mod doubts;
mod rows;
mod table4;

pub use rows::{Cell, Predictor, Row};
pub use table4::table4;

use crate::counts::{self, Counted, RecordingsError};
use crate::prices::{Cluster, ClusterError, Prices, Protocol};
use crate::published::{self, Table4Row, mean_relative_error};
use crate::recorded::{PredictError, Runs, threads_of};
use crate::threads::{Options, predict};
use doubts::{other_network, warnings};
use fathomp_analysis::Analysis;
use fathomp_types::Ending;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Name of the schema in JSON.
pub const SCHEMA: &str = "fathomp.validation";
/// Version of the schema in JSON.
pub const VERSION: u32 = 1;

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
    /// The same by protocol, class and choice of programs: the published table 4.
    pub table4: Vec<Table4Row<Predictor>>,
    /// What makes the comparison doubtful, in words.
    pub warnings: Vec<String>,
}

impl Validated {
    /// Whether counts alone were predicted from, of which no recording tells more.
    #[must_use]
    pub fn is_of_counts(&self) -> bool {
        self.rows.iter().all(|row| row.runs == 0)
    }
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
    /// Recordings whose work and counts the models of clusters go by, if those are of other
    /// runs than the ones that they are held against: on nodes of one machine, say.
    pub counted: Option<&'a [&'a Analysis]>,
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
    /// Counts without anything to compare with.
    #[error(
        "the counts come with no observed speedups of 2 or more threads: add a column speedup_observed"
    )]
    NoneObserved,
    /// No counts for the published models.
    #[error(transparent)]
    Counts(#[from] RecordingsError),
    /// No prices for them.
    #[error(transparent)]
    Prices(#[from] ClusterError),
    /// Prices that are not of what was counted.
    #[error(transparent)]
    Published(#[from] published::SdpError),
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
    let ended = |one: &&&Analysis| !matches!(one.program.outcome, Some(Ending::Signalled(_)));
    let whole: Vec<&Analysis> = analyses.iter().filter(ended).copied().collect();
    let cut_short = analyses.len() - whole.len();
    let analyses = whole.as_slice();
    let programs = by_program(analyses);
    if programs.is_empty() {
        return Err(PredictError::Nothing.into());
    }
    let (mut rows, mut counted) = (Vec::new(), false);
    for ((name, _), analyses) in &programs {
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
        // The processors of hosts are each node's own.
        let on_one_machine = priced.is_none_or(|priced| priced.counted.is_none());
        for group in runs.groups.iter().filter(|group| group.threads > 1) {
            let threads = group.threads;
            let observed = alone_ns / group.typical();
            let mut predictions = vec![cell(Predictor::Ideal, threads.into(), observed)];
            predictions.extend(fitted(analyses, threads, alone_ns, observed, options)?);
            predictions.extend(published.remove(&threads).into_iter().flatten());
            rows.push(Row {
                program: (*name).to_owned(),
                threads,
                protocol: protocol_of(group.typical_run().analysis),
                runs: group.runs.len() as u32,
                oversubscribed: on_one_machine && processors.is_some_and(|most| threads > most),
                processors_used: processors
                    .filter(|_| on_one_machine)
                    .and_then(|all| processors_used(group.typical_run().analysis, all)),
                speedup_observed: observed,
                predictions,
            });
        }
    }
    if rows.is_empty() {
        return Err(ValidateError::OnlyAlone);
    }
    if priced.is_some() && !counted {
        return Err(RecordingsError::NoCounts.into());
    }
    Ok(Validated {
        schema: SCHEMA,
        version: VERSION,
        cluster: priced.map(|priced| priced.cluster.name.clone()),
        errors: errors(&rows),
        table4: table4(&rows),
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

/// Predicts each number of threads by the published models from its own counts, and compares with
/// the speedup that the counts come with. `priced.counted` is not looked at.
///
/// # Errors
/// If no speedup was observed, or the cluster has no such prices.
pub fn validate_counts(counted: &Counted, priced: Priced<'_>) -> Result<Validated, ValidateError> {
    let protocol = priced.protocol.unwrap_or(counted.protocol);
    if protocol == Protocol::Home && counted.protocol == Protocol::Homeless {
        return Err(published::SdpError::Protocol.into());
    }
    let prices = priced
        .cluster
        .prices_asked(protocol, priced.diff_bytes)?
        .prices;
    let mut rows = Vec::new();
    let mut without = 0;
    for program in &counted.programs {
        for run in program.runs.iter().filter(|run| run.threads > 1) {
            let Some(observed) = run.speedup_observed else {
                without += 1;
                continue;
            };
            let mut predictions = vec![cell(Predictor::Ideal, run.threads.into(), observed)];
            predictions.extend(by_published(run, &program.runs, &prices, observed));
            rows.push(Row::of_speedups(
                &program.name,
                run.threads,
                Some(protocol),
                observed,
                predictions,
            ));
        }
    }
    if rows.is_empty() {
        return Err(ValidateError::NoneObserved);
    }
    let left_out =
        (without > 0).then(|| format!("{without} runs without an observed speedup are left out."));
    Ok(Validated {
        schema: SCHEMA,
        version: VERSION,
        cluster: Some(priced.cluster.name.clone()),
        errors: errors(&rows),
        table4: table4(&rows),
        warnings: left_out.into_iter().collect(),
        rows,
    })
}

/// What the published models say of a run; f is fitted to the other numbers of threads.
fn by_published(
    run: &counts::Run,
    all: &[counts::Run],
    prices: &Prices,
    observed: f64,
) -> Vec<Cell> {
    let mut others = all.to_vec();
    others.retain(|other| other.threads != run.threads);
    let aggregate = |f: f64| published::aggregate(run, prices, f);
    // Where nothing costs anything, every f gives the same.
    let fitted = published::fit_f(&others, prices);
    let fitted = fitted.or_else(|| published::is_without_faults(all, prices).then_some(0.0));
    let times = [
        (
            Predictor::Critical,
            published::critical(run, prices).map(|found| found.0),
        ),
        (Predictor::AggregateF0, aggregate(0.0)),
        (Predictor::AggregateF1, aggregate(1.0)),
        (Predictor::AggregateFit, fitted.and_then(aggregate)),
    ];
    let said = times.into_iter().filter_map(|(predictor, time)| {
        Some(cell(
            predictor,
            run.sequential_ns / time?.time_ns(),
            observed,
        ))
    });
    said.collect()
}

/// Recordings by program and, where a program was run on nodes by both protocols, by protocol;
/// those with one thread belong to each.
fn by_program<'a>(
    analyses: &[&'a Analysis],
) -> BTreeMap<(&'a str, Option<&'static str>), Vec<&'a Analysis>> {
    let mut programs: BTreeMap<(&str, Option<&str>), Vec<&Analysis>> = BTreeMap::new();
    let name_of = |one: &'a Analysis| one.program.name.as_str();
    for analysis in analyses {
        let protocol = protocol_of(analysis).map(Protocol::name);
        let same = || {
            analyses
                .iter()
                .filter(|one| name_of(one) == name_of(analysis))
        };
        let mut others = same()
            .filter_map(|one| protocol_of(one))
            .map(Protocol::name);
        match (protocol, others.next()) {
            (None, Some(_)) => {
                let all: BTreeSet<&str> = same()
                    .filter_map(|one| protocol_of(one))
                    .map(Protocol::name)
                    .collect();
                for protocol in all {
                    programs
                        .entry((name_of(analysis), Some(protocol)))
                        .or_default()
                        .push(analysis);
                }
            }
            _ => programs
                .entry((name_of(analysis), protocol))
                .or_default()
                .push(analysis),
        }
    }
    programs
}

/// What shared memory between the nodes of a recording, if it was made on nodes.
fn protocol_of(analysis: &Analysis) -> Option<Protocol> {
    let sharing = analysis
        .program
        .sharing
        .filter(|_| analysis.program.nodes > 1)?;
    Some(sharing.protocol)
}

fn processors_used(analysis: &Analysis, processors: u32) -> Option<f64> {
    let all_ns = analysis.wall_ns as f64 * f64::from(processors);
    let own_ns = analysis.program.processor_ns? as f64;
    (all_ns > 0.0).then(|| (own_ns / all_ns).min(1.0))
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

/// The run of middle duration of each number of threads.
fn middle_of<'a>(runs: &Runs<'a>) -> Vec<&'a Analysis> {
    let groups = runs.groups.iter();
    groups.map(|one| one.typical_run().analysis).collect()
}

/// Predictions from counts, by number of threads; none if there are no counts.
fn published<'a>(
    runs: &Runs<'a>,
    alone_ns: f64,
    priced: Priced<'a>,
) -> Result<BTreeMap<u32, Vec<Cell>>, ValidateError> {
    let name = runs
        .groups
        .first()
        .map(|one| &one.typical_run().analysis.program.name);
    let elsewhere = priced.counted.map(|all| {
        let same = all.iter().filter(|one| Some(&one.program.name) == name);
        same.copied().collect::<Vec<_>>()
    });
    let middle = match &elsewhere {
        Some(elsewhere) => middle_of(&Runs::new(elsewhere)?),
        None => middle_of(runs),
    };
    let counted = match Counted::from_analyses(&middle, Some(alone_ns)) {
        Err(RecordingsError::NoCounts) => return Ok(BTreeMap::new()),
        counted => counted?,
    };
    let protocol = priced.protocol.unwrap_or(counted.protocol);
    let prices = priced
        .cluster
        .prices_asked(protocol, priced.diff_bytes)?
        .prices;
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
        cells.insert(
            run.threads,
            by_published(run, &runs_counted, &prices, observed),
        );
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
