//! What the kernel and the processor counted about a thread between readings.

use super::Recorder;
use crate::record::Counters;
use fathomp_sys::counters::{self, Hardware, HardwareCounters, Usage};

/// The previous reading of a thread's counters.
#[derive(Debug, Default)]
pub(super) struct Sampler {
    usage: Usage,
    hardware: Option<(HardwareCounters, Hardware)>,
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
    }

    /// Counts since the previous reading. One or two system calls.
    pub(super) fn read(&mut self) -> Counters {
        let usage = counters::thread_usage();
        let before = std::mem::replace(&mut self.usage, usage);
        let hardware = self.hardware.as_mut().and_then(|(counters, before)| {
            let now = counters.read()?;
            let before = std::mem::replace(before, now);
            Some((now, before))
        });
        let grown = |count: fn(&Usage) -> u64| count(&usage).saturating_sub(count(&before));
        Counters {
            minor_faults: grown(|usage| usage.minor_faults),
            major_faults: grown(|usage| usage.major_faults),
            voluntary_switches: grown(|usage| usage.voluntary_switches),
            involuntary_switches: grown(|usage| usage.involuntary_switches),
            cycles: hardware.map(|(now, before)| now.cycles.saturating_sub(before.cycles)),
            processor_ns: Some(grown(|usage| usage.processor_ns)),
            instructions: hardware
                .map(|(now, before)| now.instructions.saturating_sub(before.instructions)),
        }
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
    }
}
