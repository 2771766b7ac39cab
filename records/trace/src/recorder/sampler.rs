//! What the kernel and the processor counted about a thread between readings.

use super::Recorder;
use crate::record::{Allowed, Counters};
use fathomp_sys::affinity;
use fathomp_sys::clock;
use fathomp_sys::counters::{self, Hardware, HardwareCounters, RunQueue, Usage};

/// Time between two looks at the processors a thread may run on.
const LOOK_EVERY_NS: u64 = 10_000_000;

/// How long the thread slept in waits of the runtime since the previous reading.
#[derive(Clone, Copy, Debug)]
pub(super) enum Asleep {
    /// So long.
    Ns(u64),
    /// No longer than this, which is how long it waited: whoever watches a runtime from outside
    /// does not see whether it sleeps.
    AtMostNs(u64),
}

/// The previous reading of a thread's counters.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    usage: Usage,
    hardware: Option<(HardwareCounters, Hardware)>,
    processor: Processor,
    /// Time since somebody looked which processors it may run on, if somebody has.
    looked_ns: Option<u64>,
    allowed: Option<Allowed>,
}

/// Time with and without a processor. A thread that the kernel has not switched
/// away since the last reading ran all the time, and nothing need be asked.
#[derive(Debug, Default)]
struct Processor {
    /// Processor time when it was last asked for.
    asked_ns: u64,
    /// Time since then that is known to have been on a processor.
    known_ns: u64,
    queue: Option<RunQueue>,
    /// Opening the queue was refused.
    refused: bool,
    delay_ns: u64,
}

impl Processor {
    fn begin(&mut self, from_start: bool) {
        *self = Self {
            asked_ns: if from_start {
                0
            } else {
                clock::thread_cpu_ns()
            },
            ..Self::default()
        };
        self.open();
        if !from_start {
            self.delay_ns = self.queued_ns().unwrap_or(0);
        }
    }

    fn open(&mut self) {
        self.queue = RunQueue::open().ok();
        self.refused = self.queue.is_none();
    }

    fn queued_ns(&self) -> Option<u64> {
        self.queue.as_ref()?.delay_ns()
    }

    /// Time on a processor and time ready without one, of `elapsed_ns`;
    /// `switched`: the thread was switched away meanwhile.
    fn read(&mut self, elapsed_ns: u64, switched: bool) -> (u64, Option<u64>) {
        if !switched {
            self.known_ns += elapsed_ns;
            return (elapsed_ns, (!self.refused).then_some(0));
        }
        let now_ns = clock::thread_cpu_ns();
        let since = now_ns.saturating_sub(self.asked_ns);
        let used = since.saturating_sub(self.known_ns);
        (self.asked_ns, self.known_ns) = (now_ns, 0);
        let delay = self.queued_ns().map(|now_ns| {
            let before = std::mem::replace(&mut self.delay_ns, now_ns);
            now_ns.saturating_sub(before)
        });
        (used, delay)
    }
}

impl Sampler {
    /// Begins to count for the calling thread.
    pub(super) fn begin(&mut self, recorder: &Recorder, from_start: bool) {
        self.hardware = None;
        // Once refused, always refused: not every thread need ask.
        if recorder.hardware_expected() {
            self.hardware = HardwareCounters::open().ok().and_then(|counters| {
                let first = counters.read()?;
                Some((counters, first))
            });
            recorder.hardware_found(self.hardware.is_some());
        }
        self.usage = if from_start {
            Usage::default()
        } else {
            counters::thread_usage()
        };
        self.processor.begin(from_start);
        (self.looked_ns, self.allowed) = (None, None);
    }

    /// Counts since the previous reading, `elapsed_ns` ago. One or two system
    /// calls, two more if the thread was switched away meanwhile.
    pub(super) fn read(&mut self, elapsed_ns: u64, asleep: Asleep) -> Counters {
        let usage = counters::thread_usage();
        let before = std::mem::replace(&mut self.usage, usage);
        let hardware = self.hardware.as_mut().and_then(|(counters, before)| {
            let now = counters.read()?;
            let before = std::mem::replace(before, now);
            Some((now, before))
        });
        let grown = |count: fn(&Usage) -> u64| count(&usage).saturating_sub(count(&before));
        let voluntary_switches = grown(|usage| usage.voluntary_switches);
        let involuntary_switches = grown(|usage| usage.involuntary_switches);
        let switched = voluntary_switches + involuntary_switches > 0;
        let (processor_ns, run_delay_ns) = self.processor.read(elapsed_ns, switched);
        let off_ns = elapsed_ns.saturating_sub(processor_ns);
        let asleep_ns = match asleep {
            Asleep::Ns(ns) => ns,
            Asleep::AtMostNs(ns) => ns.min(off_ns.saturating_sub(run_delay_ns.unwrap_or(0))),
        };
        Counters {
            minor_faults: grown(|usage| usage.minor_faults),
            major_faults: grown(|usage| usage.major_faults),
            voluntary_switches,
            involuntary_switches,
            cycles: hardware.map(|(now, before)| now.cycles.saturating_sub(before.cycles)),
            processor_ns: Some(processor_ns),
            instructions: hardware
                .map(|(now, before)| now.instructions.saturating_sub(before.instructions)),
            run_delay_ns,
            asleep_ns: Some(asleep_ns),
            allowed: self.look(elapsed_ns),
        }
    }

    /// The processors the thread may run on, if it is time to look and they are
    /// others than before.
    fn look(&mut self, elapsed_ns: u64) -> Option<Allowed> {
        if let Some(looked_ns) = &mut self.looked_ns {
            *looked_ns = looked_ns.saturating_add(elapsed_ns);
            if *looked_ns < LOOK_EVERY_NS {
                return None;
            }
        }
        self.looked_ns = Some(0);
        let mut allowed = None;
        affinity::visit_of_this_thread(|cpu| allowed = Some(Allowed::with(allowed, cpu)));
        let changed = allowed != self.allowed;
        self.allowed = allowed;
        allowed.filter(|_| changed)
    }

    /// Runs something of our own whose page faults are not to be counted.
    pub(super) fn without<T>(&mut self, action: impl FnOnce() -> T) -> T {
        let before = counters::thread_usage();
        let result = action();
        let after = counters::thread_usage();
        self.usage.minor_faults += after.minor_faults.saturating_sub(before.minor_faults);
        result
    }

    /// Stops counting.
    pub(super) fn end(&mut self) {
        self.hardware = None;
        self.processor.queue = None;
    }
}
