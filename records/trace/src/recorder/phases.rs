//! What sharing memory has cost a thread since it left a barrier of the nodes.

use crate::dsm::{DsmCount, DsmCounts};
use crate::layout::frame;
use crate::record::Phase;
use fathomp_ring::Word;
use fathomp_types::{InstanceId, SiteId, Ticks};
use std::array;
use std::sync::atomic::AtomicU64;

/// The phase that a thread is in.
#[derive(Debug, Default)]
pub(super) struct OpenPhase {
    /// When it began, in ticks; 0 if that was with the region.
    began: AtomicU64,
    /// Counts that are not zero, one bit each.
    mask: AtomicU64,
    counts: [AtomicU64; DsmCount::COUNT],
}

impl OpenPhase {
    /// The thread's next phase begins with the region that it enters.
    pub(super) fn reset(&self) {
        self.began.set(0);
        self.clear();
    }

    fn clear(&self) {
        let mut mask = self.mask.get();
        while mask != 0 {
            self.counts[mask.trailing_zeros() as usize].set(0);
            mask &= mask - 1;
        }
        self.mask.set(0);
    }

    /// Sharing memory has cost the thread that.
    #[inline]
    pub(super) fn add(&self, counts: &DsmCounts) {
        let mut more = counts.mask();
        self.mask.set(self.mask.get() | more);
        while more != 0 {
            let number = more.trailing_zeros() as usize;
            self.counts[number].add(counts.0[number]);
            more &= more - 1;
        }
    }

    /// The thread has left a barrier: the phase ends at `at`, and another begins. None
    /// outside of regions, where the thread waited for work.
    pub(super) fn end(&self, frame: &[AtomicU64; frame::WORDS], at: Ticks) -> Option<Phase> {
        let phase = Phase {
            site: SiteId(frame[frame::SITE].get() as u32),
            instance: InstanceId(frame[frame::INSTANCE].get()),
            begin: Ticks(self.began.get().max(frame[frame::BEGIN].get())),
            end: at,
            dsm: DsmCounts(array::from_fn(|number| self.counts[number].get())),
        };
        self.clear();
        self.began.set(at.0);
        (phase.site != SiteId::SERIAL).then_some(phase)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_holds_what_was_counted_since_the_last() {
        let phase = OpenPhase::default();
        let words: [AtomicU64; frame::WORDS] = array::from_fn(|_| AtomicU64::new(0));
        words[frame::SITE].set(3 | 1 << 32);
        words[frame::INSTANCE].set(9);
        words[frame::BEGIN].set(50);
        let with = |count: DsmCount, number| {
            let mut counts = DsmCounts::default();
            counts[count] = number;
            counts
        };
        phase.add(&with(DsmCount::FetchFaults, 2));
        phase.add(&with(DsmCount::FetchFaults, 3));
        phase.add(&with(DsmCount::Barriers, 1));
        let first = phase.end(&words, Ticks(70)).unwrap();
        assert_eq!((first.site, first.instance), (SiteId(3), InstanceId(9)));
        assert_eq!((first.begin, first.end), (Ticks(50), Ticks(70)));
        assert_eq!(first.dsm.mask(), 1 << 2 | 1 << 9);
        assert_eq!(first.dsm[DsmCount::FetchFaults], 5);
        phase.add(&with(DsmCount::DiffsSent, 1));
        let second = phase.end(&words, Ticks(90)).unwrap();
        assert_eq!(second.begin, Ticks(70));
        assert_eq!(second.dsm, with(DsmCount::DiffsSent, 1));
        // Waiting for work between regions.
        words[frame::SITE].set(0);
        phase.add(&with(DsmCount::Barriers, 1));
        assert_eq!(phase.end(&words, Ticks(95)), None);
        phase.add(&with(DsmCount::DiffsSent, 1));
        phase.reset();
        words[frame::SITE].set(3);
        let other = phase.end(&words, Ticks(99)).unwrap();
        assert_eq!((other.begin, other.dsm), (Ticks(50), DsmCounts::default()));
    }
}
