//! Where our descriptors are.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// Descriptors are moved up here, out of the way of programs that close or
/// reuse the low numbers without asking whose they are.
const FIRST: libc::c_int = 700;

/// The same descriptor with a high number, if there is one; closed by `exec`.
pub(crate) fn move_up(low: OwnedFd) -> OwnedFd {
    // SAFETY: duplicates a descriptor we own.
    let high = unsafe { libc::fcntl(low.as_raw_fd(), libc::F_DUPFD_CLOEXEC, FIRST) };
    if high < 0 {
        return low;
    }
    // SAFETY: the kernel has just given us this descriptor.
    unsafe { OwnedFd::from_raw_fd(high) }
}
