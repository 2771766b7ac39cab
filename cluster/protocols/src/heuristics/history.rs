//! What happened before will happen again.

use super::cached_locks::LockHistory;
use super::copies::CopyHistory;
use super::exclusive_leases::LeaseHistory;
use super::home_writes::AccessPattern;
use super::read_streams::Streams;
use super::refetch::RefetchHistory;
use super::{
    Access, Arrival, Event, Glance, Heuristic, Lease, Limits, Predictor, Release, View, Why,
};
use crate::area::{Layout, Place};
use crate::state::State;
use crate::table::Table;
use crate::{Interval, LockId, PageRange};
use fathomp_types::PageId;
use std::collections::BTreeMap;

/// Predictors from what happened to each page.
#[derive(Clone, Debug)]
pub(super) struct HistoryPredictor {
    pub(super) limits: Limits,
    pub(super) pages: Table<History>,
    pub(super) streams: Streams,
    /// Pages at home here that others have fetched and whose read leases may be recalled.
    pub(super) served: Vec<PageId>,
    /// Pages that are to be fetched again before these epochs begin.
    pub(super) due: BTreeMap<u32, Vec<PageId>>,
    /// The last interval of the epoch before.
    begun: Interval,
    locks: LockHistory,
}

/// What happened to a page.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct History {
    pub(super) copy: CopyHistory,
    pub(super) refetch: RefetchHistory,
    /// How many pages became writable together with it, when it was written last.
    pub(super) run_length: u8,
    pub(super) lease: LeaseHistory,
    /// At its home: when it is written and fetched.
    pub(super) pattern: AccessPattern,
}

impl From<Place> for History {
    fn from(_: Place) -> Self {
        Self::default()
    }
}

impl HistoryPredictor {
    pub(super) fn new(limits: Limits, layout: Layout) -> Self {
        Self {
            limits,
            pages: Table::new(layout),
            streams: Streams::default(),
            served: Vec::new(),
            due: BTreeMap::new(),
            begun: Interval::default(),
            locks: LockHistory::new(match limits.predicts(Predictor::CachedLocks) {
                true => limits.keep_lock_after_releases,
                false => 0,
            }),
        }
    }
}

impl HistoryPredictor {
    /// A barrier makes a copy of a page invalid.
    pub(super) fn was_dropped(&mut self, page: PageId, epoch: u32) {
        if let Some(due) = self.pages.entry(page).refetch.dropped(epoch) {
            // A protocol that does not ask after barriers must not have them pile up.
            if self
                .due
                .first_key_value()
                .is_some_and(|(first, _)| *first < epoch)
            {
                self.due = self.due.split_off(&epoch);
            }
            self.due.entry(due).or_default().push(page);
        }
    }

    /// What is to be fetched again after a barrier.
    pub(super) fn fetch_again(&mut self, view: &dyn View) -> Vec<PageId> {
        let later = self.due.split_off(&(view.epoch() + 2));
        let due = std::mem::replace(&mut self.due, later);
        if !self.limits.predicts(Predictor::Refetches) {
            return Vec::new();
        }
        let is_missing = |page: &PageId| {
            let glance = view.page(*page);
            let missing = |glance: Glance| glance.state == State::Untouched;
            glance.is_some_and(|glance| missing(glance) && !glance.at_home && !glance.pinned)
        };
        let mut due: Vec<_> = due.into_values().flatten().filter(is_missing).collect();
        due.sort_unstable();
        due.dedup();
        due.retain(|page| self.pages.entry(*page).refetch.is_due());
        due
    }
}

impl Heuristic for HistoryPredictor {
    fn on_fault(&mut self, page: PageId, _: Access, view: &dyn View) -> PageRange {
        let is_here = view.page(page).is_some_and(|glance| glance.is_readable());
        match is_here {
            true => self.plan_writes(page, view),
            false => self.plan_fetch(page, view),
        }
    }

    fn on_arrival(&mut self, arrival: &Arrival, view: &dyn View) -> bool {
        let history = self.pages.entry(arrival.page);
        history
            .refetch
            .arrived(view.epoch(), arrival.wanted.is_some());
        let expected = history.copy.arrived(arrival, view.epoch(), view.interval());
        expected && self.limits.predicts(Predictor::WrittenCopies)
    }

    fn on_release(&mut self, release: &Release, view: &dyn View) -> Vec<PageId> {
        if !release.may_lease || !self.limits.predicts(Predictor::ExclusiveLeases) {
            return Vec::new();
        }
        let (now, begun) = (view.interval(), self.begun);
        let after = self.limits.lease_after_intervals;
        let mut due = Vec::new();
        for &page in release.pages {
            let Some(glance) = view.page(page) else {
                continue;
            };
            let history = self.pages.entry(page);
            if !glance.pinned {
                due.extend(history.lease.told(now, begun, after).then_some(page));
            }
        }
        due
    }

    fn keeps_lock(&mut self, lock: LockId) -> bool {
        self.locks.given_back(lock)
    }

    fn before_barrier(&mut self, view: &dyn View) -> Vec<PageId> {
        self.recall(view)
    }

    fn after_barrier(&mut self, settled: &[PageId], view: &dyn View) -> Vec<PageId> {
        self.begun = view.interval();
        self.streams.forget();
        for page in settled {
            self.pages.entry(*page).pattern.settled();
        }
        self.fetch_again(view)
    }

    fn note(&mut self, event: Event, view: &dyn View) {
        let (epoch, now) = (view.epoch(), view.interval());
        match event {
            Event::Written(page) => {
                let history = self.pages.entry(page);
                match view.page(page).is_some_and(|page| page.at_home) {
                    true => history.pattern.rewritten(epoch),
                    false => history.copy.written(now),
                }
            }
            Event::Dropped(page, why) => {
                let history = self.pages.entry(page);
                if why == Why::News && history.copy.came_ahead(epoch) {
                    // Another node writes it in the same epoch.
                    history.refetch.unwanted();
                }
                history.copy.dropped(why != Why::Lease);
                if why == Why::Recalled {
                    // Its home writes it in the next one.
                    self.was_dropped(page, epoch + 1);
                }
            }
            Event::WrittenElsewhere(page) => self.pages.entry(page).lease.written_elsewhere(),
            Event::ToldAtBarrier(page, several) => {
                self.was_told_at_barrier(page, epoch);
                if several && view.page(page).is_some_and(|page| page.at_home) {
                    self.pages.entry(page).pattern.is_contended();
                }
            }
            Event::Served(page) => self.was_served(page, view),
            Event::LockWanted(lock) => self.locks.wanted(lock),
            Event::Lease(page, lease) => {
                let history = &mut self.pages.entry(page).lease;
                match lease {
                    Lease::Granted => history.alone(now),
                    Lease::Refused => history.refused(),
                    Lease::Wanted => history.shared(now),
                    Lease::Ended => history.ended(now),
                }
            }
        }
    }

    fn boxed(&self) -> Box<dyn Heuristic> {
        Box::new(self.clone())
    }
}
