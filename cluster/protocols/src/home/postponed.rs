//! Changes of words that nobody waits for: the thread never looks at what an atomic instruction
//! found. They are collected, and go to the pages' homes in batches.
//!
//! A thread sees its own changes at once, in the copy here if there is one. Others see them
//! when something that this node's threads did later could have told them: every operation
//! waits until all changes before it are done at home, and every fault sends them before what
//! it fetches or writes, which goes the same way. So a page of which changes are collected is
//! neither written nor on its way here. At the home a batch is what [single changes](super::change)
//! are, but for the answer, which is a number.

use super::carried::Changer;
use super::sharing::Parked;
use super::{Actions, Home};
use crate::message::{Control, Message, Request};
use crate::order::{ROOT, Version, peer};
use crate::postponed::BATCH;
use crate::state::State;
use crate::{Action, Body, Change, Operation, Violation};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::collections::BTreeMap;

/// So many may be on their way: then a thread waits for the next.
const UNDERWAY_MAX: u32 = 4 * BATCH as u32;

impl<B: Clone + Body> Home<B> {
    /// Whether a change of a page can be postponed.
    pub(super) fn can_postpone(&self, page: PageId) -> bool {
        if !self.forwards_changes() || !self.exists(page) || self.home_of(page) == self.me {
            return false;
        }
        let underway = self.postponed.underway.values();
        let may_add = underway.map(|one| one.changes).sum::<u32>() < UNDERWAY_MAX;
        // An operation that waits for those before must not wait for ever.
        let may_add = may_add && !self.postponed.is_awaited();
        let at_barrier = self.written.is_some() || self.order.comes_to_barrier();
        let unwritten = matches!(self.table.get(page).state, State::Untouched | State::Clean);
        // What comes of a change that a thread here awaits is put in the place of what is there.
        let mut asked = self.changing.asking.values();
        let is_asked = asked.any(|(other, _)| *other == page);
        may_add && !at_barrier && unwritten && !is_asked && !self.exclusive.is_wanted(page)
    }

    /// A thread here has changed a page, and does not wait.
    pub(super) fn postpone(
        &mut self,
        page: PageId,
        change: Change,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.can_postpone(page) {
            return Err(Violation::Runtime("a change that cannot be postponed"));
        }
        if self.table.get(page).state == State::Clean {
            actions.push(Action::AtomicNoReturn(page, change));
        }
        if self.postponed.collect(page, change) {
            self.send_postponed(actions);
        }
        Ok(())
    }

    /// Sends what was collected, after what was written before.
    pub(super) fn send_postponed(&mut self, actions: &mut Actions<B>) {
        let collected = self.postponed.take_collected();
        if collected.is_empty() {
            return;
        }
        if !self.dirty.is_empty()
            && let Some(notice) = self.end_interval(actions)
        {
            self.order.exchange(Request::Publish, Some(notice), actions);
        }
        let known = self.known_since_start();
        let mut homes: BTreeMap<NodeId, Vec<(PageId, Change)>> = BTreeMap::new();
        for (page, change) in collected {
            let home = self.home_of(page);
            homes.entry(home).or_default().push((page, change));
        }
        for (home, changes) in homes {
            let unanswered = self.postponed.underway.entry(home).or_default();
            unanswered.changes += u32::try_from(changes.len()).unwrap_or(u32::MAX);
            unanswered
                .pages
                .extend(changes.iter().map(|(page, _)| page));
            let message = Message::Changes {
                epoch: self.order.epoch,
                changes,
                need: self.needed_at(home),
                known: known.clone(),
            };
            actions.push(Action::Send(home, message));
        }
    }

    /// An operation waits until all changes before it are done. False if they are.
    pub(super) fn waits_for_changes(
        &mut self,
        thread: ThreadId,
        operation: Operation,
        actions: &mut Actions<B>,
    ) -> bool {
        if self.postponed.is_done() {
            return false;
        }
        self.send_postponed(actions);
        if operation == Operation::Barrier && self.arrival_follows_changes() {
            return false;
        }
        self.postponed.wait(thread, operation);
        true
    }

    /// Whether this node may come to a barrier before it hears that its changes are done: its
    /// arrival goes to the root, behind all of them, and the root does not count it
    /// [before](Self::arrival_waits). The pages are told with the arrival then.
    fn arrival_follows_changes(&mut self) -> bool {
        let mut homes = self.postponed.underway.keys();
        if !self.order.arrives_at_root() || !homes.all(|home| *home == ROOT) {
            return false;
        }
        for unanswered in self.postponed.underway.values_mut() {
            self.changing.pages.append(&mut unanswered.pages);
        }
        true
    }

    /// At the root: keeps the arrival of a node of which postponed changes wait here, until they
    /// are done.
    pub(super) fn arrival_waits(&mut self, from: NodeId, control: &Control) -> bool {
        let of_it = |parked: &Parked| match parked {
            Parked::Change(changer, _) => changer.node == from && changer.thread.is_none(),
            Parked::Fetch(..) => false,
        };
        let waits = matches!(control, Control::Arrive { .. }) && self.parked.iter().any(of_it);
        if waits {
            self.arrivals.push((from, control.clone()));
        }
        waits
    }

    /// Another node has postponed changes of pages at home here.
    pub(super) fn changes_asked(
        &mut self,
        from: NodeId,
        changes: Vec<(PageId, Change)>,
        need: &[Version],
        known: &[Version],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut done = 0;
        for (page, change) in changes {
            let changer = Changer {
                node: from,
                thread: None,
                page,
                change,
                known: known.to_vec(),
            };
            let parked = self.parked.len();
            self.change_asked(changer, need.to_vec(), actions)?;
            done += u32::from(self.parked.len() == parked);
        }
        self.say_done(from, done, actions);
        Ok(())
    }

    /// So many changes that a node has postponed are done.
    pub(super) fn say_done(&self, to: NodeId, changes: u32, actions: &mut Actions<B>) {
        if changes > 0 {
            let epoch = self.order.epoch;
            actions.push(Action::Send(to, Message::ChangesDone { epoch, changes }));
        }
    }

    /// A home has done so many changes that were postponed here.
    pub(super) fn changes_done(
        &mut self,
        from: NodeId,
        changes: u32,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let unanswered = self.postponed.underway.get_mut(&from);
        let left = unanswered.and_then(|one| {
            one.changes = one.changes.checked_sub(changes)?;
            Some(one.changes)
        });
        match left {
            None => return Err(peer(from, "has done more changes than were asked for")),
            Some(0) => {}
            Some(_) => return Ok(()),
        }
        if let Some(done) = self.postponed.underway.remove(&from) {
            self.changing.pages.extend(done.pages);
        }
        if self.postponed.is_done() {
            for (thread, operation) in self.postponed.take_waiting() {
                self.operation(thread, operation, actions)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::{Area, ChangeKind, Input, Interval, Placement, Protocol};

    /// A node may come to a barrier behind changes that cannot be done yet. Others must not leave
    /// it before they are done.
    #[test]
    fn who_comes_behind_changes_that_wait_has_not_come() {
        let area = Area {
            pages: 1,
            home: Placement::At(ROOT),
        };
        let config = Config {
            carries: true,
            ..Config::usual(3, vec![area], false, false)
        };
        let mut root: Home<u32> = Home::new(ROOT, config).unwrap();
        let mut step = |input| {
            let mut actions = Vec::new();
            root.step(input, &mut actions).unwrap();
            root.check().unwrap();
            let departs = actions.iter().any(|action| {
                matches!(
                    action,
                    Action::Send(_, Message::Control(Control::Depart { .. }))
                )
            });
            let done = actions
                .iter()
                .any(|action| matches!(action, Action::Send(_, Message::ChangesDone { .. })));
            (done, departs)
        };
        let [one, two] = [1, 2].map(NodeId);
        let arrive = |from| Input::Message {
            from,
            message: Message::Control(Control::Arrive {
                epoch: 0,
                notices: Vec::new(),
                full: false,
            }),
        };
        let (thread, operation) = (ThreadId(0), Operation::Barrier);
        let barrier = Input::Operation { thread, operation };
        let change = Change::new(0, 8, ChangeKind::Add, 1).unwrap();
        // Not before the other node's diffs are here.
        let changes = Message::Changes {
            epoch: 0,
            changes: vec![(PageId(0), change)],
            need: vec![(two, Interval(1))],
            known: Vec::new(),
        };
        let from_one = |message| Input::Message { from: one, message };
        assert_eq!(step(from_one(changes)), (false, false));
        assert_eq!(step(arrive(one)), (false, false));
        assert_eq!(step(barrier), (false, false));
        assert_eq!(step(arrive(two)), (false, false));
        let diffs = Message::Diffs {
            epoch: 0,
            interval: Interval(1),
            diffs: Vec::new(),
            more: false,
        };
        let message = Input::Message {
            from: two,
            message: diffs,
        };
        assert_eq!(step(message), (true, true));
    }
}
