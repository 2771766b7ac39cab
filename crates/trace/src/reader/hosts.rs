//! Processes of several hosts, whose counters of ticks have nothing to do with each other: all
//! times become those of the first host.

use crate::dsm::{DsmCount, DsmCounts};
use crate::model::{ClockReading, Process, RunHost};
use crate::record::{Instance, Record};
use fathomp_base::Ticks;
use std::ffi::OsStr;

/// Which host's process wrote a stream of that name: `h2.PID-BEGIN` is of host 2, other names are
/// of the first.
pub(super) fn host_of(stream: &OsStr) -> usize {
    let name = stream.to_str().unwrap_or_default();
    let number = name.strip_prefix('h').and_then(|rest| rest.split_once('.'));
    number
        .and_then(|(number, _)| number.parse().ok())
        .unwrap_or(0)
}

/// How ticks of a host become those of the first.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Rule {
    here: u64,
    first: u64,
    /// Ticks there for one here.
    rate: f64,
}

impl Rule {
    /// From readings at the begin and at the end; `rate` holds if there is only one.
    fn new(begin: &ClockReading, end: Option<&ClockReading>, rate: f64) -> Self {
        let between = end.and_then(|end| {
            let here = end
                .here
                .checked_sub(begin.here)
                .filter(|ticks| *ticks > 0)?;
            let first = end.first.checked_sub(begin.first)?;
            Some(first as f64 / here as f64)
        });
        Self {
            here: begin.here,
            first: begin.first,
            // What lies far from what the clocks themselves say is no drift.
            rate: between
                .filter(|between| (between / rate - 1.0).abs() < 0.01)
                .unwrap_or(rate),
        }
    }

    fn length(&self, ticks: u64) -> u64 {
        (ticks as f64 * self.rate).round() as u64
    }

    fn moment(&self, at: &mut Ticks) {
        // 0 stands for what did not happen.
        if at.0 == 0 {
            return;
        }
        at.0 = match at.0.checked_sub(self.here) {
            Some(after) => self.first.saturating_add(self.length(after)),
            None => self.first.saturating_sub(self.length(self.here - at.0)),
        };
    }

    fn counts(&self, counts: &mut DsmCounts) {
        for count in [
            DsmCount::FaultTicks,
            DsmCount::LockTicks,
            DsmCount::FlushTicks,
            DsmCount::BarrierTicks,
            DsmCount::LookTicks,
            DsmCount::LookSharedTicks,
            DsmCount::AskTicks,
            DsmCount::AtomicTicks,
        ] {
            let ticks = &mut counts.0[count as usize];
            *ticks = self.length(*ticks);
        }
    }

    fn instance(&self, one: &mut Instance) {
        for at in [&mut one.fork, &mut one.begin, &mut one.end] {
            self.moment(at);
        }
        one.busy.0 = self.length(one.busy.0);
        for ticks in &mut one.states.0 {
            ticks.0 = self.length(ticks.0);
        }
        if let Some(dsm) = &mut one.dsm {
            self.counts(dsm);
        }
    }

    fn record(&self, record: &mut Record) {
        let (begin, end) = match record {
            Record::Instance(one) => return self.instance(one),
            Record::Interval(one) => (&mut one.begin, &mut one.end),
            Record::Loop(one) => (&mut one.begin, &mut one.end),
            Record::Counters(one) => (&mut one.since, &mut one.at),
            Record::Phase(one) => {
                self.counts(&mut one.dsm);
                (&mut one.begin, &mut one.end)
            }
        };
        self.moment(begin);
        self.moment(end);
    }
}

/// Gives a process of this host the times of the first, whose ticks are so long. Without readings
/// it keeps its own.
pub(super) fn align(process: &mut Process, host: &RunHost, first_nanos_per_tick: f64) {
    let Some(begin) = &host.clock_begin else {
        return;
    };
    let rate = process.clock.nanos_per_tick / first_nanos_per_tick;
    if !rate.is_finite() || rate <= 0.0 {
        return;
    }
    let rule = Rule::new(begin, host.clock_end.as_ref(), rate);
    rule.moment(&mut process.clock.zero);
    process.clock.nanos_per_tick = first_nanos_per_tick;
    rule.moment(&mut process.begin);
    if let Some(end) = &mut process.end {
        rule.moment(end);
    }
    for thread in &mut process.threads {
        rule.moment(&mut thread.begin);
        rule.moment(&mut thread.end);
        for record in &mut thread.records {
            rule.record(record);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(first: u64, here: u64) -> ClockReading {
        ClockReading {
            first,
            here,
            error_ns: 100,
        }
    }

    fn moment(rule: Rule, at: u64) -> u64 {
        let mut at = Ticks(at);
        rule.moment(&mut at);
        at.0
    }

    #[test]
    fn names_say_the_host() {
        for (name, host) in [
            ("12-ab", 0),
            ("h2.12-ab", 2),
            ("h.12-ab", 0),
            ("hx.12-ab", 0),
            ("h99999999999999999999.1-a", 0),
        ] {
            assert_eq!(host_of(OsStr::new(name)), host, "{name}");
        }
    }

    #[test]
    fn moments_are_those_of_the_first_host() {
        let rule = Rule::new(&reading(1_000, 500_000), None, 2.0);
        assert_eq!(moment(rule, 500_100), 1_200);
        assert_eq!(moment(rule, 499_900), 800);
        assert_eq!(moment(rule, 0), 0);
        // Before the first host's counter began.
        assert_eq!(moment(rule, 1), 0);
    }

    #[test]
    fn drift_is_what_two_readings_say_if_that_can_be() {
        let begin = reading(1_000_000, 0);
        let rule = Rule::new(&begin, Some(&reading(2_000_100, 1_000_000)), 1.0);
        assert_eq!(moment(rule, 500_000), 1_500_050);
        // The counter of a virtual machine that was moved begins anew.
        let rule = Rule::new(&begin, Some(&reading(9_000_000, 1_000_000)), 1.0);
        assert_eq!(moment(rule, 500_000), 1_500_000);
        let rule = Rule::new(&reading(5, 50), Some(&reading(1, 10)), 1.0);
        assert_eq!(rule.rate, 1.0);
    }
}
