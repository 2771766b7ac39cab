//! Copies that barriers make invalid and that threads miss as many epochs later as they did before:
//! they are fetched again as the epoch begins in which they are due,
//! all together, instead of one fault after the other.
//!
//! Several phases of a program may want a page in turn, each as many epochs after its copy became
//! invalid as the time before. So the last few of these gaps are remembered, and what came behind
//! a gap the last time is expected to come behind it again.
//!
//! Nobody notices whether a copy that came by itself is read. So now and then it is left out, to
//! see whether a thread still misses it.

/// Gaps that are remembered of a page.
const GAPS: usize = 6;

/// A page that is missed after so many epochs is fetched again without having been missed twice.
const SURE_GAP_EPOCHS: u8 = 1;

/// A page is left out after so many times that it was fetched again, at first.
const FETCHES_MIN: u8 = 2;
/// The same, at most.
const FETCHES_MAX: u8 = 64;

/// So many times as often as before, if it is missed when it is left out.
const FETCHES_GROWTH: u8 = 4;

/// After how many epochs a page was wanted, and how often to fetch it again on that evidence.
#[derive(Clone, Copy, Debug, Default)]
struct Wanted {
    /// How many times it will be fetched again before it is left out.
    left: u8,
    /// How many times it was, before it was left out the last time.
    between: u8,
    /// How many epochs after its copy became invalid it was wanted: the last time first; 0 if
    /// that is not known, or they were too many.
    gaps: [u8; GAPS],
}

impl Wanted {
    /// The gap that is expected next, 0 if none is: the one that came behind such a gap as the last
    /// one before.
    fn expected(&self) -> u8 {
        let [last, earlier @ ..] = &self.gaps;
        match earlier.iter().position(|gap| gap == last) {
            Some(behind) => self.gaps[behind],
            None if earlier[0] == 0 && *last == SURE_GAP_EPOCHS => SURE_GAP_EPOCHS,
            None => 0,
        }
    }

    /// It was wanted after such a gap; `missed`, or fetched again before.
    fn learn(&mut self, gap: u8, missed: bool) {
        if missed {
            let usual = [self.expected(), self.gaps[0], SURE_GAP_EPOCHS];
            let is_usual = gap > 0 && usual.contains(&gap);
            let longer = self.between.saturating_mul(FETCHES_GROWTH);
            (self.left, self.between) = match is_usual {
                true => {
                    let times = longer.clamp(FETCHES_MIN, FETCHES_MAX);
                    (times, times)
                }
                // What came behind such a gap before is worth one try.
                false => (u8::from(self.gaps.contains(&gap)), 0),
            };
        }
        self.gaps.rotate_right(1);
        self.gaps[0] = gap;
    }
}

/// What was known before a copy came ahead of time.
#[derive(Clone, Copy, Debug)]
struct Before {
    dropped_in: u32,
    wanted: Wanted,
    /// It was fetched again; otherwise with a page that a thread missed.
    again: bool,
}

/// What became of the copies of a page that barriers made invalid.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RefetchHistory {
    /// The epoch at whose end the copy became invalid, plus one; 0 if another one came since.
    dropped_in: u32,
    /// It is on its way without having been missed.
    coming: bool,
    wanted: Wanted,
    /// The copy came ahead of time, and may turn out to be of no use.
    before: Option<Before>,
}

impl RefetchHistory {
    /// A copy becomes invalid at the end of an epoch. In which one it is to be fetched again.
    pub(super) fn dropped(&mut self, epoch: u32) -> Option<u32> {
        if self.dropped_in > 0 {
            return None;
        }
        self.dropped_in = epoch + 1;
        let gap = self.wanted.expected();
        (gap > 0 && self.wanted.left > 0).then_some(epoch + u32::from(gap))
    }

    /// A copy arrives; a thread missed it, or it comes ahead of time.
    pub(super) fn arrived(&mut self, epoch: u32, missed: bool) {
        let dropped_in = std::mem::take(&mut self.dropped_in);
        let again = std::mem::take(&mut self.coming);
        self.before = (!missed).then_some(Before {
            dropped_in,
            wanted: self.wanted,
            again,
        });
        // What synchronisation within an epoch makes invalid says nothing of barriers.
        if dropped_in > 0 {
            let gap = u8::try_from((epoch + 1).saturating_sub(dropped_in)).unwrap_or(0);
            self.wanted.learn(gap, !again);
        }
    }

    /// The copy came ahead of time for nothing: the page is still to be wanted, as if it had not
    /// come.
    pub(super) fn unwanted(&mut self) {
        let Some(before) = self.before.take() else {
            return;
        };
        self.dropped_in = before.dropped_in;
        self.wanted = before.wanted;
        if before.again {
            (self.wanted.left, self.wanted.between) = (0, 0);
        }
    }

    /// Whether to fetch it again now.
    pub(super) fn is_due(&mut self) -> bool {
        self.coming = self.wanted.left > 0 && self.dropped_in > 0;
        self.wanted.left = self.wanted.left.saturating_sub(u8::from(self.coming));
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
                history.arrived(epoch, false);
                here = true;
            }
            if !here && wanted(epoch) {
                history.arrived(epoch, true);
                here = true;
            }
            if here && written(epoch) {
                if fetched.last() == Some(&epoch) && !wanted(epoch) {
                    history.unwanted();
                }
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

    /// Others write it in three of eleven epochs, so that it is missed after 7 epochs and after
    /// one in turn, as a page of a wavefront is that goes up and then down.
    #[test]
    fn phases_that_want_a_page_in_turn_are_told_apart() {
        let is_wanted = |epoch: &u32| [6, 9].contains(&(epoch % 11));
        let fetched = fetched(
            300,
            |epoch| [2, 8, 10].contains(&(epoch % 11)),
            |epoch| is_wanted(&epoch),
        );
        assert!(fetched.iter().all(is_wanted), "{fetched:?}");
        let missed: Vec<_> = (0..300)
            .filter(is_wanted)
            .filter(|epoch| !fetched.contains(epoch))
            .collect();
        assert_eq!(missed, [6, 9, 17, 20, 39, 86, 270]);
    }

    #[test]
    fn what_is_wanted_now_and_then_is_left_alone() {
        let wanted = |epoch| [3, 10, 14, 20, 28, 37, 39].contains(&epoch);
        assert_eq!(fetched(50, |_| true, wanted), [0; 0]);
        // After 3 epochs again: that is tried once.
        let wanted = |epoch| [3, 10, 14, 20, 28, 31, 40, 42].contains(&epoch);
        assert_eq!(fetched(50, |_| true, wanted), [38]);
    }

    #[test]
    fn what_is_not_wanted_any_more_comes_a_few_times_only() {
        let fetched = fetched(200, |_| true, |epoch| epoch < 20);
        assert!(fetched.iter().all(|epoch| *epoch < 20 + 32), "{fetched:?}");
    }

    /// It comes with a neighbour in epoch 12, is overwritten there, and is missed in 14.
    #[test]
    fn a_copy_that_came_with_a_neighbour_for_nothing_says_nothing() {
        let mut history = RefetchHistory::default();
        for epoch in [0, 5] {
            history.dropped(epoch);
            history.arrived(epoch + 4, true);
        }
        assert_eq!(history.dropped(10), Some(14));
        history.arrived(12, false);
        history.unwanted();
        assert_eq!(history.dropped(12), None);
        assert!(history.is_due());
        history.arrived(14, false);
        assert_eq!(history.dropped(15), Some(19));
    }
}
