//! The kernel's performance events: counters of other threads, and every page fault of
//! a program.
//!
//! Only software events are used here, which need no hardware and work in virtual
//! machines. The numbers are those of `linux/perf_event.h`.

pub(crate) mod attributes;
mod faults;
mod record;
mod ring;
mod thread;

pub use faults::FaultRings;
#[doc(hidden)]
pub use record::read_foreign;
pub use record::{Fault, Map, Record};
pub use thread::{Seen, ThreadCounters, ThreadCounts};

use std::io;

/// Why the kernel gives no performance events.
#[derive(Debug, thiserror::Error)]
pub enum PerfError {
    /// The administrator's setting forbids it to this user.
    #[error(
        "the kernel forbids performance events to this user (kernel.perf_event_paranoid is {level}): `sysctl kernel.perf_event_paranoid=2` allows them"
    )]
    Paranoid {
        /// The setting.
        level: String,
    },
    /// A sandbox, such as a container's, forbids the system call.
    #[error(
        "a sandbox forbids performance events here: start the container with --cap-add PERFMON, or another seccomp profile"
    )]
    Sandboxed,
    /// The kernel was built without them, or is too old for this.
    #[error("this kernel has no such performance events: Linux 4.1 with CONFIG_PERF_EVENTS has")]
    Unknown,
    /// The thread or process has ended.
    #[error("the thread has ended")]
    Ended,
    /// No memory may be locked for the buffers.
    #[error(
        "the kernel gives no memory for buffers of events ({0}): `sysctl kernel.perf_event_mlock_kb=4096` allows more"
    )]
    Memory(io::Error),
    /// Anything else, such as no more descriptors.
    #[error("the kernel gives no performance events: {0}")]
    Other(#[from] io::Error),
}

impl PerfError {
    /// What an error of `perf_event_open` means.
    fn of_open(error: io::Error) -> Self {
        match error.raw_os_error() {
            Some(libc::EACCES | libc::EPERM) => {
                let setting = std::fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
                let level = setting.map(|text| text.trim().to_owned());
                let level = level.unwrap_or_else(|_| "not shown".to_owned());
                // Up to 2, programs' own events in user mode are everybody's.
                match level.parse::<i32>() {
                    Ok(number) if number <= 2 => Self::Sandboxed,
                    _ => Self::Paranoid { level },
                }
            }
            Some(libc::ENOSYS | libc::ENOENT | libc::EOPNOTSUPP | libc::EINVAL | libc::E2BIG) => {
                Self::Unknown
            }
            Some(libc::ESRCH) => Self::Ended,
            _ => Self::Other(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_says_what_mends_it() {
        for (number, words) in [
            (libc::ENOSYS, "CONFIG_PERF_EVENTS"),
            (libc::ESRCH, "ended"),
            (libc::EMFILE, "descriptor"),
        ] {
            let said = PerfError::of_open(io::Error::from_raw_os_error(number)).to_string();
            let said = said.replace("open files", "descriptors");
            assert!(said.contains(words), "{said}");
        }
        let said = PerfError::of_open(io::Error::from_raw_os_error(libc::EPERM)).to_string();
        assert!(
            said.contains("sysctl") || said.contains("PERFMON"),
            "{said}"
        );
    }
}
