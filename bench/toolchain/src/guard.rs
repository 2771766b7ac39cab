//! What ends a program whose launcher was killed: a process beside the launcher that reads a
//! pipe. This is the launcher's side, for everything that starts programs; what the guard does
//! is up to the command that [starts it](start_by).

use fathomp_sys::peer::ends_within;
use nix::errno::Errno;
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
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
    /// The program. To be waited for [by this](Self::try_wait).
    pub child: Child,
    guard: Option<Guard>,
}

impl Guarded {
    /// Starts a program.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        Self::spawn_beside(Guard::start(), command)
    }

    /// The same with a guard that is there.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn spawn_beside(guard: Option<Guard>, command: &mut Command) -> io::Result<Self> {
        let Some(guard) = guard else {
            let child = command.spawn()?;
            return Ok(Self { child, guard: None });
        };
        let spawned = fathomp_sys::spawn_stopped::spawn(command, |program| {
            guard.mind(program);
            true
        });
        match spawned {
            Ok(child) => Ok(Self {
                child,
                guard: Some(guard),
            }),
            Err(error) => {
                guard.over();
                Err(error)
            }
        }
    }

    /// How the program has ended, if it has.
    ///
    /// # Errors
    /// What the system says.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.wait_by(WaitPidFlag::WNOHANG)
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
        match self.wait_by(WaitPidFlag::empty())? {
            Some(status) => Ok(status),
            None => self.child.wait(),
        }
    }

    /// Looks before it is reaped: until then its number is nobody else's.
    fn wait_by(&mut self, how: WaitPidFlag) -> io::Result<Option<ExitStatus>> {
        if self.guard.is_none() && how == WaitPidFlag::WNOHANG {
            return self.child.try_wait();
        }
        let number = i32::try_from(self.child.id()).map_err(io::Error::other)?;
        let flags = how | WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT;
        loop {
            match waitid(Id::Pid(Pid::from_raw(number)), flags) {
                Ok(WaitStatus::StillAlive) => return Ok(None),
                Ok(_) => break,
                Err(Errno::EINTR) => {}
                // It was reaped before.
                Err(Errno::ECHILD) => break,
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(guard) = self.guard.take() {
            guard.over();
        }
        self.child.wait().map(Some)
    }

    /// Kills it. Nothing happens if it has ended in this moment.
    pub fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.wait();
    }
}
