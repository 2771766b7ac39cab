//! Waits and communication of the calling thread, as states.

use super::found::{Tap, tap};
use super::names::{Called, Name};

use crate::recorded::recorder;
use fathomp_trace::model::SiteKind;
use fathomp_trace::state::State;
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
            Self::Call(call) => {
                recorder().map_or(0, |recorder| recorder.site(SiteKind::Mutex, call, 0).0)
            }
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

/// Runs `wait`, in which the calling thread waits in `state` at `place`.
#[inline]
pub(crate) fn waiting<R>(
    state: State,
    place: impl FnOnce() -> Place,
    wait: impl FnOnce() -> R,
) -> R {
    match tap() {
        None => wait(),
        Some(tap) => wait_told(tap, state, place(), wait),
    }
}

#[inline(never)]
fn wait_told<R>(tap: &Tap, state: State, place: Place, wait: impl FnOnce() -> R) -> R {
    let Some(called) = Called::of(state) else {
        return wait();
    };
    let outer = AT.get();
    if matches!(outer, At::Communication) {
        return wait();
    }
    AT.set(At::Wait {
        called,
        place,
        told: false,
    });
    let result = wait();
    if let At::Wait { told: true, .. } = AT.replace(outer) {
        (tap.interface.leave)();
    }
    result
}

/// The calling thread has waited for a while, and is about to go on with that.
#[inline]
pub fn waits_long() {
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
