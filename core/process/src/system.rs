//! What the kernel is asked for.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill, killpg};
use nix::sys::wait::{Id, WaitPidFlag, WaitStatus, waitid};
use nix::unistd::Pid;
use std::io;

/// Sends a signal to a process, which may have ended at this very moment.
pub fn send(process: u32, signal: Signal) {
    if let Ok(process) = i32::try_from(process) {
        let _ = kill(Pid::from_raw(process), signal);
    }
}

/// Kills the process group that this process leads, of which nobody may be left.
pub fn kill_group(leader: u32) {
    if let Ok(leader) = i32::try_from(leader) {
        let _ = killpg(Pid::from_raw(leader), Signal::SIGKILL);
    }
}

/// Waits for the end of a child, which is not reaped: until it is, its number is nobody else's.
///
/// # Errors
/// What the system says.
pub fn await_end(child: u32) -> io::Result<()> {
    let child = Pid::from_raw(i32::try_from(child).map_err(io::Error::other)?);
    loop {
        match waitid(Id::Pid(child), WaitPidFlag::WEXITED | WaitPidFlag::WNOWAIT) {
            // It was reaped before.
            Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::ECHILD) => {
                return Ok(());
            }
            // One of its threads is being looked at, and stands still meanwhile.
            Ok(_) | Err(Errno::EINTR) => std::thread::yield_now(),
            Err(error) => return Err(error.into()),
        }
    }
}
