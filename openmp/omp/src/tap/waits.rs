//! Waits and communication of the calling thread, as states.

use super::found::{Tap, tap};
use super::names::{Called, Name};
use crate::recorded;
use crate::wait::Wait;
use std::cell::Cell;

/// Where a construct is in the program, as far as that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Not at all.
    Nowhere,
    /// In the region with that site, 0 if it has none.
    Region(u32),
    /// At that call, of which the recorder knows the site.
    Call(usize),
}

impl Place {
    fn site(self) -> u32 {
        match self {
            Self::Nowhere => 0,
            Self::Region(site) => site,
            Self::Call(call) => recorded::site_of(call).map_or(0, |site| site.0),
        }
    }
}

/// What the calling thread is at.
#[derive(Clone, Copy, Debug)]
enum At {
    /// It runs the program's code.
    Work,
    /// It waits, which was `told` or will be if it lasts.
    Wait {
        called: Called,
        place: Place,
        told: bool,
    },
    /// It communicates, which was told: whatever it waits for meanwhile is part of that.
    Communication,
}

thread_local! {
    static AT: Cell<At> = const { Cell::new(At::Work) };
}

fn enter(tap: &Tap, name: Name) {
    (tap.interface.enter)(name.number(tap));
}

/// What the thread was at before a wait.
pub(crate) struct Outer(At);

/// The calling thread begins to wait at `place`; none if that is part of what it is at.
pub(crate) fn begins(wait: Wait, place: Place) -> Option<Outer> {
    let outer = AT.get();
    if matches!(outer, At::Communication) {
        return None;
    }
    AT.set(At::Wait {
        called: Called::of(wait),
        place,
        told: false,
    });
    Some(Outer(outer))
}

/// That wait ends.
pub(crate) fn ends(tap: &Tap, outer: Outer) {
    if let At::Wait { told: true, .. } = AT.replace(outer.0) {
        (tap.interface.leave)();
    }
}

/// The calling thread begins to wait for a region.
pub(crate) fn idle_begins() -> Option<Outer> {
    tap().and_then(|_| begins(Wait::Region, Place::Nowhere))
}

/// That wait ends.
pub(crate) fn idle_ends(waiting: Option<Outer>) {
    if let (Some(tap), Some(outer)) = (tap(), waiting) {
        ends(tap, outer);
    }
}

/// The calling thread has waited for a while, and is about to go on with that.
#[inline]
pub(crate) fn waits_long() {
    if let Some(tap) = tap() {
        tell_wait(tap);
    }
}

#[cold]
fn tell_wait(tap: &Tap) {
    if let At::Wait {
        called,
        place,
        told: false,
    } = AT.get()
    {
        enter(tap, Name(called, place.site()));
        AT.set(At::Wait {
            called,
            place,
            told: true,
        });
    }
}

/// Runs code of the program in a thread that waits meanwhile.
#[inline]
pub(crate) fn meanwhile<R>(work: impl FnOnce() -> R) -> R {
    match tap() {
        None => work(),
        Some(tap) => interrupt(tap, work),
    }
}

#[inline(never)]
fn interrupt<R>(tap: &Tap, work: impl FnOnce() -> R) -> R {
    let outer = AT.replace(At::Work);
    if let At::Wait { told: true, .. } = outer {
        (tap.interface.leave)();
    }
    let result = work();
    AT.set(match outer {
        // To be told again, if it lasts.
        At::Wait { called, place, .. } => At::Wait {
            called,
            place,
            told: false,
        },
        other => other,
    });
    result
}

/// The calling thread communicates as long as this lives.
#[must_use]
#[derive(Debug)]
pub struct Stay(Option<&'static Tap>);

impl Drop for Stay {
    fn drop(&mut self) {
        if let Some(tap) = self.0 {
            AT.set(At::Work);
            (tap.interface.leave)();
        }
    }
}

/// The calling thread begins to communicate with other nodes. If it waits in a construct,
/// it is for that; if it communicates already, this is part of it.
#[inline]
pub fn communicate(called: Called) -> Stay {
    match tap() {
        None => Stay(None),
        Some(tap) => begin(tap, called),
    }
}

#[cold]
fn begin(tap: &'static Tap, called: Called) -> Stay {
    match AT.get() {
        At::Work => {
            AT.set(At::Communication);
            enter(tap, Name(called, 0));
            Stay(Some(tap))
        }
        At::Wait { .. } => {
            tell_wait(tap);
            Stay(None)
        }
        At::Communication => Stay(None),
    }
}

/// The calling thread is the only one of a process that was forked, and runs the
/// program's code.
pub(super) fn forget() {
    AT.set(At::Work);
}
