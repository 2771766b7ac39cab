//! One clock for processes that each measured their own.

use fathomp_analysis::HostClock;
use fathomp_types::{Clock, Ticks};

/// Nanoseconds after one moment, for all processes of a program.
///
/// One counter of a machine stamps all its processes, so that there the first process's measure
/// of a tick does for all. Between machines, what ranks told each other brings their clocks together,
/// or else their wall clocks are compared.
#[derive(Debug)]
pub struct CommonClock {
    origin_unix_ns: u64,
    first: Option<(String, Clock)>,
    hosts: Vec<HostClock>,
}

impl CommonClock {
    /// Begins at a moment, in nanoseconds since the Unix epoch: what was before counts as then.
    #[must_use]
    pub fn new(origin_unix_ns: u64) -> Self {
        Self {
            origin_unix_ns,
            first: None,
            hosts: Vec::new(),
        }
    }

    /// The same, with hosts whose clocks are known by that of the first process added.
    #[must_use]
    pub fn with_hosts(self, hosts: &[HostClock]) -> Self {
        Self {
            hosts: hosts.to_vec(),
            ..self
        }
    }

    /// The begin, in nanoseconds since the Unix epoch.
    pub(in crate::export) fn origin_unix_ns(&self) -> u64 {
        self.origin_unix_ns
    }

    /// How to turn the ticks of a process on `host` into this clock's time.
    pub(in crate::export) fn of(&mut self, host: &str, clock: &Clock) -> ProcessClock {
        /// Two measures of the same counter differ by less.
        const SAME_COUNTER: f64 = 1e-3;
        let (first_host, first) = self.first.get_or_insert((host.to_owned(), *clock));
        let ratio = clock.nanos_per_tick / first.nanos_per_tick;
        let same = *first_host == host && (ratio - 1.0).abs() < SAME_COUNTER;
        let known = self.hosts.iter().find(|one| one.host == host);
        if let Some((ns, nanos_per_tick)) = known.and_then(|one| one.on_first_host(clock.zero)) {
            let since_zero = ns - first.zero.0 as f64 * first.nanos_per_tick;
            let first_zero = first.zero_unix_ns.wrapping_sub(self.origin_unix_ns) as i64;
            return ProcessClock {
                zero: clock.zero,
                zero_ns: first_zero.saturating_add(since_zero.round() as i64),
                nanos_per_tick,
            };
        }
        let clock = if same { *first } else { *clock };
        ProcessClock {
            zero: clock.zero,
            zero_ns: clock.zero_unix_ns.wrapping_sub(self.origin_unix_ns) as i64,
            nanos_per_tick: clock.nanos_per_tick,
        }
    }
}

/// From a process's ticks to a [`CommonClock`].
#[derive(Clone, Copy, Debug)]
pub(in crate::export) struct ProcessClock {
    zero: Ticks,
    zero_ns: i64,
    nanos_per_tick: f64,
}

impl ProcessClock {
    /// Nanoseconds after the common begin.
    pub(in crate::export) fn at_ns(&self, at: Ticks) -> u64 {
        let since_zero = at.0.wrapping_sub(self.zero.0) as i64;
        let ns = (since_zero as f64 * self.nanos_per_tick).round() as i64;
        self.zero_ns.saturating_add(ns).max(0) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_of_a_machine_are_stamped_by_one_counter() {
        let clock = |zero, zero_unix_ns, nanos_per_tick| Clock {
            zero: Ticks(zero),
            zero_unix_ns,
            nanos_per_tick,
        };
        let mut common = CommonClock::new(1_000);
        let first = common.of("a", &clock(500, 1_800, 2.0));
        assert_eq!(
            [500, 510, 400, 1].map(|at| first.at_ns(Ticks(at))),
            [800, 820, 600, 0]
        );
        // Its own wall clock and its measure of a tick do not matter.
        let second = common.of("a", &clock(450, 9_999, 2.000_01));
        assert_eq!(second.at_ns(Ticks(510)), 820);
        let elsewhere = common.of("b", &clock(70, 1_300, 1.0));
        assert_eq!(elsewhere.at_ns(Ticks(75)), 305);
    }
}
