//! Pages that one node alone uses: each was told as written again and again, and no other node
//! wanted it. Such a page is worth an exclusive lease.

use crate::Interval;

/// How often a page has to be told as written, if no lease of it was wanted back soon.
const NOTICES_MIN: u8 = 2;
/// Otherwise up to two to this power times as often.
const DOUBLINGS_MAX: u8 = 6;

/// A lease was of use if its node would have told of the page so often.
const NOTICES_SAVED_MIN: u32 = 8;

/// How a node writes a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeaseHistory {
    /// The first interval in which it was told as written since another node wanted it.
    first: Option<Interval>,
    /// In how many intervals since then it was.
    told: u8,
    /// Two to this power times as often it has to be told before a lease is asked for.
    doublings: u8,
    /// The interval since which this node is alone with it; 0 if it is not.
    since: Interval,
    /// Intervals from one in which it was told to the next, before that.
    period: u32,
}

impl LeaseHistory {
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
        self.told >= NOTICES_MIN << self.doublings && span >= u32::from(after)
    }

    /// From now on this node is alone with it.
    pub(super) fn alone(&mut self, now: Interval) {
        (self.first, self.since) = (None, now);
    }

    /// Another node has written it.
    pub(super) fn written_elsewhere(&mut self) {
        self.first = None;
    }

    /// Another node wants it.
    pub(super) fn shared(&mut self, now: Interval) {
        match self.had_use(now) {
            Some(true) => self.doublings = self.doublings.saturating_sub(1),
            Some(false) => self.refused(),
            None => self.first = None,
        }
    }

    /// A barrier has ended it.
    pub(super) fn ended(&mut self, now: Interval) {
        if self.had_use(now) == Some(true) {
            self.doublings = self.doublings.saturating_sub(1);
        }
        self.first = None;
    }

    /// This node is not alone with it any more, if it was: whether that was of use.
    fn had_use(&mut self, now: Interval) -> Option<bool> {
        let since = std::mem::take(&mut self.since);
        let intervals = now.0.saturating_sub(since.0);
        (since > Interval::default())
            .then_some(intervals >= self.period.saturating_mul(NOTICES_SAVED_MIN))
    }

    /// It is to be told more often before it is worth it again.
    pub(super) fn refused(&mut self) {
        self.first = None;
        self.doublings = (self.doublings + 1).min(DOUBLINGS_MAX);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often a page is told that is written in every `period`th interval until this node
    /// may be alone with it.
    fn tells(lease: &mut LeaseHistory, now: &mut Interval, period: u32) -> u32 {
        let due = (1..).find(|_| {
            now.0 += period;
            lease.told(*now, Interval::default(), 8)
        });
        lease.alone(*now);
        due.unwrap()
    }

    #[test]
    fn pages_are_told_ever_more_often_if_they_are_wanted_back_soon() {
        let (mut lease, mut now) = (LeaseHistory::default(), Interval::default());
        let told = |lease: &mut LeaseHistory, now: &mut Interval, until| {
            let told = tells(lease, now, 10);
            now.0 += until;
            lease.shared(*now);
            told
        };
        let soon: Vec<_> = (0..8).map(|_| told(&mut lease, &mut now, 20)).collect();
        assert_eq!(soon, [2, 4, 8, 16, 32, 64, 128, 128]);
        let late: Vec<_> = (0..8).map(|_| told(&mut lease, &mut now, 200)).collect();
        assert_eq!(late, [128, 64, 32, 16, 8, 4, 2, 2]);
    }

    #[test]
    fn a_page_is_written_for_some_time_first_and_since_nobody_else_has_it() {
        let (mut lease, mut now) = (LeaseHistory::default(), Interval::default());
        assert_eq!(tells(&mut lease, &mut now, 1), 9);
        lease.ended(now);
        assert_eq!(tells(&mut lease, &mut now, 1), 9);
        // Another epoch.
        let mut lease = LeaseHistory::default();
        assert!(!lease.told(Interval(5), Interval(0), 8));
        assert!(!lease.told(Interval(15), Interval(6), 8));
        assert!(lease.told(Interval(23), Interval(6), 8));
        lease.written_elsewhere();
        assert!(!lease.told(Interval(40), Interval(6), 8));
    }
}
