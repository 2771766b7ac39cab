//! Memory that all nodes can reach: a log of intervals for each epoch, and locks.

use fathomp_base::{NodeId, ThreadId};
use fathomp_dsm::{Holder, LockId, Notice, Sequenced, Told, Underway, Wants};
use std::collections::BTreeMap;

/// Logs and locks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Shared {
    logs: BTreeMap<u32, Vec<Notice>>,
    /// How far each node has read an epoch's log, and how far the sequencer.
    read: BTreeMap<NodeId, (u32, usize)>,
    sequenced: (u32, usize),
    /// Locks that are not free.
    locks: BTreeMap<LockId, Lock>,
}

/// Who has a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Lock {
    /// The sequencer has taken it over.
    Sequenced,
    /// A node.
    Held {
        node: NodeId,
        /// The epoch since which it keeps it, if none of its threads has it.
        kept: Option<u32>,
        /// The sequencer has to hear of it when it is given back.
        waited: bool,
    },
}

/// What becomes of what a node tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Nothing more.
    Done,
    /// The thread has what it wanted, and has to learn this; or it does not get the lock.
    For(ThreadId, Option<Vec<Notice>>),
}

impl Lock {
    fn held_by(node: NodeId) -> Self {
        Self::Held {
            node,
            kept: None,
            waited: false,
        }
    }
}

impl Shared {
    /// Enters what a node tells in its epoch's log, which has room for `room` intervals,
    /// and does what it wants. None if it has to send a message.
    pub fn tell(
        &mut self,
        me: NodeId,
        told: Told,
        sequencer: Sequenced,
        underway: &Underway,
        room: usize,
    ) -> Option<Answer> {
        let log = self.logs.entry(told.epoch).or_default();
        let contained = sequencer.contains.of(me);
        if sequencer.asks || !underway.may_tell(contained) || log.len() >= room {
            return None;
        }
        let thread = match told.wants {
            Wants::Nothing => None,
            Wants::Log(thread) => Some(thread),
            Wants::Lock {
                lock,
                thread,
                waits,
            } => {
                match self.locks.get(&lock) {
                    None => {}
                    Some(Lock::Held { kept: None, .. }) if !waits => {
                        return Some(Answer::For(thread, None));
                    }
                    // A barrier has told since what its node wrote.
                    Some(Lock::Held {
                        kept: Some(kept),
                        waited: false,
                        ..
                    }) if *kept < told.epoch => {}
                    Some(_) => return None,
                }
                self.locks.insert(lock, Lock::held_by(me));
                Some(thread)
            }
            Wants::Unlock(lock) => {
                log.extend(told.notice.cloned());
                // If the sequencer has to hear of the lock, it hears of the interval twice.
                let free = self.locks.get(&lock) == Some(&Lock::held_by(me));
                return free.then(|| {
                    self.locks.remove(&lock);
                    Answer::Done
                });
            }
        };
        log.extend(told.notice.cloned());
        let Some(thread) = thread else {
            return Some(Answer::Done);
        };
        let read = self.read.entry(me).or_default();
        if read.0 != told.epoch {
            *read = (told.epoch, 0);
        }
        let news = log[read.1..].iter().filter(|notice| notice.writer != me);
        let news = news.cloned().collect();
        read.1 = log.len();
        Some(Answer::For(thread, Some(news)))
    }

    /// Whether there is something in an epoch's log that a node has not read, as far as can
    /// be seen there.
    #[must_use]
    pub fn has_news(&self, me: NodeId, epoch: u32, sequencer: Sequenced, room: usize) -> bool {
        let entries = self.logs.get(&epoch).map_or(0, Vec::len);
        let read = self.read.get(&me).filter(|(of, _)| *of == epoch);
        sequencer.asks || entries >= room || entries > read.map_or(0, |(_, read)| *read)
    }

    /// The sequencer enters an interval, if there is room.
    pub fn enter(&mut self, epoch: u32, notice: Notice, room: usize) {
        let log = self.logs.entry(epoch).or_default();
        if log.len() < room {
            log.push(notice);
        }
    }

    /// What the sequencer, in an epoch, has not been told of its log.
    pub fn logged(&mut self, epoch: u32) -> Vec<Notice> {
        if self.sequenced.0 != epoch {
            self.sequenced = (epoch, 0);
            // Nobody is where everybody has left.
            self.logs.retain(|log, _| log + 1 >= epoch);
        }
        let log = self.logs.get(&epoch).map_or(&[][..], Vec::as_slice);
        let news = log[self.sequenced.1..].to_vec();
        self.sequenced.1 = log.len();
        news
    }

    /// A node keeps a lock that it has in an epoch, if nobody waits for it.
    pub fn keep(&mut self, me: NodeId, lock: LockId, epoch: u32) -> bool {
        let mut held = self.locks.get_mut(&lock).into_iter();
        held.any(|held| match held {
            Lock::Held {
                node,
                kept: kept @ None,
                waited: false,
            } if *node == me => {
                *kept = Some(epoch);
                true
            }
            _ => false,
        })
    }

    /// A node takes a lock that it keeps.
    pub fn take_kept(&mut self, me: NodeId, lock: LockId) -> bool {
        let mut held = self.locks.get_mut(&lock).into_iter();
        held.any(|held| match held {
            Lock::Held {
                node,
                kept,
                waited: false,
            } if *node == me => kept.take().is_some(),
            _ => false,
        })
    }

    /// The sequencer takes a lock over; who has it.
    pub fn claim(&mut self, lock: LockId) -> Option<Holder> {
        match self.locks.entry(lock).or_insert(Lock::Sequenced) {
            Lock::Sequenced => None,
            Lock::Held { node, kept, waited } => {
                *waited = true;
                let (node, keeps) = (*node, kept.is_some());
                Some(Holder { node, keeps })
            }
        }
    }

    /// Everybody may take a lock again.
    pub fn unclaim(&mut self, lock: LockId) {
        self.locks.remove(&lock);
    }
}
