//! Exclusive leases: of pages that one node writes in one interval after the other while nobody
//! else touches them. After a while it need not tell any more.
//!
//! A node's copy of such a page is *leased*: it stays open, with its twin, and no notice
//! names it. Nobody else has a read lease meanwhile, and the home's own threads may not touch it
//! either: a node that wants it has the home *recall* it. A home that writes such a page itself has
//! everybody *drop* their copies, and is alone with it again. All leases end at barriers.

use super::{Actions, Home};
use crate::heuristics::{Event, Lease, Why};
use crate::message::{Message, Request, Term};
use crate::order::peer;
use crate::state::State;
use crate::{Access, Action, Body, PageRange, PageSet, Protection, Violation};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::collections::{BTreeMap, BTreeSet};

/// A page at home here that another node has leased.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct LeasedOut {
    to: NodeId,
    recalled: bool,
    waiters: Vec<(ThreadId, Access)>,
}

/// Copies of pages at home here are being dropped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Round {
    pages: BTreeSet<PageId>,
    /// Nodes that have not answered yet.
    waiting: BTreeSet<NodeId>,
}

/// Exclusive leases that a node has, and those that it has given others.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ExclusiveLeases {
    /// What was asked for, of each home.
    asked: BTreeMap<NodeId, Vec<PageId>>,
    /// Leased copies here.
    leased: BTreeSet<PageId>,
    /// Those of them that were written, and stay so when an interval ends.
    open: Vec<PageId>,
    /// Those that were leased when this node came to the barrier at which it is.
    lapsed: BTreeSet<PageId>,
    leased_out: BTreeMap<PageId, LeasedOut>,
    /// By the node that is to be alone.
    rounds: BTreeMap<NodeId, Round>,
}

impl ExclusiveLeases {
    /// Leased copies here.
    pub(super) fn leased(&self) -> impl Iterator<Item = PageId> {
        self.leased.iter().copied()
    }

    /// Whether a copy here is leased, or its home was asked for that.
    pub(super) fn is_wanted(&self, page: PageId) -> bool {
        self.leased.contains(&page) || self.asked.values().any(|pages| pages.contains(&page))
    }

    /// Whether a leased copy here was written, and stays so when an interval ends.
    pub(super) fn is_open(&self, page: PageId) -> bool {
        self.open.contains(&page)
    }

    /// Whether nothing is leased here, and nobody is about to be alone with pages.
    pub(super) fn has_ended(&self) -> bool {
        self.leased.is_empty() && self.open.is_empty() && self.rounds.is_empty()
    }
}

impl<B: Clone + Body> Home<B> {
    /// Whether pages can be leased.
    pub(super) fn leases(&self) -> bool {
        !self.config.loads_acquire && !self.watches_all
    }

    /// Of the pages that were written, those that need not be told. `pages` are the others.
    pub(super) fn keep_leased(&mut self, pages: &mut Vec<PageId>, actions: &mut Actions<B>) {
        let ExclusiveLeases { leased, open, .. } = &mut self.exclusive;
        if !leased.is_empty() {
            open.extend(pages.extract_if(.., |page| leased.contains(page)));
        }
        if !open.is_empty() {
            let count = u32::try_from(open.len()).unwrap_or(u32::MAX);
            actions.push(Action::LeaveOpen(count));
        }
    }

    /// An interval has ended: asks for these pages, so that they need not be told any more.
    pub(super) fn ask_for_leases(&mut self, mut pages: Vec<PageId>, actions: &mut Actions<B>) {
        pages.retain(|page| self.exists(*page));
        pages.retain(|page| {
            let entry = self.table.get(*page);
            !entry.pinned
        });
        if pages.is_empty() || self.order.comes_to_barrier() {
            return;
        }
        pages.sort_unstable();
        pages.dedup();
        let mut homes: BTreeMap<NodeId, Vec<PageId>> = BTreeMap::new();
        for page in pages {
            homes.entry(self.home_of(page)).or_default().push(page);
        }
        for (home, pages) in homes {
            if home == self.me {
                self.begin_round(home, pages, actions);
            } else if !self.exclusive.asked.contains_key(&home) {
                self.say(home, Term::Ask, &pages, actions);
                self.exclusive.asked.insert(home, pages);
            }
        }
    }

    fn say(&self, to: NodeId, term: Term, pages: &[PageId], actions: &mut Actions<B>) {
        let lease = Message::Lease {
            epoch: self.order.epoch,
            term,
            pages: PageSet::from_sorted(pages),
        };
        actions.push(Action::Send(to, lease));
    }

    pub(super) fn lease(
        &mut self,
        from: NodeId,
        term: Term,
        pages: &PageSet,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let home = match term {
            Term::Ask | Term::Return | Term::CopiesDropped(_) => self.me,
            Term::Grant | Term::Recall | Term::LeasedOut | Term::DropCopies(_) => from,
        };
        let exist = pages.end() <= u64::from(self.table.layout().pages());
        if from == self.me || !exist || pages.iter().any(|page| self.home_of(page) != home) {
            return Err(peer(from, "leases pages that are at home elsewhere"));
        }
        let pages = pages.iter().collect();
        match term {
            Term::Ask => return self.lease_asked(from, pages, actions),
            Term::Grant => return self.granted(from, &pages, actions),
            Term::Recall => self.recalled(from, pages, actions),
            Term::LeasedOut => pages
                .into_iter()
                .for_each(|page| self.were_left(page.into(), actions)),
            Term::Return => return self.returned(from, &pages, actions),
            Term::DropCopies(alone) => self.drop_all(from, alone, pages, actions),
            Term::CopiesDropped(alone) => return self.dropped(from, alone, &pages, actions),
        }
        Ok(())
    }

    // At home.

    fn lease_asked(
        &mut self,
        from: NodeId,
        mut pages: Vec<PageId>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.exclusive.rounds.contains_key(&from) {
            return Err(peer(from, "asks for pages before it is answered"));
        }
        if self.order.comes_to_barrier() {
            pages.clear();
        }
        self.begin_round(from, pages, actions);
        Ok(())
    }

    /// Whether a page at home here can be left to `alone`.
    fn can_be_left(&self, page: PageId, alone: NodeId) -> bool {
        let entry = self.table.get(page);
        let state = match entry.state {
            State::Shared => true,
            // Where homes notice all writes, what is untouched counts as not written (see
            // `note_what_it_follows`).
            State::Written => alone == self.me && !self.config.watch_home,
            _ => false,
        };
        let wanted = |parked: &super::Parked| parked.is_about(page);
        let here = entry.home == self.me && !entry.pinned;
        here && state && !self.parked.iter().any(wanted)
    }

    /// All but `alone` and this node are to drop their copies.
    fn begin_round(&mut self, alone: NodeId, mut pages: Vec<PageId>, actions: &mut Actions<B>) {
        if self.exclusive.rounds.contains_key(&alone) {
            return;
        }
        let elsewhere = |page: &PageId| {
            let mut rounds = self.exclusive.rounds.values();
            !rounds.any(|round| round.pages.contains(page))
        };
        pages.retain(|page| elsewhere(page) && self.can_be_left(*page, alone));
        let others = (0..self.config.nodes).map(NodeId);
        let waiting: BTreeSet<_> = others
            .filter(|node| *node != alone && *node != self.me && !pages.is_empty())
            .collect();
        for node in &waiting {
            self.say(*node, Term::DropCopies(alone), &pages, actions);
        }
        let done = waiting.is_empty();
        let pages = pages.into_iter().collect();
        self.exclusive
            .rounds
            .insert(alone, Round { pages, waiting });
        if done {
            self.end_round(alone, actions);
        }
    }

    fn dropped(
        &mut self,
        from: NodeId,
        alone: NodeId,
        pages: &[PageId],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        // A barrier may have come in between.
        let Some(round) = self.exclusive.rounds.get_mut(&alone) else {
            return Ok(());
        };
        if !round.waiting.remove(&from) {
            return Err(peer(from, "drops pages twice"));
        }
        round.pages.retain(|page| pages.binary_search(page).is_ok());
        if round.waiting.is_empty() {
            self.end_round(alone, actions);
        }
        Ok(())
    }

    /// Nobody else has a copy of the pages of a round.
    fn end_round(&mut self, alone: NodeId, actions: &mut Actions<B>) {
        let Some(round) = self.exclusive.rounds.remove(&alone) else {
            return;
        };
        let mut pages: Vec<_> = round.pages.into_iter().collect();
        pages.retain(|page| self.can_be_left(*page, alone));
        for &page in &pages {
            let (state, protection) = match alone == self.me {
                true => (State::Untouched, self.alone()),
                false => (State::Leased, Protection::None),
            };
            self.table.entry(page).state = state;
            Action::protect(actions, page, protection);
            if alone == self.me {
                self.note(Event::Lease(page, Lease::Granted));
            } else {
                let lease = LeasedOut {
                    to: alone,
                    recalled: false,
                    waiters: Vec::new(),
                };
                self.exclusive.leased_out.insert(page, lease);
            }
        }
        if alone == self.me {
            // What was written in the open interval need not be told any more.
            self.dirty.retain(|page| pages.binary_search(page).is_err());
        } else {
            self.say(alone, Term::Grant, &pages, actions);
        }
    }

    /// A page at home here is fetched: nobody is going to be alone with it.
    pub(super) fn leave_round(&mut self, page: PageId) {
        for round in self.exclusive.rounds.values_mut() {
            round.pages.remove(&page);
        }
    }

    /// Whether a page at home here is leased to another node.
    pub(super) fn is_leased_out(&self, page: PageId) -> bool {
        self.exclusive.leased_out.contains_key(&page)
    }

    /// A node has asked for pages at home here. Those that it has to wait for: perhaps no
    /// thread wants what it has asked for together with others.
    pub(super) fn without_leased_out(
        &mut self,
        from: NodeId,
        pages: PageRange,
        actions: &mut Actions<B>,
    ) -> Vec<PageRange> {
        if self.exclusive.leased_out.is_empty() || pages.len() == 1 {
            self.recall(pages.iter(), actions);
            return vec![pages];
        }
        let (there, here): (Vec<_>, Vec<_>) =
            pages.iter().partition(|page| self.is_leased_out(*page));
        if !there.is_empty() {
            self.say(from, Term::LeasedOut, &there, actions);
        }
        PageSet::from_sorted(&here).ranges().to_vec()
    }

    /// Has pages at home here returned, those of them that are leased.
    pub(super) fn recall(&mut self, pages: impl Iterator<Item = PageId>, actions: &mut Actions<B>) {
        let mut nodes: BTreeMap<NodeId, Vec<PageId>> = BTreeMap::new();
        for page in pages {
            if let Some(lease) = self.exclusive.leased_out.get_mut(&page)
                && !std::mem::replace(&mut lease.recalled, true)
            {
                nodes.entry(lease.to).or_default().push(page);
            }
        }
        for (node, pages) in nodes {
            self.say(node, Term::Recall, &pages, actions);
        }
    }

    /// A thread here wants a page that is leased to another node.
    pub(super) fn want_back(
        &mut self,
        thread: ThreadId,
        page: PageId,
        access: Access,
        actions: &mut Actions<B>,
    ) {
        self.recall(std::iter::once(page), actions);
        if let Some(lease) = self.exclusive.leased_out.get_mut(&page) {
            lease.waiters.push((thread, access));
        }
    }

    fn returned(
        &mut self,
        from: NodeId,
        pages: &[PageId],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut waiting = Vec::new();
        for &page in pages {
            let lease = self.exclusive.leased_out.remove(&page);
            let lease = lease.filter(|lease| lease.to == from);
            let lease = lease.ok_or_else(|| peer(from, "returns a page that it does not have"))?;
            let waiters = lease.waiters.into_iter();
            waiting.extend(waiters.map(|(thread, access)| (thread, page, access)));
            self.table.entry(page).state = State::Shared;
            Action::protect(actions, page, Protection::Watched);
        }
        self.serve_parked(actions)?;
        for (thread, page, access) in waiting {
            self.fault(thread, page, access, actions)?;
        }
        Ok(())
    }

    // Elsewhere.

    fn granted(
        &mut self,
        from: NodeId,
        pages: &[PageId],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let asked = self.exclusive.asked.remove(&from).unwrap_or_default();
        if pages.iter().any(|page| asked.binary_search(page).is_err()) {
            return Err(peer(from, "leases pages that it was not asked for"));
        }
        for page in asked {
            if pages.binary_search(&page).is_err() {
                self.note(Event::Lease(page, Lease::Refused));
            }
        }
        if self.order.is_at_barrier() {
            self.exclusive.lapsed.extend(pages);
            return Ok(());
        }
        let mut gone = Vec::new();
        for &page in pages {
            let entry = self.table.get(page);
            let is_copy = matches!(entry.state, State::Clean | State::Expected | State::Dirty);
            if is_copy {
                self.note(Event::Lease(page, Lease::Granted));
                self.exclusive.leased.insert(page);
            } else {
                gone.push(page);
            }
        }
        if !gone.is_empty() {
            self.say(from, Term::Return, &gone, actions);
        }
        Ok(())
    }

    /// This node learns that another one has written a page. True if it was leased.
    pub(super) fn written_elsewhere(&mut self, page: PageId) -> bool {
        let leased = self.end_lease(page);
        self.note(Event::WrittenElsewhere(page));
        leased
    }

    /// The copy here is like any other again, if it was leased: what was written in it is told
    /// with the open interval. True if its home has to be told.
    pub(super) fn end_lease(&mut self, page: PageId) -> bool {
        if !self.exclusive.leased.remove(&page) {
            return false;
        }
        self.note(Event::Lease(page, Lease::Wanted));
        let open = &mut self.exclusive.open;
        if let Some(at) = open.iter().position(|open| *open == page) {
            open.swap_remove(at);
            self.dirty.push(page);
        }
        true
    }

    /// A copy that was leased is gone, and what was written in it is at home.
    pub(super) fn say_returned(&self, page: PageId, actions: &mut Actions<B>) {
        self.say(self.home_of(page), Term::Return, &[page], actions);
    }

    /// Gives pages back, what was written in them first.
    pub(super) fn return_leased(&mut self, mut pages: Vec<PageId>, actions: &mut Actions<B>) {
        pages.retain(|page| self.end_lease(*page));
        if pages.is_empty() {
            return;
        }
        let home = self.home_of(pages[0]);
        let is_written = |page: &PageId| self.table.get(*page).state == State::Dirty;
        if pages.iter().any(is_written) {
            let notice = self.end_interval(actions);
            self.order.exchange(Request::Publish, notice, actions);
        }
        self.say(home, Term::Return, &pages, actions);
    }

    fn recalled(&mut self, from: NodeId, mut pages: Vec<PageId>, actions: &mut Actions<B>) {
        if !self.order.is_at_barrier() {
            // What is not leased is on its way back.
            return self.return_leased(pages, actions);
        }
        pages.retain(|page| self.exclusive.lapsed.remove(page));
        if !pages.is_empty() {
            self.send_all_kept(actions);
            self.say(from, Term::Return, &pages, actions);
        }
    }

    fn drop_all(
        &mut self,
        from: NodeId,
        alone: NodeId,
        mut pages: Vec<PageId>,
        actions: &mut Actions<B>,
    ) {
        if self.order.comes_to_barrier() {
            // They may move here.
            pages.clear();
        }
        let mut written = pages.iter().map(|page| self.table.get(*page).state);
        if written.any(|state| state == State::Dirty) {
            let notice = self.end_interval(actions);
            self.order.exchange(Request::Publish, notice, actions);
        }
        for &page in &pages {
            let entry = self.table.get(page);
            match entry.state {
                State::Clean | State::Expected | State::Dirty => {
                    if let Some(own) = self.own.get_mut(&entry.home).filter(|_| entry.noted) {
                        // A page that is named twice does not move here: it is not here.
                        own.pages.push(page);
                    }
                    self.drop_copy(page, Why::Lease, actions);
                }
                State::Pending => self.drop_unseen(page, actions),
                _ => {}
            }
        }
        self.say(from, Term::CopiesDropped(alone), &pages, actions);
    }

    // Barriers.

    /// This node comes to a barrier: what it has leased is told there.
    pub(super) fn end_leases(&mut self) {
        let leased = std::mem::take(&mut self.exclusive.leased);
        for page in &leased {
            self.note(Event::Lease(*page, Lease::Ended));
        }
        self.exclusive.lapsed = leased;
        self.dirty.append(&mut self.exclusive.open);
        self.exclusive.rounds.clear();
    }

    /// A barrier is over at which everybody has told what he had leased. Threads that wait for
    /// pages.
    pub(super) fn come_home(&mut self) -> (Vec<PageId>, Vec<(ThreadId, PageId, Access)>) {
        self.exclusive.lapsed.clear();
        self.exclusive.asked.clear();
        let (mut pages, mut waiting) = (Vec::new(), Vec::new());
        for (page, lease) in std::mem::take(&mut self.exclusive.leased_out) {
            self.table.entry(page).state = State::Shared;
            pages.push(page);
            let waiters = lease.waiters.into_iter();
            waiting.extend(waiters.map(|(thread, access)| (thread, page, access)));
        }
        (pages, waiting)
    }

    /// Of these pages those are watched again that the barrier has left at home here.
    pub(super) fn watch_returned(&mut self, pages: Vec<PageId>, actions: &mut Actions<B>) {
        for page in pages {
            let entry = self.table.get(page);
            if entry.home == self.me && entry.state == State::Shared {
                Action::protect(actions, page, Protection::Watched);
            }
        }
    }
}
