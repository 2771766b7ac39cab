//! Pages that one node alone wrote between two barriers: at the second, that node has
//! all of them, and everybody knows that nobody else has. It owns them from now on and
//! writes them unwatched, as pages are at first (Amza, Cox, Dwarkadas, Zwaenepoel:
//! "Software DSM Protocols that Adapt between Single Writer and Multiple Writer",
//! HPCA 1997).

use super::{Actions, Homeless, State};
use crate::order::Version;
use crate::stretches::Stretches;
use crate::{Action, Notice, PageRange, Protection};
use fathomp_base::{NodeId, PageId};

/// Who wrote a page between two barriers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Writers {
    Nobody,
    One(NodeId),
    /// Several, or one whose copy may lack something.
    Many,
}

impl Writers {
    fn and(&mut self, writer: NodeId, late: bool) {
        *self = match *self {
            _ if late => Self::Many,
            Self::Nobody => Self::One(writer),
            Self::One(one) if one == writer => *self,
            Self::One(_) | Self::Many => Self::Many,
        }
    }
}

impl<B: Clone> Homeless<B> {
    /// A barrier has told `news`, which none before has told, and which everybody knows
    /// now. The same happens at all nodes.
    pub(super) fn settle_pages(&mut self, news: &[Notice], actions: &mut Actions<B>) {
        let mut written = Stretches::default();
        for notice in news {
            for range in notice.pages.ranges() {
                written.change(*range, &Writers::Nobody, |writers: &mut Writers| {
                    writers.and(notice.writer, notice.late);
                });
            }
        }
        for (pages, writers) in written.iter() {
            if let Writers::One(writer) = writers {
                self.settle_range(pages, *writer, actions);
            }
        }
    }

    fn settle_range(&mut self, pages: PageRange, writer: NodeId, actions: &mut Actions<B>) {
        let mut left = Some(pages);
        while let Some(pages) = left {
            let (place, alike) = self.table.layout().stretch(pages.first());
            let (now, rest) = pages.split(alike);
            if !place.pinned {
                self.forget_history(now);
                self.table.settle(now, writer);
                self.settle_known(now, writer, actions);
            }
            left = rest;
        }
    }

    /// What everybody knows of is part of the writer's copy, and so of every later one.
    fn forget_history(&mut self, pages: PageRange) {
        let told = &self.told;
        let is_told = |version: &Version| told.covers(version.0, version.1);
        let forget = |versions: &mut Vec<Version>| versions.retain(|v| !is_told(v));
        let before = self.history.weight(pages, Vec::len);
        self.history.change(pages, &Vec::new(), forget);
        self.history.prune(pages, Vec::is_empty);
        self.noted -= before - self.history.weight(pages, Vec::len);
    }

    fn settle_known(&mut self, pages: PageRange, writer: NodeId, actions: &mut Actions<B>) {
        let mut left = Some(pages);
        while let Some(pages) = left
            && let Some(page) = self.table.known(pages, |_| false)
        {
            self.settle_page(page, writer, actions);
            (_, left) = pages.split(page.0 - pages.first().0 + 1);
        }
    }

    fn settle_page(&mut self, page: PageId, writer: NodeId, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        let before = std::mem::replace(&mut entry.state, State::Untouched);
        entry.owner = writer;
        match entry.twin {
            Some(interval) if self.told.covers(self.me, interval) => {
                entry.twin = None;
                self.kept = self.kept.saturating_sub(1);
                actions.push(Action::DropTwin(page));
            }
            _ => self.make_diff(page, actions),
        }
        self.missing.remove(&page);
        if writer == self.me {
            debug_assert_eq!(before, State::Valid, "{page:?}");
            Action::protect(actions, page, Protection::ReadWrite);
        } else if before == State::Valid {
            self.miss(page);
            Action::protect(actions, page, Protection::None);
        }
    }

    /// A copy is dropped because another node has written the page since the last barrier.
    /// Nobody without a data race reads that before: if the copy was fetched in advance
    /// meanwhile, it was of no use.
    fn miss(&mut self, page: PageId) {
        let epoch = self.order.epoch;
        let entry = self.table.entry(page);
        entry.missed = entry.ahead != epoch;
        entry.unwanted = !entry.missed;
    }

    /// A page that I own and write unwatched was written elsewhere since the last
    /// barrier, on a copy of before.
    pub(super) fn lose(&mut self, page: PageId, version: Version, actions: &mut Actions<B>) {
        if self.config.loads_acquire {
            // Whoever sees what was written unwatched must know what was written before.
            self.publish(actions);
            self.opened = Some(self.order.seen.clone());
        }
        self.table.entry(page).state = State::Invalid;
        self.missing.entry(page).or_default().push(version);
        Action::protect(actions, page, Protection::None);
    }
}
