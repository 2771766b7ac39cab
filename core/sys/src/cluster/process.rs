//! A process that becomes several, and their ends.

use fathomp_types::Ending;
use std::io;
use std::time::{Duration, Instant};

/// What [`fork`] made of the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The process that called; the child's number.
    Parent(u32),
    /// The new process.
    Child,
}

/// Makes a child that dies with its parent, and of which the program knows
/// nothing: `wait` does not return it, and its end raises no `SIGCHLD`. From its first
/// moment it leaves the signals that a job gets to its parent. Only to be
/// called while the caller is the process's only thread.
///
/// # Errors
/// If the system refuses.
pub fn fork() -> io::Result<Forked> {
    // SAFETY: null means all streams. What they hold would be written twice.
    unsafe { libc::fflush(std::ptr::null_mut()) };
    // SAFETY: getpid has no effect.
    let parent = unsafe { libc::getpid() };
    // One that comes now must find the child prepared.
    let before = block_signals();
    let child = match thread_number() {
        Some(number) => fork_unnoticed(number),
        // SAFETY: the only thread forks, so the child finds every lock free.
        None => unsafe { libc::fork() }.into(),
    };
    let failed = io::Error::last_os_error();
    if child == 0 {
        leave_signals_to_parent();
    }
    restore_signals(&before);
    match child {
        -1 => Err(failed),
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

/// Where the C library keeps the calling thread's number, if the kernel tells
/// (it does if it was built to save and restore processes, as most are).
fn thread_number() -> Option<*mut libc::c_int> {
    const GET_TID_ADDRESS: libc::c_int = 40;
    let mut place: *mut libc::c_int = std::ptr::null_mut();
    // SAFETY: the kernel writes one pointer.
    let asked = unsafe { libc::prctl(GET_TID_ADDRESS, &raw mut place) };
    if asked != 0 || place.is_null() {
        return None;
    }
    // SAFETY: the C library has told the kernel to clear this word when the
    // thread ends, so it is there as long as the thread; gettid has no effect.
    (unsafe { *place } == unsafe { libc::gettid() }).then_some(place)
}

/// As `fork`, but of a child that tells its parent by no signal. Such children
/// are waited for only by calls that ask for them (`__WALL`).
fn fork_unnoticed(number: *mut libc::c_int) -> libc::c_long {
    let flags = libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID;
    let none: *mut libc::c_void = std::ptr::null_mut();
    // SAFETY: neither memory nor a stack is shared, so it returns twice as `fork`
    // does. The only thread calls, so the child finds every lock free. Of what
    // the C library does besides, the child needs its own number in `number`.
    unsafe { libc::syscall(libc::SYS_clone, flags, none, none, number, none) }
}

/// Signals that people and systems send to a job, often to all its processes.
pub(super) const JOB_SIGNALS: [libc::c_int; 6] = [
    libc::SIGINT,
    libc::SIGTERM,
    libc::SIGHUP,
    libc::SIGQUIT,
    libc::SIGUSR1,
    libc::SIGUSR2,
];

/// Keeps them waiting. Returns which signals waited before.
fn block_signals() -> libc::sigset_t {
    // SAFETY: sets of signals may be zero, and are valid where they are used; the
    // calling thread's mask alone changes.
    unsafe {
        let mut before: libc::sigset_t = std::mem::zeroed();
        let mut these: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut these);
        for signal in JOB_SIGNALS {
            libc::sigaddset(&raw mut these, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const these, &raw mut before);
        before
    }
}

fn restore_signals(before: &libc::sigset_t) {
    // SAFETY: what the same function has given.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before, std::ptr::null_mut()) };
}

/// What is done at a signal that is the parent's.
extern "C" fn nothing(_: libc::c_int) {}

/// Whether that is what is done.
pub(super) fn is_left_to_parent(action: &libc::sigaction) -> bool {
    let nothing: extern "C" fn(libc::c_int) = nothing;
    action.sa_sigaction == nothing as libc::sighandler_t
}

/// Leaves it to the parent what becomes of a job's signals. Programs started from here
/// are not concerned: for them a handler turns into what it replaced by default.
fn leave_signals_to_parent() {
    let handler: extern "C" fn(libc::c_int) = nothing;
    for signal in JOB_SIGNALS {
        // SAFETY: all fields of a sigaction may be zero.
        let (mut before, mut action) = unsafe {
            (
                std::mem::zeroed::<libc::sigaction>(),
                std::mem::zeroed::<libc::sigaction>(),
            )
        };
        action.sa_sigaction = handler as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: valid structures; the handler does nothing. What is ignored
        // (by `nohup`) stays so, for the programs started from here too.
        unsafe {
            libc::sigaction(signal, std::ptr::null(), &raw mut before);
            if before.sa_sigaction == libc::SIG_DFL {
                libc::sigaction(signal, &raw const action, std::ptr::null_mut());
            }
        }
    }
}

/// Ends the process as writing to a pipe does that nobody reads.
pub fn end_by_broken_pipe() -> ! {
    let signal = libc::SIGPIPE;
    // SAFETY: all-zero bytes are a valid sigaction: SIG_DFL, an empty set.
    let default = unsafe { std::mem::zeroed() };
    // Not by a function that the program uses, too: what it changes is noted for others.
    let mut before = std::mem::MaybeUninit::uninit();
    let _ = crate::signal_chain::raw_sigaction(signal, &raw const default, &mut before);
    // SAFETY: a valid signal, to ourselves.
    unsafe {
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        libc::raise(signal);
    }
    leave(128 + signal)
}

/// Writes out what C streams hold.
pub fn flush_streams() {
    // SAFETY: null means all streams.
    unsafe { libc::fflush(std::ptr::null_mut()) };
}

unsafe extern "C" {
    static mut stdout: *mut libc::FILE;
}

/// Writes `text` behind what the program has written to its stdout, at once.
/// What cannot be written is lost, as it would be for the program.
pub fn write_to_stdout(text: &str) {
    // SAFETY: `stdout` is the C library's stream, which has a lock of its own.
    unsafe {
        libc::fwrite(text.as_ptr().cast(), 1, text.len(), stdout);
        libc::fflush(stdout);
    }
}

/// Makes stdout write whole lines at once, so that those of several processes
/// do not mix.
pub fn write_stdout_by_lines() {
    // SAFETY: `stdout` is the C library's stream; it allocates the buffer.
    unsafe { libc::setvbuf(stdout, std::ptr::null_mut(), libc::_IOLBF, 0) };
}

/// Called instead of reading the standard input.
pub type Read = extern "C" fn(*mut libc::c_void, *mut libc::c_char, usize) -> isize;

/// Takes the standard input away from this process: C streams call `read`
/// instead, and whoever asks the kernel finds nothing, programs that are started
/// from here among them.
///
/// # Errors
/// If the system refuses.
pub fn give_up_input(read: Read) -> io::Result<()> {
    /// C's `cookie_io_functions_t`.
    #[repr(C)]
    struct Functions {
        read: Read,
        write: usize,
        seek: usize,
        close: usize,
    }
    unsafe extern "C" {
        static mut stdin: *mut libc::FILE;
        fn fopencookie(
            cookie: *mut libc::c_void,
            mode: *const libc::c_char,
            functions: Functions,
        ) -> *mut libc::FILE;
    }
    let functions = Functions {
        read,
        write: 0,
        seek: 0,
        close: 0,
    };
    // SAFETY: strings of C and a valid table; the only thread replaces the stream
    // that programs know as `stdin`, which the C library allows. The old one
    // stays: C++ holds it.
    unsafe {
        let stream = fopencookie(std::ptr::null_mut(), c"r".as_ptr(), functions);
        let nothing = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        if stream.is_null() || nothing < 0 || libc::dup2(nothing, libc::STDIN_FILENO) < 0 {
            return Err(io::Error::last_os_error());
        }
        if nothing != libc::STDIN_FILENO {
            libc::close(nothing);
        }
        stdin = stream;
    }
    Ok(())
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

/// What a child is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Life {
    /// It runs, or could.
    GoesOn,
    /// A signal has stopped it, until another lets it go on.
    Stopped(i32),
    /// It has ended, and nobody has waited for it yet.
    Ended(Ending),
}

/// What a child is at; `None` if it is no child. It can be asked again.
#[must_use]
pub fn life(child: u32) -> Option<Life> {
    // SAFETY: all fields of a siginfo may be zero.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT | libc::__WALL;
    // SAFETY: fills in `info`.
    if unsafe { libc::waitid(libc::P_PID, child, &raw mut info, flags) } != 0 {
        return None;
    }
    // SAFETY: filled in by the kernel, or zero.
    let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
    Some(match info.si_code {
        _ if pid == 0 => Life::GoesOn,
        libc::CLD_STOPPED | libc::CLD_TRAPPED => Life::Stopped(status),
        libc::CLD_EXITED => Life::Ended(Ending::Exited(status)),
        _ => Life::Ended(Ending::Signalled(status)),
    })
}

/// How a child has ended, if it has. It can be asked again.
#[must_use]
pub fn ended(child: u32) -> Option<Ending> {
    match life(child) {
        Some(Life::Ended(ended)) => Some(ended),
        _ => None,
    }
}

/// Waits until a child has ended or was stopped; which one, and how. None if there is none left.
/// It is told again until it is [dealt with](deal_with).
#[must_use]
pub fn wait_for_any() -> Option<(u32, Life)> {
    loop {
        // SAFETY: all fields of a siginfo may be zero.
        let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOWAIT | libc::__WALL;
        // SAFETY: fills in `info`.
        if unsafe { libc::waitid(libc::P_ALL, 0, &raw mut info, flags) } != 0 {
            match io::Error::last_os_error().kind() {
                io::ErrorKind::Interrupted => continue,
                _ => return None,
            }
        }
        // SAFETY: filled in by the kernel.
        let (pid, status) = unsafe { (info.si_pid(), info.si_status()) };
        let how = match info.si_code {
            libc::CLD_STOPPED | libc::CLD_TRAPPED => Life::Stopped(status),
            libc::CLD_EXITED => Life::Ended(Ending::Exited(status)),
            _ => Life::Ended(Ending::Signalled(status)),
        };
        return Some((u32::try_from(pid).ok()?, how));
    }
}

/// What [`wait_for_any`] has told of a child has been heard.
pub fn deal_with(child: u32) {
    let flags = libc::WEXITED | libc::WSTOPPED | libc::WNOHANG | libc::__WALL;
    // SAFETY: a null siginfo is allowed.
    unsafe { libc::waitid(libc::P_PID, child, std::ptr::null_mut(), flags) };
}

/// Waits until children have ended; those that have not after `longest` are
/// killed.
pub fn reap(children: &[u32], longest: Duration) {
    let deadline = Instant::now() + longest;
    for child in children {
        let Ok(child) = libc::pid_t::try_from(*child) else {
            continue;
        };
        loop {
            let late = Instant::now() >= deadline;
            if late {
                // SAFETY: a child of ours that has not been waited for.
                unsafe { libc::kill(child, libc::SIGKILL) };
            }
            let flags = libc::__WALL | if late { 0 } else { libc::WNOHANG };
            // SAFETY: a null status is allowed.
            let waited = unsafe { libc::waitpid(child, std::ptr::null_mut(), flags) };
            if waited != 0 {
                break;
            }
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A test process has other threads, but what its child calls takes no lock.
    #[test]
    fn a_child_is_nobody_elses() {
        let child = match fork().unwrap() {
            Forked::Child => leave(7),
            Forked::Parent(child) => child,
        };
        // SAFETY: a null status is allowed.
        let waited = unsafe { libc::waitpid(child as libc::pid_t, std::ptr::null_mut(), 0) };
        assert_eq!(waited, -1, "the child tells no one");
        let deadline = Instant::now() + Duration::from_secs(10);
        while ended(child).is_none() && Instant::now() < deadline {
            std::thread::yield_now();
        }
        assert_eq!(ended(child), Some(Ending::Exited(7)));
        reap(&[child], Duration::ZERO);
        assert_eq!(ended(child), None);
    }

    #[test]
    fn a_child_is_seen_to_stop_and_to_go_on() {
        let mut child = std::process::Command::new("sleep")
            .arg("600")
            .spawn()
            .unwrap();
        let send = |signal| {
            // SAFETY: a signal to a child that nobody has waited for.
            unsafe { libc::kill(child.id() as libc::pid_t, signal) }
        };
        let comes_to = |wanted| {
            let deadline = Instant::now() + Duration::from_secs(10);
            while life(child.id()) != Some(wanted) {
                assert!(Instant::now() < deadline, "{:?}", life(child.id()));
                std::thread::yield_now();
            }
        };
        comes_to(Life::GoesOn);
        send(libc::SIGSTOP);
        comes_to(Life::Stopped(libc::SIGSTOP));
        send(libc::SIGCONT);
        comes_to(Life::GoesOn);
        send(libc::SIGKILL);
        comes_to(Life::Ended(Ending::Signalled(libc::SIGKILL)));
        child.wait().unwrap();
        assert_eq!(life(child.id()), None);
    }
}
