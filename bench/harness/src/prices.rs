//! What keeping memory consistent between nodes costs, event by event: the
//! program under `suites/prices`, and what its samples say.

use crate::compiler::Compiler;
use crate::suite::{beginning_with, last_words};
use fathomp_process::{self as process, Limits};
use fathomp_stats::{Interval, Random, grouped_median, percentile_interval};
use fathomp_toolchain as toolchain;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use toolchain::{File, Recipe};

/// Bootstrap replicates.
const REPLICATES: usize = 400;
/// A run takes about as long as it is told to, and starting takes time too.
const RUN_TIMEOUT: Duration = Duration::from_secs(180);

/// Times of faults, in nanoseconds a page, one for each round.
#[derive(Clone, Debug, Deserialize)]
pub struct Faults {
    /// Threads that took part.
    pub threads: u32,
    /// Wrong values that were read; prices of wrong results mean nothing.
    pub wrong: u64,
    /// Write faults at the home, or where there are no homes.
    pub local_write_ns: Vec<f64>,
    /// Write faults at copies of another node's pages.
    pub remote_write_ns: Vec<f64>,
    /// Fetch faults.
    pub fetch_ns: Vec<f64>,
    /// What a barrier takes longer for a diff of half a page.
    pub diff_to_home_ns: Vec<f64>,
}

/// Times of what costs less where pages need not stay at their homes, in
/// nanoseconds a page, one for each round.
#[derive(Clone, Debug, Deserialize)]
pub struct Writes {
    /// Threads that took part.
    pub threads: u32,
    /// Wrong values that were read.
    pub wrong: u64,
    /// First writes after a barrier to pages that no other node has ever had.
    pub exclusive_write_ns: Vec<f64>,
    /// The same to pages that another node reads between barriers.
    pub written_again_ns: Vec<f64>,
    /// Fetches of pages one behind the other.
    pub fetch_in_order_ns: Vec<f64>,
    /// Fetches of pages that do not follow each other.
    pub fetch_apart_ns: Vec<f64>,
}

/// Times of synchronisation, in nanoseconds each, one for each round.
#[derive(Clone, Debug, Deserialize)]
pub struct Sync {
    /// Threads that took part.
    pub threads: u32,
    /// Wrong values that were read.
    pub wrong: u64,
    /// Barriers that all threads reach together.
    pub barrier_ns: Vec<f64>,
    /// From one grant of a lock that all threads ask for to the next.
    pub lock_ns: Vec<f64>,
    /// Flushes of nothing, by all threads at once.
    pub flush_ns: Vec<f64>,
    /// What a barrier takes longer for each diff of half a page but the first, if all other
    /// nodes send some to one.
    pub crowd_half_ns: Vec<f64>,
    /// A page fetched by one node alone, while the thread of the page's home computes.
    pub at_work_ns: Vec<f64>,
}

/// No answer from the program.
#[derive(Debug, thiserror::Error)]
pub enum PricesError {
    /// It cannot be built.
    #[error(transparent)]
    Build(#[from] toolchain::BuildError),
    /// It did not start or did not end.
    #[error(transparent)]
    Run(#[from] process::RunError),
    /// It ended badly.
    #[error("the program that measures prices ended with {0}")]
    Ended(String),
    /// It said something else than its samples.
    #[error("the program that measures prices said what makes no sense: {0}")]
    Answer(#[source] serde_json::Error),
}

/// Builds the program, or finds it in `cache`.
///
/// # Errors
/// If it cannot be built.
pub fn build(compiler: &Compiler, cache: &Path) -> Result<PathBuf, PricesError> {
    let files = beginning_with(&["prices/", "common/clock.", "common/json.", "common/pages."]);
    let recipe = Recipe {
        name: "prices".to_owned(),
        files: files
            .map(|source| File {
                path: source.name,
                text: source.text,
            })
            .collect(),
        includes: Vec::new(),
        flags: ["-O2", "-fopenmp"].map(str::to_owned).to_vec(),
        libraries: Vec::new(),
    };
    Ok(toolchain::build(&compiler.tool, &recipe, cache)?.path)
}

/// How long to measure.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Pages, or repetitions in a sample.
    pub size: u32,
    /// Samples.
    pub rounds: u32,
    /// Time after which there are fewer, but 3.
    pub limit: Duration,
}

impl Effort {
    pub(crate) fn arguments(self) -> [String; 3] {
        let limit_ms = self.limit.as_millis().max(1);
        [
            self.size.to_string(),
            self.rounds.to_string(),
            limit_ms.to_string(),
        ]
    }
}

/// Measures faults by running `program`, which has all it needs but arguments.
///
/// # Errors
/// If it gives no answer.
pub fn faults(program: &mut Command, effort: Effort) -> Result<Faults, PricesError> {
    ask(program.arg("faults").args(effort.arguments()))
}

/// Measures first writes and fetches in order likewise.
///
/// # Errors
/// If it gives no answer.
pub fn writes(program: &mut Command, effort: Effort) -> Result<Writes, PricesError> {
    ask(program.arg("writes").args(effort.arguments()))
}

/// Measures synchronisation likewise.
///
/// # Errors
/// If it gives no answer.
pub fn sync(program: &mut Command, effort: Effort) -> Result<Sync, PricesError> {
    ask(program.arg("sync").args(effort.arguments()))
}

pub(crate) fn ask<T: DeserializeOwned>(program: &mut Command) -> Result<T, PricesError> {
    let limits = Limits {
        time: RUN_TIMEOUT,
        bytes: 1 << 20,
    };
    let ended = process::run(program, limits)?;
    if !ended.status.success() {
        return Err(PricesError::Ended(last_words(&ended)));
    }
    serde_json::from_str(&ended.stdout).map_err(PricesError::Answer)
}

/// A median with its 95 % bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Median over processes of the median over samples.
    pub value: f64,
    /// Processes are resampled, then samples.
    pub interval: Interval,
}

impl Estimate {
    /// What the samples of several processes speak for; `None` without samples.
    #[must_use]
    pub fn of(processes: &[Vec<f64>]) -> Option<Self> {
        let mut resampler = Random(processes.len() as u64);
        let replicates: Vec<f64> = (0..REPLICATES)
            .filter_map(|_| resampler.draw_grouped_median(processes))
            .collect();
        let value = grouped_median(processes)?;
        Some(Self {
            value,
            interval: percentile_interval(&replicates)?.around(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_price_is_a_median_in_its_interval() {
        let processes = [vec![10.0, 30.0, 20.0], vec![25.0, 24.0, 90.0]];
        let price = Estimate::of(&processes).unwrap();
        assert!((price.value - 22.5).abs() < 1e-9);
        assert!(price.interval.contains(price.value));
        assert_eq!(Estimate::of(&[]), None);
        assert_eq!(Estimate::of(&[vec![]]), None);
    }

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn programs_that_fail_say_why() {
        let effort = Effort {
            size: 1,
            rounds: 1,
            limit: Duration::from_secs(1),
        };
        let said = |script: &str| {
            let failed = faults(&mut shell(script), effort);
            failed.unwrap_err().to_string()
        };
        assert!(said("echo no >&2; exit 3").contains("no"));
        assert!(said("echo '{}'").contains("makes no sense"));
        assert!(said("true").contains("makes no sense"));
    }

    /// Threads of one process: the times mean nothing, the results do.
    #[test]
    fn the_program_answers_what_is_read_here() {
        let cache = tempfile::tempdir().unwrap();
        let compiler = Compiler::find("gcc", cache.path()).unwrap();
        let path = build(&compiler, cache.path()).unwrap();
        let program = || {
            let mut command = Command::new(&path);
            command.env("OMP_NUM_THREADS", "3");
            command
        };
        let effort = Effort {
            size: 4,
            rounds: 5,
            limit: Duration::from_secs(60),
        };
        let faults = faults(&mut program(), effort).unwrap();
        assert_eq!((faults.threads, faults.wrong), (3, 0));
        for samples in [
            faults.local_write_ns,
            faults.remote_write_ns,
            faults.fetch_ns,
            faults.diff_to_home_ns,
        ] {
            assert_eq!(samples.len(), 5);
        }
        let writes = writes(&mut program(), effort).unwrap();
        assert_eq!((writes.threads, writes.wrong), (3, 0));
        for samples in [
            writes.exclusive_write_ns,
            writes.written_again_ns,
            writes.fetch_in_order_ns,
            writes.fetch_apart_ns,
        ] {
            assert_eq!(samples.len(), 5);
        }
        let sync = sync(&mut program(), effort).unwrap();
        assert_eq!((sync.threads, sync.wrong), (3, 0));
        for samples in [sync.crowd_half_ns, sync.at_work_ns] {
            assert_eq!(samples.len(), 5);
        }
        for samples in [sync.barrier_ns, sync.lock_ns, sync.flush_ns] {
            assert!(samples.len() == 5 && samples.iter().all(|time| *time > 0.0));
        }
    }
}
