//! Waits and communication of the calling thread, as states.

use super::found::{Interposer, interposer};
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

fn enter(interposer: &Interposer, name: Name) {
    (interposer.interface.enter)(name.number(interposer));
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
pub(crate) fn ends(interposer: &Interposer, outer: Outer) {
    if let At::Wait { told: true, .. } = AT.replace(outer.0) {
        (interposer.interface.leave)();
    }
}

/// The calling thread begins to wait for a region.
pub(crate) fn idle_begins() -> Option<Outer> {
    interposer().and_then(|_| begins(Wait::Region, Place::Nowhere))
}

/// That wait ends.
pub(crate) fn idle_ends(waiting: Option<Outer>) {
    if let (Some(interposer), Some(outer)) = (interposer(), waiting) {
        ends(interposer, outer);
    }
}

/// The calling thread has waited for a while, and is about to go on with that.
#[inline]
pub(crate) fn waits_long() {
    if let Some(interposer) = interposer() {
        tell_wait(interposer);
    }
}

#[cold]
fn tell_wait(interposer: &Interposer) {
    if let At::Wait {
        called,
        place,
        told: false,
    } = AT.get()
    {
        enter(interposer, Name(called, place.site()));
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
    match interposer() {
        None => work(),
        Some(interposer) => interrupt(interposer, work),
    }
}

#[inline(never)]
fn interrupt<R>(interposer: &Interposer, work: impl FnOnce() -> R) -> R {
    let outer = AT.replace(At::Work);
    if let At::Wait { told: true, .. } = outer {
        (interposer.interface.leave)();
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
pub struct Stay(Option<&'static Interposer>);

impl Drop for Stay {
    fn drop(&mut self) {
        if let Some(interposer) = self.0 {
            AT.set(At::Work);
            (interposer.interface.leave)();
        }
    }
}

/// The calling thread begins to communicate with other nodes. If it waits in a construct,
/// it is for that; if it communicates already, this is part of it.
#[inline]
pub fn communicate(called: Called) -> Stay {
    match interposer() {
        None => Stay(None),
        Some(interposer) => begin(interposer, called),
    }
}

#[cold]
fn begin(interposer: &'static Interposer, called: Called) -> Stay {
    match AT.get() {
        At::Work => {
            AT.set(At::Communication);
            enter(interposer, Name(called, 0));
            Stay(Some(interposer))
        }
        At::Wait { .. } => {
            tell_wait(interposer);
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
