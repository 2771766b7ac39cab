//! Faults: diffs are fetched from each writer, and whole pages from their owners.

use super::last::{Asked, covers};
use super::{Actions, Homeless, State};
use crate::message::Message;
use crate::order::{ITSELF, Version, peer};
use crate::{Access, Action, Interval, PageCopy, PageRange, Protection, Violation};
use fathomp_types::{NodeId, PageId, ThreadId};
use std::collections::BTreeMap;

/// A thread that stands still at a page.
type Waiter = (ThreadId, Access);

/// A page on its way to this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending<B> {
    pub(super) waiters: Vec<Waiter>,
    /// Nodes that have yet to answer, and what they were asked for.
    pub(super) asked: BTreeMap<NodeId, Asked>,
    /// Diffs that have arrived.
    pub(super) diffs: BTreeMap<Version, B>,
    /// Last writers were asked: what is missing still, they cannot hand on.
    pub(super) directly: bool,
    /// All of it has to come, from its owner.
    whole: bool,
    /// All of it, as its owner had it.
    pub(super) page: Option<PageCopy<B>>,
}

impl<B> Homeless<B> {
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
        if self.tidying != super::Tidying::No {
            self.deferred.push((thread, page, access));
            return Ok(());
        }
        if self.fault_waits((thread, page, access), actions)? {
            return Ok(());
        }
        let entry = self.table.get(page);
        let is_owned = entry.owner == self.me;
        match (entry.state, access) {
            (State::Untouched, _) if is_owned => {}
            _ if is_owned && entry.pinned => {}
            (State::Valid, Access::Write) => self.make_writable(page, actions),
            // Another thread's fault at the page was served in the meantime.
            (State::Valid | State::Writable | State::Held, _) => {}
            (State::Untouched | State::Invalid | State::Pending, _) => {
                self.fetch_for_thread(page, access, actions);
                if let Some(pending) = self.pending.get_mut(&page) {
                    pending.waiters.push((thread, access));
                }
                return Ok(());
            }
        }
        actions.push(Action::Resume(thread));
        Ok(())
    }

    /// A thread waits for `page`: asks for what it lacks, and for what is likely to be
    /// wanted next.
    fn fetch_for_thread(&mut self, page: PageId, access: Access, actions: &mut Actions<B>) {
        let entry = self.table.get(page);
        if entry.state != State::Untouched || entry.pinned {
            return self.fetch(page, actions);
        }
        let pages = self.planned(page, access);
        for each in pages.iter() {
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
        let pending = Pending {
            waiters: Vec::new(),
            asked: BTreeMap::new(),
            diffs: BTreeMap::new(),
            directly: false,
            whole,
            page: None,
        };
        self.pending.insert(page, pending);
    }

    /// Asks the owner of `pages`, which is the same for all, for all of them.
    fn ask_owner(&mut self, pages: PageRange, actions: &mut Actions<B>) {
        let owner = self.table.get(pages.first()).owner;
        for page in pages.iter() {
            if let Some(pending) = self.pending.get_mut(&page) {
                pending.asked.insert(owner, Asked::Page);
            }
        }
        let (epoch, need) = (self.order.epoch, Vec::new());
        let message = Message::Fetch { epoch, pages, need };
        actions.push(Action::Send(owner, message));
    }

    /// Asks for the diffs that are missing: each writer, or the last ones if they hand on what
    /// they know. True if there are some.
    fn ask_writers(&mut self, page: PageId, actions: &mut Actions<B>) -> bool {
        let hands_on = self.config.hands_on() && !self.table.get(page).pinned;
        let Some(pending) = self.pending.get_mut(&page) else {
            return false;
        };
        let missing = self.missing.get(&page).into_iter().flatten();
        let is_elsewhere = |v: &&Version| {
            v.0 != self.me && !pending.diffs.contains_key(v) && !self.held.contains(&(page, **v))
        };
        let missing: Vec<_> = missing.filter(is_elsewhere).copied().collect();
        if hands_on && !pending.directly && !missing.is_empty() {
            self.ask_last_writers(page, missing, actions);
            return true;
        }
        let mut wanted: BTreeMap<NodeId, Vec<Interval>> = BTreeMap::new();
        for (writer, interval) in missing {
            wanted.entry(writer).or_default().push(interval);
        }
        let some = !wanted.is_empty();
        let epoch = self.order.epoch;
        for (writer, intervals) in wanted {
            pending.asked.insert(writer, Asked::Own(intervals.clone()));
            let wanted = Message::DiffsWanted {
                epoch,
                page,
                intervals,
            };
            actions.push(Action::Send(writer, wanted));
        }
        some
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
        let sent = Asked::Own(sent);
        let is_asked = |p: &&mut Pending<B>| p.asked.get(&from) == Some(&sent);
        let Some(pending) = pending.filter(is_asked) else {
            return Err(peer(from, "sends other diffs than it was asked for"));
        };
        pending.asked.remove(&from);
        for (interval, diff) in diffs {
            pending.diffs.insert((from, interval), diff);
        }
        self.arrived(page.into(), actions)
    }

    pub(super) fn pages_arrived(
        &mut self,
        from: NodeId,
        first: PageId,
        copies: Vec<PageCopy<B>>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let pages = u32::try_from(copies.len()).ok();
        let pages = pages.and_then(|pages| PageRange::new(first, pages));
        let wanted = |page: PageId| {
            let asked = self.pending.get(&page).and_then(|p| p.asked.get(&from));
            match asked {
                Some(Asked::Page) => true,
                Some(Asked::HandOn { whole, .. }) => *whole,
                Some(Asked::Own(_)) | None => false,
            }
        };
        let Some(pages) = pages.filter(|pages| pages.iter().all(wanted)) else {
            return Err(peer(from, "sends a page that was not asked for"));
        };
        let mut news = Vec::new();
        for (page, mut copy) in pages.iter().zip(copies) {
            copy.after = self.note_what_came(page, copy.after);
            let shown = copy.versions.iter().chain(&copy.after);
            shown.for_each(|version| note(&mut news, *version));
            if let Some(pending) = self.pending.get_mut(&page) {
                pending.asked.remove(&from);
                pending.page = Some(copy);
            }
        }
        self.order.learn_soon(news, actions);
        self.arrived(pages, actions)
    }

    /// Gives up what was asked for and not answered before a barrier ended: a node that
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
                entry.state = if pending.whole || entry.pinned {
                    self.missing.remove(&page);
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
    pub(super) fn arrived(
        &mut self,
        pages: PageRange,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.is_pulling() {
            // Nothing else is completed before: a thread that sees one write has to see those
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
            let threads = waiters.into_iter().map(|(thread, _)| thread);
            let threads = threads.filter(|thread| *thread != ITSELF);
            resumed.extend(threads.map(Action::Resume));
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
    ) -> Vec<Waiter> {
        if !self.is_complete(page, actions) {
            return Vec::new();
        }
        let waiters = self.apply(page, actions);
        self.table.entry(page).state = State::Valid;
        if waiters.iter().any(|(_, access)| *access == Access::Write) {
            self.make_writable(page, after);
            self.do_changes(page, after);
        } else {
            Action::protect(after, page, Protection::Read);
        }
        waiters
    }

    /// Installs a whole page if one has come, and asks for what is missing still. True if
    /// everything is here.
    fn is_complete(&mut self, page: PageId, actions: &mut Actions<B>) -> bool {
        let Some(pending) = self.pending.get_mut(&page).filter(|p| p.asked.is_empty()) else {
            return false;
        };
        let has_come = pending.page.is_some();
        let Some(copy) = pending.page.take_if(|copy| self.order.knows_copy(copy)) else {
            if !has_come && pending.whole {
                // Its owner wrote it while diffs were on their way.
                self.ask_owner(page.into(), actions);
                return false;
            }
            return !has_come && !self.ask_writers(page, actions);
        };
        let history = self.history.get(page).into_iter().flatten();
        let missing = history.filter(|v| !covers(&copy.versions, **v));
        let missing: Vec<_> = missing.copied().collect();
        let entry = self.table.get(page);
        if entry.pinned && missing.iter().any(|(writer, _)| *writer == entry.owner) {
            // Written again since it was sent.
            self.ask_owner(page.into(), actions);
            return false;
        }
        pending.whole = false;
        let wanted = pending.waiters.iter().map(|(_, access)| *access).max();
        self.missing.insert(page, missing);
        actions.push(Action::Install(page, copy.content));
        self.note_arrival(page, wanted);
        !self.ask_writers(page, actions)
    }

    /// Puts the missing diffs of a page in.
    fn apply(&mut self, page: PageId, actions: &mut Actions<B>) -> Vec<Waiter> {
        self.pulls.remove(&page);
        let Some(mut pending) = self.pending.remove(&page) else {
            return Vec::new();
        };
        let keeps = self.config.hands_on() && !self.table.get(page).pinned;
        for version in self.missing.remove(&page).into_iter().flatten() {
            actions.push(match pending.diffs.remove(&version) {
                Some(diff) if keeps => {
                    self.held.insert((page, version));
                    Action::ApplyAndStore(page, version, diff)
                }
                Some(diff) => Action::Apply(page, diff),
                None => {
                    debug_assert!(
                        self.keeps(page, version),
                        "a diff is missing that was not asked for"
                    );
                    Action::RestoreDiff(page, version)
                }
            });
        }
        self.bound_held(actions);
        pending.waiters
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
            }
        }
    }
}

/// Adds a version, in place of an older one of the same node.
pub(super) fn note(versions: &mut Vec<Version>, version: Version) {
    match versions.iter_mut().find(|(writer, _)| *writer == version.0) {
        Some((_, interval)) => *interval = (*interval).max(version.1),
        None => versions.push(version),
    }
}
