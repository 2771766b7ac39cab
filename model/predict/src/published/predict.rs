//! Counts and a cluster to speedups.

use super::model::{Breakdown, RegionCost, aggregate, critical, fit_f, is_without_faults};
use super::table4::{Speedup, Table4Row, mean_relative_error, of_speedups};
use crate::counts::{Counted, Program, Run};
use crate::prices::{Cluster, ClusterError, Event, PricesOf, Protocol};
use serde::Serialize;
use thiserror::Error;

/// Name of the schema in JSON.
pub const SCHEMA: &str = "fathomp.sdp_prediction";
/// Version of the schema in JSON.
pub const VERSION: u32 = 1;

/// Values of `f` that the published tables show.
const PUBLISHED_F: [f64; 5] = [0.0, 0.25, 0.5, 0.75, 1.0];

/// Which of the two models.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Model {
    /// The slowest thread of each region.
    Critical,
    /// All threads' faults, a fraction f of them one after the other.
    Aggregate,
}

/// The fraction of faults that nothing overlaps, for [`Model::Aggregate`].
#[derive(Clone, Debug, PartialEq)]
pub enum F {
    /// 0, 0.25, 0.5, 0.75 and 1.
    Published,
    /// These.
    Values(Vec<f64>),
    /// For each program what fits its observed speedups best.
    Fit,
}

/// What to predict.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// With which model.
    pub model: Model,
    /// With which protocol's prices; none: those of the protocol counted.
    pub protocol: Option<Protocol>,
    /// Ignored by [`Model::Critical`].
    pub f: F,
    /// Numbers of threads; empty: all that were counted.
    pub at: Vec<u32>,
    /// Size of a diff to a home; none: a page.
    pub diff_bytes: Option<u32>,
}

/// Predicted speedups of programs on a cluster.
#[derive(Clone, Debug, Serialize)]
pub struct Predicted {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Which model.
    pub model: Model,
    /// Whose prices.
    pub protocol: Protocol,
    /// Name of the cluster.
    pub cluster: String,
    /// What an event costs there.
    pub prices: PricesOf,
    /// Programs, as the file lists them.
    pub programs: Vec<Speedups>,
    /// Errors where speedups were observed, in the form of the published
    /// table 4.
    pub errors: Vec<MeanError>,
    /// The same by class and choice of programs; who predicts is an f, none for
    /// [`Model::Critical`] and where f was fitted to each program.
    pub table4: Vec<Table4Row<Option<f64>>>,
    /// What makes the prediction doubtful, in words.
    pub warnings: Vec<String>,
}

/// A program's predicted speedups.
#[derive(Clone, Debug, Serialize)]
pub struct Speedups {
    /// Name of the program; may be empty.
    pub program: String,
    /// By number of threads and f.
    pub points: Vec<Point>,
}

/// A predicted speedup.
#[derive(Clone, Debug, Serialize)]
pub struct Point {
    /// Threads, one per node.
    pub threads: u32,
    /// For [`Model::Aggregate`]: the fraction of faults that nothing overlaps.
    pub f: Option<f64>,
    /// Time of the sequential program.
    pub sequential_ns: f64,
    /// Predicted time.
    pub time_ns: f64,
    /// Sequential over predicted time.
    pub speedup: f64,
    /// Speedups of the aggregate model with f = 1 and f = 0, which bound all
    /// others; none unless threads were counted.
    pub speedup_bounds: Option<[f64; 2]>,
    /// What the time consists of; adds up to `time_ns`.
    pub terms: Vec<TermTime>,
    /// The event that costs most; none if nothing costs.
    pub dominating: Option<Dominating>,
    /// For [`Model::Critical`]: what regions add to the critical path, most
    /// first.
    pub regions: Vec<RegionCost>,
    /// What was measured, if it was.
    pub speedup_observed: Option<f64>,
    /// (predicted - observed) / observed.
    pub relative_error: Option<f64>,
}

/// A part of the predicted time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TermTime {
    /// Which.
    pub term: Term,
    /// How much of it.
    pub time_ns: f64,
    /// Events of that kind that were counted: along the critical path, or of all threads
    /// together; none of work.
    pub count: Option<f64>,
}

/// What a predicted time consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Term {
    /// Sequential time divided among the threads.
    Work(Work),
    /// Events of one kind.
    Event(Event),
}

/// The divided work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Work {
    /// Sequential time divided among the threads.
    Work,
}

/// The event that costs most.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Dominating {
    /// Which.
    pub term: Event,
    /// Its fraction of the predicted time.
    pub share: f64,
}

/// Mean error of several programs' predicted speedups.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct MeanError {
    /// Threads.
    pub threads: u32,
    /// For [`Model::Aggregate`] with the same f for all programs.
    pub f: Option<f64>,
    /// Programs with an observed speedup.
    pub programs: u32,
    /// Mean of |predicted - observed| / observed.
    pub mean_relative_error: f64,
}

/// Why nothing can be predicted.
#[derive(Debug, Error)]
pub enum SdpError {
    /// The cluster has no prices for it.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// Counts that the model cannot use.
    #[error(
        "the counts of {program} with {threads} threads are those {has}: {model} needs those of every thread{or}"
    )]
    Scope {
        /// Which program.
        program: String,
        /// Threads.
        threads: u32,
        /// What was counted.
        has: &'static str,
        /// The model.
        model: &'static str,
        /// What would do as well.
        or: &'static str,
    },
    /// A number of threads that was not counted.
    #[error(
        "nothing was counted with {asked} threads, only with {known}: counts do not follow from those with other numbers of threads"
    )]
    Threads {
        /// What was asked for.
        asked: u32,
        /// What there is.
        known: String,
    },
    /// An f that is none.
    #[error("f cannot be {0}: it is a fraction, from 0 (all faults overlap) to 1 (none do)")]
    F(f64),
    /// Nothing to fit to.
    #[error(
        "f cannot be fitted for {program}: that takes observed speedups with 2 or more threads and faults that cost something; give f itself"
    )]
    NoFit {
        /// Which program.
        program: String,
    },
    /// Counts that do not belong together.
    #[error(
        "the home-based model tells local from remote write faults, which these counts do not: count with a home-based protocol, or ask for --dsm homeless"
    )]
    Protocol,
}

/// Predicts the speedups of the counted programs on a cluster.
///
/// # Errors
/// If the cluster lacks prices, the counts lack what the model needs, or a
/// number of threads or f makes no sense.
pub fn predict(
    counts: &Counted,
    cluster: &Cluster,
    question: &Question,
) -> Result<Predicted, SdpError> {
    let protocol = question.protocol.unwrap_or(counts.protocol);
    if protocol == Protocol::Home && counts.protocol == Protocol::Homeless {
        return Err(SdpError::Protocol);
    }
    if let F::Values(values) = &question.f
        && let Some(wrong) = values.iter().find(|f| !(0.0..=1.0).contains(*f))
    {
        return Err(SdpError::F(*wrong));
    }
    check_threads(&counts.programs, &question.at)?;
    let prices = cluster.prices_asked(protocol, question.diff_bytes)?;
    let (mut programs, mut unfitted) = (Vec::new(), Vec::new());
    for program in &counts.programs {
        let asked = Asked {
            program,
            prices: &prices,
        };
        let mut points = Vec::new();
        let values = asked.values(question);
        if values.is_empty() {
            unfitted.push(name_of(&program.name));
        }
        for run in &program.runs {
            if question.at.is_empty() || question.at.contains(&run.threads) {
                points.extend(asked.points(run, question, &values)?);
            }
        }
        programs.push(Speedups {
            program: program.name.clone(),
            points,
        });
    }
    if let Some(program) = unfitted.first()
        && unfitted.len() == programs.len()
    {
        let program = (*program).to_owned();
        return Err(SdpError::NoFit { program });
    }
    let fitted = question.model == Model::Aggregate && question.f == F::Fit;
    let warnings = warnings(counts, cluster, protocol, &prices, &programs);
    Ok(Predicted {
        schema: SCHEMA,
        version: VERSION,
        model: question.model,
        protocol,
        cluster: cluster.name.clone(),
        prices,
        errors: errors(&programs, question),
        table4: table4(&programs, question, protocol),
        warnings: match fitted {
            true => warnings
                .into_iter()
                .chain(without_f(&programs, &unfitted))
                .collect(),
            false => warnings,
        },
        programs,
    })
}

fn check_threads(programs: &[Program], at: &[u32]) -> Result<(), SdpError> {
    let mut known: Vec<u32> = programs
        .iter()
        .flat_map(|program| program.runs.iter().map(|run| run.threads))
        .collect();
    known.sort_unstable();
    known.dedup();
    match at.iter().find(|asked| !known.contains(asked)) {
        Some(&asked) => Err(SdpError::Threads {
            asked,
            known: known
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(", "),
        }),
        None => Ok(()),
    }
}

/// A program and what its events cost.
struct Asked<'a> {
    program: &'a Program,
    prices: &'a PricesOf,
}

impl Asked<'_> {
    fn points(
        &self,
        run: &Run,
        question: &Question,
        values: &[Option<f64>],
    ) -> Result<Vec<Point>, SdpError> {
        let prices = &self.prices.prices;
        if question.model == Model::Critical {
            let (breakdown, regions) =
                critical(run, prices).ok_or_else(|| self.scope(run, question.model))?;
            return Ok(vec![self.point(run, &breakdown, None, regions)]);
        }
        values
            .iter()
            .map(|f| {
                let breakdown = aggregate(run, prices, f.unwrap_or_default())
                    .ok_or_else(|| self.scope(run, question.model))?;
                Ok(self.point(run, &breakdown, *f, Vec::new()))
            })
            .collect()
    }

    /// The values of f to predict with: one of none where nothing costs anything, so that f
    /// changes nothing; nothing where it cannot be fitted.
    fn values(&self, question: &Question) -> Vec<Option<f64>> {
        let (runs, prices) = (&self.program.runs, &self.prices.prices);
        match &question.f {
            F::Published => PUBLISHED_F.map(Some).to_vec(),
            F::Values(values) => values.iter().copied().map(Some).collect(),
            F::Fit => match fit_f(runs, prices) {
                None if is_without_faults(runs, prices) => vec![None],
                fitted => fitted.into_iter().map(Some).collect(),
            },
        }
    }

    fn point(
        &self,
        run: &Run,
        breakdown: &Breakdown,
        f: Option<f64>,
        regions: Vec<RegionCost>,
    ) -> Point {
        let time_ns = breakdown.time_ns();
        let speedup = run.sequential_ns / time_ns;
        let bound = |f| aggregate(run, &self.prices.prices, f).map(|one| one.time_ns());
        let bounds = bound(1.0).zip(bound(0.0));
        let work = TermTime {
            term: Term::Work(Work::Work),
            time_ns: breakdown.work_ns,
            count: None,
        };
        let events = Event::ALL.map(|event| (event, breakdown.events_ns[event as usize]));
        let dominating = events
            .iter()
            .filter(|(_, time)| *time > 0.0)
            .max_by(|a, b| a.1.total_cmp(&b.1))
            .map(|&(term, time)| Dominating {
                term,
                share: time / time_ns,
            });
        let events = events.map(|(event, time_ns)| TermTime {
            term: Term::Event(event),
            time_ns,
            count: Some(breakdown.counts.0[event as usize]),
        });
        Point {
            threads: run.threads,
            f,
            sequential_ns: run.sequential_ns,
            time_ns,
            speedup,
            speedup_bounds: bounds
                .map(|(most, least)| [most, least].map(|time| run.sequential_ns / time)),
            terms: std::iter::once(work).chain(events).collect(),
            dominating,
            regions,
            speedup_observed: run.speedup_observed,
            relative_error: run
                .speedup_observed
                .map(|observed| speedup / observed - 1.0),
        }
    }

    /// The model lacks what it counts with, so the other kind of sum is there.
    fn scope(&self, run: &Run, model: Model) -> SdpError {
        let (has, model, or) = match model {
            Model::Critical => (
                "of all threads together",
                "the critical-path model",
                ", or of the critical path",
            ),
            Model::Aggregate => (
                "along the critical path",
                "the aggregate model",
                ", or of all together",
            ),
        };
        SdpError::Scope {
            program: name_of(&self.program.name).to_owned(),
            threads: run.threads,
            has,
            model,
            or,
        }
    }
}

/// What to call a program.
fn name_of(name: &str) -> &str {
    match name {
        "" => "the program",
        name => name,
    }
}

/// Says of which programs no f was fitted, and what became of them.
fn without_f(programs: &[Speedups], unfitted: &[&str]) -> Vec<String> {
    let free = programs.iter().filter(|program| {
        let mut points = program.points.iter();
        points.next().is_some_and(|one| one.f.is_none())
    });
    let free: Vec<&str> = free.map(|program| name_of(&program.program)).collect();
    let mut said = Vec::new();
    if !free.is_empty() {
        said.push(format!(
            "No f is fitted for {}: no faults cost anything there, so that every f gives the same.",
            free.join(", ")
        ));
    }
    if !unfitted.is_empty() {
        said.push(format!(
            "Nothing is predicted for {}: to fit f takes observed speedups with 2 or more threads and faults that cost something; give f itself.",
            unfitted.join(", ")
        ));
    }
    said
}

/// Errors by class and choice of programs, as the published table 4 has them.
fn table4(
    programs: &[Speedups],
    question: &Question,
    protocol: Protocol,
) -> Vec<Table4Row<Option<f64>>> {
    let speedups = programs.iter().flat_map(|program| {
        program.points.iter().filter_map(move |point| {
            Some(Speedup {
                protocol: Some(protocol),
                program: &program.program,
                threads: point.threads,
                // Of what is not negative, the bits are in the order of the values.
                predictor: point.f.filter(|_| question.f != F::Fit).map(f64::to_bits),
                predicted: point.speedup,
                observed: point.speedup_observed?,
            })
        })
    });
    let rows = of_speedups(&speedups.collect::<Vec<_>>());
    let with_f = |row: Table4Row<Option<u64>>| Table4Row {
        protocol: row.protocol,
        class: row.class,
        subset: row.subset,
        predictor: row.predictor.map(f64::from_bits),
        errors: row.errors,
    };
    rows.into_iter().map(with_f).collect()
}

/// Errors by number of threads and by place in the list of f.
fn errors(programs: &[Speedups], question: &Question) -> Vec<MeanError> {
    let points = || programs.iter().flat_map(|program| &program.points);
    let mut kinds: Vec<(u32, Option<f64>)> = Vec::new();
    for point in points() {
        // A fitted f differs from program to program.
        let f = point.f.filter(|_| question.f != F::Fit);
        if !kinds.contains(&(point.threads, f)) {
            kinds.push((point.threads, f));
        }
    }
    kinds.sort_by_key(|(threads, _)| *threads);
    kinds
        .into_iter()
        .filter_map(|(threads, f)| {
            let pairs: Vec<(f64, f64)> = points()
                .filter(|point| point.threads == threads && (f.is_none() || point.f == f))
                .filter_map(|point| Some((point.speedup, point.speedup_observed?)))
                .collect();
            Some(MeanError {
                threads,
                f,
                programs: pairs.len() as u32,
                mean_relative_error: mean_relative_error(&pairs)?,
            })
        })
        .collect()
}

fn warnings(
    counts: &Counted,
    cluster: &Cluster,
    protocol: Protocol,
    prices: &PricesOf,
    programs: &[Speedups],
) -> Vec<String> {
    let mut warnings = Vec::new();
    if prices.derived {
        warnings.push(format!(
            "The prices of {} are derived from its network and the cost of a fault, not measured.",
            cluster.name
        ));
    }
    if protocol != counts.protocol {
        warnings.push(
            "The counts are those of a home-based protocol: a homeless one has other fetch faults."
                .to_owned(),
        );
    }
    let points = || programs.iter().flat_map(|program| &program.points);
    if let Some(most) = points().map(|point| point.threads).max()
        && most > cluster.nodes
    {
        warnings.push(format!(
            "{} has {} nodes: predictions for up to {most} assume as many like them.",
            cluster.name, cluster.nodes
        ));
    }
    let above: Vec<String> = programs
        .iter()
        .filter_map(|program| {
            let mut points = program.points.iter();
            let f = points.find_map(|point| point.f.filter(|f| *f > 1.0))?;
            Some(format!("{f:.2} for {}", name_of(&program.program)))
        })
        .collect();
    if !above.is_empty() {
        warnings.push(format!(
            "The f that fits best is {}, and no part of the faults can be more than all of them: it takes longer than if all faults came one after the other. Usually what is sent at synchronisation (flushes, diffs), or nodes that wait for one home, take time that faults do not count; a replay of recorded accesses (`fathomp record --accesses`) knows both.",
            above.join(", ")
        ));
    }
    let beyond = points().find(|point| {
        let rounding = 1e-9 * point.speedup;
        let is_fraction = point.f.is_none_or(|f| f <= 1.0);
        is_fraction
            && point.speedup_bounds.is_some_and(|[least, most]| {
                point.speedup < least - rounding || point.speedup > most + rounding
            })
    });
    if let Some(point) = beyond {
        warnings.push(format!(
            "With {} threads, counts along the critical path and of all threads contradict each other: the critical path has less than the mean of all threads, or more than their sum.",
            point.threads
        ));
    }
    warnings
}
