//! Measuring: every case in every column, interleaved.
//!
//! A run takes each case through column A, B, C and then goes on to the next
//! case, so the processes that are compared lie within a fraction of a second
//! of each other and whatever disturbs the machine disturbs all alike. Who goes
//! first changes from run to run. Every case is a process of its own: one that
//! hangs or crashes costs its own cell and nothing else.

use crate::machine::{Machine, StealMeter};
use crate::noise;
use crate::result::{Cell, Clocks, Column, Document, SCHEMA, Skipped, VERSION};
use crate::runtime::Runtime;
use crate::settings::{Preload, Settings};
use crate::suite::last_words;
use crate::suite::{Asked, Case, Failure, Measures, Probed, Process, Program, Row, SuiteName};
use fathomp_process::{self as process, RunError};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::thread::available_parallelism;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The order of tables.
const GROUPS: [&str; 5] = ["sync", "sched", "array", "task", "nest"];

/// What to measure.
#[derive(Debug)]
pub struct Plan {
    suite: SuiteName,
    settings: Settings,
    columns: Vec<Lane>,
    rows: Vec<Row>,
    cases: Vec<Case>,
    skipped: Vec<Skipped>,
    /// That programs may use.
    processors: u32,
}

/// A column, and how its processes are started.
#[derive(Debug)]
struct Lane {
    column: Column,
    program: Program,
    preload: Option<Preload>,
}

/// Why nothing can be measured.
#[derive(Debug, thiserror::Error)]
pub enum PlanError {
    /// No compiler's program can run under any runtime.
    #[error(
        "no program can run under the runtimes named ({0}): name others with --runtime, or another compiler with --cc"
    )]
    NoColumns(String),
    /// A row that no program has.
    #[error("the {suite} benchmark has no row called \"{name}\": it has {known}")]
    UnknownRow {
        /// The suite.
        suite: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// A group that no program has.
    #[error("the {suite} benchmark has no group called \"{name}\": it has {known}")]
    UnknownGroup {
        /// The suite.
        suite: &'static str,
        /// What was asked for.
        name: String,
        /// What there is.
        known: String,
    },
    /// Rows and groups exclude each other.
    #[error("no row is left to measure: the rows named are in none of the groups named")]
    Nothing,
    /// The clocks are unknown.
    #[error(
        "the benchmark built by {compiler} does not know its clocks ({reason}): try another compiler with --cc"
    )]
    Clocks {
        /// Who built it.
        compiler: String,
        /// What it said.
        reason: String,
    },
}

/// The rows wanted: all where a list is empty.
#[derive(Debug, Clone, Default)]
pub struct Choice {
    /// Names of rows or cases.
    pub only: Vec<String>,
    /// Names of groups.
    pub groups: Vec<String>,
}

/// One step of the work, for progress displays.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Steps already done.
    pub done: usize,
    /// What runs now.
    pub case: &'a str,
    /// In which column.
    pub column: &'a str,
}

impl Plan {
    /// Every program under every runtime that can answer it.
    ///
    /// # Errors
    /// See [`PlanError`].
    pub fn new(
        suite: SuiteName,
        programs: &[Program],
        runtimes: &[Runtime],
        choice: &Choice,
        settings: Settings,
    ) -> Result<Self, PlanError> {
        let mut plan = Self {
            suite,
            settings,
            columns: Vec::new(),
            rows: Vec::new(),
            cases: Vec::new(),
            skipped: Vec::new(),
            processors: available_parallelism()
                .map_or(1, |count| count.get().try_into().unwrap_or(u32::MAX)),
        };
        for program in programs {
            plan.add(program, runtimes);
        }
        if plan.columns.is_empty() {
            let reasons: Vec<String> = plan.skipped.iter().map(Skipped::sentence).collect();
            return Err(PlanError::NoColumns(reasons.join("; ")));
        }
        let rank = |row: &Row| GROUPS.iter().position(|group| *group == row.group);
        plan.rows
            .sort_by_key(|row| rank(row).unwrap_or(GROUPS.len()));
        plan.cases = choose(suite, &plan.rows, choice, plan.settings.quick)?;
        Ok(plan)
    }

    fn add(&mut self, program: &Program, runtimes: &[Runtime]) {
        let compiler = program.compiler.name();
        for runtime in runtimes {
            let column = |library: Option<String>| Column {
                compiler: compiler.to_owned(),
                compiler_version: program.compiler.version().to_owned(),
                runtime: runtime.name.clone(),
                library,
                protocol: runtime
                    .nodes
                    .as_ref()
                    .map(|nodes| nodes.protocol.name().to_owned()),
            };
            let interface = program.compiler.interface;
            let preload = runtime.preload(interface).and_then(|library| {
                let preload = |library: &Path| {
                    let stand_in = Runtime::stand_in(library, interface, program.directory())?;
                    Ok(Preload {
                        library: library.to_owned(),
                        stand_in,
                        nodes: runtime.nodes.clone(),
                    })
                };
                library.map(preload).transpose()
            });
            match preload {
                Ok(preload) => self.columns.push(Lane {
                    column: column(preload.as_ref().map(|p| p.library.display().to_string())),
                    program: program.clone(),
                    preload,
                }),
                Err(reason) => self.skipped.push(Skipped {
                    what: column(None).name(),
                    column: None,
                    reason,
                }),
            }
        }
        let left_out = program.left_out.iter();
        self.skipped
            .extend(left_out.map(|file| Skipped::left_out(compiler, file)));
        program.add_rows_to(&mut self.rows);
    }

    /// Steps of [`Plan::measure`].
    #[must_use]
    pub fn steps(&self) -> usize {
        let steps = |case: &Case| self.lanes(case).len() * self.teams(case).len();
        self.cases.iter().map(steps).sum::<usize>() * self.settings.runs as usize
    }

    /// Sizes of the teams that a case is measured with.
    fn teams(&self, case: &Case) -> &[u32] {
        if self.is_serial(case) {
            &[1]
        } else {
            &self.settings.threads
        }
    }

    /// Indices of the columns that a case is measured in: those that have it,
    /// of which one per compiler is enough if no runtime takes part.
    fn lanes(&self, case: &Case) -> Vec<usize> {
        let serial = self.is_serial(case);
        let mut chosen: Vec<usize> = Vec::new();
        for (index, lane) in self.columns.iter().enumerate() {
            let compiler = &lane.column.compiler;
            let again = |at: &usize| self.columns[*at].column.compiler == *compiler;
            if lane.program.find(&case.row).is_some() && !(serial && chosen.iter().any(again)) {
                chosen.push(index);
            }
        }
        chosen
    }

    fn is_serial(&self, case: &Case) -> bool {
        let row = self.rows.iter().find(|row| row.row == case.row);
        row.is_some_and(Row::is_serial)
    }

    /// Measures; `progress` hears of every step.
    ///
    /// # Errors
    /// If the programs cannot even say what their clocks are worth. A case
    /// that fails is no error: its cell says so.
    pub fn measure(&self, mut progress: impl FnMut(Step<'_>)) -> Result<Document, PlanError> {
        let begin = Instant::now();
        let began_unix_ns = now_unix_ns();
        let machine = Machine::read();
        let steal = StealMeter::start();
        let clocks = self.clocks()?;
        let mut bench = Bench {
            plan: self,
            delay: self.delay_steps()?,
            cells: BTreeMap::new(),
            closed: BTreeMap::new(),
        };
        let mut done = 0;
        let sizes = self.cases.iter().flat_map(|case| self.teams(case));
        let sizes: BTreeSet<u32> = sizes.copied().collect();
        for (threads, run) in sizes
            .into_iter()
            .flat_map(|threads| (0..self.settings.runs).map(move |run| (threads, run)))
        {
            let cases = self.cases.iter().enumerate();
            for (index, case) in cases.filter(|(_, case)| self.teams(case).contains(&threads)) {
                let lanes = self.lanes(case);
                for turn in 0..lanes.len() {
                    let at = lanes[(turn + run as usize) % lanes.len()];
                    let Some((_, row)) = self.columns[at].program.find(&case.row) else {
                        continue;
                    };
                    progress(Step {
                        done,
                        case: &row.case_name(&case.values),
                        column: &self.columns[at].column.name(),
                    });
                    done += 1;
                    let at = At {
                        threads,
                        case: index,
                        column: at,
                    };
                    bench.step(at, run, row);
                }
            }
        }
        let (cells, closed) = (bench.cells, bench.closed);
        let mut document = Document {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            id: identity(&machine.host, began_unix_ns),
            began_unix_ns,
            took_ns: u64::try_from(begin.elapsed().as_nanos()).unwrap_or(u64::MAX),
            suite: self.suite,
            warnings: machine.warnings(),
            machine,
            clocks,
            settings: self.settings.clone(),
            columns: self
                .columns
                .iter()
                .map(|lane| lane.column.clone())
                .collect(),
            rows: self.rows.clone(),
            cells: cells.into_values().collect(),
            skipped: self.skipped.clone(),
        };
        document
            .skipped
            .extend(closed.into_iter().map(|((row, column), reason)| Skipped {
                what: row,
                column: Some(document.columns[column].name()),
                reason,
            }));
        document
            .warnings
            .extend(noise::warnings(&document, steal.share()));
        Ok(document)
    }

    fn clocks(&self) -> Result<Clocks, PlanError> {
        let lane = &self.columns[0];
        let unknown = |reason: String| PlanError::Clocks {
            compiler: lane.column.compiler.clone(),
            reason,
        };
        let text = lane.program.ask(&["clock"]).map_err(unknown)?;
        serde_json::from_str(text.trim()).map_err(|error| unknown(error.to_string()))
    }

    /// Steps of the delay loop in one repetition's work. Asked for once per
    /// program, so that all its processes do the same work.
    fn delay_steps(&self) -> Result<Vec<String>, PlanError> {
        self.columns
            .iter()
            .map(|lane| {
                let unknown = |reason: String| PlanError::Clocks {
                    compiler: lane.column.compiler.clone(),
                    reason,
                };
                let wanted = self.settings.delay_ns.to_string();
                let text = lane.program.ask(&["calibrate", &wanted]).map_err(unknown)?;
                let steps: u64 = text
                    .trim()
                    .parse()
                    .map_err(|_| unknown("it cannot calibrate its delay".to_owned()))?;
                Ok(steps.to_string())
            })
            .collect()
    }
}

/// The cases of `rows` that are wanted, of the programs' short lists of values or the long ones.
///
/// # Errors
///
/// If there are none, or one that was named is not there.
pub fn choose(
    suite: SuiteName,
    rows: &[Row],
    choice: &Choice,
    quick: bool,
) -> Result<Vec<Case>, PlanError> {
    let listed = |names: Vec<String>| {
        let unique: BTreeSet<String> = names.into_iter().collect();
        unique.into_iter().collect::<Vec<_>>().join(", ")
    };
    let suite = suite.name();
    for name in &choice.groups {
        if !rows.iter().any(|row| row.group.eq_ignore_ascii_case(name)) {
            return Err(PlanError::UnknownGroup {
                suite,
                name: name.clone(),
                known: listed(rows.iter().map(|row| row.group.clone()).collect()),
            });
        }
    }
    for name in &choice.only {
        if rows.iter().all(|row| row.named(name, quick).is_empty()) {
            return Err(PlanError::UnknownRow {
                suite,
                name: name.clone(),
                known: listed(rows.iter().map(|row| row.row.clone()).collect()),
            });
        }
    }
    let in_groups = |row: &&Row| {
        let mut groups = choice.groups.iter();
        choice.groups.is_empty() || groups.any(|name| row.group.eq_ignore_ascii_case(name))
    };
    let mut cases: Vec<Case> = Vec::new();
    for row in rows.iter().filter(in_groups) {
        let wanted = if choice.only.is_empty() {
            row.cases(quick)
        } else {
            let named = choice.only.iter().flat_map(|name| row.named(name, quick));
            named.collect()
        };
        for case in wanted {
            if !cases.contains(&case) {
                cases.push(case);
            }
        }
    }
    if cases.is_empty() {
        return Err(PlanError::Nothing);
    }
    Ok(cases)
}

/// A cell's place, in the order of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct At {
    case: usize,
    threads: u32,
    column: usize,
}

/// A measurement in progress.
struct Bench<'a> {
    plan: &'a Plan,
    /// Per column.
    delay: Vec<String>,
    cells: BTreeMap<At, Cell>,
    /// Rows that a column does not have, with the reason.
    closed: BTreeMap<(String, usize), String>,
}

impl Bench<'_> {
    fn step(&mut self, at: At, run: u32, row: &Row) {
        let case = &self.plan.cases[at.case];
        let name = row.case_name(&case.values);
        let key = (row.row.clone(), at.column);
        if self.closed.contains_key(&key) {
            return;
        }
        let first = !self
            .cells
            .keys()
            .any(|known| known.column == at.column && self.plan.cases[known.case].row == row.row);
        // Once per row and column: what is missing there is not measured.
        if first && let Err(failure) = self.probe(at, row, &name) {
            self.closed.insert(key, failure.to_string());
            return;
        }
        let cell = self.cells.entry(at).or_insert_with(|| Cell {
            case: case.clone(),
            column: at.column,
            threads: at.threads,
            processes: Vec::new(),
            failure: None,
        });
        // One failure is enough to distrust a runtime, and waiting for another
        // hang would only take time.
        if cell.failure.is_some() {
            return;
        }
        match self.plan.columns[at.column].measure(
            self.plan,
            &self.delay[at.column],
            at.threads,
            run,
            row,
            &name,
        ) {
            Ok(process) => cell.processes.push(process),
            Err(failure) => cell.failure = Some(failure.to_string()),
        }
    }

    fn probe(&self, at: At, row: &Row, name: &str) -> Result<(), Failure> {
        let lane = &self.plan.columns[at.column];
        let ended = lane.start(self.plan, at.threads, row, &["probe", name])?;
        Probed::read(&ended)
    }
}

impl Lane {
    fn measure(
        &self,
        plan: &Plan,
        delay: &str,
        threads: u32,
        run: u32,
        row: &Row,
        name: &str,
    ) -> Result<Process, Failure> {
        let settings = &plan.settings;
        let numbers = [
            settings.target_us,
            f64::from(settings.samples),
            settings.limit_ms,
        ]
        .map(|number| number.to_string());
        let [target, samples, limit] = &numbers;
        let line = self.start(
            plan,
            threads,
            row,
            &["run", name, delay, target, samples, limit],
        )?;
        Process::read(
            &line,
            Asked {
                threads,
                // A single node on a host has the library of one process.
                library: match (self.in_front(threads), threads) {
                    (Some(_), 1) => None,
                    _ => self.preload.as_ref().map(|preload| &*preload.library),
                },
                // What other hosts have is not known here.
                processors: match self.in_front(threads) {
                    Some(_) => 1,
                    None => plan.processors.min(threads),
                },
                pairs: row.measures == Measures::Overhead,
                run,
            },
        )
    }

    /// The words in front of a program that run it on so many nodes of several hosts.
    fn in_front(&self, threads: u32) -> Option<&[OsString]> {
        let nodes = self.preload.as_ref()?.nodes.as_ref()?;
        nodes.in_front.get(&threads).map(Vec::as_slice)
    }

    /// Runs the program and returns what it printed.
    fn start(
        &self,
        plan: &Plan,
        threads: u32,
        row: &Row,
        arguments: &[&str],
    ) -> Result<String, Failure> {
        let Some((part, _)) = self.program.find(&row.row) else {
            return Err(Failure::Unavailable(
                "the program does not have it".to_owned(),
            ));
        };
        let mut command = match self.in_front(threads) {
            Some([first, rest @ ..]) => {
                let mut command = Command::new(first);
                command.args(rest).arg(&part.path);
                command
            }
            _ => Command::new(&part.path),
        };
        command.args(arguments);
        plan.settings
            .environment(threads, self.preload.as_ref(), &mut command);
        match process::run(&mut command, plan.settings.limits()) {
            Ok(ended) if ended.status.success() => Ok(ended.stdout),
            Ok(ended) => Err(Failure::Crashed(last_words(&ended))),
            Err(RunError::TimedOut(limit)) => Err(Failure::Hung(limit)),
            Err(error) => Err(Failure::Crashed(error.to_string())),
        }
    }
}

/// Nanoseconds since the Unix epoch.
#[must_use]
pub fn now_unix_ns() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// Twelve digits that no other measurement has.
#[must_use]
pub fn identity(host: &str, began_unix_ns: u64) -> String {
    let text = format!("{host} {began_unix_ns} {}", std::process::id());
    let digest = Sha256::digest(text.as_bytes());
    digest
        .iter()
        .take(6)
        .map(|byte| format!("{byte:02x}"))
        .collect()
}
