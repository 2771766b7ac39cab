//! What has risen since a thread's counters were read last.

use fathomp_paging::{Counter, Counts};
use fathomp_sys::counters::UsageReader;
use std::sync::atomic::{AtomicU64, Ordering};

/// The counters of a thread.
#[derive(Debug)]
pub(crate) struct Meter {
    usage: UsageReader,
    /// The last readings of counters that others count.
    last: Counts,
    /// What has risen and was not told yet.
    risen: Counts,
    /// Counters that the runtime keeps: where they are, and which is the first.
    further: Option<(&'static [AtomicU64], usize)>,
}

impl Meter {
    /// Nothing was counted yet.
    pub(crate) fn new() -> Self {
        Self {
            usage: UsageReader::default(),
            last: Counts::ZERO,
            risen: Counts::ZERO,
            further: None,
        }
    }

    /// Counts for the calling thread, from now on.
    pub(crate) fn begin(&mut self) {
        self.read_kernel();
        self.told();
    }

    /// Reads what the kernel counts. One system call.
    #[inline]
    pub(crate) fn read_kernel(&mut self) {
        let usage = self.usage.read();
        let readings = [
            (Counter::MinorFaults, usage.minor_faults),
            (Counter::MajorFaults, usage.major_faults),
            (Counter::PageIns, usage.blocks_in / 8),
            (Counter::BlocksOut, usage.blocks_out),
            (Counter::VoluntarySwitches, usage.voluntary_switches),
            (Counter::InvoluntarySwitches, usage.involuntary_switches),
        ];
        for (counter, reading) in readings {
            self.rise_to(counter, reading);
        }
    }

    /// Reads what the runtime counts.
    #[inline]
    pub(crate) fn read_further(&mut self) {
        if let Some((words, first)) = self.further {
            for (word, counter) in words.iter().zip(Counter::ALL.iter().skip(first)) {
                self.rise_to(*counter, word.load(Ordering::Relaxed));
            }
        }
    }

    /// The runtime's counters are there from now on, the first of them being `first`. Those
    /// that make no sense are left alone.
    pub(crate) fn further(&mut self, words: &'static [AtomicU64], first: usize) {
        self.read_further();
        let own = first >= Counter::DsmWriteFaults.index();
        let fits = first
            .checked_add(words.len())
            .is_some_and(|end| end <= Counter::COUNT);
        self.further = (own && fits && !words.is_empty()).then_some((words, first));
        for (word, counter) in words.iter().zip(Counter::ALL.iter().skip(first)) {
            if self.further.is_some() {
                self.last[*counter] = word.load(Ordering::Relaxed);
            }
        }
    }

    /// Something was counted here.
    #[inline]
    pub(crate) fn add(&mut self, counter: Counter, amount: u64) {
        self.risen[counter] += amount;
    }

    #[inline]
    fn rise_to(&mut self, counter: Counter, reading: u64) {
        let last = &mut self.last[counter];
        // Less than before is what a sink has already taken for its own.
        self.risen[counter] += reading.saturating_sub(*last);
        *last = reading.max(*last);
    }

    /// What has risen, and the last readings for the sink to correct.
    #[inline]
    pub(crate) fn risen(&mut self) -> (&Counts, &mut Counts) {
        (&self.risen, &mut self.last)
    }

    /// What has risen was told.
    #[inline]
    pub(crate) fn told(&mut self) {
        self.risen = Counts::ZERO;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_told_once() {
        let mut meter = Meter::new();
        meter.begin();
        let mut pages = vec![0_u8; 4 << 20];
        for page in pages.chunks_mut(4096) {
            page[0] = 1;
        }
        std::hint::black_box(&pages);
        meter.read_kernel();
        assert!(meter.risen().0[Counter::MinorFaults] > 0);
        meter.told();
        assert_eq!(meter.risen().0[Counter::MinorFaults], 0);
    }

    #[test]
    fn the_runtimes_counters_count_from_where_they_are() {
        let words: &'static [AtomicU64] =
            Box::leak(Box::new([AtomicU64::new(7), AtomicU64::new(0)]));
        let mut meter = Meter::new();
        meter.begin();
        meter.further(words, Counter::DsmFetchFaults.index());
        words[0].store(9, Ordering::Relaxed);
        words[1].store(1, Ordering::Relaxed);
        meter.read_further();
        assert_eq!(meter.risen().0[Counter::DsmFetchFaults], 2);
        assert_eq!(meter.risen().0[Counter::DsmPagesIn], 1);
    }

    #[test]
    fn counters_that_make_no_sense_are_left_alone() {
        let words: &'static [AtomicU64] = Box::leak(Box::new([AtomicU64::new(7)]));
        let mut meter = Meter::new();
        meter.begin();
        for first in [0, Counter::COUNT, usize::MAX] {
            meter.further(words, first);
            words[0].fetch_add(1, Ordering::Relaxed);
            meter.read_further();
        }
        meter.told();
        meter.read_further();
        assert!(meter.risen().0.is_zero());
    }

    #[test]
    fn what_the_sink_took_for_its_own_is_not_told_again() {
        let mut meter = Meter::new();
        meter.begin();
        let (_, last) = meter.risen();
        last[Counter::MinorFaults] += 1_000_000;
        meter.read_kernel();
        assert_eq!(meter.risen().0[Counter::MinorFaults], 0);
    }
}
