//! When a page is written at its home, and when others fetch it.
//!
//! A page that others have read is watched, and others keep copies of it until they learn that
//! it was written. A page that its home writes again and again costs a fault each time; so the
//! home takes the copies back at the barrier before it is about to write.

use super::View;
use super::history::HistoryPredictor;
use crate::state::State;
use fathomp_types::PageId;

/// How many times a home that wrote a page after others had read it is believed to
/// do so again, before it is watched once more.
const TRUST: u8 = 32;

/// When a page is fetched and written at its home. Epochs are counted from 1 here, so
/// that 0 says that something is not known.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AccessPattern {
    /// The epoch of the first fetch since it was last written.
    fetched_in: u32,
    /// It was written since, as far as is known.
    fresh: bool,
    /// Epochs from the first fetch to when it was written again.
    returns_after: u8,
    /// How many times the home will take copies back without having seen that it
    /// writes the page.
    trust: u8,
}

impl AccessPattern {
    /// Epochs from the first fetch to another epoch; 0 if they are too many.
    fn since_fetch(self, epoch: u32) -> u8 {
        let epochs = (epoch + 1).saturating_sub(self.fetched_in);
        u8::try_from(epochs).unwrap_or_default()
    }

    /// It is fetched.
    fn fetched(&mut self, epoch: u32) {
        if self.fetched_in == 0 || self.fresh && self.fetched_in <= epoch {
            self.fetched_in = epoch + 1;
        }
        self.fresh = false;
    }

    /// Its home writes it although others may have copies.
    pub(super) fn rewritten(&mut self, epoch: u32) {
        if !self.fresh {
            let after = self.since_fetch(epoch);
            // What comes now after so many epochs and now after others is not foreseen.
            let again = after == std::mem::replace(&mut self.returns_after, after);
            self.trust = if again { TRUST } else { 0 };
        }
        self.fresh = true;
    }

    /// Others write it, too: those need their copies at least as much as its home does without
    /// them.
    pub(super) fn is_contended(&mut self) {
        self.trust = 0;
    }

    /// A barrier has left no copy of it elsewhere.
    pub(super) fn settled(&mut self) {
        self.fresh = true;
    }
}

impl HistoryPredictor {
    /// A page at home here is fetched.
    pub(super) fn was_served(&mut self, page: PageId, view: &dyn View) {
        let history = self.pages.entry(page);
        history.lease.shared(view.interval());
        let rhythm = &mut history.rhythm;
        rhythm.fetched(view.epoch());
        if rhythm.trust > 0 {
            self.served.push(page);
        }
    }

    /// Pages that others have read, or may have, and that will probably be written here next:
    /// if nobody keeps a copy, the writes need not be noticed.
    pub(super) fn take_back(&mut self, view: &dyn View) -> Vec<PageId> {
        let mut served = std::mem::take(&mut self.served);
        served.sort_unstable();
        served.dedup();
        if !self.limits.expect_writes {
            return Vec::new();
        }
        let next = view.epoch() + 1;
        let mut pages = Vec::new();
        for page in served {
            let shared = view
                .page(page)
                .is_some_and(|page| page.state == State::Shared);
            let rhythm = &mut self.pages.entry(page).rhythm;
            if !shared || rhythm.trust == 0 {
                continue;
            }
            if rhythm.since_fetch(next) < rhythm.returns_after {
                self.served.push(page);
                continue;
            }
            rhythm.trust -= 1;
            pages.push(page);
        }
        pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_taken_back_when_it_was_written_the_last_time() {
        let mut rhythm = AccessPattern::default();
        rhythm.fetched(10);
        rhythm.fetched(12);
        rhythm.rewritten(13);
        assert_eq!((rhythm.returns_after, rhythm.trust), (3, 0));
        // Fetched again in the same epoch: the same round.
        rhythm.fetched(13);
        assert_eq!(rhythm.fetched_in, 14);
        for (written, trust) in [(16, TRUST), (18, 0), (20, TRUST)] {
            rhythm.rewritten(written);
            assert_eq!(rhythm.trust, trust);
            rhythm.fetched(written);
        }
    }

    #[test]
    fn what_others_write_too_is_not_taken_back() {
        let mut rhythm = AccessPattern::default();
        for epoch in [12, 15, 18] {
            rhythm.fetched(epoch - 3);
            rhythm.rewritten(epoch);
        }
        assert_eq!(rhythm.trust, TRUST);
        rhythm.is_contended();
        assert_eq!(rhythm.trust, 0);
    }
}
