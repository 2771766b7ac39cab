//! What other nodes ask for: diffs, and whole pages.

use super::fetch::note;
use super::{Actions, Entry, Homeless, State};
use crate::message::Message;
use crate::order::{Version, peer};
use crate::{Action, Content, Interval, PageCopy, PageRange, Protection, Violation};
use fathomp_types::{NodeId, PageId};

impl<B> Homeless<B> {
    pub(super) fn diffs_wanted(
        &mut self,
        from: NodeId,
        page: PageId,
        intervals: &[Interval],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let are_kept = intervals.iter().all(|i| self.diffs.contains(&(page, *i)));
        if from == self.me || !are_kept {
            return Err(peer(from, "wants a diff that does not exist"));
        }
        if let Some(unmade) = self.table.get(page).twin
            && intervals.contains(&unmade)
        {
            self.close(page, actions);
        }
        let diffs = intervals
            .iter()
            .map(|i| (*i, Content::Kept(page, (self.me, *i))));
        let answer = Message::DiffsOfPage {
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
        if unwatched.any(|unwatched| unwatched) {
            self.show_unwatched(actions);
        }
        // Also of pages that were served before: nodes that fetch them later see the same.
        let after = self.opened.clone();
        let mut copies = Vec::new();
        for page in pages.iter() {
            let entry = self.table.get(page);
            if entry.state == State::Writable && entry.twin.is_some() {
                // All that its diff will have is part of what is sent now.
                self.close(page, actions);
            }
            let mut versions = self.applied(page);
            let entry = self.table.get(page);
            // Of what was written unwatched no notice ever names the page. Only where loads
            // acquire does the asker have to know what was written before it; elsewhere it
            // would wait for that or not, as it asks before this node comes to a barrier or
            // after.
            if entry.pinned || self.config.loads_acquire && is_unwatched(entry) {
                note(&mut versions, (self.me, self.order.interval));
            }
            if entry.pinned {
                // Its next interval tells that it may have written it again.
                let entry = self.table.entry(page);
                if !std::mem::replace(&mut entry.served, true) {
                    self.unnamed.push(page);
                }
            } else if entry.state == State::Untouched {
                self.table.entry(page).state = State::Valid;
                Action::protect(actions, page, Protection::Read);
            }
            copies.push(PageCopy {
                versions,
                after: after.clone(),
                // What is written in the open interval will have a diff of its own.
                content: self.content(page),
            });
        }
        let message = Message::Pages {
            epoch: self.order.epoch,
            first: pages.first(),
            copies,
        };
        actions.push(Action::Send(from, message));
        Ok(())
    }

    /// My copy as it was when the open interval began.
    pub(super) fn content(&self, page: PageId) -> Content {
        match self.table.get(page).state {
            State::Writable => Content::Twin(page),
            _ => Content::Page(page),
        }
    }

    /// Of each writer, the last interval that is part of my copy.
    pub(super) fn applied(&self, page: PageId) -> Vec<Version> {
        let missing = self.missing.get(&page).map_or(&[][..], Vec::as_slice);
        let mut applied = Vec::new();
        for version in self.history.get(page).into_iter().flatten() {
            if !missing.contains(version) {
                note(&mut applied, *version);
            }
        }
        applied
    }
}
