//! When a page is worth being alone with: it was told as written again and again, and nobody
//! else wanted it.

use crate::Interval;

/// How often a page has to be told as written, if nobody wanted it back soon; at most this
/// power of two times as often otherwise.
const TOLD: u8 = 2;
const PATIENCE: u8 = 6;

/// Who was alone with a page had the use of it if it would have told of it so often.
const WORTH: u32 = 8;

/// How a node writes a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Habit {
    /// The first interval in which it was written and told since somebody else wanted it.
    first: Option<Interval>,
    /// In how many it was.
    told: u8,
    patience: u8,
    /// The interval in which this node asked to be alone with it, or that since which it is.
    since: Interval,
    /// Intervals from one in which it was told to the next, before that.
    period: u32,
}

impl Habit {
    /// The page is told as written in an interval of an epoch that has begun behind another
    /// one. True if it was often enough, and for long enough.
    pub(super) fn told(&mut self, now: Interval, begun: Interval, after: u8) -> bool {
        let first = match self.first.filter(|first| *first > begun) {
            Some(first) => first,
            None => {
                self.told = 0;
                *self.first.insert(now)
            }
        };
        self.told = self.told.saturating_add(1);
        let span = now.0 - first.0;
        self.period = span / u32::from(self.told - 1).max(1);
        self.told >= TOLD << self.patience && span >= u32::from(after)
    }

    /// From now on this node is alone with it.
    pub(super) fn alone(&mut self, now: Interval) {
        (self.first, self.since) = (None, now);
    }

    /// Another node has written it.
    pub(super) fn written_elsewhere(&mut self) {
        self.first = None;
    }

    /// Somebody else wants it.
    pub(super) fn shared(&mut self, now: Interval) {
        match self.had_use(now) {
            Some(true) => self.patience = self.patience.saturating_sub(1),
            Some(false) => self.refused(),
            None => self.first = None,
        }
    }

    /// A barrier has ended it.
    pub(super) fn ended(&mut self, now: Interval) {
        if self.had_use(now) == Some(true) {
            self.patience = self.patience.saturating_sub(1);
        }
        self.first = None;
    }

    /// This node is not alone with it any more, if it was: whether that was of use.
    fn had_use(&mut self, now: Interval) -> Option<bool> {
        let since = std::mem::take(&mut self.since);
        let intervals = now.0.saturating_sub(since.0);
        (since > Interval::default()).then_some(intervals >= self.period.saturating_mul(WORTH))
    }

    /// It is to be told more often before it is worth it again.
    pub(super) fn refused(&mut self) {
        self.first = None;
        self.patience = (self.patience + 1).min(PATIENCE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a page is told that is written in every `period`th interval until this node
    /// may be alone with it.
    fn tells(habit: &mut Habit, now: &mut Interval, period: u32) -> u32 {
        let due = (1..).find(|_| {
            now.0 += period;
            habit.told(*now, Interval::default(), 8)
        });
        habit.alone(*now);
        due.unwrap()
    }

    #[test]
    fn pages_are_told_ever_more_often_if_they_are_wanted_back_soon() {
        let (mut habit, mut now) = (Habit::default(), Interval::default());
        let told = |habit: &mut Habit, now: &mut Interval, until| {
            let told = tells(habit, now, 10);
            now.0 += until;
            habit.shared(*now);
            told
        };
        let soon: Vec<_> = (0..8).map(|_| told(&mut habit, &mut now, 20)).collect();
        assert_eq!(soon, [2, 4, 8, 16, 32, 64, 128, 128]);
        let late: Vec<_> = (0..8).map(|_| told(&mut habit, &mut now, 200)).collect();
        assert_eq!(late, [128, 64, 32, 16, 8, 4, 2, 2]);
    }

    #[test]
    fn a_page_is_written_for_some_time_first_and_since_nobody_else_has_it() {
        let (mut habit, mut now) = (Habit::default(), Interval::default());
        assert_eq!(tells(&mut habit, &mut now, 1), 9);
        habit.ended(now);
        assert_eq!(tells(&mut habit, &mut now, 1), 9);
        // Another epoch.
        let mut habit = Habit::default();
        assert!(!habit.told(Interval(5), Interval(0), 8));
        assert!(!habit.told(Interval(15), Interval(6), 8));
        assert!(habit.told(Interval(23), Interval(6), 8));
        habit.written_elsewhere();
        assert!(!habit.told(Interval(40), Interval(6), 8));
    }
}
