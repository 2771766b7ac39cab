//! When a page is written at its home, and when others fetch it.
//!
//! A page that others have read is watched, since they hold read leases: copies that they keep
//! until they learn that it was written. A page that its home writes again and again costs a fault
//! each time; so the home recalls the leases at the barrier before it is about to write.

use super::history::HistoryPredictor;
use super::{Predictor, View};
use crate::state::State;
use fathomp_types::PageId;

/// How many times a home that wrote a page after others had read it is believed to do so again,
/// before it is watched once more.
const RECALLS_MAX: u8 = 32;

/// When a page is fetched and written at its home. Epochs are counted from 1 here, so that 0 says
/// that something is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccessPattern {
    /// The epoch of the first fetch since it was last written.
    fetched_in: u32,
    /// It was written since, as far as is known.
    fresh: bool,
    /// Epochs from the first fetch to when it was written again.
    returns_after: u8,
    /// How many times the home will recall read leases without having seen that it writes the
    /// page.
    recalls: u8,
    /// The epoch before which read leases were recalled last.
    recalled_for: u32,
    /// A reader fetched it in the very epoch for which its lease was recalled: the home wrote one
    /// part while others read another one. That is worse than a fault at the home.
    regretted: bool,
}

impl AccessPattern {
    /// Epochs from the first fetch to another epoch; 0 if they are too many.
    fn since_fetch(self, epoch: u32) -> u8 {
        let epochs = (epoch + 1).saturating_sub(self.fetched_in);
        u8::try_from(epochs).unwrap_or_default()
    }

    /// It is fetched.
    fn fetched(&mut self, epoch: u32) {
        if self.recalled_for == epoch + 1 {
            self.regretted = true;
            self.recalls = 0;
        }
        if self.fetched_in == 0 || self.fresh && self.fetched_in <= epoch {
            self.fetched_in = epoch + 1;
        }
        self.fresh = false;
    }

    /// Its home writes it although others may have copies.
    pub(super) fn rewritten(&mut self, epoch: u32) {
        if !self.fresh {
            let after = self.since_fetch(epoch);
            // What comes now after so many epochs and now after others is not predicted. Nor is
            // there a time to recall what is fetched in the epoch in which it is written.
            let again = after == std::mem::replace(&mut self.returns_after, after);
            let may_recall = again && after > 0 && !self.regretted;
            self.recalls = if may_recall { RECALLS_MAX } else { 0 };
        }
        self.fresh = true;
    }

    /// Others write it, too: those need their copies at least as much as its home does without
    /// them.
    pub(super) fn is_contended(&mut self) {
        self.recalls = 0;
    }

    /// A barrier has left no copy of it elsewhere.
    pub(super) fn settled(&mut self) {
        self.fresh = true;
    }

    /// Whether the home is to recall read leases before an epoch in which it will write.
    fn is_due(&mut self, epoch: u32) -> bool {
        let due = self.since_fetch(epoch) >= self.returns_after;
        if due {
            self.recalls -= 1;
            self.recalled_for = epoch + 1;
        }
        due
    }
}

impl HistoryPredictor {
    /// A page at home here is fetched.
    pub(super) fn was_served(&mut self, page: PageId, view: &dyn View) {
        let history = self.pages.entry(page);
        history.lease.shared(view.interval());
        let pattern = &mut history.pattern;
        pattern.fetched(view.epoch());
        if pattern.recalls > 0 {
            self.served.push(page);
        }
    }

    /// Pages that others have read, or may have, and that will probably be written here next:
    /// if nobody keeps a copy, the writes need not be noticed.
    pub(super) fn recall(&mut self, view: &dyn View) -> Vec<PageId> {
        let mut served = std::mem::take(&mut self.served);
        if !self.limits.predicts(Predictor::HomeWrites) {
            return Vec::new();
        }
        served.sort_unstable();
        served.dedup();
        let next = view.epoch() + 1;
        let mut pages = Vec::new();
        for page in served {
            let glance = view.page(page);
            let is_shared = glance.is_some_and(|glance| glance.state == State::Shared);
            let pattern = &mut self.pages.entry(page).pattern;
            if !is_shared || pattern.recalls == 0 {
                continue;
            }
            match pattern.is_due(next) {
                true => pages.push(page),
                false => self.served.push(page),
            }
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leases_are_recalled_when_it_was_written_the_last_time() {
        let mut pattern = AccessPattern::default();
        pattern.fetched(10);
        pattern.fetched(12);
        pattern.rewritten(13);
        assert_eq!((pattern.returns_after, pattern.recalls), (3, 0));
        // Fetched again in the same epoch: the same round.
        pattern.fetched(13);
        assert_eq!(pattern.fetched_in, 14);
        for (written, recalls) in [(16, RECALLS_MAX), (18, 0), (20, RECALLS_MAX)] {
            pattern.rewritten(written);
            assert_eq!(pattern.recalls, recalls);
            pattern.fetched(written);
        }
    }

    fn written_every_third_epoch() -> AccessPattern {
        let mut pattern = AccessPattern::default();
        for epoch in [12, 15, 18] {
            pattern.fetched(epoch - 3);
            pattern.rewritten(epoch);
        }
        assert_eq!(pattern.recalls, RECALLS_MAX);
        pattern
    }

    #[test]
    fn what_others_write_too_is_not_recalled() {
        let mut pattern = written_every_third_epoch();
        pattern.is_contended();
        assert_eq!(pattern.recalls, 0);
    }

    #[test]
    fn what_was_read_in_the_epoch_it_was_recalled_for_is_not_recalled_again() {
        let mut pattern = written_every_third_epoch();
        pattern.fetched(18);
        assert!(!pattern.is_due(20) && pattern.is_due(21));
        pattern.fetched(21);
        assert_eq!(pattern.recalls, 0);
        for epoch in [24, 27, 30] {
            pattern.rewritten(epoch);
            pattern.fetched(epoch);
            assert_eq!(pattern.recalls, 0);
        }
    }
}
