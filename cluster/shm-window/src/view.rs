//! What one node shows to the others, and where they leave what it has to know.

use crate::offers::Offers;
use crate::primitive::{AtomicU64, Ordering, add_and_fence, fence, yield_now};
use crate::sizes::Sizes;
use fathomp_protocols::order::Version;
use fathomp_protocols::{Admits, Interval, PageRange, Seen};
use fathomp_types::{NodeId, PageId};

/// In place of an epoch: its pages are of none that others know.
pub(crate) const NO_EPOCH: u64 = u64::MAX;

/// The words of a node.
pub(crate) struct View<'a> {
    /// What its pages are of, or [`NO_EPOCH`]; its own.
    pub(crate) epoch: &'a AtomicU64,
    /// How many notes were left since it looked last.
    pub(crate) noted: &'a AtomicU64,
    /// In which epoch others may bring diffs, and which, see [`admission`]; its own.
    pub(crate) admits: &'a AtomicU64,
    /// At the sequencer: whether there is a log; its own.
    pub(crate) logs: &'a AtomicU64,
    /// How many barriers of the program it has passed; its own. The protocol's epochs are
    /// others: it tidies up in some of their own.
    pub(crate) passed: &'a AtomicU64,
    /// Of each node, the last interval whose diffs have been applied.
    pub(crate) received: &'a [AtomicU64],
    /// At the sequencer: of each node, the last interval that it knows.
    pub(crate) contained: &'a [AtomicU64],
    /// How many threads of each node are bringing diffs, or updating a page.
    pub(crate) writing: &'a [AtomicU64],
    /// Of each node, the last interval whose diffs it has begun to bring.
    pub(crate) begun: &'a [AtomicU64],
    /// Pages that others have taken, see [`note`].
    pub(crate) notes: &'a [AtomicU64],
    pub(crate) offers: Offers<'a>,
}

impl<'a> View<'a> {
    const HEAD: usize = 5;

    pub(crate) fn words(nodes: u16, pages: u32, sizes: Sizes) -> usize {
        Self::HEAD + 4 * usize::from(nodes) + sizes.notes + Offers::words(pages)
    }

    pub(crate) fn over(words: &'a [AtomicU64], nodes: u16, sizes: Sizes) -> Option<Self> {
        let nodes = usize::from(nodes);
        let (head, rest) = words.split_first_chunk::<{ View::HEAD }>()?;
        let [epoch, noted, admits, logs, passed] = head;
        let (received, rest) = rest.split_at_checked(nodes)?;
        let (contained, rest) = rest.split_at_checked(nodes)?;
        let (writing, rest) = rest.split_at_checked(nodes)?;
        let (begun, rest) = rest.split_at_checked(nodes)?;
        let (notes, offers) = rest.split_at_checked(sizes.notes)?;
        Some(Self {
            epoch,
            noted,
            admits,
            logs,
            passed,
            received,
            contained,
            writing,
            begun,
            notes,
            offers: Offers(offers),
        })
    }

    /// Whether it shows what its pages contain in that epoch.
    pub(crate) fn shows(&self, epoch: u32) -> bool {
        self.epoch.load(Ordering::Acquire) == u64::from(epoch)
    }

    /// Whether the diffs of these intervals have been applied.
    pub(crate) fn has_received(&self, need: &[Version]) -> bool {
        need.iter().all(|(writer, last)| {
            let received = self.received.get(usize::from(writer.0));
            received.is_some_and(|received| interval(received) >= *last)
        })
    }

    /// Waits until everybody has stopped bringing diffs and updating pages who has not seen
    /// what was written here before; `goes_on` is asked meanwhile.
    pub(crate) fn await_writers(&self, goes_on: impl Fn() -> bool) {
        // Either who begins sees what was written before this, or is seen here: there is
        // such a fence at the other side, see `begin_writing`.
        fence(Ordering::SeqCst);
        for writing in self.writing {
            while writing.load(Ordering::Acquire) != 0 && goes_on() {
                yield_now();
            }
        }
    }
}

/// A thread begins to write into another node's pages, if that may be, which it looks at
/// afterwards.
pub(crate) fn begin_writing(writing: &AtomicU64) {
    add_and_fence(writing, 1);
}

/// It has ended: what it wrote is there.
pub(crate) fn end_writing(writing: &AtomicU64) {
    writing.fetch_sub(1, Ordering::Release);
}

/// A word that says in which epoch which diffs may be brought; at first none.
pub(crate) fn admission(epoch: u32, admits: Admits) -> u64 {
    let which = match admits {
        Admits::Nothing => return 0,
        Admits::Parts => 1,
        Admits::All => 2,
    };
    u64::from(epoch) << 2 | which
}

pub(crate) fn interval(word: &AtomicU64) -> Interval {
    let last = u32::try_from(word.load(Ordering::Acquire));
    Interval(last.unwrap_or_default())
}

/// Shows the last interval of each node. Others may be ahead of the node that shows it.
pub(crate) fn show_all(words: &[AtomicU64], seen: &Seen) {
    for (node, last) in seen.iter() {
        if let Some(word) = words.get(usize::from(node.0))
            && word.load(Ordering::Relaxed) < last.0.into()
        {
            word.fetch_max(last.0.into(), Ordering::Release);
        }
    }
}

/// The last interval of each node that is not known.
pub(crate) fn news(words: &[AtomicU64], known: &Seen) -> Vec<Version> {
    let last = (0..).map(NodeId).zip(words.iter().map(interval));
    last.filter(|(node, last)| !known.covers(*node, *last))
        .collect()
}

/// A note: a range of pages, never 0.
pub(crate) fn note(pages: PageRange) -> u64 {
    u64::from(pages.len()) << 32 | u64::from(pages.first().0)
}

pub(crate) fn pages_of(note: u64) -> Option<PageRange> {
    let [first, pages] = [note & u64::from(u32::MAX), note >> 32].map(u32::try_from);
    PageRange::new(PageId(first.ok()?), pages.ok()?)
}
