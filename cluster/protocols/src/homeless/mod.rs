//! The homeless protocol: writers keep what they changed, and a node that touches a page
//! fetches it from each of them and puts it together in causal order (Keleher, Cox,
//! Zwaenepoel: "Lazy Release Consistency for Software Distributed Shared Memory", ISCA 1992;
//! Keleher, Dwarkadas, Cox, Zwaenepoel: "TreadMarks", USENIX 1994). It is the reference
//! implementation. States, messages and reasons:
//! `docs/protocols/homeless.md`.

mod check;
mod fetch;
mod hand_on;
mod last;
mod plan;
mod postponed;
mod serve;
mod shown;
mod sole;
mod tidy;
mod write;

use crate::area::{Layout, Place};
use crate::heuristics::{Heuristics, Limits, Predictors};
use crate::message::{Bounds, IfLate, Message, Request};
use crate::order::{FAN_IN, LOG_MAX, News, Order, Version, When, peer};
use crate::runs::Runs;
use crate::table::Table;
use crate::{
    Access, Action, Area, AreaError, Diff, Input, Interval, LockId, Operation, Protection,
    Protocol, VectorClock, Violation, WriteNotice,
};
use fathomp_types::{NodeId, PageId, ThreadId};
use fetch::Pending;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use tidy::Tidying;

/// What all nodes agree on before they start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Nodes in the cluster, at least 1.
    pub nodes: u16,
    /// What is shared, and which node owns it at first.
    pub areas: Vec<Area>,
    /// Diffs and twins that a node keeps before it asks for a tidying at the next
    /// barrier. Each takes 4,616 bytes at most.
    pub diffs_max: u32,
    /// Whether programs may rely on an ordinary load that sees an ordinary store
    /// to see what was stored before it, as compilers make it of atomic reads
    /// that acquire and writes that release. It costs: written pages are protected
    /// whenever an interval ends, and a node that serves a page which it writes
    /// unwatched ends its interval first.
    pub loads_acquire: bool,
    /// Whether a thread may read without a lock or barrier before it what was stored plainly: by an
    /// atomic instruction, as of a lock that was taken by an exchange and given back by a store, or
    /// in a loop that waits for a variable. A page that is written
    /// unwatched is then served as if loads acquired. Not where pages stay writable.
    pub remembers_unseen: bool,
    /// Whether a written page stays writable when its interval ends, until its diff is
    /// wanted, as in TreadMarks. That saves faults, but a diff may show what its interval has
    /// not told: a program that gives a lock of its own back by an ordinary store does not
    /// work. Not where loads acquire.
    pub stays_writable: bool,
    /// Whether changes of words that nobody looks at are [done in batches](Input::Postpone). For
    /// programs that rely on nothing but that an atomic instruction is one step. Not where loads
    /// acquire, nor where pages stay writable.
    pub postpones: bool,
    /// Whether a page that one node alone wrote between two barriers is that node's
    /// own from the second on.
    pub sole_writers: bool,
    /// Whether only the last writers of a page are asked for what it lacks, and hand on what they
    /// know of others' changes, as in TreadMarks. Not where pages have sole writers.
    pub hands_on: bool,
    /// Which whole pages are fetched ahead of time. Nothing else is predicted.
    pub heuristics: Heuristics,
    /// Children of a node in the barrier's tree, at least 1.
    pub fan_in: u16,
    /// Intervals that the sequencer's log has room for, at least 1. When it is full and
    /// a node asks for something, all nodes are told them.
    pub log_max: usize,
}

impl Config {
    /// Whether a diff is of an interval that may still be open.
    fn keeps_writable(&self) -> bool {
        self.stays_writable && !self.loads_acquire
    }

    /// Whether changes of others are handed on.
    fn hands_on(&self) -> bool {
        self.hands_on && !self.sole_writers
    }

    /// As nodes have it, with room for diffs in so many MiB. If it is `plain`, the protocol
    /// is TreadMarks' (Keleher, Dwarkadas, Cox, Zwaenepoel, USENIX 1994): written pages stay
    /// writable, their last writers hand on what others wrote before, no page has a sole writer,
    /// and none is fetched in advance, so that counts mean what the SDP papers mean.
    #[must_use]
    pub fn usual(
        nodes: u16,
        areas: Vec<Area>,
        memory_mib: u32,
        plain: bool,
        loads_acquire: bool,
    ) -> Self {
        let diffs = (u64::from(memory_mib) << 20) / Diff::BYTES_MAX as u64;
        Self {
            nodes,
            areas,
            diffs_max: u32::try_from(diffs).unwrap_or(u32::MAX),
            loads_acquire,
            remembers_unseen: true,
            stays_writable: plain,
            postpones: false,
            sole_writers: !plain,
            hands_on: plain,
            heuristics: match plain {
                true => Heuristics::Nothing,
                false => Heuristics::History(Limits::default()),
            },
            fan_in: FAN_IN,
            log_max: LOG_MAX,
        }
    }
}

type Actions<B> = Vec<Action<B>>;

/// A page as its node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    /// Its owner has the only copy, and writes it unwatched. Elsewhere: it is not here.
    Untouched,
    /// Readable; nothing that is known of is missing.
    Valid,
    /// The same, but forbidden: changes of it are [collected](postponed) that threads here
    /// have to see.
    Held,
    /// Readable, and writable: a twin tells what has been written.
    Writable,
    /// Forbidden; what is missing is known.
    Invalid,
    /// Forbidden; what is missing is on its way.
    Pending,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    state: State,
    /// The node that has all of it as of when it was last settled: at the beginning, at a
    /// tidying, or at a barrier if it has a sole writer.
    owner: NodeId,
    /// The owner's threads write it without being watched.
    pinned: bool,
    /// It is pinned here, and another node has fetched it since the last interval that
    /// names it.
    served: bool,
    /// The first interval that has ended since the twin was made. Its notice has named the
    /// page, and its diff, which has yet to be made, will have all that was written since.
    twin: Option<Interval>,
}

impl From<Place> for Entry {
    fn from(place: Place) -> Self {
        Self {
            state: State::Untouched,
            owner: place.home,
            pinned: place.pinned,
            served: false,
            twin: None,
        }
    }
}

/// The protocol at one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Homeless<B> {
    me: NodeId,
    config: Config,
    order: Order,
    table: Table<Entry>,
    /// Pages that the notice of the open interval has to name.
    unnamed: Vec<PageId>,
    /// My intervals of this epoch.
    own: Vec<WriteNotice>,
    /// Intervals that barriers have told.
    told: VectorClock,
    /// The intervals that wrote each page since it was last settled, in an order in which no
    /// interval comes before one that its writer knew of.
    history: Runs<Vec<Version>>,
    /// Pages of all its entries.
    noted: u64,
    /// What of that is not part of my copy.
    missing: BTreeMap<PageId, Vec<Version>>,
    pending: BTreeMap<PageId, Pending<B>>,
    /// Pinned pages of mine among these.
    pulls: BTreeSet<PageId>,
    /// My diffs that are kept until a tidying, those which have yet to be made of a twin
    /// included.
    diffs: BTreeSet<(PageId, Interval)>,
    /// Diffs of others that are kept.
    held: BTreeSet<(PageId, Version)>,
    /// What the writers of the intervals in `history` knew, where it is handed on.
    stamps: BTreeMap<Version, last::Stamp>,
    predictors: Predictors,
    /// Intervals that a node has to know of before it relies on a page that this node wrote
    /// unwatched, as of when it last served one in this epoch.
    opened: Vec<Version>,
    /// What copies here show that this node does not know of.
    shown: BTreeMap<PageId, Vec<Version>>,
    /// The thread that came to a barrier which all nodes have reached.
    leaving: Option<ThreadId>,
    tidying: Tidying,
    /// Faults of threads that take no part in barriers, until the tidying is over.
    deferred: Vec<(ThreadId, PageId, Access)>,
    /// What such threads ask of the sequencer, until the barrier is over.
    operations: Vec<(ThreadId, Operation)>,
    /// Messages of nodes that have left a barrier which I have not left.
    early: Vec<(NodeId, Message<B>)>,
    postponed: postponed::Postponed,
}

impl<B> Homeless<B> {
    /// The protocol at node `me` before anything happened.
    ///
    /// # Errors
    /// If the areas cannot be.
    pub fn new(me: NodeId, config: Config) -> Result<Self, AreaError> {
        let layout = Layout::new(config.nodes, &config.areas)?;
        let (nodes, fan_in, log_max) = (config.nodes, config.fan_in, config.log_max);
        let mut order = Order::new(me, nodes, layout.pages(), fan_in, log_max);
        order.in_order = true;
        Ok(Self {
            me,
            told: VectorClock::nothing(config.nodes),
            predictors: config.heuristics.start(me, &layout),
            config,
            order,
            table: Table::new(layout),
            unnamed: Vec::new(),
            own: Vec::new(),
            history: Runs::default(),
            noted: 0,
            missing: BTreeMap::new(),
            pending: BTreeMap::new(),
            pulls: BTreeSet::new(),
            diffs: BTreeSet::new(),
            held: BTreeSet::new(),
            stamps: BTreeMap::new(),
            opened: Vec::new(),
            shown: BTreeMap::new(),
            leaving: None,
            tidying: Tidying::No,
            deferred: Vec::new(),
            operations: Vec::new(),
            early: Vec::new(),
            postponed: postponed::Postponed::default(),
        })
    }

    fn operation(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.has_to_wait(operation) {
            self.operations.push((thread, operation));
            return Ok(());
        }
        if self.waits_for_changes(thread, operation, actions)? {
            return Ok(());
        }
        let (request, notice) = match operation {
            Operation::Barrier => {
                self.order.come_to_barrier(thread)?;
                self.enter_barrier(actions);
                return Ok(());
            }
            Operation::Release(lock) => {
                self.release(lock, Some(thread), actions);
                return Ok(());
            }
            Operation::Flush => {
                self.order.demanded(actions);
                (Request::Flush(thread), self.end_interval(actions))
            }
            Operation::ReleaseFlush => {
                self.order.demanded(actions);
                let notice = self.end_interval(actions);
                self.order.publish(thread, notice, actions);
                return Ok(());
            }
            Operation::AcquireFlush => (Request::Flush(thread), None),
            Operation::Acquire(lock) => (Request::Acquire(lock, thread), None),
            Operation::TryAcquire(lock) => (Request::TryAcquire(lock, thread), None),
            Operation::Change(..) => {
                return Err(Violation::Runtime("a change where no page has a home"));
            }
            Operation::Learn(page) => return self.learn_what_is_shown(thread, page, actions),
        };
        self.order.ask(thread, request, notice, actions)
    }

    /// Gives back a lock that this node has: for a thread, or because it is recalled.
    fn release(&mut self, lock: LockId, thread: Option<ThreadId>, actions: &mut Actions<B>) {
        self.order.demanded(actions);
        let notice = self.end_interval(actions);
        actions.extend(thread.map(Action::Resume));
        let request = Request::Release(lock);
        self.order.exchange(request, notice, actions);
    }

    /// Whether an operation cannot be begun before the barrier is over at which this node
    /// is: others may have left it already, and its answer would come too late. At the
    /// root nobody has, and giving back a lock needs no answer.
    fn has_to_wait(&self, operation: Operation) -> bool {
        let is_answered = !matches!(operation, Operation::Release(_) | Operation::Barrier);
        is_answered && self.is_standing() && !self.order.is_root()
    }

    /// True if none of this node's threads runs that take part in barriers: it is at one.
    fn is_standing(&self) -> bool {
        self.order.is_at_barrier() || self.leaving.is_some()
    }

    fn enter_barrier(&mut self, actions: &mut Actions<B>) {
        // Nothing asked for in this epoch may be answered in the next one.
        if self.leaving.is_some() || !self.pending.is_empty() {
            return;
        }
        if let Some(thread) = self.order.enters_barrier() {
            let last = self.end_interval(actions);
            let own = std::mem::take(&mut self.own);
            let full = self.is_full();
            self.order.arrive(thread, last, own, full, actions);
        }
    }

    fn message(
        &mut self,
        from: NodeId,
        message: Message<B>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        match self.order.when(from, message.epoch())? {
            When::Now => self.take(from, message, actions),
            When::Early => {
                self.early.push((from, message));
                Ok(())
            }
            When::Late => match message.if_late() {
                IfLate::Take => self.take(from, message, actions),
                IfLate::Drop => Ok(()),
                IfLate::Refuse => Err(peer(from, "is a barrier behind")),
            },
        }
    }

    fn take(
        &mut self,
        from: NodeId,
        message: Message<B>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        match message {
            Message::Control(control) => match self.order.control(from, control, actions)? {
                News::None => self.enter_barrier(actions),
                News::Learned(notices) => {
                    self.learn(&notices, actions);
                    self.settle(actions)?;
                }
                News::Demanded(interval) => {
                    self.end_if_seen(interval, actions);
                    self.enter_barrier(actions);
                }
                News::Recalled(lock) => self.release(lock, None, actions),
                News::Everybody { notices, full, cut } => {
                    self.everybody_arrived(&notices, full, cut, actions)?;
                }
            },
            Message::DiffsWanted {
                page, intervals, ..
            } => self.diffs_wanted(from, page, &intervals, actions)?,
            Message::DiffsOfPage { page, diffs, .. } => {
                self.diffs_arrived(from, page, diffs, actions)?;
            }
            Message::HandOn {
                page,
                wanted,
                whole,
                ..
            } => self.hand_on(from, page, &wanted, whole, actions)?,
            Message::HandedOn { page, diffs, .. } => self.handed_on(from, page, diffs, actions)?,
            Message::Fetch { pages, .. } => self.pages_wanted(from, pages, actions)?,
            Message::Pages { first, copies, .. } => {
                self.pages_arrived(from, first, copies, actions)?;
            }
            Message::Diffs { .. }
            | Message::Change { .. }
            | Message::Changed { .. }
            | Message::Changes { .. }
            | Message::ChangesDone { .. }
            | Message::Lease { .. } => {
                return Err(peer(from, "speaks of homes, where no page has one"));
            }
        }
        Ok(())
    }

    /// Ends what waits for pinned pages of mine to be up to date.
    fn settle(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        if self.is_pulling() {
            return Ok(());
        }
        self.complete_all(actions);
        self.go_on(actions)
    }

    /// Ends what waits for pages that are here now.
    fn go_on(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        self.order.settle(actions);
        self.go_on_with_changes(actions)?;
        self.leave_barrier(actions)?;
        self.enter_barrier(actions);
        Ok(())
    }

    /// True if `page` is pinned here: this node's threads write it without being
    /// watched, whatever others do.
    fn is_mine(&self, page: PageId) -> bool {
        let entry = self.table.get(page);
        entry.pinned && entry.owner == self.me
    }
}

impl<B> Protocol<B> for Homeless<B> {
    fn step(&mut self, input: Input<B>, actions: &mut Actions<B>) -> Result<(), Violation> {
        match input {
            Input::Fault {
                thread,
                page,
                access,
            } => self.fault(thread, page, access, actions)?,
            Input::Operation { thread, operation } => self.operation(thread, operation, actions)?,
            Input::Message { from, message } => self.message(from, message, actions)?,
            Input::Postpone(page, change) => self.postpone(page, change, actions)?,
            // No page is watched but by forbidding writes.
            Input::Wrote(_) => {}
        }
        while let Some(control) = self.order.next_own() {
            self.message(self.me, Message::Control(control), actions)?;
        }
        Ok(())
    }

    fn next_early(&mut self) -> Option<Input<B>> {
        let epoch = self.order.epoch;
        let mut early = self.early.iter();
        let next = early.position(|(_, message)| message.epoch() == epoch)?;
        let (from, message) = self.early.remove(next);
        Some(Input::Message { from, message })
    }

    fn bounds(&self) -> Bounds {
        Bounds {
            nodes: self.config.nodes,
            pages: self.table.layout().pages(),
        }
    }

    fn barrier_epoch(&self) -> Option<u32> {
        self.has_to_wait(Operation::Flush)
            .then_some(self.order.epoch)
    }

    fn wants_writes(&self, _input: &Input<B>) -> bool {
        false
    }

    fn batches_atomics(&self, page: PageId) -> bool {
        self.can_postpone(page)
    }

    fn remembers_unseen_writes(&self) -> bool {
        self.notes_what_is_shown()
    }

    fn may_expose_unseen_writes(&self, page: PageId) -> bool {
        self.may_show_unknown(page)
    }

    fn start(&self, actions: &mut Actions<B>) {
        for (place, pages) in self.table.layout().stretches() {
            if place.home != self.me {
                actions.push(Action::Protect(pages, Protection::None));
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        self.check_state()
    }
}
