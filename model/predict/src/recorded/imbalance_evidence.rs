//! Serial code inside a region, or unequal shares of a loop?
//!
//! Both make all threads but one wait, and with one team size the sums are the
//! same. Beyond it they part: serial code stays, shares shrink. What tells
//! them apart is who waits for whom:
//!
//! * In serial code (`single`, `master`) one thread computes and *the others
//!   do alike*. With three threads or more that shows in every execution.
//! * Two threads leave identity and constancy. A `master` is always thread 0
//!   and a `single` goes to whoever comes first, and takes the same time
//!   whoever has it. If another thread than 0 is always the longest, its share
//!   is larger; if the longest changes and the difference with it, shares are
//!   random.
//!
//! Two threads of which thread 0 is always the longest can be either (a
//! triangle that begins with its long rows): that stays open.

use fathomp_analysis::{Region, State, Unevenness};

/// Which explanation of waits at barriers the threads of a region support.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImbalanceEvidence {
    /// Serial code inside the region.
    Serial,
    /// Unequal shares.
    Imbalance,
    /// Either.
    #[default]
    Open,
}

/// An excess below this fraction of the longest time is noise.
const NOTABLE: f64 = 0.02;
/// Others that compute less than this fraction of the longest are idle.
const IDLE: f64 = 0.05;
/// Others whose own excess is below this fraction of the whole do alike, and
/// above [`UNLIKE`] they do not (a triangle and a normal distribution have 0.5
/// with three threads, and more with more).
const ALIKE: f64 = 0.15;
const UNLIKE: f64 = 0.3;
/// "Always" the same thread: in executions with this fraction of the excess.
const ALWAYS: f64 = 0.9;
/// Relative standard deviation of an excess that is constant, and of one that
/// is random (0.75 for two normal shares).
const CONSTANT: f64 = 0.25;
const RANDOM: f64 = 0.5;
/// Executions from which on a pattern is more than chance.
const EXECUTIONS_MIN: u64 = 6;

/// Waits for `single` constructs are serial code, and the rest does not matter, from this part of
/// all waits at barriers on.
const MOSTLY: f64 = 0.5;

impl ImbalanceEvidence {
    /// What the threads of a region say.
    #[must_use]
    pub fn of_region(region: &Region) -> Self {
        match for_single(region) >= MOSTLY {
            true => Self::Serial,
            false => Self::of(&region.unevenness),
        }
    }

    pub(crate) fn of(seen: &Unevenness) -> Self {
        let longest = seen.longest_ns;
        let excess = seen.excess_ns;
        if seen.executions == 0 || seen.team_size < 2 || excess <= NOTABLE * longest {
            return Self::Open;
        }
        // The mean is (longest + (k - 1) others) / k.
        let k = f64::from(seen.team_size);
        let others = longest - excess * k / (k - 1.0);
        if others < IDLE * longest {
            return Self::Serial;
        }
        let first = seen.first_ns > ALWAYS * excess;
        let always = seen.most_ns > ALWAYS * excess;
        let scatter = seen.excess_sd_ns * seen.executions as f64 / excess;
        if seen.team_size >= 3 {
            let rest = seen.rest_ns / excess;
            return match rest {
                rest if rest > UNLIKE => Self::Imbalance,
                // A thread that is always late, or random delays of one.
                rest if rest > ALIKE || (always && !first) || scatter > RANDOM => Self::Open,
                _ => Self::Serial,
            };
        }
        match (always, first) {
            _ if seen.executions < EXECUTIONS_MIN => Self::Open,
            (true, true) => Self::Open,
            (true, false) => Self::Imbalance,
            (false, _) if scatter < CONSTANT => Self::Serial,
            (false, _) if scatter > RANDOM => Self::Imbalance,
            (false, _) => Self::Open,
        }
    }

    /// What two regions, or two recordings, say together.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (one, Self::Open) => one,
            (Self::Open, other) => other,
            (one, other) if one == other => one,
            _ => Self::Open,
        }
    }
}

/// Which part of the waits at a region's barriers was for `single` constructs, from 0 to 1. Where
/// there are tasks, the thread that makes them is not alone at work.
#[must_use]
pub fn for_single(region: &Region) -> f64 {
    let barriers = [State::ExplicitBarrier, State::ImplicitBarrier];
    let waited: u64 = barriers.iter().map(|state| region.states[*state]).sum();
    if region.tasks_created > 0 || waited == 0 {
        return 0.0;
    }
    (region.single_wait_ns as f64 / waited as f64).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of two threads with 100 and 50 in each of 20 executions.
    const TWO: Unevenness = Unevenness {
        executions: 20,
        team_size: 2,
        longest_ns: 2_000.0,
        excess_ns: 500.0,
        excess_sd_ns: 1.0,
        first_ns: 0.0,
        most_ns: 500.0,
        rest_ns: 0.0,
    };

    #[test]
    fn two_threads_are_told_apart_by_who_is_longest() {
        let first = Unevenness {
            first_ns: 500.0,
            ..TWO
        };
        let changing = Unevenness {
            first_ns: 250.0,
            most_ns: 260.0,
            ..TWO
        };
        let random = Unevenness {
            excess_sd_ns: 20.0,
            ..changing
        };
        let once = Unevenness {
            executions: 1,
            ..TWO
        };
        assert_eq!(ImbalanceEvidence::of(&TWO), ImbalanceEvidence::Imbalance);
        assert_eq!(ImbalanceEvidence::of(&first), ImbalanceEvidence::Open);
        assert_eq!(ImbalanceEvidence::of(&changing), ImbalanceEvidence::Serial);
        assert_eq!(ImbalanceEvidence::of(&random), ImbalanceEvidence::Imbalance);
        assert_eq!(ImbalanceEvidence::of(&once), ImbalanceEvidence::Open);
    }

    #[test]
    fn idle_others_mean_serial_code() {
        let alone = Unevenness {
            excess_ns: 990.0,
            most_ns: 990.0,
            ..TWO
        };
        assert_eq!(ImbalanceEvidence::of(&alone), ImbalanceEvidence::Serial);
        assert_eq!(
            ImbalanceEvidence::of(&Unevenness::default()),
            ImbalanceEvidence::Open
        );
    }
}
