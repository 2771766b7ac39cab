//! MCBENCH on clusters that are not there: what it accesses is known without running it, and is
//! replayed through the protocols that real nodes run, as `fathomp simulate` does with recordings.
//!
//! What comes out is a document like that of a measurement, so that the same tables, laws and
//! figures follow from it.

mod accesses;

pub use accesses::{Passes, PatternError, private, shared};

use fathomp_access_trace::Accesses;
use fathomp_bench::machine::Machine;
use fathomp_bench::pattern::Pattern;
use fathomp_bench::result::{Cell, Clocks, Column, Document, SCHEMA, VERSION};
use fathomp_bench::run::{Choice, PlanError, choose, identity, now_unix_ns};
use fathomp_bench::settings::Settings;
use fathomp_bench::suite::{Case, Process, Row, SuiteName};
use fathomp_launch::Protocol;
use fathomp_protocols::heuristics::PredictorSet;
use fathomp_trace_replay::{Costs, Homes, Setting, Sharing, replay};
use fathomp_transport::Net;
use fathomp_types::PAGE_BYTES;
use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread::available_parallelism;
use std::time::Instant;

/// Passes whose mean counts.
const PASSES: u32 = 2;

/// What columns have in place of a compiler.
const COMPILER: &str = "simulated";

/// A cluster that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cluster {
    /// What to call it.
    pub name: String,
    /// What it is, in words.
    pub about: String,
}

/// A protocol on it.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The name in tables.
    pub name: String,
    /// Which it is.
    pub protocol: Protocol,
    /// How it is run.
    pub sharing: Sharing,
    /// Where pages are at home at first.
    pub homes: Homes,
    /// What is between nodes.
    pub net: Net,
    /// What nodes' own work costs with it.
    pub costs: Costs,
}

/// What to simulate.
#[derive(Debug)]
pub struct Plan {
    cluster: Cluster,
    ways: Vec<Way>,
    rows: Vec<Row>,
    cases: Vec<Case>,
    nodes: Vec<u32>,
    quick: bool,
}

impl Plan {
    /// The cases wanted of these rows of MCBENCH's.
    ///
    /// # Errors
    /// If there are none.
    pub fn new(
        rows: Vec<Row>,
        cluster: Cluster,
        ways: Vec<Way>,
        choice: &Choice,
        settings: &Settings,
    ) -> Result<Self, PlanError> {
        Ok(Self {
            cluster,
            ways,
            cases: choose(SuiteName::Mcbench, &rows, choice, settings.quick)?,
            rows,
            nodes: settings.threads.clone(),
            quick: settings.quick,
        })
    }

    /// Steps of [`Plan::simulate`].
    #[must_use]
    pub fn steps(&self) -> usize {
        self.cases.len() * self.nodes.len() * self.ways.len()
    }

    /// Simulates; `progress` hears of every step: how many are done, what comes now, and where.
    /// The same is answered every time.
    #[must_use]
    pub fn simulate(&self, mut progress: impl FnMut(usize, &str, &str)) -> Document {
        let (begin, began_unix_ns) = (Instant::now(), now_unix_ns());
        let mut steps = Vec::with_capacity(self.steps());
        for case in &self.cases {
            for nodes in &self.nodes {
                steps.extend((0..self.ways.len()).map(|column| (case, *nodes, column)));
            }
        }
        let mut cells = self.all(&steps, |done, (case, _, column)| {
            let name = self.row_of(case).map(|row| row.case_name(&case.values));
            let name = name.unwrap_or_else(|| case.row.clone());
            progress(done, &name, &self.ways[column].name);
        });
        cells.sort_by_key(|(step, _)| *step);
        let cells = cells.into_iter().map(|(_, cell)| cell).collect();
        Document {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            id: identity(&self.cluster.name, began_unix_ns),
            began_unix_ns,
            took_ns: u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
            suite: SuiteName::Mcbench,
            machine: self.machine(),
            clocks: Clocks::default(),
            settings: Settings {
                threads: self.nodes.clone(),
                runs: 1,
                samples: 1,
                quick: self.quick,
                ..Settings::default()
            },
            columns: self.ways.iter().map(Way::column).collect(),
            rows: self.rows.clone(),
            cells,
            skipped: Vec::new(),
            warnings: vec![format!(
                "Times on {} are calculated: the pages that the program accesses are replayed through \
                 fathomp's protocols, with that cluster's network and prices, and without the time \
                 that the program itself computes.",
                self.cluster.name
            )],
        }
    }

    /// The cells of all steps in any order, with their numbers: as many at a time as there are
    /// processors, the dearest first.
    fn all<'a>(
        &self,
        steps: &[(&'a Case, u32, usize)],
        mut begins: impl FnMut(usize, (&'a Case, u32, usize)),
    ) -> Vec<(usize, Cell)> {
        let mut order: Vec<usize> = (0..steps.len()).collect();
        order.sort_by_key(|step| Reverse(steps[*step].1));
        let (next, order) = (AtomicUsize::new(0), &order);
        let (sender, done) = mpsc::channel();
        let workers = available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 0..workers.min(steps.len()) {
                let (sender, next) = (sender.clone(), &next);
                scope.spawn(move || {
                    while let Some(step) = order.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // Nobody hears of it if the receiver has gone.
                        let _ = sender.send((*step, self.cell(steps[*step])));
                    }
                });
            }
            drop(sender);
            let mut cells = Vec::with_capacity(steps.len());
            if let Some(first) = order.first() {
                begins(0, steps[*first]);
            }
            for cell in done {
                cells.push(cell);
                if let Some(now) = order.get(cells.len()) {
                    begins(cells.len(), steps[*now]);
                }
            }
            cells
        })
    }

    fn cell(&self, (case, nodes, column): (&Case, u32, usize)) -> Cell {
        let (processes, failure) = match self.pass(case, nodes, &self.ways[column]) {
            Ok(process) => (vec![process], None),
            Err(reason) => (Vec::new(), Some(reason)),
        };
        Cell {
            case: case.clone(),
            column,
            threads: nodes,
            processes,
            failure,
        }
    }

    fn row_of(&self, case: &Case) -> Option<&Row> {
        self.rows.iter().find(|row| row.row == case.row)
    }

    /// The cluster, with a processor for each node.
    fn machine(&self) -> Machine {
        let most = self.nodes.iter().copied().max().unwrap_or(1);
        Machine {
            host: self.cluster.name.clone(),
            processor: self.cluster.about.clone(),
            processors: most as usize,
            governor: None,
            kernel: String::new(),
            load_one_minute: None,
            cache: None,
            simulated: true,
        }
    }

    /// Times of a pass over a shared array and over private ones.
    fn pass(&self, case: &Case, nodes: u32, way: &Way) -> Result<Process, String> {
        let value = |name: &str| {
            let parameters = self.row_of(case)?.parameters.iter();
            let mut named = parameters.zip(&case.values);
            named.find_map(|(one, value)| (one.name == name).then_some(*value))
        };
        let array = value("array").ok_or("is not simulated: only MCBENCH's rows are")?;
        let pattern = Pattern {
            array,
            chunk: value("chunk"),
            threads: nodes.into(),
        };
        let setting = Setting {
            nodes: u16::try_from(nodes).map_err(|_| "needs more nodes than can be numbered")?,
            sharing: way.sharing,
            homes: way.homes,
            net: way.net,
            costs: way.costs,
            left_out: PredictorSet::default(),
        };
        // A page comes back to a thread after as many passes as there are threads: what all others
        // have changed meanwhile is what it lacks then. Where each thread has a part of every
        // page, that is so in each pass.
        let everywhere = pattern.chunk_bytes().saturating_mul(pattern.threads) <= PAGE_BYTES as u64;
        let passes = Passes {
            before: if everywhere {
                2
            } else {
                nodes.saturating_add(1)
            },
            counted: PASSES,
        };
        let of_pass = |accesses: &Accesses| {
            let outcome = replay(accesses, &setting);
            let outcome = outcome.map_err(|error| format!("cannot be replayed: {error}"))?;
            let region = outcome.regions.last();
            let time_ns = region.map_or(0, |region| region.time_ns);
            Ok::<f64, String>(time_ns as f64 / f64::from(PASSES))
        };
        let accesses = shared(pattern, passes).map_err(|error| error.to_string())?;
        Ok(Process {
            reps: u64::from(PASSES),
            bytes: Some(array as f64),
            reference_ns: vec![of_pass(&private(nodes.into(), passes))?],
            construct_ns: vec![of_pass(&accesses)?],
            ..Process::default()
        })
    }
}

impl Way {
    fn column(&self) -> Column {
        Column {
            compiler: COMPILER.to_owned(),
            compiler_version: String::new(),
            runtime: self.name.clone(),
            library: None,
            protocol: Some(self.protocol.name().to_owned()),
        }
    }
}

#[cfg(test)]
mod tests;
