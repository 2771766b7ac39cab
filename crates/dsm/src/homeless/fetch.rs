//! Fetching: diffs from each writer, and whole pages from their owners.

use super::message::Message;
use super::{Actions, Homeless, State};
use crate::order::{Version, peer};
use crate::{Access, Action, Content, Interval, Protection, Seen, Violation};
use fathomp_base::{NodeId, PageId, ThreadId};
use std::collections::BTreeMap;

/// A page on its way to this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending<B> {
    /// Threads that stand still at it.
    waiters: Vec<(ThreadId, Access)>,
    /// Nodes that have yet to answer, and the diffs that they were asked for.
    asked: BTreeMap<NodeId, Vec<Interval>>,
    /// Diffs that have arrived.
    diffs: BTreeMap<Version, B>,
    /// Its owner was asked for all of it.
    whole: bool,
    /// All of it has arrived.
    page: Option<Whole<B>>,
}

/// All of a page, as its owner had it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Whole<B> {
    /// Intervals since the last tidying that are part of it.
    pub(super) applied: Vec<Version>,
    /// Intervals that this node has to know of before its threads may look.
    pub(super) known: Vec<Version>,
    pub(super) content: B,
}

impl<B> Pending<B> {
    fn new(whole: bool) -> Self {
        Self {
            waiters: Vec::new(),
            asked: BTreeMap::new(),
            diffs: BTreeMap::new(),
            whole,
            page: None,
        }
    }
}

impl<B: Clone> Homeless<B> {
    pub(super) fn fault(
        &mut self,
        thread: ThreadId,
        page: PageId,
        access: Access,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if page.0 >= self.table.layout().pages() {
            return Err(Violation::Runtime("a fault outside the shared areas"));
        }
        let mine = self.is_mine(page);
        match (self.table.get(page).state, access) {
            _ if mine => actions.push(Action::Resume(thread)),
            (State::Untouched, _) if self.table.get(page).owner == self.me => {
                actions.push(Action::Resume(thread));
            }
            (State::Valid, Access::Write) => {
                self.make_writable(page, actions);
                actions.push(Action::Resume(thread));
            }
            // Another thread's fault at the page was served in the meantime.
            (State::Valid | State::Dirty, _) => actions.push(Action::Resume(thread)),
            (State::Untouched | State::Invalid | State::Pending, _) => {
                self.fetch(page, actions);
                if let Some(pending) = self.pending.get_mut(&page) {
                    pending.waiters.push((thread, access));
                }
            }
        }
        Ok(())
    }

    /// Asks for what `page` lacks, unless that was done before.
    pub(super) fn fetch(&mut self, page: PageId, actions: &mut Actions<B>) {
        if self.pending.contains_key(&page) {
            return;
        }
        let entry = self.table.get(page);
        let whole = entry.state == State::Untouched && entry.owner != self.me;
        self.make_diff(page, actions);
        if !self.is_mine(page) {
            self.table.entry(page).state = State::Pending;
        }
        self.pending.insert(page, Pending::new(whole));
        if whole {
            self.ask_owner(page, actions);
        } else {
            self.ask_writers(page, actions);
        }
    }

    fn ask_owner(&mut self, page: PageId, actions: &mut Actions<B>) {
        let (owner, epoch) = (self.table.get(page).owner, self.order.epoch);
        if let Some(pending) = self.pending.get_mut(&page) {
            pending.asked.insert(owner, Vec::new());
        }
        actions.push(Action::Send(owner, Message::PageWanted { epoch, page }));
    }

    /// Asks each writer for the diffs that are missing. True if there are some.
    fn ask_writers(&mut self, page: PageId, actions: &mut Actions<B>) -> bool {
        let Some(pending) = self.pending.get_mut(&page) else {
            return false;
        };
        let mut wanted: BTreeMap<NodeId, Vec<Interval>> = BTreeMap::new();
        for version in self.missing.get(&page).into_iter().flatten() {
            if version.0 != self.me && !pending.diffs.contains_key(version) {
                wanted.entry(version.0).or_default().push(version.1);
            }
        }
        let some = !wanted.is_empty();
        let epoch = self.order.epoch;
        for (writer, intervals) in wanted {
            pending.asked.insert(writer, intervals.clone());
            let wanted = Message::DiffsWanted {
                epoch,
                page,
                intervals,
            };
            actions.push(Action::Send(writer, wanted));
        }
        some
    }

    pub(super) fn diffs_wanted(
        &mut self,
        from: NodeId,
        page: PageId,
        intervals: &[Interval],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let history = self.history.get(page);
        // Histories get long, and what is wanted is near the end as a rule.
        let own = |interval, h: &[Version]| h.iter().rev().any(|v| *v == (self.me, interval));
        let is_own = |interval| history.is_some_and(|h| own(interval, h));
        if from == self.me || !intervals.iter().all(|i| is_own(*i)) || self.is_mine(page) {
            return Err(peer(from, "wants a diff that does not exist"));
        }
        if let Some(unmade) = self.table.get(page).twin
            && intervals.contains(&unmade)
        {
            self.make_diff(page, actions);
        }
        let diffs = intervals.iter().map(|i| (*i, Content::Kept(page, *i)));
        let answer = Message::Diffs {
            epoch: self.order.epoch,
            page,
            diffs: diffs.collect(),
        };
        actions.push(Action::Send(from, answer));
        Ok(())
    }

    pub(super) fn page_wanted(
        &mut self,
        from: NodeId,
        page: PageId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let exists = page.0 < self.table.layout().pages();
        if !exists || from == self.me || self.table.get(page).owner != self.me {
            return Err(peer(from, "wants a page from a node that does not own it"));
        }
        let entry = self.table.get(page);
        let unwatched = entry.pinned || entry.state == State::Untouched;
        if unwatched && self.config.loads_acquire && !self.is_standing() {
            // Whoever sees what is written now must know what was written before.
            self.publish(actions);
        }
        let mut applied = self.applied(page);
        if unwatched {
            note(&mut applied, (self.me, self.order.interval));
            if self.config.loads_acquire {
                // And what this node knew of; whoever fetches it later, too.
                self.opened = Some(self.order.seen.clone());
            }
        }
        let known = self.opened.iter().flat_map(Seen::iter).collect();
        if entry.pinned {
            // Its next interval tells that it may have written it again.
            let entry = self.table.entry(page);
            if !std::mem::replace(&mut entry.served, true) {
                self.dirty.push(page);
            }
        } else if unwatched {
            self.table.entry(page).state = State::Valid;
            Action::protect(actions, page, Protection::Read);
        }
        let content = match self.table.get(page).state {
            State::Dirty => Content::Twin(page),
            _ => Content::Page(page),
        };
        let answer = Message::Page {
            epoch: self.order.epoch,
            page,
            applied,
            known,
            content,
        };
        actions.push(Action::Send(from, answer));
        Ok(())
    }

    /// True if none of this node's threads runs: it is at a barrier.
    fn is_standing(&self) -> bool {
        self.order.is_at_barrier() || self.leaving.is_some()
    }

    /// Of each writer, the last interval that is part of my copy.
    fn applied(&self, page: PageId) -> Vec<Version> {
        let missing = self.missing.get(&page).map_or(&[][..], Vec::as_slice);
        let mut applied = Vec::new();
        for version in self.history.get(page).into_iter().flatten() {
            if !missing.contains(version) {
                note(&mut applied, *version);
            }
        }
        applied
    }

    pub(super) fn diffs_arrived(
        &mut self,
        from: NodeId,
        page: PageId,
        diffs: Vec<(Interval, B)>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let pending = self.pending.get_mut(&page);
        let sent: Vec<_> = diffs.iter().map(|(interval, _)| *interval).collect();
        let Some(pending) = pending.filter(|p| p.asked.get(&from) == Some(&sent)) else {
            return Err(peer(from, "sends other diffs than it was asked for"));
        };
        pending.asked.remove(&from);
        for (interval, diff) in diffs {
            pending.diffs.insert((from, interval), diff);
        }
        self.complete(page, actions);
        self.settle(actions);
        Ok(())
    }

    pub(super) fn page_arrived(
        &mut self,
        from: NodeId,
        page: PageId,
        whole: Whole<B>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let pending = self.pending.get_mut(&page).filter(|pending| pending.whole);
        let Some(pending) = pending.filter(|p| p.asked.contains_key(&from)) else {
            return Err(peer(from, "sends a page that was not asked for"));
        };
        pending.asked.remove(&from);
        let news = [whole.applied.as_slice(), &whole.known].concat();
        self.order.learn_soon(news, actions);
        pending.page = Some(whole);
        self.complete(page, actions);
        self.settle(actions);
        Ok(())
    }

    /// Gives up what was asked for and not answered before a barrier ended: whoever
    /// was asked may have left it. Returns the pinned pages of mine among it, and
    /// the threads that stand still.
    pub(super) fn withdraw(&mut self) -> (Vec<PageId>, Vec<(ThreadId, PageId, Access)>) {
        let (mut mine, mut faults) = (Vec::new(), Vec::new());
        for (page, pending) in std::mem::take(&mut self.pending) {
            if self.is_mine(page) {
                mine.push(page);
            } else {
                let entry = self.table.entry(page);
                let whole = pending.whole || entry.pinned;
                entry.state = if whole {
                    State::Untouched
                } else {
                    State::Invalid
                };
            }
            let waiters = pending.waiters.into_iter();
            faults.extend(waiters.map(|(thread, access)| (thread, page, access)));
        }
        (mine, faults)
    }

    /// A page that is on its way was written in an interval learned of now.
    pub(super) fn outdate(&mut self, page: PageId, version: Version) {
        let entry = self.table.get(page);
        match self.pending.get_mut(&page) {
            Some(pending) if entry.pinned && version.0 == entry.owner => pending.whole = true,
            Some(pending) if !pending.whole => {
                self.missing.entry(page).or_default().push(version);
            }
            _ => {}
        }
    }

    /// Completes pages for which everything has arrived.
    pub(super) fn complete_all(&mut self, actions: &mut Actions<B>) {
        for page in self.pending.keys().copied().collect::<Vec<_>>() {
            self.complete(page, actions);
        }
    }

    /// True if pinned pages of mine are not up to date.
    pub(super) fn is_pulling(&self) -> bool {
        self.pending.keys().any(|page| self.is_mine(*page))
    }

    /// Puts a page together if everything has arrived.
    fn complete(&mut self, page: PageId, actions: &mut Actions<B>) {
        if self.is_mine(page) {
            return self.complete_pinned(actions);
        }
        if self.is_pulling() {
            // Whoever sees one write has to see those before it, here too.
            return;
        }
        let Some(pending) = self.pending.get_mut(&page).filter(|p| p.asked.is_empty()) else {
            return;
        };
        if let Some(whole) = pending.page.take() {
            if !self.order.knows(&whole.applied) || !self.order.knows(&whole.known) {
                pending.page = Some(whole);
                return;
            }
            let Whole {
                applied, content, ..
            } = whole;
            let history = self.history.get(page).into_iter().flatten();
            let missing: Vec<_> = history
                .filter(|v| !covers(&applied, **v))
                .copied()
                .collect();
            let entry = self.table.get(page);
            if entry.pinned && missing.iter().any(|(writer, _)| *writer == entry.owner) {
                // Written again since it was sent.
                self.ask_owner(page, actions);
                return;
            }
            pending.whole = false;
            self.missing.insert(page, missing);
            actions.push(Action::Install(page, content));
        } else if pending.whole {
            // Its owner wrote it while diffs were on their way.
            self.ask_owner(page, actions);
            return;
        }
        if self.ask_writers(page, actions) {
            return;
        }
        let Some(pending) = self.apply(page, actions) else {
            return;
        };
        self.table.entry(page).state = State::Valid;
        if pending
            .waiters
            .iter()
            .any(|(_, access)| *access == Access::Write)
        {
            self.make_writable(page, actions);
        } else {
            Action::protect(actions, page, Protection::Read);
        }
        actions.extend(
            pending
                .waiters
                .into_iter()
                .map(|(thread, _)| Action::Resume(thread)),
        );
    }

    /// Puts the missing diffs of a page in.
    fn apply(&mut self, page: PageId, actions: &mut Actions<B>) -> Option<Pending<B>> {
        let mut pending = self.pending.remove(&page)?;
        for version in self.missing.remove(&page).into_iter().flatten() {
            match pending.diffs.remove(&version) {
                Some(diff) => actions.push(Action::Apply(page, diff)),
                None => actions.push(Action::Reapply(page, version.1)),
            }
        }
        Some(pending)
    }

    /// Threads see changes of pinned pages at once: all together or none.
    fn complete_pinned(&mut self, actions: &mut Actions<B>) {
        let mine: Vec<_> = self
            .pending
            .keys()
            .copied()
            .filter(|page| self.is_mine(*page))
            .collect();
        if mine
            .iter()
            .any(|page| self.pending.get(page).is_some_and(|p| !p.asked.is_empty()))
        {
            return;
        }
        let asked = mine
            .iter()
            .filter(|page| self.ask_writers(**page, actions))
            .count();
        if asked == 0 {
            for page in mine {
                self.apply(page, actions);
            }
        }
    }
}

/// True if one of `versions` is of `version`'s node and at least as new.
fn covers(versions: &[Version], version: Version) -> bool {
    versions
        .iter()
        .any(|(writer, interval)| *writer == version.0 && *interval >= version.1)
}

/// Adds a version, in place of an older one of the same node.
fn note(versions: &mut Vec<Version>, version: Version) {
    match versions.iter_mut().find(|(writer, _)| *writer == version.0) {
        Some((_, interval)) => *interval = (*interval).max(version.1),
        None => versions.push(version),
    }
}
