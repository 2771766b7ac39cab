//! The interposer, once it is found.

use fathomp_sys::static_ref::AtomicRef;
use fathomp_types::interposer::{Interface, SharedCount, VERSION};
use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// An interposer that is loaded into this process and records here.
pub struct Interposer {
    /// What it does for us.
    pub interface: &'static Interface,
    /// The number that it gives a name, as [`Interface::name`]: 0 if it has no room.
    pub number: fn(&str) -> u32,
    /// As [`Interface::counters`].
    pub counters: fn(&'static [AtomicU64; SharedCount::COUNT]),
}

impl fmt::Debug for Interposer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Interposer(version {VERSION})")
    }
}

/// On a line of its own, which all threads read and nobody writes once there are some.
#[repr(align(128))]
struct OwnLine(AtomicRef<Interposer>);

static INTERPOSER: OwnLine = OwnLine(AtomicRef::new(None));

static FINDER: OnceLock<fn() -> Option<&'static Interposer>> = OnceLock::new();

/// How to find the interposer, once the runtime starts: not before the interposer's own constructors
/// have run, which may be after the runtime's.
pub fn expect(finder: fn() -> Option<&'static Interposer>) {
    let _ = FINDER.set(finder);
}

/// The runtime starts, or becomes a node: from now on the interposer is told, if there is one.
pub fn find() {
    if interposer().is_none() {
        let found = FINDER.get().and_then(|finder| finder());
        INTERPOSER.0.store(found, Ordering::Release);
    }
}

/// The interposer, if there is one.
#[inline]
pub fn interposer() -> Option<&'static Interposer> {
    // A static of another library and what was leaked before it was stored.
    INTERPOSER.0.load(Ordering::Acquire)
}
