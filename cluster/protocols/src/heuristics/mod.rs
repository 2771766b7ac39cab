//! What a node does ahead of time because it will probably be of use: fetching several pages
//! at once, opening pages to writes before they fault, recalling read leases at a barrier, asking
//! for exclusive leases, keeping locks.
//!
//! The [home-based protocol](crate::home) puts a few questions to a [`Heuristic`] and tells it
//! what happens ([`Event`]). It carries out as much of an answer as is possible at that
//! moment and is correct whatever the answers are, so nothing here can make a program's
//! results wrong: only slow. Everything that is remembered to predict, and every number
//! that was tuned, is in this module. [`Predictor`] lists what is predicted;
//! `docs/protocols/home.md` says what each gains.
//!
//! Two kinds of lease say who may hold a page:
//!
//! * A *read lease* is a copy. It lasts until a write notice names the page, or until the home
//!   recalls it at a barrier ([`WriteNotice::recalls`](crate::WriteNotice)). Any number of nodes
//!   may hold one.
//! * An *exclusive lease* lets one node write a page without telling anybody. It lasts until the
//!   home recalls it ([`Term`](crate::message::Term)), or until the next barrier. Meanwhile
//!   nobody holds a read lease.

mod cached_locks;
mod copies;
mod direction;
mod exclusive_leases;
#[cfg(test)]
mod fake;
mod history;
mod home_writes;
mod random;
mod read_streams;
mod refetch;
mod write_runs;

use crate::area::Layout;
use crate::state::State;
use crate::{Access, Interval, LockId, PageRange};
use fathomp_types::{NodeId, PageId};
use std::fmt::Debug;
use std::hash::{Hash, Hasher};

/// What is predicted from what happened. Each can be left out by itself
/// ([`Heuristics::without`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predictor {
    /// A thread that goes through memory in order will fault at the pages behind the one that it
    /// misses: they are fetched together.
    ReadStreams,
    /// A page whose copy a barrier makes invalid will be missed as many epochs later as the last
    /// time: it is fetched before.
    Refetches,
    /// A copy of a page of which other copies were written will be written: it gets a twin when it
    /// arrives.
    WrittenCopies,
    /// A thread that writes one page after the other will write those behind the one at which it
    /// faults: they are opened to writes with it.
    WriteRuns,
    /// A home that wrote a page twice the same number of epochs after others had read it will do so
    /// again: it recalls their read leases at the barrier before.
    HomeWrites,
    /// A page that one node told as written again and again, and no other wanted, will be used by
    /// that node only: it asks for an exclusive lease.
    ExclusiveLeases,
    /// A lock that a node gave back a few times, and no other wanted, will be taken by that node
    /// again: it keeps it.
    CachedLocks,
}

impl Predictor {
    /// All that there are.
    pub const ALL: [Self; 7] = [
        Self::ReadStreams,
        Self::Refetches,
        Self::WrittenCopies,
        Self::WriteRuns,
        Self::HomeWrites,
        Self::ExclusiveLeases,
        Self::CachedLocks,
    ];

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// What the nodes of a cluster do ahead of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Heuristics {
    /// Nothing: each fault is served by itself, and pages are watched only while it is needed.
    Nothing,
    /// What happened before will happen again.
    History(Limits),
    /// Anything: answers drawn from a seed. They show that no answer makes results wrong.
    Random(u64),
}

/// What is predicted from what happened, and how far that goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Limits {
    /// Most pages that a fault fetches, at least 1.
    pub prefetch_pages_max: u32,
    /// Intervals over which a page has to be written, and wanted by no other node, before its
    /// writer asks for an exclusive lease.
    pub lease_after_intervals: u8,
    /// How often a node gives a lock back, and no other node wants it, before it keeps it, at
    /// least 1.
    pub keep_lock_after_releases: u8,
    /// What is not predicted.
    pub left_out: PredictorSet,
}

/// Some of the predictors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct PredictorSet(u8);

impl PredictorSet {
    /// Those that expect writes: which of them were made in an interval is known only when pages
    /// are compared with their twins, or not at all.
    pub const OF_WRITES: Self = Self(
        Predictor::WrittenCopies.bit() | Predictor::WriteRuns.bit() | Predictor::HomeWrites.bit(),
    );

    fn contains(self, predictor: Predictor) -> bool {
        self.0 & predictor.bit() != 0
    }
}

impl FromIterator<Predictor> for PredictorSet {
    fn from_iter<I: IntoIterator<Item = Predictor>>(predictors: I) -> Self {
        let bits = predictors.into_iter().map(Predictor::bit);
        Self(bits.fold(0, |all, bit| all | bit))
    }
}

impl Default for Limits {
    /// As nodes have it.
    fn default() -> Self {
        Self {
            prefetch_pages_max: 16,
            lease_after_intervals: 8,
            keep_lock_after_releases: 2,
            left_out: PredictorSet::default(),
        }
    }
}

impl Limits {
    /// Whether a predictor is among them.
    #[must_use]
    pub fn predicts(&self, predictor: Predictor) -> bool {
        !self.left_out.contains(predictor)
    }
}

impl Heuristics {
    /// The same without some predictors.
    #[must_use]
    pub fn without(self, left_out: PredictorSet) -> Self {
        match self {
            Self::History(limits) => Self::History(Limits {
                left_out: PredictorSet(limits.left_out.0 | left_out.0),
                ..limits
            }),
            other => other,
        }
    }

    /// What node `me` predicts by, before anything happened.
    pub(crate) fn start(self, me: NodeId, layout: &Layout) -> Predictors {
        Predictors(match self {
            Self::Nothing => Box::new(Nothing),
            Self::History(limits) => {
                Box::new(history::HistoryPredictor::new(limits, layout.clone()))
            }
            Self::Random(seed) => Box::new(random::Random::new(seed, me, layout.pages())),
        })
    }
}

/// Answers a protocol's questions. All answers are proposals: what is not possible is left out.
pub(crate) trait Heuristic: Debug + Send + Sync {
    /// A thread faulted at `page`, which is missing here ([`State::Untouched`]) or not open to
    /// writes ([`State::Shared`], [`State::Clean`]). Which pages to fetch, or to open to writes,
    /// together with it? It is one of them.
    fn on_fault(&mut self, page: PageId, access: Access, view: &dyn View) -> PageRange;

    /// A copy has arrived. Will it be written? Then it gets a twin, and writing it is no fault.
    fn on_arrival(&mut self, arrival: &Arrival, view: &dyn View) -> bool;

    /// An interval ends. Of which pages are exclusive leases to be asked for, so that they need not
    /// be told as written any more?
    fn on_release(&mut self, release: &Release, view: &dyn View) -> Vec<PageId>;

    /// This node comes to a barrier. Which of the [shared](State::Shared) pages at home here
    /// will be written here next? All read leases of those end at the barrier.
    fn before_barrier(&mut self, view: &dyn View) -> Vec<PageId>;

    /// A barrier is over, which leaves these pages at home here with no copies elsewhere. Which
    /// pages at home elsewhere are to be fetched at once, before a thread misses them?
    fn after_barrier(&mut self, settled: &[PageId], view: &dyn View) -> Vec<PageId>;

    /// A thread gives a lock back. Is its node to keep it, since its threads will take it again
    /// before other nodes want it?
    fn keeps_lock(&mut self, _lock: LockId) -> bool {
        false
    }

    /// Something happened.
    fn note(&mut self, event: Event, view: &dyn View);

    /// A copy of this.
    fn boxed(&self) -> Box<dyn Heuristic>;
}

/// What can be seen of the protocol's state.
pub(crate) trait View {
    /// Barriers passed.
    fn epoch(&self) -> u32;
    /// The last interval of this node that has ended.
    fn interval(&self) -> Interval;
    /// A page; nothing if there is none of that number.
    fn page(&self, page: PageId) -> Option<Glance>;
    /// Whether `next` can be dealt with like `page`, at which a thread faults.
    fn goes_with(&self, page: PageId, next: PageId) -> bool;
}

/// A page as its node sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Glance {
    pub(crate) state: State,
    /// It is at home at this node.
    pub(crate) at_home: bool,
    pub(crate) pinned: bool,
}

impl Glance {
    /// Threads here may read it; writes are noticed.
    fn is_readable(self) -> bool {
        matches!(self.state, State::Shared | State::Clean)
    }
}

/// What of a plan is possible at a fault at `page`: those of its pages that follow each other
/// around that one and can be dealt with like it.
pub(crate) fn possible(planned: PageRange, page: PageId, view: &dyn View) -> PageRange {
    let goes_with = |next: &u32| view.goes_with(page, PageId(*next));
    let end = u32::try_from(planned.end()).unwrap_or(u32::MAX);
    let first = (planned.first().0..page.0)
        .rev()
        .take_while(goes_with)
        .last();
    let last = (page.0..end).skip(1).take_while(goes_with).last();
    let (first, last) = (first.unwrap_or(page.0), last.unwrap_or(page.0));
    PageRange::new(PageId(first), last - first + 1).unwrap_or(page.into())
}

/// A copy that has arrived.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) page: PageId,
    /// What threads wait to do with it; nothing if it was fetched ahead of time.
    pub(crate) wanted: Option<Access>,
    /// Its home never touched it.
    pub(crate) blank: bool,
    /// Threads wait to write a page that arrives together with it, or this one.
    pub(crate) begins_to_write: bool,
}

/// The end of an interval.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Release<'a> {
    /// What others are told as written in it.
    pub(crate) pages: &'a [PageId],
    /// Whether exclusive leases can be had: not at a barrier.
    pub(crate) may_lease: bool,
}

/// What happened to a page.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event {
    /// A copy here, or a watched page at home here, is written; its state is still the one
    /// before.
    Written(PageId),
    /// A copy here becomes invalid; its state is still the one before.
    Dropped(PageId, Why),
    /// Another node has written it, as a notice says.
    WrittenElsewhere(PageId),
    /// A barrier tells that it was written in the epoch that is over; if true, by several nodes.
    ToldAtBarrier(PageId, bool),
    /// Another node fetched it from here; its state is still the one before.
    Served(PageId),
    /// About an exclusive lease of a page.
    Lease(PageId, Lease),
    /// Another node wants a lock that this node has.
    LockWanted(LockId),
}

/// Why a copy becomes invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// Others wrote the page.
    News,
    /// Several nodes wrote the page before a barrier.
    ManyWriters,
    /// Its home recalls all read leases at a barrier, since it will write the page next.
    Recalled,
    /// Another node is to have an exclusive lease of the page.
    Lease,
}

/// What became of an exclusive lease, or of being alone with a page at home here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Lease {
    /// It has begun.
    Granted,
    /// The home refused it.
    Refused,
    /// Another node wants the page.
    Wanted,
    /// A barrier ended it.
    Ended,
}

/// Predictors as a part of a protocol's state. They are no part of what the state means: two
/// states that differ in them only are equal, and have the same hash.
#[derive(Debug)]
pub(crate) struct Predictors(Box<dyn Heuristic>);

impl Predictors {
    pub(crate) fn get(&mut self) -> &mut dyn Heuristic {
        &mut *self.0
    }
}

impl Clone for Predictors {
    fn clone(&self) -> Self {
        Self(self.0.boxed())
    }
}

impl PartialEq for Predictors {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Predictors {}

impl Hash for Predictors {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

/// Nothing is done ahead of time.
#[derive(Clone, Copy, Debug)]
struct Nothing;

impl Heuristic for Nothing {
    fn on_fault(&mut self, page: PageId, _: Access, _: &dyn View) -> PageRange {
        page.into()
    }

    fn on_arrival(&mut self, _: &Arrival, _: &dyn View) -> bool {
        false
    }

    fn on_release(&mut self, _: &Release, _: &dyn View) -> Vec<PageId> {
        Vec::new()
    }

    fn before_barrier(&mut self, _: &dyn View) -> Vec<PageId> {
        Vec::new()
    }

    fn after_barrier(&mut self, _: &[PageId], _: &dyn View) -> Vec<PageId> {
        Vec::new()
    }

    fn note(&mut self, _: Event, _: &dyn View) {}

    fn boxed(&self) -> Box<dyn Heuristic> {
        Box::new(*self)
    }
}
