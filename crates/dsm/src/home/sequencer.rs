//! The one place where intervals are put in order.
//!
//! Node 0 appends every interval that ends at a flush or a lock to the log of
//! the epoch. Whoever acquires gets the log from where it stopped reading. That
//! orders all flushes (OpenMP 5.2, section 1.4.4, requires an order for flushes
//! of common variables) and makes a lock carry at least what happened before.

use super::message::{Control, Request, Version};
use crate::{LockId, Notice, Seen, Violation};
use fathomp_base::{NodeId, ThreadId};
use std::collections::{BTreeMap, VecDeque};

/// Where a node stopped reading the log, and who waits for the rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Reader {
    node: NodeId,
    thread: Option<ThreadId>,
    position: usize,
}

/// A lock and those who want it, first come, first served.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Lock {
    holder: Option<NodeId>,
    queue: VecDeque<Reader>,
}

/// The sequencer's state.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sequencer {
    log: Vec<Notice>,
    /// What the log of this epoch and those before contain.
    contains: Seen,
    locks: BTreeMap<LockId, Lock>,
    learners: Vec<(Reader, Vec<Version>)>,
    epoch: u32,
}

impl Sequencer {
    pub(super) fn new(nodes: u16) -> Self {
        Self {
            log: Vec::new(),
            contains: Seen::nothing(nodes),
            locks: BTreeMap::new(),
            learners: Vec::new(),
            epoch: 0,
        }
    }

    /// Takes a node's intervals and its request in; `send` gets the answers.
    pub(super) fn exchange(
        &mut self,
        from: NodeId,
        request: Request,
        position: u32,
        notices: Vec<Notice>,
        mut send: impl FnMut(NodeId, Control),
    ) -> Result<(), Violation> {
        let peer = |what| Violation::Peer { from, what };
        for notice in notices {
            if notice.writer != from {
                return Err(peer("told of another node's interval"));
            }
            // A lock's release can be overtaken by the barrier after it, which
            // has told the same.
            if self.contains.learn(notice.writer, notice.interval) {
                self.log.push(notice);
            }
        }
        let reader = |thread| Reader {
            node: from,
            thread,
            position: position as usize,
        };
        match request {
            Request::Publish => {}
            Request::Flush(thread) => self.answer(reader(Some(thread)), &mut send)?,
            Request::Learn(versions) => {
                for (writer, interval) in &versions {
                    // It may have ended at a barrier, which somebody who waits
                    // for the page has yet to reach.
                    if !self.contains.covers(*writer, *interval) {
                        send(*writer, Control::Demand { epoch: self.epoch });
                    }
                }
                self.learners.push((reader(None), versions));
            }
            Request::Acquire(lock, thread) => {
                let lock = self.locks.entry(lock).or_default();
                if lock.holder.is_none() {
                    lock.holder = Some(from);
                    self.answer(reader(Some(thread)), &mut send)?;
                } else {
                    lock.queue.push_back(reader(Some(thread)));
                }
            }
            Request::Release(id) => {
                let held = self.locks.get_mut(&id).filter(|l| l.holder == Some(from));
                let lock = held.ok_or_else(|| peer("gave back a lock that it does not hold"))?;
                let next = lock.queue.pop_front();
                lock.holder = next.map(|reader| reader.node);
                match next {
                    Some(reader) => self.answer(reader, &mut send)?,
                    None => drop(self.locks.remove(&id)),
                }
            }
        }
        self.answer_learners(&mut send)
    }

    /// A barrier has told everybody everything: the next epoch's log is empty.
    pub(super) fn end_epoch(&mut self, epoch: u32, seen: &Seen) {
        self.epoch = epoch;
        // They passed the barrier, so they need no answer any more.
        self.learners.clear();
        self.log.clear();
        self.contains = seen.clone();
    }

    /// The log of this epoch.
    pub(super) fn log(&self) -> &[Notice] {
        &self.log
    }

    fn answer_learners(&mut self, send: &mut impl FnMut(NodeId, Control)) -> Result<(), Violation> {
        let contains = &self.contains;
        let ready: Vec<_> = self
            .learners
            .extract_if(.., |(_, versions)| {
                versions
                    .iter()
                    .all(|(node, interval)| contains.covers(*node, *interval))
            })
            .collect();
        ready
            .into_iter()
            .try_for_each(|(reader, _)| self.answer(reader, send))
    }

    fn answer(
        &self,
        reader: Reader,
        send: &mut impl FnMut(NodeId, Control),
    ) -> Result<(), Violation> {
        let unread = self.log.get(reader.position..).ok_or(Violation::Peer {
            from: reader.node,
            what: "claims to have read more of the log than there is",
        })?;
        let others = unread.iter().filter(|notice| notice.writer != reader.node);
        let answer = Control::Granted {
            epoch: self.epoch,
            thread: reader.thread,
            position: u32::try_from(self.log.len()).unwrap_or(u32::MAX),
            notices: others.cloned().collect(),
        };
        send(reader.node, answer);
        Ok(())
    }
}
