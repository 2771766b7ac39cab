//! Pages that one node alone wrote between two barriers: at the second, that node has
//! all of them, and everybody knows that nobody else has. It owns them from now on and
//! writes them unwatched, as pages are at first (Amza, Cox, Dwarkadas, Zwaenepoel:
//! "Software DSM Protocols that Adapt between Single Writer and Multiple Writer",
//! HPCA 1997).

use super::{Actions, Homeless, State};
use crate::order::Version;
use crate::runs::Runs;
use crate::{Action, PageRange, Protection, Violation, WriteNotice};
use fathomp_types::{NodeId, PageId};

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

impl<B> Homeless<B> {
    /// A barrier has told `news`, which none before has told, and which everybody knows
    /// now. The same happens at all nodes.
    pub(super) fn settle_pages(
        &mut self,
        news: &[WriteNotice],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut written = Runs::default();
        for notice in news {
            for range in notice.pages.ranges() {
                written.change(*range, &Writers::Nobody, |writers: &mut Writers| {
                    writers.and(notice.writer, notice.late);
                });
            }
        }
        for (pages, writers) in written.iter() {
            if let Writers::One(writer) = writers {
                self.settle_range(pages, *writer, actions)?;
            }
        }
        Ok(())
    }

    fn settle_range(
        &mut self,
        pages: PageRange,
        writer: NodeId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let mut left = Some(pages);
        while let Some(pages) = left {
            let (place, alike) = self.table.layout().stretch(pages.first());
            let (now, rest) = pages.split(alike);
            if !place.pinned {
                self.forget_history(now);
                self.table.settle(now, writer);
                for page in self.table.known(now, |_| false) {
                    self.settle_page(page, writer, actions)?;
                }
            }
            left = rest;
        }
        Ok(())
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

    fn settle_page(
        &mut self,
        page: PageId,
        writer: NodeId,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let entry = self.table.entry(page);
        let before = std::mem::replace(&mut entry.state, State::Untouched);
        entry.owner = writer;
        self.missing.remove(&page);
        let is_here = matches!(before, State::Valid | State::Writable);
        let is_mine = writer == self.me;
        if is_mine && !is_here {
            let what = "a node is said to have written a page that it does not have";
            return Err(Violation::Runtime(what));
        }
        match entry.twin {
            Some(interval) if self.told.covers(self.me, interval) => {
                // All of it is the sole writer's copy: no node will ask for the diff.
                entry.twin = None;
                self.diffs.remove(&(page, interval));
                actions.push(Action::DropTwin(page));
            }
            Some(_) => {
                Action::protect(actions, page, Protection::None);
                self.make_diff(page, actions);
            }
            None => {}
        }
        if is_mine {
            Action::protect(actions, page, Protection::ReadWrite);
            return Ok(());
        }
        if is_here {
            Action::protect(actions, page, Protection::None);
        }
        if before != State::Untouched {
            self.note_dropped(page);
        }
        Ok(())
    }
}
