//! What ends a program whose launcher was killed: a process beside the launcher that reads a
//! pipe. This is the launcher's side, for everything that starts programs; what the guard does
//! is up to the command that [starts it](start_by).

use crate::system::await_end;
use fathomp_sys::peer::ends_within;
use std::io::{self, Write};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

/// In place of a program's number: it has ended.
pub const OVER: u32 = 0;

/// What makes the command that is a guard.
static STARTED_BY: OnceLock<fn() -> Command> = OnceLock::new();

/// From now on each program that this process starts gets a guard beside it, which `command`
/// makes. A process that never calls this starts programs without guards.
pub fn start_by(command: fn() -> Command) {
    // The first one counts.
    let _ = STARTED_BY.set(command);
}

/// The launcher's side of a guard.
#[derive(Debug)]
pub struct Guard {
    child: Child,
    line: Option<ChildStdin>,
}

impl Guard {
    /// Starts a guard, if the system lets it: a program without one runs as well.
    #[must_use]
    pub fn start() -> Option<Self> {
        let mut command = STARTED_BY.get()?();
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let line = child.stdin.take();
        Some(Self { child, line })
    }

    /// Names the program. Before it begins, so that there is no moment without a guard.
    pub fn mind(&self, program: u32) {
        self.tell(program);
    }

    /// The program has ended, and its number is not yet anybody else's.
    pub fn over(self) {
        self.tell(OVER);
    }

    fn tell(&self, number: u32) {
        if let Some(mut line) = self.line.as_ref() {
            // A guard that was killed guards nothing.
            let _ = line.write_all(&number.to_ne_bytes());
        }
    }
}

/// Nobody waits for the program any more: if it runs, the guard kills it.
impl Drop for Guard {
    fn drop(&mut self) {
        drop(self.line.take());
        // It ends at once, or has been killed.
        let _ = self.child.wait();
    }
}

/// A program with a guard beside it.
#[derive(Debug)]
pub struct Guarded {
    /// The program. To be waited for [by this](Self::wait).
    pub child: Child,
    guard: Option<Guard>,
}

impl Guarded {
    /// Starts a program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        match Guard::start() {
            None => Ok(Self {
                child: command.spawn()?,
                guard: None,
            }),
            guard => Self::spawn_prepared(guard, command, |_| true),
        }
    }

    /// Starts a program beside a guard that is there, but calls `prepare` with the number of its
    /// process before it executes its first instruction, which it does not if that says no.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn_prepared(
        guard: Option<Guard>,
        command: &mut Command,
        prepare: impl FnOnce(u32) -> bool + Send,
    ) -> io::Result<Self> {
        let spawned = fathomp_sys::spawn_stopped::spawn(command, |program| {
            if let Some(guard) = &guard {
                guard.mind(program);
            }
            prepare(program)
        });
        match spawned {
            Ok(child) => Ok(Self { child, guard }),
            Err(error) => {
                if let Some(guard) = guard {
                    guard.over();
                }
                Err(error)
            }
        }
    }

    /// How the program has ended, if it does so within that time.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait_within(&mut self, longest: Duration) -> io::Result<Option<ExitStatus>> {
        match ends_within(self.child.id(), longest)? {
            true => self.wait().map(Some),
            false => Ok(None),
        }
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// What the system says.
    pub fn wait(&mut self) -> io::Result<ExitStatus> {
        // Until it is reaped its number is nobody else's, which the guard has to hear before.
        if self.guard.is_some() {
            await_end(self.child.id())?;
            self.release();
        }
        self.child.wait()
    }

    /// The program has ended and is not yet reaped: its guard goes.
    pub fn release(&mut self) {
        if let Some(guard) = self.guard.take() {
            guard.over();
        }
    }

    /// Kills it. Nothing happens if it has ended in this moment.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.wait();
    }
}
