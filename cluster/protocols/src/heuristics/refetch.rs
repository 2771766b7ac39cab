//! Copies that barriers make invalid and that threads miss as many epochs later as the last time:
//! they are fetched again as the epoch begins in which they are due,
//! all together, instead of one fault after the other.
//!
//! Nobody notices whether a copy that came by itself is read. So now and then it is left out, to
//! see whether a thread still misses it.

/// A page that is missed after so many epochs is fetched again without having been missed twice.
const SURE_GAP_EPOCHS: u8 = 1;

/// A page is left out after so many times that it was fetched again, at first.
const FETCHES_MIN: u8 = 2;
/// The same, at most.
const FETCHES_MAX: u8 = 64;

/// So many times as often as before, if it is missed when it is left out.
const FETCHES_GROWTH: u8 = 4;

/// What became of the copies of a page that barriers made invalid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RefetchHistory {
    /// The epoch at whose end the copy became invalid, plus one; 0 if another one came since.
    dropped_in: u32,
    /// It is on its way without having been missed.
    coming: bool,
    /// How many times it will be fetched again before it is left out.
    left: u8,
    /// How many times it was, before it was left out the last time.
    between: u8,
    /// How many epochs after its copy became invalid it was missed the last time; 0 if that is not
    /// known, or they were too many.
    gap: u8,
}

impl RefetchHistory {
    /// A copy becomes invalid at the end of an epoch. In which one it is to be fetched again.
    pub(super) fn dropped(&mut self, epoch: u32) -> Option<u32> {
        if self.dropped_in > 0 {
            return None;
        }
        self.dropped_in = epoch + 1;
        (self.gap > 0 && self.left > 0).then_some(epoch + u32::from(self.gap))
    }

    /// A copy arrives.
    pub(super) fn arrived(&mut self, epoch: u32) {
        let dropped_in = std::mem::take(&mut self.dropped_in);
        let was_coming = std::mem::take(&mut self.coming);
        // What synchronisation within an epoch makes invalid says nothing of barriers.
        if dropped_in == 0 {
            return;
        }
        let gap = u8::try_from((epoch + 1).saturating_sub(dropped_in)).unwrap_or(0);
        if !was_coming {
            let is_usual = gap > 0 && (gap == self.gap || gap == SURE_GAP_EPOCHS);
            let longer = self.between.saturating_mul(FETCHES_GROWTH);
            self.between = match is_usual {
                true => longer.clamp(FETCHES_MIN, FETCHES_MAX),
                false => 0,
            };
            self.left = self.between;
        }
        self.gap = gap;
    }

    /// It was fetched for nothing.
    pub(super) fn unwanted(&mut self) {
        (self.left, self.between) = (0, 0);
    }

    /// Whether to fetch it again now.
    pub(super) fn is_due(&mut self) -> bool {
        self.coming = self.left > 0 && self.dropped_in > 0;
        self.left = self.left.saturating_sub(u8::from(self.coming));
        self.coming
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Epochs, of the first so many, in which a page that others write in those that `written`
    /// says is fetched again ahead of time; a thread wants it in those that `wanted` says.
    fn fetched(
        epochs: u32,
        written: impl Fn(u32) -> bool,
        wanted: impl Fn(u32) -> bool,
    ) -> Vec<u32> {
        let mut history = RefetchHistory::default();
        let (mut here, mut due, mut fetched) = (true, None, Vec::new());
        for epoch in 0..epochs {
            if due == Some(epoch) && !here && history.is_due() {
                fetched.push(epoch);
                history.arrived(epoch);
                here = true;
            }
            if !here && wanted(epoch) {
                history.arrived(epoch);
                here = true;
            }
            if here && written(epoch) {
                due = history.dropped(epoch);
                here = false;
            }
        }
        fetched
    }

    #[test]
    fn what_is_missed_each_time_is_fetched_and_seldom_left_out() {
        let fetched = fetched(60, |_| true, |_| true);
        let left_out: Vec<_> = (0..60).filter(|epoch| !fetched.contains(epoch)).collect();
        assert_eq!(left_out, [0, 1, 4, 13, 46]);
    }

    #[test]
    fn it_comes_as_late_as_it_was_wanted_the_last_time() {
        let fetched = fetched(60, |epoch| epoch % 5 == 0, |epoch| epoch % 5 == 3);
        assert_eq!(fetched, [13, 18, 28, 33, 38, 43, 48, 53, 58]);
    }

    #[test]
    fn what_is_wanted_now_and_then_is_left_alone() {
        let wanted = |epoch| [3, 10, 14, 20, 28, 31, 40, 42].contains(&epoch);
        assert_eq!(fetched(50, |_| true, wanted), [0; 0]);
    }

    #[test]
    fn what_is_not_wanted_any_more_comes_a_few_times_only() {
        let fetched = fetched(200, |_| true, |epoch| epoch < 20);
        assert!(fetched.iter().all(|epoch| *epoch < 20 + 32), "{fetched:?}");
    }
}
