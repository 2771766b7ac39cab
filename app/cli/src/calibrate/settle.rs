//! Which of the measured prices are taken.
//!
//! Other programs only ever make things dearer. So the least of several measurements counts, and a
//! price that is far above what the same machine was measured to have before is not taken.

use super::probe::Measured;
use fathomp_predict::machine::{Bandwidth, ConstructCosts, Machine};

/// What costs so many times as much as it did before was measured wrongly.
const DEARER: f64 = 3.0;
/// No operation of a team whose threads have a processor each takes as long; a thread that waits
/// for its turn does.
const TURN_NS: f64 = 1e6;

/// The less of two measurements, price by price.
pub(super) fn least(a: Measured, b: &Measured) -> Measured {
    let least = |a: Option<f64>, b: Option<f64>| match (a, b) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
    Measured {
        threads: a.threads,
        timer_resolution_ns: a.timer_resolution_ns.min(b.timer_resolution_ns),
        timer_cost_ns: a.timer_cost_ns.min(b.timer_cost_ns),
        fork_join_ns: least(a.fork_join_ns, b.fork_join_ns),
        barrier_ns: least(a.barrier_ns, b.barrier_ns),
        dynamic_chunk_ns: least(a.dynamic_chunk_ns, b.dynamic_chunk_ns),
        lock_ns: least(a.lock_ns, b.lock_ns),
        contended_plain_ns: least(a.contended_plain_ns, b.contended_plain_ns),
        contended_atomic_ns: least(a.contended_atomic_ns, b.contended_atomic_ns),
        copy_bytes_per_second: a.copy_bytes_per_second.max(b.copy_bytes_per_second),
    }
}

/// Prices that are taken, and whether all of them are the new ones.
#[derive(Debug)]
pub(super) struct Settled {
    pub(super) constructs: Vec<ConstructCosts>,
    pub(super) bandwidth: Vec<Bandwidth>,
    /// Some were measured before, or are left out.
    pub(super) doubtful: bool,
}

/// Settles prices. `earlier` is what the machine was measured to have before; `disturbed`: other
/// programs used processors during all measurements.
pub(super) fn settle(
    rows: &[Measured],
    earlier: Option<&Machine>,
    usable: u32,
    disturbed: bool,
) -> Settled {
    let mut settled = Settled {
        constructs: Vec::new(),
        bandwidth: Vec::new(),
        doubtful: false,
    };
    for row in rows {
        let before = earlier.and_then(|one| find(&one.constructs, row.threads, |row| row.threads));
        let crowded = row.threads > usable;
        let mut price = |new: Option<f64>, of: fn(&ConstructCosts) -> f64| {
            let before = before.as_ref().map(of);
            let new = new.filter(|ns| !disturbed || crowded || *ns < TURN_NS);
            let taken = match (new, before) {
                (Some(new), Some(before)) if new > DEARER * before.max(1.0) => Some(before),
                (new, before) => new.or(before),
            };
            settled.doubtful |= taken != new || taken.is_none();
            taken
        };
        let constructs = (|| {
            Some(ConstructCosts {
                threads: row.threads,
                fork_join_ns: price(row.fork_join_ns, |row| row.fork_join_ns)?,
                barrier_ns: price(row.barrier_ns, |row| row.barrier_ns)?,
                dynamic_chunk_ns: price(row.dynamic_chunk_ns, |row| row.dynamic_chunk_ns)?,
                lock_ns: price(row.lock_ns, |row| row.lock_ns)?,
            })
        })();
        settled.constructs.extend(constructs);

        let new = row.copy_bytes_per_second;
        let before = earlier.and_then(|one| find(&one.bandwidth, row.threads, |row| row.threads));
        let taken = match before.map(|row| row.bytes_per_s) {
            Some(before) if new * DEARER < before => Some(before),
            Some(before) if disturbed => Some(before.max(new)),
            // Nobody knows how much of it others used.
            None if disturbed => None,
            _ => Some(new).filter(|bytes| *bytes > 0.0),
        };
        settled.doubtful |= taken != Some(new);
        settled.bandwidth.extend(taken.map(|bytes_per_s| Bandwidth {
            threads: row.threads,
            bytes_per_s,
        }));
    }
    settled
}

fn find<T: Copy>(rows: &[T], threads: u32, of: fn(&T) -> u32) -> Option<T> {
    rows.iter().find(|row| of(row) == threads).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(ns: Option<f64>, copy: f64) -> Measured {
        Measured {
            threads: 2,
            timer_resolution_ns: 20.0,
            timer_cost_ns: 20.0,
            fork_join_ns: ns,
            barrier_ns: ns,
            dynamic_chunk_ns: ns,
            lock_ns: ns,
            contended_plain_ns: ns,
            contended_atomic_ns: ns,
            copy_bytes_per_second: copy,
        }
    }

    fn earlier() -> Machine {
        let settled = settle(&[row(Some(100.0), 20e9)], None, 2, false);
        assert!(!settled.doubtful);
        Machine {
            constructs: settled.constructs,
            bandwidth: settled.bandwidth,
            ..Machine::unmeasured(2)
        }
    }

    #[test]
    fn the_least_of_several_measurements_counts() {
        let both = least(row(Some(3.0), 1e9), &row(Some(2.0), 2e9));
        assert_eq!(both.lock_ns, Some(2.0));
        assert_eq!(both.copy_bytes_per_second, 2e9);
        assert_eq!(
            least(row(None, 0.0), &row(Some(2.0), 0.0)).lock_ns,
            Some(2.0)
        );
    }

    #[test]
    fn a_price_three_times_the_earlier_one_is_not_taken() {
        let settled = settle(&[row(Some(301.0), 20e9)], Some(&earlier()), 2, false);
        assert_eq!(settled.constructs[0].lock_ns, 100.0);
        assert!(settled.doubtful);
        let settled = settle(&[row(Some(299.0), 20e9)], Some(&earlier()), 2, false);
        assert_eq!(settled.constructs[0].lock_ns, 299.0);
        assert!(!settled.doubtful);
    }

    #[test]
    fn a_bandwidth_that_others_had_a_part_in_is_not_taken_as_the_machines() {
        let busy = settle(&[row(Some(100.0), 5e9)], None, 2, true);
        assert_eq!(busy.bandwidth, []);
        let busy = settle(&[row(Some(100.0), 15e9)], Some(&earlier()), 2, true);
        assert_eq!(busy.bandwidth[0].bytes_per_s, 20e9);
        let quiet = settle(&[row(Some(100.0), 15e9)], Some(&earlier()), 2, false);
        assert_eq!(quiet.bandwidth[0].bytes_per_s, 15e9);
    }

    #[test]
    fn turns_of_threads_on_a_processor_are_no_prices() {
        let turns = [row(Some(20e6), 20e9)];
        assert_eq!(settle(&turns, None, 2, true).constructs, []);
        // More threads than processors take turns even on a quiet machine.
        assert_eq!(settle(&turns, None, 1, false).constructs.len(), 1);
    }

    #[test]
    fn what_was_never_measured_is_not_known() {
        let settled = settle(&[row(None, 0.0)], None, 2, true);
        assert!(settled.constructs.is_empty() && settled.bandwidth.is_empty());
        assert!(settled.doubtful);
        let settled = settle(&[row(None, 0.0)], Some(&earlier()), 2, true);
        assert_eq!(settled.constructs[0].barrier_ns, 100.0);
    }
}
