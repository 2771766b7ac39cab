//! From a trampoline into the runtime and back, without a trace.

use super::does::Context;
use super::operand::{Operand, Registers};
use super::trampoline::{self, RED_ZONE};
use super::{Branch, Does, Hooks, Kind, Section, Site, Way};
use crate::errno;
use std::arch::x86_64::{__cpuid, __cpuid_count};
use std::arch::{asm, naked_asm};
use std::cell::Cell;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a trampoline tells about itself.
#[derive(Debug)]
pub(super) struct Record {
    address: usize,
    kind: Kind,
    hooks: Hooks,
    does: Option<Does>,
    blind: Option<Does>,
    /// How far in the trampoline the instruction's other form lies behind the first one, if
    /// there is one.
    elsewhere: Option<usize>,
}

impl Record {
    pub(super) fn new(site: &Site, hooks: Hooks) -> Self {
        Self {
            address: site.address,
            kind: site.kind,
            hooks,
            does: site.does,
            blind: site.blind,
            elsewhere: site.moved.as_ref().map(|_| trampoline::elsewhere(site)),
        }
    }
}

/// The stack as the stubs leave it for Rust: what they pushed,
/// then what the trampoline pushed. The red zone and the program's own stack
/// lie behind.
#[repr(C)]
struct Frame {
    /// But for the stack pointer's place, which holds no meaning.
    registers: Registers,
    flags: u64,
    back: u64,
    record: &'static Record,
}

/// The same of an atomic instruction: where to go on takes the record's place.
#[repr(C)]
struct AtomicFrame {
    registers: Registers,
    flags: u64,
    back: u64,
    /// A record's address, or that.
    slot: u64,
    operand: u64,
}

/// Vector registers as the stubs save them: XSAVE's legacy region, which FXSAVE writes as well
/// (Intel SDM volume 1, 13.4.1).
#[repr(C, align(16))]
struct Saved {
    others: [u8; 160],
    /// Lower and upper half.
    vectors: [[u64; 2]; 16],
}

/// The section that a thread is in, and the signals it had blocked before.
#[derive(Clone, Copy)]
struct Open {
    section: Section,
    blocked: u64,
}

thread_local! {
    static OPEN: Cell<Open> = const {
        Cell::new(Open {
            section: Section {
                instruction: 0,
                address: 0,
                bytes: 0,
                does: None,
                blind: None,
                movable: false,
            },
            blocked: 0,
        })
    };
}

/// What a stub calls before the instruction.
extern "C" fn before(frame: &Frame) {
    let errno = errno::Saved::new();
    let record = frame.record;
    match record.kind {
        Kind::Fence => (record.hooks.fence)(),
        Kind::Branch(branch) => tell(branch.passed, &branch, frame),
        // Its trampoline calls `enter`.
        Kind::Atomic(_) => {}
    }
    drop(errno);
}

/// What a stub calls before an atomic instruction. The trampoline goes on behind the call, or
/// where the instruction's other form lies.
extern "C" fn enter(frame: &mut AtomicFrame, saved: &Saved) {
    let errno = errno::Saved::new();
    let record = ptr::with_exposed_provenance::<Record>(frame.slot as usize);
    // SAFETY: a trampoline leaves the address of its record there, which lives for ever.
    let record: &'static Record = unsafe { &*record };
    // It jumps by the word that the call leaves on top.
    const JUMP_BY_SLOT: u64 = 3;
    frame.slot = frame.back + JUMP_BY_SLOT;
    if let Kind::Atomic(operand) = record.kind {
        let registers = with_stack(frame.registers, frame);
        let bytes = usize::from(operand.bytes);
        let context = Context {
            registers: &registers,
            vectors: saved.vectors.map(|[low, _]| low),
            // Before signals are blocked: it may be memory that the runtime has yet to provide.
            read: &|operand| read(operand, &registers),
        };
        let section = Section {
            instruction: record.address,
            address: operand.address(&registers, thread_pointer()),
            bytes,
            does: record.does.map(|does| does.with(&context, bytes)),
            blind: record.blind.map(|does| does.with(&context, bytes)),
            movable: record.elsewhere.is_some(),
        };
        let blocked = set_blocked(ALL_BUT_FAULTS);
        OPEN.set(Open { section, blocked });
        let moved = (record.hooks.enter)(&section).zip(record.elsewhere);
        if let Some((address, distance)) = moved {
            frame.slot += distance as u64;
            frame.operand = operand.moved_to(&registers, address) as u64;
        }
    }
    drop(errno);
}

/// What a stub calls after it, or where a branch is taken.
extern "C" fn after(frame: &Frame) {
    let errno = errno::Saved::new();
    if let Kind::Branch(branch) = frame.record.kind {
        tell(branch.taken, &branch, frame);
        return drop(errno);
    }
    let open = OPEN.get();
    (frame.record.hooks.leave)(&open.section);
    set_blocked(open.blocked);
    drop(errno);
}

/// Tells on which way of a branch a thread is.
fn tell(way: Way, branch: &Branch, frame: &Frame) {
    let hooks = frame.record.hooks;
    match way {
        Way::Free => {}
        Way::Flushes | Way::Waits => (hooks.waits)(way == Way::Flushes),
        Way::Came => {
            let looks_at = branch.looks_at.map(|operand| {
                let registers = with_stack(frame.registers, frame);
                let address = operand.address(&registers, thread_pointer());
                address..address.saturating_add(operand.bytes.into())
            });
            (hooks.came)(looks_at);
        }
    }
}

/// Registers with the stack pointer that the program had before its trampoline, which left
/// the red zone and a frame below it.
fn with_stack<F>(mut registers: Registers, frame: &F) -> Registers {
    let end = ptr::from_ref(frame) as usize + size_of::<F>();
    registers[4] = (end + RED_ZONE) as u64;
    registers
}

/// What the program reads by an operand of 4 or 8 bytes; of others nothing.
fn read(operand: &Operand, registers: &Registers) -> u64 {
    let address = operand.address(registers, thread_pointer());
    // SAFETY: the site says that the program itself reads there with these values of its
    // registers, which its thread has done right before (`Site::blind`, kept by the caller of
    // `install`).
    unsafe {
        match operand.bytes {
            4 => ptr::with_exposed_provenance::<u32>(address)
                .read_unaligned()
                .into(),
            8 => ptr::with_exposed_provenance::<u64>(address).read_unaligned(),
            _ => 0,
        }
    }
}

/// Where this thread's own storage begins: the word there holds its own
/// address (ELF Handling for Thread-Local Storage, variant II).
fn thread_pointer() -> u64 {
    let pointer;
    // SAFETY: reads the word that every thread's control block begins with.
    unsafe {
        asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags));
    }
    pointer
}

const fn bit(signal: libc::c_int) -> u64 {
    1 << (signal - 1)
}

/// All signals but those that an instruction raises: blocked, they would kill.
const ALL_BUT_FAULTS: u64 = !(bit(libc::SIGSEGV)
    | bit(libc::SIGBUS)
    | bit(libc::SIGFPE)
    | bit(libc::SIGILL)
    | bit(libc::SIGTRAP)
    | bit(libc::SIGSYS));

/// Exchanges the set of signals that this thread has blocked. Asks the kernel
/// itself: the program may have put its own wrapper in front of the library's.
fn set_blocked(signals: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both sets are valid for the call and of the size given.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const signals,
            &raw mut before,
            size_of::<u64>(),
        );
    }
    before
}

/// Vector registers, and what else of the processor's extended state Rust and C
/// code may change: the components SSE, AVX, and the three of AVX-512 (Intel
/// SDM volume 1, 13.1). x87 registers and AMX tiles are left alone.
const COMPONENTS: u64 = 1 << 1 | 1 << 2 | 1 << 5 | 1 << 6 | 1 << 7;
/// Size in bytes of XSAVE's legacy region and header.
const XSAVE_FIXED: u64 = 512 + 64;

/// Those of [`COMPONENTS`] that this machine has; 0 before it was asked.
static SAVED_COMPONENTS: AtomicU64 = AtomicU64::new(0);
/// Bytes they need.
static SAVED_BYTES: AtomicU64 = AtomicU64::new(XSAVE_FIXED);

/// Finds out which extended state there is. False on a processor (or under a
/// system) without XSAVE.
fn has_xsave() -> bool {
    /// CPUID leaf 1, ECX: the system uses XSAVE.
    const OSXSAVE: u32 = 1 << 27;
    if __cpuid(1).ecx & OSXSAVE == 0 {
        return false;
    }
    let (low, high): (u32, u32);
    // SAFETY: allowed where OSXSAVE is set; reads a register.
    unsafe {
        asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") high,
            options(nomem, nostack, preserves_flags));
    }
    let components = (u64::from(high) << 32 | u64::from(low)) & COMPONENTS;
    let end = (2..8)
        .filter(|component| components >> component & 1 == 1)
        .map(|component| {
            // Size and offset in the standard format.
            let leaf = __cpuid_count(0xd, component);
            u64::from(leaf.eax) + u64::from(leaf.ebx)
        })
        .max()
        .unwrap_or(0);
    SAVED_BYTES.store(end.max(XSAVE_FIXED), Ordering::Relaxed);
    SAVED_COMPONENTS.store(components, Ordering::Relaxed);
    true
}

/// Addresses of what trampolines call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Stubs {
    /// Before an atomic instruction.
    pub(super) enter: usize,
    /// Before the instruction.
    pub(super) before: usize,
    /// After it.
    pub(super) after: usize,
}

impl Stubs {
    /// Those for this machine.
    pub(super) fn find() -> Self {
        if has_xsave() {
            Self {
                enter: xsave_enter as *const () as usize,
                before: xsave_before as *const () as usize,
                after: xsave_after as *const () as usize,
            }
        } else {
            Self {
                enter: fxsave_enter as *const () as usize,
                before: fxsave_before as *const () as usize,
                after: fxsave_after as *const () as usize,
            }
        }
    }
}

/// A function for trampolines to call: makes a [`Frame`], saves the extended
/// state below it in the way given, calls `$function` with both and undoes all of it.
macro_rules! stub {
    ($name:ident, $function:ident, $save:literal, $restore:literal) => {
        #[unsafe(naked)]
        extern "C" fn $name() {
            naked_asm!(
                "endbr64",
                "pushfq",
                "cld",
                "push r15",
                "push r14",
                "push r13",
                "push r12",
                "push r11",
                "push r10",
                "push r9",
                "push r8",
                "push rdi",
                "push rsi",
                "push rbp",
                "push rsp",
                "push rbx",
                "push rdx",
                "push rcx",
                "push rax",
                "mov rbx, rsp",
                "sub rsp, qword ptr [rip + {bytes}]",
                "and rsp, -64",
                $save,
                "mov rdi, rbx",
                "mov rsi, rsp",
                "call {function}",
                $restore,
                "mov rsp, rbx",
                "pop rax",
                "pop rcx",
                "pop rdx",
                "pop rbx",
                "lea rsp, [rsp + 8]",
                "pop rbp",
                "pop rsi",
                "pop rdi",
                "pop r8",
                "pop r9",
                "pop r10",
                "pop r11",
                "pop r12",
                "pop r13",
                "pop r14",
                "pop r15",
                "popfq",
                "ret",
                bytes = sym SAVED_BYTES,
                components = sym SAVED_COMPONENTS,
                function = sym $function,
            )
        }
    };
}

/// XSAVE leaves most of its header as it finds it, and XRSTOR wants zeros.
macro_rules! xsave_stub {
    ($name:ident, $function:ident) => {
        stub!(
            $name,
            $function,
            "xor eax, eax
             mov [rsp + 512], rax
             mov [rsp + 520], rax
             mov [rsp + 528], rax
             mov [rsp + 536], rax
             mov [rsp + 544], rax
             mov [rsp + 552], rax
             mov [rsp + 560], rax
             mov [rsp + 568], rax
             xor edx, edx
             mov eax, dword ptr [rip + {components}]
             xsave64 [rsp]",
            "xor edx, edx
             mov eax, dword ptr [rip + {components}]
             xrstor64 [rsp]"
        );
    };
}

xsave_stub!(xsave_enter, enter);
xsave_stub!(xsave_before, before);
xsave_stub!(xsave_after, after);
// The mention of {components} is a comment: every operand must be used.
stub!(
    fxsave_enter,
    enter,
    "fxsave64 [rsp] # {components}",
    "fxrstor64 [rsp]"
);
stub!(
    fxsave_before,
    before,
    "fxsave64 [rsp] # {components}",
    "fxrstor64 [rsp]"
);
stub!(
    fxsave_after,
    after,
    "fxsave64 [rsp] # {components}",
    "fxrstor64 [rsp]"
);
