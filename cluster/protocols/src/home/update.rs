//! Pages that threads update: change at their home by single atomic instructions, wherever
//! they run. Where nodes can write each other's memory that needs neither a message nor a
//! fault; but a thread that sees what an update wrote must see what was written before it.
//!
//! So a home offers that only while it notices what its own threads write to the page,
//! before others can see it: then it withdraws the offer, and is asked anew. Before it makes
//! one it tells everybody what it wrote, and knows of all whose diffs are part of the page;
//! while it stands, diffs of that page come by message. Updates themselves nobody notices,
//! so nodes that read the page borrow it.

use super::sharing::Parked;
use super::{Actions, Home};
use crate::message::{Message, Request};
use crate::order::{ITSELF, Version, peer};
use crate::state::State;
use crate::{Action, Body, Offer, Protection, Updates, Violation};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::collections::BTreeSet;

/// A thread that wants to update a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Updater {
    pub(super) node: NodeId,
    pub(super) thread: ThreadId,
    pub(super) page: PageId,
}

/// Threads that wait until a page can be updated, and pages that can.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Updating {
    /// Threads here that have asked another node.
    asking: BTreeSet<ThreadId>,
    /// A page at home here that is to be offered. There is one at most, since a thread that
    /// asks holds a lock.
    next: Option<Updater>,
    /// Pages that are offered, and since which epoch.
    pub(super) offered: Vec<(PageId, u32)>,
    /// What may be part of pages that cannot be updated, and is not known here.
    lacks: Vec<Version>,
}

impl Updating {
    /// Whether a page at home here is offered to be updated.
    pub(super) fn is_offered(&self, page: PageId) -> bool {
        self.offered.iter().any(|(offered, _)| *offered == page)
    }
}

impl<B: Clone + Body> Home<B> {
    /// Whether there are pages that can be updated.
    fn is_updated(&self) -> bool {
        self.config.is_direct() && !self.watches_all
    }

    /// How to update a page, if it can be.
    pub(super) fn how_to_update(&self, page: PageId) -> Option<Updates> {
        let exists = self.is_updated() && self.exists(page);
        let home = exists.then(|| self.table.get(page).home)?;
        Some(Updates {
            home,
            epoch: self.order.epoch,
            need: self.needed_at(home),
        })
    }

    /// A thread here wants to update a page.
    pub(super) fn want_update(
        &mut self,
        thread: ThreadId,
        page: PageId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let Some(Updates { home, epoch, need }) = self.how_to_update(page) else {
            actions.push(Action::Refuse(thread));
            return Ok(());
        };
        self.return_leased(vec![page], actions);
        if home == self.me {
            let node = self.me;
            return self.prepare_update(Updater { node, thread, page }, need, actions);
        }
        if !self.updating.asking.insert(thread) {
            return Err(Violation::Runtime("a thread asks twice at once"));
        }
        // As before a fetch.
        self.send_all_kept(actions);
        let message = Message::Update {
            epoch,
            page,
            thread,
            need,
        };
        actions.push(Action::Send(home, message));
        Ok(())
    }

    /// A thread wants to update a page, which may be at home here.
    pub(super) fn prepare_update(
        &mut self,
        updater: Updater,
        need: Vec<Version>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.exists(updater.page) {
            return Err(peer(
                updater.node,
                "wants to update a page that does not exist",
            ));
        }
        self.check_nodes(updater.node, &need)?;
        self.recall(std::iter::once(updater.page), actions);
        if self.is_away(updater.page) || !self.has_received(&need) {
            self.parked.push(Parked::Update(updater, need));
            return Ok(());
        }
        let entry = self.table.get(updater.page);
        if entry.offer == Offer::Updated {
            self.answer_updater(updater, true, actions);
            return Ok(());
        }
        let here = entry.home == self.me && !entry.pinned;
        let noticed = matches!(
            entry.state,
            State::Untouched | State::Shared | State::Written
        );
        // At a barrier only the root can end an interval in time for the others.
        let tells = self.written.is_none() && (self.order.is_root() || !self.order.is_at_barrier());
        if !here || !noticed || !tells || !self.is_updated() {
            self.answer_updater(updater, false, actions);
            return Ok(());
        }
        if self.updating.next.is_some() {
            return Err(peer(
                updater.node,
                "does not wait for its turn to update a page",
            ));
        }
        self.updating.next = Some(updater);
        self.reserve(updater.page, actions);
        let notice = self.end_interval(actions);
        self.order
            .ask(ITSELF, Request::Flush(ITSELF), notice, actions)
    }

    /// Nobody takes a page at home here or brings diffs of it any more, its writes are
    /// noticed, and nodes that have a copy have to be told that it was written.
    fn reserve(&mut self, page: PageId, actions: &mut Actions<B>) {
        if !self.offer(page, Offer::Reserved) {
            // It was before, and nobody has had it since.
            return;
        }
        actions.push(Action::Offer(page.into(), Offer::Reserved));
        let version = (self.me, self.order.interval);
        match self.table.get(page).state {
            State::Untouched => {
                self.table.entry(page).state = State::Shared;
                Action::protect(actions, page, Protection::Watched);
                self.note_version(page, version);
            }
            State::Shared | State::Foreseen => {
                self.table.entry(page).state = State::Written;
                self.dirty.push(page);
            }
            _ => {}
        }
    }

    /// Everybody knows what was written here, or will: offers the page for which that was
    /// asked, if nothing came in between.
    pub(super) fn offer_next_update(&mut self, actions: &mut Actions<B>) {
        let Some(updater) = self.updating.next.take() else {
            return;
        };
        let (page, epoch) = (updater.page, self.order.epoch);
        let entry = self.table.get(page);
        // What it shows was perhaps written by a node that has yet to tell of it. Then it stays
        // reserved, and is asked for anew.
        let begun: Vec<Version> = self.begun.iter().collect();
        let ready = self.order.knows(&begun) && entry.state == State::Shared;
        if ready && entry.offer == Offer::Reserved {
            self.offer(page, Offer::Updated);
            actions.push(Action::Offer(page.into(), Offer::Updated));
            self.updating.offered.push((page, epoch));
        }
        self.answer_updater(updater, true, actions);
    }

    /// A page at home here is about to be written otherwise than by updates.
    pub(super) fn forbid_updates(&mut self, page: PageId, actions: &mut Actions<B>) {
        if matches!(self.table.get(page).offer, Offer::Reserved | Offer::Updated) {
            self.offer(page, Offer::Closed);
            actions.push(Action::Offer(page.into(), Offer::Closed));
        }
    }

    fn answer_updater(&mut self, updater: Updater, can: bool, actions: &mut Actions<B>) {
        let Updater { node, thread, page } = updater;
        if !can {
            // It will be fetched, and may show what nobody knows of yet.
            let first = actions.len();
            self.order.demanded(actions);
            self.send_kept_if_told(first, actions);
        }
        // A thread that has used a copy, and asks what it showed, finds the page perhaps
        // reserved again.
        let mut shows = Vec::new();
        if self.table.get(page).offer != Offer::Updated {
            let own = (self.me, self.order.interval);
            shows = self.begun.iter().chain([own]).collect();
        }
        if node == self.me {
            return self.go_on(thread, can, shows, actions);
        }
        let answer = Message::Updatable {
            epoch: self.order.epoch,
            thread,
            can,
            shows,
        };
        actions.push(Action::Send(node, answer));
    }

    fn go_on(
        &mut self,
        thread: ThreadId,
        can: bool,
        shows: Vec<Version>,
        actions: &mut Actions<B>,
    ) {
        let lacks = &mut self.updating.lacks;
        lacks.extend(shows);
        lacks.retain(|version| !self.order.knows(&[*version]));
        lacks.sort_unstable();
        lacks.dedup();
        actions.push(match can {
            true => Action::Resume(thread),
            false => Action::Refuse(thread),
        });
    }

    /// Whether there is something that pages here may show and this node does not know of; or
    /// another thread has learned of it, and the diffs that came before are under way.
    pub(super) fn lacks_what_is_shown(&self) -> bool {
        !self.order.knows(&self.updating.lacks) || !self.is_settled()
    }

    /// The home of a page has answered.
    pub(super) fn updatable(
        &mut self,
        from: NodeId,
        thread: ThreadId,
        can: bool,
        shows: Vec<Version>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.updating.asking.remove(&thread) {
            return Err(peer(from, "answers a thread that did not ask"));
        }
        self.check_nodes(from, &shows)?;
        self.go_on(thread, can, shows, actions);
        Ok(())
    }

    /// Refuses what nobody will ever receive or know of.
    pub(super) fn check_nodes(&self, from: NodeId, versions: &[Version]) -> Result<(), Violation> {
        let mut nodes = versions.iter().map(|(node, _)| node.0);
        match nodes.all(|node| node < self.config.nodes) {
            true => Ok(()),
            false => Err(peer(from, "tells of a node that does not exist")),
        }
    }

    /// Fetches that a barrier has overtaken are made anew; a thread that wants to update does not
    /// find the page here any more.
    pub(super) fn refuse_parked(&mut self, actions: &mut Actions<B>) {
        for parked in std::mem::take(&mut self.parked) {
            if let Parked::Update(updater, _) = parked {
                self.answer_updater(updater, false, actions);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::home::Config;
    use crate::{Area, Input, Interval, Placement, Protocol};

    /// A thread that used a copy before must wait for what the copy showed, though the page may be
    /// offered soon.
    #[test]
    fn a_page_that_shows_what_nobody_knows_of_stays_reserved_and_its_home_says_so() {
        let area = Area {
            pages: 1,
            home: Placement::At(NodeId(0)),
        };
        let mut config = Config::usual(3, vec![area], false, false);
        config.direct = true;
        let mut home: Home<u32> = Home::new(NodeId(0), config).unwrap();
        let (page, thread, asks) = (PageId(0), ThreadId(0), NodeId(2));
        home.table.entry(page).state = State::Shared;
        let begun = (NodeId(1), Interval(3));
        let step = |home: &mut Home<u32>, input| {
            let mut actions = Vec::new();
            home.step(input, &mut actions).unwrap();
            let mut sent = Vec::new();
            while let Some(action) = actions.pop() {
                match action {
                    Action::Tell(tell) => {
                        let from = home.me;
                        let message = Message::from(tell).map(|_| 0);
                        let input = Input::Message { from, message };
                        home.step(input, &mut actions).unwrap();
                    }
                    Action::Send(to, message) => sent.push((to, message)),
                    _ => {}
                }
            }
            sent
        };
        step(&mut home, Input::Begun(vec![begun]));
        let message = Message::Update {
            epoch: 0,
            page,
            thread,
            need: Vec::new(),
        };
        let message = Input::Message {
            from: asks,
            message,
        };
        let answer = step(&mut home, message);
        let shows = vec![begun, (NodeId(0), home.order.interval)];
        let expected = Message::Updatable {
            epoch: 0,
            thread,
            can: true,
            shows,
        };
        assert_eq!(answer, [(asks, expected)]);
        assert_eq!(home.table.get(page).offer, Offer::Reserved);
        assert!(!home.lacks_what_is_shown());
        let operation = crate::Operation::Update(page);
        step(&mut home, Input::Operation { thread, operation });
        assert!(home.lacks_what_is_shown());
    }
}
