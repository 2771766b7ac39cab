//! Intervals: what a node wrote goes home, and what others wrote is learned of.

use super::{Actions, Home};
use crate::heuristics::{Event, Release, Why};
use crate::message::{Message, Request};
use crate::order::{Version, peer};
use crate::state::State;
use crate::{
    Action, Body, Content, Interval, PageRange, PageSet, Protection, Violation, WriteNotice,
};
use fathomp_types::{NodeId, PageId};
use std::collections::BTreeMap;

/// Pages of one home that this node wrote in this epoch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Own {
    /// The last interval in which it wrote some of them.
    pub(super) interval: Interval,
    pub(super) pages: Vec<PageId>,
}

/// An interval that has ended here.
pub(super) struct Closed {
    /// What others have to be told.
    pub(super) notice: WriteNotice,
    /// Pages whose diffs have to go home, by their homes.
    pub(super) away: BTreeMap<NodeId, Vec<PageId>>,
    /// Pages to ask for as leases.
    leases: Vec<PageId>,
}

/// Diffs that have arrived and are not applied yet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Arrived<B> {
    version: Version,
    diffs: Vec<(PageId, B)>,
    /// More of that interval are to come.
    more: bool,
}

impl<B: Clone + Body> Home<B> {
    /// Ends the open interval if anything was written in it: diffs go to the
    /// pages' homes. Returns the notice that others have to be told.
    pub(super) fn end_interval(&mut self, actions: &mut Actions<B>) -> Option<WriteNotice> {
        self.end(false, actions)
    }

    /// The same for a thread that flushes.
    pub(super) fn flush(&mut self, actions: &mut Actions<B>) -> Option<WriteNotice> {
        let stays = self.config.flushes_only_copies() && !self.watches_all;
        self.end(stays && !self.order.is_at_barrier(), actions)
    }

    /// If `own_stay`, the open interval becomes the next one for pages at home here that are
    /// open: nobody notices whether they are written again.
    fn end(&mut self, own_stay: bool, actions: &mut Actions<B>) -> Option<WriteNotice> {
        // Others learn of a node's intervals in their order.
        let first = actions.len();
        self.order.demanded(actions);
        self.send_kept_if_told(first, actions);
        let Closed {
            notice,
            away,
            leases,
        } = self.close_interval(!self.order.is_at_barrier(), own_stay, actions)?;
        for (home, pages) in away {
            self.send_diffs(home, notice.interval, &pages, false, actions);
        }
        if self.order.is_at_barrier() {
            let own = self.take_own();
            self.order.wrote_more(own);
        }
        self.ask_for_leases(leases, actions);
        Some(notice)
    }

    /// The same, but nothing is sent. `may_lease`: no barrier ends it.
    pub(super) fn close_interval(
        &mut self,
        may_lease: bool,
        own_stay: bool,
        actions: &mut Actions<B>,
    ) -> Option<Closed> {
        let mut pages = std::mem::take(&mut self.dirty);
        self.keep_leased(&mut pages, actions);
        let changed = self.changing.take();
        if pages.is_empty() && changed.is_empty() {
            return None;
        }
        let interval = self.order.end_interval();
        pages.sort_unstable();
        // A pinned page is entered again when it is fetched again.
        pages.dedup();
        let may_lease = may_lease && self.leases();
        let release = Release {
            pages: &pages,
            may_lease,
        };
        let (predictor, view) = self.predictor();
        let mut leases = predictor.on_release(&release, &view);
        leases.retain(|_| may_lease);
        let mut away: BTreeMap<NodeId, Vec<PageId>> = BTreeMap::new();
        for &page in &pages {
            let entry = self.table.entry(page);
            let own = self.own.entry(entry.home).or_default();
            own.interval = interval;
            if !std::mem::replace(&mut entry.noted, true) {
                own.pages.push(page);
            }
            if entry.home != self.me {
                away.entry(entry.home).or_default().push(page);
                // Unless it went away at a barrier.
                if entry.state == State::Dirty {
                    entry.state = State::Clean;
                    Action::protect(actions, page, Protection::Read);
                }
            } else if entry.pinned {
                entry.state = State::Untouched;
            } else if own_stay && entry.state == State::Written {
                self.dirty.push(page);
                self.note_version(page, (self.me, interval));
            } else {
                let before = std::mem::replace(&mut entry.state, State::Shared);
                if before == State::Dirty {
                    actions.push(Action::DropTwin(page));
                }
                Action::protect(actions, page, Protection::Watched);
                self.note_version(page, (self.me, interval));
            }
        }
        for page in changed {
            let Err(place) = pages.binary_search(&page) else {
                continue;
            };
            pages.insert(place, page);
            if let Some(home) = self.tell_change(page, interval) {
                away.entry(home).or_default();
            }
        }
        let notice = WriteNotice {
            writer: self.me,
            interval,
            pages: PageSet::from_sorted(&pages),
            recalls: false,
            late: false,
            first: false,
            knew: Vec::new(),
        };
        Some(Closed {
            notice,
            away,
            leases,
        })
    }

    /// Sends what was written in an interval into pages at home at `home`: one
    /// message at least, since it waits for the last one, which may come later.
    pub(super) fn send_diffs(
        &self,
        home: NodeId,
        interval: Interval,
        pages: &[PageId],
        more: bool,
        actions: &mut Actions<B>,
    ) {
        let mut parts: Vec<_> = pages.chunks(self.config.batch.max(1)).collect();
        if !more && parts.is_empty() {
            parts.push(&[]);
        }
        let number = parts.len();
        for (part, pages) in (1..).zip(parts) {
            let diffs = pages.iter().map(|page| (*page, Content::Diff(*page)));
            let message = Message::Diffs {
                epoch: self.order.epoch,
                interval,
                diffs: diffs.collect(),
                more: more || part < number,
            };
            actions.push(Action::Send(home, message));
        }
    }

    pub(super) fn diffs_arrived(
        &mut self,
        from: NodeId,
        interval: Interval,
        diffs: Vec<(PageId, B)>,
        more: bool,
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        for (page, _) in &diffs {
            if !self.exists(*page) || self.table.get(*page).home != self.me {
                let what = "sends a diff of a page that is not at home here";
                return Err(peer(from, what));
            }
        }
        if self.received.of(from) >= interval {
            return Err(peer(from, "sends the diffs of an interval twice"));
        }
        let version = (from, interval);
        let begun = self.arrived.iter_mut();
        match begun
            .rev()
            .find(|arrived| arrived.version.0 == from && arrived.more)
        {
            Some(begun) if begun.version == version => {
                begun.diffs.extend(diffs);
                begun.more = more;
            }
            Some(_) => return Err(peer(from, "does not finish an interval's diffs")),
            None => self.arrived.push(Arrived {
                version,
                diffs,
                more,
            }),
        }
        if self.apply_arrived(actions)? {
            self.settle(actions)?;
        }
        Ok(())
    }

    /// Applies diffs of intervals that this node knows of: its threads see them
    /// at once, and, if loads acquire, must not see them without those before. If
    /// its threads are at a barrier, all can be applied. True if some were.
    pub(super) fn apply_arrived(&mut self, actions: &mut Actions<B>) -> Result<bool, Violation> {
        let (all, relaxed) = (self.order.is_at_barrier(), !self.config.loads_acquire);
        let (ready, arrived): (Vec<_>, Vec<_>) = std::mem::take(&mut self.arrived)
            .into_iter()
            .partition(|arrived| {
                let Arrived { version, more, .. } = arrived;
                relaxed || !more && (all || self.order.seen.covers(version.0, version.1))
            });
        self.arrived = arrived;
        let some = !ready.is_empty();
        for arrived in ready {
            let Arrived {
                version,
                diffs,
                more,
            } = arrived;
            if !more {
                self.received.learn(version.0, version.1);
            }
            for (page, diff) in diffs {
                self.note_version(page, version);
                actions.push(Action::Apply(page, diff));
            }
        }
        self.serve_parked(actions)?;
        Ok(some)
    }

    /// Learns of others' intervals: copies that lack them become invalid.
    pub(super) fn learn(
        &mut self,
        notices: &[WriteNotice],
        actions: &mut Actions<B>,
    ) -> Result<(), Violation> {
        if self.written.is_some() {
            // The barrier has told the same.
            return Ok(());
        }
        for notice in notices {
            let version = (notice.writer, notice.interval);
            if notice.writer != self.me && self.order.seen.learn(version.0, version.1) {
                for range in notice.pages.ranges() {
                    self.invalidate(*range, version, actions);
                }
            }
        }
        self.apply_arrived(actions).map(|_| ())
    }

    fn invalidate(&mut self, pages: PageRange, version: Version, actions: &mut Actions<B>) {
        let mut last_home = None;
        let mut page = pages.first();
        while u64::from(page.0) < pages.end() {
            let (home, state, alike) = match self.table.unknown(page) {
                Some((place, pages)) => (place.home, State::Untouched, pages),
                None => {
                    let entry = self.table.get(page);
                    (entry.home, entry.state, 1)
                }
            };
            if last_home != Some(home) {
                last_home = Some(home);
                self.require(home, version);
            }
            // What is written at a barrier may not be told there (see `has_to_wait`).
            let tells = self.order.is_root() || !self.order.is_at_barrier();
            let leased = state != State::Untouched && self.written_elsewhere(page);
            match state {
                State::Dirty if home == self.me || !tells => {}
                State::Dirty => {
                    // Another thread writes it meanwhile. Its writes must not get
                    // lost, and the others must hear of them although no release
                    // is near.
                    let notice = self.end_interval(actions);
                    self.order.exchange(Request::Publish, notice, actions);
                    self.drop_copy(page, Why::News, actions);
                }
                State::Written if tells && self.watches_all && !self.table.get(page).pinned => {
                    let notice = self.end_interval(actions);
                    self.order.exchange(Request::Publish, notice, actions);
                }
                State::Clean | State::Expected => self.drop_copy(page, Why::News, actions),
                State::Pending => self.outdate(page, version, actions),
                State::Untouched | State::Shared | State::Written => {}
                State::Foreseen | State::Leased => {}
            }
            if leased {
                self.say_returned(page, actions);
            }
            match page.0.checked_add(alike) {
                Some(next) => page = PageId(next),
                None => return,
            }
        }
    }

    /// Pages at home at `home` are up to date once the diffs of an interval have
    /// arrived there.
    pub(super) fn require(&mut self, home: NodeId, (writer, interval): Version) {
        let need = self
            .need
            .entry(home)
            .or_default()
            .entry(writer)
            .or_default();
        *need = interval.max(*need);
    }

    /// A copy becomes invalid.
    pub(super) fn drop_copy(&mut self, page: PageId, why: Why, actions: &mut Actions<B>) {
        self.note(Event::Dropped(page, why));
        self.stop_expecting(page, actions);
        let entry = self.table.entry(page);
        entry.state = State::Untouched;
        entry.blank = false;
        Action::protect(actions, page, Protection::None);
    }
}
