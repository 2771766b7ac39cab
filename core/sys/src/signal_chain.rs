//! Signals that an instruction raises by running, handled in front of the
//! program's own handlers.
//!
//! Our handler is asked first whether the signal is its own. If not, the action
//! that was there before us happens as if we were not here: a handler is called
//! with its mask, the default action ends the process with the same signal.
//! Signals that somebody sent (`kill`) never reach our handler, so that it only
//! ever runs on behalf of the interrupted instruction.

use fathomp_types::PAGE_BYTES;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Which signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `SIGTRAP`: a breakpoint instruction.
    Trap,
    /// `SIGSEGV`: no mapping, or one that forbids the access.
    Segment,
    /// `SIGBUS`: a mapping whose page cannot be had.
    Bus,
}

impl Fault {
    fn number(self) -> libc::c_int {
        match self {
            Self::Trap => libc::SIGTRAP,
            Self::Segment => libc::SIGSEGV,
            Self::Bus => libc::SIGBUS,
        }
    }

    fn of(signal: libc::c_int) -> Option<Self> {
        [Self::Trap, Self::Segment, Self::Bus]
            .into_iter()
            .find(|fault| fault.number() == signal)
    }
}

/// The interrupted thread, for the time of a handler's call.
#[derive(Debug)]
pub struct Interruption<'a> {
    info: &'a libc::siginfo_t,
    context: &'a mut libc::ucontext_t,
}

/// Bytes of the longest instruction.
pub const CODE_BYTES_MAX: usize = 15;

/// Says whether the signal was ours. Must not assume anything about the
/// interrupted code but that it was executing an instruction: no lock that the
/// same thread might hold, no allocation unless that code cannot be the
/// allocator's.
pub type Handler = fn(&mut Interruption<'_>) -> bool;

/// What we have put in front of one signal.
struct Link {
    handler: AtomicPtr<()>,
    /// Of `SIGTRAP`: what is done behind a single instruction.
    stepped: AtomicPtr<()>,
    /// The program's action. Leaked when replaced: a handler may be reading it.
    program: AtomicPtr<libc::sigaction>,
}

impl Link {
    const fn empty() -> Self {
        Self {
            handler: AtomicPtr::new(ptr::null_mut()),
            stepped: AtomicPtr::new(ptr::null_mut()),
            program: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Whether something of ours stands in front of the signal.
    fn is_served(&self) -> bool {
        let handlers = [&self.handler, &self.stepped];
        let is_there = |handler: &AtomicPtr<()>| !handler.load(Ordering::Acquire).is_null();
        handlers.into_iter().any(is_there)
    }
}

/// Looks at a signal that ends the process. Must assume even less than a [`Handler`].
pub type Witness = fn(&Interruption<'_>);

/// A [`Witness`], or null.
static WITNESS: AtomicPtr<()> = AtomicPtr::new(ptr::null_mut());

static LINKS: [Link; 3] = [const { Link::empty() }; 3];

unsafe extern "C" {
    /// The C library's `sigaction` under the name that nobody stands in front of.
    fn __sigaction(
        signal: libc::c_int,
        new: *const libc::sigaction,
        old: *mut libc::sigaction,
    ) -> libc::c_int;
}

/// Whether handlers for a signal are chained here.
pub(crate) fn is_ours(signal: libc::c_int) -> bool {
    Fault::of(signal).is_some()
}

/// The C library's own `sigaction`. `new` is null or a complete action.
pub(crate) fn raw_sigaction(
    signal: libc::c_int,
    new: *const libc::sigaction,
    old: &mut MaybeUninit<libc::sigaction>,
) -> libc::c_int {
    // SAFETY: promised by our callers in this crate; `old` may be written.
    unsafe { __sigaction(signal, new, old.as_mut_ptr()) }
}

/// Puts `handler` in front of whatever handles `fault` now. Runs on the
/// thread's alternate signal stack where it has one. No signal is blocked
/// meanwhile: the program's handler for another one may fault.
///
/// # Errors
/// If we have a handler for it already, or the kernel refuses.
pub fn install(fault: Fault, handler: Handler) -> io::Result<()> {
    let link = &LINKS[fault as usize];
    install_as(&link.handler, link, fault, handler)
}

/// Has `handler` called behind each instruction that a thread runs
/// [by itself](Interruption::step); it has to say that the thread goes on.
///
/// # Errors
/// As of [`install`].
pub fn install_stepped(handler: Handler) -> io::Result<()> {
    let link = &LINKS[Fault::Trap as usize];
    install_as(&link.stepped, link, Fault::Trap, handler)
}

fn install_as(
    place: &AtomicPtr<()>,
    link: &Link,
    fault: Fault,
    handler: Handler,
) -> io::Result<()> {
    place
        .compare_exchange(
            ptr::null_mut(),
            handler as *mut (),
            Ordering::AcqRel,
            Ordering::Acquire,
        )
        .map_err(|_| io::Error::from(io::ErrorKind::AlreadyExists))?;
    let mut ours = blank();
    ours.sa_sigaction = entry as *const () as usize;
    // SA_SIGINFO: we need the context. SA_ONSTACK: the fault may be a stack
    // that has run out, and the program's handler may count on its other stack.
    // SA_RESTART: synchronous signals interrupt no system call, but the same
    // signal sent by `kill` would.
    ours.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESTART | libc::SA_NODEFER;
    let mut before = MaybeUninit::uninit();
    // SAFETY: `ours` is complete and `entry` has the signature that SA_SIGINFO
    // asks for; the kernel writes `before` if it succeeds.
    if unsafe { __sigaction(fault.number(), &raw const ours, before.as_mut_ptr()) } != 0 {
        let error = io::Error::last_os_error();
        place.store(ptr::null_mut(), Ordering::Release);
        return Err(error);
    }
    // SAFETY: written by the successful call above.
    let before = unsafe { before.assume_init() };
    // One signal may have two handlers of ours.
    if before.sa_sigaction != ours.sa_sigaction {
        set_program(link, before);
    }
    Ok(())
}

/// Has `witness` look at each access to memory that raises a signal which is neither ours nor
/// handled by the program, before it ends the process.
pub fn witness_the_end(witness: Witness) {
    WITNESS.store(witness as *mut (), Ordering::Release);
}

/// The program's action for a signal that we stand in front of, for a wrapper
/// of `sigaction`: returns the present one and stores `new` if there is one.
/// `None` if the signal is not ours and the call should go to the kernel.
#[must_use]
pub fn exchange_program_action(
    signal: libc::c_int,
    new: Option<&libc::sigaction>,
) -> Option<libc::sigaction> {
    let link = &LINKS[Fault::of(signal)? as usize];
    if !link.is_served() {
        return None;
    }
    let present = program(link);
    if let Some(&new) = new {
        set_program(link, new);
    }
    Some(present)
}

fn set_program(link: &Link, action: libc::sigaction) {
    let leaked = ptr::from_mut(Box::leak(Box::new(action)));
    link.program.store(leaked, Ordering::Release);
}

fn program(link: &Link) -> libc::sigaction {
    // SAFETY: null or leaked by `set_program`, hence valid for ever, and never
    // written again.
    match unsafe { link.program.load(Ordering::Acquire).as_ref() } {
        Some(action) => *action,
        None => blank(),
    }
}

/// The default action, no flags, nothing masked.
fn blank() -> libc::sigaction {
    // SAFETY: all-zero bytes are a valid sigaction: SIG_DFL, an empty set.
    unsafe { std::mem::zeroed() }
}

/// What the kernel calls.
extern "C" fn entry(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let Some(fault) = Fault::of(signal) else {
        return;
    };
    let link = &LINKS[fault as usize];
    // SAFETY: with SA_SIGINFO the kernel passes both, exclusive and valid for
    // the time of this call.
    let mut interruption = unsafe {
        Interruption {
            info: &*info,
            context: &mut *context.cast::<libc::ucontext_t>(),
        }
    };
    // Codes above zero come from the kernel; the others were sent.
    let raised = interruption.info.si_code > 0;
    // Some virtual machines now and then lose the bit that says why a trap came (2 of 231,000
    // single steps), and the code is that of a breakpoint then. The flag by which the thread is
    // stepped is still set.
    let code = interruption.info.si_code;
    let is_step = code == libc::TRAP_TRACE || interruption.is_stepped();
    let handler = match fault {
        Fault::Trap if is_step => &link.stepped,
        _ => &link.handler,
    };
    let handler = handler.load(Ordering::Acquire);
    if raised && !handler.is_null() {
        // SAFETY: the only non-null values stored are `Handler`s.
        let handler = unsafe { std::mem::transmute::<*mut (), Handler>(handler) };
        let errno = crate::errno::Saved::new();
        let ours = handler(&mut interruption);
        drop(errno);
        if ours {
            return;
        }
        let witness = WITNESS.load(Ordering::Acquire);
        let ends = matches!(program(link).sa_sigaction, libc::SIG_DFL | libc::SIG_IGN);
        if ends && fault != Fault::Trap && !witness.is_null() {
            // SAFETY: the only non-null values stored are `Witness`es.
            let witness = unsafe { std::mem::transmute::<*mut (), Witness>(witness) };
            witness(&interruption);
        }
    }
    forward(fault, raised, link, info, context);
}

/// Does what would have happened without us.
fn forward(
    fault: Fault,
    raised: bool,
    link: &Link,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let action = program(link);
    let signal = fault.number();
    match action.sa_sigaction {
        // The kernel does not let a raised signal be ignored.
        libc::SIG_IGN if !raised => {}
        libc::SIG_DFL | libc::SIG_IGN => {
            let default = blank();
            // SAFETY: `default` is valid; a signal sent to this thread stays
            // pending until this handler returns, then ends the process.
            unsafe {
                __sigaction(signal, &raw const default, ptr::null_mut());
                // A faulting instruction runs again by itself, and so keeps
                // its address in a core dump; a breakpoint does not.
                if fault == Fault::Trap || !raised {
                    libc::syscall(
                        libc::SYS_tgkill,
                        libc::getpid(),
                        libc::syscall(libc::SYS_gettid),
                        signal,
                    );
                }
            }
        }
        _ => {
            if action.sa_flags & libc::SA_RESETHAND != 0 {
                set_program(link, blank());
            }
            // SAFETY: the mask is the one that the kernel would have applied,
            // but for our signals: the handler may need us. The kernel puts the
            // interrupted mask back when `entry` returns.
            unsafe {
                let mut mask = action.sa_mask;
                unmask_faults(&mut mask);
                libc::pthread_sigmask(libc::SIG_BLOCK, &raw const mask, ptr::null_mut());
            }
            call(&action, signal, info, context);
        }
    }
}

/// Signals that we may have to serve: while one of them is blocked, raising it ends the
/// process.
fn served() -> impl Iterator<Item = libc::c_int> {
    let faults = [Fault::Trap, Fault::Segment, Fault::Bus].into_iter();
    faults
        .filter(|fault| LINKS[*fault as usize].is_served())
        .map(Fault::number)
}

/// Takes signals that we may have to serve out of a mask.
pub(crate) fn unmask_faults(mask: &mut libc::sigset_t) {
    for signal in served() {
        // SAFETY: a valid set and a signal that exists.
        unsafe { libc::sigdelset(mask, signal) };
    }
}

/// Lets signals that we may have to serve reach the calling thread, whoever has blocked
/// them behind our back: the C library in threads that it starts, or the kernel as long as
/// the program waits by `sigsuspend` or `ppoll`.
pub fn unblock_faults() {
    let mut set = MaybeUninit::uninit();
    // SAFETY: initialises the set, adds signals that exist, and changes the calling
    // thread's mask alone.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        for signal in served() {
            libc::sigaddset(set.as_mut_ptr(), signal);
        }
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
    }
}

/// Calls the program's handler with what the kernel has passed to ours.
pub(crate) fn call(
    action: &libc::sigaction,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the action has a handler, which takes three arguments if it asked
    // for them by SA_SIGINFO, else one; they are the kernel's own.
    unsafe {
        if action.sa_flags & libc::SA_SIGINFO != 0 {
            let handler: extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void) =
                std::mem::transmute(action.sa_sigaction);
            handler(signal, info, context);
        } else {
            let handler: extern "C" fn(libc::c_int) = std::mem::transmute(action.sa_sigaction);
            handler(signal);
        }
    }
}

impl Interruption<'_> {
    /// The address that could not be accessed.
    #[must_use]
    pub fn address(&self) -> usize {
        // SAFETY: the kernel raised the signal (sent ones are not shown to
        // handlers), so the field holds an address.
        unsafe { self.info.si_addr() as usize }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(
    clippy::cast_sign_loss,
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    reason = "the kernel's registers are declared as signed words"
)]
impl Interruption<'_> {
    /// The instruction to run next: the one that faulted, or the one behind a
    /// breakpoint.
    #[must_use]
    pub fn instruction(&self) -> usize {
        self.context.uc_mcontext.gregs[libc::REG_RIP as usize] as usize
    }

    /// Where the interrupted code's stack ended.
    #[must_use]
    pub fn stack(&self) -> usize {
        self.context.uc_mcontext.gregs[libc::REG_RSP as usize] as usize
    }

    /// Whether the access that faulted was a write.
    #[must_use]
    pub fn is_write(&self) -> bool {
        /// Bit of the page fault's error code, Intel SDM volume 3, 4.7.
        const WRITE: i64 = 1 << 1;
        self.context.uc_mcontext.gregs[libc::REG_ERR as usize] & WRITE != 0
    }

    /// The code of that instruction, and of what follows up to the longest one that there is or
    /// to the end of its page.
    #[must_use]
    pub fn code(&self) -> [u8; CODE_BYTES_MAX] {
        let mut code = [0; CODE_BYTES_MAX];
        let from = self.instruction();
        let here = (PAGE_BYTES - from % PAGE_BYTES).min(CODE_BYTES_MAX);
        // SAFETY: the processor has just read the instruction there, and code that can be
        // executed can be read, up to the end of its page. (What is behind that is taken for
        // zeros.)
        unsafe {
            ptr::copy_nonoverlapping(
                ptr::with_exposed_provenance::<u8>(from),
                code.as_mut_ptr(),
                here,
            );
        }
        code
    }

    /// The trap flag, Intel SDM volume 3, 2.3.
    const TRAP: i64 = 1 << 8;

    /// Lets the thread run one instruction by itself, or as before: behind it comes the handler
    /// of [`install_stepped`].
    pub fn step(&mut self, one: bool) {
        let flags = &mut self.context.uc_mcontext.gregs[libc::REG_EFL as usize];
        *flags = if one {
            *flags | Self::TRAP
        } else {
            *flags & !Self::TRAP
        };
    }

    /// Whether the thread runs instructions [by themselves](Self::step).
    fn is_stepped(&self) -> bool {
        self.context.uc_mcontext.gregs[libc::REG_EFL as usize] & Self::TRAP != 0
    }

    /// Goes on behind the interrupted instruction, of so many bytes, with that value in the
    /// general register of that number in machine code.
    pub fn pass(&mut self, bytes: u8, register: u8, value: u64) {
        const BY_NUMBER: [libc::c_int; 16] = [
            libc::REG_RAX,
            libc::REG_RCX,
            libc::REG_RDX,
            libc::REG_RBX,
            libc::REG_RSP,
            libc::REG_RBP,
            libc::REG_RSI,
            libc::REG_RDI,
            libc::REG_R8,
            libc::REG_R9,
            libc::REG_R10,
            libc::REG_R11,
            libc::REG_R12,
            libc::REG_R13,
            libc::REG_R14,
            libc::REG_R15,
        ];
        let register = BY_NUMBER[usize::from(register % 16)] as usize;
        self.context.uc_mcontext.gregs[register] = value.cast_signed();
        self.resume_at(self.instruction() + usize::from(bytes));
    }

    /// Goes on at `instruction` instead.
    pub(crate) fn resume_at(&mut self, instruction: usize) {
        self.context.uc_mcontext.gregs[libc::REG_RIP as usize] = instruction as i64;
    }
}

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    static SEEN: AtomicUsize = AtomicUsize::new(0);
    static DECLINED: AtomicUsize = AtomicUsize::new(0);

    extern "C" fn of_the_program(_: libc::c_int) {
        SEEN.fetch_add(1, SeqCst);
    }

    /// A breakpoint followed by something that tells ours from others.
    fn breakpoint(skipped: bool) {
        // SAFETY: a handler is installed; `jmp` over two bytes has no effect.
        unsafe {
            if skipped {
                std::arch::asm!("int3", "jmp 2f", ".byte 0x0f, 0x0b", "2:");
            } else {
                std::arch::asm!("int3", "nop");
            }
        }
    }

    fn skip_jumps(interruption: &mut Interruption<'_>) -> bool {
        let next = interruption.instruction() as *const u8;
        // SAFETY: the instruction behind a breakpoint of this test.
        let next = unsafe { next.read() };
        if next == 0x4d {
            interruption.pass(3, 9, 42);
            return true;
        }
        let ours = next == 0xeb;
        if !ours {
            DECLINED.fetch_add(1, SeqCst);
        }
        ours
    }

    static STEPS: AtomicUsize = AtomicUsize::new(0);

    fn step_over(interruption: &mut Interruption<'_>) -> bool {
        interruption.step(false);
        STEPS.fetch_add(1, SeqCst);
        true
    }

    #[test]
    fn what_is_not_ours_goes_to_the_program() {
        let mut program = blank();
        program.sa_sigaction = of_the_program as *const () as usize;
        // SAFETY: a complete action; no other test of this crate traps.
        unsafe { libc::sigaction(libc::SIGTRAP, &raw const program, ptr::null_mut()) };
        assert!(exchange_program_action(libc::SIGTRAP, None).is_none());
        install(Fault::Trap, skip_jumps).unwrap();
        assert!(install(Fault::Trap, skip_jumps).is_err());
        let count = || (DECLINED.load(SeqCst), SEEN.load(SeqCst));
        breakpoint(true);
        assert_eq!(count(), (0, 0));
        breakpoint(false);
        assert_eq!(count(), (1, 1));
        let loaded: u64;
        // SAFETY: the load of three bytes behind the breakpoint, from nowhere, is passed.
        unsafe { std::arch::asm!("int3", "mov r9, [r8]", in("r8") 0, out("r9") loaded) };
        assert_eq!(loaded, 42);
        // Sent, not raised: never ours.
        // SAFETY: sends a signal that has a handler to this thread.
        unsafe { libc::raise(libc::SIGTRAP) };
        assert_eq!(count(), (1, 2));
        program.sa_sigaction = libc::SIG_IGN;
        let before = exchange_program_action(libc::SIGTRAP, Some(&program)).unwrap();
        assert_eq!(before.sa_sigaction, of_the_program as *const () as usize);
        // SAFETY: as above; the program ignores it now.
        unsafe { libc::raise(libc::SIGTRAP) };
        assert_eq!(count(), (1, 2));
        assert!(exchange_program_action(libc::SIGUSR1, None).is_none());
        // A handler beside ours does not take its own for the program's.
        install_stepped(step_over).unwrap();
        let present = exchange_program_action(libc::SIGTRAP, None).unwrap();
        assert_eq!(present.sa_sigaction, libc::SIG_IGN);
        // SAFETY: sets the trap flag by the flags register; what follows has no effect.
        unsafe { std::arch::asm!("pushfq", "or qword ptr [rsp], 0x100", "popfq", "nop", "nop") };
        assert_eq!(STEPS.load(SeqCst), 1);
        // A step is one whatever the machine says of it.
        // SAFETY: all-zero bytes are valid for both.
        let (mut info, mut context): (libc::siginfo_t, libc::ucontext_t) =
            unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
        info.si_code = libc::TRAP_BRKPT;
        context.uc_mcontext.gregs[libc::REG_EFL as usize] = Interruption::TRAP;
        entry(libc::SIGTRAP, &raw mut info, (&raw mut context).cast());
        assert_eq!(STEPS.load(SeqCst), 2);
        assert_eq!(context.uc_mcontext.gregs[libc::REG_EFL as usize], 0);
    }
}
