//! Pages between nodes: faults, fetches, diffs, and what notices do.

use super::message::{Control, Message, Request, Version};
use super::page::{Here, Page, Waiters, includes, note};
use super::{Actions, Home, peer};
use crate::{Access, Action, Content, Interval, Notice, PageSet, Protection, Violation};
use fathomp_base::{NodeId, PageId, ThreadId};
use std::collections::BTreeMap;

impl<B: Clone> Home<B> {
    pub(super) fn fault(
        &mut self,
        thread: ThreadId,
        page: PageId,
        access: Access,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if page.0 >= self.config.pages {
            return Err(Violation::Runtime("a fault outside the shared range"));
        }
        match (self.pages.get_mut(&page), access) {
            (None, _) if self.homes.of(page) != self.me => {
                self.fetch(page, vec![(thread, access)], actions);
            }
            (Some(Page::Fetching { waiters, .. } | Page::Held { waiters, .. }), _) => {
                waiters.push((thread, access));
            }
            (Some(Page::Here(here)), Access::Write) if !here.written => {
                here.written = true;
                self.dirty.insert(page);
                actions.push(Action::Protect(page, Protection::ReadWrite));
                actions.push(Action::Resume(thread));
            }
            (Some(state @ Page::Clean), Access::Write) => {
                *state = Page::Dirty;
                self.make_writable(page, actions);
                actions.push(Action::Resume(thread));
            }
            // Another thread's fault at the page was served in the meantime.
            (None | Some(Page::Here(_) | Page::Clean | Page::Dirty), _) => {
                actions.push(Action::Resume(thread));
            }
        }
        Ok(())
    }

    fn make_writable(&mut self, page: PageId, actions: &mut Actions<B>) {
        self.dirty.insert(page);
        actions.push(Action::Twin(page));
        actions.push(Action::Protect(page, Protection::ReadWrite));
    }

    fn fetch(&mut self, page: PageId, waiters: Waiters, actions: &mut Actions<B>) {
        let home = self.homes.of(page);
        let need = self.need.get(&home).into_iter().flatten();
        let need = need.filter(|(writer, _)| **writer != home);
        let need = need
            .map(|(writer, interval)| (*writer, *interval))
            .collect();
        let fetch = Control::Fetch {
            epoch: self.epoch,
            page,
            need,
        };
        self.send(home, fetch, actions);
        let wanted = Vec::new();
        self.pages.insert(page, Page::Fetching { waiters, wanted });
    }

    pub(super) fn fetch_asked(
        &mut self,
        from: NodeId,
        page: PageId,
        need: Vec<Version>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if page.0 >= self.config.pages || self.homes.of(page) != self.me || from == self.me {
            return Err(peer(from, "fetches a page that is not at home here"));
        }
        if need
            .iter()
            .all(|(w, interval)| self.received.covers(*w, *interval))
        {
            self.serve(from, page, actions);
        } else {
            self.parked.push((from, page, need));
        }
        Ok(())
    }

    fn serve(&mut self, to: NodeId, page: PageId, actions: &mut Actions<B>) {
        let state = self.pages.entry(page).or_insert_with(|| {
            // From now on this node's writes have to be noticed.
            actions.push(Action::Protect(page, Protection::Read));
            Page::Here(Here::default())
        });
        let Some(here) = state.here() else { return };
        here.copies.insert(to);
        let mut versions = here.versions.clone();
        if self.interval != Interval::default() {
            // Whoever sees what this node writes after a release must know what
            // it wrote before.
            note(&mut versions, (self.me, self.interval));
        }
        let content = Content::Page(page);
        actions.push(Action::Send(
            to,
            Message::Page {
                page,
                versions,
                content,
            },
        ));
    }

    pub(super) fn fetched(
        &mut self,
        from: NodeId,
        page: PageId,
        versions: Vec<Version>,
        content: B,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let Some(Page::Fetching { .. }) = self.pages.get(&page) else {
            return Err(peer(from, "sends a page that was not asked for"));
        };
        if self.homes.of(page) != from {
            return Err(peer(from, "sends a page that is not at home there"));
        }
        let Some(Page::Fetching { waiters, wanted }) = self.pages.remove(&page) else {
            return Ok(());
        };
        if !wanted.iter().all(|version| includes(&versions, *version)) {
            // Something was learned of since the fetch that the answer lacks.
            self.fetch(page, waiters, actions);
            return Ok(());
        }
        if self.knows(&versions) {
            self.install(page, waiters, content, actions);
        } else {
            let request = Request::Learn(versions.clone());
            let held = Page::Held {
                waiters,
                content,
                versions,
            };
            self.pages.insert(page, held);
            self.exchange(request, Vec::new(), actions);
        }
        Ok(())
    }

    fn knows(&self, versions: &[Version]) -> bool {
        versions
            .iter()
            .all(|(w, interval)| *w == self.me || self.seen.covers(*w, *interval))
    }

    fn install(&mut self, page: PageId, waiters: Waiters, content: B, actions: &mut Actions<B>) {
        actions.push(Action::Install(page, content));
        if waiters.iter().any(|(_, access)| *access == Access::Write) {
            self.pages.insert(page, Page::Dirty);
            self.make_writable(page, actions);
        } else {
            self.pages.insert(page, Page::Clean);
            actions.push(Action::Protect(page, Protection::Read));
        }
        actions.extend(
            waiters
                .into_iter()
                .map(|(thread, _)| Action::Resume(thread)),
        );
    }

    /// Ends the open interval if anything was written in it: diffs go to the
    /// pages' homes. Returns the notice that others have to be told.
    pub(super) fn end_interval(&mut self, actions: &mut Actions<B>) -> Vec<Notice> {
        if self.dirty.is_empty() {
            return Vec::new();
        }
        self.interval = self.interval.next();
        self.seen.learn(self.me, self.interval);
        let mut by_home: BTreeMap<NodeId, Vec<(PageId, Content)>> = BTreeMap::new();
        let pages = std::mem::take(&mut self.dirty);
        for &page in &pages {
            actions.push(Action::Protect(page, Protection::Read));
            match self.pages.get_mut(&page) {
                Some(Page::Here(here)) => here.written = false,
                Some(state) => {
                    *state = Page::Clean;
                    actions.push(Action::Diff(page));
                    let home = self.homes.of(page);
                    by_home
                        .entry(home)
                        .or_default()
                        .push((page, Content::Diff(page)));
                }
                None => {}
            }
        }
        for (home, diffs) in by_home {
            let diffs = Message::Diffs {
                epoch: self.epoch,
                interval: self.interval,
                diffs,
            };
            actions.push(Action::Send(home, diffs));
        }
        let notice = Notice {
            writer: self.me,
            interval: self.interval,
            pages: pages.into_iter().collect::<PageSet>(),
        };
        self.own.push(notice.clone());
        vec![notice]
    }

    pub(super) fn diffs_arrived(
        &mut self,
        from: NodeId,
        interval: Interval,
        diffs: Vec<(PageId, B)>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if !self.received.learn(from, interval) {
            return Err(peer(from, "sends the diffs of an interval twice"));
        }
        for (page, diff) in diffs {
            if page.0 >= self.config.pages || self.homes.of(page) != self.me {
                return Err(peer(
                    from,
                    "sends a diff of a page that is not at home here",
                ));
            }
            let Some(here) = self.pages.get_mut(&page).and_then(Page::here) else {
                return Err(peer(from, "sends a diff of a page of which it has no copy"));
            };
            note(&mut here.versions, (from, interval));
            actions.push(Action::Apply(page, diff));
        }
        let received = &self.received;
        let ready: Vec<_> = self
            .parked
            .extract_if(.., |(_, _, need)| {
                need.iter()
                    .all(|(w, interval)| received.covers(*w, *interval))
            })
            .collect();
        for (to, page, _) in ready {
            self.serve(to, page, actions);
        }
        self.settle(actions);
        Ok(())
    }

    /// Learns of others' intervals: copies that lack them become invalid.
    pub(super) fn learn(
        &mut self,
        from: NodeId,
        notices: Vec<Notice>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let end = u64::from(self.config.pages);
        for notice in notices {
            let last = notice.pages.ranges().last();
            if last.is_some_and(|(first, n)| u64::from(first.0) + u64::from(*n) > end) {
                return Err(peer(from, "tells of pages outside the shared range"));
            }
            if notice.writer == self.me || !self.seen.learn(notice.writer, notice.interval) {
                continue;
            }
            for page in notice.pages.iter() {
                self.invalidate(page, (notice.writer, notice.interval), actions);
            }
        }
        self.release_held(actions);
        Ok(())
    }

    fn invalidate(&mut self, page: PageId, version: Version, actions: &mut Actions<B>) {
        let home = self.homes.of(page);
        let need = self
            .need
            .entry(home)
            .or_default()
            .entry(version.0)
            .or_default();
        *need = version.1.max(*need);
        if let Some(Page::Dirty) = self.pages.get(&page) {
            // Another thread writes it meanwhile. Its writes must not get lost,
            // and the others must hear of them although no release is near.
            let notices = self.end_interval(actions);
            self.exchange(Request::Publish, notices, actions);
        }
        match self.pages.get_mut(&page) {
            Some(Page::Clean) => {
                self.pages.remove(&page);
                actions.push(Action::Protect(page, Protection::None));
            }
            Some(Page::Fetching { wanted, .. }) => note(wanted, version),
            Some(Page::Held { versions, .. }) if !includes(versions, version) => {
                if let Some(Page::Held { waiters, .. }) = self.pages.remove(&page) {
                    self.fetch(page, waiters, actions);
                }
            }
            Some(Page::Held { .. } | Page::Here(_) | Page::Dirty) | None => {}
        }
    }

    /// Installs pages that came with news which is known now.
    fn release_held(&mut self, actions: &mut Actions<B>) {
        let known = |(page, state): (&PageId, &Page<B>)| match state {
            Page::Held { versions, .. } if self.knows(versions) => Some(*page),
            _ => None,
        };
        let ready: Vec<_> = self.pages.iter().filter_map(known).collect();
        for page in ready {
            if let Some(Page::Held {
                waiters, content, ..
            }) = self.pages.remove(&page)
            {
                self.install(page, waiters, content, actions);
            }
        }
    }
}
