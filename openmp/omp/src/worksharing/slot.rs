//! What a team shares about one construct, and which construct uses which slot.
//!
//! Constructs are numbered in the order in which every member meets them. The
//! first `RING - 1` after a barrier use the slots of a ring: everybody has
//! passed the barrier, so nobody can still be in a construct that used the
//! slot before. (One less than the ring, because a `copyprivate` pointer is
//! read after the barrier inside its own construct.) A member that runs
//! further ahead without a barrier (`nowait`) finds the slot in a table under a
//! mutex instead. How far a construct is from the last barrier is the same for
//! all members, so they agree where to look without talking.

use super::batch::Batch;
use super::claim::{Claim, RING, Tag, Turn};
use super::progress::Doacross;
use crate::event_count::EventCount;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Places among which the positions of an ordered loop are spread.
const PLACES: usize = 8;

/// See the module's documentation.
#[repr(align(128))]
pub(crate) struct Slot {
    pub(crate) claim: Claim,
    /// Address of the data a `copyprivate` clause broadcasts.
    pub(crate) copy: AtomicUsize,
    pub(crate) order: Order,
    extra: Mutex<Extra>,
}

/// The turns of an ordered loop. Each position has its place by its number, so
/// that the member that passes the turn on writes a line that nobody but the
/// next one polls, and wakes nobody else.
#[derive(Debug)]
pub(crate) struct Order([Turns; PLACES]);

/// Turn of the positions that share a place, and those who wait for it.
#[repr(align(64))]
#[derive(Debug)]
pub(crate) struct Turns {
    pub(crate) turn: Turn,
    pub(crate) bell: EventCount,
}

/// What few constructs need: set up under the mutex by the first member.
#[derive(Default)]
pub(crate) struct Extra {
    /// Construct this belongs to.
    construct: Option<u32>,
    /// Progress of a doacross loop.
    pub(crate) doacross: Option<Arc<Doacross>>,
    /// What this node has of a loop dealt to several nodes on request.
    pub(super) batch: Option<Batch>,
    /// Where the compiled code's memory is, if all nodes share it.
    pub(super) lent: Option<usize>,
    /// Zeroed memory the compiled code shares.
    memory: Box<[Line]>,
}

/// Memory as aligned as any compiled code expects. Only compiled code looks
/// inside.
#[repr(align(64))]
#[derive(Default)]
struct Line {
    _words: [AtomicU64; 8],
}

impl Slot {
    pub(crate) fn new() -> Self {
        Self {
            claim: Claim::new(),
            copy: AtomicUsize::new(0),
            order: Order(std::array::from_fn(|_| Turns {
                turn: Turn::new(),
                bell: EventCount::new(),
            })),
            extra: Mutex::new(Extra::default()),
        }
    }

    /// What the construct keeps here, made new if `construct` has just begun.
    pub(crate) fn extra(&self, construct: u32) -> MutexGuard<'_, Extra> {
        let mut extra = self.extra.lock().unwrap_or_else(PoisonError::into_inner);
        if extra.construct != Some(construct) {
            *extra = Extra {
                construct: Some(construct),
                ..Extra::default()
            };
        }
        extra
    }

    /// Wakes everybody who waits here, to look at what has changed.
    fn ring_all(&self) {
        for place in &self.order.0 {
            place.bell.ring();
        }
        let extra = self.extra.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(doacross) = &extra.doacross {
            doacross.ring_all();
        }
    }
}

impl Extra {
    /// Address of `bytes` bytes of zeroed memory for all members, until the
    /// construct's slot serves another construct.
    pub(crate) fn memory(&mut self, bytes: usize) -> usize {
        let lines = bytes.div_ceil(size_of::<Line>()).max(1);
        if self.memory.len() < lines {
            self.memory = (0..lines).map(|_| Line::default()).collect();
        }
        self.memory.as_ptr().expose_provenance()
    }
}

impl Order {
    /// Where a position waits for its turn. Neighbours are two lines apart,
    /// because some processors fetch lines in pairs.
    #[inline]
    pub(crate) fn at(&self, position: u64) -> &Turns {
        &self.0[(position as usize % 4) * 2 + position as usize / 4 % 2]
    }

    /// Nobody has had a turn in the construct with this tag. For slots that
    /// nobody else can reach yet.
    fn reset(&self, tag: Tag) {
        for place in &self.0 {
            place.turn.pass_to(tag, 0);
        }
    }
}

/// All slots of a team.
pub(crate) struct Slots {
    ring: Box<[Slot]>,
    beyond: Mutex<Beyond>,
}

/// Slots of constructs that are too far from the last barrier for the ring.
#[derive(Default)]
struct Beyond {
    /// First construct after the last barrier, as of the last call.
    base: u32,
    used: BTreeMap<u32, Used>,
    spare: Vec<&'static Slot>,
}

struct Used {
    slot: &'static Slot,
    /// Members that have left the construct.
    left: u32,
}

impl Slots {
    pub(crate) fn new() -> Self {
        Self {
            ring: (0..RING).map(|_| Slot::new()).collect(),
            beyond: Mutex::default(),
        }
    }

    /// Wakes everybody who waits for a turn, to look at what has changed.
    pub(crate) fn ring_all(&self) {
        self.ring.iter().for_each(Slot::ring_all);
        let beyond = self.beyond.lock().unwrap_or_else(PoisonError::into_inner);
        beyond.used.values().for_each(|used| used.slot.ring_all());
    }

    /// Slot of a construct near the last barrier.
    #[inline]
    pub(crate) fn near(&'static self, construct: u32) -> &'static Slot {
        &self.ring[(construct % RING) as usize]
    }

    /// Slot of a construct far from the last barrier, the first after which
    /// was `base`. The caller, one of `size` members, leaves `left`.
    #[cold]
    pub(crate) fn far(
        &self,
        construct: u32,
        base: u32,
        left: Option<u32>,
        size: u32,
    ) -> &'static Slot {
        let mut beyond = self.beyond.lock().unwrap_or_else(PoisonError::into_inner);
        if beyond.base != base {
            beyond.forget_before(base);
        }
        let Beyond { used, spare, .. } = &mut *beyond;
        if let Some(left) = left
            && let Some(entry) = used.get_mut(&left)
        {
            entry.left += 1;
            if entry.left == size {
                spare.push(entry.slot);
                used.remove(&left);
            }
        }
        used.entry(construct)
            .or_insert_with(|| {
                let slot = spare
                    .pop()
                    .unwrap_or_else(|| Box::leak(Box::new(Slot::new())));
                slot.claim.reset(Tag::of(construct));
                slot.order.reset(Tag::of(construct));
                Used { slot, left: 0 }
            })
            .slot
    }
}

impl Beyond {
    /// Everybody has passed a barrier: frees the slots used before it.
    fn forget_before(&mut self, base: u32) {
        let Self { used, spare, .. } = self;
        used.retain(|&construct, entry| {
            // Within reach of a late reader of a `copyprivate` pointer.
            let alive = construct.wrapping_add(1).wrapping_sub(base) as i32 >= 0;
            if !alive {
                spare.push(entry.slot);
            }
            alive
        });
        self.base = base;
    }
}
