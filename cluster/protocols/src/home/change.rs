//! Atomic instructions that are carried to their page's home: one message there, one back with
//! the word as it was.
//!
//! A thread that sees what such a change wrote must see what was written before it. So a node
//! ends its open interval first, if it has written anything otherwise, and says with the change
//! what it knows; the home remembers that with the page, and answers what the page
//! [shows](super::shown). Changes are told like writes: the next notice of the node that asked
//! for them names the page. But they are neither noticed by a fault nor brought by a diff, since
//! they are at home already; and a copy here is changed alike.
//!
//! No node comes to a barrier before its changes are answered (or, if they are
//! [postponed](super::postponed), are sure to be done before it is counted), and none asks for one
//! while it is at a barrier: a home never has to carry one out after it has left the barrier.

use super::carried::Changer;
use super::sharing::{Parked, note};
use super::{Actions, Home};
use crate::message::{Message, Request};
use crate::order::{Version, peer};
use crate::state::State;
use crate::{Action, Body, Change, Interval, Protection, Violation};
use fathomp_types::{NodeId, PageId, ThreadId};

impl<B: Clone + Body> Home<B> {
    /// Whether atomic instructions are carried to their page's home.
    pub(super) fn forwards_changes(&self) -> bool {
        self.config.carries && self.notes_what_is_shown() && !self.watches_all
    }

    /// A thread here wants to change a page.
    pub(super) fn want_change(
        &mut self,
        thread: ThreadId,
        page: PageId,
        change: Change,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.forwards_changes() || !self.exists(page) {
            return Err(Violation::Runtime("a change that cannot be carried home"));
        }
        if self
            .changing
            .asking
            .insert(thread, (page, change))
            .is_some()
        {
            return Err(Violation::Runtime("a thread asks twice at once"));
        }
        self.return_leased(vec![page], actions);
        if !self.dirty.is_empty()
            && let Some(notice) = self.end_interval(actions)
        {
            self.order.exchange(Request::Publish, Some(notice), actions);
        }
        let known = self.known_since_start();
        let home = self.table.get(page).home;
        let need = self.needed_at(home);
        if home == self.me {
            let changer = Changer {
                node: self.me,
                thread: Some(thread),
                page,
                change,
                known,
            };
            return self.change_asked(changer, need, actions);
        }
        let message = Message::Change {
            epoch: self.order.epoch,
            page,
            thread,
            change,
            need,
            known,
        };
        actions.push(Action::Send(home, message));
        Ok(())
    }

    /// Intervals of this epoch of which this node knows.
    pub(super) fn known_since_start(&self) -> Vec<Version> {
        let seen = self.order.seen.iter();
        seen.filter(|version| !self.knew_at_start(*version))
            .collect()
    }

    /// A thread wants to change a page at home here.
    pub(super) fn change_asked(
        &mut self,
        changer: Changer,
        need: Vec<Version>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let (from, page) = (changer.node, changer.page);
        if !self.forwards_changes() || !self.exists(page) || self.home_of(page) != self.me {
            return Err(peer(from, "changes a page that is not at home here"));
        }
        self.check_nodes(from, &need)?;
        self.check_nodes(from, &changer.known)?;
        self.recall(std::iter::once(page), actions);
        if self.is_leased_out(page) || !self.has_received(&need) {
            self.parked.push(Parked::Change(changer, need));
            return Ok(());
        }
        self.carry_out(changer, actions)
    }

    /// Changes a page at home here of which everything has arrived that the thread knows of.
    pub(super) fn carry_out(
        &mut self,
        changer: Changer,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let Changer {
            node,
            thread,
            page,
            change,
            known,
        } = changer;
        self.leave_round(page);
        let mut shows = Vec::new();
        if node != self.me {
            self.note_what_it_follows(page);
            self.watch_like_served(page, actions);
            shows = self.versions_of(page);
            shows.extend(self.after.get(&page).into_iter().flatten());
        } else if self.table.get(page).state != State::Untouched {
            self.changing.pages.insert(page);
        }
        for version in known {
            if !self.knew_at_start(version) {
                note(self.after.entry(page).or_default(), version);
            }
        }
        let Some(thread) = thread else {
            actions.push(Action::AtomicNoReturn(page, change));
            return Ok(());
        };
        actions.push(Action::AtomicAtHome {
            page,
            change,
            node,
            thread,
            epoch: self.order.epoch,
            shows,
        });
        if node == self.me {
            self.changing.asking.remove(&thread);
            self.enter_barrier(actions)?;
        }
        Ok(())
    }

    /// Another node sees a page at home here: from now on what this node's threads write there
    /// has to be noticed, before that is seen too.
    fn watch_like_served(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        match (entry.state, entry.pinned) {
            (State::Untouched, false) => {
                entry.state = State::Shared;
                Action::protect(actions, page, Protection::Watched);
                if !self.config.watch_home {
                    self.note_version(page, (self.me, self.order.interval));
                }
            }
            // Its home may have written it in any interval that has ended.
            (State::Untouched, true) => {
                self.note_version(page, (self.me, self.order.interval));
            }
            (State::Foreseen, _) => {
                // What is seen of it now may be changed back, and the twin would not tell.
                entry.state = State::Written;
                self.dirty.push(page);
            }
            _ => {}
        }
    }

    /// Refuses what nobody will ever receive or know of.
    pub(super) fn check_nodes(&self, from: NodeId, versions: &[Version]) -> Result<(), Violation> {
        let mut nodes = versions.iter().map(|(node, _)| node.0);
        match nodes.all(|node| node < self.config.nodes) {
            true => Ok(()),
            false => Err(peer(from, "tells of a node that does not exist")),
        }
    }

    /// The home of a page has changed it for a thread here.
    pub(super) fn changed(
        &mut self,
        from: NodeId,
        thread: ThreadId,
        before: u64,
        shows: Vec<Version>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let asked = self.changing.asking.remove(&thread);
        let asked = asked.filter(|(page, _)| self.home_of(*page) == from);
        let (page, change) =
            asked.ok_or_else(|| peer(from, "answers a thread that did not ask"))?;
        self.check_nodes(from, &shows)?;
        self.note_what_came(page, shows.into_iter());
        self.changing.pages.insert(page);
        match self.table.get(page).state {
            State::Clean | State::Expected | State::Dirty => {
                actions.push(Action::RefreshCopy(page, change, before));
            }
            State::Pending => self.outdate_held(page, actions),
            _ => {}
        }
        actions.push(Action::ReplyAtomic(thread, before));
        self.enter_barrier(actions)
    }

    /// An interval ends in which a page was changed and not written otherwise. True if its home
    /// waits to be told of the interval.
    pub(super) fn tell_change(&mut self, page: PageId, interval: Interval) -> Option<NodeId> {
        let entry = self.table.entry(page);
        let home = entry.home;
        let own = self.own.entry(home).or_default();
        own.interval = interval;
        if !std::mem::replace(&mut entry.noted, true) {
            own.pages.push(page);
        }
        if home == self.me {
            if !entry.pinned {
                self.note_version(page, (self.me, interval));
            }
            return None;
        }
        let has_copy = matches!(entry.state, State::Clean | State::Expected | State::Dirty);
        if !has_copy {
            // A page that is named twice does not move here: it is not here.
            own.pages.push(page);
        }
        Some(home)
    }
}
