//! Killing everything that descends from this process.

use fathomp_sys::process_tree;
use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use std::thread;
use std::time::{Duration, Instant};

/// How long processes may take to die: one that waits for a disk that is gone never does.
const END_TIMEOUT: Duration = Duration::from_secs(2);
/// How often to look.
const CHECK_INTERVAL: Duration = Duration::from_millis(5);

/// Makes what descendants leave behind children of this process.
pub(crate) fn adopt() -> nix::Result<()> {
    set_child_subreaper(true)
}

/// Kills all children but these, and what becomes a child as its parent dies, until none is
/// left.
pub(crate) fn kill_all(but: &[Pid]) {
    let until = Instant::now() + END_TIMEOUT;
    loop {
        for child in children().into_iter().filter(|child| !but.contains(child)) {
            // It may have just ended.
            let _ = kill(child, Signal::SIGKILL);
            let _ = waitpid(child, Some(WaitPidFlag::WNOHANG));
        }
        let left = children().into_iter().any(|child| !but.contains(&child));
        // Their ends come without a signal that could be waited for: there are threads here.
        if !left || Instant::now() > until {
            break;
        }
        thread::sleep(CHECK_INTERVAL);
    }
    if but.is_empty() {
        while let Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::EINTR) =
            waitpid(None, Some(WaitPidFlag::WNOHANG))
        {}
    }
}

/// Processes whose parent this one is.
fn children() -> Vec<Pid> {
    let me = getpid().as_raw().unsigned_abs();
    let ours = process_tree::all()
        .into_iter()
        .filter(|one| one.parent == me);
    ours.filter_map(|one| i32::try_from(one.number).ok())
        .map(Pid::from_raw)
        .collect()
}
