//! The counters of one thread, by whichever way they can be had.

use super::kernel::ProcFile;
use fathomp_paging::{Counter, Counts};
use fathomp_sys::clock;
use fathomp_sys::perf::{PerfError, Seen, ThreadCounters};
use fathomp_types::Ticks;

/// A thread whose counters are sampled. What it counted before it was found is in them where they
/// are read from `/proc`.
#[derive(Debug)]
pub(super) struct Thread {
    source: Source,
    last: Counts,
    /// When it was looked at last.
    pub(super) looked_at: Ticks,
}

#[derive(Debug)]
enum Source {
    /// Counters of the kernel's performance events.
    Events(ThreadCounters),
    /// `/proc`.
    File(ProcFile),
}

/// How threads' counters are had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By performance events.
    Events(Seen),
    /// From `/proc`.
    Files,
}

impl Thread {
    /// Begins to sample a thread; `None` if it has ended. The second says why performance
    /// events could not be had, if they were wanted.
    pub(super) fn begin(
        process: u32,
        thread: u32,
        by_events: bool,
    ) -> (Option<Self>, Option<PerfError>) {
        let new = |source, last| Self {
            source,
            last,
            looked_at: clock::now(),
        };
        let by_files = || {
            let stat = ProcFile::new(format!("/proc/{process}/task/{thread}/stat").into());
            let last = stat.faults()?;
            Some(new(Source::File(stat), last))
        };
        if !by_events {
            return (by_files(), None);
        }
        match ThreadCounters::open(thread) {
            Ok(counters) => (Some(new(Source::Events(counters), Counts::ZERO)), None),
            Err(PerfError::Ended) => (None, None),
            Err(error) => (by_files(), Some(error)),
        }
    }

    /// What it had counted when it was found, as far as that can be had.
    pub(super) fn counted(&self) -> &Counts {
        &self.last
    }

    pub(super) fn how(&self) -> How {
        match &self.source {
            Source::Events(counters) => How::Events(counters.seen()),
            Source::File(_) => How::Files,
        }
    }

    /// What rose since the look before; `None` if the thread can no longer be looked at.
    pub(super) fn rose(&mut self) -> Option<(Ticks, Counts)> {
        self.looked_at = clock::now();
        let now = match &self.source {
            Source::Events(counters) => {
                let read = counters.read()?;
                let mut counts = Counts::ZERO;
                counts[Counter::MinorFaults] = read.minor_faults;
                counts[Counter::MajorFaults] = read.major_faults;
                // Why it was switched out is not told; that decides only how the exact
                // numbers of both kinds are spread over time.
                counts[Counter::VoluntarySwitches] = read.switches;
                counts[Counter::InvoluntarySwitches] = read.switches;
                counts
            }
            Source::File(stat) => stat.faults()?,
        };
        let before = std::mem::replace(&mut self.last, now);
        Some((self.looked_at, difference(&now, &before)))
    }
}

/// What rose from one reading to the next.
pub(super) fn difference(now: &Counts, before: &Counts) -> Counts {
    let mut rose = Counts::ZERO;
    for counter in Counter::ALL {
        rose[counter] = now[counter].saturating_sub(before[counter]);
    }
    rose
}
