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
use super::{Actions, Home};
use crate::message::{Message, Request};
use crate::order::{Version, peer};
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
        self.postponed.wait(thread, operation);
        true
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
