//! The home-based protocol: every page has a home that always holds its
//! committed content; writers send diffs there when they release, readers fetch
//! whole pages from there (Zhou, Iftode, Li: "Performance Evaluation of Two
//! Home-Based Lazy Release Consistency Protocols for Shared Virtual Memory
//! Systems", OSDI 1996; SCASH: Harada, Tezuka, Hori, Sumimoto, Takahashi,
//! Ishikawa, 1999). States, messages and reasons: `docs/protocols/home.md`.

mod ahead;
mod barrier;
mod carried;
mod change;
mod check;
mod exclusive_lease;
mod locks;
mod operation;
mod page;
mod plan;
mod postponed;
mod release;
mod settle;
mod sharing;
mod shown;
mod wanted;

use crate::area::Layout;
use crate::heuristics::{Heuristics, Limits, PredictorSet, Predictors};
use crate::message::{Bounds, Control, IfLate, Message};
use crate::order::{FAN_IN, LOG_MAX, News, Order, Version, When, peer};
use crate::table::Table;
use crate::{
    Action, Area, AreaError, Body, Input, Interval, Operation, PageRange, Protection, Protocol,
    VectorClock, Violation, WriteNotice,
};
use carried::{Changer, Changing, Locks, Postponed};
use fathomp_types::{NodeId, PageId};
use page::Entry;
use release::{Arrived, Own};
use sharing::{Parked, Pending};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;

/// What all nodes agree on before they start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Nodes in the cluster, at least 1.
    pub nodes: u16,
    /// What is shared.
    pub areas: Vec<Area>,
    /// Whether a page moves to the node that alone wrote it between two
    /// barriers.
    pub migrate: bool,
    /// Whether homes notice all writes to their pages, also where nobody else has a copy: then
    /// each page's first write in an interval is a fault that is counted.
    pub watch_home: bool,
    /// Whether pages change in the published steps alone: a copy that is to be written comes
    /// first, and the write is a fault of its own; and a thread that flushes leaves its node's
    /// own pages open, all of which are named again. Not where loads acquire.
    pub published_steps: bool,
    /// Most diffs in a message, at least 1: so many are in memory at once.
    pub batch: usize,
    /// Whether programs may rely on an ordinary load that sees an ordinary store
    /// to see what was stored before it, as compilers make it of atomic reads
    /// that acquire and writes that release. It costs: a node that serves a page that
    /// it is writing ends its interval first.
    pub loads_acquire: bool,
    /// Whether a thread may read without a lock or barrier before it what was stored plainly: by an
    /// atomic instruction, as of a lock that was taken by an exchange and given back by a store, or
    /// in a loop that waits for a variable. It is remembered what pages [show](shown).
    pub remembers_unseen: bool,
    /// Whether atomic instructions are carried to their page's home: all of the program's can be.
    /// A thread that executes one learns of what came before what it found there, and of nothing
    /// else: that orders less than if all of them took one lock.
    pub carries: bool,
    /// Whether nodes keep locks that their threads take again and again: only programs whose
    /// threads never just try to take one, which might be refused what nobody has.
    pub keeps_locks: bool,
    /// What is done ahead of time.
    pub heuristics: Heuristics,
    /// Children of a node in the barrier's tree, at least 1.
    pub fan_in: u16,
    /// Intervals that the sequencer's log has room for, at least 1. When it is full,
    /// everybody is told them.
    pub log_max: usize,
}

/// Diffs in a message: 1 MiB at most.
pub const BATCH: usize = 256;

impl Config {
    /// As nodes have it. If it is `plain`, nodes do what SCASH does (Harada and others, 1999):
    /// pages stay at their first home, each first write is noticed there as well, every page is
    /// fetched by itself and written after that, and every diff goes home by itself. So counts
    /// mean what the SDP papers mean.
    #[must_use]
    pub fn usual(nodes: u16, areas: Vec<Area>, plain: bool, loads_acquire: bool) -> Self {
        let history = Heuristics::History(Limits::default());
        Self {
            nodes,
            areas,
            migrate: !plain,
            watch_home: plain,
            published_steps: plain,
            batch: if plain { 1 } else { BATCH },
            loads_acquire,
            remembers_unseen: true,
            carries: false,
            keeps_locks: false,
            heuristics: match (plain, loads_acquire) {
                (true, _) => Heuristics::Nothing,
                (false, false) => history,
                (false, true) => history.without(PredictorSet::OF_WRITES),
            },
            fan_in: FAN_IN,
            log_max: LOG_MAX,
        }
    }

    /// Whether a node's own pages stay open to writes when one of its threads flushes: where
    /// loads acquire, each page that is served would name all of them.
    fn flushes_only_copies(&self) -> bool {
        self.published_steps && !self.loads_acquire
    }
}

type Actions<B> = Vec<Action<B>>;

/// The protocol at one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Home<B> {
    me: NodeId,
    config: Config,
    order: Order,
    /// What everybody has known of since the last barrier.
    start: VectorClock,
    /// Whose diffs for pages at home here have been applied.
    received: VectorClock,
    arrived: Vec<Arrived<B>>,
    /// Homes, writers, and the last interval of this epoch in which that writer
    /// wrote a page at home there: what I may have to wait for.
    need: BTreeMap<NodeId, BTreeMap<NodeId, Interval>>,
    /// What I wrote in this epoch, by the pages' home.
    own: BTreeMap<NodeId, Own>,
    table: Table<Entry>,
    /// Pages written in the open interval.
    dirty: Vec<PageId>,
    /// Number of pages that are [`State::Expected`].
    expected: usize,
    /// Pages at home here that were opened ahead in the open interval.
    opened_ahead: Vec<PageRange>,
    /// Further versions of pages at home here, see [`Entry::version`].
    versions: BTreeMap<PageId, Vec<Version>>,
    /// See [`PageCopy::after`]; of pages that were served in this epoch. Of copies here what
    /// they show and is not known, see [`shown`].
    after: BTreeMap<PageId, Vec<Version>>,
    /// The last interval of which others were shown something before it had ended.
    shown_open: Interval,
    /// The last interval that has ended with nothing to tell, until the next barrier tells that.
    ended_empty: Option<Interval>,
    pending: BTreeMap<PageId, Pending<B>>,
    parked: Vec<Parked>,
    /// Nodes that have come to a barrier, of which changes are parked.
    arrivals: Vec<(NodeId, Control)>,
    /// Pages to fetch before a thread misses them, in order.
    wanted: VecDeque<PageId>,
    changing: Changing,
    postponed: Postponed,
    locks: Locks,
    exclusive: exclusive_lease::ExclusiveLeases,
    /// What is done ahead of time.
    predictors: Predictors,
    /// What everybody wrote in this epoch, once everybody is at the barrier.
    written: Option<Vec<WriteNotice>>,
    /// What was written right before the barrier that this node has come to.
    kept: Option<barrier::Kept>,
    /// What threads that take no part in barriers want, until a barrier is over.
    deferred: barrier::Deferred,
    /// Messages of nodes that have left a barrier which I have not left.
    early: Vec<(NodeId, Message<B>)>,
    /// See [`Home::watching_all`].
    watches_all: bool,
}

impl<B: Clone + Body> Home<B> {
    /// The protocol at node `me` before anything happened.
    ///
    /// # Errors
    /// If the areas cannot be.
    pub fn new(me: NodeId, config: Config) -> Result<Self, AreaError> {
        let layout = Layout::new(config.nodes, &config.areas)?;
        let nodes = config.nodes;
        let order = Order::new(me, nodes, layout.pages(), config.fan_in, config.log_max);
        let predictors = config.heuristics.start(me, &layout);
        let mut this = Self {
            me,
            config,
            order,
            start: VectorClock::nothing(nodes),
            received: VectorClock::nothing(nodes),
            arrived: Vec::new(),
            need: BTreeMap::new(),
            own: BTreeMap::new(),
            table: Table::new(layout),
            dirty: Vec::new(),
            expected: 0,
            opened_ahead: Vec::new(),
            versions: BTreeMap::new(),
            after: BTreeMap::new(),
            shown_open: Interval::default(),
            ended_empty: None,
            pending: BTreeMap::new(),
            parked: Vec::new(),
            arrivals: Vec::new(),
            wanted: VecDeque::new(),
            changing: Changing::default(),
            postponed: Postponed::default(),
            locks: Locks::default(),
            exclusive: exclusive_lease::ExclusiveLeases::default(),
            predictors,
            written: None,
            kept: None,
            deferred: barrier::Deferred::default(),
            early: Vec::new(),
            watches_all: false,
        };
        if this.keeps_locks() {
            this.order.recall_locks();
        }
        Ok(this)
    }

    /// Homes notice all writes to their pages, also where nobody else has a copy,
    /// and a node that learns of an interval that wrote a page ends its own first if it
    /// has written that page: so each interval's changes of a page began after what
    /// was known then, and before what was not. For looking for [races](crate::races).
    #[must_use]
    pub fn watching_all(mut self) -> Self {
        self.watches_all = true;
        self.config.watch_home = true;
        self
    }

    /// What a home may do to a page of which nobody else has a copy.
    fn alone(&self) -> Protection {
        match self.config.watch_home {
            true => Protection::Watched,
            false => Protection::ReadWrite,
        }
    }

    /// Whether pages are open to writes that nobody has noticed.
    fn has_pages_ahead(&self) -> bool {
        self.expected > 0 || !self.opened_ahead.is_empty()
    }

    fn exists(&self, page: PageId) -> bool {
        page.0 < self.table.layout().pages()
    }

    /// The home of a page at the moment.
    #[must_use]
    pub fn home_of(&self, page: PageId) -> NodeId {
        self.table.get(page).home
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
            Message::Control(control) => {
                if self.arrival_waits(from, &control) {
                    return Ok(());
                }
                let first = actions.len();
                match self.order.control(from, control, actions)? {
                    News::None => {
                        self.send_kept_if_told(first, actions);
                        self.enter_barrier(actions)?;
                    }
                    News::Learned(notices) => {
                        self.learn(&notices, actions)?;
                        self.settle(actions)?;
                    }
                    News::Demanded(interval) => {
                        self.send_kept_if_told(first, actions);
                        self.end_if_seen(interval, actions);
                        self.enter_barrier(actions)?;
                    }
                    News::Recalled(lock) => self.lock_recalled(lock, actions),
                    News::Everybody { notices, .. } => self.everybody_arrived(notices, actions)?,
                }
                Ok(())
            }
            Message::Fetch { pages, need, .. } => self.fetch_asked(from, pages, need, actions),
            Message::Change {
                page,
                thread,
                change,
                need,
                known,
                ..
            } => {
                let changer = Changer {
                    node: from,
                    thread: Some(thread),
                    page,
                    change,
                    known,
                };
                self.change_asked(changer, need, actions)
            }
            Message::Changes {
                changes,
                need,
                known,
                ..
            } => self.changes_asked(from, changes, &need, &known, actions),
            Message::ChangesDone { changes, .. } => self.changes_done(from, changes, actions),
            Message::Changed {
                thread,
                before,
                shows,
                ..
            } => self.changed(from, thread, before, shows, actions),
            Message::Lease { term, pages, .. } => self.lease(from, term, &pages, actions),
            Message::Pages { first, copies, .. } => self.fetched(from, first, copies, actions),
            Message::Diffs {
                interval,
                diffs,
                more,
                ..
            } => self.diffs_arrived(from, interval, diffs, more, actions),
            Message::DiffsWanted { .. }
            | Message::DiffsOfPage { .. }
            | Message::HandOn { .. }
            | Message::HandedOn { .. } => Err(peer(from, "asks a home for single diffs")),
        }
    }
}

impl<B: Body + Clone + Debug> Protocol<B> for Home<B> {
    fn step(&mut self, input: Input<B>, actions: &mut Actions<B>) -> Result<(), Violation> {
        match input {
            Input::Fault {
                thread,
                page,
                access,
            } => self.fault(thread, page, access, actions)?,
            Input::Wrote(pages) => self.wrote(&pages, actions)?,
            Input::Operation { thread, operation } => self.operation(thread, operation, actions)?,
            Input::Postpone(page, change) => self.postpone(page, change, actions)?,
            Input::Message { from, message } => self.message(from, message, actions)?,
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

    fn wants_writes(&self, input: &Input<B>) -> bool {
        // What is learned may end the open interval, as may answers that the
        // sequencer gives to its own node, and it may make copies invalid.
        let ahead = self.has_pages_ahead();
        let touched = !self.dirty.is_empty() || ahead;
        match input {
            Input::Operation { .. } => ahead,
            // They may send what was postponed, and what was written before that.
            Input::Postpone(..) => ahead,
            Input::Fault { .. } => ahead && self.postponed.collected() > 0,
            Input::Wrote(_) => false,
            Input::Message { message, .. } => match message {
                // It may end the open interval.
                Message::Fetch { .. } | Message::Change { .. } | Message::Changes { .. } => {
                    // Nor is it told at a barrier what was not written then.
                    (self.config.loads_acquire || self.order.is_at_barrier()) && ahead
                }
                Message::Control(Control::Demand { interval, .. }) => {
                    ahead && *interval > self.order.interval
                }
                Message::Control(Control::Granted { .. } | Control::Recall { .. }) => touched,
                Message::Control(Control::Exchange { .. }) => self.order.is_root() && touched,
                // What they show may have to be learned of.
                Message::Pages { .. } => {
                    self.config.loads_acquire && self.order.is_root() && touched
                }
                // A fetch may have waited for it.
                Message::Diffs { .. } => self.config.loads_acquire && touched,
                Message::Lease { .. } => touched,
                // Operations may have waited for it.
                Message::ChangesDone { .. } => ahead && self.postponed.is_awaited(),
                Message::Changed { .. } | Message::Control(_) => false,
                Message::DiffsWanted { .. } | Message::DiffsOfPage { .. } => false,
                Message::HandOn { .. } | Message::HandedOn { .. } => false,
            },
        }
    }

    fn clock(&self) -> Option<(&VectorClock, Interval)> {
        self.watches_all
            .then_some((&self.order.seen, self.order.interval))
    }

    fn is_at_home(&self, page: PageId) -> bool {
        self.exists(page) && self.home_of(page) == self.me
    }

    fn awaits_diffs(&self) -> bool {
        !self.is_settled()
    }

    fn remembers_unseen_writes(&self) -> bool {
        self.notes_what_is_shown()
    }

    fn may_expose_unseen_writes(&self, page: PageId) -> bool {
        self.may_show_unknown(page)
    }

    fn forwards_atomics(&self, page: PageId) -> bool {
        self.forwards_changes() && self.exists(page)
    }

    fn batches_atomics(&self, page: PageId) -> bool {
        self.can_postpone(page)
    }

    fn start(&self, actions: &mut Actions<B>) {
        for (place, pages) in self.table.layout().stretches() {
            if place.home != self.me {
                actions.push(Action::Protect(pages, Protection::None));
            } else if self.config.watch_home && !place.pinned {
                actions.push(Action::Protect(pages, Protection::Watched));
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        self.invariants()
    }
}
