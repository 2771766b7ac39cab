//! A node's side of what all share: what it shows, and what others have done.

use crate::memory::Memory;
use crate::primitive::{Ordering, fence};
use crate::view::{self, NO_EPOCH, View, pages_of};
use fathomp_protocols::order::Version;
use fathomp_protocols::{
    Committed, Holder, LockId, Notice, Offer, PageRange, PageSet, Seen, Sequenced,
};
use fathomp_types::{NodeId, PageId};
use std::sync::Arc;

/// What a node does in the memory that all nodes of a cluster share. Copies are the same
/// node's.
///
/// One thread of the node at a time uses it, but for [`take_kept`](Self::take_kept),
/// [`keep`](Self::keep), [`begin_update`](Self::begin_update) and
/// [`end_update`](Self::end_update), which all may.
#[derive(Clone, Debug)]
pub struct Window {
    pub(crate) memory: Arc<Memory>,
    pub(crate) me: NodeId,
}

impl Window {
    /// The window of a node. If there is no such node, it shows nothing, and nothing can be
    /// done with it but by message.
    #[must_use]
    pub fn new(memory: Arc<Memory>, me: NodeId) -> Self {
        Self { memory, me }
    }

    pub(crate) fn mine(&self) -> Option<View<'_>> {
        self.memory.view(self.me)
    }

    /// Lets others take pages, or forbids it. When it returns, nobody brings diffs of one of
    /// them or updates it that may not; `goes_on` is asked while somebody does, and if it
    /// says no this is not sure.
    ///
    /// A page of which others have been forbidden to take copies may still be being copied;
    /// what is written into it after [`end_epoch`](Self::end_epoch) is not kept by them.
    pub fn offer(&self, pages: PageRange, offer: Offer, goes_on: impl Fn() -> bool) {
        let Some(view) = self.mine() else { return };
        if view.offers.reserve_before(pages, offer) {
            view.await_writers(goes_on);
        }
        view.offers.set(pages, offer);
    }

    /// Hides what this node's pages contain if that is not of this epoch. To be called before
    /// what is of another epoch is written into them.
    pub fn end_epoch(&self, next: u32) {
        let Some(view) = self.mine() else { return };
        if ![next.into(), NO_EPOCH].contains(&view.epoch.load(Ordering::Relaxed)) {
            view.epoch.store(NO_EPOCH, Ordering::Relaxed);
            // Those who copy something that is written after this see that then.
            fence(Ordering::Release);
        }
    }

    /// Shows what this node's pages contain. To be called after they do.
    pub fn show(&self, committed: Committed) {
        let Some(view) = self.mine() else { return };
        self.end_epoch(committed.epoch);
        view::show_all(view.received, committed.received);
        if view.epoch.load(Ordering::Relaxed) == NO_EPOCH {
            view.epoch.store(committed.epoch.into(), Ordering::Release);
        }
    }

    /// Lets others bring diffs, or forbids it; true if that is new. When it returns, nobody
    /// does that may not; `goes_on` is asked while somebody does, and if it says no this is
    /// not sure.
    pub fn admit(&self, committed: Committed, goes_on: impl Fn() -> bool) -> bool {
        let Some(view) = self.mine() else {
            return false;
        };
        let admits = view::admission(committed.epoch, committed.admits);
        if view.admits.load(Ordering::Relaxed) == admits {
            return false;
        }
        view.admits.store(admits, Ordering::Release);
        view.await_writers(goes_on);
        true
    }

    /// Shows what the sequencer knows, at its node.
    pub fn show_sequenced(&self, sequenced: Sequenced) {
        if let Some(view) = self.mine() {
            view::show_all(view.contained, sequenced.contains);
            view.logs.store((!sequenced.asks).into(), Ordering::Relaxed);
        }
    }

    /// This node has passed so many barriers of the program. To be told before any of its
    /// threads goes on.
    pub fn pass_barrier(&self, passed: u32) {
        if let Some(view) = self.mine() {
            view.passed.store(passed.into(), Ordering::Relaxed);
        }
    }

    pub(crate) fn passed(&self) -> u32 {
        let passed = self.mine().map(|view| view.passed.load(Ordering::Relaxed));
        passed
            .and_then(|passed| u32::try_from(passed).ok())
            .unwrap_or_default()
    }

    /// What others have taken since this was asked last. Notes that are being written
    /// come the next time, or never.
    #[must_use]
    pub fn taken(&self) -> PageSet {
        let Some(view) = self.mine() else {
            return PageSet::default();
        };
        if view.noted.load(Ordering::Relaxed) == 0 {
            return PageSet::default();
        }
        let notes = usize::try_from(view.noted.swap(0, Ordering::Relaxed));
        let notes = notes.unwrap_or(usize::MAX).min(view.notes.len());
        let notes = view.notes[..notes].iter();
        let noted = notes.filter_map(|note| pages_of(note.swap(0, Ordering::Relaxed)));
        let end = self.memory.pages();
        let pages = noted.flat_map(|range| range.iter().take_while(|page| page.0 < end));
        let mut pages: Vec<PageId> = pages.collect();
        pages.sort_unstable();
        pages.dedup();
        PageSet::from_sorted(&pages)
    }

    /// The last intervals of others whose diffs they have begun to bring, as far as they are
    /// news. Includes all of which this node's threads have seen something before.
    #[must_use]
    pub fn begun(&self, known: &Seen) -> Vec<Version> {
        fence(Ordering::Acquire);
        self.mine()
            .map_or_else(Vec::new, |view| view::news(view.begun, known))
    }

    /// The last intervals of others whose diffs are here, as far as they are news.
    #[must_use]
    pub fn brought(&self, known: &Seen) -> Vec<Version> {
        self.mine()
            .map_or_else(Vec::new, |view| view::news(view.received, known))
    }

    /// Takes a lock that this node keeps.
    #[must_use]
    pub fn take_kept(&self, lock: LockId) -> bool {
        self.memory.locks().take_kept(lock, self.me)
    }

    /// Keeps a lock that this node has, if that makes sense, see [`Holder`]. By a thread that
    /// takes part in barriers.
    #[must_use]
    pub fn keep(&self, lock: LockId) -> bool {
        self.memory.locks().keep(lock, self.me, self.passed())
    }

    /// The sequencer takes a lock over. Returns who has it.
    #[must_use]
    pub fn claim(&self, lock: LockId) -> Option<Holder> {
        self.memory.locks().claim(lock)
    }

    /// Everybody may take a lock again.
    pub fn unclaim(&self, lock: LockId) {
        self.memory.locks().unclaim(lock);
    }

    /// The sequencer enters an interval in the log of its epoch. If there is no room, the log
    /// is closed and messages tell.
    pub fn log(&self, epoch: u32, notice: &Notice) {
        if let Some(log) = self.memory.log(epoch) {
            log.enter(self.me, Some(notice));
        }
    }
}
