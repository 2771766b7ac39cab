//! Facts about and hooks into the process we live in.

/// Calls `hook` in every child this process forks, in the forking thread.
///
/// Returns whether the C library took the hook.
pub fn on_fork_in_child(hook: extern "C" fn()) -> bool {
    // SAFETY: a null prepare and parent hook mean none; `hook` is a plain
    // function that stays loaded (the library is linked with `-z nodelete`).
    unsafe { pthread_atfork(None, None, Some(hook)) == 0 }
}

/// Calls `hook` before this process forks, in the forking thread.
///
/// Returns whether the C library took the hook.
pub fn before_fork(hook: extern "C" fn()) -> bool {
    // SAFETY: as above.
    unsafe { pthread_atfork(Some(hook), None, None) == 0 }
}

unsafe extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> libc::c_int;
}

/// Stack size the C library gives to new threads, in bytes.
#[must_use]
pub fn default_thread_stack_bytes() -> usize {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let mut bytes = 0;
    // SAFETY: `attributes` is initialised by the first call and only used and
    // destroyed if that succeeded; `bytes` outlives the call.
    unsafe {
        if libc::pthread_attr_init(attributes.as_mut_ptr()) == 0 {
            if libc::pthread_attr_getstacksize(attributes.as_ptr(), &raw mut bytes) != 0 {
                bytes = 0;
            }
            libc::pthread_attr_destroy(attributes.as_mut_ptr());
        }
    }
    if bytes == 0 { 8 << 20 } else { bytes }
}

/// What to add to an error of starting a program, if the reason is that nothing can be
/// given to it as its standard input.
#[must_use]
pub fn without_null(error: &std::io::Error) -> &'static str {
    let missing = error.kind() == std::io::ErrorKind::NotFound;
    match missing && !std::path::Path::new("/dev/null").exists() {
        true => ": there is no /dev/null (mknod -m 666 /dev/null c 1 3)",
        false => "",
    }
}

/// Lets the calling thread, and those that it starts or forks from now on, sleep
/// to the moment instead of up to some 50 us longer, which saves power.
pub fn sleep_to_the_moment() {
    const SLACK_NS: libc::c_ulong = 1;
    // SAFETY: takes a number; nobody but the scheduler reads it.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, SLACK_NS, 0, 0, 0) };
}

/// Lets other threads run on this processor.
pub fn yield_now() {
    // Not by the C library's function, in front of which we may stand.
    // SAFETY: takes nothing, changes nothing of ours.
    unsafe { libc::syscall(libc::SYS_sched_yield) };
}

/// Ends this process at once: nothing that libraries have registered for its end is done, which
/// might wait for others or fail.
pub fn leave(code: u8) -> ! {
    // SAFETY: takes a number and does not return.
    unsafe { libc::_exit(code.into()) }
}

/// The system's number of the calling thread.
#[must_use]
pub fn thread_id() -> u32 {
    // SAFETY: asks for a number.
    unsafe { libc::gettid() }.cast_unsigned()
}

/// Whether the caller is the thread the process started with.
#[must_use]
pub fn is_initial_thread() -> bool {
    // SAFETY: both calls only return numbers.
    unsafe { libc::gettid() == libc::getpid() }
}

/// Writes bytes to standard error by system calls alone: neither allocates nor
/// locks, so signal handlers may. Best effort.
pub fn write_to_stderr(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        // SAFETY: reads the bytes that the slice holds.
        let written = unsafe {
            libc::syscall(
                libc::SYS_write,
                libc::STDERR_FILENO,
                bytes.as_ptr(),
                bytes.len(),
            )
        };
        let written = usize::try_from(written).unwrap_or(0);
        if written == 0 {
            return;
        }
        bytes = bytes.get(written..).unwrap_or_default();
    }
}
