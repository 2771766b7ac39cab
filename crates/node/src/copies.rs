//! What each node shows of its pages to others who take them by themselves, where what is
//! part of a page differs from page to page (the homeless protocol).
//!
//! A word for each page says whether it may be taken. Whoever takes one looks at the word
//! before and afterwards: each time that it changes it becomes another one, so a page
//! that was replaced meanwhile is not taken for what it was. What a node knows is shown
//! as a row of vectors of intervals. A page names the one that was shown when its content was
//! complete: no more is part of it. And if it became [old](Offer::Old), the one that was the
//! last then: as much is.

use fathomp_base::{NodeId, PAGE_BYTES, PageId};
use fathomp_dsm::order::Version;
use fathomp_dsm::{Interval, Offer, PageBytes, PageRange, Seen, Wanted};
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
/// In place of an offer: it was lent, and somebody has taken it to keep.
const CLAIMED: u64 = 5;

fn word(told: u64, number: u32, offer: Offer) -> u64 {
    let offer = match offer {
        // Others are not of pages that have no home.
        Offer::Closed | Offer::Reserved | Offer::Twinned | Offer::Updated => 0,
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
        let offer = offers.get((self.0 & OFFER) as usize);
        (self.0 != 0).then_some(offer.copied().unwrap_or_default())
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
    /// Numbers of the vectors that were shown when pages were complete, or are shown next.
    made: &'a [AtomicU64],
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
        2 + VECTORS as usize * usize::from(nodes) + 2 * pages as usize
    }

    fn view(&self, node: NodeId) -> Option<View<'_>> {
        let words = Self::words(self.nodes, self.pages);
        let start = usize::from(node.0) * words;
        let words = self.shared.words().get(start..start + words)?;
        let ([told, last], rest) = words.split_first_chunk()?;
        let (vectors, rest) = rest.split_at_checked(VECTORS as usize * usize::from(self.nodes))?;
        let (words, made) = rest.split_at_checked(self.pages as usize)?;
        Some(View {
            told,
            last,
            vectors,
            words,
            made,
        })
    }

    /// The node of the caller, where one thread at a time does so and which knows so much, says
    /// which pages may be taken. What it does with them next nobody sees who takes them for
    /// what they were.
    pub(crate) fn offer(&self, me: NodeId, seen: &Seen, pages: PageRange, offer: Offer) {
        let number = self.view(me).map(|view| view.last.load(Ordering::Relaxed));
        // Its lower half.
        self.say(me, seen, pages, number.unwrap_or_default() as u32, offer);
    }

    /// The same of the twin of a page, if there is room for it.
    pub(crate) fn offer_twin(
        &self,
        me: NodeId,
        seen: &Seen,
        page: PageId,
        twin: &PageBytes,
        places: &mut Places,
    ) {
        let place = places.of(page);
        match place.and_then(|place| Some((place, self.place(me, place)?))) {
            Some((number, bytes)) => {
                copy_in(bytes, twin);
                self.say(me, seen, page.into(), number, Offer::Twin);
            }
            None => self.say(me, seen, page.into(), 0, Offer::Closed),
        }
    }

    fn say(&self, me: NodeId, seen: &Seen, pages: PageRange, number: u32, offer: Offer) {
        let Some(view) = self.view(me) else { return };
        let told = view.told.load(Ordering::Relaxed) + 1;
        view.told.store(told, Ordering::Relaxed);
        let word = word(told, number, offer);
        let last = view.last.load(Ordering::Relaxed);
        let is_complete = matches!(offer, Offer::Open | Offer::Lent | Offer::Twin);
        let made = is_complete.then(|| last + u64::from(!self.is_shown(&view, last, seen)));
        for page in pages.iter() {
            let places = (
                view.words.get(page.0 as usize),
                view.made.get(page.0 as usize),
            );
            if let (Some(place), Some(made_at)) = places {
                if let Some(made) = made {
                    made_at.store(made, Ordering::Relaxed);
                }
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
        if self.is_shown(&view, last, seen) {
            return;
        }
        for (place, node) in self.vector(&view, last + 1).iter().zip((0..).map(NodeId)) {
            place.store(seen.of(node).0.into(), Ordering::Relaxed);
        }
        view.last.store(last + 1, Ordering::Release);
    }

    /// Whether a vector says just that.
    fn is_shown(&self, view: &View, number: u64, seen: &Seen) -> bool {
        let mut shown = self.vector(view, number).iter().zip((0..).map(NodeId));
        shown.all(|(at, node)| at.load(Ordering::Relaxed) == u64::from(seen.of(node).0))
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

    /// Whether no more is part of a page than whoever wants it may take. To be asked between
    /// two looks at what is said of it.
    pub(crate) fn admits(&self, node: NodeId, page: PageId, wanted: &Wanted) -> bool {
        let made = self.view(node).and_then(|view| {
            let made = view.made.get(page.0 as usize)?.load(Ordering::Relaxed);
            let last = view.last.load(Ordering::Acquire);
            // In place of one that was replaced a later one does.
            let number = made.max((last + 2).saturating_sub(VECTORS));
            (number <= last).then(|| self.versions(&view, number))?
        });
        made.is_some_and(|made| wanted.admits(&made))
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

    /// Takes a page to keep that is lent: until its node says something new of it, nobody else
    /// can. What others see of it had to be told before somebody is asked to put in what that
    /// node has written since. Returns what is said of it from then on.
    pub(crate) fn claim(&self, node: NodeId, page: PageId, said: Said) -> Option<Said> {
        let word = self.view(node)?.words.get(page.0 as usize)?;
        let claimed = said.0 & !OFFER | CLAIMED;
        let order = Ordering::SeqCst;
        let claims = word.compare_exchange(said.0, claimed, order, order);
        claims.is_ok().then_some(Said(claimed))
    }

    /// Gives back a page that was claimed and is not kept, unless its node has said something
    /// new of it.
    pub(crate) fn unclaim(&self, node: NodeId, page: PageId, claimed: Said, said: Said) {
        let words = self.view(node).map(|view| view.words);
        if let Some(word) = words.and_then(|words| words.get(page.0 as usize)) {
            let order = Ordering::SeqCst;
            // A new one stays.
            let _ = word.compare_exchange(claimed.0, said.0, order, order);
        }
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
        copies.offer(me, &seen([3, 1]), pages, Offer::Old);
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
    fn who_knows_less_than_is_part_of_a_page_cannot_have_it() {
        let (copies, me, page) = (Copies::new(2, 100).unwrap(), NodeId(1), PageId(7));
        let may = |intervals| {
            let most = seen(intervals);
            let wanted = Wanted {
                epoch: 0,
                pages: page.into(),
                need: &[],
                most: Some(&most),
                borrows: false,
                keeps: false,
                unless_said: Offer::Lent,
            };
            copies.admits(me, page, &wanted)
        };
        assert!(may([0, 0]));
        copies.show(me, &seen([3, 1]));
        copies.offer(me, &seen([3, 1]), page.into(), Offer::Open);
        assert!(may([3, 1]) && may([3, 2]) && !may([3, 0]) && !may([2, 9]));
        // What was learned in the same step is shown next.
        copies.offer(me, &seen([3, 2]), page.into(), Offer::Open);
        assert!(!may([9, 9]));
        copies.show(me, &seen([3, 2]));
        assert!(may([3, 2]) && !may([3, 1]));
        // What is learned later is not part of it.
        copies.show(me, &seen([7, 2]));
        copies.offer(me, &seen([7, 2]), page.into(), Offer::Old);
        assert!(may([3, 2]));
        // What it was cannot be looked up for ever.
        for interval in 8..8 + VECTORS as u32 {
            copies.show(me, &seen([interval, 2]));
        }
        assert!(!may([3, 2]) && may([8 + VECTORS as u32, 2]));
    }

    #[test]
    fn one_node_at_a_time_takes_a_page_to_keep() {
        let (copies, me, page) = (Copies::new(2, 100).unwrap(), NodeId(0), PageId(9));
        let unsaid = copies.said(me, page).unwrap();
        let claimed = copies.claim(me, page, unsaid).unwrap();
        assert_eq!(claimed.offer(), Some(Offer::Closed));
        assert_eq!(copies.said(me, page), Some(claimed));
        assert_eq!(copies.claim(me, page, unsaid), None);
        copies.offer(me, &seen([0, 0]), page.into(), Offer::Lent);
        let lent = copies.said(me, page).unwrap();
        assert_eq!(lent.offer(), Some(Offer::Lent));
        assert!(copies.claim(me, page, lent).is_some());
        assert_eq!(copies.claim(me, page, lent), None);
    }

    #[test]
    fn a_page_that_was_not_kept_can_be_taken_again() {
        let (copies, me, page) = (Copies::new(2, 100).unwrap(), NodeId(0), PageId(9));
        let unsaid = copies.said(me, page).unwrap();
        let claimed = copies.claim(me, page, unsaid).unwrap();
        copies.unclaim(me, page, claimed, unsaid);
        assert_eq!(copies.said(me, page), Some(unsaid));
        let claimed = copies.claim(me, page, unsaid).unwrap();
        // What its node says meanwhile counts.
        copies.offer(me, &seen([0, 0]), page.into(), Offer::Open);
        copies.unclaim(me, page, claimed, unsaid);
        assert_eq!(copies.said(me, page).unwrap().offer(), Some(Offer::Open));
    }

    #[test]
    fn what_is_said_again_is_another_word() {
        let (copies, me) = (Copies::new(2, 100).unwrap(), NodeId(0));
        let page = PageId(99);
        let mut words: Vec<_> = [Offer::Open, Offer::Closed, Offer::Open, Offer::Lent]
            .map(|offer| {
                copies.offer(me, &seen([0, 0]), page.into(), offer);
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
