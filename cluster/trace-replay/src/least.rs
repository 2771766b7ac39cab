//! The least that has to cross between nodes, whatever the protocol: what other nodes changed in
//! pages that a node goes on to read, each change once.
//!
//! A thread that reads a page needs the changes that happened before: those that barriers, locks
//! and flushes have ordered before its read (happens-before, [`Known`]). A change that is made at
//! the same time as the read, such as one of other bytes of the page, need not come yet. What the
//! threads of a node have read once need not come to it again.
//!
//! The size of each change is known, but not which bytes it is of: two changes may be of the same bytes,
//! so only the largest counts. A page that a node only writes needs no content from others. A thread
//! may read other bytes of a page than those that were changed; with smaller pages, as where lines were
//! recorded, the bound is closer.

use fathomp_protocols::{LockId, PageRange};
use fathomp_types::{NodeId, PageId};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

/// The bytes of a page that a thread changed in one interval.
#[derive(Clone, Copy, Debug)]
struct Change {
    /// Changes are numbered as they are made.
    number: u64,
    thread: usize,
    node: NodeId,
    bytes: u32,
}

/// Changes that happened before a point of a thread: a vector clock of threads. Unlike
/// [`fathomp_protocols::VectorClock`] it has no entries for what a barrier ordered, so that a
/// barrier of thousands of threads costs each of them nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// All up to this number, by whatever thread: those before the last barrier.
    all: u64,
    /// Further ones, by thread: all of that thread up to a number.
    of: BTreeMap<usize, u64>,
}

impl Known {
    /// Whether a thread's change of this number is among them.
    fn has(&self, thread: usize, number: u64) -> bool {
        number <= self.all || self.of.get(&thread).is_some_and(|last| number <= *last)
    }

    fn has_all_of(&self, other: &Self) -> bool {
        let mut further = other.of.iter();
        self.all >= other.all && further.all(|(thread, number)| self.has(*thread, *number))
    }

    fn learn(&mut self, other: &Self) {
        self.all = self.all.max(other.all);
        for (thread, number) in &other.of {
            let known = self.of.entry(*thread).or_default();
            *known = (*known).max(*number);
        }
        let all = self.all;
        self.of.retain(|_, number| *number > all);
    }
}

/// A thread that changes pages and reads them.
#[derive(Clone, Debug)]
struct Reader {
    node: NodeId,
    known: Rc<Known>,
}

/// Changes of pages, which of them each thread knows of, and which each node has read.
#[derive(Debug)]
pub(crate) struct Least {
    page_bytes: u32,
    /// Changes so far.
    changes: u64,
    /// The changes of a page that are larger than any later one of the same thread, oldest first.
    pages: HashMap<PageId, Vec<Change>>,
    /// By thread.
    readers: Vec<Reader>,
    /// By node: what was known when it read a page.
    read: Vec<HashMap<PageId, Rc<Known>>>,
    /// By lock: what happened before it was released.
    locks: HashMap<LockId, Known>,
    /// What happened before flushes that are done.
    flushed: Known,
    /// What happened before the last barrier to which all have come.
    met: Rc<Known>,
}

impl Least {
    /// Threads of these nodes, in order of their numbers.
    pub(crate) fn new(nodes: impl Iterator<Item = NodeId>, page_bytes: u32) -> Self {
        let known = Rc::new(Known::default());
        let readers: Vec<_> = nodes
            .map(|node| Reader {
                node,
                known: Rc::clone(&known),
            })
            .collect();
        let nodes = readers.iter().map(|reader| usize::from(reader.node.0) + 1);
        Self {
            page_bytes,
            changes: 0,
            pages: HashMap::new(),
            read: vec![HashMap::new(); nodes.max().unwrap_or(0)],
            readers,
            locks: HashMap::new(),
            flushed: Known::default(),
            met: known,
        }
    }

    /// A thread begins an interval in which it reads these pages. The bytes that have to come to
    /// its node for that.
    pub(crate) fn reads(&mut self, thread: usize, pages: PageRange) -> u64 {
        let Reader { node, known } = &self.readers[thread];
        let read = &mut self.read[usize::from(node.0)];
        let mut bytes = 0;
        for page in pages.iter() {
            let Some(changes) = self.pages.get(&page) else {
                continue;
            };
            let before = read.entry(page).or_default();
            let is_news = |change: &&Change| {
                let (thread, number) = (change.thread, change.number);
                change.node != *node && known.has(thread, number) && !before.has(thread, number)
            };
            let news = changes.iter().filter(is_news).map(|change| change.bytes);
            bytes += u64::from(news.max().unwrap_or(0).min(self.page_bytes));
            if known.has_all_of(before) {
                *before = Rc::clone(known);
            } else {
                Rc::make_mut(before).learn(known);
            }
        }
        bytes
    }

    /// A thread ends an interval in which it changed so many bytes of each of these pages.
    pub(crate) fn wrote(&mut self, thread: usize, pages: PageRange, bytes: u32) {
        let reader = &mut self.readers[thread];
        for page in pages.iter() {
            self.changes += 1;
            let changes = self.pages.entry(page).or_default();
            changes.retain(|change| change.thread != thread || change.bytes > bytes);
            changes.push(Change {
                number: self.changes,
                thread,
                node: reader.node,
                bytes,
            });
        }
        Rc::make_mut(&mut reader.known)
            .of
            .insert(thread, self.changes);
    }

    /// A thread gives a lock back.
    pub(crate) fn releases(&mut self, thread: usize, lock: LockId) {
        let known = &self.readers[thread].known;
        self.locks.entry(lock).or_default().learn(known);
    }

    /// A thread has got a lock.
    pub(crate) fn acquired(&mut self, thread: usize, lock: LockId) {
        if let Some(known) = self.locks.get(&lock) {
            Rc::make_mut(&mut self.readers[thread].known).learn(known);
        }
    }

    /// A thread begins with a flush.
    pub(crate) fn flushes(&mut self, thread: usize) {
        Rc::make_mut(&mut self.readers[thread].known).learn(&self.flushed);
    }

    /// Its flush is done.
    pub(crate) fn flushed(&mut self, thread: usize) {
        self.flushed.learn(&self.readers[thread].known);
    }

    /// All threads have come to a barrier.
    pub(crate) fn all_have_come(&mut self) {
        self.met = Rc::new(Known {
            all: self.changes,
            of: BTreeMap::new(),
        });
    }

    /// A thread leaves that barrier.
    pub(crate) fn leaves(&mut self, thread: usize) {
        self.readers[thread].known = Rc::clone(&self.met);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE_BYTES: u32 = 4096;

    fn pages(first: u32, pages: u32) -> PageRange {
        PageRange::new(PageId(first), pages).unwrap()
    }

    fn page(number: u32) -> PageRange {
        pages(number, 1)
    }

    /// A thread each at so many nodes.
    fn threads(nodes: u16) -> Least {
        Least::new((0..nodes).map(NodeId), PAGE_BYTES)
    }

    fn barrier(least: &mut Least) {
        least.all_have_come();
        (0..least.readers.len()).for_each(|thread| least.leaves(thread));
    }

    #[test]
    fn a_change_comes_to_each_other_node_that_reads_and_once() {
        let mut least = threads(3);
        let [a, b, c] = [0, 1, 2];
        assert_eq!(least.reads(b, page(0)), 0);
        least.wrote(a, pages(0, 4), 100);
        barrier(&mut least);
        assert_eq!(least.reads(a, pages(0, 4)), 0);
        assert_eq!(least.reads(b, pages(2, 4)), 200);
        assert_eq!(least.reads(b, pages(0, 4)), 200);
        assert_eq!(least.reads(b, pages(0, 4)), 0);
        assert_eq!(least.reads(c, page(1)), 100);
        least.wrote(c, page(1), 8);
        barrier(&mut least);
        assert_eq!(least.reads(b, page(1)), 8);
        assert_eq!(least.reads(a, page(1)), 8);
    }

    #[test]
    fn a_change_that_is_not_ordered_before_a_read_comes_behind_the_next_barrier() {
        let mut least = threads(2);
        let [a, b] = [0, 1];
        least.wrote(a, page(0), 100);
        assert_eq!(least.reads(b, page(0)), 0);
        barrier(&mut least);
        assert_eq!(least.reads(b, page(0)), 100);
        assert_eq!(least.reads(b, page(0)), 0);
    }

    #[test]
    fn a_lock_hands_on_what_its_holders_knew() {
        let mut least = threads(4);
        let [a, b, c, d] = [0, 1, 2, 3];
        let [first, second] = [LockId(7), LockId(8)];
        least.wrote(a, page(0), 100);
        least.releases(a, first);
        // Behind the release.
        least.wrote(a, page(1), 100);
        least.acquired(b, first);
        assert_eq!(least.reads(b, pages(0, 2)), 100);
        least.wrote(b, page(2), 40);
        least.releases(b, second);
        least.acquired(c, second);
        assert_eq!(least.reads(c, pages(0, 3)), 140);
        least.acquired(d, first);
        assert_eq!(least.reads(d, pages(0, 3)), 100);
        barrier(&mut least);
        assert_eq!(least.reads(d, pages(0, 3)), 140);
        assert_eq!(least.reads(c, pages(0, 3)), 100);
    }

    #[test]
    fn a_flush_shows_what_flushes_before_it_published() {
        let mut least = threads(2);
        let [a, b] = [0, 1];
        least.wrote(a, page(0), 100);
        least.flushes(a);
        least.flushes(b);
        assert_eq!(least.reads(b, page(0)), 0);
        least.flushed(a);
        least.flushes(b);
        assert_eq!(least.reads(b, page(0)), 100);
    }

    /// Though another of them knows of more.
    #[test]
    fn threads_of_a_node_share_what_they_have_read() {
        let mut least = Least::new([0, 1, 1].map(NodeId).into_iter(), PAGE_BYTES);
        let [a, b, other_b] = [0, 1, 2];
        let lock = LockId(7);
        least.wrote(a, page(0), 100);
        barrier(&mut least);
        least.wrote(a, page(0), 40);
        least.releases(a, lock);
        least.acquired(b, lock);
        assert_eq!(least.reads(b, page(0)), 100);
        assert_eq!(least.reads(other_b, page(0)), 0);
        assert_eq!(least.reads(b, page(0)), 0);
        least.wrote(other_b, page(0), 60);
        barrier(&mut least);
        assert_eq!(least.reads(b, page(0)), 0);
    }

    #[test]
    fn of_several_changes_the_largest_counts_since_they_may_be_of_the_same_bytes() {
        let mut least = threads(2);
        let [a, b] = [0, 1];
        for bytes in [8, 300, 20] {
            least.wrote(a, page(0), bytes);
        }
        assert_eq!(least.pages[&PageId(0)].len(), 2);
        barrier(&mut least);
        assert_eq!(least.reads(b, page(0)), 300);
        least.wrote(a, page(0), 20);
        barrier(&mut least);
        assert_eq!(least.reads(b, page(0)), 20);
    }

    #[test]
    fn no_more_than_a_page_comes() {
        let mut least = threads(2);
        least.wrote(0, page(0), PAGE_BYTES + 40);
        barrier(&mut least);
        assert_eq!(least.reads(1, page(0)), u64::from(PAGE_BYTES));
    }

    #[test]
    fn a_page_that_is_only_written_needs_no_content() {
        let mut least = threads(2);
        let [a, b] = [0, 1];
        least.wrote(a, page(0), 64);
        least.wrote(b, page(0), 64);
        barrier(&mut least);
        assert_eq!(least.reads(a, page(0)), 64);
    }
}
