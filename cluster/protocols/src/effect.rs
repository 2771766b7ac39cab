//! What a protocol wants to happen beyond its node where there is more than one way to do
//! it. The driver picks the way for each peer: directly in memory that nodes share, or by
//! message.

use crate::interval::Version;
use crate::message::{Control, Message, PageCopy, Request};
use crate::{Content, Interval, LockId, Notice, Offer, PageRange, PageSet, Seen};
use fathomp_types::{NodeId, PageId, ThreadId};

/// Bring pages here from their home. All of them have the same home.
///
/// Where this node can read the home's memory (one machine, or remote direct memory
/// access), it may take those of the pages that are [offered](Offer) there, if the home has
/// [received](Committed) what is needed; the protocol is told by [`crate::Input::Took`].
/// Otherwise it is sent as [`Message::Fetch`] and answered by [`Message::Pages`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fetch {
    /// The pages' home.
    pub from: NodeId,
    /// The epoch of this node, which has to be the home's as well.
    pub epoch: u32,
    /// The pages.
    pub pages: PageRange,
    /// Intervals whose diffs must be part of the pages.
    pub need: Vec<Version>,
    /// Whether pages that are [lent](Offer::Lent) will do: this node gives them back as soon
    /// as it learns of anything.
    pub borrows: bool,
}

/// Pages for a node that has fetched them. Their content may stay in this node's memory
/// until the receiver installs it, if it can reach it there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Serve {
    /// The node that has asked.
    pub to: NodeId,
    /// The epoch in which it was asked.
    pub epoch: u32,
    /// The first of the pages, which follow each other.
    pub first: PageId,
    /// The pages.
    pub copies: Vec<PageCopy<Content>>,
    /// Whether content may be left in memory: not where it would have to be told what came
    /// before what is written there until it is installed.
    pub may_be_left: bool,
}

/// Bring what this node changed in pages, since their twins were made, to their home.
///
/// Where this node can write the home's memory it may do so if the home
/// [admits](Committed::admits) it and has received all that went there before (see
/// [`crate::Underway`]); the home is told by [`crate::Input::Brought`]. Otherwise diffs are
/// made and sent as [`Message::Diffs`]. Either way the twins are forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Bring {
    /// The pages' home.
    pub to: NodeId,
    /// The epoch of this node, which has to be the home's as well.
    pub epoch: u32,
    /// The interval that is told.
    pub interval: Interval,
    /// The pages; there may be none, if only the end is to be told.
    pub pages: Vec<PageId>,
    /// The interval has more diffs for that home.
    pub more: bool,
}

/// Tell the sequencer of an interval, and ask it for something.
///
/// Where all nodes can reach a log in shared memory, an interval may be entered there, and
/// what others entered be read, at once, so that one flush comes before the other; locks
/// that are free can be taken there. Nothing may be entered before the sequencer has all
/// that was told by message. Otherwise it is sent as [`Control::Exchange`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Tell {
    /// The epoch of this node; each has a log of its own.
    pub epoch: u32,
    /// What is to be told.
    pub notice: Option<Notice>,
    /// What is wanted.
    pub request: Request,
}

/// What a node wants of the log and the locks in shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// Nothing more.
    Nothing,
    /// What is in the log, for a thread.
    Log(ThreadId),
    /// The same with a lock.
    Lock {
        /// The lock.
        lock: LockId,
        /// The thread.
        thread: ThreadId,
        /// Whether it waits if another node has the lock.
        waits: bool,
    },
    /// To give a lock back, after all else.
    Unlock(LockId),
}

impl From<Fetch> for Message<Content> {
    fn from(fetch: Fetch) -> Self {
        let Fetch {
            epoch, pages, need, ..
        } = fetch;
        Self::Fetch { epoch, pages, need }
    }
}

impl From<Serve> for Message<Content> {
    fn from(serve: Serve) -> Self {
        let Serve {
            epoch,
            first,
            copies,
            ..
        } = serve;
        Self::Pages {
            epoch,
            first,
            copies,
        }
    }
}

impl From<Bring> for Message<Content> {
    fn from(bring: Bring) -> Self {
        let diffs = bring.pages.into_iter();
        Self::Diffs {
            epoch: bring.epoch,
            interval: bring.interval,
            diffs: diffs.map(|page| (page, Content::Diff(page))).collect(),
            more: bring.more,
        }
    }
}

impl From<Tell> for Message<Content> {
    fn from(tell: Tell) -> Self {
        let Tell {
            epoch,
            notice,
            request,
        } = tell;
        Self::Control(Control::Exchange {
            epoch,
            request,
            notice,
        })
    }
}

impl Tell {
    /// What this wants of the log; None if only the sequencer can do it.
    #[must_use]
    pub fn wants(&self) -> Option<Wants> {
        let lock = |lock: &LockId, thread: &ThreadId, waits| Wants::Lock {
            lock: *lock,
            thread: *thread,
            waits,
        };
        Some(match &self.request {
            Request::Publish => Wants::Nothing,
            Request::Flush(thread) => Wants::Log(*thread),
            Request::Acquire(id, thread) => lock(id, thread, true),
            Request::TryAcquire(id, thread) => lock(id, thread, false),
            Request::Release(lock) => Wants::Unlock(*lock),
            Request::Learn(_) => return None,
        })
    }
}

impl Fetch {
    /// Whether nothing that is needed is missing at a node in that epoch that has received so
    /// much.
    #[must_use]
    pub fn is_part_of(&self, epoch: u32, received: &Seen) -> bool {
        let mut need = self.need.iter();
        self.epoch == epoch && need.all(|(node, last)| received.covers(*node, *last))
    }

    /// Which of the pages may be taken if they are offered so.
    #[must_use]
    pub fn taking(&self, offer: impl Fn(PageId) -> Offer) -> Taking {
        let [mut taken, mut borrowed, mut left] = [const { Vec::new() }; 3];
        for page in self.pages.iter() {
            match offer(page) {
                Offer::Open => taken.push(page),
                Offer::Updated => {
                    taken.push(page);
                    borrowed.push(page);
                }
                Offer::Lent if self.borrows => {
                    taken.push(page);
                    borrowed.push(page);
                }
                Offer::Lent | Offer::Closed | Offer::Reserved | Offer::Twinned => left.push(page),
            }
        }
        let [taken, borrowed, left] =
            [taken, borrowed, left].map(|pages| PageSet::from_sorted(&pages));
        Taking {
            taken,
            borrowed,
            left,
        }
    }
}

/// What became of a [`Fetch`] for which pages were taken out of their home's memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taking {
    /// Those that were taken.
    pub taken: PageSet,
    /// Those of them that are borrowed.
    pub borrowed: PageSet,
    /// The others.
    pub left: PageSet,
}

/// What the pages at home at a node contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Committed<'a> {
    /// The node's epoch.
    pub epoch: u32,
    /// Intervals whose diffs have been applied.
    pub received: &'a Seen,
    /// Intervals of which this was told that they have [begun](crate::Input::Begun) to be
    /// brought.
    pub begun: &'a Seen,
    /// Intervals that the node knows of.
    pub known: &'a Seen,
    /// Whether others may [bring](Bring) diffs.
    pub admits: Admits,
}

/// Which diffs may be [brought](Bring) to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Admits {
    /// None: there are twins, which would miss what is brought.
    Nothing,
    /// Not the last ones of an interval: the node waits for their message.
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

/// How to update a page: to change it by a single atomic instruction, in the memory of its
/// home. Where a node can write another one's memory, it may do so while the home
/// [offers](Offer::Updated) that, in the same epoch, and has received what is needed. The home
/// does not withdraw its offer before nobody is at it.
///
/// An update is a synchronisation: a thread that sees what it wrote sees what was written
/// before it. So before it the thread has to flush if its node
/// [owes](crate::Protocol::owes) something to others, or its last intervals are [under
/// way](crate::Underway); and after it if there is news in the log, something
/// [borrowed](crate::Protocol::borrows), or something known that has yet to
/// [arrive](crate::Protocol::awaits_diffs). A thread that updates a copy instead, under a lock
/// that everybody takes for that, learns of everything before, and afterwards flushes, asks
/// for the page once more, and flushes until it knows [what the page may have
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

/// A node that has a lock in shared memory.
///
/// A node whose threads take a lock again and again may *keep* it: it is not given back, and
/// what was written under it not told, while its threads take turns among themselves. A node
/// whose threads do not all take part in barriers must not, since what it has not told at a
/// barrier is not known to others then: a lock that was kept before the last barrier anybody
/// may take.
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
    /// Everything has to be told by message: nodes that are at a barrier have to be asked
    /// for their last interval if somebody flushes.
    pub asks: bool,
}
