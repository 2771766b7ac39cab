//! Barriers: everybody learns of everything, and the books are balanced.

use super::message::Control;
use super::page::Page;
use super::{Actions, Home, ROOT, peer};
use crate::{Action, Interval, Notice, Protection, Violation};
use fathomp_base::{NodeId, PageId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// A barrier that this node or one below it has reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Barrier {
    /// The thread that came for this node.
    thread: Option<ThreadId>,
    children: BTreeSet<NodeId>,
    /// Intervals of this epoch of the nodes that have arrived.
    notices: Vec<Notice>,
    /// All intervals of the epoch, once everybody has arrived.
    complete: Option<Vec<Notice>>,
}

impl Barrier {
    /// True if this node has arrived, which ended its last interval of the epoch.
    pub(super) fn is_entered(&self) -> bool {
        self.thread.is_some()
    }
}

/// Who wrote a page between two barriers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Writers {
    One(NodeId),
    Many,
}

impl<B: Clone> Home<B> {
    pub(super) fn enter_barrier(
        &mut self,
        thread: ThreadId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.barrier.thread.is_some() || !self.asking.is_empty() {
            return Err(Violation::Runtime(
                "a node enters a barrier while its threads are inside an operation",
            ));
        }
        self.end_interval(actions);
        self.barrier.thread = Some(thread);
        self.barrier.notices.extend_from_slice(&self.own);
        self.pass_arrival_on(actions);
        Ok(())
    }

    pub(super) fn child_arrived(
        &mut self,
        from: NodeId,
        notices: Vec<Notice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.children().any(|child| child == from) || !self.barrier.children.insert(from) {
            return Err(peer(
                from,
                "arrives at a barrier in the wrong place or twice",
            ));
        }
        self.barrier.notices.extend(notices);
        self.pass_arrival_on(actions);
        Ok(())
    }

    fn pass_arrival_on(&mut self, actions: &mut Actions<B>) {
        if self.barrier.thread.is_none() || self.barrier.children.len() != self.children().count() {
            return;
        }
        let epoch = self.epoch;
        let mut notices = std::mem::take(&mut self.barrier.notices);
        let Some(sequencer) = &self.sequencer else {
            let parent = NodeId((self.me.0 - 1) / self.config.fan_in.max(1));
            self.send(parent, Control::Arrive { epoch, notices }, actions);
            return;
        };
        notices.extend_from_slice(sequencer.log());
        // Each writer's intervals in their order, and once.
        notices.sort_unstable_by_key(|notice| (notice.writer, notice.interval));
        notices.dedup_by_key(|notice| (notice.writer, notice.interval));
        self.send(ROOT, Control::Depart { epoch, notices }, actions);
    }

    pub(super) fn all_arrived(
        &mut self,
        from: NodeId,
        notices: Vec<Notice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let parent = match self.me {
            ROOT => ROOT,
            NodeId(me) => NodeId((me - 1) / self.config.fan_in.max(1)),
        };
        if from != parent || self.barrier.thread.is_none() || self.barrier.complete.is_some() {
            return Err(peer(from, "opens a barrier that it may not open"));
        }
        let depart = Control::Depart {
            epoch: self.epoch,
            notices: notices.clone(),
        };
        for child in self.children().collect::<Vec<_>>() {
            self.send(child, depart.clone(), actions);
        }
        self.learn(from, notices.clone(), actions)?;
        self.barrier.complete = Some(notices);
        self.settle(actions);
        Ok(())
    }

    /// To be called when all diffs for pages at home here that this node knows
    /// of have arrived.
    pub(super) fn leave_barrier_if_complete(&mut self, actions: &mut Actions<B>) {
        let Some(notices) = self.barrier.complete.take() else {
            return;
        };
        for (page, writers) in writers(&notices) {
            self.balance(page, writers, actions);
        }
        self.epoch += 1;
        self.need.clear();
        self.own.clear();
        self.position = 0;
        if let Some(sequencer) = &mut self.sequencer {
            sequencer.end_epoch(self.epoch, &self.seen);
        }
        let thread = std::mem::take(&mut self.barrier).thread;
        actions.extend(thread.map(Action::Resume));
    }

    /// What a page's writers in the epoch mean for its home and its copies. All
    /// nodes come to the same conclusions without a message: the only copy that
    /// stays valid beside the home's is that of a node that alone wrote. (A copy
    /// fetched after the last write would be up to date as well, but the home
    /// could not know of it and would have to keep watching its own writes.)
    fn balance(&mut self, page: PageId, writers: Writers, actions: &mut Actions<B>) {
        let home = self.homes.of(page);
        let keeper = match writers {
            Writers::One(writer) if writer != home => Some(writer),
            Writers::One(_) | Writers::Many => None,
        };
        let new_home = keeper.filter(|_| self.config.migrate).unwrap_or(home);
        if self.me == new_home {
            match (self.pages.get_mut(&page).and_then(Page::here), keeper) {
                (Some(here), Some(writer)) => {
                    here.copies = BTreeSet::from([writer]);
                    here.versions.clear();
                }
                // Nobody else has a copy: its writes need not be noticed.
                _ => self.forget(page, Protection::ReadWrite, actions),
            }
        } else if Some(self.me) != keeper {
            self.forget(page, Protection::None, actions);
        }
        self.homes.move_to(page, new_home);
    }

    fn forget(&mut self, page: PageId, protection: Protection, actions: &mut Actions<B>) {
        if self.pages.remove(&page).is_some() {
            actions.push(Action::Protect(page, protection));
        }
    }

    fn children(&self) -> impl Iterator<Item = NodeId> + use<B> {
        let fan_in = u32::from(self.config.fan_in.max(1));
        let first = u32::from(self.me.0) * fan_in + 1;
        let nodes = u32::from(self.config.nodes);
        (first..(first + fan_in).min(nodes.max(first)))
            .filter_map(|child| u16::try_from(child).ok().map(NodeId))
    }
}

fn writers(notices: &[Notice]) -> BTreeMap<PageId, Writers> {
    let mut writers = BTreeMap::new();
    for notice in notices.iter().filter(|n| n.interval > Interval::default()) {
        for page in notice.pages.iter() {
            writers
                .entry(page)
                .and_modify(|known| {
                    if *known != Writers::One(notice.writer) {
                        *known = Writers::Many;
                    }
                })
                .or_insert(Writers::One(notice.writer));
        }
    }
    writers
}
