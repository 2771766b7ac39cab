//! The homeless protocol: writers keep what they changed, and whoever touches a
//! page fetches it from each of them and puts it together in causal order
//! (Keleher, Cox, Zwaenepoel: "Lazy Release Consistency for Software Distributed
//! Shared Memory", ISCA 1992; Keleher, Dwarkadas, Cox, Zwaenepoel: "TreadMarks",
//! USENIX 1994). States, messages and reasons: `docs/protocols/homeless.md`.

mod direct;
mod expect;
mod fetch;
mod message;
mod sole;
mod tidy;
mod write;

pub use message::Message;

use crate::area::{Layout, Place};
use crate::order::{FAN_IN, IfLate, LOG_MAX, News, Order, Request, Version, When, peer};
use crate::prefetch::Streams;
use crate::stretches::Stretches;
use crate::table::Table;
use crate::wire::WireError;
use crate::{
    Access, Action, Admits, Area, AreaError, Carried, Committed, Content, Diff, Input, Interval,
    LockId, Notice, Offer, Operation, PageRange, Protection, Protocol, Seen, Sequenced, Told,
    Violation, Wanted,
};
use direct::Offers;
use fathomp_base::{NodeId, PageId, ThreadId};
use fetch::Pending;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::ops::Range;
use tidy::Tidying;

/// What all nodes agree on before they start.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Nodes in the cluster, at least 1.
    pub nodes: u16,
    /// What is shared, and who owns it at first.
    pub areas: Vec<Area>,
    /// Diffs and twins that a node keeps before it asks for a tidying at the next
    /// barrier. Each takes 4,616 bytes at most.
    pub diffs_max: u32,
    /// Whether programs may rely on an ordinary load that sees an ordinary store
    /// to see what was stored before it, as compilers make it of atomic reads
    /// that acquire and writes that release. It costs: whoever serves a page that
    /// it writes unwatched ends its interval first.
    pub loads_acquire: bool,
    /// Whether a page that one node alone wrote between two barriers is that node's
    /// own from the second on.
    pub sole_writers: bool,
    /// Whether nodes can reach a log of intervals, and locks, without messages, and take
    /// pages out of each other's memory. If `loads_acquire` is set they must not.
    pub direct: bool,
    /// Most whole pages that a fault fetches; with 0 or 1 never more than the page
    /// that is missing.
    pub prefetch: u32,
    /// Children of a node in the barrier's tree, at least 1.
    pub fan_in: u16,
    /// Intervals that the sequencer's log has room for, at least 1. When it is full and
    /// somebody asks for something, everybody is told them.
    pub log_max: usize,
}

/// Pages fetched at once where a program goes through memory in order.
const PREFETCH: u32 = 16;

impl Config {
    /// As nodes have it, with room for diffs in so many MiB. If it is `plain`, every page
    /// that others have had is watched until the next tidying, and what changed in it is
    /// fetched by itself, so that counts mean what the SDP papers mean.
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
            sole_writers: !plain,
            direct: false,
            prefetch: if plain { 0 } else { PREFETCH },
            fan_in: FAN_IN,
            log_max: LOG_MAX,
        }
    }
}

type Actions<B> = Vec<Action<Message<Content>, B>>;

/// A page as its node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum State {
    /// Its owner has the only copy, and writes it unwatched. Elsewhere: not there.
    Untouched,
    /// Readable; nothing that is known of is missing.
    Valid,
    /// Writable, with a twin, which tells whether it was written.
    Expected,
    /// Writable, with a twin.
    Dirty,
    /// Of an earlier time; what is missing is known.
    Invalid,
    /// On its way.
    Pending,
}

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Entry {
    state: State,
    /// Who has all of it as of the last tidying, or of the beginning.
    owner: NodeId,
    /// The owner's threads write it without being watched.
    pinned: bool,
    /// Pinned, and fetched from here since the last interval that names it.
    served: bool,
    /// The interval whose diff has not been made: the twin is still there.
    twin: Option<Interval>,
    /// A copy was here and another node has become the page's only one: it is likely to
    /// be read again.
    missed: bool,
    /// The epoch in which the copy here was fetched in advance, plus one; 0 if it
    /// was not.
    ahead: u32,
    /// The last copy was fetched in advance and nobody had use for it.
    unwanted: bool,
    /// The last copy here was written, or a thread wanted to.
    rewritten: bool,
    /// Somebody has asked for it while it was being written here.
    wanted: bool,
    /// Whether others may take it, as they were told last.
    offer: Option<Offer>,
}

impl From<Place> for Entry {
    fn from(place: Place) -> Self {
        Self {
            state: State::Untouched,
            owner: place.home,
            pinned: place.pinned,
            served: false,
            twin: None,
            missed: false,
            ahead: 0,
            unwanted: false,
            rewritten: false,
            wanted: false,
            offer: None,
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
    /// Pages written in the open interval, perhaps.
    dirty: Vec<PageId>,
    /// Pages that may be written without a fault.
    expected: Vec<PageId>,
    /// My intervals of this epoch.
    own: Vec<Notice>,
    /// Intervals that barriers have told.
    told: Seen,
    /// Who wrote each page since the last tidying, in an order in which no
    /// interval comes before one that its writer knew of.
    history: Stretches<Vec<Version>>,
    /// Pages of all its entries.
    noted: u64,
    /// What of that is not part of my copy.
    missing: BTreeMap<PageId, Vec<Version>>,
    pending: BTreeMap<PageId, Pending<B>>,
    /// Pinned pages of mine among these.
    pulls: BTreeSet<PageId>,
    /// Pages that were borrowed since this node learned of something last.
    borrowed: Vec<PageId>,
    /// What others have to be told after this step.
    offers: Offers,
    streams: Streams,
    /// What this node knew of when others last asked, in this epoch, for a page that
    /// it had written unwatched.
    opened: Option<Seen>,
    /// Diffs and twins kept since the last tidying.
    kept: u32,
    /// The thread that came to a barrier which everybody has reached.
    leaving: Option<ThreadId>,
    tidying: Tidying,
    /// Faults of threads that take no part in barriers, until the tidying is over.
    deferred: Vec<(ThreadId, PageId, Access)>,
    /// What such threads ask of the sequencer, until the barrier is over.
    operations: Vec<(ThreadId, Operation)>,
    /// Messages of nodes that have left a barrier which I have not left.
    early: Vec<(NodeId, Message<B>)>,
}

impl<B: Clone> Homeless<B> {
    /// The protocol at node `me` before anything happened.
    ///
    /// # Errors
    /// If the areas cannot be.
    pub fn new(me: NodeId, config: Config) -> Result<Self, AreaError> {
        let layout = Layout::new(config.nodes, &config.areas)?;
        let (nodes, fan_in, log_max) = (config.nodes, config.fan_in, config.log_max);
        let mut order = Order::new(me, nodes, layout.pages(), fan_in, log_max);
        order.in_order = true;
        if config.direct && !config.loads_acquire {
            order.share_memory();
        }
        Ok(Self {
            me,
            told: Seen::nothing(config.nodes),
            config,
            order,
            table: Table::new(layout),
            dirty: Vec::new(),
            expected: Vec::new(),
            own: Vec::new(),
            history: Stretches::default(),
            noted: 0,
            missing: BTreeMap::new(),
            pending: BTreeMap::new(),
            pulls: BTreeSet::new(),
            borrowed: Vec::new(),
            offers: Offers::new(),
            streams: Streams::default(),
            opened: None,
            kept: 0,
            leaving: None,
            tidying: Tidying::No,
            deferred: Vec::new(),
            operations: Vec::new(),
            early: Vec::new(),
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
            // There is no home where that could be.
            Operation::Update(_) => {
                actions.push(Action::Refuse(thread));
                return Ok(());
            }
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
                    self.give_back(actions);
                    self.learn(&notices, actions)?;
                    self.settle(actions)?;
                }
                News::Recalled(lock) => self.release(lock, None, actions),
                News::Everybody { notices, full, cut } => {
                    self.everybody_arrived(&notices, full, cut, actions)?;
                }
            },
            Message::DiffsWanted {
                page, intervals, ..
            } => self.diffs_wanted(from, page, &intervals, actions)?,
            Message::PagesWanted { pages, .. } => self.pages_wanted(from, pages, actions)?,
            Message::Diffs { page, diffs, .. } => self.diffs_arrived(from, page, diffs, actions)?,
            Message::Pages {
                first,
                known,
                copies,
                ..
            } => self.pages_arrived(from, first, &known, copies, actions)?,
        }
        Ok(())
    }

    /// Takes an input in.
    fn input(
        &mut self,
        input: Input<Message<B>>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        match input {
            Input::Fault {
                thread,
                page,
                access,
            } if self.tidying == Tidying::No => self.fault(thread, page, access, actions)?,
            Input::Fault {
                thread,
                page,
                access,
            } => self.deferred.push((thread, page, access)),
            Input::Taken(_) | Input::Brought(_) | Input::Begun(_) => {}
            Input::Wrote(pages) => self.wrote(&pages, actions),
            Input::Left(pages) => self.were_left(pages, actions),
            Input::Borrowed(pages) => self.borrow(pages),
            Input::Kept(pages, changed) => self.were_kept(&pages, &changed, actions),
            Input::Logged(notices) => self.order.logged(notices, actions)?,
            Input::Claimed(lock, holder) => self.order.claimed(lock, holder, actions)?,
            Input::Operation { thread, operation } => self.operation(thread, operation, actions)?,
            Input::Message { from, message } => self.message(from, message, actions)?,
        }
        loop {
            if let Some(control) = self.order.next_own() {
                self.message(self.me, Message::Control(control), actions)?;
                continue;
            }
            let epoch = self.order.epoch;
            let Some(next) = self.early.iter().position(|(_, m)| m.epoch() == epoch) else {
                return Ok(());
            };
            let (from, message) = self.early.remove(next);
            self.message(from, message, actions)?;
        }
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

impl<B: Clone + Debug> Protocol<B> for Homeless<B> {
    type Incoming = Message<B>;
    type Outgoing = Message<Content>;

    fn step(
        &mut self,
        input: Input<Message<B>>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let first = actions.len();
        self.input(input, actions)?;
        self.tell_offers(first, actions);
        Ok(())
    }

    fn carries(message: &Message<Content>) -> Option<Carried> {
        match message {
            Message::Control(control) => control.carries(),
            _ => None,
        }
    }

    fn can_wait(message: &Message<Content>) -> bool {
        matches!(message, Message::Control(control) if control.can_wait())
    }

    fn told<'a>(&self, message: &'a Message<Content>) -> Option<Told<'a>> {
        match message {
            // At a barrier the sequencer has perhaps read that log to its end, and has to
            // hear of what threads write that take no part in it; this node may have left that
            // barrier in the same step.
            Message::Control(control) if !self.order.is_at_barrier() => {
                let told = control.told();
                told.filter(|told| told.epoch == self.order.epoch)
            }
            _ => None,
        }
    }

    const TELLS_VERSIONS: bool = true;

    fn wanted<'a>(&'a self, message: &'a Message<Content>) -> Option<Wanted<'a>> {
        self.wants(message)
    }

    fn taken(
        epoch: u32,
        pages: PageRange,
        copy: impl FnMut(PageId) -> (Vec<Version>, B),
    ) -> Option<Message<B>> {
        Some(Message::Pages {
            epoch,
            first: pages.first(),
            known: Vec::new(),
            copies: pages.iter().map(copy).collect(),
        })
    }

    fn committed(&self) -> Option<Committed<'_>> {
        self.is_direct().then_some(Committed {
            epoch: self.order.epoch,
            received: &self.order.seen,
            begun: &self.order.seen,
            known: &self.order.seen,
            admits: Admits::Nothing,
        })
    }

    fn sequenced(&self) -> Option<Sequenced<'_>> {
        self.order.sequenced()
    }

    fn stands(&self) -> Option<u32> {
        self.has_to_wait(Operation::Flush)
            .then_some(self.order.epoch)
    }

    fn wants_writes(&self, input: &Input<Message<B>>) -> bool {
        self.asks_for_writes(input)
    }

    fn start(&self, actions: &mut Actions<B>) {
        for (place, pages) in self.table.layout().stretches() {
            if place.home != self.me {
                actions.push(Action::Protect(pages, Protection::None));
            }
        }
    }

    fn fill(message: Message<Content>, content: impl FnMut(Content) -> B) -> Message<B> {
        message.fill(content)
    }

    fn encode(
        message: &Message<Content>,
        bytes: &mut Vec<u8>,
        content: impl FnMut(Content, &mut Vec<u8>),
    ) {
        message.encode(bytes, content);
    }

    fn decode(
        bytes: &[u8],
        mut content: impl FnMut(Option<Range<usize>>) -> B,
    ) -> Result<Message<B>, WireError> {
        message::decode(bytes, |range| content(Some(range)))
    }
}
