//! A member's own queue of tasks, from which others may steal.
//!
//! Chase and Lev's deque over a ring of fixed size: the owner pushes and pops
//! at the bottom, thieves take from the top. A full ring is no error: the
//! runtime then runs new tasks at once, which bounds the memory that queued
//! tasks take.

use super::primitive::{AtomicU64, Item, Ordering, Shelf, fence};

/// Tasks a member may have queued. Enough to keep thieves busy, few enough for
/// the blocks to stay in the cache.
pub(crate) const CAPACITY: usize = 256;

/// See the module's documentation.
#[derive(Debug)]
pub(crate) struct Deque {
    bottom: Bottom,
    top: Top,
    ring: Box<[Shelf]>,
}

/// What the owner writes.
#[repr(align(128))]
#[derive(Debug)]
struct Bottom {
    /// Number of the next push.
    next: AtomicU64,
    /// A value `top` had some time ago.
    top_seen: AtomicU64,
}

/// What thieves write: the number of the oldest element.
#[repr(align(128))]
#[derive(Debug)]
struct Top(AtomicU64);

impl Deque {
    /// An empty one for `capacity` elements, a power of two.
    pub(crate) fn new(capacity: usize) -> Self {
        assert!(capacity.is_power_of_two(), "positions are masked");
        Self {
            bottom: Bottom {
                next: AtomicU64::new(0),
                top_seen: AtomicU64::new(0),
            },
            top: Top(AtomicU64::new(0)),
            ring: (0..capacity).map(|_| Shelf::default()).collect(),
        }
    }

    #[inline]
    fn shelf(&self, number: u64) -> &Shelf {
        &self.ring[number as usize & (self.ring.len() - 1)]
    }

    /// Whether a push would be refused; for the owner.
    #[inline]
    pub(crate) fn is_full(&self) -> bool {
        let next = self.bottom.next.load(Ordering::Relaxed);
        let capacity = self.ring.len() as u64;
        if next - self.bottom.top_seen.load(Ordering::Relaxed) < capacity {
            return false;
        }
        let top = self.top.0.load(Ordering::Acquire);
        self.bottom.top_seen.store(top, Ordering::Relaxed);
        next - top >= capacity
    }

    /// Whether there seems to be something to steal.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        self.top.0.load(Ordering::SeqCst) < self.bottom.next.load(Ordering::SeqCst)
    }

    /// Adds an element; for the owner, after [`Deque::is_full`] said no.
    /// Returns the number of the push.
    ///
    /// The store is `SeqCst`: a member that registers as a sleeper afterwards
    /// and looks once more sees the element, one that registered before is
    /// seen by the ring that follows.
    #[inline]
    pub(crate) fn push(&self, element: Item) -> u64 {
        let next = self.bottom.next.load(Ordering::Relaxed);
        self.shelf(next).put(element);
        self.bottom.next.store(next + 1, Ordering::SeqCst);
        next
    }

    /// Elements there seem to be; for the owner.
    pub(crate) fn len(&self) -> u64 {
        let next = self.bottom.next.load(Ordering::Relaxed);
        next.saturating_sub(self.top.0.load(Ordering::Relaxed))
    }

    /// Takes the newest element if `wanted` says so; for the owner.
    #[inline]
    pub(crate) fn pop(&self, wanted: impl FnOnce(Item) -> bool) -> Option<Item> {
        let next = self.bottom.next.load(Ordering::Relaxed);
        // The top only grows: empty now is empty.
        if next <= self.top.0.load(Ordering::Relaxed) {
            return None;
        }
        let newest = next - 1;
        // The owner wrote it, and nobody overwrites it.
        let element = self.shelf(newest).get()?;
        if !wanted(element) {
            return None;
        }
        self.bottom.next.store(newest, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let top = self.top.0.load(Ordering::Relaxed);
        if top < newest {
            return Some(element);
        }
        // The last one: thieves may be after it too.
        let won = top == newest && self.take_top(top);
        self.bottom.next.store(next, Ordering::Relaxed);
        won.then_some(element)
    }

    /// Takes the oldest element if `wanted` says so; for others. `wanted` may
    /// be asked about an element that is then lost to somebody else.
    #[inline]
    pub(crate) fn steal(&self, wanted: impl FnOnce(Item) -> bool) -> Option<Item> {
        let top = self.top.0.load(Ordering::SeqCst);
        if top >= self.bottom.next.load(Ordering::SeqCst) {
            return None;
        }
        self.steal_from(top, wanted)
    }

    fn steal_from(&self, top: u64, wanted: impl FnOnce(Item) -> bool) -> Option<Item> {
        // `top` must be read before `bottom`, and the owner's pop must see one
        // of the two.
        fence(Ordering::SeqCst);
        if top >= self.bottom.next.load(Ordering::Acquire) {
            return None;
        }
        let element = self.shelf(top).get()?;
        if !wanted(element) {
            return None;
        }
        // Success proves that nobody took the element meanwhile, so what was
        // read was it: positions are never used twice.
        self.take_top(top).then_some(element)
    }

    #[inline]
    fn take_top(&self, top: u64) -> bool {
        self.top
            .0
            .compare_exchange(top, top + 1, Ordering::SeqCst, Ordering::Relaxed)
            .is_ok()
    }
}
