//! Application time of the one thread of a node whose accesses are recorded.

use fathomp_sys::clock::thread_cpu_ns;
use fathomp_types::PageId;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Traps that are taken twice.
const TAKEN_TWICE_MAX: usize = 63;

/// The processor time between the runtime's doings, since nodes may share processors,
/// less what the kernel does for traps. What that takes is measured: the first traps
/// are taken twice, and from the one to the other the application gets nowhere.
#[derive(Debug)]
pub(crate) struct Stopwatch(Mutex<Laps>);

#[derive(Debug)]
struct Laps {
    /// When the thread went on with the application, if it is there.
    since_ns: Option<u64>,
    worked_ns: u64,
    /// The last time at the application, nothing if it was not there.
    lap_ns: Option<u64>,
    /// Where the thread is to trap once more, and its time before that.
    again: Option<(PageId, u64)>,
    /// What traps took that were taken twice, ascending.
    traps_ns: Vec<u64>,
}

impl Laps {
    fn stop(&mut self, now_ns: u64) {
        let since_ns = self.since_ns.take();
        self.lap_ns = since_ns.map(|since_ns| now_ns.saturating_sub(since_ns));
        self.worked_ns += self.lap_ns.unwrap_or(0);
    }

    /// What ended the time was a trap; true if it is to be taken once more.
    fn trapped(&mut self, page: PageId) -> bool {
        let Some(lap_ns) = self.lap_ns else {
            return false;
        };
        if let Some((_, before_ns)) = self.again.take_if(|(before, _)| *before == page) {
            let at = self.traps_ns.partition_point(|trap_ns| *trap_ns < lap_ns);
            self.traps_ns.insert(at, lap_ns);
            self.worked_ns -= lap_ns + lap_ns.min(before_ns);
            return false;
        }
        if self.traps_ns.len() < TAKEN_TWICE_MAX {
            self.again = Some((page, lap_ns));
            return true;
        }
        self.worked_ns -= lap_ns.min(self.traps_ns[TAKEN_TWICE_MAX / 2]);
        false
    }
}

impl Stopwatch {
    /// The thread has yet to begin.
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Laps {
            since_ns: Some(0),
            worked_ns: 0,
            lap_ns: None,
            again: None,
            traps_ns: Vec::with_capacity(TAKEN_TWICE_MAX),
        }))
    }

    fn laps(&self) -> MutexGuard<'_, Laps> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The thread goes on with the application.
    pub(crate) fn go_on(&self) {
        self.laps().since_ns = Some(thread_cpu_ns());
    }

    /// The thread goes on with the application, if that is where it was stopped.
    pub(crate) fn go_on_there(&self) {
        let mut laps = self.laps();
        laps.since_ns = laps.lap_ns.map(|_| thread_cpu_ns());
    }

    /// The thread comes from the application.
    pub(crate) fn stop(&self) {
        self.laps().stop(thread_cpu_ns());
    }

    /// The thread has come from the application by a trap; true if it is to go back
    /// and to trap once more.
    pub(crate) fn trapped(&self, page: PageId) -> bool {
        self.laps().trapped(page)
    }

    /// The thread has run one instruction and trapped again, which is no work.
    pub(crate) fn stepped(&self) {
        let mut laps = self.laps();
        laps.stop(thread_cpu_ns());
        let lap_ns = laps.lap_ns.unwrap_or(0);
        laps.worked_ns = laps.worked_ns.saturating_sub(lap_ns);
    }

    /// The thread comes from the application; its time since that was last asked for.
    pub(crate) fn take_ns(&self) -> u64 {
        self.stop();
        std::mem::take(&mut self.laps().worked_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_traps_take_is_no_work() {
        let watch = Stopwatch::new();
        let mut laps = watch.laps();
        let mut now_ns = 0;
        let mut lap = |laps: &mut Laps, ns: u64, page: u32| {
            laps.since_ns = Some(now_ns);
            now_ns += ns;
            laps.stop(now_ns);
            laps.trapped(PageId(page))
        };
        for page in 0..TAKEN_TWICE_MAX as u32 {
            // 100 of work, then the trap, then the trap once more.
            let trap_ns = 5 + u64::from(page % 3);
            assert!(lap(&mut laps, 100 + trap_ns, page));
            assert!(!lap(&mut laps, trap_ns, page));
        }
        assert_eq!(laps.worked_ns, 100 * TAKEN_TWICE_MAX as u64);
        laps.worked_ns = 0;
        assert!(!lap(&mut laps, 26, 7));
        assert_eq!(laps.worked_ns, 20);
        assert!(!lap(&mut laps, 2, 8));
        assert_eq!(laps.worked_ns, 20);
        // A trap in the runtime is none of the application's.
        laps.stop(now_ns);
        assert!(!laps.trapped(PageId(9)));
        assert_eq!(laps.worked_ns, 20);
    }
}
