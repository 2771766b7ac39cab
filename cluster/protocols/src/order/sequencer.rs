//! The one place where intervals are put in order.
//!
//! Node 0 appends every interval that ends at a flush or a lock to the log of
//! the epoch. Whoever acquires gets what of it has not been told to its node.
//! That orders all flushes (OpenMP 5.2, section 1.4.4, requires an order for
//! flushes of common variables) and makes a lock carry at least what happened
//! before.

use super::Version;
use crate::message::{Control, Request};
use crate::{Interval, LockId, VectorClock, Violation, WriteNotice};
use fathomp_types::{NodeId, ThreadId};
use std::collections::{BTreeMap, VecDeque};

/// A lock and those who want it, first come, first served.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Lock {
    /// The node that has it.
    holder: NodeId,
    queue: VecDeque<(NodeId, ThreadId)>,
}

/// So many locks are taken by messages before nodes that have come to a barrier are asked for
/// what they keep to themselves until then.
const LOCKED_LATE: u8 = 8;

/// The sequencer's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sequencer {
    epoch: u32,
    log: Vec<WriteNotice>,
    /// Notices in the log before everybody is told them, wanted or not.
    log_max: usize,
    /// How much of the log each node has been told.
    told: Vec<usize>,
    /// What the log of this epoch and those before contain.
    contains: VectorClock,
    /// Those that somebody has.
    locks: BTreeMap<LockId, Lock>,
    /// Whether nodes keep locks that nobody else wants, and have to be told when somebody does.
    pub(super) recalls: bool,
    learners: Vec<(NodeId, Vec<Version>)>,
    /// Nodes at a barrier whose last interval is not in the log.
    arrived: Vec<NodeId>,
    /// How many locks were wanted while there were some.
    locked_late: u8,
    /// The log of this epoch has lost its beginning.
    is_cut: bool,
}

impl Sequencer {
    pub(super) fn new(nodes: u16, log_max: usize) -> Self {
        Self {
            epoch: 0,
            log: Vec::new(),
            log_max: log_max.max(1),
            told: vec![0; usize::from(nodes)],
            contains: VectorClock::nothing(nodes),
            locks: BTreeMap::new(),
            recalls: false,
            learners: Vec::new(),
            arrived: Vec::new(),
            locked_late: 0,
            is_cut: false,
        }
    }

    /// Takes a node's interval and its request in; `send` gets the answers.
    pub(super) fn exchange(
        &mut self,
        from: NodeId,
        request: Request,
        notice: Option<WriteNotice>,
        mut send: impl FnMut(NodeId, Control),
    ) -> Result<(), Violation> {
        let peer = |what| Violation::Peer { from, what };
        if let Some(notice) = notice {
            if notice.writer != from {
                return Err(peer("tells of another node's interval"));
            }
            // A barrier may have overtaken it and told it.
            if self.contains.learn(notice.writer, notice.interval) {
                self.log.push(notice);
            }
        }
        // Not for what no thread asked for: nodes that write one page end their intervals when
        // they are told of each other's, and ask about those when they fetch it anew. If that
        // told everybody again, and the log is short, they took the page from each other for
        // ever, and never came to write it.
        let is_asked = !matches!(request, Request::Publish | Request::Learn(_));
        match request {
            Request::Publish => {}
            Request::Flush(thread) => {
                self.answer(from, Some(thread), &mut send);
                // Whoever flushes may be waiting for what somebody wrote just
                // before a barrier, and does not reach that barrier without it.
                self.ask_who_arrived(&mut send);
            }
            Request::Learn(versions) => {
                let nodes = self.told.len();
                if versions
                    .iter()
                    .any(|(writer, _)| usize::from(writer.0) >= nodes)
                {
                    return Err(peer("asks about a node that does not exist"));
                }
                for (writer, interval) in &versions {
                    // It may have ended at a barrier, which the asker has yet to
                    // reach; or not at all.
                    if !self.contains.covers(*writer, *interval) {
                        let (epoch, interval) = (self.epoch, *interval);
                        let demand = Control::Demand { epoch, interval };
                        send(*writer, demand);
                    }
                }
                self.learners.push((from, versions));
            }
            Request::Acquire(lock, thread) => self.wanted(lock, from, thread, true, &mut send),
            Request::TryAcquire(lock, thread) => {
                self.wanted(lock, from, thread, false, &mut send);
            }
            Request::Release(lock) => match self.locks.get_mut(&lock) {
                Some(held) if held.holder == from => self.pass_on(lock, &mut send),
                _ => return Err(peer("gives back a lock that it does not hold")),
            },
        }
        self.answer_learners(&mut send);
        if is_asked {
            self.trim(&mut send);
        }
        Ok(())
    }

    /// Whether an interval is not known here.
    pub(super) fn is_new(&self, notice: &WriteNotice) -> bool {
        !self.contains.covers(notice.writer, notice.interval)
    }

    /// A barrier has told everybody everything: the next epoch's log is empty.
    pub(super) fn end_epoch(&mut self, epoch: u32, seen: &VectorClock) {
        self.epoch = epoch;
        self.log.clear();
        self.is_cut = false;
        self.told.fill(0);
        self.contains = seen.clone();
        // They passed the barrier: they have learned what they wanted.
        self.learners.clear();
        self.arrived.clear();
        self.locked_late = 0;
    }

    /// Nodes at a barrier are to tell their last intervals.
    fn ask_who_arrived(&mut self, send: &mut impl FnMut(NodeId, Control)) {
        for node in std::mem::take(&mut self.arrived) {
            send(node, Control::demand(self.epoch));
        }
    }

    /// A node has come to a barrier; its last interval was `interval`.
    pub(super) fn arrived(&mut self, node: NodeId, interval: Interval) {
        if !self.contains.covers(node, interval) {
            self.arrived.push(node);
        }
    }

    /// The log of this epoch, and behind it what it does not contain yet.
    pub(super) fn all(&self, notices: Vec<WriteNotice>) -> Vec<WriteNotice> {
        let new = notices.into_iter().filter(|notice| self.is_new(notice));
        self.log.iter().cloned().chain(new).collect()
    }

    /// True if [`all`](Self::all) lacks intervals of this epoch, which everybody has
    /// been told before.
    pub(super) fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// A thread wants a lock.
    fn wanted(
        &mut self,
        id: LockId,
        node: NodeId,
        thread: ThreadId,
        waits: bool,
        send: &mut impl FnMut(NodeId, Control),
    ) {
        if !self.arrived.is_empty() {
            self.locked_late += 1;
            if self.locked_late == LOCKED_LATE {
                self.locked_late = 0;
                self.ask_who_arrived(send);
            }
        }
        let Some(lock) = self.locks.get_mut(&id) else {
            let (holder, queue) = (node, VecDeque::new());
            self.locks.insert(id, Lock { holder, queue });
            return self.answer(node, Some(thread), send);
        };
        if waits {
            lock.queue.push_back((node, thread));
            // A node that waits already has had the lock recalled.
            if lock.queue.len() == 1 {
                self.recall(id, send);
            }
            return;
        }
        if self.recalls {
            // Perhaps it is only kept: then the next try finds it free.
            let (epoch, lock, holder) = (self.epoch, id, lock.holder);
            send(holder, Control::Recall { epoch, lock });
        }
        let epoch = self.epoch;
        send(node, Control::Refused { epoch, thread });
    }

    /// Nobody has a lock any more: the next one gets it.
    fn pass_on(&mut self, id: LockId, send: &mut impl FnMut(NodeId, Control)) {
        let Some(lock) = self.locks.get_mut(&id) else {
            return;
        };
        if let Some((node, thread)) = lock.queue.pop_front() {
            lock.holder = node;
            self.answer(node, Some(thread), send);
            self.recall(id, send);
        } else {
            self.locks.remove(&id);
        }
    }

    /// The node that has a lock is not to keep it, if others wait for it.
    fn recall(&self, id: LockId, send: &mut impl FnMut(NodeId, Control)) {
        let lock = self.locks.get(&id).filter(|_| self.recalls);
        let lock = lock.filter(|lock| !lock.queue.is_empty());
        if let Some(Lock { holder, .. }) = lock {
            let (epoch, lock) = (self.epoch, id);
            send(*holder, Control::Recall { epoch, lock });
        }
    }

    fn answer_learners(&mut self, send: &mut impl FnMut(NodeId, Control)) {
        let contains = &self.contains;
        let ready: Vec<_> = self
            .learners
            .extract_if(.., |(_, versions)| {
                versions
                    .iter()
                    .all(|(node, interval)| contains.covers(*node, *interval))
            })
            .collect();
        for (node, versions) in ready {
            // No more than was asked for: the page for which it was may have been written since,
            // and would have to be fetched anew, by all who want it, again and again.
            let is_asked = |notice: &WriteNotice| {
                let mut of_writer = versions.iter().filter(|(of, _)| *of == notice.writer);
                of_writer.any(|(_, interval)| notice.interval <= *interval)
            };
            let last = self.log.iter().rposition(is_asked);
            self.answer_up_to(last.map_or(0, |last| last + 1), node, None, send);
        }
    }

    fn answer(
        &mut self,
        to: NodeId,
        thread: Option<ThreadId>,
        send: &mut impl FnMut(NodeId, Control),
    ) {
        self.answer_up_to(self.log.len(), to, thread, send);
    }

    /// Tells a node the log up to a place, as far as it has not been told.
    fn answer_up_to(
        &mut self,
        end: usize,
        to: NodeId,
        thread: Option<ThreadId>,
        send: &mut impl FnMut(NodeId, Control),
    ) {
        let told = &mut self.told[usize::from(to.0)];
        let end = end.max(*told);
        let untold = &self.log[std::mem::replace(told, end)..end];
        let answer = Control::Granted {
            epoch: self.epoch,
            thread,
            notices: untold
                .iter()
                .filter(|notice| notice.writer != to)
                .cloned()
                .collect(),
        };
        send(to, answer);
    }

    /// Keeps the log short in a program that has locks but no barriers.
    fn trim(&mut self, send: &mut impl FnMut(NodeId, Control)) {
        if self.log.len() < self.log_max {
            return;
        }
        for node in (0..self.told.len()).filter_map(|node| u16::try_from(node).ok()) {
            if self.told[usize::from(node)] < self.log.len() {
                self.answer(NodeId(node), None, send);
            }
        }
        self.log.clear();
        self.is_cut = true;
        self.told.fill(0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PageSet;

    fn notice(interval: u32) -> WriteNotice {
        WriteNotice {
            writer: NodeId(1),
            interval: Interval(interval),
            pages: PageSet::default(),
            recalls: false,
            late: false,
            first: false,
            knew: Vec::new(),
        }
    }

    #[test]
    fn who_asks_about_an_interval_is_told_of_none_behind_it() {
        let mut sequencer = Sequencer::new(2, 100);
        let mut told = Vec::new();
        let mut exchange = |from, request, notice| {
            let done = sequencer.exchange(NodeId(from), request, notice, |to, control| {
                if let (NodeId(0), Control::Granted { notices, .. }) = (to, control) {
                    told.push(notices.iter().map(|n| n.interval.0).collect::<Vec<_>>());
                }
            });
            done.unwrap();
        };
        let asks = |interval| Request::Learn(vec![(NodeId(1), Interval(interval))]);
        (1..=3).for_each(|interval| exchange(1, Request::Publish, Some(notice(interval))));
        exchange(0, asks(2), None);
        exchange(0, asks(1), None);
        exchange(0, asks(4), None);
        (4..=5).for_each(|interval| exchange(1, Request::Publish, Some(notice(interval))));
        exchange(0, Request::Flush(ThreadId(0)), None);
        assert_eq!(told, [vec![1, 2], vec![], vec![3, 4], vec![5]]);
    }

    #[test]
    fn a_full_log_is_told_to_everybody_only_when_a_thread_synchronises() {
        let mut sequencer = Sequencer::new(3, 1);
        let requests = [
            (1, Request::Publish, vec![]),
            (2, Request::Learn(vec![(NodeId(1), Interval(1))]), vec![2]),
            (2, Request::Flush(ThreadId(0)), vec![2, 0, 1]),
        ];
        for (from, request, expected) in requests {
            let mut told = Vec::new();
            let notice = matches!(request, Request::Publish).then(|| notice(1));
            let done = sequencer.exchange(NodeId(from), request, notice, |to, control| {
                if let (NodeId(to), Control::Granted { .. }) = (to, control) {
                    told.push(to);
                }
            });
            done.unwrap();
            assert_eq!(told, expected);
        }
        assert!(sequencer.is_cut());
    }

    #[test]
    fn a_lock_that_is_kept_is_recalled_and_whoever_asked_first_gets_it() {
        let (lock, thread) = (LockId(5), ThreadId(0));
        let mut sequencer = Sequencer::new(3, 100);
        sequencer.recalls = true;
        let mut told = Vec::new();
        let requests = [
            (1, Request::Acquire(lock, thread)),
            (2, Request::TryAcquire(lock, thread)),
            (0, Request::Acquire(lock, thread)),
            (2, Request::Acquire(lock, thread)),
            (1, Request::Release(lock)),
        ];
        for (from, request) in requests {
            let done = sequencer.exchange(NodeId(from), request, None, |to, control| {
                told.push(match control {
                    Control::Recall { .. } => (to.0, "recalled"),
                    Control::Granted { .. } => (to.0, "granted"),
                    Control::Refused { .. } => (to.0, "refused"),
                    _ => (to.0, "something else"),
                });
            });
            done.unwrap();
        }
        let expected = [
            (1, "granted"),
            (1, "recalled"),
            (2, "refused"),
            (1, "recalled"),
            (0, "granted"),
            (0, "recalled"),
        ];
        assert_eq!(told, expected);
    }

    #[test]
    fn a_log_that_was_cut_says_so_until_the_next_epoch() {
        let mut sequencer = Sequencer::new(2, 3);
        let mut sent = 0;
        for interval in 1..=3 {
            assert!(!sequencer.is_cut());
            let request = Request::Flush(ThreadId(0));
            let told = sequencer.exchange(NodeId(1), request, Some(notice(interval)), |to, _| {
                sent += u32::from(to == NodeId(0));
            });
            told.unwrap();
        }
        assert!(sequencer.is_cut());
        assert_eq!(sent, 1);
        sequencer.end_epoch(1, &VectorClock::nothing(2));
        assert!(!sequencer.is_cut());
    }
}
