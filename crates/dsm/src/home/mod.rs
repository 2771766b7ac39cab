//! The home-based protocol: every page has a home that always holds its
//! committed content; writers send diffs there when they release, readers fetch
//! whole pages from there (Zhou, Iftode, Li: "Performance Evaluation of Two
//! Home-Based Lazy Release Consistency Protocols for Shared Virtual Memory
//! Systems", OSDI 1996; SCASH: Harada, Tezuka, Hori, Sumimoto, Takahashi,
//! Ishikawa, 1999). States, messages and reasons: `docs/protocols/home.md`.

mod barrier;
mod homes;
mod message;
mod page;
mod sequencer;
mod sharing;

pub use homes::Placement;
pub use message::{Control, Message, Request, Version};

use crate::{Action, Content, Input, Interval, Notice, Operation, Protocol, Seen, Violation};
use barrier::Barrier;
use fathomp_base::{NodeId, PageId, ThreadId};
use homes::Homes;
use message::Late;
use page::Page;
use sequencer::Sequencer;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// The node that sequences intervals and is the root of the barrier's tree.
const ROOT: NodeId = NodeId(0);

/// What all nodes agree on before they start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Config {
    /// Nodes in the cluster, at least 1.
    pub nodes: u16,
    /// Pages in the shared range.
    pub pages: u32,
    /// Homes at the beginning.
    pub placement: Placement,
    /// Whether a page moves to the node that alone wrote it between two
    /// barriers.
    pub migrate: bool,
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
    /// Whose intervals I have learned of.
    seen: Seen,
    /// Whose diffs for pages at home here have arrived.
    received: Seen,
    /// Length of the log of this epoch that I have read.
    position: u32,
    /// Homes, writers, and the last interval of this epoch in which that writer
    /// wrote a page at home there: what I may have to wait for.
    need: BTreeMap<NodeId, BTreeMap<NodeId, Interval>>,
    /// My own intervals of this epoch.
    own: Vec<Notice>,
    homes: Homes,
    pages: BTreeMap<PageId, Page<B>>,
    /// Pages written in the open interval.
    dirty: BTreeSet<PageId>,
    /// Fetches whose content has not all arrived here.
    parked: Vec<(NodeId, PageId, Vec<Version>)>,
    /// Threads whose operation ends when all diffs for pages at home here that I
    /// know of have arrived.
    settling: Vec<ThreadId>,
    /// Threads that wait for the sequencer.
    asking: BTreeSet<ThreadId>,
    barrier: Barrier,
    /// Messages of nodes that have left a barrier which I have not left.
    early: Vec<(NodeId, Message<B>)>,
    /// Messages to myself.
    loopback: VecDeque<Control>,
    /// At the root only.
    sequencer: Option<Sequencer>,
}

impl<B: Clone> Home<B> {
    /// The protocol at node `me` before anything happened. All pages are
    /// zero everywhere; those at home here may be read and written, the others
    /// must be protected against both.
    #[must_use]
    pub fn new(me: NodeId, config: Config) -> Self {
        Self {
            me,
            config,
            epoch: 0,
            interval: Interval::default(),
            seen: Seen::nothing(config.nodes),
            received: Seen::nothing(config.nodes),
            position: 0,
            need: BTreeMap::new(),
            own: Vec::new(),
            homes: Homes::new(config.nodes, config.pages, config.placement),
            pages: BTreeMap::new(),
            dirty: BTreeSet::new(),
            parked: Vec::new(),
            settling: Vec::new(),
            asking: BTreeSet::new(),
            barrier: Barrier::default(),
            early: Vec::new(),
            loopback: VecDeque::new(),
            sequencer: (me == ROOT).then(|| Sequencer::new(config.nodes)),
        }
    }

    /// The home of a page at the moment.
    #[must_use]
    pub fn home_of(&self, page: PageId) -> NodeId {
        self.homes.of(page)
    }

    fn operation(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if operation == Operation::Barrier {
            return self.enter_barrier(thread, actions);
        }
        let notices = self.end_interval(actions);
        let request = match operation {
            Operation::Release(lock) => {
                // Nobody waits for this thread's news but who gets the lock next.
                actions.push(Action::Resume(thread));
                Request::Release(lock)
            }
            Operation::Acquire(lock) => self.ask(thread, Request::Acquire(lock, thread))?,
            Operation::Flush | Operation::Barrier => self.ask(thread, Request::Flush(thread))?,
        };
        self.exchange(request, notices, actions);
        Ok(())
    }

    fn ask(&mut self, thread: ThreadId, request: Request) -> Result<Request, Violation> {
        if self.asking.insert(thread) {
            Ok(request)
        } else {
            Err(Violation::Runtime("a thread asks twice at once"))
        }
    }

    fn exchange(&mut self, request: Request, notices: Vec<Notice>, actions: &mut Actions<B>) {
        let exchange = Control::Exchange {
            epoch: self.epoch,
            request,
            position: self.position,
            notices,
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
        match message.epoch() {
            Some(epoch) if epoch == self.epoch + 1 => self.early.push((from, message)),
            Some(epoch) if epoch < self.epoch => match message.if_late() {
                Late::Take => self.take(from, message, actions)?,
                Late::Drop => {}
                Late::Refuse => return Err(peer(from, "is an epoch behind")),
            },
            Some(epoch) if epoch > self.epoch => return Err(peer(from, "is epochs ahead")),
            _ => self.take(from, message, actions)?,
        }
        Ok(())
    }

    fn take(
        &mut self,
        from: NodeId,
        message: Message<B>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        match message {
            Message::Control(control) => self.control(from, control, actions),
            Message::Page {
                page,
                versions,
                content,
            } => self.fetched(from, page, versions, content, actions),
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
        match control {
            Control::Fetch { page, need, .. } => self.fetch_asked(from, page, need, actions),
            Control::Exchange {
                request,
                position,
                notices,
                ..
            } => self.exchange_asked(from, request, position, notices, actions),
            Control::Granted {
                thread,
                position,
                notices,
                ..
            } => {
                if from != ROOT {
                    return Err(peer(from, "answers for the sequencer"));
                }
                self.learn(from, notices, actions)?;
                self.position = self.position.max(position);
                if let Some(thread) = thread {
                    if !self.asking.remove(&thread) {
                        return Err(peer(from, "answers a thread that did not ask"));
                    }
                    self.settling.push(thread);
                }
                self.settle(actions);
                Ok(())
            }
            Control::Demand { .. } => {
                if self.barrier.is_entered() {
                    self.exchange(Request::Publish, self.own.clone(), actions);
                }
                Ok(())
            }
            Control::Arrive { notices, .. } => self.child_arrived(from, notices, actions),
            Control::Depart { notices, .. } => self.all_arrived(from, notices, actions),
        }
    }

    fn exchange_asked(
        &mut self,
        from: NodeId,
        request: Request,
        position: u32,
        notices: Vec<Notice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let (me, loopback) = (self.me, &mut self.loopback);
        let Some(sequencer) = &mut self.sequencer else {
            return Err(peer(from, "takes this node for the sequencer"));
        };
        sequencer.exchange(from, request, position, notices, |to, control| {
            if to == me {
                loopback.push_back(control);
            } else {
                actions.push(Action::Send(to, Message::Control(control)));
            }
        })
    }

    /// Ends operations whose diffs have all arrived, and the barrier.
    fn settle(&mut self, actions: &mut Actions<B>) {
        let settled = self.need.get(&self.me).is_none_or(|need| {
            need.iter()
                .all(|(w, interval)| self.received.covers(*w, *interval))
        });
        if settled {
            actions.extend(self.settling.drain(..).map(Action::Resume));
            self.leave_barrier_if_complete(actions);
        }
    }
}

impl<B: Clone> Protocol<B> for Home<B> {
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
            Input::Operation { thread, operation } => self.operation(thread, operation, actions)?,
            Input::Message { from, message } => self.message(from, message, actions)?,
        }
        loop {
            if let Some(control) = self.loopback.pop_front() {
                self.message(self.me, Message::Control(control), actions)?;
            } else if let Some(next) = self
                .early
                .iter()
                .position(|(_, m)| m.epoch() == Some(self.epoch))
            {
                let (from, message) = self.early.remove(next);
                self.message(from, message, actions)?;
            } else {
                return Ok(());
            }
        }
    }

    fn fill(message: Message<Content>, content: impl FnMut(Content) -> B) -> Message<B> {
        message.fill(content)
    }
}

fn peer(from: NodeId, what: &'static str) -> Violation {
    Violation::Peer { from, what }
}
