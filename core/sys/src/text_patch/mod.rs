//! Inline atomic instructions and fences of a program, led through the runtime.
//!
//! Compilers emit `#pragma omp atomic`, `omp flush` and the atomics of C and
//! C++ as plain instructions. Between processes that share no memory each of
//! them must become a short section: begin, the instruction itself, end. The
//! instruction is never emulated. A copy of it runs, between two calls of the
//! runtime, in a trampoline (see `trampoline.rs`); the thread gets there in the cheapest
//! of three ways that its place allows:
//!
//! 1. Five bytes or more: a jump takes the instruction's place.
//! 2. Less: the jump's last bytes are the bytes that follow anyway, and the
//!    trampoline lies where they make the jump go; prefixes without a meaning
//!    give more to choose from. (Duck, Gao, Roychoudhury: Binary Rewriting
//!    without Control Flow Recovery, PLDI 2020, tactics B2 and T1.) So no other
//!    instruction changes, and whoever jumps to it finds it.
//! 3. Otherwise a breakpoint takes its first byte, and the handler of the trap
//!    sends the thread to the trampoline.
//!
//! So is each conditional branch by which a loop waits for another thread: the trampoline
//! branches as it does, and calls the runtime on either way, or both.
//!
//! The runtime is called with all the program's registers, flags and `errno`
//! put aside, outside of any signal handler, on the program's stack.

mod arena;
mod calls;
mod does;
mod operand;
mod trampoline;

pub use does::{Does, Doing, Effect, Source};
pub use operand::Operand;

use crate::shm::page_size;
use crate::signal_chain::{self, Fault, Interruption};
use crate::static_ref::AtomicRef;
use arena::Arena;
use calls::{Record, Stubs};
use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::sync::atomic::Ordering;
use trampoline::{BREAKPOINT, JUMP, Trampoline};

/// How much code a way into a trampoline can be made of: a jump of five bytes
/// with three prefixes.
pub const CODE_BYTES: usize = 8;

/// What an instruction is to other nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Reads and writes memory in one step.
    Atomic(Operand),
    /// Orders all of the thread's accesses and changes nothing.
    Fence,
    /// Decides whether a loop that waits for another thread goes on.
    Branch(Branch),
}

/// A conditional branch, and what is to be told on its two ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Branch {
    /// Where it goes if its condition holds.
    pub target: usize,
    /// The condition: the low four bits of the instruction's last byte of opcode.
    pub condition: u8,
    /// What it means that it goes there.
    pub taken: Way,
    /// What it means that it does not.
    pub passed: Way,
    /// What alone it depends on, if that is known, in terms of the registers' values at the
    /// branch.
    pub looks_at: Option<Operand>,
}

/// What one way out of a branch means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Way {
    /// Nothing to be told.
    Free,
    /// What the thread waits for has not come yet, and it flushes in each round.
    Flushes,
    /// The same, and it does not.
    Waits,
    /// It has come.
    Came,
}

/// A load of what the loop around a compare-and-exchange expects first, and of which the program
/// makes no other use. Any value does: the loop repeats until it has expected what is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FirstGuess {
    /// Where the instruction is mapped.
    pub address: usize,
    /// Its size in bytes.
    pub length: u8,
    /// The number in machine code of the register that it loads.
    pub register: u8,
    /// A value with which the loop computes without an exception.
    pub value: u64,
}

/// An instruction to be led through the runtime.
#[derive(Clone, Debug)]
pub struct Site {
    /// Where it is mapped.
    pub address: usize,
    /// Its size in bytes.
    pub length: usize,
    /// The code from there on: the instruction and, if it is shorter than
    /// [`CODE_BYTES`], as much of what follows as there is up to that.
    pub code: Vec<u8>,
    /// What it does.
    pub kind: Kind,
    /// Offset of the four bytes that give its operand's distance from the next
    /// instruction, if they do.
    pub relative: Option<usize>,
    /// Whether some branch goes into the middle of it, past a prefix.
    pub entered_inside: bool,
    /// What an atomic instruction does to its operand, if that is known.
    pub does: Option<Does>,
    /// What becomes of the word, if the program never uses what it was, is, or whether that was
    /// so: of the instruction alone, or of the loop around a compare-and-exchange that repeats
    /// until nobody else came in between. That loop ends as soon as the exchange is done, on
    /// any memory. What the source says of memory, the thread has read when it comes to the
    /// instruction.
    pub blind: Option<Does>,
    /// An atomic instruction's other form, if it has one.
    pub moved: Option<Moved>,
}

/// An atomic instruction with its operand where a register says, which it does not use
/// otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// The instruction.
    pub code: Vec<u8>,
    /// The register's number in machine code.
    pub register: u8,
}

impl Site {
    fn instruction(&self) -> &[u8] {
        self.code.get(..self.length).unwrap_or(&self.code)
    }

    /// The next instruction's address.
    fn end(&self) -> usize {
        self.address + self.length
    }
}

/// One execution of an atomic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Section {
    /// The instruction in the program.
    pub instruction: usize,
    /// The first byte in memory that it reads and writes.
    pub address: usize,
    /// How many bytes.
    pub bytes: usize,
    /// What it does to them, if that is known.
    pub does: Option<Doing>,
    /// What becomes of them, if that alone matters to the program ([`Site::blind`]).
    pub blind: Option<Doing>,
    /// Whether it can work on other memory instead.
    pub movable: bool,
}

/// What the runtime wants to be told. All are called by the thread that
/// executes the instruction, at a point where it holds no lock of the C library
/// or of the runtime; none may unwind.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    /// Before an atomic instruction. Signals are blocked from here to the end
    /// of `leave`, except those that instructions raise: a handler of the
    /// program that used the same variable would wait for itself. The answer, if there
    /// is one, is the address of other memory on which the instruction is to work, as wide as
    /// its own operand: to be given only if [`Section::movable`] says so, and valid for that
    /// until `leave` is called.
    pub enter: fn(&Section) -> Option<usize>,
    /// After it.
    pub leave: fn(&Section),
    /// Before a fence.
    pub fence: fn(),
    /// On a branch's way that [`Waits`](Way::Waits), or also [`Flushes`](Way::Flushes).
    pub waits: fn(flushes: bool),
    /// On a branch's way on which something [`Came`](Way::Came): into these bytes, if the branch
    /// says what it [looks at](Branch::looks_at).
    pub came: fn(Option<Range<usize>>),
}

/// How many sites got which way into their trampoline.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Patched {
    /// By a jump.
    pub jumps: usize,
    /// By a jump that ends in bytes that were there.
    pub tight_jumps: usize,
    /// By a breakpoint.
    pub traps: usize,
}

/// Why a program's instructions could not be patched. Those of the program are
/// unchanged, unless [`PatchError::Protect`] says otherwise.
#[derive(Debug, thiserror::Error)]
pub enum PatchError {
    /// Not the instruction that the analysis saw.
    #[error("the code at {0:#x} is not what the program's file says: it was changed after loading")]
    Changed(usize),
    /// No memory to be had where the processor's jumps reach.
    #[error("no free memory within 2 GiB of the instruction at {0:#x}: its code cannot be patched")]
    OutOfReach(usize),
    /// The kernel refuses to execute memory that was written.
    #[error("the kernel does not let new code be executed ({0}); a security policy may forbid it")]
    Trampolines(#[source] io::Error),
    /// The handler of breakpoints could not be installed.
    #[error("no handler for breakpoints (SIGTRAP): {0}")]
    Handler(#[source] io::Error),
    /// The kernel refuses to make code writable or executable.
    #[error(
        "the kernel does not let the program's code at {address:#x} be changed ({error}); \
         a security policy (SELinux execmod) may forbid it"
    )]
    Protect {
        /// First page.
        address: usize,
        /// What it said.
        #[source]
        error: io::Error,
    },
}

/// Sites with breakpoints, and where their threads go on.
struct Traps {
    trampolines: BTreeMap<usize, usize>,
    /// Those of an earlier [`install`].
    earlier: Option<&'static Self>,
}

static TRAPS: AtomicRef<Traps> = AtomicRef::new(None);

/// A site, where its trampoline lies, and what leads there.
struct Planned<'a> {
    site: &'a Site,
    trampoline: usize,
    entry: Vec<u8>,
}

/// Patches all `sites`, which stay patched for the rest of the process and in
/// the children it forks.
///
/// Trampolines are mapped within 2 GiB of the code where nothing is mapped yet:
/// map what must lie at fixed addresses before.
///
/// # Errors
/// See [`PatchError`].
///
/// # Safety
/// Every site is a whole instruction as described, in pages of code that can be
/// read and executed, which nobody else changes and no other thread executes
/// meanwhile. No two sites overlap. Memory that [`Site::blind`] names is read by each thread
/// before it comes to the instruction.
pub unsafe fn install(sites: &[Site], hooks: Hooks) -> Result<Patched, PatchError> {
    for site in sites {
        // SAFETY: the caller promised that this is readable code, and that
        // nobody changes it.
        let present =
            unsafe { std::slice::from_raw_parts(site.address as *const u8, site.code.len()) };
        if present != site.code || site.length == 0 || site.length > site.code.len() {
            return Err(PatchError::Changed(site.address));
        }
    }
    let mut sites: Vec<&Site> = sites.iter().collect();
    sites.sort_by_key(|site| site.address);
    let (Some(first), Some(last)) = (sites.first(), sites.last()) else {
        return Ok(Patched::default());
    };
    let text = first.address..last.end();

    let stubs = Stubs::find();
    let mut arena = Arena::new();
    let mut patched = Patched::default();
    let mut planned: Vec<Planned> = Vec::with_capacity(sites.len());
    // From the last to the first: a tight jump ends in the bytes that follow,
    // and those may belong to a site as well.
    for site in sites.into_iter().rev() {
        let record = Box::leak(Box::new(Record::new(site, hooks)));
        let trampoline = Trampoline::new(site, record, stubs);
        let jump = by_jump(site, &planned, &trampoline, &text, &mut arena);
        let (trampoline, mut entry) = if let Some(found) = jump {
            if site.length >= JUMP {
                patched.jumps += 1;
            } else {
                patched.tight_jumps += 1;
            }
            found
        } else {
            patched.traps += 1;
            let place = arena
                .near(&text, trampoline.size(), |at| trampoline.at(at))
                .ok_or(PatchError::OutOfReach(site.address))?;
            (place, vec![BREAKPOINT])
        };
        if entry.len() > 1 {
            entry.resize(site.length, BREAKPOINT);
        }
        planned.push(Planned {
            site,
            trampoline,
            entry,
        });
    }
    arena.seal().map_err(PatchError::Trampolines)?;
    set_traps(&planned)?;
    planned.reverse();
    write(&planned)?;
    Ok(patched)
}

/// Finds a place for the trampoline that a jump at the site can reach, and the
/// jump, given what is `planned` for the sites behind.
fn by_jump(
    site: &Site,
    planned: &[Planned<'_>],
    trampoline: &Trampoline<'_>,
    text: &Range<usize>,
    arena: &mut Arena,
) -> Option<(usize, Vec<u8>)> {
    if site.entered_inside {
        return None;
    }
    let (size, build) = (trampoline.size(), |at| trampoline.at(at));
    if site.length >= JUMP {
        let place = arena.near(text, size, build)?;
        return Some((place, trampoline::jump(site.address, 0, place)?));
    }
    let code = code_to_be(site, planned);
    // Each prefix before the jump lets other bytes decide where it goes.
    (0..site.length).find_map(|prefixes| {
        let window = trampoline::reach(site.address, site.length, prefixes, &code)?;
        let place = arena.within(window, size, build)?;
        Some((place, trampoline::jump(site.address, prefixes, place)?))
    })
}

/// The code from the site on as it will be.
fn code_to_be(site: &Site, planned: &[Planned<'_>]) -> Vec<u8> {
    let mut code = site.code.clone();
    for behind in planned.iter().rev() {
        let Some(overlaid) = code.get_mut(behind.site.address - site.address..) else {
            break;
        };
        for (byte, new) in overlaid.iter_mut().zip(&behind.entry) {
            *byte = *new;
        }
    }
    code
}

/// Tells the handler of breakpoints about those planned.
fn set_traps(planned: &[Planned<'_>]) -> Result<(), PatchError> {
    let trampolines: BTreeMap<usize, usize> = planned
        .iter()
        .filter(|plan| plan.entry == [BREAKPOINT])
        .map(|plan| (plan.site.address, plan.trampoline))
        .collect();
    if trampolines.is_empty() {
        return Ok(());
    }
    let earlier = TRAPS.load(Ordering::Acquire);
    if earlier.is_none() {
        signal_chain::install(Fault::Trap, to_trampoline).map_err(PatchError::Handler)?;
    }
    let traps = Box::leak(Box::new(Traps {
        trampolines,
        earlier,
    }));
    TRAPS.store(Some(traps), Ordering::Release);
    Ok(())
}

/// Sends a thread that met one of our breakpoints to its trampoline.
fn to_trampoline(interruption: &mut Interruption<'_>) -> bool {
    let site = interruption.instruction() - 1;
    let mut traps = TRAPS.load(Ordering::Acquire);
    while let Some(table) = traps {
        if let Some(&trampoline) = table.trampolines.get(&site) {
            interruption.resume_at(trampoline);
            return true;
        }
        traps = table.earlier;
    }
    false
}

/// Writes all entries, which come in order of address, into the code.
fn write(planned: &[Planned<'_>]) -> Result<(), PatchError> {
    let page = page_size();
    let pages = |plan: &Planned| {
        let start = plan.site.address / page * page;
        start..(plan.site.address + plan.entry.len()).next_multiple_of(page)
    };
    for group in planned.chunk_by(|one, next| pages(one).end >= pages(next).start) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let range = pages(first).start..pages(last).end;
        protect(&range, libc::PROT_READ | libc::PROT_WRITE)?;
        for plan in group {
            // SAFETY: the bytes belong to a site in pages just made writable;
            // `install`'s caller promised that nobody executes them now.
            unsafe {
                std::ptr::copy_nonoverlapping(
                    plan.entry.as_ptr(),
                    plan.site.address as *mut u8,
                    plan.entry.len(),
                );
            }
        }
        protect(&range, libc::PROT_READ | libc::PROT_EXEC)?;
    }
    Ok(())
}

fn protect(pages: &Range<usize>, protection: libc::c_int) -> Result<(), PatchError> {
    let (address, length) = (pages.start, pages.len());
    // SAFETY: pages of code that `install`'s caller gave us to change.
    let done = unsafe { libc::mprotect(address as *mut libc::c_void, length, protection) };
    if done == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    Err(PatchError::Protect { address, error })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_that_is_not_as_described_is_refused() {
        let hooks = Hooks {
            enter: |_| None,
            leave: |_| {},
            fence: || {},
            waits: |_| {},
            came: |_| {},
        };
        let code: &[u8] = &[0x0f, 0xae, 0xf0, 0xc3, 0x90];
        let site = Site {
            address: code.as_ptr() as usize,
            length: 3,
            code: vec![0x0f, 0xae, 0xf0, 0xc3, 0xcc],
            kind: Kind::Fence,
            relative: None,
            entered_inside: false,
            does: None,
            blind: None,
            moved: None,
        };
        // SAFETY: refused before anything is changed.
        let done = unsafe { install(std::slice::from_ref(&site), hooks) };
        assert!(matches!(done, Err(PatchError::Changed(at)) if at == site.address));
        // SAFETY: nothing to change.
        assert_eq!(unsafe { install(&[], hooks) }.unwrap(), Patched::default());
    }
}
