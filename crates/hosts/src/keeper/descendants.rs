//! Killing everything that descends from this process.

use nix::errno::Errno;
use nix::sys::prctl::set_child_subreaper;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getpid};
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

/// How long processes may take to die: one that waits for a disk that is gone never does.
const PATIENCE: Duration = Duration::from_secs(2);
/// How often to look.
const PAUSE: Duration = Duration::from_millis(5);

/// Makes what descendants leave behind children of this process.
pub(crate) fn adopt() -> nix::Result<()> {
    set_child_subreaper(true)
}

/// Kills all children but these, and what becomes a child as its parent dies, until none is
/// left.
pub(crate) fn kill_all(but: &[Pid]) {
    let until = Instant::now() + PATIENCE;
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
        thread::sleep(PAUSE);
    }
    if but.is_empty() {
        while let Ok(WaitStatus::Exited(..) | WaitStatus::Signaled(..)) | Err(Errno::EINTR) =
            waitpid(None, Some(WaitPidFlag::WNOHANG))
        {}
    }
}

/// Processes whose parent this one is.
fn children() -> Vec<Pid> {
    let me = getpid().as_raw();
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &i32| parent(*pid) == Some(me))
        .map(Pid::from_raw)
        .collect()
}

fn parent(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}
