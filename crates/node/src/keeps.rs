//! What nodes leave of pages that they have taken out of another node's memory to keep,
//! while that writes them unwatched (the homeless protocol): that one compares.
//!
//! Each node has a ring for every other one. Who takes a page announces it, copies it,
//! leaves the copy there, and says that it is done, unless the owner has come in between: that
//! cancels what it finds unfinished. So nobody waits for anybody.

use fathomp_base::{NodeId, PAGE_BYTES, PageId};
use fathomp_sys::cluster::copy::PageCopy;
use fathomp_sys::shared_memory::{self, Sections, SharedMemory};
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

/// Pages that a node can leave another one before that looks. Others are asked for.
const PLACES: u64 = 1024;

/// What is said of a place: a page, and how far it is.
const PAGE_AT: u32 = 2;
const ANNOUNCED: u64 = 1;
const DONE: u64 = 2;
const CANCELLED: u64 = 3;

/// The rings of all nodes, made before they are forked.
#[derive(Debug)]
pub(crate) struct Keeps {
    shared: SharedMemory,
    nodes: usize,
}

/// What a node leaves for another one.
struct Ring<'a> {
    /// Places that were used, by the taker, and that were looked at, by the owner.
    used: &'a AtomicU64,
    seen: &'a AtomicU64,
    places: &'a [AtomicU64],
    bytes: &'a [AtomicU8],
}

impl<'a> Ring<'a> {
    const WORDS: usize = 2 + PLACES as usize;

    fn place(&self, number: u64) -> Option<(&'a AtomicU64, &'a [AtomicU8])> {
        let at = (number % PLACES) as usize;
        let bytes = self.bytes.get(at * PAGE_BYTES..(at + 1) * PAGE_BYTES)?;
        Some((self.places.get(at)?, bytes))
    }
}

/// Something that was announced.
pub(crate) struct Announced<'a> {
    word: &'a AtomicU64,
    bytes: &'a [AtomicU8],
    page: PageId,
}

fn word(page: PageId, how_far: u64) -> u64 {
    u64::from(page.0) << PAGE_AT | how_far
}

impl Announced<'_> {
    /// Leaves the copy of the page. False if its owner has come in between: then it is of no
    /// use.
    pub(crate) fn done(self, copy: &[u8; PAGE_BYTES]) -> bool {
        shared_memory::copy_in(self.bytes, copy);
        self.ends(DONE)
    }

    /// It was not taken.
    pub(crate) fn cancel(self) {
        self.ends(CANCELLED);
    }

    fn ends(&self, how_far: u64) -> bool {
        let (from, to) = (word(self.page, ANNOUNCED), word(self.page, how_far));
        let order = Ordering::SeqCst;
        self.word.compare_exchange(from, to, order, order).is_ok()
    }
}

impl Keeps {
    /// For so many nodes.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new(nodes: u16) -> io::Result<Self> {
        let nodes = usize::from(nodes);
        let sections = Sections {
            halves: 0,
            words: nodes * (1 + nodes * Ring::WORDS),
            bytes: nodes * nodes * PLACES as usize * PAGE_BYTES,
        };
        let shared = SharedMemory::new(sections)?;
        Ok(Self { shared, nodes })
    }

    /// How many times others have announced something to a node since it looked.
    fn noted(&self, owner: NodeId) -> Option<&AtomicU64> {
        let words = 1 + self.nodes * Ring::WORDS;
        self.shared.words().get(usize::from(owner.0) * words)
    }

    fn ring(&self, owner: NodeId, taker: NodeId) -> Option<Ring<'_>> {
        let [owner, taker] = [owner, taker].map(|node| usize::from(node.0));
        let start = owner * (1 + self.nodes * Ring::WORDS) + 1 + taker * Ring::WORDS;
        let words = self.shared.words().get(start..start + Ring::WORDS)?;
        let ([used, seen], places) = words.split_first_chunk()?;
        let bytes = PLACES as usize * PAGE_BYTES;
        let start = (owner * self.nodes + taker) * bytes;
        Some(Ring {
            used,
            seen,
            places,
            bytes: self.shared.bytes().get(start..start + bytes)?,
        })
    }

    /// Node `me`, where one thread at a time does so, is about to take a page. What it
    /// reads of the page from now on its owner finds what it has written since. None if
    /// there is no room.
    pub(crate) fn announce(
        &self,
        owner: NodeId,
        me: NodeId,
        page: PageId,
    ) -> Option<Announced<'_>> {
        let ring = self.ring(owner, me)?;
        let used = ring.used.load(Ordering::Relaxed);
        let waiting = used.checked_sub(ring.seen.load(Ordering::Acquire))?;
        if waiting >= PLACES {
            return None;
        }
        let (place, bytes) = ring.place(used)?;
        place.store(word(page, ANNOUNCED), Ordering::Relaxed);
        ring.used.store(used + 1, Ordering::Release);
        self.noted(owner)?.fetch_add(1, Ordering::SeqCst);
        // Before the page is read, and whether it may be.
        fence(Ordering::SeqCst);
        Some(Announced {
            word: place,
            bytes,
            page,
        })
    }

    /// What others keep of pages of node `me`, where there is `room` for it; what is being taken
    /// is cancelled. To be called after others were forbidden to, or before they learn what was
    /// written until now.
    pub(crate) fn take(
        &self,
        me: NodeId,
        mut room: impl FnMut() -> Box<PageCopy>,
    ) -> Vec<(PageId, Box<PageCopy>)> {
        let mut kept = Vec::new();
        // What was done before comes before the look.
        fence(Ordering::SeqCst);
        let Some(noted) = self.noted(me) else {
            return kept;
        };
        if noted.load(Ordering::SeqCst) == 0 || noted.swap(0, Ordering::SeqCst) == 0 {
            return kept;
        }
        let nodes = (0..).map(NodeId).take(self.nodes);
        for ring in nodes.filter_map(|taker| self.ring(me, taker)) {
            let (seen, used) = (
                ring.seen.load(Ordering::Relaxed),
                ring.used.load(Ordering::SeqCst),
            );
            for number in seen..used.min(seen.saturating_add(PLACES)) {
                let Some((place, bytes)) = ring.place(number) else {
                    continue;
                };
                let before = place.load(Ordering::SeqCst);
                let order = Ordering::SeqCst;
                let cancelled = before & !ANNOUNCED & !DONE | CANCELLED;
                let is_announced = before & CANCELLED == ANNOUNCED;
                let now = match is_announced {
                    true => place.compare_exchange(before, cancelled, order, order),
                    false => Err(before),
                };
                if let Err(now) = now
                    && now & CANCELLED == DONE
                    && let Ok(page) = u32::try_from(now >> PAGE_AT)
                {
                    let mut copy = room();
                    shared_memory::copy_out(bytes, copy.as_mut_slice());
                    kept.push((PageId(page), copy));
                }
            }
            ring.seen.store(used, Ordering::Release);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the owner finds: pages, and a byte of each copy.
    fn found(keeps: &Keeps, owner: NodeId) -> Vec<(u32, u8)> {
        let kept = keeps.take(owner, PageCopy::new);
        kept.iter().map(|(page, copy)| (page.0, copy[9])).collect()
    }

    const OWNER: NodeId = NodeId(0);
    const TAKER: NodeId = NodeId(1);

    #[test]
    fn what_is_not_done_when_the_owner_comes_is_of_no_use() {
        let keeps = Keeps::new(2).unwrap();
        let copy = [7; PAGE_BYTES];
        assert_eq!(found(&keeps, OWNER), []);
        let announce = |page| keeps.announce(OWNER, TAKER, PageId(page)).unwrap();
        assert!(announce(3).done(&copy));
        announce(4).cancel();
        let late = announce(5);
        assert_eq!(found(&keeps, OWNER), [(3, 7)]);
        assert!(!late.done(&copy));
        assert_eq!(found(&keeps, OWNER), []);
        assert_eq!(found(&keeps, TAKER), []);
    }

    #[test]
    fn who_finds_no_room_asks() {
        let keeps = Keeps::new(2).unwrap();
        for page in 0..PLACES as u32 {
            let announced = keeps.announce(OWNER, TAKER, PageId(page)).unwrap();
            assert!(announced.done(&[page as u8; PAGE_BYTES]));
        }
        assert!(keeps.announce(OWNER, TAKER, PageId(1)).is_none());
        let left = (0..PLACES as u32).map(|page| (page, page as u8));
        assert!(found(&keeps, OWNER).into_iter().eq(left));
        assert!(keeps.announce(OWNER, TAKER, PageId(1)).is_some());
    }

    /// What an owner finds at a look includes what it had written before the look before:
    /// otherwise it would have found it, or cancelled it, then.
    #[test]
    fn what_was_written_before_a_look_is_part_of_what_is_taken_after_it() {
        const TIMES: u64 = 30_000;
        let keeps = Keeps::new(2).unwrap();
        let page = AtomicU64::new(0);
        let ended = AtomicU64::new(0);
        let mut found = 0;
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut copy = [0; PAGE_BYTES];
                while ended.load(Ordering::Relaxed) == 0 {
                    if let Some(announced) = keeps.announce(OWNER, TAKER, PageId(1)) {
                        let seen = page.load(Ordering::Relaxed);
                        copy[..8].copy_from_slice(&seen.to_le_bytes());
                        announced.done(&copy);
                    }
                }
            });
            let mut look = 0;
            while look < TIMES || found == 0 {
                look += 1;
                page.store(look, Ordering::Relaxed);
                for (_, copy) in keeps.take(OWNER, PageCopy::new) {
                    found += 1;
                    let seen = u64::from_le_bytes(*copy.first_chunk().unwrap());
                    assert!(seen + 1 >= look, "{seen} at look {look}");
                }
            }
            ended.store(1, Ordering::Relaxed);
        });
    }
}
