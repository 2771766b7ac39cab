//! Threads on stacks that we provide, with another stack for their signals.

use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::ops::Range;

thread_local! {
    static STARTS_OURS: Cell<bool> = const { Cell::new(false) };
}

/// Runs `start`, in which the calling thread starts threads of our own, by whatever way that
/// comes to the C library.
pub fn starting_ours<R>(start: impl FnOnce() -> R) -> R {
    let before = STARTS_OURS.replace(true);
    let result = start();
    STARTS_OURS.set(before);
    result
}

/// Whether the calling thread does that at the moment.
#[must_use]
pub fn starts_ours() -> bool {
    STARTS_OURS.get()
}

/// A thread's code and what it keeps.
pub type Body = Box<dyn FnOnce() + Send>;

/// Bytes of the stack on which faults are served.
const SIGNAL_STACK: usize = 256 << 10;

/// Memory that is there for threads' stacks and nothing else.
#[derive(Debug)]
pub struct Stacks(Range<usize>);

impl Stacks {
    /// Takes memory for stacks.
    ///
    /// # Safety
    /// Nobody else uses that memory as long as the process lives, and it can be
    /// read and written.
    #[must_use]
    pub unsafe fn new(range: Range<usize>) -> Self {
        Self(range)
    }

    /// Starts a thread whose stack, thread-local variables included, is `stack`,
    /// which no other thread was started on.
    ///
    /// # Errors
    /// If it is not one of these stacks, or the system refuses.
    pub fn spawn(&self, stack: Range<usize>, body: Body) -> io::Result<()> {
        if stack.start < self.0.start || stack.end > self.0.end {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: memory for stacks, promised to `new`. A range handed out twice
        // would be an error of the one caller, which counts its stacks.
        starting_ours(|| unsafe { spawn(stack, body) })
    }
}

/// Starts a thread whose stack, thread-local variables included, lies in
/// `stack`.
///
/// # Errors
/// If the system refuses.
///
/// # Safety
/// `stack` is page-aligned memory that may be read and written, which the
/// thread has for itself until the process ends.
unsafe fn spawn(stack: Range<usize>, body: Body) -> io::Result<()> {
    let mut attributes = std::mem::MaybeUninit::<libc::pthread_attr_t>::uninit();
    let check = |code| match code {
        0 => Ok(()),
        code => Err(io::Error::from_raw_os_error(code)),
    };
    // SAFETY: initialises `attributes`.
    check(unsafe { libc::pthread_attr_init(attributes.as_mut_ptr()) })?;
    let body = Box::into_raw(Box::new(body));
    // SAFETY: the attributes are initialised; the stack is the thread's alone,
    // promised by our caller; `run` takes the box over.
    let started = unsafe {
        let base = std::ptr::with_exposed_provenance_mut(stack.start);
        check(libc::pthread_attr_setstack(
            attributes.as_mut_ptr(),
            base,
            stack.len(),
        ))
        .and_then(|()| {
            let detached = libc::PTHREAD_CREATE_DETACHED;
            check(libc::pthread_attr_setdetachstate(
                attributes.as_mut_ptr(),
                detached,
            ))
        })
        .and_then(|()| {
            let mut thread = std::mem::MaybeUninit::uninit();
            let attributes = attributes.as_ptr();
            check(libc::pthread_create(
                thread.as_mut_ptr(),
                attributes,
                run,
                body.cast(),
            ))
        })
    };
    // SAFETY: initialised above, not used any more.
    unsafe { libc::pthread_attr_destroy(attributes.as_mut_ptr()) };
    if started.is_err() {
        // SAFETY: no thread has taken it.
        drop(unsafe { Box::from_raw(body) });
    }
    started
}

/// Starts a thread whose stack is where the C library puts it.
///
/// # Errors
/// If the system refuses.
pub fn spawn_anywhere(body: Body) -> io::Result<()> {
    let body = Box::into_raw(Box::new(body));
    let mut thread = std::mem::MaybeUninit::uninit();
    // SAFETY: null means the usual attributes; `run` takes the box over.
    let code = starting_ours(|| unsafe {
        libc::pthread_create(thread.as_mut_ptr(), std::ptr::null(), run, body.cast())
    });
    if code != 0 {
        // SAFETY: no thread has taken it.
        drop(unsafe { Box::from_raw(body) });
        return Err(io::Error::from_raw_os_error(code));
    }
    // SAFETY: a thread that was just started, and that nobody joins.
    unsafe { libc::pthread_detach(thread.assume_init()) };
    Ok(())
}

extern "C" fn run(body: *mut c_void) -> *mut c_void {
    // SAFETY: the box that `spawn` gave away to this thread.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    if use_signal_stack().is_ok() {
        body();
    }
    std::ptr::null_mut()
}

/// Gives the calling thread a stack of its own for signal handlers.
///
/// # Errors
/// If there is no memory for it.
pub fn use_signal_stack() -> io::Result<()> {
    // SAFETY: a new mapping at an address of the kernel's choice.
    let base = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            SIGNAL_STACK,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
            -1,
            0,
        )
    };
    if base == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let stack = libc::stack_t {
        ss_sp: base,
        ss_flags: 0,
        ss_size: SIGNAL_STACK,
    };
    // SAFETY: `stack` describes memory that nobody else uses and that stays.
    match unsafe { libc::sigaltstack(&raw const stack, std::ptr::null_mut()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
