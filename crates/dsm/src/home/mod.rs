//! The home-based protocol: every page has a home that always holds its
//! committed content; writers send diffs there when they release, readers fetch
//! whole pages from there (Zhou, Iftode, Li: "Performance Evaluation of Two
//! Home-Based Lazy Release Consistency Protocols for Shared Virtual Memory
//! Systems", OSDI 1996; SCASH: Harada, Tezuka, Hori, Sumimoto, Takahashi,
//! Ishikawa, 1999). States, messages and reasons: `docs/protocols/home.md`.

mod barrier;
mod message;
mod prefetch;
mod release;
mod sequencer;
mod sharing;
mod table;
mod wire;

pub use message::{Control, Message, PageCopy, Request, Version};

use crate::area::Layout;
use crate::wire::WireError;
use crate::{
    Action, Area, AreaError, Content, Input, Interval, Notice, Operation, Protection, Protocol,
    Seen, Violation,
};
use barrier::Barrier;
use fathomp_base::{NodeId, PageId, ThreadId};
use message::IfLate;
use prefetch::Streams;
use release::{Arrived, Own};
use sequencer::Sequencer;
use sharing::{Parked, Pending};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Debug;
use std::ops::Range;
use table::Table;

/// The node that sequences intervals and is the root of the barrier's tree.
const ROOT: NodeId = NodeId(0);

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
    /// Most pages that a fault fetches; with 0 or 1 never more than the page
    /// that is missing.
    pub prefetch: u32,
    /// Whether writes to watched pages are told by [`Input::Wrote`] and not by
    /// faults.
    pub silent_writes: bool,
    /// Children of a node in the barrier's tree, at least 1.
    pub fan_in: u16,
}

type Actions<B> = Vec<Action<Message<Content>, B>>;

/// The protocol at one node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Home<B> {
    me: NodeId,
    config: Config,
    /// Barriers passed.
    epoch: u32,
    /// My last interval that has ended.
    interval: Interval,
    /// Whose intervals I know of.
    seen: Seen,
    /// Of those, what everybody has known since the last barrier.
    start: Seen,
    /// Whose diffs for pages at home here have been applied.
    received: Seen,
    arrived: Vec<Arrived<B>>,
    /// Homes, writers, and the last interval of this epoch in which that writer
    /// wrote a page at home there: what I may have to wait for.
    need: BTreeMap<NodeId, BTreeMap<NodeId, Interval>>,
    /// What I wrote in this epoch, by the pages' home.
    own: BTreeMap<NodeId, Own>,
    table: Table,
    /// Pages written in the open interval.
    dirty: Vec<PageId>,
    /// Further versions of pages at home here, see [`table::Entry::version`].
    versions: BTreeMap<PageId, Vec<Version>>,
    pending: BTreeMap<PageId, Pending<B>>,
    parked: Vec<Parked>,
    streams: Streams,
    /// Threads that wait for the sequencer.
    asking: BTreeSet<ThreadId>,
    /// Threads whose operation ends when all diffs for pages at home here that I
    /// know of have arrived.
    settling: Vec<ThreadId>,
    barrier: Barrier,
    /// Messages of nodes that have left a barrier which I have not left.
    early: Vec<(NodeId, Message<B>)>,
    /// Messages to myself.
    loopback: VecDeque<Control>,
    /// At the root only.
    sequencer: Option<Sequencer>,
}

impl<B: Clone> Home<B> {
    /// The protocol at node `me` before anything happened.
    ///
    /// # Errors
    /// If the areas cannot be.
    pub fn new(me: NodeId, config: Config) -> Result<Self, AreaError> {
        let layout = Layout::new(config.nodes, &config.areas)?;
        let nodes = config.nodes;
        Ok(Self {
            me,
            config,
            epoch: 0,
            interval: Interval::default(),
            seen: Seen::nothing(nodes),
            start: Seen::nothing(nodes),
            received: Seen::nothing(nodes),
            arrived: Vec::new(),
            need: BTreeMap::new(),
            own: BTreeMap::new(),
            table: Table::new(layout),
            dirty: Vec::new(),
            versions: BTreeMap::new(),
            pending: BTreeMap::new(),
            parked: Vec::new(),
            streams: Streams::default(),
            asking: BTreeSet::new(),
            settling: Vec::new(),
            barrier: Barrier::default(),
            early: Vec::new(),
            loopback: VecDeque::new(),
            sequencer: (me == ROOT).then(|| Sequencer::new(nodes)),
        })
    }

    /// The home of a page at the moment.
    #[must_use]
    pub fn home_of(&self, page: PageId) -> NodeId {
        self.table.get(page).home
    }

    fn operation(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let (request, notice) = match operation {
            Operation::Barrier => return self.come_to_barrier(thread, actions),
            Operation::Release(lock) => {
                let notice = self.end_interval(actions);
                // Nobody waits for this thread's news but who gets the lock next.
                actions.push(Action::Resume(thread));
                (Request::Release(lock), notice)
            }
            Operation::Flush => (Request::Flush(thread), self.end_interval(actions)),
            // What was written before has to be told at the next release only.
            Operation::Acquire(lock) => (Request::Acquire(lock, thread), None),
            Operation::TryAcquire(lock) => (Request::TryAcquire(lock, thread), None),
        };
        let asks = !matches!(request, Request::Release(_));
        if asks && !self.asking.insert(thread) {
            return Err(Violation::Runtime("a thread asks twice at once"));
        }
        self.exchange(request, notice, actions);
        Ok(())
    }

    fn exchange(&mut self, request: Request, notice: Option<Notice>, actions: &mut Actions<B>) {
        let exchange = Control::Exchange {
            epoch: self.epoch,
            request,
            notice,
        };
        self.send(ROOT, exchange, actions);
    }

    fn send(&mut self, to: NodeId, control: Control, actions: &mut Actions<B>) {
        if to == self.me {
            self.loopback.push_back(control);
        } else {
            actions.push(Action::Send(to, Message::Control(control)));
        }
    }

    fn message(
        &mut self,
        from: NodeId,
        message: Message<B>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if from.0 >= self.config.nodes {
            return Err(Violation::Runtime(
                "a message from a node that does not exist",
            ));
        }
        let epoch = message.epoch();
        if epoch == self.epoch {
            self.take(from, message, actions)
        } else if epoch == self.epoch + 1 {
            self.early.push((from, message));
            Ok(())
        } else if epoch > self.epoch {
            Err(peer(from, "is barriers ahead"))
        } else {
            match message.if_late() {
                IfLate::Take => self.take(from, message, actions),
                IfLate::Drop => Ok(()),
                IfLate::Refuse => Err(peer(from, "is a barrier behind")),
            }
        }
    }

    fn take(
        &mut self,
        from: NodeId,
        message: Message<B>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        match message {
            Message::Control(control) => self.control(from, control, actions),
            Message::Pages { first, copies, .. } => self.fetched(from, first, copies, actions),
            Message::Diffs {
                interval, diffs, ..
            } => self.diffs_arrived(from, interval, diffs, actions),
        }
    }

    fn control(
        &mut self,
        from: NodeId,
        control: Control,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let for_sequencer = matches!(
            control,
            Control::Granted { .. } | Control::Refused { .. } | Control::Demand { .. }
        );
        if for_sequencer && from != ROOT {
            return Err(peer(from, "answers for the sequencer"));
        }
        match control {
            Control::Fetch { pages, need, .. } => self.fetch_asked(from, pages, need, actions),
            Control::Exchange {
                request, notice, ..
            } => self.exchange_asked(from, request, notice, actions),
            Control::Granted {
                thread, notices, ..
            } => {
                self.learn(from, &notices, actions)?;
                if let Some(thread) = thread {
                    self.answered(from, thread)?;
                    self.settling.push(thread);
                }
                self.settle(actions);
                Ok(())
            }
            Control::Refused { thread, .. } => {
                self.answered(from, thread)?;
                actions.push(Action::Refuse(thread));
                self.enter_barrier(actions);
                Ok(())
            }
            Control::Demand { .. } => {
                self.demanded(actions);
                Ok(())
            }
            Control::Arrive { notices, .. } => self.child_arrived(from, notices, actions),
            Control::Depart { notices, .. } => self.all_arrived(from, notices, actions),
        }
    }

    fn answered(&mut self, from: NodeId, thread: ThreadId) -> Result<(), Violation> {
        if self.asking.remove(&thread) {
            Ok(())
        } else {
            Err(peer(from, "answers a thread that did not ask"))
        }
    }

    fn exchange_asked(
        &mut self,
        from: NodeId,
        request: Request,
        notice: Option<Notice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        self.check(from, notice.as_slice())?;
        let (me, loopback) = (self.me, &mut self.loopback);
        let Some(sequencer) = &mut self.sequencer else {
            return Err(peer(from, "takes this node for the sequencer"));
        };
        sequencer.exchange(from, request, notice, |to, control| {
            if to == me {
                loopback.push_back(control);
            } else {
                actions.push(Action::Send(to, Message::Control(control)));
            }
        })
    }

    /// True if all diffs for pages at home here that I know of have arrived.
    fn is_settled(&self) -> bool {
        self.need.get(&self.me).is_none_or(|need| {
            let mut need = need.iter();
            need.all(|(writer, interval)| self.received.covers(*writer, *interval))
        })
    }

    /// Ends what waits for diffs to arrive if they all have: pages that came with
    /// news, operations, the barrier.
    fn settle(&mut self, actions: &mut Actions<B>) {
        if self.is_settled() {
            self.release_held(actions);
            actions.extend(self.settling.drain(..).map(Action::Resume));
            self.enter_barrier(actions);
            self.leave_barrier_if_complete(actions);
        }
    }
}

impl<B: Clone + Debug> Protocol<B> for Home<B> {
    type Incoming = Message<B>;
    type Outgoing = Message<Content>;

    fn step(
        &mut self,
        input: Input<Message<B>>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        match input {
            Input::Fault {
                thread,
                page,
                access,
            } => self.fault(thread, page, access, actions)?,
            Input::Wrote(pages) => self.wrote(&pages)?,
            Input::Operation { thread, operation } => self.operation(thread, operation, actions)?,
            Input::Message { from, message } => self.message(from, message, actions)?,
        }
        loop {
            if let Some(control) = self.loopback.pop_front() {
                self.message(self.me, Message::Control(control), actions)?;
                continue;
            }
            let epoch = self.epoch;
            let Some(next) = self.early.iter().position(|(_, m)| m.epoch() == epoch) else {
                return Ok(());
            };
            let (from, message) = self.early.remove(next);
            self.message(from, message, actions)?;
        }
    }

    fn wants_writes(&self, input: &Input<Message<B>>) -> bool {
        match input {
            Input::Operation { .. } => true,
            Input::Fault { .. } | Input::Wrote(_) => false,
            Input::Message { message, .. } => match message {
                Message::Control(Control::Fetch { .. }) => true,
                // What is learned may end the open interval, as may answers that
                // the sequencer gives to its own node.
                Message::Control(Control::Granted { .. }) => !self.dirty.is_empty(),
                Message::Control(Control::Exchange { .. }) | Message::Pages { .. } => {
                    self.sequencer.is_some() && !self.dirty.is_empty()
                }
                Message::Control(_) | Message::Diffs { .. } => false,
            },
        }
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
        content: impl FnMut(Range<usize>) -> B,
    ) -> Result<Message<B>, WireError> {
        wire::decode(bytes, content)
    }
}

fn peer(from: NodeId, what: &'static str) -> Violation {
    Violation::Peer { from, what }
}
