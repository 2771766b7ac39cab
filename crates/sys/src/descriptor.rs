//! Where our descriptors are, and which come from and go to other programs.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

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

/// A copy of a descriptor that this process has inherited under a number that it was told;
/// closed by `exec`.
///
/// # Errors
/// If nothing is open under that number.
pub fn inherited(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers only; nothing that is open is changed.
    let copy = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if copy < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just given us this descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(copy) })
}

/// Has `command` start with its standard streams alone, whatever this process has inherited and
/// would pass on. Where the kernel (before Linux 5.11) cannot, all is passed on.
pub fn give_streams_alone(command: &mut Command) {
    let close = || {
        let _ = close_on_exec_from(3);
        Ok(())
    };
    // SAFETY: the hook makes one system call, which is safe after a fork of a process with
    // threads; it does not allocate. What is marked is closed by the `exec` that follows, as
    // are descriptors of the library itself.
    unsafe { command.pre_exec(close) };
}

/// Has `exec` close all that is open now, from this number on: what whoever started this process
/// has left open is not for the programs that are started from here.
///
/// # Errors
/// If the kernel (before Linux 5.11) cannot.
pub fn close_on_exec_from(first: u32) -> io::Result<()> {
    // SAFETY: takes numbers only, and marks descriptors without closing any in this process.
    let done = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
