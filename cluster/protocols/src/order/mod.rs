//! What both protocols share: intervals in one order, locks, barriers.
//!
//! A protocol says what it wrote (notices) and asks; it is told what others wrote
//! ([`News`]). What that means for pages is its own business.

mod arrivals;
mod barrier;
mod sequencer;

use crate::message::{Control, PageCopy, Request};
use crate::{Action, Interval, LockId, VectorClock, Violation, WriteNotice};
use arrivals::Barrier;
use fathomp_types::{NodeId, ThreadId};
use sequencer::Sequencer;
use std::collections::{BTreeSet, VecDeque};

pub use crate::interval::{ROOT, Version};

/// In place of a thread: the node asks by itself.
pub(crate) const ITSELF: ThreadId = ThreadId(u32::MAX - 1);

/// Nodes below a node in the tree of a barrier.
pub const FAN_IN: u16 = 4;

/// Intervals that the sequencer keeps, as nodes have it.
pub(crate) const LOG_MAX: usize = 1024;

/// A node's place in the order of things.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Order {
    pub(crate) me: NodeId,
    nodes: u16,
    pages: u32,
    fan_in: u16,
    /// Whether barriers tell single intervals in the log's order.
    pub(crate) in_order: bool,
    /// Barriers passed.
    pub(crate) epoch: u32,
    /// My last interval that has ended.
    pub(crate) interval: Interval,
    /// Whose intervals I know of.
    pub(crate) seen: VectorClock,
    /// Threads that wait for the sequencer, which answers at once.
    asking: BTreeSet<ThreadId>,
    /// Threads that wait for a lock. Whoever has it may be a thread that takes no part in
    /// barriers, and stand still until one is over: so a node comes to a barrier without
    /// waiting for these.
    queued: BTreeSet<ThreadId>,
    /// Threads that have its answer, and wait for what it says to be done here.
    settling: Vec<ThreadId>,
    /// Threads that have seen something of intervals of which this node has to learn.
    learning: Vec<(ThreadId, Vec<Version>)>,
    barrier: Barrier,
    /// Messages to myself.
    loopback: VecDeque<Control>,
    /// At the root only.
    sequencer: Option<Sequencer>,
}

/// What a message means for pages.
#[derive(Debug)]
pub(crate) enum News {
    /// Nothing.
    None,
    /// Others' intervals.
    Learned(Vec<WriteNotice>),
    /// A lock that is kept here is wanted elsewhere: it is to be [released](crate::Operation)
    /// by [`ITSELF`].
    Recalled(LockId),
    /// Somebody has seen something of an interval of this node, which has perhaps not ended.
    Demanded(Interval),
    /// Everybody is at the barrier.
    Everybody {
        /// What they wrote.
        notices: Vec<WriteNotice>,
        /// It is time to tidy up.
        full: bool,
        /// Notices that were told before are not among them.
        cut: bool,
    },
}

/// When a message belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    Early,
    Late,
}

impl Order {
    pub(crate) fn new(me: NodeId, nodes: u16, pages: u32, fan_in: u16, log_max: usize) -> Self {
        Self {
            me,
            nodes,
            pages,
            fan_in: fan_in.max(1),
            in_order: false,
            epoch: 0,
            interval: Interval::default(),
            seen: VectorClock::nothing(nodes),
            asking: BTreeSet::new(),
            queued: BTreeSet::new(),
            settling: Vec::new(),
            learning: Vec::new(),
            barrier: Barrier::default(),
            loopback: VecDeque::new(),
            sequencer: (me == ROOT).then(|| Sequencer::new(nodes, log_max)),
        }
    }

    /// Nodes keep locks until they are recalled.
    pub(crate) fn recall_locks(&mut self) {
        if let Some(sequencer) = &mut self.sequencer {
            sequencer.recalls = true;
        }
    }

    /// My open interval ends; its number.
    pub(crate) fn end_interval(&mut self) -> Interval {
        self.interval = self.interval.next();
        self.seen.learn(self.me, self.interval);
        self.interval
    }

    /// A thread asks for something, and stands still until it has it.
    pub(crate) fn ask<B>(
        &mut self,
        thread: ThreadId,
        request: Request,
        notice: Option<WriteNotice>,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), Violation> {
        let (ask, other) = match request {
            Request::Acquire(..) => (&mut self.queued, &self.asking),
            _ => (&mut self.asking, &self.queued),
        };
        if other.contains(&thread) || !ask.insert(thread) {
            return Err(Violation::Runtime("a thread asks twice at once"));
        }
        self.exchange(request, notice, actions);
        Ok(())
    }

    pub(crate) fn exchange<B>(
        &mut self,
        request: Request,
        notice: Option<WriteNotice>,
        actions: &mut Vec<Action<B>>,
    ) {
        let exchange = Control::Exchange {
            epoch: self.epoch,
            request,
            notice,
        };
        self.send(ROOT, exchange, actions);
    }

    /// A thread that stands still has others told of an interval, and wants nothing itself.
    pub(crate) fn publish<B>(
        &mut self,
        thread: ThreadId,
        notice: Option<WriteNotice>,
        actions: &mut Vec<Action<B>>,
    ) {
        if notice.is_some() {
            self.exchange(Request::Publish, notice, actions);
        }
        actions.push(Action::Resume(thread));
    }

    /// Makes sure that this node learns of intervals that others know of.
    pub(crate) fn learn_soon<B>(
        &mut self,
        mut versions: Vec<Version>,
        actions: &mut Vec<Action<B>>,
    ) {
        versions.retain(|version| !self.knows(&[*version]));
        if !versions.is_empty() {
            self.exchange(Request::Learn(versions), None, actions);
        }
    }

    /// The same for a thread, which stands still until this node has done so.
    pub(crate) fn learn_for<B>(
        &mut self,
        thread: ThreadId,
        versions: Vec<Version>,
        actions: &mut Vec<Action<B>>,
    ) {
        self.learn_soon(versions.clone(), actions);
        self.learning.push((thread, versions));
    }

    /// A barrier is over, which has told what had ended by then: asks for the rest anew.
    pub(crate) fn learn_again<B>(&mut self, actions: &mut Vec<Action<B>>) {
        let versions = self.learning.iter().flat_map(|(_, versions)| versions);
        let versions = versions.copied().collect();
        self.learn_soon(versions, actions);
    }

    /// Whether a node that sees the page knows of all that comes before what it shows.
    pub(crate) fn knows_copy<C>(&self, copy: &PageCopy<C>) -> bool {
        self.knows(&copy.versions) && self.knows(&copy.after)
    }

    pub(crate) fn knows(&self, versions: &[Version]) -> bool {
        versions
            .iter()
            .all(|(writer, interval)| self.seen.covers(*writer, *interval))
    }

    fn send<B>(&mut self, to: NodeId, control: Control, actions: &mut Vec<Action<B>>) {
        if to == self.me {
            self.loopback.push_back(control);
        } else {
            actions.push(Action::Send(to, control.into()));
        }
    }

    /// The next message to myself.
    pub(crate) fn next_own(&mut self) -> Option<Control> {
        self.loopback.pop_front()
    }

    /// Whether a message of `epoch` from `from` is to be taken now.
    pub(crate) fn when(&self, from: NodeId, epoch: u32) -> Result<When, Violation> {
        if from.0 >= self.nodes {
            let what = "a message from a node that does not exist";
            Err(Violation::Runtime(what))
        } else if epoch == self.epoch {
            Ok(When::Now)
        } else if epoch < self.epoch {
            Ok(When::Late)
        } else if epoch == self.epoch + 1 {
            Ok(When::Early)
        } else {
            Err(peer(from, "is barriers ahead"))
        }
    }

    pub(crate) fn control<B>(
        &mut self,
        from: NodeId,
        control: Control,
        actions: &mut Vec<Action<B>>,
    ) -> Result<News, Violation> {
        let for_sequencer = matches!(
            control,
            Control::Granted { .. }
                | Control::Refused { .. }
                | Control::Demand { .. }
                | Control::Recall { .. }
        );
        if for_sequencer && from != ROOT {
            return Err(peer(from, "answers for the sequencer"));
        }
        match control {
            Control::Exchange {
                epoch,
                request,
                mut notice,
            } => {
                if let Some(notice) = &mut notice {
                    notice.late |= self.in_order && epoch < self.epoch;
                }
                self.exchange_asked(from, request, notice, actions)?;
            }
            Control::Granted {
                epoch,
                thread,
                notices,
            } => {
                self.check(from, &notices)?;
                if let Some(thread) = thread {
                    self.answered(from, thread, epoch)?;
                    self.settling.push(thread);
                }
                // If it is late, the barrier that has overtaken it has told the same.
                let is_late = epoch < self.epoch;
                return Ok(News::Learned(if is_late { Vec::new() } else { notices }));
            }
            Control::Refused { epoch, thread } => {
                self.answered(from, thread, epoch)?;
                actions.push(Action::Refuse(thread));
            }
            Control::Demand { interval, .. } => {
                self.demanded(actions);
                return Ok(News::Demanded(interval));
            }
            Control::Recall { lock, .. } => return Ok(News::Recalled(lock)),
            Control::Alert { .. } => self.alerted(from, actions)?,
            Control::Arrive { notices, full, .. } => {
                self.check(from, &notices)?;
                self.child_arrived(from, notices, full, actions)?;
            }
            Control::Depart {
                notices, full, cut, ..
            } => {
                self.check(from, &notices)?;
                self.all_arrived(from, &notices, full, cut, actions)?;
                return Ok(News::Everybody { notices, full, cut });
            }
        }
        Ok(News::None)
    }

    fn answered(&mut self, from: NodeId, thread: ThreadId, epoch: u32) -> Result<(), Violation> {
        let is_late = epoch < self.epoch;
        if self.queued.remove(&thread) || !is_late && self.asking.remove(&thread) {
            Ok(())
        } else {
            Err(peer(from, "answers a thread that did not ask"))
        }
    }

    fn exchange_asked<B>(
        &mut self,
        from: NodeId,
        request: Request,
        notice: Option<WriteNotice>,
        actions: &mut Vec<Action<B>>,
    ) -> Result<(), Violation> {
        self.check(from, notice.as_slice())?;
        let (me, loopback) = (self.me, &mut self.loopback);
        let Some(sequencer) = &mut self.sequencer else {
            return Err(peer(from, "takes this node for the sequencer"));
        };
        let flushes = matches!(request, Request::Flush(_));
        sequencer.exchange(from, request, notice, sender(me, loopback, actions))?;
        if flushes {
            self.alert(actions);
        }
        Ok(())
    }

    /// Refuses notices that speak of nodes, pages or intervals that do not exist.
    fn check(&self, from: NodeId, notices: &[WriteNotice]) -> Result<(), Violation> {
        let pages = u64::from(self.pages);
        let exists = |n: &WriteNotice| n.writer.0 < self.nodes && n.pages.end() <= pages;
        let has_ended = |n: &WriteNotice| n.writer != self.me || n.interval <= self.interval;
        if !notices.iter().all(exists) {
            Err(peer(from, "tells of nodes or pages that do not exist"))
        } else if !notices.iter().all(has_ended) {
            Err(peer(
                from,
                "tells of an interval of this node that has not ended",
            ))
        } else {
            Ok(())
        }
    }

    /// Everything is done that the sequencer's answers said. Who gets a lock while its node
    /// is at a barrier, where it could not be told everything, goes on when that is over.
    pub(crate) fn settle<B>(&mut self, actions: &mut Vec<Action<B>>) {
        if self.is_root() || !self.is_at_barrier() {
            let threads = self.settling.drain(..).filter(|thread| *thread != ITSELF);
            actions.extend(threads.map(Action::Resume));
            let seen = &self.seen;
            let known = self.learning.extract_if(.., |(_, versions)| {
                let mut versions = versions.iter();
                versions.all(|(writer, interval)| seen.covers(*writer, *interval))
            });
            actions.extend(known.map(|(thread, _)| Action::Resume(thread)));
        }
    }

    /// Whether what this node asked for by itself is not done.
    pub(crate) fn waits_for_itself(&self) -> bool {
        let asks = self.queued.contains(&ITSELF) || self.asking.contains(&ITSELF);
        asks || self.settling.contains(&ITSELF)
    }

    /// True at the sequencer's node.
    pub(crate) fn is_root(&self) -> bool {
        self.sequencer.is_some()
    }
}

/// Sends what the sequencer at node `me` says.
fn sender<'a, B>(
    me: NodeId,
    loopback: &'a mut VecDeque<Control>,
    actions: &'a mut Vec<Action<B>>,
) -> impl FnMut(NodeId, Control) + 'a {
    move |to, control| match to == me {
        true => loopback.push_back(control),
        false => actions.push(Action::Send(to, control.into())),
    }
}

pub(crate) fn peer(from: NodeId, what: &'static str) -> Violation {
    Violation::Peer { from, what }
}
