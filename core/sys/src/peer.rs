//! Whether another process still runs.

use crate::cluster::process::{self, Life};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Whether process `pid` has ended, even if nobody has waited for it yet.
///
/// Of a child the kernel tells without more ado. For others a descriptor is needed, which
/// is not to be had in a program that has used up its own. None is kept between calls, because programs close descriptors
/// they do not know. The answer is about the process meant as long as its
/// number is not given to another: never before its parent waited for it.
///
/// # Errors
/// If the kernel does not say (`pidfd_open` came with Linux 5.3, and sandboxes
/// may forbid it).
pub fn has_ended(pid: u32) -> io::Result<bool> {
    if let Some(life) = process::life(pid) {
        return Ok(matches!(life, Life::Ended(_)));
    }
    let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
    // SAFETY: takes two numbers and returns a new descriptor or an error.
    let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    if descriptor < 0 {
        let error = io::Error::last_os_error();
        return match error.raw_os_error() {
            Some(libc::ESRCH) => Ok(true),
            _ => Err(error),
        };
    }
    let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
    // SAFETY: the descriptor is new, so nobody else owns it.
    let descriptor = unsafe { OwnedFd::from_raw_fd(descriptor) };
    let mut query = libc::pollfd {
        fd: descriptor.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: `query` is one writable pollfd; the call does not wait.
    let ready = unsafe { libc::poll(&raw mut query, 1, 0) };
    match ready {
        0 => Ok(false),
        1 => Ok(query.revents & libc::POLLIN != 0),
        _ => Err(io::Error::last_os_error()),
    }
}

/// When the kernel started a process, in clock ticks since boot. `None` if
/// there is no such process or it has already ended but not been waited for.
#[must_use]
pub fn start_time(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The second field is the program's name in parentheses and may hold
    // anything; the state follows it, and the 22nd field is the start time.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    // A process whose first thread has ended looks dead while others run on.
    if matches!(state, "Z" | "X") && !has_other_threads(pid) {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

fn has_other_threads(pid: u32) -> bool {
    std::fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() > 1)
}

/// The name space in which this process has its number; 0 if unknown.
#[must_use]
pub fn pid_namespace() -> u64 {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn our_own_start_time_is_known_and_stable() {
        let first = start_time(std::process::id()).unwrap();
        assert!(first > 0);
        assert_eq!(start_time(std::process::id()), Some(first));
    }

    #[test]
    fn a_child_runs_until_it_ends_and_stays_ended_after_the_wait() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        assert!(!has_ended(child.id()).unwrap());
        drop(child.stdin.take());
        while !has_ended(child.id()).unwrap() {
            std::thread::yield_now();
        }
        child.wait().unwrap();
        assert!(has_ended(child.id()).unwrap());
    }

    #[test]
    fn a_process_that_is_no_child_is_seen_too() {
        assert!(!has_ended(std::os::unix::process::parent_id()).unwrap());
        assert!(!has_ended(std::process::id()).unwrap());
    }

    #[test]
    fn a_number_that_is_no_process_is_refused() {
        assert!(has_ended(0).is_err());
        assert!(has_ended(u32::MAX).is_err());
    }
}
