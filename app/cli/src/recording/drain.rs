//! The thread that empties the program's rings while it runs.

use super::watch::{Runtimes, Watch};
use fathomp_ring::bell::Bell;
use fathomp_trace::drain::{DrainError, Drainer, Limits, Observed};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Wait after a poll that failed, before the next.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// Longest sleep of a drainer, which is called when there is something to do.
const UNTIL_CALLED: Duration = Duration::from_secs(1);

/// What to drain, and where to.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) live: PathBuf,
    pub(crate) recording: PathBuf,
    pub(crate) limit_bytes: u64,
    /// The program.
    pub(crate) pid: u32,
    /// Our runtime library.
    pub(crate) library: PathBuf,
}

/// What came of it.
#[derive(Debug, Default)]
pub(crate) struct Drained {
    pub(crate) records: u64,
    /// Processes that asked our runtime for anything.
    pub(crate) processes: u64,
    /// Other OpenMP runtimes that were seen in the program's processes.
    pub(crate) runtimes: Runtimes,
    /// The runtimes that were recorded.
    pub(crate) observed: Vec<Observed>,
    pub(crate) problems: Vec<String>,
}

/// A drain at work.
#[derive(Debug)]
pub(crate) struct Drain {
    /// Set to ask for the end, ...
    is_over: Arc<AtomicBool>,
    /// ... of which the drainer is told so.
    bell: Option<Bell>,
    thread: JoinHandle<Drained>,
}

/// Begins to drain.
pub(crate) fn start(job: Job) -> Result<Drain, DrainError> {
    let limits = Limits {
        limit_bytes: job.limit_bytes,
    };
    let drainer = Drainer::new(&job.live, &job.recording, limits)?;
    let is_over = Arc::new(AtomicBool::new(false));
    let bell = Bell::open(&job.live).ok();
    let ends = Arc::clone(&is_over);
    let thread = thread::spawn(move || {
        let mut drainer = drainer;
        let mut watch = Watch::new(job.pid, &job.library);
        let mut problems = Vec::new();
        while !ends.load(Ordering::Acquire) {
            let longest = match drainer.poll() {
                Ok(progress) => watch.look(progress.records > 0).min(UNTIL_CALLED),
                Err(error) => {
                    remember(&mut problems, &error);
                    PAUSE_AFTER_ERROR
                }
            };
            drainer.wait(longest);
        }
        let mut drained = Drained {
            runtimes: watch.into_seen(),
            problems,
            ..Drained::default()
        };
        match drainer.finish() {
            Ok(summary) => {
                drained.records = summary.records;
                drained.processes = summary.processes;
                drained.observed = summary.observed;
                drained.problems.extend(summary.problems);
            }
            Err(error) => remember(&mut drained.problems, &error),
        }
        drained
    });
    Ok(Drain {
        is_over,
        bell,
        thread,
    })
}

impl Drain {
    /// Takes what is left, now that the program has ended.
    pub(crate) fn finish(self) -> Drained {
        self.is_over.store(true, Ordering::Release);
        if let Some(bell) = self.bell {
            bell.ring();
        }
        self.thread.join().unwrap_or_else(|_| Drained {
            problems: vec![
                "The drain broke off, so the end of the recording is missing; please report this as a bug of fathomp.".to_owned(),
            ],
            ..Drained::default()
        })
    }
}

/// The same error at every poll is one problem.
fn remember(problems: &mut Vec<String>, error: &DrainError) {
    let sentence = error.to_string();
    if !problems.contains(&sentence) {
        problems.push(sentence);
    }
}
