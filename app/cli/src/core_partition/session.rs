//! Programs that run at the same time.

use super::ShareError;
use super::board::SharedBoard;
use super::gang::{self, Gang};
use super::mix::{Draining, Labelled};
use super::timeline::{Collected, Collector};
use crate::args::Strategy;
use crate::host;
use crate::launch::{Ended, Launch, Running, Stderr, Stdin, Stdout, StopSignalsBlocked};
use crate::program::Program;
use fathomp_launch::openmp::DYNAMIC;
use fathomp_launch::{OpenMp, Plan, Seat, of_this_process};
use fathomp_sys::affinity::{self, CpuSet};
use fathomp_sys::clock::monotonic_ns;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// Where what programs write goes.
#[derive(Clone, Debug)]
pub(crate) enum Outputs {
    /// Into files of a directory.
    Files(PathBuf),
    /// Line by line to ours; standard output as well goes to standard error if `stderr`.
    Mixed { stderr: bool },
    /// Nowhere.
    Discarded,
}

/// What programs are run together.
pub(crate) struct Session<'a> {
    pub(crate) programs: Vec<&'a Program>,
    /// The runtime library.
    pub(crate) library: &'a Path,
    pub(crate) strategy: Strategy,
    /// Most threads of each.
    pub(crate) threads: Option<u32>,
    pub(crate) keep_teams: bool,
    /// What cores are expected to bring the regions of each program, as its runtime reads it;
    /// shorter if of the last ones nothing is.
    pub(crate) advice: Vec<Option<PathBuf>>,
    pub(crate) slice: Duration,
    pub(crate) outputs: Outputs,
    /// Whether it is noted which program had which cores when.
    pub(crate) events: bool,
}

/// How it went.
pub(crate) struct SharedRun {
    /// In the order of the programs.
    pub(crate) ended: Vec<Ended>,
    /// From the first start to the last end.
    pub(crate) wall: Duration,
    /// Which program had which cores when, if that was asked for.
    pub(crate) timeline: Option<Collected>,
}

/// A program that has been started.
struct Started {
    running: Running,
    draining: Vec<Draining>,
}

impl Session<'_> {
    /// Runs the programs until all have ended. `hold` keeps signals from ending this
    /// process meanwhile.
    pub(crate) fn run(&self, hold: &StopSignalsBlocked) -> Result<SharedRun, ShareError> {
        let processors = host::cpus_allowed();
        let board = match self.strategy {
            Strategy::Hints => true,
            _ => self.events,
        };
        let board = board
            .then(|| SharedBoard::new(self.programs.len(), &processors, self.events))
            .transpose()?;
        let began = Instant::now();
        let mut collector = match (&board, self.events) {
            (Some(board), true) => Some(Collector::start(board.board()?)),
            _ => None,
        };

        if let Some(board) = &board {
            let now_ns = monotonic_ns();
            board
                .board()?
                .slots()
                .for_each(|slot| slot.announce(now_ns));
        }
        let mut started = Vec::new();
        for index in 0..self.programs.len() {
            match self.start(index, &processors, board.as_ref()) {
                Ok(one) => started.push(one),
                Err(error) => {
                    // Those that run already are not left behind.
                    for one in started {
                        one.running.kill_group();
                        let _ = one.running.wait(None);
                    }
                    return Err(error);
                }
            }
        }

        let pids: Vec<u32> = started.iter().map(|one| one.running.pid()).collect();
        let (ended, ends) = mpsc::channel();
        let (told, tells) = mpsc::channel();
        let results = thread::scope(|scope| {
            let waiting: Vec<_> = started
                .into_iter()
                .enumerate()
                .map(|(index, one)| {
                    let (ended, told) = (ended.clone(), told.clone());
                    scope.spawn(move || {
                        let group = one.running.pid();
                        let result = one.running.wait_telling(None, || {
                            // Nobody listens if there is no gang.
                            let _ = ended.send(index);
                            gang::release(group);
                        });
                        one.draining.into_iter().for_each(Draining::wait);
                        let _ = told.send(index);
                        result
                    })
                })
                .collect();
            drop((ended, told));
            if self.strategy == Strategy::Gang && pids.len() > 1 {
                let gang = Gang::new(pids.iter().copied());
                let slice = self.slice;
                scope.spawn(move || gang.run(slice, &ends, || hold.is_asked_to_stop()));
            }
            if let Some(collector) = &mut collector {
                collector.collect_until_ended(&tells, self.programs.len());
            }
            waiting
                .into_iter()
                .map(|thread| thread.join().map_err(|_| died()))
                .collect::<Vec<_>>()
        });
        let wall = began.elapsed();
        let mut all = Vec::new();
        for result in results {
            all.push(result??);
        }
        Ok(SharedRun {
            ended: all,
            wall,
            timeline: collector.map(Collector::finish),
        })
    }

    fn start(
        &self,
        index: usize,
        processors: &[u32],
        board: Option<&SharedBoard>,
    ) -> Result<Started, ShareError> {
        let program = self.programs[index];
        let mut plan = Plan::default();
        let mut threads = self.threads;
        let part = part(index, self.programs.len(), processors);
        if self.strategy == Strategy::Halves {
            let most = part.len() as u32;
            threads = Some(
                threads
                    .or_else(users_threads)
                    .map_or(most, |asked| asked.min(most)),
            );
        }
        plan.openmp.threads = threads;
        if let (Some(board), Ok(slot)) = (board, u32::try_from(index)) {
            let watch = self.strategy != Strategy::Hints;
            let told = self.advice.get(index).filter(|_| !watch);
            plan.seat = Some(Seat {
                advice: told.and_then(|file| file.clone()),
                ..board.seat(slot, watch)
            });
        }
        if self.strategy == Strategy::Hints {
            if self.keep_teams {
                plan.openmp.dynamic = Some(false);
            } else if of_this_process(DYNAMIC).is_none() {
                plan.openmp.dynamic = Some(true);
            }
        }

        let mut labelled = Vec::new();
        let (stdout, stderr) = match &self.outputs {
            Outputs::Discarded => (Stdout::Discard, Stderr::Discard),
            Outputs::Files(directory) => {
                let path = |end: &str| directory.join(format!("{}.{end}", program.numbered(index)));
                (Stdout::File(path("out")), Stderr::File(path("err")))
            }
            Outputs::Mixed { stderr } => {
                let label = format!("[{}] ", index + 1);
                let make =
                    |stderr| Labelled::new(label.clone(), stderr).map_err(ShareError::Thread);
                let (out, error) = (make(*stderr)?, make(true)?);
                let paths = (out.path(), error.path());
                labelled.extend([out, error]);
                (Stdout::File(paths.0), Stderr::File(paths.1))
            }
        };
        let launch = Launch {
            program,
            interposer: None,
            library: Some(self.library),
            plan,
            stdin: Stdin::File("/dev/null".into(), 0),
            stdout,
            stderr,
        };
        let running = if self.strategy == Strategy::Halves {
            bound_to(part, || launch.start_in_group())??
        } else {
            launch.start_in_group()?
        };
        Ok(Started {
            running,
            draining: labelled.into_iter().map(Labelled::started).collect(),
        })
    }
}

/// The processors of one of several equal parts; with more programs than processors, parts
/// overlap.
fn part(index: usize, parts: usize, processors: &[u32]) -> &[u32] {
    let count = processors.len();
    let from = index * count / parts.max(1);
    let to = (index + 1) * count / parts.max(1);
    let to = to.max(from + 1).min(count);
    processors.get(from.min(to)..to).unwrap_or_default()
}

/// Calls `start` on a thread that is bound to these processors, which children inherit.
fn bound_to<T: Send>(
    processors: &[u32],
    start: impl FnOnce() -> T + Send,
) -> Result<T, ShareError> {
    let set: CpuSet = processors.iter().copied().collect();
    thread::scope(|scope| {
        scope
            .spawn(move || {
                affinity::bind_this_thread(&set).map_err(ShareError::Affinity)?;
                Ok(start())
            })
            .join()
            .map_err(|_| died())?
    })
}

/// A thread of ours panicked, which is a bug: said as an error, since the others go on.
fn died() -> ShareError {
    ShareError::Thread(std::io::Error::other("a thread of fathomp's died"))
}

fn users_threads() -> Option<u32> {
    OpenMp::from_env(&of_this_process).threads
}

#[cfg(test)]
mod tests {
    use super::part;

    #[test]
    fn parts_are_equal_and_never_empty() {
        let all = [4, 5, 6, 7, 8];
        assert_eq!(part(0, 2, &all), [4, 5]);
        assert_eq!(part(1, 2, &all), [6, 7, 8]);
        for parts in 1..20 {
            for index in 0..parts {
                assert!(!part(index, parts, &all).is_empty(), "{index} of {parts}");
            }
        }
    }
}
