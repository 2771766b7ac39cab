//! Stacks that run out, told from other accesses to memory that is not there.
//!
//! A program whose automatic arrays do not fit on a thread's stack dies of
//! SIGSEGV like one that follows a wild pointer, and says as little. Here a
//! handler looks at that signal first: if the address lies below the thread's
//! stack and at the stack pointer, it was the stack. Whatever it was, the
//! signal then has the effect that it would have had without us: the handler
//! puts the program's own action back and lets the instruction fault again.
//!
//! The handler needs a stack of its own, which each thread is given by
//! [`cover`]. A thread that has set one itself keeps it.

use crate::signal_chain::raw_sigaction;
use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

/// Whose stack it is: that decides where its size is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The thread that the process began with: `ulimit -s`.
    Initial,
    /// A thread of the OpenMP runtime: `OMP_STACKSIZE`.
    Runtime,
    /// A thread that the program has started.
    Program,
}

/// A stack that has run out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow {
    /// Whose it is.
    pub owner: Owner,
    /// Its size in bytes.
    pub had_bytes: usize,
    /// Bytes from its top to the farthest place that was asked for.
    pub needed_bytes: usize,
    /// The stack was used up in small steps, as by recursion: how many more
    /// were to come is not known.
    pub at_least: bool,
}

/// Is told of a stack that has run out, on the alternate stack of its thread.
/// Must neither allocate nor lock.
pub type Report = fn(&Overflow);

/// A [`Report`], or null.
static REPORT: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());
/// The program's action for the signal. Leaked when replaced: a handler may be
/// reading it.
static PROGRAM: AtomicPtr<libc::sigaction> = AtomicPtr::new(ptr::null_mut());
/// Whether a thread is telling, or has told; others do not.
static TELLING: AtomicU32 = AtomicU32::new(NOBODY);
/// Whether the process is one to be watched at all.
static LEFT_ALONE: AtomicBool = AtomicBool::new(false);

const NOBODY: u32 = 0;
const SOMEBODY: u32 = 1;
const TOLD: u32 = 2;

/// What is known of a thread's stack.
#[derive(Clone, Copy)]
struct Known {
    owner: Owner,
    /// Lowest usable address; 0 for the initial thread, whose stack grows.
    low: usize,
    /// First address above it.
    high: usize,
    /// The alternate stack that we have made for it; 0 if it has its own.
    alternate: usize,
}

thread_local! {
    // Without a destructor and initialised by a constant: reading it is reading
    // memory. The library's thread-local variables are there from the start of
    // each thread on, since some of them (`thread_slot`) must be.
    static KNOWN: Cell<Option<Known>> = const { Cell::new(None) };
}

/// Bytes of the stacks for the handler, beside what the kernel puts there.
const ALTERNATE_BYTES: usize = 32 << 10;

/// Farther below a stack nothing is put down to it.
const REACH_BYTES: usize = 16 << 30;
/// Stacks that end less far below their limit ran out step by step.
const STEP_BYTES: usize = 64 << 10;
/// How far below the stack pointer an access is still one to the stack.
const BELOW_POINTER_BYTES: usize = 4096;

/// Looks at accesses that fault from now on, in front of the program's present
/// handler. To be called again when the program may have set another since.
///
/// # Errors
/// If the kernel refuses.
pub fn watch(report: Report) -> io::Result<()> {
    if LEFT_ALONE.load(Ordering::Relaxed) {
        return Ok(());
    }
    let mut present = MaybeUninit::uninit();
    if raw_sigaction(libc::SIGSEGV, ptr::null(), &mut present) != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: written by the successful call above.
    let present = unsafe { present.assume_init() };
    if present.sa_sigaction == entry as *const () as usize {
        return Ok(());
    }
    // Both before the handler is there.
    PROGRAM.store(
        ptr::from_mut(Box::leak(Box::new(present))),
        Ordering::Release,
    );
    REPORT.store(report as *mut (), Ordering::Release);
    // SAFETY: all-zero bytes are a valid sigaction.
    let mut ours: libc::sigaction = unsafe { std::mem::zeroed() };
    ours.sa_sigaction = entry as *const () as usize;
    // SA_SIGINFO: we need the address and the registers. SA_ONSTACK: the stack
    // has run out. SA_RESTART as the program wants it: a signal that was sent
    // interrupts system calls of its own.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | present.sa_flags & libc::SA_RESTART;
    // Nobody may read what is said: that must not end the process instead.
    // SAFETY: a valid set and a signal that exists.
    unsafe { libc::sigaddset(&raw mut ours.sa_mask, libc::SIGPIPE) };
    // A complete action; `entry` has the signature that SA_SIGINFO asks for, and
    // stays loaded.
    match raw_sigaction(libc::SIGSEGV, &raw const ours, &mut MaybeUninit::uninit()) {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Leaves the signal alone for the life of this process: somebody else looks
/// at it.
pub fn leave_alone() {
    LEFT_ALONE.store(true, Ordering::Relaxed);
}

/// Lets the calling thread's stack be looked after: the handler gets a stack to
/// run on. Best effort: without, a stack that runs out ends the process as ever.
pub fn cover(owner: Owner) {
    if LEFT_ALONE.load(Ordering::Relaxed) || KNOWN.get().is_some() {
        return;
    }
    let Some(bounds) = bounds(owner) else { return };
    KNOWN.set(Some(Known {
        owner,
        low: bounds.start,
        high: bounds.end,
        alternate: alternate_stack().unwrap_or(0),
    }));
}

/// Notes the calling thread's stack where others look at the signal, and ask
/// [`recognise`]. Its lowest page is there to catch overflows.
pub fn note(owner: Owner) {
    if let Some(bounds) = thread_bounds() {
        KNOWN.set(Some(Known {
            owner,
            low: bounds.start + page(),
            high: bounds.end,
            alternate: 0,
        }));
    }
}

/// Whether an access at `address` by the calling thread, whose stack pointer was
/// at `pointer`, is one of its stack's that has run out. For signal handlers.
#[must_use]
pub fn recognise(address: usize, pointer: usize) -> Option<Overflow> {
    let known = KNOWN.get()?;
    let fault = Fault {
        address,
        pointer,
        target: None,
    };
    overflow(&fault, known.owner, stack_now(&known)?)
}

/// The calling thread ends: takes back what [`cover`] gave.
pub fn uncover() {
    let Some(known) = KNOWN.take() else { return };
    if known.alternate == 0 {
        return;
    }
    let mut present = MaybeUninit::<libc::stack_t>::uninit();
    let off = libc::stack_t {
        ss_sp: ptr::null_mut(),
        ss_flags: libc::SS_DISABLE,
        ss_size: 0,
    };
    // SAFETY: asks, and gives up a stack that is ours and on which the thread
    // does not run: it is ending. The mapping is the one `alternate_stack` made.
    unsafe {
        if libc::sigaltstack(ptr::null(), present.as_mut_ptr()) == 0
            && present.assume_init().ss_sp.addr() == known.alternate
            && libc::sigaltstack(&raw const off, ptr::null_mut()) == 0
        {
            let base = ptr::with_exposed_provenance_mut(known.alternate);
            libc::munmap(base, alternate_bytes());
        }
    }
}

/// The stack of the calling thread.
fn bounds(owner: Owner) -> Option<Range<usize>> {
    if owner == Owner::Initial {
        // The kernel puts the program's name at the very top.
        // SAFETY: returns a number.
        let name = unsafe { libc::getauxval(libc::AT_EXECFN) } as usize;
        return (name != 0).then(|| 0..name.next_multiple_of(page()));
    }
    thread_bounds()
}

/// The stack that the C library has started the calling thread on.
fn thread_bounds() -> Option<Range<usize>> {
    let mut attributes = MaybeUninit::<libc::pthread_attr_t>::uninit();
    let (mut low, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: `attributes` is initialised by the first call and used and
    // destroyed only if that succeeded; `low` and `bytes` outlive the call.
    let found = unsafe {
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return None;
        }
        let code = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut bytes);
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        code == 0
    };
    let low = low.addr();
    (found && bytes > 0).then(|| low..low.saturating_add(bytes))
}

fn page() -> usize {
    // SAFETY: returns a number.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

fn alternate_bytes() -> usize {
    // What the kernel saves there grows with the processor's registers.
    // SAFETY: returns a number, 0 if the kernel does not say.
    let saved = unsafe { libc::getauxval(libc::AT_MINSIGSTKSZ) } as usize;
    (ALTERNATE_BYTES + saved).next_multiple_of(page())
}

/// Gives the calling thread a stack for handlers, unless it has one. Its
/// address.
fn alternate_stack() -> Option<usize> {
    let mut present = MaybeUninit::<libc::stack_t>::uninit();
    let bytes = alternate_bytes();
    // SAFETY: asks; then a new mapping at an address of the kernel's choice,
    // which stays until `uncover` or the end of the process.
    unsafe {
        if libc::sigaltstack(ptr::null(), present.as_mut_ptr()) != 0
            || present.assume_init().ss_flags & libc::SS_DISABLE == 0
        {
            return None;
        }
        let base = libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK,
            -1,
            0,
        );
        if base == libc::MAP_FAILED {
            return None;
        }
        let stack = libc::stack_t {
            ss_sp: base,
            ss_flags: 0,
            ss_size: bytes,
        };
        if libc::sigaltstack(&raw const stack, ptr::null_mut()) != 0 {
            libc::munmap(base, bytes);
            return None;
        }
        Some(base.expose_provenance())
    }
}

/// What the kernel calls.
extern "C" fn entry(_: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let errno = crate::errno::Saved::new();
    // SAFETY: with SA_SIGINFO the kernel passes both, valid for this call.
    let (info, context) = unsafe { (&*info, &*context.cast::<libc::ucontext_t>()) };
    // Codes above zero come from the kernel, which raised it; SI_KERNEL (128)
    // says that the address is not known.
    let raised = info.si_code > 0;
    let mut own_stack = false;
    if raised && info.si_code < 0x80 {
        let known = KNOWN.get();
        // SAFETY: the kernel raised the signal, so the field holds an address.
        let address = unsafe { info.si_addr() }.addr();
        let overflow = known.and_then(|known| {
            own_stack = context.uc_stack.ss_sp.addr() != known.alternate;
            let fault = Fault::of(address, context);
            overflow(&fault, known.owner, stack_now(&known)?)
        });
        if let Some(overflow) = overflow {
            tell(&overflow);
            // Without us the program's handler runs only if it has asked for
            // another stack and the thread has one.
            step_aside(|program| own_stack && program.sa_flags & libc::SA_ONSTACK != 0);
            drop(errno);
            return;
        }
    }
    step_aside(|_| true);
    if !raised {
        // SAFETY: sends this thread the signal again with what came with it; it
        // stays pending until we return, and then finds the program's action.
        unsafe {
            libc::syscall(
                libc::SYS_rt_tgsigqueueinfo,
                libc::getpid(),
                libc::syscall(libc::SYS_gettid),
                libc::SIGSEGV,
                ptr::from_ref(info),
            );
        }
    }
    drop(errno);
}

/// Puts the program's own action back, or the default one if `keep` does not
/// want it; the instruction that faulted runs again and meets that.
fn step_aside(keep: impl FnOnce(&libc::sigaction) -> bool) {
    // SAFETY: all-zero bytes are a valid sigaction: SIG_DFL, an empty set.
    let default: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: null or leaked by `watch`, hence valid for ever.
    let program = unsafe { PROGRAM.load(Ordering::Acquire).as_ref() };
    let action = program.filter(|program| keep(program)).unwrap_or(&default);
    // A complete action, the program's own or the default one.
    raw_sigaction(
        libc::SIGSEGV,
        ptr::from_ref(action),
        &mut MaybeUninit::uninit(),
    );
}

/// Reports, unless another thread has. Waits for that one to be through: what
/// follows ends the process.
fn tell(overflow: &Overflow) {
    const NAPS: u32 = 200;
    let nap = libc::timespec {
        tv_sec: 0,
        tv_nsec: 5_000_000,
    };
    let first = TELLING.compare_exchange(NOBODY, SOMEBODY, Ordering::AcqRel, Ordering::Acquire);
    if first.is_err() {
        for _ in 0..NAPS {
            if TELLING.load(Ordering::Acquire) == TOLD {
                break;
            }
            // SAFETY: a valid time; nothing is written.
            unsafe { libc::nanosleep(&raw const nap, ptr::null_mut()) };
        }
        return;
    }
    let report = REPORT.load(Ordering::Acquire);
    if !report.is_null() {
        // SAFETY: the only non-null values stored are `Report`s.
        let report = unsafe { std::mem::transmute::<*mut (), Report>(report) };
        report(overflow);
    }
    forget_broken_pipe();
    TELLING.store(TOLD, Ordering::Release);
}

/// Takes back a SIGPIPE that this thread has got for writing where nobody reads.
/// It is blocked while the handler runs.
fn forget_broken_pipe() {
    let mut pipe = MaybeUninit::<libc::sigset_t>::uninit();
    let at_once = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: initialises a set, adds a signal that exists, and takes that signal
    // if it is pending; nothing else is written.
    unsafe {
        libc::sigemptyset(pipe.as_mut_ptr());
        libc::sigaddset(pipe.as_mut_ptr(), libc::SIGPIPE);
        libc::sigtimedwait(pipe.as_ptr(), ptr::null_mut(), &raw const at_once);
    }
}

/// The stack as it may be used at this moment.
fn stack_now(known: &Known) -> Option<Range<usize>> {
    if known.low != 0 {
        return Some(known.low..known.high);
    }
    let mut limit = MaybeUninit::<libc::rlimit>::uninit();
    // SAFETY: a system call that writes the structure if it succeeds.
    let limit = unsafe {
        if libc::getrlimit(libc::RLIMIT_STACK, limit.as_mut_ptr()) != 0 {
            return None;
        }
        limit.assume_init().rlim_cur
    };
    let bytes = usize::try_from(limit).ok()?;
    let low = known.high.checked_sub(bytes)?;
    Some(low.next_multiple_of(4096)..known.high)
}

/// What the handler sees of a fault.
#[derive(Clone, Copy, Debug)]
struct Fault {
    address: usize,
    /// The stack pointer.
    pointer: usize,
    /// How far a loop that touches one page of a large frame after the other
    /// is going to, if this is one.
    target: Option<usize>,
}

impl Fault {
    #[cfg(target_arch = "x86_64")]
    #[allow(
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation,
        reason = "the kernel's registers are declared as signed words"
    )]
    fn of(address: usize, context: &libc::ucontext_t) -> Self {
        let register = |number: libc::c_int| {
            let registers = &context.uc_mcontext.gregs;
            registers
                .get(number as usize)
                .map_or(0, |word| *word as usize)
        };
        // Compilers that protect against skipping the guard page touch each
        // page of a large frame as they lower the stack pointer, down to the
        // address in R11 (gcc, LLVM: "inline probes").
        let (pointer, target) = (register(libc::REG_RSP), register(libc::REG_R11));
        let far = pointer.wrapping_sub(target);
        let probes = address.wrapping_sub(pointer) < 4096 && far % 4096 == 0;
        Self {
            address,
            pointer,
            target: (probes && far > 0 && far < REACH_BYTES).then_some(target),
        }
    }

    #[cfg(target_arch = "aarch64")]
    fn of(address: usize, context: &libc::ucontext_t) -> Self {
        Self {
            address,
            pointer: context.uc_mcontext.sp as usize,
            target: None,
        }
    }
}

/// Whether a fault is one of a stack that has run out.
fn overflow(fault: &Fault, owner: Owner, stack: Range<usize>) -> Option<Overflow> {
    // A frame may reach far below the guard page in one step, where somebody
    // else's memory lies: the stack pointer says that it is a frame.
    let lowest_by_pointer = fault.pointer.saturating_sub(BELOW_POINTER_BYTES);
    let in_frame = (lowest_by_pointer..stack.start).contains(&fault.address);
    let near = stack.start.saturating_sub(fault.address) <= REACH_BYTES
        && fault.pointer < stack.end
        && stack.start.saturating_sub(fault.pointer) <= REACH_BYTES;
    if !in_frame || !near {
        return None;
    }
    let farthest = [Some(fault.address), Some(fault.pointer), fault.target];
    let farthest = farthest.into_iter().flatten().min()?;
    Some(Overflow {
        owner,
        had_bytes: stack.len(),
        needed_bytes: stack.end - farthest,
        at_least: stack.start.saturating_sub(farthest) < STEP_BYTES,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const STACK: Range<usize> = 0x7f00_7000_0000..0x7f00_7080_0000;

    fn seen(address: usize, pointer: usize) -> Option<Overflow> {
        let fault = Fault {
            address,
            pointer,
            target: None,
        };
        overflow(&fault, Owner::Runtime, STACK)
    }

    #[test]
    fn a_step_onto_the_guard_page_is_an_overflow_of_unknown_depth() {
        let low = STACK.start;
        for (address, pointer) in [(low - 8, low), (low - 200, low - 300), (low - 8, low + 40)] {
            let overflow = seen(address, pointer).unwrap();
            assert!(overflow.at_least);
            assert_eq!(overflow.had_bytes, 8 << 20);
        }
    }

    #[test]
    fn a_frame_far_below_says_how_much_it_needs() {
        let pointer = STACK.start - (22 << 20);
        for address in [pointer, pointer + (10 << 20), STACK.start - 8] {
            let overflow = seen(address, pointer).unwrap();
            assert!(!overflow.at_least);
            assert_eq!(overflow.needed_bytes, 30 << 20);
        }
        // A call with such a frame behind it.
        assert_eq!(
            seen(pointer - 8, pointer).unwrap().needed_bytes,
            (30 << 20) + 8
        );
    }

    #[test]
    fn probes_say_how_far_they_were_to_go() {
        let pointer = STACK.start - 4096;
        let fault = Fault {
            address: pointer,
            pointer,
            target: Some(pointer - (100 << 20)),
        };
        let overflow = overflow(&fault, Owner::Initial, STACK).unwrap();
        assert_eq!(overflow.needed_bytes, (108 << 20) + 4096);
        assert!(!overflow.at_least);
    }

    #[test]
    fn other_faults_are_none() {
        let (low, high) = (STACK.start, STACK.end);
        for (address, pointer) in [
            // Wild pointers: null, far off, beyond a stack, into one.
            (0, high - 1000),
            (usize::MAX - 8, high - 1000),
            (low - (1 << 20), high - 1000),
            (high + 16, high - 1000),
            (low + 100, high - 1000),
            // On a stack that is not the thread's.
            (low - (1 << 40), low - (1 << 40)),
            (0, low - (1 << 20)),
            (low - 8, high + (1 << 20)),
        ] {
            assert_eq!(seen(address, pointer), None, "{address:x} {pointer:x}");
        }
    }
}
