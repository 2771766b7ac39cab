//! What the waiting protocols are built from. The model tests compile the same
//! protocol files against another module of this name, whose atomics and futex
//! run under a scheduler that explores interleavings.

pub(crate) use crate::interposer::waits_long;
pub(crate) use fathomp_sys::process::yield_now;
pub(crate) use std::hint::spin_loop;
pub(crate) use std::sync::atomic::{AtomicU32, Ordering};

/// Sleeping and waking; how long a thread sleeps is told to its recorder, so that
/// sleep in the runtime is not taken for sleep in the program.
pub(crate) mod futex {
    use super::AtomicU32;
    use crate::recorded::sleeps;
    use fathomp_sys::futex;
    pub(crate) use fathomp_sys::futex::{wake, wake_all};

    /// As the function of `fathomp_sys`.
    pub(crate) fn wait(word: &AtomicU32, expected: u32) {
        sleeps(|| futex::wait(word, expected));
    }
}
