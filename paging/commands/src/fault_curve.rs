//! How many page faults each thread had when, as samples, where every fault is recorded: counts
//! of long stays get their moments from these, without anybody looking.

use crate::sampling::{SampleSink, Sampled};
use fathomp_paging::faults::FaultEvent;
use fathomp_paging::{Counter, Counts};
use fathomp_sys::clock::Pair;
use fathomp_types::{Clock, Ticks};
use std::collections::HashMap;

/// Shortest stretch that is told as one, as a power of two in nanoseconds: 16 us.
const STRETCH_BITS: u32 = 14;
/// Stretches in the time so far, about, as a power of two: four to a bin of a picture.
const STRETCHES_BITS: u32 = 14;

/// What faults are made into.
#[derive(Debug)]
pub(super) struct Curve<S> {
    sink: S,
    nanos_per_tick: f64,
    open: HashMap<(u32, u32), Stretch>,
}

/// A stretch of a thread's time in which it has had faults.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    from_ns: u64,
    to_ns: u64,
    counts: Counts,
}

/// The stretch that a moment lies in: longer ones later, so that long runs have no more of them.
fn stretch_of(at_ns: u64) -> (u64, u64) {
    let longer = (at_ns >> (STRETCH_BITS + STRETCHES_BITS)).checked_ilog2();
    let length = 1 << (STRETCH_BITS + longer.map_or(0, |bits| bits + 1));
    let from_ns = at_ns & !(length - 1);
    (from_ns, from_ns + length)
}

impl<S: SampleSink> Curve<S> {
    /// A curve into `sink`, whose ticks are those of the clock.
    pub(super) fn new(sink: S, clock: Clock) -> Self {
        Self {
            sink,
            nanos_per_tick: clock.nanos_per_tick.max(1e-3),
            open: HashMap::new(),
        }
    }

    /// Takes an event, not earlier than those before; `now` are both clocks, and `zero_ns` is when
    /// time 0 of events was, by the monotonic one.
    pub(super) fn put(&mut self, event: &FaultEvent, now: &Pair, zero_ns: u64) {
        let (process, thread, at, counter) = match *event {
            FaultEvent::Fault(fault) => {
                (fault.process, fault.thread, fault.at, Counter::MinorFaults)
            }
            FaultEvent::Served {
                at,
                process,
                thread,
                ..
            } => (process, thread, at, Counter::MajorFaults),
            _ => return,
        };
        let (from_ns, to_ns) = stretch_of(at);
        let fresh = Stretch {
            from_ns,
            to_ns,
            counts: Counts::ZERO,
        };
        let known = self.open.entry((process, thread)).or_insert(fresh);
        let over = (at >= known.to_ns).then(|| std::mem::replace(known, fresh));
        known.counts[counter] += 1;
        if let Some(over) = over {
            self.tell(process, thread, &over, now, zero_ns);
        }
    }

    /// Tells the last stretches, and gives the sink back.
    pub(super) fn finish(mut self, now: &Pair, zero_ns: u64) -> S {
        for ((process, thread), last) in std::mem::take(&mut self.open) {
            self.tell(process, thread, &last, now, zero_ns);
            let at = self.tick(last.to_ns, now, zero_ns);
            self.sink.end(Sampled::Thread { process, thread }, at);
        }
        self.sink
    }

    fn tell(&mut self, process: u32, thread: u32, one: &Stretch, now: &Pair, zero_ns: u64) {
        let of = Sampled::Thread { process, thread };
        let (from, to) = (
            self.tick(one.from_ns, now, zero_ns),
            self.tick(one.to_ns, now, zero_ns),
        );
        self.sink.sample(of, from, &Counts::ZERO);
        self.sink.sample(of, to, &one.counts);
    }

    fn tick(&self, at_ns: u64, now: &Pair, zero_ns: u64) -> Ticks {
        let ago_ns = now.monotonic_ns as f64 - (zero_ns + at_ns) as f64;
        let ticks = now.ticks.0 as i128 - (ago_ns / self.nanos_per_tick) as i128;
        Ticks(u64::try_from(ticks).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_paging::faults::{Fault, Found};

    #[derive(Default)]
    struct Kept(Vec<(u64, u64)>);

    impl SampleSink for Kept {
        fn sample(&mut self, _: Sampled, at: Ticks, rose: &Counts) {
            self.0.push((at.0, rose[Counter::MinorFaults]));
        }

        fn end(&mut self, _: Sampled, _: Ticks) {}
    }

    #[test]
    fn stretches_get_longer_as_time_passes_and_join() {
        assert_eq!(stretch_of(0), (0, 1 << 14));
        assert_eq!(stretch_of((1 << 28) - 1), ((1 << 28) - (1 << 14), 1 << 28));
        assert_eq!(stretch_of(1 << 28), (1 << 28, (1 << 28) + (1 << 15)));
        assert_eq!(stretch_of(1 << 40).1, (1 << 40) + (1 << 27));
    }

    #[test]
    fn faults_of_a_stretch_are_one_sample_from_its_begin_to_its_end() {
        let clock = Clock {
            nanos_per_tick: 0.5,
            ..Clock::NANOS
        };
        let now = Pair {
            ticks: Ticks(1_000_000_000),
            monotonic_ns: 500_000_000,
        };
        let mut curve = Curve::new(Kept::default(), clock);
        for at in [100, 200, 16_384, 90_000] {
            let fault = FaultEvent::Fault(Fault {
                at,
                process: 1,
                thread: 1,
                address: 0,
                instruction: 0,
                found: Found::Unknown,
            });
            curve.put(&fault, &now, 0);
        }
        let told = curve.finish(&now, 0).0;
        let ticks = |ns: u64| ns * 2;
        assert_eq!(
            told,
            [
                (ticks(0), 0),
                (ticks(16_384), 2),
                (ticks(16_384), 0),
                (ticks(32_768), 1),
                (ticks(81_920), 0),
                (ticks(98_304), 1),
            ]
        );
    }
}
