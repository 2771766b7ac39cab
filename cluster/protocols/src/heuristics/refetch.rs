//! Copies that barriers make invalid and that threads miss as many epochs later as the last time:
//! they are fetched again as the epoch begins in which they are due,
//! all together, instead of one fault after the other.
//!
//! Whether a copy that came by itself is read nobody notices. So now and then it is left out, to
//! see whether a thread still misses it: then it does not come with a neighbour either, but for
//! those that are fetched because a thread goes through memory in order.

/// What is wanted in the next epoch is taken for usual the first time.
const SOON: u8 = 1;

/// A page is left out after so many times, at first and at most.
const LEFT_OUT_AFTER: (u8, u8) = (2, 64);

/// So many times as often as before, if it is missed when it is left out.
const GROWTH: u8 = 4;

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
    /// How many epochs after its copy became invalid it was missed, the last time first; 0 if
    /// that is not known, or they were too many.
    gaps: [u8; 3],
}

impl RefetchHistory {
    /// A copy becomes invalid at the end of an epoch. In which one it is to be fetched again.
    pub(super) fn dropped(&mut self, epoch: u32) -> Option<u32> {
        if self.dropped_in > 0 {
            return None;
        }
        self.dropped_in = epoch + 1;
        let gap = self.next_gap();
        (gap > 0 && self.left > 0).then_some(epoch + u32::from(gap))
    }

    /// After how many epochs it will probably be missed. Some pages are wanted in two phases of a
    /// program in turn.
    fn next_gap(&self) -> u8 {
        let [last, before, first] = self.gaps;
        match last == first && before > 0 {
            true => before,
            false => last,
        }
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
            let is_usual = gap > 0 && (gap == self.next_gap() || gap == SOON);
            let longer = self.between.saturating_mul(GROWTH);
            self.between = match is_usual {
                true => longer.clamp(LEFT_OUT_AFTER.0, LEFT_OUT_AFTER.1),
                false => 0,
            };
            self.left = self.between;
        }
        self.gaps = [gap, self.gaps[0], self.gaps[1]];
    }

    /// It was fetched for nothing.
    pub(super) fn unwanted(&mut self) {
        (self.left, self.between) = (0, 0);
    }

    /// It is left out this time, to see whether a thread misses it.
    pub(super) fn is_left_out(&self) -> bool {
        self.dropped_in > 0 && self.between > 0 && self.left == 0
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
    fn two_phases_in_turn_are_told_apart() {
        // Written in the first and third epoch of seven, wanted in the second and the seventh.
        let written = |epoch: u32| [0, 2].contains(&(epoch % 7));
        let wanted = |epoch: u32| [1, 6].contains(&(epoch % 7));
        let fetched = fetched(140, written, wanted);
        let phases: Vec<_> = fetched.iter().map(|epoch| epoch % 7).collect();
        // The first time nothing is known of turns.
        let learned = &phases[1..];
        assert!(
            learned.iter().all(|phase| [1, 6].contains(phase)),
            "{phases:?}"
        );
        assert!(phases.len() > 30, "{phases:?}");
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
