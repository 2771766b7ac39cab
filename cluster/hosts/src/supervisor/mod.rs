//! The supervisor: a process between an agent and the program, which it starts and of which it
//! leaves nothing behind.
//!
//! It has what the program inherits (limits, address layout, descriptors), so that the agent
//! need not change itself. If the agent dies, the supervisor sees its socket end and kills the
//! program; if the supervisor dies, the agent does. What the program's processes leave behind
//! becomes the supervisor's child, even if it has gone into a group or session of its own.

mod descendants;
mod environs;
mod socket;

pub(crate) use descendants::{adopt, kill_all};
pub use environs::{file_mask, soft_limits};
pub use socket::HANDOVER_DESCRIPTOR;
pub(crate) use socket::{FromSupervisor, Supervisor, ToSupervisor};

use crate::control::{self, Job};
use crate::process::lock;
use fathomp_sys::peer::ends_within;
use fathomp_types::Ending;
use nix::sys::signal::{Signal, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use socket::{TheirEnd, receive};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A program that stands for so long without having been asked to is told of.
const STOPPED_TIME_MAX: Duration = Duration::from_secs(1);

/// Starts the program that the agent asks for on standard input, and returns when nothing is
/// left of it.
///
/// # Errors
/// If no agent asks for anything.
pub fn keep() -> io::Result<()> {
    let (mut agent, [stdin, stdout, stderr, handover]) = receive()?;
    let asked: control::Frame<ToSupervisor> =
        control::read(&mut agent).map_err(io::Error::other)?;
    let ToSupervisor::Start(job) = asked.message else {
        return Err(io::Error::other("the agent began in the wrong way"));
    };
    let started = start(&job, [stdin, stdout, stderr], &handover);
    drop(handover);
    let child = match started {
        Ok(child) => child,
        Err(why) => return control::write(&mut agent, 0, &FromSupervisor::Failed(why)),
    };
    let kept = Arc::new(Kept {
        group: Pid::from_raw(i32::try_from(child.id()).map_err(io::Error::other)?),
        child: Mutex::new(Some(child)),
        paused: AtomicBool::new(false),
        agent: agent.try_clone()?,
    });
    let waits = Arc::clone(&kept);
    let waiting = thread::Builder::new()
        .name("waits".to_owned())
        .spawn(move || waits.wait());
    if let Err(error) = waiting {
        kept.end();
        let why = format!("the limits of the program leave no room to watch it: {error}");
        return control::write(&mut agent, 0, &FromSupervisor::Failed(why));
    }
    loop {
        match control::read::<ToSupervisor>(&mut agent).map(|frame| frame.message) {
            Ok(ToSupervisor::Signal(number)) => kept.signal(number),
            // The agent is gone, or has had enough.
            Ok(ToSupervisor::End | ToSupervisor::Start(_)) | Err(_) => {
                kept.end();
                return Ok(());
            }
        }
    }
}

/// The program that runs.
struct Kept {
    group: Pid,
    /// Until it is waited for, its number is nobody else's.
    child: Mutex<Option<Child>>,
    /// The agent has had it stopped.
    paused: AtomicBool,
    agent: UnixStream,
}

impl Kept {
    fn wait(&self) {
        let flags = WaitPidFlag::WEXITED | WaitPidFlag::WSTOPPED | WaitPidFlag::WNOWAIT;
        loop {
            match waitid(Id::Pid(self.group), flags) {
                Err(nix::Error::EINTR) => {}
                Ok(WaitStatus::Stopped(_, signal)) => self.stands(signal),
                _ => break,
            }
        }
        if let Some(status) = self.clear() {
            // Without an agent nobody asks any more.
            let _ = control::write(&mut &self.agent, 0, &FromSupervisor::Ended(status));
        }
    }

    /// The program has stopped. Says so if nobody asked for it and it does not go on.
    fn stands(&self, signal: Signal) {
        let only = |flag| waitid(Id::Pid(self.group), flag | WaitPidFlag::WNOHANG);
        // So that it is not told once more of this stop.
        let _ = only(WaitPidFlag::WSTOPPED);
        if self.paused.load(Ordering::Relaxed) {
            return;
        }
        let process = self.group.as_raw().unsigned_abs();
        if matches!(ends_within(process, STOPPED_TIME_MAX), Ok(true)) {
            return;
        }
        let goes_on = matches!(only(WaitPidFlag::WCONTINUED), Ok(WaitStatus::Continued(_)));
        if !goes_on {
            let stands = FromSupervisor::Stands {
                process,
                signal: signal as i32,
            };
            let _ = control::write(&mut &self.agent, 0, &stands);
        }
    }

    fn signal(&self, number: i32) {
        let child = lock(&self.child);
        if let (Some(_), Ok(signal)) = (&*child, Signal::try_from(number)) {
            match signal {
                Signal::SIGSTOP | Signal::SIGTSTP => self.paused.store(true, Ordering::Relaxed),
                Signal::SIGCONT => self.paused.store(false, Ordering::Relaxed),
                _ => {}
            }
            // All its processes may have just ended.
            let _ = killpg(self.group, signal);
        }
    }

    /// Kills what is left, and tells how the program ended if nobody was told yet.
    fn clear(&self) -> Option<Ending> {
        let mut child = lock(&self.child);
        let mut ended = child.take()?;
        let _ = killpg(self.group, Signal::SIGKILL);
        let status = ended.wait().ok().map(Ending::from);
        kill_all(&[]);
        status
    }

    fn end(&self) {
        self.clear();
    }
}

/// Starts the program exactly as the launcher would, with the agent's socket beside it.
fn start(job: &Job, streams: [OwnedFd; 3], handover: &OwnedFd) -> Result<Child, String> {
    environs::enter(job)?;
    let told = TheirEnd::place(handover)?;
    let [stdin, stdout, stderr] = streams.map(Stdio::from);
    let mut command = Command::new(job.program.to_path());
    if let Some((name, arguments)) = job.arguments.split_first() {
        command.arg0(name.to_os());
        command.args(arguments.iter().map(control::Bytes::to_os));
    }
    let variable = |(name, value): &(control::Bytes, control::Bytes)| (name.to_os(), value.to_os());
    command
        .env_clear()
        .envs(job.environment.iter().map(variable))
        .process_group(0)
        .stdin(stdin)
        .stdout(stdout)
        .stderr(stderr);
    let child = command.spawn().map_err(|error| {
        format!(
            "{} cannot be started: {error}",
            job.program.to_path().display()
        )
    });
    drop(told);
    child
}
