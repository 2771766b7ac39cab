//! Which region a node is in: the orders that the first thread gives at barriers tell
//! where regions begin, and the barrier before the next order ends one.

use crate::outcome::RegionOutcome;
use fathomp_access_trace::{End, Thread};

/// The part outside of regions.
pub(super) const OUTSIDE: usize = 0;

/// The program's regions.
#[derive(Debug)]
pub(super) struct Regions {
    /// By number; the part outside of regions first.
    sites: Vec<u32>,
    /// By barriers passed: the region behind the last one.
    behind: Vec<usize>,
    /// By number: times gone through, and time of the first thread.
    passed: Vec<(u64, u64)>,
    /// Where the first thread is, and since when.
    first: (usize, u64),
}

impl Regions {
    pub(super) fn of(first: Option<&Thread>) -> Self {
        let mut sites = vec![0];
        let steps = first.into_iter().flat_map(|thread| &thread.steps);
        let mut behind = vec![OUTSIDE];
        for barrier in steps.filter(|step| step.end == End::Barrier) {
            if barrier.order_bytes == 0 {
                behind.push(behind.last().copied().unwrap_or(OUTSIDE));
                continue;
            }
            if let Some(ends) = behind.last_mut() {
                *ends = OUTSIDE;
            }
            let inside = sites
                .iter()
                .skip(1)
                .position(|site| *site == barrier.region);
            let number = inside.map_or(sites.len(), |found| found + 1);
            if number == sites.len() {
                sites.push(barrier.region);
            }
            behind.push(number);
        }
        if let Some(ends) = behind.last_mut() {
            *ends = OUTSIDE;
        }
        let mut passed = vec![(0, 0); sites.len()];
        passed[OUTSIDE].0 = 1;
        Self {
            passed,
            sites,
            behind,
            first: (OUTSIDE, 0),
        }
    }

    /// How many there are, the part outside included.
    pub(super) fn count(&self) -> usize {
        self.sites.len()
    }

    /// The region behind so many barriers.
    pub(super) fn behind(&self, barriers: u32) -> usize {
        let behind = self.behind.get(barriers as usize);
        behind.copied().unwrap_or(OUTSIDE)
    }

    /// The first thread is in a region from now on.
    pub(super) fn enter(&mut self, region: usize, now_ns: u64) {
        let (before, since_ns) = std::mem::replace(&mut self.first, (region, now_ns));
        if let Some((_, time_ns)) = self.passed.get_mut(before) {
            *time_ns += now_ns.saturating_sub(since_ns);
        }
        if before != region
            && let Some((instances, _)) = self.passed.get_mut(region)
        {
            *instances += 1;
        }
    }

    pub(super) fn outcomes(self) -> Vec<RegionOutcome> {
        let passed = self.passed.into_iter().zip(self.sites);
        let outcome = |((instances, time_ns), site)| RegionOutcome {
            site,
            instances,
            time_ns,
            ..RegionOutcome::default()
        };
        passed.map(outcome).collect()
    }
}
