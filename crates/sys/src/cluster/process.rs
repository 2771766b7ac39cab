//! A process that becomes several, and their ends.

use std::io;

/// What [`fork`] made of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The process that called; the child's number.
    Parent(u32),
    /// The new process.
    Child,
}

/// Makes a child that dies with its parent. Only to be called while the caller
/// is the process's only thread.
///
/// # Errors
/// If the system refuses.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: null means all streams. What they hold would be written twice.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: getpid has no effect.
    let parent = unsafe { libc::getpid() };
    // SAFETY: the only thread forks, so the child finds every lock free.
    match unsafe { libc::fork() } {
        -1 => Err(io::Error::last_os_error()),
        0 => {
            // SAFETY: asks for a signal to ourselves; the numbers are valid.
            unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL, 0, 0, 0) };
            // SAFETY: getppid has no effect.
            if unsafe { libc::getppid() } != parent {
                // It died before the request.
                leave(1);
            }
            Ok(Forked::Child)
        }
        child => Ok(Forked::Parent(u32::try_from(child).unwrap_or(0))),
    }
}

/// Writes out what C streams hold.
pub fn flush_streams() {
    // SAFETY: null means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

/// Makes stdout write whole lines at once, so that those of several processes
/// do not mix.
pub fn write_stdout_by_lines() {
    unsafe extern "C" {
        static mut stdout: *mut libc::FILE;
    }
    // SAFETY: `stdout` is the C library's stream; it allocates the buffer.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}

/// Ends the process at once, without its handlers.
pub fn leave(code: i32) -> ! {
    // SAFETY: does not return.
    unsafe { libc::_exit(code) }
}

/// Ends the process properly, with its handlers.
pub fn exit(code: i32) -> ! {
    // SAFETY: does not return; handlers run as after `main`.
    unsafe { libc::exit(code) }
}

/// Waits until a child has ended.
pub fn wait_for(child: u32) {
    let Ok(child) = libc::pid_t::try_from(child) else {
        return;
    };
    // SAFETY: a null status is allowed.
    while unsafe { libc::waitpid(child, std::ptr::null_mut(), 0) } == -1
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}
