//! What nodes do by themselves in memory that they share, in place of messages.

use crate::order::Version;
use crate::{Content, Input, Interval, LockId, Notice, Offer, PageRange, PageSet, Seen};
use fathomp_base::{NodeId, PageId, ThreadId};

/// What a message asks its receiver for. Where a node can read another one's memory
/// (remote direct memory access, or one machine), it may take those of the pages by
/// itself that are [open](Offer::Open) there, if the receiver has
/// [committed](Committed) what is needed; it goes on as if they had been sent to it, and
/// the others are [left](Input::Left). If it takes none, the message is sent.
///
/// If it borrows, it may also take pages that are [lent](Offer::Lent) there, and is told
/// so ([`Input::Borrowed`]).
///
/// What comes with a page that is taken are the intervals that are surely part of it: all of
/// the receiver's own, and those of others that it had shown before the page was looked at
/// or, of an [old](Offer::Old) page, before it was one. A page to keep one node at a time
/// takes, until the receiver has been told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted<'a> {
    /// The asker's epoch, which has to be the receiver's as well.
    pub epoch: u32,
    /// The pages.
    pub pages: PageRange,
    /// Intervals whose diffs must be part of them.
    pub need: &'a [(NodeId, Interval)],
    /// If not all is wanted that may be part of them: the intervals that may be. What a
    /// thread writes after what it has seen is ordered after that only if its node knows of it.
    pub most: Option<&'a Seen>,
    /// Whether the asker borrows.
    pub borrows: bool,
    /// Whether it takes [lent](Offer::Lent) pages to keep otherwise. Then it leaves there
    /// what it has taken ([`Input::Kept`]): so that, unless what it took is of before what
    /// the receiver next does, the receiver finds what it has written since.
    pub keeps: bool,
    /// What a page is whose receiver has never said whether it may be taken.
    pub unless_said: Offer,
}

/// What becomes of pages that are [wanted](Wanted).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taking {
    /// Those that may be taken.
    pub taken: PageSet,
    /// Those of them that are borrowed.
    pub borrowed: PageSet,
    /// Those that are lent, and kept.
    pub kept: PageSet,
    /// The others.
    pub left: PageSet,
}

impl Taking {
    /// What the asker is to be told if that is done. `pages` makes a message of what is
    /// taken.
    pub fn inputs<M>(&self, mut pages: impl FnMut(PageRange) -> Option<Input<M>>) -> Vec<Input<M>> {
        let [borrowed, taken, left] =
            [&self.borrowed, &self.taken, &self.left].map(|set| set.ranges().iter().copied());
        let borrowed = borrowed.map(Input::Borrowed);
        let inputs = borrowed.chain(taken.filter_map(&mut pages));
        inputs.chain(left.map(Input::Left)).collect()
    }
}

/// What the pages at home at a node contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed<'a> {
    /// The node's epoch.
    pub epoch: u32,
    /// Intervals whose diffs have been applied.
    pub received: &'a Seen,
    /// Intervals of which this was told that they have [begun](Input::Begun) to be brought.
    pub begun: &'a Seen,
    /// Intervals that the node knows of.
    pub known: &'a Seen,
    /// Whether others may [bring](Brought) diffs.
    pub admits: Admits,
}

/// Which diffs may be [brought](Brought) to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// None: there are twins, which would miss what is brought.
    Nothing,
    /// Not the last ones of an interval: it waits for their message.
    Parts,
    /// All.
    All,
}

impl Admits {
    /// Whether diffs may be brought, of which there are `more`.
    #[must_use]
    pub fn admits(self, more: bool) -> bool {
        match self {
            Self::Nothing => false,
            Self::Parts => more,
            Self::All => true,
        }
    }
}

/// Diffs that a message brings to their pages' home. Where a node can write another
/// one's memory, it may write them by itself, if the receiver [admits](Committed) it in
/// that epoch and has applied all that went there before (see [`crate::Underway`]); the
/// receiver is told ([`Input::Brought`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Brought<'a> {
    /// The writer's epoch, which has to be the receiver's as well.
    pub epoch: u32,
    /// The interval.
    pub interval: Interval,
    /// It has more diffs for that home.
    pub more: bool,
    /// Pages and what is to be written into them.
    pub diffs: &'a [(PageId, Content)],
}

/// How to update a page: to change it by a single atomic instruction, in the memory of its
/// home. Where a node can write another one's memory, it may do so while the home
/// [offers](Offer::Updated) that, in the same epoch, and has received what is needed. The home
/// withdraws its offer not before nobody is at it.
///
/// An update is a synchronisation: who sees what it wrote sees what was written before it. So
/// before it the thread has to flush if its node [owes](crate::Protocol::owes) something to others,
/// or its last intervals are [under way](crate::Underway); and after it if there is news in
/// the log, something [borrowed](crate::Protocol::borrows), or something known that has yet to
/// [arrive](crate::Protocol::awaits_diffs). Who updates a copy instead,
/// under that lock, learns of everything before, and afterwards flushes, asks for the page once
/// more, and flushes until it knows [what the page may have
/// shown](crate::Protocol::lacks_what_is_shown).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Updates {
    /// The page's home, which may be the node itself.
    pub home: NodeId,
    /// The node's epoch.
    pub epoch: u32,
    /// Intervals whose diffs must have arrived at the home.
    pub need: Vec<Version>,
}

/// What a message tells the sequencer and asks it for. Where all nodes can reach a log,
/// whoever flushes may enter the interval there by itself and read what it has not read
/// yet: at once, so that one flush comes before the other. Nothing may be entered before
/// the sequencer has all that was told by message (see [`crate::Underway`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Told<'a> {
    /// The asker's epoch; each has a log of its own.
    pub epoch: u32,
    /// What is to be entered.
    pub notice: Option<&'a Notice>,
    /// What is wanted.
    pub wants: Wants,
}

/// What a node does that tells the sequencer something. Locks that are free can be taken
/// and given back in shared memory; the sequencer has to be asked for one that is not,
/// and then takes it over ([`Claim`](crate::Action::Claim)) until nobody waits for it any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Nothing more.
    Nothing,
    /// What is in the log, for a thread that waits for the [answer](crate::order::Control::answer).
    Log(ThreadId),
    /// The same with a lock.
    Lock {
        /// The lock.
        lock: LockId,
        /// The thread.
        thread: ThreadId,
        /// Whether it waits if somebody has the lock.
        waits: bool,
    },
    /// To give a lock back, after all else.
    Unlock(LockId),
}

/// A node that has a lock in shared memory.
///
/// Where nodes take locks there, one whose threads take a lock again and again may *keep* it: it
/// is not given back, and what was written under it not told, while its threads take turns
/// among themselves. A node whose threads do not all take part in barriers must not, since
/// what it has not told at one is not known to others then: a lock that was kept before the
/// last barrier anybody may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Holder {
    /// The node.
    pub node: NodeId,
    /// No thread there has the lock: it is kept, and is not taken any more by threads there
    /// until it has been given back.
    pub keeps: bool,
}

/// What the sequencer knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sequenced<'a> {
    /// Its epoch.
    pub epoch: u32,
    /// Intervals that are in the log or before it.
    pub contains: &'a Seen,
    /// Everything has to be told by message: what nodes keep that are at a barrier has to
    /// be asked for if somebody flushes.
    pub asks: bool,
}

impl Wanted<'_> {
    /// What may be taken if pages are offered so.
    #[must_use]
    pub fn taking(&self, offer: impl Fn(PageId) -> Offer) -> Taking {
        let [mut taken, mut borrowed, mut kept, mut left] = [const { Vec::new() }; 4];
        for page in self.pages.iter() {
            match offer(page) {
                Offer::Open | Offer::Old | Offer::Twin => taken.push(page),
                Offer::Updated => {
                    taken.push(page);
                    borrowed.push(page);
                }
                Offer::Lent if self.borrows => {
                    taken.push(page);
                    borrowed.push(page);
                }
                Offer::Lent if self.keeps => {
                    taken.push(page);
                    kept.push(page);
                }
                Offer::Lent | Offer::Closed | Offer::Reserved | Offer::Twinned => left.push(page),
            }
        }
        let [taken, borrowed, kept, left] =
            [taken, borrowed, kept, left].map(|pages| PageSet::from_sorted(&pages));
        Taking {
            taken,
            borrowed,
            kept,
            left,
        }
    }

    /// Whether so much may be part of a page.
    #[must_use]
    pub fn admits(&self, versions: &[(NodeId, Interval)]) -> bool {
        let admits = |most: &Seen| {
            versions
                .iter()
                .all(|(node, last)| most.covers(*node, *last))
        };
        self.most.is_none_or(admits)
    }

    /// As much as the asker knows of what is surely part of a page of node `from`: that node's
    /// own intervals are, even if it has yet to show the last ones.
    pub fn known(
        &self,
        from: NodeId,
        versions: impl IntoIterator<Item = (NodeId, Interval)>,
    ) -> Vec<(NodeId, Interval)> {
        let known = |(node, last): (NodeId, Interval)| {
            let most = self.most.map(|most| most.of(node));
            let least = most.map(|most| if node == from { most } else { most.min(last) });
            (node, least.unwrap_or(last))
        };
        versions.into_iter().map(known).collect()
    }

    /// True if nothing that is needed lacks at a node in such an epoch where so much has
    /// been received.
    #[must_use]
    pub fn is_part_of(&self, epoch: u32, received: &Seen) -> bool {
        let mut need = self.need.iter();
        self.epoch == epoch && need.all(|(node, last)| received.covers(*node, *last))
    }
}
