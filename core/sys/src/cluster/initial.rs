//! The process's initial thread, which runs `main`: what libraries and constructors have
//! left in its thread-local variables stays with it. It waits while the memory behind them
//! is replaced, and goes on with another stack.

use super::image;
use super::thread::{Body, use_signal_stack};
use fathomp_types::PAGE_BYTES;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

/// Where the thread-local variables of a thread lie.
#[derive(Clone, Debug)]
pub struct ThreadLocals {
    /// The thread pointer, behind the last of them.
    end: usize,
    /// The first of each module that has some.
    modules: Vec<usize>,
}

impl ThreadLocals {
    /// Of the calling thread.
    #[must_use]
    pub fn mine() -> Self {
        let end: usize;
        // SAFETY: on this processor the thread pointer points at itself.
        unsafe {
            std::arch::asm!(
                "mov {}, qword ptr fs:[0]",
                out(reg) end,
                options(nostack, readonly, preserves_flags),
            );
        }
        Self {
            end,
            modules: image::thread_locals(),
        }
    }

    /// Whose they are, as the C library calls a thread: by its thread pointer.
    #[must_use]
    pub fn thread(&self) -> usize {
        self.end
    }

    /// The pages that they fill, and nothing else. `other` are those of another thread:
    /// what every thread has at the same distance from its thread pointer is laid out by
    /// the loader, in one block; what a library got that was loaded later lies elsewhere.
    ///
    /// # Errors
    /// If the loader has not laid them out in whole pages, as it does for the sake of
    /// the library's own.
    pub fn pages(&self, other: &Self) -> io::Result<Range<usize>> {
        let distances = |locals: &Self| -> Vec<usize> {
            let distance = |first: &usize| locals.end.wrapping_sub(*first);
            locals.modules.iter().map(distance).collect()
        };
        let others = distances(other);
        let laid_out = distances(self).into_iter().filter(|d| others.contains(d));
        let furthest = laid_out.max().unwrap_or(0);
        if !self.end.is_multiple_of(PAGE_BYTES) {
            return Err(io::Error::new(
                io::ErrorKind::Unsupported,
                "the loader has put thread-local variables beside memory of its own",
            ));
        }
        Ok((self.end - furthest) / PAGE_BYTES * PAGE_BYTES..self.end)
    }
}

/// Where the initial thread waits, and what it goes on with.
#[derive(Default)]
pub struct Gate {
    /// 0, [`STANDS`] or [`OPEN`].
    state: AtomicU32,
    next: Mutex<Option<(Range<usize>, Body)>>,
}

/// The initial thread touches neither its thread-local variables nor other memory that may
/// be replaced.
const STANDS: u32 = 1;
/// It may go on.
const OPEN: u32 = 2;

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Gate({})", self.state.load(Ordering::Relaxed))
    }
}

impl Gate {
    /// A closed one, before which nobody stands.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            state: AtomicU32::new(0),
            next: Mutex::new(None),
        }
    }

    /// Waits until the initial thread stands still before the gate.
    pub fn await_standing(&self) {
        while self.state.load(Ordering::Acquire) == 0 {
            crate::process::yield_now();
        }
    }

    /// Lets the initial thread go on with `body` on `stack`, memory that it has for itself
    /// as long as the process lives.
    pub fn open(&self, stack: Range<usize>, body: Body) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some((stack, body));
        self.state.store(OPEN, Ordering::Release);
        crate::futex::wake(&self.state, 1);
    }

    /// Stands still until the gate is opened, and goes on with what it was opened with. To
    /// be called with all signals blocked, so that no handler runs meanwhile. Returns if
    /// there is nothing to go on with.
    ///
    /// # Errors
    /// If there is no memory for handlers of signals.
    pub fn pass(&self) -> io::Result<()> {
        // SAFETY: a word of ours that lives as long as this call. Between the store and the
        // last load nothing is touched but it and this stack.
        unsafe { stand(self.state.as_ptr()) };
        std::sync::atomic::fence(Ordering::Acquire);
        let next = self
            .next
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some((stack, body)) = next else {
            return Ok(());
        };
        use_signal_stack()?;
        let body = Box::into_raw(Box::new(body));
        // SAFETY: the stack is the thread's alone, promised to `open`, and its end is that
        // of a page; `run` takes the box over and does not return.
        unsafe { fathomp_go_on(run, body.cast(), stack.end) }
    }
}

/// Writes `STANDS` and waits until somebody has written `OPEN`.
///
/// # Safety
/// `state` is valid for the time of the call.
unsafe fn stand(state: *mut u32) {
    // SAFETY: promised by our caller; the kernel reads that word and clobbers what is said.
    // Not by the C library's function, which uses a thread-local variable.
    unsafe {
        std::arch::asm!(
            "mov dword ptr [rdi], {stands}",
            "2:",
            "mov eax, {futex}",
            "syscall",
            "cmp dword ptr [rdi], {open}",
            "jne 2b",
            stands = const STANDS,
            open = const OPEN,
            futex = const libc::SYS_futex,
            in("rdi") state,
            in("rsi") libc::FUTEX_WAIT | libc::FUTEX_PRIVATE_FLAG,
            in("rdx") STANDS,
            in("r10") 0,
            out("rax") _,
            out("rcx") _,
            out("r11") _,
            options(nostack),
        );
    }
}

extern "C" fn run(body: *mut c_void) -> ! {
    // SAFETY: the box that `pass` gave away.
    let body = unsafe { Box::from_raw(body.cast::<Body>()) };
    body();
    // Nobody is there to return to.
    std::process::abort()
}

unsafe extern "C" {
    /// Calls `function` with `argument` on the stack that ends at `end`.
    fn fathomp_go_on(
        function: extern "C" fn(*mut c_void) -> !,
        argument: *mut c_void,
        end: usize,
    ) -> !;
}

// A search for handlers of an exception finds the end of the stack there: it has no
// return address.
std::arch::global_asm!(
    ".text",
    ".p2align 4",
    ".globl fathomp_go_on",
    ".hidden fathomp_go_on",
    ".type fathomp_go_on, @function",
    "fathomp_go_on:",
    ".cfi_startproc",
    ".cfi_undefined rip",
    "mov rax, rdi",
    "mov rdi, rsi",
    "mov rsp, rdx",
    "xor ebp, ebp",
    "call rax",
    "ud2",
    ".cfi_endproc",
    ".size fathomp_go_on, . - fathomp_go_on",
);

/// Signals that a thread does not get.
pub struct Mask(libc::sigset_t);

/// Keeps all signals away from the calling thread, and returns which were before.
#[must_use]
pub fn block_signals() -> Mask {
    let mut before = MaybeUninit::uninit();
    // SAFETY: sets of signals may be zero and are filled in; the thread's mask alone changes.
    unsafe {
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const all, before.as_mut_ptr());
        Mask(before.assume_init())
    }
}

impl Mask {
    /// Makes it the calling thread's again.
    pub fn restore(&self) {
        // SAFETY: a valid set.
        unsafe {
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, std::ptr::null_mut())
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_two_threads_have_alike_is_laid_out_by_the_loader() {
        let mine = ThreadLocals {
            end: 0x9000,
            modules: vec![0x8f00, 0x7e00, 0x3000],
        };
        let other = ThreadLocals {
            end: 0x2_9000,
            modules: vec![0x2_8f00, 0x2_7e00, 0x1_0000],
        };
        assert_eq!(mine.pages(&other).unwrap(), 0x7000..0x9000);
        let beside = ThreadLocals {
            end: 0x9040,
            ..mine
        };
        assert!(beside.pages(&other).is_err());
    }

    #[test]
    fn every_threads_variables_lie_before_its_thread_pointer() {
        let mine = ThreadLocals::mine();
        let other = std::thread::spawn(ThreadLocals::mine).join().unwrap();
        let distances = |locals: &ThreadLocals| -> Vec<usize> {
            locals.modules.iter().map(|m| locals.end - m).collect()
        };
        assert!(!mine.modules.is_empty());
        assert_ne!(mine.end, other.end);
        assert_eq!(distances(&mine), distances(&other));
    }
}
