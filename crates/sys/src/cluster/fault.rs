//! Page accesses that the protection forbids, handed to somebody who can serve
//! them: SIGSEGV.
//!
//! The handler runs in the faulting thread at the faulting instruction, which
//! is the program's, so it may do what a function called there could do: take
//! locks and allocate, as long as the interrupted code holds none of the same.
//! Code that runs under those locks never touches watched pages.

use std::ffi::{c_int, c_void};
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Serves an access at an address (`true`: a write); `false` if it is none of
/// its business.
pub type Handler = fn(address: usize, write: bool) -> bool;

static HANDLER: AtomicUsize = AtomicUsize::new(0);
static EARLIER: AtomicUsize = AtomicUsize::new(0);

/// Installs the handler for the whole process.
///
/// # Errors
/// If the system refuses.
pub fn install(handler: Handler) -> io::Result<()> {
    HANDLER.store(handler as usize, Ordering::SeqCst);
    let mut earlier = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: all fields of a sigaction may be zero.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = on_fault as *const () as usize;
    action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART;
    // SAFETY: both point to valid structures, and `on_fault` has the signature
    // that SA_SIGINFO asks for.
    if unsafe { libc::sigaction(libc::SIGSEGV, &raw const action, earlier.as_mut_ptr()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call has filled it in.
    set_next(unsafe { earlier.assume_init() });
    Ok(())
}

/// Remembers who is asked about faults that nobody here wants.
pub fn set_next(action: libc::sigaction) {
    // Leaked: a handler that runs at the moment may still look at the old one.
    EARLIER.store(Box::into_raw(Box::new(action)) as usize, Ordering::SeqCst);
}

/// Who is asked about faults that nobody here wants.
#[must_use]
pub fn next() -> Option<libc::sigaction> {
    let action = EARLIER.load(Ordering::SeqCst) as *const libc::sigaction;
    // SAFETY: null or a box leaked by `set_next`.
    unsafe { action.as_ref() }.copied()
}

/// Bit of the processor's error code that stands for a write.
const WRITE: i64 = 2;

extern "C" fn on_fault(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the thread's errno.
    let errno = unsafe { *libc::__errno_location() };
    // SAFETY: the kernel passes valid structures to a SA_SIGINFO handler.
    let (address, error) = unsafe {
        let context = &*context.cast::<libc::ucontext_t>();
        let error = context.uc_mcontext.gregs[libc::REG_ERR as usize];
        ((*info).si_addr() as usize, error)
    };
    let handler = HANDLER.load(Ordering::SeqCst);
    let served = handler != 0 && {
        // SAFETY: only `install` stores here, and only handlers.
        let handler = unsafe { std::mem::transmute::<usize, Handler>(handler) };
        handler(address, error & WRITE != 0)
    };
    if !served {
        pass_on(signal, info, context);
    }
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let action =
        next().filter(|a| a.sa_sigaction != libc::SIG_DFL && a.sa_sigaction != libc::SIG_IGN);
    match action {
        Some(action) if action.sa_flags & libc::SA_SIGINFO != 0 => {
            // SAFETY: the program installed it with this signature.
            let handler = unsafe {
                std::mem::transmute::<usize, extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void)>(
                    action.sa_sigaction,
                )
            };
            handler(signal, info, context);
        }
        Some(action) => {
            // SAFETY: the program installed it with this signature.
            let handler =
                unsafe { std::mem::transmute::<usize, extern "C" fn(c_int)>(action.sa_sigaction) };
            handler(signal);
        }
        None => {
            // Back at the instruction the fault comes again and ends the process.
            // SAFETY: restores the default action.
            unsafe { libc::signal(signal, libc::SIG_DFL) };
        }
    }
}
