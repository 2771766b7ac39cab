//! Pages between nodes: faults, fetches, and what homes answer.

use super::ahead::watch_ahead;
use super::carried::Changer;
use super::{Actions, Home};
use crate::heuristics::{Arrival, Event};
use crate::message::{Message, Request};
use crate::order::{Version, peer};
use crate::state::State;
use crate::{Access, Action, Body, Content, PageCopy, PageRange, Protection, Violation};
use fathomp_types::{NodeId, PageId, ThreadId};

/// A page on its way to this node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pending<B> {
    /// Threads that stand still at it; none if it was fetched ahead of time.
    pub(super) waiters: Vec<(ThreadId, Access)>,
    /// Intervals that wrote it and that were learned of after it was asked for.
    wanted: Vec<Version>,
    /// What has arrived, but is newer than what this node knows of.
    held: Option<PageCopy<B>>,
    /// What arrives next is out of date: another node is to be alone with the page.
    dropped: bool,
}

/// What is wanted of pages whose content has not all arrived at this home.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Parked {
    /// A node fetches them.
    Fetch(NodeId, PageRange, Vec<Version>),
    /// A thread wants to change one.
    Change(Changer, Vec<Version>),
}

impl Parked {
    /// Whether a page is among them.
    pub(super) fn is_about(&self, page: PageId) -> bool {
        self.pages().any(|other| other == page)
    }

    pub(super) fn pages(&self) -> impl Iterator<Item = PageId> {
        match self {
            Self::Fetch(_, pages, _) => *pages,
            Self::Change(changer, _) => changer.page.into(),
        }
        .iter()
    }

    pub(super) fn need(&self) -> &[Version] {
        match self {
            Self::Fetch(_, _, need) | Self::Change(_, need) => need,
        }
    }
}

/// A page that threads can have now.
type Ready<B> = (PageId, Vec<(ThreadId, Access)>, PageCopy<B>);

impl<B: Clone + Body> Home<B> {
    pub(super) fn fault(
        &mut self,
        thread: ThreadId,
        page: PageId,
        access: Access,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.exists(page) {
            return Err(Violation::Runtime("a fault outside the shared areas"));
        }
        if self.written.is_some() {
            self.deferred.faults.push((thread, page, access));
            return Ok(());
        }
        // What is fetched or written now comes after them.
        self.send_postponed(actions);
        // A thread that faults at a barrier takes no part in it, and may write what was kept.
        self.send_all_kept(actions);
        let (me, at_barrier) = (self.me, self.order.is_at_barrier());
        let entry = self.table.entry(page);
        match (entry.state, access) {
            (State::Untouched, _) if entry.home != me => {
                let pages = self.planned(page, access);
                self.fetch(pages, actions);
                self.wait_for(page, thread, access);
                return Ok(());
            }
            (State::Pending, _) => {
                self.wait_for(page, thread, access);
                return Ok(());
            }
            (State::Leased, _) => {
                self.want_back(thread, page, access, actions);
                return Ok(());
            }
            (State::Shared, Access::Write) => {
                self.note(Event::Written(page));
                let ahead = self.open_ahead(page, actions);
                self.write_at_home(page, at_barrier, actions);
                watch_ahead(ahead, actions);
            }
            (State::Untouched, Access::Write) if self.config.watch_home && !entry.pinned => {
                self.write_at_home(page, at_barrier, actions);
            }
            (State::Clean, Access::Write) => {
                let ahead = self.open_ahead(page, actions);
                actions.push(Action::Twin(page));
                self.make_writable(page, actions);
                watch_ahead(ahead, actions);
            }
            (State::Expected, Access::Write) => self.make_writable(page, actions),
            // It was told of before, as written without a fault, or another
            // thread's fault at the page was served in the meantime.
            (State::Dirty, Access::Write) => {
                Action::protect(actions, page, Protection::ReadWrite);
            }
            // It was opened ahead, and told of before.
            (State::Written, Access::Write) => {
                Action::protect(actions, page, Protection::ReadWrite);
            }
            // Another thread was faster.
            (State::Foreseen, Access::Write) | (_, Access::Read) => {}
            (State::Untouched, Access::Write) => {}
        }
        actions.push(Action::Resume(thread));
        Ok(())
    }

    /// Lets threads write a page at home here. It may move away at the end of a
    /// barrier, and what is written now with it.
    fn write_at_home(&mut self, page: PageId, at_barrier: bool, actions: &mut Actions<B>) {
        self.table.entry(page).state = if at_barrier {
            actions.push(Action::Twin(page));
            State::Dirty
        } else {
            State::Written
        };
        self.dirty.push(page);
        Action::protect(actions, page, Protection::ReadWrite);
    }

    /// Lets threads write a copy that has a twin.
    fn make_writable(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.copy_written(page);
        Action::protect(actions, page, Protection::ReadWrite);
    }

    /// A copy is different from its twin, or will be.
    pub(super) fn copy_written(&mut self, page: PageId) {
        self.note(Event::Written(page));
        let entry = self.table.entry(page);
        self.expected -= usize::from(entry.state == State::Expected);
        entry.state = State::Dirty;
        self.dirty.push(page);
    }

    fn wait_for(&mut self, page: PageId, thread: ThreadId, access: Access) {
        if let Some(pending) = self.pending.get_mut(&page) {
            pending.waiters.push((thread, access));
        }
    }

    /// Asks the home of `pages` for them, which is the same for all.
    pub(super) fn fetch(&mut self, pages: PageRange, actions: &mut Actions<B>) {
        // The home waits for what is part of the pages: also if they are asked for anew, for a
        // thread that takes no part in barriers and asked before this node came to one.
        self.send_all_kept(actions);
        let home = self.table.get(pages.first()).home;
        let need = self.needed_at(home);
        let epoch = self.order.epoch;
        for page in pages.iter() {
            self.table.entry(page).state = State::Pending;
            let waiters = match self.pending.remove(&page) {
                Some(pending) => pending.waiters,
                None => Vec::new(),
            };
            let pending = Pending {
                waiters,
                wanted: Vec::new(),
                held: None,
                dropped: false,
            };
            self.pending.insert(page, pending);
        }
        let message = Message::Fetch { epoch, pages, need };
        actions.push(Action::Send(home, message));
    }

    /// Intervals of others than `home` that must be part of pages there.
    pub(super) fn needed_at(&self, home: NodeId) -> Vec<Version> {
        let others = self.need.get(&home).into_iter().flatten();
        let others = others.map(|(writer, interval)| (*writer, *interval));
        // What went home from here may not be part of the page yet.
        let own = self.own.get(&home).map(|own| (self.me, own.interval));
        let all = others.chain(own);
        all.filter(|(writer, _)| *writer != home).collect()
    }

    /// Pages do not come with others that were asked for together. What nobody waits for need
    /// not come.
    pub(super) fn were_left(&mut self, pages: PageRange, actions: &mut Actions<B>) {
        for page in pages.iter() {
            if self.pending.contains_key(&page) {
                self.fetch_again(page, actions);
            }
        }
    }

    /// A page that is on its way, or not to be seen yet, is not to be kept.
    pub(super) fn drop_unseen(&mut self, page: PageId, actions: &mut Actions<B>) {
        match self.pending.get_mut(&page) {
            Some(pending) if pending.held.is_none() => pending.dropped = true,
            Some(_) => self.fetch_again(page, actions),
            None => {}
        }
    }

    /// A page that has come and is not to be seen yet was changed since.
    pub(super) fn outdate_held(&mut self, page: PageId, actions: &mut Actions<B>) {
        let pending = self.pending.get(&page);
        if pending.is_some_and(|pending| pending.held.is_some()) {
            self.fetch_again(page, actions);
        }
    }

    /// A page that was on its way is out of date.
    fn fetch_again(&mut self, page: PageId, actions: &mut Actions<B>) {
        match self.pending.get(&page) {
            Some(pending) if pending.waiters.is_empty() => {
                self.pending.remove(&page);
                self.table.entry(page).state = State::Untouched;
            }
            Some(_) => self.fetch(page.into(), actions),
            None => {}
        }
    }

    pub(super) fn fetch_asked(
        &mut self,
        from: NodeId,
        pages: PageRange,
        need: Vec<Version>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let exist = pages.end() <= u64::from(self.table.layout().pages());
        let here = |page| self.table.get(page).home == self.me;
        if !exist || from == self.me || !pages.iter().all(here) {
            return Err(peer(from, "fetches a page that is not at home here"));
        }
        for pages in self.without_leased_out(from, pages, actions) {
            if self.has_received(&need) && !pages.iter().any(|page| self.is_leased_out(page)) {
                self.serve(from, pages, actions);
            } else {
                if self.config.loads_acquire {
                    self.order.learn_soon(need.clone(), actions);
                }
                let fetch = Parked::Fetch(from, pages, need.clone());
                self.parked.push(fetch);
            }
        }
        Ok(())
    }

    /// Serves the fetches for which everything has arrived now.
    pub(super) fn serve_parked(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        let (ready, parked) = std::mem::take(&mut self.parked)
            .into_iter()
            .partition(|parked| {
                let away = parked.pages().any(|page| self.is_leased_out(page));
                !away && self.has_received(parked.need())
            });
        self.parked = parked;
        ready.into_iter().try_for_each(|parked| match parked {
            Parked::Fetch(from, pages, _) => {
                self.serve(from, pages, actions);
                Ok(())
            }
            Parked::Change(changer, _) => {
                let postponed = changer.thread.is_none().then_some(changer.node);
                self.carry_out(changer, actions)?;
                if let Some(node) = postponed {
                    self.say_done(node, 1, actions);
                }
                Ok(())
            }
        })?;
        let arrivals = std::mem::take(&mut self.arrivals).into_iter();
        arrivals
            .map(|(from, control)| (from, Message::Control(control)))
            .try_for_each(|(from, message)| self.take(from, message, actions))
    }

    pub(super) fn has_received(&self, need: &[Version]) -> bool {
        need.iter()
            .all(|(writer, interval)| self.received.covers(*writer, *interval))
    }

    /// A page at home here is fetched.
    fn note_fetch(&mut self, page: PageId) {
        self.note(Event::Served(page));
        self.table.entry(page).served = true;
        self.leave_round(page);
    }

    /// Whether no other node has had a page from here, of those that may move.
    fn is_fresh(&self, page: PageId) -> bool {
        let entry = self.table.get(page);
        self.config.migrate && !entry.pinned && !entry.served
    }

    fn serve(&mut self, to: NodeId, pages: PageRange, actions: &mut Actions<B>) {
        let writing =
            self.config.loads_acquire && !self.dirty.is_empty() && !self.order.is_at_barrier();
        if writing && pages.iter().any(|page| self.is_uncommitted(page)) {
            // A node that sees what this one wrote last must know what it wrote
            // before: an atomic read that acquires is an ordinary load.
            let notice = self.end_interval(actions);
            self.order.exchange(Request::Publish, notice, actions);
        }
        let mut contents = Vec::with_capacity(pages.len() as usize);
        for page in pages.iter() {
            contents.push(match self.is_fresh(page) {
                true => Content::Fresh(page),
                false => Content::Page(page),
            });
            self.note_fetch(page);
            self.note_what_it_follows(page);
            let entry = self.table.entry(page);
            match (entry.state, entry.pinned) {
                (State::Untouched, true) => {
                    // Its home may write it at any time: its next notice says so.
                    entry.state = State::Written;
                    self.dirty.push(page);
                }
                (State::Untouched, false) => {
                    // From now on this node's writes have to be noticed.
                    entry.state = State::Shared;
                    Action::protect(actions, page, Protection::Watched);
                    if self.config.watch_home {
                        // They were before, and noted.
                        continue;
                    }
                }
                (State::Foreseen, _) => {
                    // What is seen of it now may be changed back, and the twin would not tell.
                    entry.state = State::Written;
                    self.dirty.push(page);
                    continue;
                }
                _ => continue,
            }
            // Until now nobody watched in which interval it was written, and what
            // its writer knew.
            self.note_version(page, (self.me, self.order.interval));
        }
        let copies = pages.iter().zip(contents).map(|(page, content)| PageCopy {
            versions: self.versions_of(page),
            after: self.after.get(&page).cloned().unwrap_or_default(),
            content,
        });
        let message = Message::Pages {
            epoch: self.order.epoch,
            first: pages.first(),
            copies: copies.collect(),
        };
        actions.push(Action::Send(to, message));
    }

    /// True if a page at home here may have been written in the open interval.
    fn is_uncommitted(&self, page: PageId) -> bool {
        matches!(
            self.table.get(page).state,
            State::Untouched | State::Written | State::Foreseen | State::Dirty
        )
    }

    /// An interval is part of a page at home here.
    pub(super) fn note_version(&mut self, page: PageId, version: Version) {
        if self.knew_at_start(version) {
            return;
        }
        let entry = self.table.entry(page);
        if entry.version.0 == version.0 || self.start.covers(entry.version.0, entry.version.1) {
            entry.version = version;
        } else {
            note(self.versions.entry(page).or_default(), version);
        }
    }

    /// Intervals of this epoch that are part of a page at home here.
    pub(super) fn versions_of(&self, page: PageId) -> Vec<Version> {
        let last = self.table.get(page).version;
        let last = (!self.knew_at_start(last)).then_some(last);
        let more = self.versions.get(&page).into_iter().flatten().copied();
        last.into_iter().chain(more).collect()
    }

    /// True if everybody has known of an interval since the last barrier.
    pub(super) fn knew_at_start(&self, (writer, interval): Version) -> bool {
        self.start.covers(writer, interval)
    }

    pub(super) fn fetched(
        &mut self,
        from: NodeId,
        first: PageId,
        copies: Vec<PageCopy<B>>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let number = u32::try_from(copies.len()).unwrap_or(u32::MAX);
        let pages = PageRange::new(first, number)
            .filter(|pages| pages.end() <= u64::from(self.table.layout().pages()))
            .ok_or_else(|| peer(from, "sends pages that do not exist"))?;
        let settled = self.is_settled();
        let relaxed = !self.config.loads_acquire;
        let mut ready = Vec::new();
        for (page, copy) in pages.iter().zip(copies) {
            let pending = self
                .pending
                .get_mut(&page)
                .filter(|pending| pending.held.is_none());
            let asked = pending.filter(|_| self.table.get(page).home == from);
            let pending =
                asked.ok_or_else(|| peer(from, "sends a page that it was not asked for"))?;
            let mut wanted = pending.wanted.iter();
            let includes_all = wanted.all(|version| includes(&copy.versions, *version));
            if pending.dropped || !includes_all {
                self.fetch_again(page, actions);
            } else if settled && (relaxed || self.order.knows_copy(&copy)) {
                let waiters = std::mem::take(&mut pending.waiters);
                self.pending.remove(&page);
                ready.push((page, waiters, copy));
            } else {
                let versions = [copy.versions.as_slice(), &copy.after].concat();
                pending.held = Some(copy);
                if !relaxed {
                    self.order.learn_soon(versions, actions);
                }
            }
        }
        self.install(ready, actions);
        self.ask_ahead(actions);
        Ok(())
    }

    /// Installs pages that came with news which is known now, if loads acquire. To
    /// be called when all diffs that this node knows of have arrived: a thread that sees
    /// one write has to see those before it, here too.
    pub(super) fn release_held(&mut self, actions: &mut Actions<B>) {
        let relaxed = !self.config.loads_acquire;
        let mut ready = Vec::new();
        self.pending.retain(|page, pending| {
            match pending
                .held
                .take_if(|copy| relaxed || self.order.knows_copy(copy))
            {
                Some(copy) => {
                    let waiters = std::mem::take(&mut pending.waiters);
                    ready.push((*page, waiters, copy));
                    false
                }
                None => true,
            }
        });
        self.install(ready, actions);
    }

    fn install(&mut self, ready: Vec<Ready<B>>, actions: &mut Actions<B>) {
        // No thread that takes part in a barrier writes before it is over.
        let may_expect = !self.watches_all && !self.order.comes_to_barrier();
        let wanted = |waiters: &[(ThreadId, Access)]| {
            let accesses = waiters.iter().map(|(_, access)| *access);
            accesses.max()
        };
        let begins_to_write = ready
            .iter()
            .any(|(_, waiters, _)| wanted(waiters) == Some(Access::Write));
        let mut pages = Vec::with_capacity(ready.len());
        for (page, waiters, copy) in ready {
            let PageCopy {
                versions,
                after,
                content,
            } = copy;
            self.note_what_came(page, versions.into_iter().chain(after));
            let arrival = Arrival {
                page,
                wanted: wanted(&waiters),
                blank: content.is_blank(),
                begins_to_write,
            };
            let (predictor, view) = self.predictor();
            let expected = predictor.on_arrival(&arrival, &view) && may_expect;
            let entry = self.table.entry(page);
            entry.blank = arrival.blank;
            let protection = if expected {
                entry.state = State::Expected;
                self.expected += 1;
                actions.push(Action::InstallTwinned(page, content));
                Protection::Watched
            } else if arrival.wanted == Some(Access::Write) && !self.config.published_steps {
                actions.push(Action::InstallTwinned(page, content));
                self.copy_written(page);
                Protection::ReadWrite
            } else {
                entry.state = State::Clean;
                actions.push(Action::Install(page, content));
                Protection::Read
            };
            pages.push((page, waiters, protection));
        }
        // Neighbours in one action.
        for (page, _, protection) in &pages {
            Action::protect(actions, *page, *protection);
        }
        let waiters = pages.into_iter().flat_map(|(_, waiters, _)| waiters);
        actions.extend(waiters.map(|(thread, _)| Action::Resume(thread)));
    }

    /// A page that is on its way was written in an interval learned of now.
    pub(super) fn outdate(&mut self, page: PageId, version: Version, actions: &mut Actions<B>) {
        let Some(pending) = self.pending.get_mut(&page) else {
            return;
        };
        match &pending.held {
            None => note(&mut pending.wanted, version),
            Some(copy) if !includes(&copy.versions, version) => self.fetch_again(page, actions),
            Some(_) => {}
        }
    }
}

/// True if one of `versions` is of `version`'s node and at least as new.
fn includes(versions: &[Version], version: Version) -> bool {
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
