//! Starting the user's program with the runtime library in front of it, and
//! being invisible while it runs: its streams are its own, signals reach it,
//! its exit code becomes ours.

mod capture;
mod guard;
mod pieces;
mod signals;
mod streams;

use crate::host;
use crate::program::Program;
use capture::OutputForwarder;
use fathomp_launch::{Inherit, Plan};
use fathomp_process::guard::{Guard, Guarded};
use fathomp_sys::peer::ends_within;
use fathomp_sys::process::without_null;
use fathomp_types::Ending;
use nix::sys::signal::Signal;
use signals::Forwarding;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

pub use capture::{Capture, Printed};
pub use guard::{begin as guard_programs, serve as guard};
pub use signals::{StopSignalsBlocked, passed_signals, survive_file_limits};
pub use streams::{Repeatable, Stderr, Stdin, Stdout, Streams};

/// A program that is told this alone, and finds nothing in its environment that the user has
/// set for programs: the machine is measured.
pub fn told_alone(program: &Path, plan: &Plan) -> Command {
    let mut command = Command::new(program);
    plan.apply(&mut command, Inherit::NothingThatSteers);
    command
}

/// A program, ready to be started.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    /// The program.
    pub program: &'a Program,
    /// The library that records paging, in front of all others.
    pub interposer: Option<&'a Path>,
    /// The runtime library to put in front; without it the program runs on
    /// what it was linked with.
    pub library: Option<&'a Path>,
    /// What else the program is told; starting it adds the libraries above.
    pub plan: Plan,
    /// The program's standard input.
    pub stdin: Stdin,
    /// Where its standard output goes.
    pub stdout: Stdout,
    /// Where its complaints go.
    pub stderr: Stderr,
}

/// How a run ended.
#[derive(Clone, Copy, Debug)]
pub struct Ended {
    /// Its exit code, or the signal that ended it.
    pub outcome: Ending,
    /// A signal that asked fathomp or the program to stop, such as Ctrl-C.
    pub interrupted: Option<i32>,
    /// From its start to its end.
    pub wall: Duration,
    /// Processor time of the program and of those of its descendants that have been waited
    /// for, in user mode and in the kernel.
    pub processor: Option<[Duration; 2]>,
}

impl Ended {
    /// The exit code a shell would show.
    pub fn exit_code(&self) -> u8 {
        self.outcome.shell_code()
    }

    /// "exit code 3" or "signal 11 (SIGSEGV)".
    pub fn describe(&self) -> String {
        self.outcome.to_string()
    }

    /// What became of the first of several nodes, of which the others cannot tell
    /// since they end with it, if that was no wish of the user.
    pub fn of_nodes(&self, nodes: u16) -> Option<String> {
        match (self.outcome, self.interrupted) {
            // Nobody reads the output any more: a usual end.
            (Ending::BROKEN_PIPE, _) => None,
            (Ending::Signalled(_), None) if nodes > 1 => {
                Some(format!("node 0: its process {}", self.outcome.predicate()))
            }
            _ => None,
        }
    }

    /// Wall time in nanoseconds.
    pub fn wall_ns(&self) -> u64 {
        u64::try_from(self.wall.as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The program could not be started.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// The system does not start it.
    #[error("cannot start {}: {source}{}", path.display(), without_null(source))]
    Start {
        /// The program.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Its end cannot be waited for.
    #[error("cannot watch the program's end: {0}")]
    Wait(io::Error),
    /// Signals to it cannot be passed on.
    #[error("cannot prepare for signals: {0}")]
    Signals(io::Error),
    /// Its standard streams cannot be opened.
    #[error("cannot open the program's standard streams: {0}")]
    Streams(io::Error),
}

/// A program that runs.
pub struct Running {
    program: Guarded,
    output: Option<OutputForwarder>,
    forwarding: Forwarding,
    started: Instant,
}

impl Launch<'_> {
    /// Starts the program.
    pub fn start(&self) -> Result<Running, LaunchError> {
        self.start_prepared(|_| true)
    }

    /// Starts the program as the leader of a process group of its own. Signals go to all of
    /// the group, also those that the terminal sends to ours.
    pub fn start_in_group(&self) -> Result<Running, LaunchError> {
        let running = self.start_by(|command| command.process_group(0), |_| true)?;
        running.forwarding.aim_at_group(running.pid());
        Ok(running)
    }

    /// Starts the program, but calls `prepare` with the number of its process before it
    /// executes its first instruction, which it does not if that says no.
    pub fn start_prepared(
        &self,
        prepare: impl FnOnce(u32) -> bool + Send,
    ) -> Result<Running, LaunchError> {
        self.start_by(|command| command, prepare)
    }

    fn start_by(
        &self,
        adapt: impl FnOnce(&mut Command) -> &mut Command,
        prepare: impl FnOnce(u32) -> bool + Send,
    ) -> Result<Running, LaunchError> {
        let mut command = Command::new(&self.program.path);
        if let Some((name, arguments)) = self.program.command.split_first() {
            command.arg0(name).args(arguments);
        }
        let ours = [self.interposer, self.library].into_iter().flatten();
        let plan = Plan {
            preload: ours
                .map(Path::to_owned)
                .chain(self.plan.preload.iter().cloned())
                .collect(),
            ..self.plan.clone()
        };
        plan.apply(&mut command, Inherit::All);
        let (stdout, output) = self.stdout.open().map_err(LaunchError::Streams)?;
        command
            .stdin(self.stdin.open().map_err(LaunchError::Streams)?)
            .stdout(stdout)
            .stderr(self.stderr.open().map_err(LaunchError::Streams)?);

        // Ready before the program exists, so that no signal slips through.
        let forwarding = Forwarding::prepare().map_err(LaunchError::Signals)?;
        let guard = Guard::start();
        let started = Instant::now();
        let mut program =
            Guarded::spawn_prepared(guard, adapt(&mut command), prepare).map_err(|source| {
                LaunchError::Start {
                    path: self.program.path.clone(),
                    source,
                }
            })?;
        forwarding.aim_at(program.child.id());
        self.stdin.feed(program.child.stdin.take());
        let output = self.stdout.take(output);
        // It holds the program's end of the output open.
        drop(command);
        Ok(Running {
            program,
            output,
            forwarding,
            started,
        })
    }
}

impl Running {
    /// Process number of the program.
    pub fn pid(&self) -> u32 {
        self.program.child.id()
    }

    /// Kills the program, and with it the process group that it leads.
    pub fn kill_group(&self) {
        fathomp_process::kill_group(self.pid());
    }

    /// Waits until the program has ended, which it is made to after `limit`.
    pub fn wait(self, limit: Option<Duration>) -> Result<Ended, LaunchError> {
        self.wait_telling(limit, || ())
    }

    /// As [`wait`](Self::wait), and calls `ended` once the program has ended, while its
    /// number is not yet anybody else's.
    pub fn wait_telling(
        mut self,
        limit: Option<Duration>,
        ended: impl FnOnce(),
    ) -> Result<Ended, LaunchError> {
        // Look without reaping first: until the signal thread has let go, the
        // process number must not be given to anybody else.
        let in_time = limit.map(|limit| ends_within(self.pid(), limit));
        let out_of_time = matches!(in_time, Some(Ok(false)));
        if out_of_time {
            fathomp_process::send(self.pid(), Signal::SIGKILL);
        }
        fathomp_process::await_end(self.pid()).map_err(LaunchError::Wait)?;
        let wall = self.started.elapsed();
        ended();
        let received = self.forwarding.stop();
        self.program.release();
        let before = host::children();
        let status = self.program.wait().map_err(LaunchError::Wait)?;
        let after = host::children();
        if let Some(output) = self.output {
            output.wait();
        }
        let outcome = Ending::from(status);
        Ok(Ended {
            outcome,
            interrupted: received.or_else(|| stopped_by(outcome).filter(|_| !out_of_time)),
            wall,
            // No other child was waited for meanwhile.
            processor: before.zip(after).map(|(before, after)| {
                [0, 1].map(|mode: usize| after[mode].saturating_sub(before[mode]))
            }),
        })
    }
}

/// The signal, if a program was asked to stop by one. Ctrl-C may end the program
/// before our own copy of the signal has been noticed.
fn stopped_by(outcome: Ending) -> Option<i32> {
    match outcome {
        Ending::Signalled(number) if Ending::STOPPING.contains(&number) => Some(number),
        _ => None,
    }
}
