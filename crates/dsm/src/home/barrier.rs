//! Barriers: everybody learns of everything, and the books are balanced.

use super::message::{Control, Request};
use super::table::State;
use super::{Actions, Home, ROOT, peer};
use crate::{Action, Interval, Notice, PageRange, PageSet, Protection, Violation};
use fathomp_base::{NodeId, PageId, ThreadId};
use std::collections::BTreeSet;

/// A barrier that this node or one below it has reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Barrier {
    /// The thread that came for this node while others were inside operations.
    early: Option<ThreadId>,
    /// The thread that came for this node.
    thread: Option<ThreadId>,
    /// The interval that ended with that, which the sequencer does not know.
    last: Option<Notice>,
    children: BTreeSet<NodeId>,
    /// What the nodes that have arrived wrote in this epoch.
    notices: Vec<Notice>,
    /// What everybody wrote, once everybody has arrived.
    complete: Option<Vec<Notice>>,
}

impl Barrier {
    /// True if this node has arrived: none of its threads runs.
    pub(super) fn is_entered(&self) -> bool {
        self.thread.is_some()
    }
}

/// Who wrote a page between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writers {
    One(NodeId),
    Many,
}

impl<B: Clone> Home<B> {
    pub(super) fn come_to_barrier(
        &mut self,
        thread: ThreadId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.barrier.thread.is_some() || self.barrier.early.is_some() {
            return Err(Violation::Runtime("a node comes to a barrier twice"));
        }
        if self.is_awaited() {
            return Err(Violation::Runtime(
                "a node comes to a barrier while a thread of it stands still at a fault",
            ));
        }
        self.barrier.early = Some(thread);
        self.enter_barrier(actions);
        Ok(())
    }

    /// To be called when an operation has ended.
    pub(super) fn enter_barrier(&mut self, actions: &mut Actions<B>) {
        if !self.asking.is_empty() || !self.settling.is_empty() {
            return;
        }
        let Some(thread) = self.barrier.early.take() else {
            return;
        };
        self.barrier.thread = Some(thread);
        self.barrier.last = self.end_interval(actions);
        let me = self.me;
        let own = std::mem::take(&mut self.own).into_values().map(|mut own| {
            own.pages.sort_unstable();
            // Threads that take no part in barriers may write while the others
            // are at one; such pages are entered twice.
            own.pages.dedup();
            Notice {
                writer: me,
                interval: own.interval,
                pages: PageSet::from_sorted(&own.pages),
            }
        });
        self.barrier.notices.extend(own);
        self.apply_arrived(actions);
        self.tell_sequencer_of_arrival(me, self.interval);
        let passed_on = self.pass_arrival_on(actions);
        if me != ROOT && !(passed_on && self.parent() == Some(ROOT)) {
            // The sequencer hears of this arrival late. Somebody may be waiting
            // for what was written last, and not reach the barrier without it.
            self.demanded(actions);
        }
    }

    /// Somebody has seen a page of this node's last interval before the barrier
    /// could tell of it.
    pub(super) fn demanded(&mut self, actions: &mut Actions<B>) {
        if let Some(last) = self.barrier.last.take() {
            self.exchange(Request::Publish, Some(last), actions);
        }
    }

    fn tell_sequencer_of_arrival(&mut self, node: NodeId, interval: Interval) {
        if let Some(sequencer) = &mut self.sequencer {
            sequencer.arrived(node, interval);
        }
    }

    pub(super) fn child_arrived(
        &mut self,
        from: NodeId,
        notices: Vec<Notice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        self.check(from, &notices)?;
        if !self.children().any(|child| child == from) || !self.barrier.children.insert(from) {
            return Err(peer(
                from,
                "arrives at a barrier in the wrong place or twice",
            ));
        }
        let own = notices.iter().filter(|notice| notice.writer == from);
        let last = own.map(|notice| notice.interval).max();
        self.tell_sequencer_of_arrival(from, last.unwrap_or_default());
        self.barrier.notices.extend(notices);
        self.pass_arrival_on(actions);
        Ok(())
    }

    /// True if everybody below has arrived.
    fn pass_arrival_on(&mut self, actions: &mut Actions<B>) -> bool {
        if self.barrier.thread.is_none() || self.barrier.children.len() != self.children().count() {
            return false;
        }
        let epoch = self.epoch;
        let notices = std::mem::take(&mut self.barrier.notices);
        match self.parent() {
            Some(parent) => self.send(parent, Control::Arrive { epoch, notices }, actions),
            None => self.send(ROOT, Control::Depart { epoch, notices }, actions),
        }
        true
    }

    pub(super) fn all_arrived(
        &mut self,
        from: NodeId,
        notices: Vec<Notice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        self.check(from, &notices)?;
        let opens = from == self.parent().unwrap_or(ROOT);
        if !opens || self.barrier.thread.is_none() || self.barrier.complete.is_some() {
            return Err(peer(from, "opens a barrier that it may not open"));
        }
        for child in self.children().collect::<Vec<_>>() {
            let depart = Control::Depart {
                epoch: self.epoch,
                notices: notices.clone(),
            };
            self.send(child, depart, actions);
        }
        // Each notice is about pages of one home.
        let me = self.me;
        for notice in notices.iter().filter(|notice| notice.writer != me) {
            let first = notice.pages.ranges().first().map(|range| range.first());
            if first.is_some_and(|page| self.table.get(page).home == me) {
                self.require(me, (notice.writer, notice.interval));
            }
        }
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
        for (page, _) in std::mem::take(&mut self.pending) {
            // Fetched in advance, and perhaps out of date now.
            self.table.entry(page).state = State::Untouched;
        }
        for (pages, writers) in written(&notices) {
            self.balance(pages, writers, actions);
        }
        for notice in &notices {
            self.seen.learn(notice.writer, notice.interval);
        }
        self.epoch += 1;
        self.start = self.seen.clone();
        self.need.clear();
        self.versions.clear();
        if let Some(sequencer) = &mut self.sequencer {
            sequencer.end_epoch(self.epoch, &self.seen);
        }

        let thread = std::mem::take(&mut self.barrier).thread;
        actions.extend(thread.map(Action::Resume));
    }

    /// What pages' writers in the epoch mean for their homes and their copies.
    /// All nodes come to the same conclusions without a message: the only copy
    /// that stays valid beside the home's is that of a node that alone wrote. (A
    /// copy fetched after the last write would be up to date as well, but the
    /// home could not know of it and would have to keep watching its own writes.)
    fn balance(&mut self, pages: PageRange, writers: Writers, actions: &mut Actions<B>) {
        let mut page = pages.first();
        while u64::from(page.0) < pages.end() {
            let left = u32::try_from(pages.end() - u64::from(page.0)).unwrap_or(u32::MAX);
            let step = match self.table.unknown(page) {
                // Written where it is at home: nothing to be known about it.
                Some((place, alike)) if writers == Writers::One(place.home) => alike.min(left),
                Some((_, alike)) if writers == Writers::Many || !self.config.migrate => {
                    alike.min(left)
                }
                _ => {
                    self.balance_page(page, writers, actions);
                    1
                }
            };
            match page.0.checked_add(step) {
                Some(next) => page = PageId(next),
                None => return,
            }
        }
    }

    fn balance_page(&mut self, page: PageId, writers: Writers, actions: &mut Actions<B>) {
        let (me, migrate) = (self.me, self.config.migrate);
        let entry = self.table.entry(page);
        entry.noted = false;
        let home = entry.home;
        let keeper = match writers {
            Writers::One(writer) if writer != home && !entry.pinned => Some(writer),
            Writers::One(_) | Writers::Many => None,
        };
        entry.home = keeper.filter(|_| migrate).unwrap_or(home);
        if me == entry.home {
            let exclusive = entry.home != home || keeper.is_none();
            if exclusive && !entry.pinned && entry.state != State::Untouched {
                // Nobody else has a copy: its writes need not be noticed.
                entry.state = State::Untouched;
                Action::protect(actions, page, Protection::ReadWrite);
            }
        } else if Some(me) != keeper && (entry.state != State::Untouched || me == home) {
            self.drop_copy(page, actions);
        }
    }

    fn parent(&self) -> Option<NodeId> {
        let above = self.me.0.checked_sub(1)?;
        Some(NodeId(above / self.config.fan_in.max(1)))
    }

    fn children(&self) -> impl Iterator<Item = NodeId> + use<B> {
        let fan_in = u32::from(self.config.fan_in.max(1));
        let first = u32::from(self.me.0) * fan_in + 1;
        let nodes = u32::from(self.config.nodes);
        (first..(first + fan_in).min(nodes.max(first)))
            .filter_map(|child| u16::try_from(child).ok().map(NodeId))
    }
}

/// All pages that notices name, as stretches with the same writers. A writer
/// names each page once.
fn written(notices: &[Notice]) -> Vec<(PageRange, Writers)> {
    let ranges = notices.iter().flat_map(|notice| {
        let ranges = notice.pages.ranges().iter();
        ranges.map(move |range| (*range, notice.writer))
    });
    let mut edges: Vec<_> = ranges
        .flat_map(|(range, writer)| {
            let writer = i64::from(writer.0);
            let first = u64::from(range.first().0);
            [(first, 1, writer), (range.end(), -1, -writer)]
        })
        .collect();
    edges.sort_unstable();
    // Writers at the current page: how many, and the sum of their numbers, which
    // is the number of the writer if there is one.
    let (mut number, mut sum, mut at) = (0_i64, 0_i64, 0_u64);
    let mut stretches = Vec::new();
    for (edge, one, writer) in edges {
        let pages = u32::try_from(edge - at).ok().zip(u32::try_from(at).ok());
        if number > 0
            && let Some(range) = pages.and_then(|(pages, at)| PageRange::new(PageId(at), pages))
        {
            let writers = match u16::try_from(sum) {
                Ok(writer) if number == 1 => Writers::One(NodeId(writer)),
                _ => Writers::Many,
            };
            stretches.push((range, writers));
        }
        (number, sum, at) = (number + one, sum + writer, edge);
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notice(writer: u16, pages: &[u32]) -> Notice {
        Notice {
            writer: NodeId(writer),
            interval: Interval(1),
            pages: pages.iter().copied().map(PageId).collect(),
        }
    }

    #[test]
    fn stretches_know_their_writers() {
        let notices = [
            notice(0, &[1, 2, 3]),
            notice(5, &[3, 4]),
            notice(5, &[9]),
            notice(2, &[u32::MAX]),
        ];
        let found: Vec<_> = written(&notices)
            .into_iter()
            .map(|(range, writers)| (range.first().0, range.len(), writers))
            .collect();
        let one = |writer| Writers::One(NodeId(writer));
        assert_eq!(
            found,
            [
                (1, 2, one(0)),
                (3, 1, Writers::Many),
                (4, 1, one(5)),
                (9, 1, one(5)),
                (u32::MAX, 1, one(2)),
            ]
        );
    }
}
