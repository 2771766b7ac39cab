//! Where our descriptors are, and which come from and go to other programs.

use std::io;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
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

/// How many bytes that were written to a pipe, a socket or a terminal wait there for somebody to
/// take them. In anything else nothing waits.
///
/// # Errors
/// If the kernel does not know.
pub fn not_yet_taken(stream: impl AsFd) -> io::Result<usize> {
    let stream = stream.as_fd().as_raw_fd();
    // SAFETY: all-zero bytes are a valid `stat`.
    let mut about: libc::stat = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer leads to a `stat` of this frame, which the kernel fills in.
    check(unsafe { libc::fstat(stream, &raw mut about) })?;
    let question = match about.st_mode & libc::S_IFMT {
        // A pipe says at either of its ends what can be read.
        libc::S_IFIFO => libc::FIONREAD,
        libc::S_IFSOCK | libc::S_IFCHR => libc::TIOCOUTQ,
        _ => return Ok(0),
    };
    let mut waiting: libc::c_int = 0;
    // SAFETY: both requests write one integer, to which the pointer leads.
    check(unsafe { libc::ioctl(stream, question, &raw mut waiting) })?;
    Ok(usize::try_from(waiting).unwrap_or(0))
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
    check(done)
}

fn check(result: impl Into<i64>) -> io::Result<()> {
    match result.into() {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::not_yet_taken;
    use std::fs::File;
    use std::io::{Read, Write, pipe};
    use std::os::unix::net::UnixStream;

    #[test]
    fn what_waits_in_pipes_and_sockets_is_counted_where_it_was_written() {
        let (mut reader, mut writer) = pipe().unwrap();
        assert_eq!(not_yet_taken(&writer).unwrap(), 0);
        writer.write_all(b"five.").unwrap();
        assert_eq!(not_yet_taken(&writer).unwrap(), 5);
        reader.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(not_yet_taken(&writer).unwrap(), 0);

        let (mut near, mut far) = UnixStream::pair().unwrap();
        far.write_all(b"the other way").unwrap();
        assert_eq!(not_yet_taken(&near).unwrap(), 0);
        near.write_all(b"five.").unwrap();
        // What the kernel keeps beside the bytes counts here.
        assert!(not_yet_taken(&near).unwrap() >= 5);
        far.read_exact(&mut [0; 5]).unwrap();
        assert_eq!(not_yet_taken(&near).unwrap(), 0);
    }

    #[test]
    fn nothing_waits_in_a_file() {
        let file = File::open(std::env::current_exe().unwrap()).unwrap();
        assert_eq!(not_yet_taken(&file).unwrap(), 0);
    }
}
