//! Locks and critical sections.

mod lock;
mod names;
mod nest;
mod word;

pub use lock::Lock;
pub(crate) use names::Names;
pub use nest::{NamedNestLock, NestLock};

/// A lock whose cache line holds nothing else.
#[repr(align(128))]
struct OwnLine(Lock);

static CRITICAL: OwnLine = OwnLine(Lock::new());
static ATOMIC: OwnLine = OwnLine(Lock::new());

/// The lock of `critical` without a name.
#[inline]
pub fn critical() -> &'static Lock {
    &CRITICAL.0
}

/// The lock of `atomic` where the processor has no instruction for it.
#[inline]
pub fn atomic() -> &'static Lock {
    &ATOMIC.0
}

/// Runs in a forked child: threads that held these locks do not exist there.
pub(crate) fn restart_in_child() {
    CRITICAL.0.reset();
    ATOMIC.0.reset();
}
