//! Counters, attributed to regions.
//!
//! A reading covers everything since the previous one, which may be several
//! short regions and the serial time between them. It is divided among them in
//! proportion to the time the thread spent in each. Sums over a thread stay
//! exact; a region much shorter than the distance of two readings inherits the
//! average of its neighbourhood.

use crate::facts::Counts;
use crate::time_accounting::TimeAccount;
use crate::time_accounting::pieces::Piece;
use fathomp_trace::record::{CounterReading, Counters};
use fathomp_types::Ticks;
use std::collections::BTreeMap;

impl Counts {
    /// Adds `fraction` of `reading`.
    pub(crate) fn add_part(&mut self, reading: &Counters, fraction: f64) {
        let add = |sum: &mut f64, count: u64| *sum += count as f64 * fraction;
        add(&mut self.minor_faults, reading.minor_faults);
        add(&mut self.major_faults, reading.major_faults);
        add(&mut self.voluntary_switches, reading.voluntary_switches);
        add(&mut self.involuntary_switches, reading.involuntary_switches);
        let add_some = |sum: &mut Option<f64>, count: Option<u64>| {
            if let Some(count) = count {
                *sum.get_or_insert(0.0) += count as f64 * fraction;
            }
        };
        add_some(&mut self.cycles, reading.cycles);
        add_some(&mut self.instructions, reading.instructions);
        add_some(&mut self.processor_ns, reading.processor_ns);
    }

    /// Adds `other`.
    pub(crate) fn add(&mut self, other: &Self) {
        self.minor_faults += other.minor_faults;
        self.major_faults += other.major_faults;
        self.voluntary_switches += other.voluntary_switches;
        self.involuntary_switches += other.involuntary_switches;
        let add_some = |sum: &mut Option<f64>, more: Option<f64>| {
            if let Some(more) = more {
                *sum.get_or_insert(0.0) += more;
            }
        };
        add_some(&mut self.cycles, other.cycles);
        add_some(&mut self.instructions, other.instructions);
        add_some(&mut self.processor_ns, other.processor_ns);
    }
}

/// Counters of `thread` per region; `region_of` numbers the site of a reading
/// that covers no known time.
pub(crate) fn attribute(
    account: &TimeAccount<'_>,
    thread: usize,
    pieces: &[Piece],
    region_of: impl Fn(&CounterReading) -> usize,
) -> BTreeMap<usize, Counts> {
    let readings = account.readings(thread);
    let mut hulls: Vec<Hull> = account
        .of_thread(thread)
        .iter()
        .filter(|part| part.merged())
        .map(|part| Hull {
            begin: part.begin(),
            end: part.record.end,
            region: part.region,
            density: part.length.0 as f64 / part.record.end.since(part.begin()).0.max(1) as f64,
        })
        .collect();
    hulls.sort_by_key(|hull| (hull.begin, hull.end));

    let mut result: BTreeMap<usize, Counts> = BTreeMap::new();
    let (mut first_piece, mut first_hull) = (0, 0);
    for reading in readings {
        let (from, to) = (reading.since.min(reading.at), reading.at);
        while pieces.get(first_piece).is_some_and(|p| p.end <= from) {
            first_piece += 1;
        }
        while hulls.get(first_hull).is_some_and(|h| h.end <= from) {
            first_hull += 1;
        }
        let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
        for piece in &pieces[first_piece..] {
            if piece.begin >= to {
                break;
            }
            let region = piece.part.map_or(0, |part| account.parts[part].region);
            *weights.entry(region).or_default() += overlap(piece.begin, piece.end, from, to);
        }
        for hull in &hulls[first_hull..] {
            if hull.begin >= to {
                break;
            }
            let weight = hull.density * overlap(hull.begin, hull.end, from, to);
            *weights.entry(hull.region).or_default() += weight;
            if let Some(outside) = weights.get_mut(&0) {
                *outside = (*outside - weight).max(0.0);
            }
        }
        let sum: f64 = weights.values().sum();
        if sum > 0.0 {
            for (region, weight) in weights {
                if weight > 0.0 {
                    let counts = result.entry(region).or_default();
                    counts.add_part(&reading.counts, weight / sum);
                }
            }
        } else {
            let counts = result.entry(region_of(reading)).or_default();
            counts.add_part(&reading.counts, 1.0);
        }
    }
    result
}

/// A merged part: where in time, and how much of that time.
struct Hull {
    begin: Ticks,
    end: Ticks,
    region: usize,
    density: f64,
}

fn overlap(begin: Ticks, end: Ticks, from: Ticks, to: Ticks) -> f64 {
    end.min(to).since(begin.max(from)).0 as f64
}
