//! Fetching: diffs from each writer, and whole pages from their owners.

use super::message::Message;
use super::{Actions, Entry, Homeless, State};
use crate::order::{Version, peer};
use crate::{Access, Action, Content, Interval, Offer, PageRange, Protection, Seen, Violation};
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
    /// What has arrived, or has been tried to be taken: what else is missing are diffs.
    pub(super) based: bool,
    /// It was borrowed.
    pub(super) borrowed: bool,
    /// This node has learned something since it was asked for.
    pub(super) outdated: bool,
    /// And has to be given back, when it has come.
    pub(super) returned: bool,
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
            based: false,
            borrowed: false,
            outdated: false,
            returned: false,
        }
    }

    /// Nothing has come but diffs. Whether anybody waits for it.
    pub(super) fn begin_again(&mut self) -> bool {
        let (waiters, diffs) = (
            std::mem::take(&mut self.waiters),
            std::mem::take(&mut self.diffs),
        );
        *self = Self {
            waiters,
            diffs,
            ..Self::new(true)
        };
        !self.waiters.is_empty()
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
            (State::Dirty, Access::Write) => {
                // It may have been found to be written without a fault.
                Action::protect(actions, page, Protection::ReadWrite);
                actions.push(Action::Resume(thread));
            }
            // Another thread's fault at the page was served in the meantime.
            (State::Valid | State::Expected | State::Dirty, _) => {
                actions.push(Action::Resume(thread));
            }
            (State::Untouched | State::Invalid | State::Pending, _) => {
                self.table.entry(page).rewritten |= access == Access::Write;
                self.fetch_for_thread(page, actions);
                if let Some(pending) = self.pending.get_mut(&page) {
                    pending.waiters.push((thread, access));
                }
            }
        }
        Ok(())
    }

    /// A thread waits for `page`: asks for what it lacks, and for what is likely to be
    /// wanted next.
    fn fetch_for_thread(&mut self, page: PageId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        entry.unwanted = false;
        let (owner, pinned) = (entry.owner, entry.pinned);
        if entry.state != State::Untouched || pinned {
            return self.fetch(page, actions);
        }
        let table = &self.table;
        let missed = |next: PageId| {
            let exists = next.0 < table.layout().pages();
            let entry = exists.then(|| table.get(next))?;
            let there = entry.state == State::Untouched && entry.owner == owner && !entry.pinned;
            (there && !entry.unwanted).then_some(entry.missed)
        };
        let most = self.config.prefetch;
        let pages = self.streams.worth_fetching(page, most, missed);
        for each in pages.iter() {
            let ahead = self.order.epoch + 1;
            self.table.entry(each).ahead = if each == page { 0 } else { ahead };
            self.make_diff(each, actions);
            self.begin(each, true);
        }
        self.ask_owner(pages, actions);
    }

    /// Asks for what `page` lacks, unless that was done before.
    pub(super) fn fetch(&mut self, page: PageId, actions: &mut Actions<B>) {
        if self.pending.contains_key(&page) {
            return;
        }
        let entry = self.table.get(page);
        let whole = entry.state == State::Untouched && entry.owner != self.me;
        self.make_diff(page, actions);
        self.begin(page, whole);
        if whole {
            self.ask_owner(page.into(), actions);
        } else {
            self.ask_writers(page, actions);
        }
    }

    fn begin(&mut self, page: PageId, whole: bool) {
        if self.is_mine(page) {
            self.pulls.insert(page);
        } else {
            self.table.entry(page).state = State::Pending;
        }
        self.offer(page, Offer::Closed);
        self.pending.insert(page, Pending::new(whole));
    }

    /// Asks the owner of `pages`, who is the same, for all of them.
    pub(super) fn ask_owner(&mut self, pages: PageRange, actions: &mut Actions<B>) {
        let (owner, epoch) = (self.table.get(pages.first()).owner, self.order.epoch);
        for page in pages.iter() {
            if let Some(pending) = self.pending.get_mut(&page) {
                pending.asked.insert(owner, Vec::new());
                pending.outdated = false;
            }
        }
        let wanted = Message::PagesWanted { epoch, pages };
        actions.push(Action::Send(owner, wanted));
    }

    /// Asks each writer for the diffs that are missing, or at first one, of whom perhaps
    /// the page can be taken. True if there are some.
    fn ask_writers(&mut self, page: PageId, actions: &mut Actions<B>) -> bool {
        let takes = self.is_direct() && !self.table.get(page).pinned;
        let Some(pending) = self.pending.get_mut(&page) else {
            return false;
        };
        let mut last = None;
        let mut wanted: BTreeMap<NodeId, Vec<Interval>> = BTreeMap::new();
        for version in self.missing.get(&page).into_iter().flatten() {
            if version.0 != self.me && !pending.diffs.contains_key(version) {
                wanted.entry(version.0).or_default().push(version.1);
                last = Some(version.0);
            }
        }
        if let Some(last) = last.filter(|_| takes && !pending.based) {
            wanted.retain(|writer, _| *writer == last);
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
        self.note_asked(page);
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

    pub(super) fn pages_wanted(
        &mut self,
        from: NodeId,
        pages: PageRange,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let exist = pages.end() <= u64::from(self.table.layout().pages());
        let owned = |page| self.table.get(page).owner == self.me;
        if !exist || from == self.me || !pages.iter().all(owned) {
            return Err(peer(from, "wants a page from a node that does not own it"));
        }
        let is_unwatched = |entry: Entry| entry.pinned || entry.state == State::Untouched;
        let mut unwatched = pages.iter().map(|page| is_unwatched(self.table.get(page)));
        if self.config.loads_acquire && unwatched.any(|unwatched| unwatched) {
            if !self.is_standing() {
                // Whoever sees what is written now must know what was written before.
                self.publish(actions);
            }
            // And what this node knew of; whoever fetches it later, too.
            self.opened = Some(self.order.seen.clone());
        }
        let mut copies = Vec::new();
        for page in pages.iter() {
            self.note_asked(page);
            let mut applied = self.applied(page);
            let entry = self.table.get(page);
            // Of what was written unwatched no notice ever names the page. Only where loads
            // acquire does the asker have to know what was written before it; elsewhere it
            // would wait for that or not, as it asks before this node comes to a barrier or
            // after.
            if entry.pinned || self.config.loads_acquire && is_unwatched(entry) {
                note(&mut applied, (self.me, self.order.interval));
            }
            if entry.pinned {
                // Its next interval tells that it may have written it again.
                let entry = self.table.entry(page);
                if !std::mem::replace(&mut entry.served, true) {
                    self.dirty.push(page);
                }
            } else if entry.state == State::Untouched {
                self.table.entry(page).state = State::Valid;
                Action::protect(actions, page, Protection::Read);
                self.offer(page, Offer::Open);
            }
            let content = match entry.state {
                State::Dirty | State::Expected => Content::Twin(page),
                _ => Content::Page(page),
            };
            copies.push((applied, content));
        }
        let answer = Message::Pages {
            epoch: self.order.epoch,
            first: pages.first(),
            known: self.opened.iter().flat_map(Seen::iter).collect(),
            copies,
        };
        actions.push(Action::Send(from, answer));
        Ok(())
    }

    /// True if none of this node's threads runs: it is at a barrier.
    pub(super) fn is_standing(&self) -> bool {
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
        pending.based = true;
        for (interval, diff) in diffs {
            pending.diffs.insert((from, interval), diff);
        }
        self.arrived(page.into(), actions)
    }

    pub(super) fn pages_arrived(
        &mut self,
        from: NodeId,
        first: PageId,
        known: &[Version],
        copies: Vec<(Vec<Version>, B)>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let pages = u32::try_from(copies.len()).ok();
        let pages = pages.and_then(|pages| PageRange::new(first, pages));
        let takes = self.is_direct();
        let wanted = |page: PageId| {
            let pending = self.pending.get(&page);
            pending.is_some_and(|p| (p.whole || takes && !p.based) && p.asked.contains_key(&from))
        };
        let Some(pages) = pages.filter(|pages| pages.iter().all(wanted)) else {
            return Err(peer(from, "sends a page that was not asked for"));
        };
        let mut news = known.to_vec();
        for (page, (applied, content)) in pages.iter().zip(copies) {
            applied.iter().for_each(|version| note(&mut news, *version));
            if let Some(pending) = self.pending.get_mut(&page) {
                pending.asked.remove(&from);
                pending.based = true;
                pending.page = Some(Whole {
                    applied,
                    known: known.to_vec(),
                    content,
                });
            }
        }
        self.order.learn_soon(news, actions);
        self.arrived(pages, actions)
    }

    /// Gives up what was asked for and not answered before a barrier ended: whoever
    /// was asked may have left it. Returns the pinned pages of mine among it, and
    /// the threads that stand still.
    pub(super) fn withdraw(&mut self) -> (Vec<PageId>, Vec<(ThreadId, PageId, Access)>) {
        let (mut mine, mut faults) = (Vec::new(), Vec::new());
        self.pulls.clear();
        for (page, pending) in std::mem::take(&mut self.pending) {
            if self.is_mine(page) {
                mine.push(page);
            } else {
                let entry = self.table.entry(page);
                let whole = pending.whole || pending.borrowed || entry.pinned;
                if whole {
                    self.missing.remove(&page);
                }
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

    /// Something of pages has arrived. Others wait for no more than they did before, unless
    /// pinned pages of mine are up to date now.
    fn arrived(&mut self, pages: PageRange, actions: &mut Actions<B>) -> Result<(), Violation> {
        if self.is_pulling() {
            // Nothing else is completed before: whoever sees one write has to see those
            // before it, here too.
            self.complete_pinned(actions);
            return self.settle(actions);
        }
        self.complete_each(pages.iter(), actions);
        self.go_on(actions)
    }

    /// Completes pages for which everything has arrived.
    pub(super) fn complete_all(&mut self, actions: &mut Actions<B>) {
        let pending: Vec<_> = self.pending.keys().copied().collect();
        self.complete_each(pending.into_iter(), actions);
    }

    fn complete_each(&mut self, pages: impl Iterator<Item = PageId>, actions: &mut Actions<B>) {
        // Permitting many pages at once costs less.
        let (mut after, mut resumed) = (Vec::new(), Vec::new());
        for page in pages {
            let waiters = self.complete(page, actions, &mut after);
            resumed.extend(waiters.into_iter().map(Action::Resume));
        }
        actions.append(&mut after);
        actions.append(&mut resumed);
    }

    /// True if pinned pages of mine are not up to date.
    pub(super) fn is_pulling(&self) -> bool {
        !self.pulls.is_empty()
    }

    /// Puts a page together if everything has arrived; `after` is what is to be done
    /// then. Returns the threads that may go on after that.
    fn complete(
        &mut self,
        page: PageId,
        actions: &mut Actions<B>,
        after: &mut Actions<B>,
    ) -> Vec<ThreadId> {
        let nobody = Vec::new();
        let Some(pending) = self.pending.get_mut(&page).filter(|p| p.asked.is_empty()) else {
            return nobody;
        };
        if pending.returned {
            self.fetch_whole_again(page, actions);
            return nobody;
        }
        let mut ready = None;
        if let Some(whole) = pending.page.take() {
            if !self.order.knows(&whole.applied) || !self.order.knows(&whole.known) {
                pending.page = Some(whole);
                return nobody;
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
                self.ask_owner(page.into(), actions);
                return nobody;
            }
            pending.whole = false;
            if missing.is_empty() && self.is_direct() {
                self.missing.remove(&page);
                ready = Some(content);
            } else {
                self.missing.insert(page, missing);
                actions.push(Action::Install(page, content));
            }
        } else if pending.whole {
            // Its owner wrote it while diffs were on their way.
            self.ask_owner(page.into(), actions);
            return nobody;
        }
        if self.ask_writers(page, actions) {
            return nobody;
        }
        let Some(Pending { waiters, .. }) = self.apply(page, actions) else {
            return nobody;
        };
        let entry = self.table.entry(page);
        entry.state = State::Valid;
        // Until it is.
        let rewritten = std::mem::take(&mut entry.rewritten) && !entry.pinned;
        let written = waiters.iter().any(|(_, access)| *access == Access::Write);
        if written || self.expects_writes(rewritten) {
            actions.push(match ready {
                Some(content) => Action::InstallTwinned(page, content),
                None if written => Action::Twin(page),
                None => Action::Foresee(page.into()),
            });
            match written {
                true => self.make_dirty(page, after),
                false => self.expect(page, after),
            }
        } else {
            actions.extend(ready.map(|content| Action::Install(page, content)));
            Action::protect(after, page, Protection::Read);
            self.offer(page, Offer::Open);
        }
        waiters.into_iter().map(|(thread, _)| thread).collect()
    }

    /// Puts the missing diffs of a page in.
    fn apply(&mut self, page: PageId, actions: &mut Actions<B>) -> Option<Pending<B>> {
        let mut pending = self.pending.remove(&page)?;
        self.pulls.remove(&page);
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
        let is_awaited = |page| self.pending.get(page).is_some_and(|p| !p.asked.is_empty());
        // Answers come as was asked, in the order of pages: the last one is awaited longest.
        if self.pulls.iter().rev().any(is_awaited) {
            return;
        }
        let mine: Vec<_> = self.pulls.iter().copied().collect();
        let asked = mine
            .iter()
            .filter(|page| self.ask_writers(**page, actions))
            .count();
        if asked == 0 {
            for page in mine {
                self.apply(page, actions);
                self.offer(page, Offer::Lent);
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
pub(super) fn note(versions: &mut Vec<Version>, version: Version) {
    match versions.iter_mut().find(|(writer, _)| *writer == version.0) {
        Some((_, interval)) => *interval = (*interval).max(version.1),
        None => versions.push(version),
    }
}
