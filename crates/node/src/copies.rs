//! What each node shows of its pages to others who take them by themselves, where what is
//! part of a page differs from page to page (the homeless protocol).
//!
//! A word for each page says whether it may be taken. Whoever takes one looks at the word
//! before and afterwards: each time that it changes it becomes another one, so a page
//! that was replaced meanwhile is not taken for what it was. What a node knows is shown
//! as a row of vectors of intervals, of which a page that became [old](Offer::Old) names
//! the one that was the last then.

use fathomp_base::{NodeId, PAGE_BYTES, PageId};
use fathomp_dsm::order::Version;
use fathomp_dsm::{Interval, Offer, PageBytes, PageRange, Seen};
use fathomp_sys::shared_memory::{Sections, SharedMemory, copy_in, copy_out};
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, fence};

/// Vectors of each node that can be looked up. Who asks for an older one sends a message.
const VECTORS: u64 = 1024;

/// Twins of each node that can be shown.
const TWINS: u32 = 4096;

/// A word: how often its node has told something, a number (of the vector that was shown last
/// before, or of a twin), and an offer. 0 if nothing was ever told.
const TOLD_AT: u32 = 35;
const NUMBER_AT: u32 = 3;
const TOLD_MAX: u64 = (1 << (u64::BITS - TOLD_AT)) - 1;
const OFFER: u64 = 7;

fn word(told: u64, number: u32, offer: Offer) -> u64 {
    let offer = match offer {
        Offer::Closed => 0,
        Offer::Open => 1,
        Offer::Lent => 2,
        Offer::Old => 3,
        Offer::Twin => 4,
    };
    // Never 0.
    (told % TOLD_MAX + 1) << TOLD_AT | u64::from(number) << NUMBER_AT | offer
}

/// A page's word, as it was when somebody looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Said(u64);

impl Said {
    /// What the word says, if it says something.
    pub(crate) fn offer(self) -> Option<Offer> {
        let offers = [
            Offer::Closed,
            Offer::Open,
            Offer::Lent,
            Offer::Old,
            Offer::Twin,
        ];
        let offer = offers.get((self.0 & OFFER) as usize).copied();
        offer.filter(|_| self.0 != 0)
    }

    fn number(self) -> u32 {
        (self.0 >> NUMBER_AT) as u32
    }
}

/// The words and vectors of all nodes, made before they are forked.
#[derive(Debug)]
pub(crate) struct Copies {
    shared: SharedMemory,
    nodes: u16,
    pages: u32,
}

/// What one node shows.
struct View<'a> {
    /// How often it has told something.
    told: &'a AtomicU64,
    /// The number of the last vector.
    last: &'a AtomicU64,
    vectors: &'a [AtomicU64],
    words: &'a [AtomicU64],
}

impl Copies {
    /// For so many nodes with so many pages.
    ///
    /// # Errors
    /// If there is no memory.
    pub(crate) fn new(nodes: u16, pages: u32) -> io::Result<Self> {
        let sections = Sections {
            halves: 0,
            words: usize::from(nodes) * Self::words(nodes, pages),
            bytes: usize::from(nodes) * TWINS as usize * PAGE_BYTES,
        };
        Ok(Self {
            shared: SharedMemory::new(sections)?,
            nodes,
            pages,
        })
    }

    fn words(nodes: u16, pages: u32) -> usize {
        2 + VECTORS as usize * usize::from(nodes) + pages as usize
    }

    fn view(&self, node: NodeId) -> Option<View<'_>> {
        let words = Self::words(self.nodes, self.pages);
        let start = usize::from(node.0) * words;
        let words = self.shared.words().get(start..start + words)?;
        let ([told, last], rest) = words.split_first_chunk()?;
        let (vectors, words) = rest.split_at_checked(VECTORS as usize * usize::from(self.nodes))?;
        Some(View {
            told,
            last,
            vectors,
            words,
        })
    }

    /// The node of the caller, where one thread at a time does so, says which pages may be
    /// taken. What it does with them next nobody sees who takes them for what they were.
    pub(crate) fn offer(&self, me: NodeId, pages: PageRange, offer: Offer) {
        let number = self.view(me).map(|view| view.last.load(Ordering::Relaxed));
        // Its lower half.
        self.say(me, pages, number.unwrap_or_default() as u32, offer);
    }

    /// The same of the twin of a page, if there is room for it.
    pub(crate) fn offer_twin(
        &self,
        me: NodeId,
        page: PageId,
        twin: &PageBytes,
        places: &mut Places,
    ) {
        let place = places.of(page);
        match place.and_then(|place| Some((place, self.place(me, place)?))) {
            Some((number, bytes)) => {
                copy_in(bytes, twin);
                self.say(me, page.into(), number, Offer::Twin);
            }
            None => self.say(me, page.into(), 0, Offer::Closed),
        }
    }

    fn say(&self, me: NodeId, pages: PageRange, number: u32, offer: Offer) {
        let Some(view) = self.view(me) else { return };
        let told = view.told.load(Ordering::Relaxed) + 1;
        view.told.store(told, Ordering::Relaxed);
        let word = word(told, number, offer);
        for page in pages.iter() {
            if let Some(place) = view.words.get(page.0 as usize) {
                // After what was done with the page before.
                place.store(word, Ordering::Release);
            }
        }
        // And before what is done next.
        fence(Ordering::SeqCst);
    }

    /// Where a twin of a node lies.
    fn place(&self, node: NodeId, number: u32) -> Option<&[AtomicU8]> {
        let number = (number < TWINS).then_some(number as usize)?;
        let start = (usize::from(node.0) * TWINS as usize + number) * PAGE_BYTES;
        self.shared.bytes().get(start..start + PAGE_BYTES)
    }

    /// Copies a twin that a node has offered.
    pub(crate) fn twin(&self, node: NodeId, said: Said, copy: &mut PageBytes) -> Option<()> {
        copy_out(self.place(node, said.number())?, copy);
        Some(())
    }

    /// The node of the caller shows what it knows. To be called after its pages, and what
    /// was said of them, are as that says.
    pub(crate) fn show(&self, me: NodeId, seen: &Seen) {
        let Some(view) = self.view(me) else { return };
        let last = view.last.load(Ordering::Relaxed);
        let same = |(at, node)| {
            let shown: &AtomicU64 = at;
            shown.load(Ordering::Relaxed) == u64::from(seen.of(node).0)
        };
        let nodes = || (0..self.nodes).map(NodeId);
        if self.vector(&view, last).iter().zip(nodes()).all(same) {
            return;
        }
        for (place, node) in self.vector(&view, last + 1).iter().zip(nodes()) {
            place.store(seen.of(node).0.into(), Ordering::Relaxed);
        }
        view.last.store(last + 1, Ordering::Release);
    }

    fn vector<'a>(&self, view: &View<'a>, number: u64) -> &'a [AtomicU64] {
        let nodes = usize::from(self.nodes);
        let start = (number % VECTORS) as usize * nodes;
        view.vectors.get(start..start + nodes).unwrap_or_default()
    }

    /// What a node knew when it showed its last vector.
    pub(crate) fn shown(&self, node: NodeId) -> Option<Vec<Version>> {
        let view = self.view(node)?;
        let last = view.last.load(Ordering::Acquire);
        self.versions(&view, last)
    }

    /// What it knew when it said something of a page.
    pub(crate) fn shown_then(&self, node: NodeId, said: Said) -> Option<Vec<Version>> {
        let view = self.view(node)?;
        let last = view.last.load(Ordering::Acquire);
        let before = (last as u32).wrapping_sub(said.number());
        self.versions(&view, last.checked_sub(before.into())?)
    }

    /// A vector, if it has not been replaced by another one.
    fn versions(&self, view: &View, number: u64) -> Option<Vec<Version>> {
        let interval = |word: &AtomicU64| u32::try_from(word.load(Ordering::Relaxed)).ok();
        let intervals = self.vector(view, number).iter().zip(0..);
        let versions: Option<Vec<_>> = intervals
            .map(|(word, node)| Some((NodeId(node), Interval(interval(word)?))))
            .collect();
        fence(Ordering::Acquire);
        // The one that would be written next may be half written.
        let last = view.last.load(Ordering::Relaxed);
        versions.filter(|_| last + 1 - number < VECTORS)
    }

    /// What a node says of a page. To be asked again after what depends on it.
    pub(crate) fn said(&self, node: NodeId, page: PageId) -> Option<Said> {
        let word = self.view(node)?.words.get(page.0 as usize)?;
        Some(Said(word.load(Ordering::Acquire)))
    }
}

/// Where a node's twins lie that it offers.
#[derive(Debug, Default)]
pub(crate) struct Places {
    used: HashMap<PageId, u32>,
    free: Vec<u32>,
    /// Those that were never used.
    next: u32,
}

impl Places {
    /// The place of a page's twin, if there is one or room for one.
    fn of(&mut self, page: PageId) -> Option<u32> {
        if let Some(place) = self.used.get(&page) {
            return Some(*place);
        }
        let place = self.free.pop().or_else(|| {
            self.next += 1;
            Some(self.next - 1).filter(|place| *place < TWINS)
        });
        self.next = self.next.min(TWINS);
        self.used.insert(page, place?);
        place
    }

    /// Twins of pages are not offered any more.
    pub(crate) fn free(&mut self, pages: PageRange) {
        if !self.used.is_empty() {
            let places = pages.iter().filter_map(|page| self.used.remove(&page));
            self.free.extend(places);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(intervals: [u32; 2]) -> Seen {
        let mut seen = Seen::nothing(2);
        for (node, interval) in (0..).zip(intervals) {
            seen.learn(NodeId(node), Interval(interval));
        }
        seen
    }

    fn versions(intervals: [u32; 2]) -> Option<Vec<Version>> {
        Some((0..).map(NodeId).zip(intervals.map(Interval)).collect())
    }

    #[test]
    fn an_old_page_is_what_was_known_before() {
        let (copies, me) = (Copies::new(2, 100).unwrap(), NodeId(1));
        let pages = PageRange::new(PageId(7), 2).unwrap();
        assert_eq!(copies.said(me, PageId(7)).unwrap().offer(), None);
        assert_eq!(copies.shown(me), versions([0, 0]));
        copies.show(me, &seen([3, 1]));
        copies.show(me, &seen([3, 1]));
        copies.offer(me, pages, Offer::Old);
        copies.show(me, &seen([4, 1]));
        let said = copies.said(me, PageId(8)).unwrap();
        assert_eq!(said.offer(), Some(Offer::Old));
        assert_eq!(copies.shown_then(me, said), versions([3, 1]));
        assert_eq!(copies.shown(me), versions([4, 1]));
        // As long as it can be looked up.
        for interval in 5..5 + VECTORS as u32 - 3 {
            copies.show(me, &seen([interval, 1]));
        }
        assert_eq!(copies.shown_then(me, said), versions([3, 1]));
        copies.show(me, &seen([u32::MAX, 1]));
        assert_eq!(copies.shown_then(me, said), None);
        assert_eq!(copies.said(NodeId(0), PageId(8)).unwrap().offer(), None);
    }

    #[test]
    fn what_is_said_again_is_another_word() {
        let (copies, me) = (Copies::new(2, 100).unwrap(), NodeId(0));
        let page = PageId(99);
        let mut words: Vec<_> = [Offer::Open, Offer::Closed, Offer::Open, Offer::Lent]
            .map(|offer| {
                copies.offer(me, page.into(), offer);
                let said = copies.said(me, page).unwrap();
                assert_eq!(said.offer(), Some(offer));
                said.0
            })
            .to_vec();
        words.dedup();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), 4);
        assert_eq!(copies.said(me, PageId(100)), None);
        assert_eq!(copies.said(NodeId(2), page), None);
    }
}
