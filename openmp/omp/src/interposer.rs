//! What the runtime tells the *interposer*, the library that records in which state every thread
//! is (`fathomp record --paging`): waits, regions, barriers, which thread is which.
//!
//! The interposer is another library. The crate of the C symbols, which can look it up, says
//! how by [`expect`]. Without one, all of this is a test of a pointer.
//!
//! A wait is told when it has lasted some tenths of a microsecond, see [`SpinPolicy`]: a
//! barrier that all reach together is none. The stay in the state then lacks that much at
//! its beginning.
//!
//! `interposer/README.md` beside this file says what is told, under which names, and when.
//!
//! [`SpinPolicy`]: crate::event_count

mod found;
mod marks;
mod names;
mod waits;

pub use found::{Interposer, expect, find, interposer};
pub(crate) use marks::Marks;
pub use names::Called;
pub(crate) use names::Name;
pub(crate) use waits::{Outer, Place, begins, ends, idle_begins, idle_ends, meanwhile, waits_long};
pub use waits::{Stay, communicate};

/// The calling thread serves the runtime, not the program.
pub fn ignore_this_thread() {
    if let Some(interposer) = interposer() {
        (interposer.interface.ignore)();
    }
}

/// This process is a child of which no hook of `fork` knows, and this its only thread.
pub fn forked() {
    if let Some(interposer) = interposer() {
        names::forget();
        (interposer.interface.forked)();
    }
}

/// Runs in a child of `fork`, of which the interposer knows by itself.
pub(crate) fn restart_in_child() {
    names::forget();
    waits::forget();
}
