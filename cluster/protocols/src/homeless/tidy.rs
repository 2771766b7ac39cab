//! Leaving a barrier, and tidying up at one: every page written since the last
//! time gets an owner who has all of it, then nobody needs old diffs.

use super::{Actions, Homeless, State};
use crate::order::Version;
use crate::{Action, Protection, VectorClock, Violation, WriteNotice};
use fathomp_types::{NodeId, PageId};

/// Notices of single pages that weigh as much as a diff.
const NOTICES_PER_DIFF: u32 = 64;

/// How far a tidying is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Tidying {
    No,
    /// Owners bring their pages up to date.
    Fetching,
    /// All my pages are; at a second barrier, until everybody's are.
    Waiting,
}

impl<B> Homeless<B> {
    pub(super) fn is_full(&self) -> bool {
        let most = self.config.diffs_max.saturating_mul(NOTICES_PER_DIFF);
        let kept = u32::try_from(self.diffs.len()).unwrap_or(u32::MAX);
        kept > self.config.diffs_max || self.noted > u64::from(most)
    }

    pub(super) fn everybody_arrived(
        &mut self,
        notices: &[WriteNotice],
        full: bool,
        cut: bool,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        // Threads that take no part in barriers may have written meanwhile.
        let tidied = self.tidying == Tidying::Waiting && notices.is_empty() && !cut;
        // Whose pages are whose follows from what the barrier tells.
        let full = full || cut && self.config.sole_writers || self.tidying == Tidying::Waiting;
        // What is fetched now belongs to the next epoch: others may be there.
        let beyond = |known: &VectorClock| -> Vec<_> {
            let new = |n: &&WriteNotice| !known.covers(n.writer, n.interval);
            notices.iter().filter(new).cloned().collect()
        };
        let (news, untold) = (beyond(&self.order.seen), beyond(&self.told));
        for notice in notices {
            self.told.learn(notice.writer, notice.interval);
        }
        self.leaving = self.order.leave_barrier(notices);
        self.opened.clear();
        let (mine, faults) = self.withdraw();
        self.deferred.extend(faults);
        self.publish_late(actions);
        self.take_in(&news, self.order.epoch - 1, actions);
        self.order.learn_again(actions);
        if self.config.sole_writers && !full && !tidied && self.tidying == Tidying::No {
            self.settle_pages(&untold, actions)?;
        }
        for page in mine {
            self.fetch(page, actions);
        }
        if tidied {
            self.forget(actions);
        } else if full {
            self.tidying = Tidying::Fetching;
            // Threads that take no part in barriers stand still until it is over.
            self.forbid_writes(actions);
            for page in self.owned_and_incomplete() {
                self.fetch(page, actions);
            }
        }
        if self.tidying == Tidying::No {
            for (thread, page, access) in std::mem::take(&mut self.deferred) {
                self.fault(thread, page, access, actions)?;
            }
        }
        self.settle(actions)
    }

    /// Lets the program go on after a barrier, if nothing is left to be done.
    pub(super) fn leave_barrier(&mut self, actions: &mut Actions<B>) -> Result<(), Violation> {
        let fetching = self.tidying == Tidying::Fetching && !self.pending.is_empty();
        if self.tidying == Tidying::Waiting || fetching {
            return Ok(());
        }
        let Some(thread) = self.leaving.take() else {
            return Ok(());
        };
        if self.tidying == Tidying::Fetching {
            self.tidying = Tidying::Waiting;
            // Nothing, but for threads that take no part in barriers.
            let last = self.end_interval(actions);
            let own = std::mem::take(&mut self.own);
            self.order.arrive(thread, last, own, false, actions);
        } else {
            actions.push(Action::Resume(thread));
            for (thread, operation) in std::mem::take(&mut self.operations) {
                self.operation(thread, operation, actions)?;
            }
        }
        Ok(())
    }

    fn owned_and_incomplete(&self) -> Vec<PageId> {
        // What is Invalid was valid before: it is known, and not pinned. What is
        // Untouched has become another node's, whose copy lacks what I wrote.
        let last = self
            .history
            .iter()
            .filter(|(_, versions)| last_writer(versions) == Some(self.me));
        let pages = last.flat_map(|(range, _)| range.iter());
        let is_incomplete = |page: &PageId| {
            let entry = self.table.get(*page);
            let lost = entry.state == State::Untouched && entry.owner != self.me;
            entry.state == State::Invalid || lost && !entry.pinned
        };
        pages.filter(is_incomplete).collect()
    }

    /// Everybody's pages are up to date: diffs and history are of no use.
    fn forget(&mut self, actions: &mut Actions<B>) {
        let history = std::mem::take(&mut self.history);
        for (pages, versions) in history.iter() {
            let Some(writer) = last_writer(versions) else {
                continue;
            };
            let alone = versions.iter().all(|(other, _)| *other == writer);
            self.table.settle(pages, writer);
            for page in self.table.known(pages, |_| false) {
                self.forget_page(page, writer, alone, actions);
            }
        }
        self.missing.clear();
        self.noted = 0;
        self.diffs.clear();
        self.held.clear();
        self.stamps.clear();
        self.tidying = Tidying::No;
        actions.push(Action::Forget);
    }

    /// What a page is after a tidying: its last writer owns it, and perhaps alone has
    /// written it.
    fn forget_page(&mut self, page: PageId, writer: NodeId, alone: bool, actions: &mut Actions<B>) {
        let entry = self.table.entry(page);
        if !entry.pinned {
            entry.owner = writer;
        }
        entry.twin = None;
        if entry.state == State::Invalid {
            entry.state = State::Untouched;
        } else if alone && !entry.pinned && entry.state == State::Valid {
            // Without other copies it costs nothing to write it.
            entry.state = State::Untouched;
            let protection = match entry.owner == self.me {
                true => Protection::ReadWrite,
                false => Protection::None,
            };
            Action::protect(actions, page, protection);
        }
    }
}

/// The same at all nodes, since they know of the same intervals.
fn last_writer(versions: &[Version]) -> Option<NodeId> {
    let last = versions
        .iter()
        .map(|(writer, interval)| (*interval, *writer));
    last.max().map(|(_, writer)| writer)
}
