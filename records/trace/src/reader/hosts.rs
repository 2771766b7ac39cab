//! Processes of several hosts, whose counters of ticks have nothing to do with each other: all
//! times become those of the first host.

use crate::dsm::{DsmCount, DsmCounts};
use crate::model::{Process, RunHost};
use crate::record::{Instance, Record};
use fathomp_types::{Alignment, Ticks};
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

/// Turns ticks of a host into ticks of the first host.
#[derive(Clone, Copy, Debug)]
struct Rule(Alignment);

impl Rule {
    fn length(&self, ticks: u64) -> u64 {
        self.0.length(ticks)
    }

    fn moment(&self, at: &mut Ticks) {
        // 0 stands for what did not happen.
        if at.0 != 0 {
            *at = self.0.moment(*at);
        }
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
            Record::Message(one) => (&mut one.begin, &mut one.end),
            Record::Transfer(one) => return self.moment(&mut one.at),
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
    let Some(rule) = Alignment::new(begin, host.clock_end.as_ref(), rate).map(Rule) else {
        return;
    };
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
    use fathomp_types::ClockReading;

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
    fn what_did_not_happen_has_no_moment() {
        let begin = ClockReading {
            first: 1_000,
            here: 500_000,
            error_ns: 100,
        };
        let rule = Rule(Alignment::new(&begin, None, 2.0).unwrap());
        let moved = |at| {
            let mut at = Ticks(at);
            rule.moment(&mut at);
            at.0
        };
        assert_eq!((moved(500_100), moved(0)), (1_200, 0));
    }
}
