//! Counters of another thread, read by one system call.

use super::PerfError;
use super::attributes::{Attributes, EventScope, flag, format, kind, open_event, software};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

/// What a thread caused since its counters were opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadCounts {
    /// Page faults served without I/O.
    pub minor_faults: u64,
    /// Page faults that waited for I/O.
    pub major_faults: u64,
    /// Times that it was switched out, for whatever reason; 0 where only user mode may be
    /// seen, since switches happen in the kernel.
    pub switches: u64,
}

/// What of a thread may be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// Everything.
    All,
    /// What it does in user mode: no switches, and no faults within system calls.
    UserMode,
}

/// Software counters of a thread, its children not included.
#[derive(Debug)]
pub struct ThreadCounters {
    leader: OwnedFd,
    _others: [OwnedFd; 2],
    seen: Seen,
}

/// The counters, in the order of [`ThreadCounts`].
const COUNTERS: [u64; 3] = [
    software::MINOR_FAULTS,
    software::MAJOR_FAULTS,
    software::CONTEXT_SWITCHES,
];

impl ThreadCounters {
    /// Begins to count for a thread of this user, by the kernel's number.
    ///
    /// # Errors
    /// If the kernel does not permit it, or the thread has ended.
    pub fn open(thread: u32) -> Result<Self, PerfError> {
        match Self::open_as(thread, Seen::All) {
            Err(error) if matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM)) => {
                Self::open_as(thread, Seen::UserMode)
            }
            other => other,
        }
        .map_err(PerfError::of_open)
    }

    fn open_as(thread: u32, seen: Seen) -> io::Result<Self> {
        let whose = EventScope {
            thread: libc::pid_t::try_from(thread).map_err(|_| io::ErrorKind::InvalidInput)?,
            processor: -1,
        };
        // 0 would be the calling thread.
        if thread == 0 {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let open = |config: u64, leader: Option<&OwnedFd>| {
            let attributes = Attributes {
                kind: kind::SOFTWARE,
                size: Attributes::FIRST_SIZE,
                config,
                read_format: format::GROUP,
                flags: match seen {
                    Seen::All => flag::EXCLUDE_HYPERVISOR,
                    Seen::UserMode => flag::EXCLUDE_KERNEL | flag::EXCLUDE_HYPERVISOR,
                },
                ..Attributes::default()
            };
            open_event(&attributes, whose, leader)
        };
        let [first, second, third] = COUNTERS;
        let leader = open(first, None)?;
        let others = [open(second, Some(&leader))?, open(third, Some(&leader))?];
        Ok(Self {
            leader,
            _others: others,
            seen,
        })
    }

    /// What the kernel lets be counted.
    #[must_use]
    pub fn seen(&self) -> Seen {
        self.seen
    }

    /// The counts since [`open`](Self::open); the last ones, if the thread has ended. One
    /// system call. `None` if they can no longer be read.
    #[must_use]
    pub fn read(&self) -> Option<ThreadCounts> {
        // Number of events, then the values.
        let mut group = [0_u64; 1 + COUNTERS.len()];
        // SAFETY: the buffer is writable and of the length given.
        let got = unsafe {
            libc::read(
                self.leader.as_raw_fd(),
                group.as_mut_ptr().cast(),
                size_of_val(&group),
            )
        };
        let [events, minor_faults, major_faults, switches] = group;
        let whole = usize::try_from(got) == Ok(size_of_val(&group));
        (whole && events == COUNTERS.len() as u64).then_some(ThreadCounts {
            minor_faults,
            major_faults,
            switches,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::os_thread_id;
    use std::sync::mpsc;

    #[test]
    fn faults_of_another_thread_are_counted() {
        let (tell, told) = mpsc::channel();
        let (go, wait) = mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            tell.send(os_thread_id()).unwrap();
            wait.recv().unwrap();
            // Surely off its processor once, even if it did not have to wait for that.
            std::thread::sleep(std::time::Duration::from_millis(1));
            // More than the C library ever gives out anew without a mapping.
            let mut pages = vec![0_u8; 64 << 20];
            for page in pages.chunks_mut(4096) {
                page[0] = 1;
            }
            std::hint::black_box(&pages);
        });
        let opened = ThreadCounters::open(told.recv().unwrap());
        go.send(()).unwrap();
        thread.join().unwrap();
        match opened {
            Ok(counters) => {
                // Its end is seen too; huge pages may make few faults of many pages.
                let counts = counters.read().unwrap();
                assert!(counts.minor_faults >= 4, "{counts:?}");
                assert!(counters.seen() == Seen::UserMode || counts.switches > 0);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }

    #[test]
    fn no_thread_is_refused() {
        assert!(ThreadCounters::open(0).is_err());
        assert!(ThreadCounters::open(u32::MAX).is_err());
    }
}
