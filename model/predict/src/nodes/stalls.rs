//! What work takes longer on nodes than with one thread, because caches and page tables
//! are cold after faults and waits, and because nodes that work at the same time share
//! caches.
//!
//! It was recorded with other numbers of nodes, and is taken to be the same for each
//! fault and synchronisation as far as these can be the reason; the rest is taken to be
//! the same part of the work. Recordings tell most of each other whose nodes had a processor
//! each, or had not. Outside of regions, what makes it is mostly that nodes
//! start; so there it is taken to be the same for any number of them.

use super::beside::{Beside, alone_ns};
use super::part::Part;
use fathomp_analysis::{Analysis, Region};

/// The most that a fault or synchronisation can make work take longer afterwards: reading
/// 2 MiB, a large second-level cache, at 20 GB/s.
const REFILL_NS: f64 = 100_000.0;

/// Whether nodes took processors by turns where this was recorded: then they find caches as
/// others have left them.
fn taken_by_turns(analysis: &Analysis) -> bool {
    let program = &analysis.program;
    program.crowded(program.nodes).is_some()
}

/// What part of the prices of first writes is time in faults. The rest is what the program takes
/// longer afterwards, which stalls hold as well: of threads that had no other faults between two
/// barriers, it is what the prices say more than was recorded of the time in these. All of it if
/// nothing was recorded that says so.
pub(super) fn writes_in_faults(analysis: &Analysis, beside: &Beside<'_>) -> f64 {
    let own = [analysis];
    let recordings: &[&Analysis] = match beside.others {
        [] => &own,
        others => others,
    };
    let emulated = recordings.iter().filter(|one| one.program.emulated_time);
    let regions = emulated.flat_map(|one| &one.regions);
    let (mut took_ns, mut price_ns) = (0.0, 0.0);
    for parts in regions.flat_map(|region| Part::phases(region, beside.protocol, true)) {
        for part in parts.iter().filter(|part| part.dsm.fetch_faults == 0) {
            let [local, remote, ..] = part.counts.cost_ns(beside.prices);
            if local + remote > 0.0 {
                took_ns += part.dsm.fault_ns as f64;
                price_ns += local + remote;
            }
        }
    }
    match took_ns > 0.0 {
        true => (took_ns / price_ns).min(1.0),
        false => 1.0,
    }
}

/// What a region's work takes longer on nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Stalls {
    /// After each interruption of a thread; of the serial part, once.
    pub(super) each_ns: f64,
    /// For each unit of work.
    pub(super) part: f64,
}

impl Stalls {
    /// From recordings on other numbers of nodes; from the one whose time is wanted if
    /// there are none.
    pub(super) fn new(analysis: &Analysis, region: &Region, beside: &Beside<'_>) -> Self {
        let Some(alone_ns) = alone_ns(beside.alone, region) else {
            return Self::default();
        };
        let recordings: &[&Analysis] = match beside.others {
            [] => &[analysis],
            others => others,
        };
        let mut all = Vec::new();
        for recording in recordings {
            let same = recording.regions.iter().find(|one| one.key == region.key);
            if let Some(same) = same.filter(|_| recording.program.emulated_time) {
                let alike = taken_by_turns(recording) == taken_by_turns(analysis);
                all.push((alike, Self::of(same, alone_ns, beside)));
            }
        }
        let any_alike = all.iter().any(|(alike, _)| *alike);
        all.retain(|(alike, _)| *alike == any_alike || region.level == 0);
        let all: Vec<Self> = all.into_iter().map(|(_, one)| one).collect();
        if region.level == 0 {
            // A constant, which other programs can only have made longer.
            let least_ns = all.iter().map(|one| one.each_ns).reduce(f64::min);
            return Self {
                each_ns: least_ns.unwrap_or(0.0).max(0.0),
                part: 0.0,
            };
        }
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len().max(1) as f64;
        Self {
            each_ns: mean(|one| one.each_ns).max(0.0),
            part: mean(|one| one.part).max(0.0),
        }
    }

    /// Of one recording.
    fn of(region: &Region, alone_ns: f64, beside: &Beside<'_>) -> Self {
        let parts = Part::all(region, beside.protocol, true);
        let own = parts.iter().map(|part| part.own_ns);
        let threads = parts.len().max(1) as f64;
        if region.level == 0 {
            return Self {
                each_ns: own.fold(0.0, f64::max) - alone_ns,
                part: 0.0,
            };
        }
        let (own_ns, work_ns, interruptions) = if Part::look(&parts) {
            // What looks like work is also looking: least of it in the thread that waits
            // least for the others.
            let each = |part: &Part| part.own_ns / part.interruptions().max(1.0);
            let least = parts.iter().min_by(|a, b| each(a).total_cmp(&each(b)));
            let least = least.map(|part| (part.own_ns, part.interruptions()));
            let (own_ns, interruptions) = least.unwrap_or_default();
            (own_ns, alone_ns / threads, interruptions)
        } else {
            let interruptions = parts.iter().map(Part::interruptions).sum();
            (own.sum(), alone_ns, interruptions)
        };
        let longer_ns: f64 = own_ns - work_ns;
        let each_ns = (longer_ns / interruptions.max(1.0)).min(REFILL_NS);
        Self {
            each_ns,
            part: (longer_ns - each_ns * interruptions) / work_ns.max(1.0),
        }
    }
}
