//! How long threads sleep in waits of the runtime.

use fathomp_types::Ticks;
use std::cell::Cell;

thread_local! {
    /// Ticks asleep in waits of the runtime since the last reading. A thread's own, not its
    /// recorder's: a thread of the pool sleeps when nothing leads from it to one.
    static ASLEEP: Cell<u64> = const { Cell::new(0) };
}

/// The kernel had the calling thread asleep from `begin` to `end` in a wait of the runtime.
pub fn asleep(begin: Ticks, end: Ticks) {
    ASLEEP.set(ASLEEP.get().wrapping_add(end.since(begin).0));
}

/// Begins anew; returns the ticks since it was done last.
pub(super) fn reset() -> u64 {
    ASLEEP.replace(0)
}
