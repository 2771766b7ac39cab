//! The right to touch what is known of the calling thread.
//!
//! A signal may interrupt the interposer and call what the interposer stands in front of; so may the sink
//! itself. Such calls do not get a turn and pass straight through.

use super::thread::{Own, SLOT, Thread};
use fathomp_sys::errno::Saved;
use std::sync::atomic::{Ordering, compiler_fence};

/// A stack pointer further away than this belongs to another stack (of a signal handler, a
/// coroutine), whose depth does not compare.
pub(super) const SAME_STACK_BYTES: usize = 64 << 20;

/// The calling thread's turn. `errno` is as before when it ends.
pub(crate) struct Turn {
    thread: &'static Thread,
    _errno: Saved,
}

/// The stack pointer.
#[inline(always)]
pub(crate) fn frame() -> usize {
    let frame: usize;
    // SAFETY: copies a register.
    unsafe {
        std::arch::asm!("mov {}, rsp", out(reg) frame, options(nomem, nostack, preserves_flags));
    }
    frame
}

impl Turn {
    /// A turn, if the thread is recorded and the interposer does not run for it already. `frame` is
    /// the [stack pointer](frame).
    #[inline]
    pub(crate) fn take(frame: usize) -> Option<Self> {
        let thread = SLOT.get()?;
        if !thread.is_recorded() {
            return None;
        }
        let busy = thread.busy.load(Ordering::Relaxed);
        // A signal's handler may have left the interposer by `longjmp`: its turn is over when the
        // thread comes by at the same depth or higher up.
        if busy != 0 && frame.wrapping_sub(busy) >= SAME_STACK_BYTES {
            return None;
        }
        let errno = Saved::new();
        thread.busy.store(frame, Ordering::Relaxed);
        compiler_fence(Ordering::SeqCst);
        Some(Self {
            thread,
            _errno: errno,
        })
    }

    /// What only the thread itself touches.
    #[inline]
    pub(crate) fn own(&mut self) -> &mut Own {
        // SAFETY: the slot is the thread's own; `busy` admits one turn at a time; the thread
        // was recorded when the turn was taken, and only the holder of a turn, or a pause
        // around `vfork`, changes that.
        unsafe { self.thread.own() }
    }

    /// Whose turn it is.
    #[inline]
    pub(crate) fn thread(&self) -> &'static Thread {
        self.thread
    }
}

impl Drop for Turn {
    #[inline]
    fn drop(&mut self) {
        compiler_fence(Ordering::SeqCst);
        self.thread.busy.store(0, Ordering::Relaxed);
    }
}
