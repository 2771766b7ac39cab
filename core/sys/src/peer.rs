//! Whether another process still runs.

use crate::cluster::process::{self, Life};
use crate::polling::readable;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// A process by a descriptor, which means this process whatever becomes of its number.
#[derive(Debug)]
pub struct PidFd(OwnedFd);

impl PidFd {
    /// Of a process that there is.
    ///
    /// # Errors
    /// If there is none, or the kernel does not say (`pidfd_open` came with Linux 5.3, and
    /// sandboxes may forbid it).
    pub fn open(pid: u32) -> io::Result<Self> {
        let pid = libc::pid_t::try_from(pid).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: takes two numbers and returns a new descriptor or an error.
        let descriptor = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
        if descriptor < 0 {
            return Err(io::Error::last_os_error());
        }
        let descriptor = i32::try_from(descriptor).map_err(io::Error::other)?;
        // SAFETY: the descriptor is new, so nobody else owns it.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(descriptor) }))
    }

    /// Whether the process has ended, even if nobody has waited for it yet.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Waits until the process has ended.
    pub fn wait(&self) {
        while !self.ends_within(Duration::MAX) {}
    }

    /// Waits until the process has ended, for `longest` at most. True if it has.
    #[must_use]
    pub fn ends_within(&self, longest: Duration) -> bool {
        let begun = Instant::now();
        loop {
            let left = longest.saturating_sub(begun.elapsed());
            // A signal ends a wait early.
            match readable(&[self.as_fd()], left)[0] {
                true => return true,
                false if left.is_zero() => return false,
                false => {}
            }
        }
    }
}

/// It can be read once the process has ended.
impl AsFd for PidFd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Whether process `pid` has ended, even if nobody has waited for it yet.
///
/// Of a child the kernel tells without more ado. For others a descriptor is needed, which
/// is not to be had in a program that has used up its own. None is kept between calls, because programs close descriptors
/// they do not know. The answer is about the process meant as long as its
/// number is not given to another: never before its parent waited for it.
///
/// # Errors
/// If the kernel does not say ([`PidFd::open`]).
pub fn has_ended(pid: u32) -> io::Result<bool> {
    if let Some(life) = process::life(pid) {
        return Ok(matches!(life, Life::Ended(_)));
    }
    match PidFd::open(pid) {
        Ok(process) => Ok(process.has_ended()),
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Waits until process `pid` has ended, for `longest` at most, even if nobody has waited for it
/// yet. True if it has. The number is another's as for [`has_ended`].
///
/// # Errors
/// If the kernel does not say ([`PidFd::open`]).
pub fn ends_within(pid: u32, longest: Duration) -> io::Result<bool> {
    /// Between two looks, where the kernel gives no descriptor to wait for.
    const LOOK_INTERVAL: Duration = Duration::from_millis(1);
    if let Ok(process) = PidFd::open(pid) {
        return Ok(process.ends_within(longest));
    }
    let begun = Instant::now();
    while !has_ended(pid)? {
        if begun.elapsed() >= longest {
            return Ok(false);
        }
        std::thread::sleep(LOOK_INTERVAL);
    }
    Ok(true)
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
        assert!(!ends_within(child.id(), Duration::from_millis(2)).unwrap());
        drop(child.stdin.take());
        assert!(ends_within(child.id(), Duration::from_secs(60)).unwrap());
        assert!(has_ended(child.id()).unwrap());
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
