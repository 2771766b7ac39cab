//! The last writers of a page hand on what others changed before. A node that writes a page has
//! all of it that it knows of by then: so a node that lacks changes of many writers asks those
//! alone whose last change no other writer knew of when it made its own, in one message each
//! (Keleher, Dwarkadas, Cox, Zwaenepoel, USENIX 1994: "processors whose most recent interval is
//! not preceded by the most recent interval of another"). They send the diffs that they have
//! kept, or all of the page if that is shorter, as it is once it has been written by many.
//!
//! Who knew of what is taken from what barriers have told, and within an epoch from what notices
//! say. It need not be right: what a writer cannot hand on is asked for of who wrote it.

use super::fetch::Pending;
use super::last::{Asked, Stamp, covers, divide, follows};
use super::{Actions, Homeless, State};
use crate::message::Message;
use crate::order::{Version, peer};
use crate::{Action, Content, PageCopy, Violation, WriteNotice};
use fathomp_types::{NodeId, PageId};

impl<B> Homeless<B> {
    /// What the notice of an interval that ends now says of what is known here.
    pub(super) fn known_now(&self) -> Vec<Version> {
        if !self.config.hands_on() {
            return Vec::new();
        }
        let known = self.order.seen.iter();
        let untold = |v: &Version| v.0 != self.me && !self.told.covers(v.0, v.1);
        known.filter(untold).collect()
    }

    /// Remembers what the writer of an interval knew, which has been told in this epoch. A late
    /// one began before the barrier.
    pub(super) fn stamp(&mut self, notice: &WriteNotice, epoch: u32) {
        if self.config.hands_on() {
            let epoch = epoch.saturating_sub(notice.late.into());
            let stamp = Stamp::new(epoch, notice.knew.clone());
            self.stamps.insert((notice.writer, notice.interval), stamp);
        }
    }

    /// Ends the open interval before this node learns of others that wrote the same pages, or
    /// its notice would say that it knew of them.
    pub(super) fn publish_before(&mut self, notices: &[WriteNotice], actions: &mut Actions<B>) {
        let is_new = |n: &&WriteNotice| !self.order.seen.covers(n.writer, n.interval);
        let mut news = notices.iter().filter(is_new);
        if news.any(|notice| self.writes_any_of(&notice.pages)) {
            self.publish(actions);
        }
    }

    /// Asks the last of the writers of what is missing for all of it.
    pub(super) fn ask_last_writers(
        &mut self,
        page: PageId,
        missing: Vec<Version>,
        actions: &mut Actions<B>,
    ) {
        let stamped = |version| (version, self.stamps.get(&version));
        let parts = divide(missing.into_iter().map(stamped).collect());
        let Some(pending) = self.pending.get_mut(&page) else {
            return;
        };
        pending.directly = true;
        // There is room for one page only.
        let mut longest = parts.iter().map(Vec::len).max();
        let epoch = self.order.epoch;
        for wanted in parts {
            let whole = longest.take_if(|most| *most == wanted.len()).is_some();
            let Some((writer, _)) = wanted.last().copied() else {
                continue;
            };
            let asked = Asked::HandOn {
                wanted: wanted.clone(),
                whole,
            };
            pending.asked.insert(writer, asked);
            let message = Message::HandOn {
                epoch,
                page,
                wanted,
                whole,
            };
            actions.push(Action::Send(writer, message));
        }
    }

    /// Another node wants what this one has of a page that it was one of the last to write.
    pub(super) fn hand_on(
        &mut self,
        from: NodeId,
        page: PageId,
        wanted: &[Version],
        whole: bool,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let is_mine = |v: &&Version| v.0 == self.me;
        let last = wanted.iter().rev().find(is_mine).copied();
        let mut mine = wanted.iter().filter(is_mine);
        let are_kept = mine.all(|v| self.diffs.contains(&(page, v.1)));
        let Some(last) = last.filter(|_| from != self.me && are_kept) else {
            return Err(peer(from, "wants a diff that does not exist"));
        };
        let unmade = self.table.get(page).twin;
        if unmade.is_some_and(|unmade| wanted.contains(&(self.me, unmade))) {
            self.close(page, actions);
        }
        let epoch = self.order.epoch;
        let kept = wanted.iter().filter(|v| self.keeps(page, **v));
        let diffs: Vec<_> = kept.map(|v| (*v, Content::Kept(page, *v))).collect();
        let is_all = diffs.len() == wanted.len();
        let diffs = Message::HandedOn { epoch, page, diffs };
        let copy = whole.then(|| self.copy_for(page, last, wanted)).flatten();
        actions.push(match copy {
            None => Action::Send(from, diffs),
            Some(copy) => {
                let pages = Message::Pages {
                    epoch,
                    first: page,
                    copies: vec![copy],
                };
                match is_all {
                    true => Action::SendShorter(from, [diffs, pages]),
                    false => Action::Send(from, pages),
                }
            }
        });
        Ok(())
    }

    /// All of a page, if that has what is `wanted` and shows nothing of which a node does not
    /// know that knows of the `last` of my intervals in it.
    fn copy_for(
        &self,
        page: PageId,
        last: Version,
        wanted: &[Version],
    ) -> Option<PageCopy<Content>> {
        let entry = self.table.get(page);
        let is_here = matches!(entry.state, State::Valid | State::Writable | State::Invalid);
        if entry.pinned || !is_here || self.shown.contains_key(&page) {
            return None;
        }
        let versions = self.applied(page);
        let last = (last, self.stamps.get(&last));
        let has = wanted.iter().all(|v| covers(&versions, *v));
        let mut shows = versions.iter();
        let is_known = shows.all(|v| wanted.contains(v) || follows(last, (*v, self.stamps.get(v))));
        (has && is_known).then(|| PageCopy {
            versions,
            after: Vec::new(),
            content: self.content(page),
        })
    }

    /// A last writer has answered.
    pub(super) fn handed_on(
        &mut self,
        from: NodeId,
        page: PageId,
        diffs: Vec<(Version, B)>,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        let is_asked = |p: &&mut Pending<B>| match p.asked.get(&from) {
            Some(Asked::HandOn { wanted, .. }) => diffs.iter().all(|(v, _)| wanted.contains(v)),
            _ => false,
        };
        let Some(pending) = self.pending.get_mut(&page).filter(is_asked) else {
            return Err(peer(from, "sends other diffs than it was asked for"));
        };
        pending.asked.remove(&from);
        pending.diffs.extend(diffs);
        self.arrived(page.into(), actions)
    }

    /// Whether a diff is kept here.
    pub(super) fn keeps(&self, page: PageId, version: Version) -> bool {
        match version.0 == self.me {
            true => self.diffs.contains(&(page, version.1)),
            false => self.held.contains(&(page, version)),
        }
    }

    /// Forgets diffs of others if there are too many together with my own: they can be had
    /// elsewhere.
    pub(super) fn bound_held(&mut self, actions: &mut Actions<B>) {
        let kept = self.diffs.len() + self.held.len();
        if !self.held.is_empty() && kept > self.config.diffs_max as usize {
            self.held.clear();
            actions.push(Action::ForgetOthers(self.me));
        }
    }

    /// What holds between two steps.
    pub(super) fn check_held(&self) -> Result<(), String> {
        let is_known = |page: &PageId, version: &Version| {
            let history = self.history.get(*page);
            version.0 != self.me && history.is_some_and(|history| history.contains(version))
        };
        let stray = self.held.iter().find(|(p, v)| !is_known(p, v));
        match stray {
            Some((page, version)) => {
                Err(format!("a diff of page {} is kept as {version:?}", page.0))
            }
            None => Ok(()),
        }
    }
}
