//! How many units of a dynamic loop a member claims at a time.
//!
//! A claim costs a transfer of the line that all members add to, the more the more members there
//! are. If units are short, a member claims several, so that a batch takes [`WORTH`] times as long
//! as its claim. Both times are measured, by the member that has them, and seldom: to read the
//! clock takes 20 ns on a virtual machine, half as long as a claim.
//!
//! Members should end together: batches are never more than a small part of what is left, and
//! after one that took long the next is small. So long units are claimed one by one.

use crate::own::OwnWord;
use fathomp_types::Ticks;

/// A batch should take this many times as long as its claim.
const WORTH: u64 = 8;

/// A member claims at most one of so many parts, for each member, of what is left: as in factoring
/// (Hummel, Schonberg and Flynn, 1992).
const PARTS: u64 = 2;

/// Most units of a batch: units may become longer within one.
const MOST: u64 = 32;

/// A claim that took more ticks was interrupted.
const COST_MOST: u64 = 1000;

/// So many units that take long are claimed one by one before the next is measured.
const RESTS: u64 = 7;

/// One member's pace in the loop that it met last. Written by its thread only.
#[derive(Debug)]
pub(super) struct Pace {
    amount: OwnWord,
    /// Ticks when the last batch was asked for; 0 if that was not measured.
    since: OwnWord,
    /// Ticks that a claim takes; 0 if that is not known yet.
    cost: OwnWord,
    /// Claims that are not to be measured.
    rests: OwnWord,
}

impl Pace {
    pub(super) const fn new() -> Self {
        Self {
            amount: OwnWord::new(),
            since: OwnWord::new(),
            cost: OwnWord::new(),
            rests: OwnWord::new(),
        }
    }

    /// A loop begins, with a claim of one unit that is not measured: many loops have no more.
    #[inline]
    pub(super) fn restart(&self) {
        self.amount.set(1);
        self.since.set(0);
        self.cost.set(0);
        self.rests.set(0);
    }

    /// Units to claim now, of `left` for so many members. At least one.
    #[inline]
    pub(super) fn amount(&self, left: u64, members: u64, clock: impl FnOnce() -> Ticks) -> u64 {
        let most = (left / (PARTS * members)).min(MOST);
        let rests = self.rests.get();
        if most <= 1 || rests > 0 {
            self.rests.set(rests.saturating_sub(1));
            self.since.set(0);
            self.amount.set(1);
            return 1;
        }
        let (now, since) = (clock().0, self.since.get());
        self.since.set(now);
        if since != 0 {
            let enough = self.cost.get() * WORTH;
            let took = now.saturating_sub(since);
            let amount = paced(self.amount.get(), took, enough).min(most);
            self.amount.set(amount);
            if amount == 1 && took / 2 > enough {
                self.rests.set(RESTS);
            }
        }
        self.amount.get()
    }

    /// The claim that [`Pace::amount`] was asked for has been made.
    #[inline]
    pub(super) fn claimed(&self, clock: impl FnOnce() -> Ticks) {
        if self.since.get() != 0 && self.cost.get() == 0 {
            let cost = clock().0.saturating_sub(self.since.get());
            self.cost.set(cost.clamp(1, COST_MOST));
        }
    }
}

/// Units of the next batch, if the last one had `amount` of them and took so long, where
/// `enough` is long enough.
#[inline]
fn paced(amount: u64, took: u64, enough: u64) -> u64 {
    if took < enough {
        return amount * if took < enough / 4 { 4 } else { 2 };
    }
    // What took long once may do so again: as many units as would have taken no more than twice
    // what is enough.
    let mut amount = amount;
    let mut took = took / 2;
    while took > enough && amount > 1 {
        amount /= 2;
        took /= 2;
    }
    amount
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Units of each batch of a member that is alone with `total` units, of which each takes what
    /// `unit` says, and claims take `cost`.
    fn batches(total: u64, members: u64, cost: u64, unit: impl Fn(u64) -> u64) -> Vec<u64> {
        let pace = Pace::new();
        pace.restart();
        let (mut now, mut at, mut sizes) = (1 + unit(0), 1, vec![1]);
        while at < total {
            let amount = pace
                .amount(total - at, members, || Ticks(now))
                .min(total - at);
            now += cost;
            pace.claimed(|| Ticks(now));
            now += (at..at + amount).map(&unit).sum::<u64>();
            at += amount;
            sizes.push(amount);
        }
        sizes
    }

    #[test]
    fn batches_of_short_units_take_some_times_as_long_as_their_claim() {
        let sizes = batches(1000, 2, 20, |_| 20);
        assert_eq!(sizes[..5], [1, 1, 2, 4, 8]);
        // And become small at the end.
        assert_eq!(sizes[sizes.len() - 4..], [1; 4]);
    }

    #[test]
    fn long_units_are_claimed_one_by_one() {
        assert!(batches(1000, 2, 20, |_| 200).iter().all(|&size| size == 1));
    }

    #[test]
    fn after_a_long_batch_the_next_is_small() {
        // 300 short units, then long ones.
        let sizes = batches(1000, 2, 10, |unit| if unit < 300 { 20 } else { 10_000 });
        let long: Vec<_> = sizes
            .iter()
            .scan(0, |at, size| {
                let from = *at;
                *at += size;
                Some((from, *size))
            })
            .filter(|&(from, _)| from >= 300)
            .map(|(_, size)| size)
            .collect();
        assert!(
            long[0] <= 8 && long[1..].iter().all(|&size| size == 1),
            "{long:?}"
        );
    }

    proptest! {
        #[test]
        fn batches_are_a_small_part_of_what_is_left(
            total in 1_u64..5000, members in 1_u64..40, cost in 0_u64..500, unit in 0_u64..5000,
        ) {
            let mut left = total;
            for size in batches(total, members, cost, |_| unit) {
                prop_assert!((1..=MOST).contains(&size));
                prop_assert!(size == 1 || size * PARTS * members <= left);
                left -= size;
            }
            prop_assert_eq!(left, 0);
        }
    }
}
