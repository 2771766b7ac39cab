//! The thread that empties the program's rings while it runs.

use super::watch::{Runtimes, Watch};
use fathomp_trace::drain::{DrainError, Drainer, Limits, Observed};
use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// Wait after a poll that failed, before the next.
const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(100);

/// Longest sleep of a drainer that is called when there is something to do: so late it learns of
/// a second process, and that the program was killed.
const UNTIL_CALLED: Duration = Duration::from_millis(20);

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
    /// Closed to ask for the end.
    open: Sender<()>,
    thread: JoinHandle<Drained>,
}

/// Begins to drain.
pub(crate) fn start(job: Job) -> Result<Drain, DrainError> {
    let limits = Limits {
        limit_bytes: job.limit_bytes,
    };
    let drainer = Drainer::new(&job.live, &job.recording, limits)?;
    let (open, closed) = mpsc::channel();
    let thread = thread::spawn(move || {
        let mut drainer = drainer;
        let mut watch = Watch::new(job.pid, &job.library);
        let mut problems = Vec::new();
        loop {
            let pause = match drainer.poll() {
                Ok(progress) => {
                    watch.look(progress.records > 0);
                    progress.pause
                }
                Err(error) => {
                    remember(&mut problems, &error);
                    PAUSE_AFTER_ERROR
                }
            };
            let pause = match drainer.wait(UNTIL_CALLED) {
                true => Duration::ZERO,
                false => pause,
            };
            if closed.recv_timeout(pause) != Err(RecvTimeoutError::Timeout) {
                break;
            }
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
    Ok(Drain { open, thread })
}

impl Drain {
    /// Takes what is left, now that the program has ended.
    pub(crate) fn finish(self) -> Drained {
        drop(self.open);
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
