//! Listeners to what a node does.
//!
//! The node's hot paths tell one [`Observer`], and its engine, under its lock, one
//! [`PageObserver`]; neither names a listener:
//!
//! * `accesses` records what the program accesses between synchronisations, as a `replay` of it
//!   needs it: `touched` is what it did to a page, and `stopwatch` how long it computed;
//! * `lines` notes what is written and read of each cache line, for false sharing;
//! * `races` looks for bytes that two nodes changed without order.
//!
//! Both are absent where nobody listens: then an event is one load and one branch, and what would
//! be told is out of the way of the code that runs. `node/observed.rs` has the events of the node,
//! `engine/observed.rs` those of its engine.

mod accesses;
mod error;
mod lines;
mod races;
mod replay;
mod stopwatch;
mod touched;

use accesses::Purpose;
pub(crate) use accesses::Watch;
pub(crate) use error::WatchError;
pub(crate) use lines::Lines;
pub(crate) use races::Changes;
use races::Lookout;
pub use races::{Found, FoundRace};
use replay::Replay;
use stopwatch::Stopwatch;

use crate::layout::Shared;
use fathomp_protocols::{Area, PageRange, Placement};
use fathomp_sys::clock::monotonic_ns;
use fathomp_types::{NodeId, PageId};
use std::sync::atomic::{AtomicU64, Ordering};

/// The kernel may be about to use the program's memory.
const NEVER: u64 = u64::MAX;

/// Listeners to what threads of a node do.
pub(crate) struct Observer {
    /// Where accesses are recorded for a replay.
    pub(crate) stopwatch: Option<Stopwatch>,
    /// Where shared lines are looked for.
    pub(crate) sampling: Option<Sampling>,
    /// Where races are looked for.
    pub(crate) lookout: Option<Lookout>,
}

impl Observer {
    /// Those who want to be told, as the environment says; nothing if nobody does. `races` says
    /// whether races are looked for, `stops_ns` when the program is ended if shared lines are.
    pub(crate) fn new(races: bool, stops_ns: Option<u64>) -> Option<Box<Self>> {
        let asked = asked_to_watch();
        let replays = matches!(asked, Some(fathomp_launch::Watch::Accesses { .. }));
        let lines = matches!(asked, Some(fathomp_launch::Watch::Lines { .. }));
        (replays || lines || races).then(|| {
            Box::new(Self {
                stopwatch: replays.then(Stopwatch::new),
                sampling: lines.then(|| Sampling::new(stops_ns)),
                lookout: races.then(Lookout::new),
            })
        })
    }

    /// Whether the order in which nodes do things must be the program's own.
    pub(crate) fn needs_programs_order(&self) -> bool {
        self.stopwatch.is_some() || self.lookout.is_some()
    }
}

/// Listeners to changes of pages, called under the engine's lock.
pub(crate) struct PageObserver {
    /// What watches what the program accesses.
    pub(crate) watch: Option<Watch>,
    /// Where races are looked for.
    pub(crate) changes: Option<Changes>,
}

impl PageObserver {
    /// The listeners that were asked for; `None` if there are none.
    pub(crate) fn new(watch: Option<Watch>, races: bool) -> Option<Box<Self>> {
        (watch.is_some() || races).then(|| {
            Box::new(Self {
                watch,
                changes: races.then(Changes::default),
            })
        })
    }
}

/// When accesses are sampled, where shared lines are looked for.
pub(crate) struct Sampling {
    /// When it is time to; never while the kernel may be about to use the program's memory.
    at_ns: AtomicU64,
    /// When the program is ended.
    stops_ns: Option<u64>,
}

impl Sampling {
    fn new(stops_ns: Option<u64>) -> Self {
        Self {
            at_ns: AtomicU64::new(0),
            stops_ns,
        }
    }

    /// Not until [`Self::resume`] is called.
    pub(crate) fn suspend(&self) {
        self.at_ns.store(NEVER, Ordering::Relaxed);
    }

    /// It may go on, if it was suspended.
    pub(crate) fn resume(&self) {
        let at = &self.at_ns;
        let _ = at.compare_exchange(NEVER, 0, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it is time to.
    pub(crate) fn is_due(&self) -> bool {
        self.at_ns.load(Ordering::Relaxed) <= monotonic_ns()
    }

    /// Not for so long.
    pub(crate) fn rest_ns(&self, rest_ns: u64) {
        let next = monotonic_ns().saturating_add(rest_ns);
        self.at_ns.store(next, Ordering::Relaxed);
    }

    /// Whether the program is to be ended now.
    pub(crate) fn is_over(&self) -> bool {
        self.stops_ns
            .is_some_and(|stops_ns| monotonic_ns() >= stops_ns)
    }
}

/// Watches what the program accesses, if the environment asks for it.
///
/// # Errors
/// If that cannot be recorded.
pub(crate) fn watch(me: NodeId, shared: &Shared) -> Result<Option<Watch>, WatchError> {
    let purpose = match asked_to_watch() {
        None => return Ok(None),
        Some(fathomp_launch::Watch::Accesses { directory, lines }) => {
            Purpose::Replay(Replay::new(&directory, me, shared, lines)?)
        }
        Some(fathomp_launch::Watch::Lines { directory, .. }) => {
            let lines = Lines::new(&directory, me, shared.nodes)?;
            Purpose::Lines(Box::new(lines))
        }
    };
    let pinned = |area: &Area| area.home == Placement::Pinned(me);
    let before = shared.areas.iter().take_while(|area| !pinned(area));
    let first = PageId(before.map(|area| area.pages).sum());
    let behind = shared.areas.iter().skip_while(|area| !pinned(area));
    let mine = behind.take_while(|area| pinned(area));
    let stacks = PageRange::new(first, mine.map(|area| area.pages).sum());
    Ok(Some(Watch::new(purpose, stacks)))
}

/// What is to be noted of accesses. What is wrong with the wish was said when the nodes
/// were planned.
pub(crate) fn asked_to_watch() -> Option<fathomp_launch::Watch> {
    let watch = fathomp_launch::Watch::from_env(&fathomp_launch::of_this_process);
    watch.ok().flatten()
}

/// Whether all blocks that the program allocates are to be noted.
pub(crate) fn notes_blocks() -> bool {
    matches!(asked_to_watch(), Some(fathomp_launch::Watch::Lines { .. }))
}

/// How long the program may run, in nanoseconds, where shared lines are looked for.
pub(crate) fn time_limit_ns() -> Option<u64> {
    match asked_to_watch() {
        Some(fathomp_launch::Watch::Lines { limit_ms, .. }) if limit_ms > 0 => {
            Some(limit_ms.saturating_mul(1_000_000))
        }
        _ => None,
    }
}

/// Whether pages will be opened for single instructions.
pub(crate) fn opens_for_instructions(asked: Option<&fathomp_launch::Watch>) -> bool {
    matches!(
        asked,
        Some(fathomp_launch::Watch::Accesses { lines: true, .. })
    )
}
