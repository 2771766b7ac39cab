//! The program's signal handlers, kept out of the runtime's way.
//!
//! A handler may touch memory that has to be fetched from another node. It must
//! not interrupt a thread that is at work for that very purpose: holding a lock,
//! or waiting for an answer. So a handler that comes while its thread is inside
//! the runtime is put off until the thread leaves, or allows it: the signal goes
//! back to the kernel, blocked.

use super::process::{JOB_SIGNALS, is_left_to_parent};
use crate::signal_chain;
use std::cell::Cell;
use std::ffi::{c_int, c_void};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Numbers of signals are below.
const SIGNALS: usize = 65;

/// The program's actions for signals that we relay. Leaked when replaced: a
/// handler may be reading them.
static ACTIONS: [AtomicPtr<libc::sigaction>; SIGNALS] =
    [const { AtomicPtr::new(ptr::null_mut()) }; SIGNALS];

/// Handlers of the program that run, or are about to, in all of its threads. One that is
/// left by a jump counts for ever.
static RUNNING: AtomicU32 = AtomicU32::new(0);

/// This process leaves a job's signals to its parent, but for those that it sends itself.
static LEAVES_TO_PARENT: AtomicBool = AtomicBool::new(false);

/// What is done before each of them.
static PREPARE: OnceLock<fn()> = OnceLock::new();

/// What is known of a thread.
struct ThreadState {
    /// How often it has entered the runtime without leaving it.
    inside: Cell<u32>,
    /// Signals put off, by number.
    held: Cell<u64>,
}

thread_local! {
    static OWN: ThreadState = const {
        ThreadState {
            inside: Cell::new(0),
            held: Cell::new(0),
        }
    };
}

/// The calling thread is inside the runtime as long as this lives.
#[derive(Debug)]
pub struct Inside(());

/// The calling thread enters the runtime.
#[inline]
#[must_use]
pub fn enter() -> Inside {
    OWN.with(|own| own.inside.set(own.inside.get() + 1));
    Inside(())
}

impl Drop for Inside {
    #[inline]
    fn drop(&mut self) {
        let put_off = OWN.with(|own| {
            let depth = own.inside.get() - 1;
            own.inside.set(depth);
            depth == 0 && own.held.get() != 0
        });
        if put_off {
            deliver();
        }
    }
}

/// Has something done before each handler of the program from now on, by its thread. Only the
/// first call of a process counts.
pub fn before_handlers(prepare: fn()) {
    let _ = PREPARE.set(prepare);
}

/// Whether handlers of the program run. Whoever sees that none does has what it stored
/// before, in one order for all (`SeqCst`), seen by what is done before the next one.
#[must_use]
pub fn handlers_run() -> bool {
    RUNNING.load(Ordering::SeqCst) != 0
}

/// Runs what was put off, if anything was: the calling thread is inside, but holds nothing
/// that a handler may need.
#[inline]
pub fn allow() {
    if OWN.with(|own| own.held.get() != 0) {
        let depth = OWN.with(|own| own.inside.replace(0));
        deliver();
        OWN.with(|own| own.inside.set(depth));
    }
}

#[cold]
fn deliver() {
    let held = OWN.with(|own| own.held.take());
    let mut set = MaybeUninit::uninit();
    // SAFETY: initialises the set, adds signals that exist, unblocks them: they
    // are pending at this thread and delivered before the call returns.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in (1..SIGNALS).filter(|signal| held & (1 << (signal - 1)) != 0) {
            libc::sigaddset(set.as_mut_ptr(), signal as c_int);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
    }
}

/// Keeps all signals but those that instructions raise away from the calling
/// thread: others handle them.
pub fn block_all() {
    let mut set = MaybeUninit::uninit();
    // SAFETY: initialises the set; the signals exist.
    unsafe {
        libc::sigfillset(set.as_mut_ptr());
        for raised in [
            libc::SIGSEGV,
            libc::SIGBUS,
            libc::SIGTRAP,
            libc::SIGILL,
            libc::SIGFPE,
            libc::SIGABRT,
        ] {
            libc::sigdelset(set.as_mut_ptr(), raised);
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, set.as_ptr(), ptr::null_mut());
    }
}

/// Relays the handlers that the program has already. A process that has a parent for it
/// leaves to that a job's signals, but for those that it sends itself (`raise`).
pub fn take_over(leaves_to_parent: bool) {
    LEAVES_TO_PARENT.store(leaves_to_parent, Ordering::Relaxed);
    for signal in 1..SIGNALS as c_int {
        let mut present = MaybeUninit::uninit();
        if signal_chain::is_ours(signal)
            || signal_chain::raw_sigaction(signal, ptr::null(), &mut present) != 0
        {
            continue;
        }
        // SAFETY: written by the successful call.
        let mut action = unsafe { present.assume_init() };
        if is_left_to_parent(&action) {
            action.sa_sigaction = libc::SIG_DFL;
        }
        let handled = !matches!(action.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
        if handled || leaves_to_parent && JOB_SIGNALS.contains(&signal) {
            let _ = exchange(signal, Some(&action), None);
        }
    }
}

/// Whether it is relayed although the program has no handler for it.
fn is_guarded(signal: c_int, action: &libc::sigaction) -> bool {
    LEAVES_TO_PARENT.load(Ordering::Relaxed)
        && JOB_SIGNALS.contains(&signal)
        && action.sa_sigaction == libc::SIG_DFL
}

/// As `sigaction`, with the program's handlers relayed. -1 and `errno` if the
/// kernel refuses.
#[must_use]
pub fn exchange(
    signal: c_int,
    new: Option<&libc::sigaction>,
    old: Option<&mut libc::sigaction>,
) -> c_int {
    let known = usize::try_from(signal).ok().and_then(|s| ACTIONS.get(s));
    let relayed = known.and_then(|action| {
        // SAFETY: null or leaked below, hence valid for ever and never written.
        unsafe { action.load(Ordering::Acquire).as_ref() }.copied()
    });
    let mut ours = new.copied();
    if let (Some(ours), Some(new), Some(known)) = (&mut ours, new, known)
        && (!matches!(new.sa_sigaction, libc::SIG_DFL | libc::SIG_IGN) || is_guarded(signal, new))
    {
        known.store(ptr::from_mut(Box::leak(Box::new(*new))), Ordering::Release);
        ours.sa_sigaction = relay as *const () as usize;
        ours.sa_flags = new.sa_flags & !libc::SA_RESETHAND | libc::SA_SIGINFO;
        if new.sa_sigaction == libc::SIG_DFL {
            ours.sa_flags |= libc::SA_RESTART;
        }
        signal_chain::unmask_faults(&mut ours.sa_mask);
    }
    let mut before = MaybeUninit::uninit();
    let ours = ours.as_ref().map_or(ptr::null(), ptr::from_ref);
    let done = signal_chain::raw_sigaction(signal, ours, &mut before);
    if done == 0
        && let Some(old) = old
    {
        // SAFETY: written by the successful call.
        let before = unsafe { before.assume_init() };
        let relaying = before.sa_sigaction == relay as *const () as usize;
        *old = relayed.filter(|_| relaying).unwrap_or(before);
    }
    done
}

/// What the kernel calls for the program's handlers.
extern "C" fn relay(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: asked for by SA_SIGINFO.
    let sender = unsafe { &*info };
    if LEAVES_TO_PARENT.load(Ordering::Relaxed)
        && JOB_SIGNALS.contains(&signal)
        && !is_from_here(sender)
    {
        return;
    }
    if OWN.with(|own| own.inside.get()) != 0 {
        put_off(signal, info, context);
        return;
    }
    let action = usize::try_from(signal).ok().and_then(|s| ACTIONS.get(s));
    // SAFETY: leaked by `exchange` before `relay` was installed.
    let action = action.and_then(|a| unsafe { a.load(Ordering::Acquire).as_ref() });
    let Some(action) = action else { return };
    if action.sa_sigaction == libc::SIG_DFL {
        return do_by_default(signal);
    }
    if action.sa_flags & libc::SA_RESETHAND != 0 {
        // SAFETY: all-zero bytes are a valid sigaction: SIG_DFL, an empty set.
        let default = unsafe { std::mem::zeroed() };
        let _ = signal_chain::raw_sigaction(signal, &raw const default, &mut MaybeUninit::uninit());
    }
    // Whatever was blocked when it came is so again when this returns.
    signal_chain::unblock_faults();
    RUNNING.fetch_add(1, Ordering::SeqCst);
    if let Some(prepare) = PREPARE.get() {
        let _inside = enter();
        prepare();
    }
    signal_chain::call(action, signal, info, context);
    RUNNING.fetch_sub(1, Ordering::SeqCst);
}

/// Whether this process has sent a signal.
fn is_from_here(sender: &libc::siginfo_t) -> bool {
    let by_a_call = matches!(
        sender.si_code,
        libc::SI_USER | libc::SI_TKILL | libc::SI_QUEUE
    );
    // SAFETY: such signals have a sender; getpid has no effect.
    by_a_call && unsafe { sender.si_pid() == libc::getpid() }
}

/// What happens at a signal for which the program has no handler: it ends the process, when
/// it is no longer blocked.
fn do_by_default(signal: c_int) {
    // SAFETY: all-zero bytes are a valid sigaction: SIG_DFL, an empty set.
    let default = unsafe { std::mem::zeroed() };
    let _ = signal_chain::raw_sigaction(signal, &raw const default, &mut MaybeUninit::uninit());
    // SAFETY: a valid signal, to this thread.
    unsafe { libc::raise(signal) };
}

fn put_off(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    OWN.with(|own| own.held.set(own.held.get() | 1 << (signal - 1)));
    // SAFETY: the kernel passes valid pointers. The signal is blocked until this
    // handler returns, by the mask, and from then on by the context that it puts
    // in force; sent to this thread again, it stays pending.
    unsafe {
        let context = &mut *context.cast::<libc::ucontext_t>();
        libc::sigaddset(&raw mut context.uc_sigmask, signal);
        let mut own = MaybeUninit::uninit();
        libc::sigemptyset(own.as_mut_ptr());
        libc::sigaddset(own.as_mut_ptr(), signal);
        libc::pthread_sigmask(libc::SIG_BLOCK, own.as_ptr(), ptr::null_mut());
        libc::syscall(
            libc::SYS_rt_tgsigqueueinfo,
            libc::getpid(),
            libc::syscall(libc::SYS_gettid),
            signal,
            info,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicI32;

    static SEEN: AtomicI32 = AtomicI32::new(0);
    static PREPARED: AtomicI32 = AtomicI32::new(0);

    extern "C" fn handler(_: c_int, info: *mut libc::siginfo_t, _: *mut c_void) {
        // SAFETY: asked for by SA_SIGINFO.
        SEEN.store(unsafe { (*info).si_signo }, Ordering::SeqCst);
    }

    fn raise() -> i32 {
        // SAFETY: a signal with a handler, to this thread.
        unsafe { libc::raise(libc::SIGUSR2) };
        SEEN.swap(0, Ordering::SeqCst)
    }

    #[test]
    fn handlers_wait_until_their_thread_leaves() {
        // SAFETY: all fields of a sigaction may be zero.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handler as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(exchange(libc::SIGUSR2, Some(&action), None), 0);
        // SAFETY: as above.
        let mut old: libc::sigaction = unsafe { std::mem::zeroed() };
        assert_eq!(exchange(libc::SIGUSR2, None, Some(&mut old)), 0);
        assert_eq!(old.sa_sigaction, action.sa_sigaction);

        assert_eq!(raise(), libc::SIGUSR2);
        let outer = enter();
        assert_eq!(raise(), 0);
        before_handlers(|| {
            PREPARED.store(handlers_run().into(), Ordering::SeqCst);
        });
        allow();
        assert_eq!(PREPARED.swap(0, Ordering::SeqCst), 1);
        assert_eq!(SEEN.swap(0, Ordering::SeqCst), libc::SIGUSR2);
        allow();
        assert_eq!(PREPARED.load(Ordering::SeqCst), 0, "nothing was put off");
        assert_eq!(raise(), 0);
        let inner = enter();
        drop(inner);
        assert_eq!(SEEN.load(Ordering::SeqCst), 0);
        drop(outer);
        assert_eq!(SEEN.swap(0, Ordering::SeqCst), libc::SIGUSR2);
        assert_eq!(raise(), libc::SIGUSR2);
        assert!(!handlers_run());
    }
}
