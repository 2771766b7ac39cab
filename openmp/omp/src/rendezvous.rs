//! Counting arrivals, and letting everybody know when all have come.
//!
//! Up to [`FAN_IN`] members count in one word that shares its cache line with
//! the word the waiters poll: the last arrival already owns the line when it
//! opens the gate, so a barrier of two costs one hand-off each way. Larger
//! teams count through a tree of such words, so that no word is contended by
//! more than [`FAN_IN`] members.

use crate::event_count::{EventCount, SpinPolicy};
use crate::primitive::{AtomicU32, Ordering};

/// Members that share one counter.
pub(crate) const FAN_IN: u32 = 4;

/// See the module's documentation. One phase at a time: every member arrives
/// once, and nobody arrives for phase `n + 1` before phase `n` is open.
#[derive(Debug)]
pub(crate) struct Rendezvous {
    gate: Gate,
    /// Counters below the root, level by level.
    inner: Box<[Counter]>,
}

#[repr(align(128))]
#[derive(Debug)]
struct Gate {
    root: AtomicU32,
    open: AtomicU32,
    bell: EventCount,
}

#[repr(align(128))]
#[derive(Debug)]
struct Counter(AtomicU32);

impl Rendezvous {
    /// For at most `capacity` members.
    pub(crate) fn new(capacity: u32) -> Self {
        let mut inner = 0;
        let mut width = capacity;
        while width > FAN_IN {
            width = width.div_ceil(FAN_IN);
            inner += width;
        }
        Self {
            gate: Gate {
                root: AtomicU32::new(0),
                open: AtomicU32::new(0),
                bell: EventCount::new(),
            },
            inner: (0..inner).map(|_| Counter(AtomicU32::new(0))).collect(),
        }
    }

    /// Member `who` of `size` has come. Exactly one caller of each phase, the
    /// last, gets `true` and must call [`Rendezvous::open`]; all that any
    /// member did before arriving happens before that call returns `true`.
    #[inline]
    pub(crate) fn arrive(&self, who: u32, size: u32) -> bool {
        if size <= FAN_IN {
            return count(&self.gate.root, size);
        }
        self.climb(who, size)
    }

    fn climb(&self, mut who: u32, mut size: u32) -> bool {
        let mut first = 0;
        while size > FAN_IN {
            let group = who / FAN_IN;
            let members = FAN_IN.min(size - group * FAN_IN);
            if !count(&self.inner[(first + group) as usize].0, members) {
                return false;
            }
            who = group;
            size = size.div_ceil(FAN_IN);
            first += size;
        }
        count(&self.gate.root, size)
    }

    /// Lets everybody waiting for `phase` go.
    #[inline]
    pub(crate) fn open(&self, phase: u32) {
        self.gate.open.store(phase, Ordering::SeqCst);
        self.gate.bell.ring();
    }

    /// Whether [`Rendezvous::open`] was last called with `phase`.
    #[inline]
    pub(crate) fn is_open(&self, phase: u32) -> bool {
        self.gate.open.load(Ordering::SeqCst) == phase
    }

    /// Returns when `phase` is open or `otherwise` says that waiting is over.
    #[inline]
    pub(crate) fn wait(
        &self,
        phase: u32,
        patience: SpinPolicy,
        mut otherwise: impl FnMut() -> bool,
    ) {
        self.gate
            .bell
            .wait(patience, || self.is_open(phase) || otherwise());
    }

    /// Where waiters sleep, to wake them for another reason.
    pub(crate) fn bell(&self) -> &EventCount {
        &self.gate.bell
    }

    /// Forgets arrivals of a phase that was given up (a cancelled region, or a
    /// team that a fork has broken up). Nobody may be inside. Returns the phase that
    /// was opened last: a member that has given up may have left before, or have passed it.
    pub(crate) fn reset(&self) -> u32 {
        self.gate.root.store(0, Ordering::Relaxed);
        for counter in &self.inner {
            counter.0.store(0, Ordering::Relaxed);
        }
        self.gate.open.load(Ordering::Relaxed)
    }
}

/// Adds one arrival of `members`; the last one empties the counter again.
#[inline]
fn count(counter: &AtomicU32, members: u32) -> bool {
    if counter.fetch_add(1, Ordering::AcqRel) + 1 < members {
        return false;
    }
    counter.store(0, Ordering::Relaxed);
    true
}
