//! The clocks of several hosts, brought to that of the first by what ranks told each other.
//!
//! A message cannot be received before it is sent, and nobody leaves a barrier before all have come.
//! Each such pair bounds how far a host's clock may be ahead or behind; of all lines through the
//! bounds over time, the one that is farthest from all of them is taken (as for Cristian's method,
//! with clocks of different speed), and half the room between the bounds is the error.

use fathomp_types::Ticks;
use serde::Serialize;
use std::collections::BTreeMap;

/// How a host's clock was brought to that of the first host.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HostClock {
    /// The host.
    pub host: String,
    /// Its times may be wrong by so much; none if no message bounds them in both directions.
    pub error_ns: Option<f64>,
    /// What to add to its times, and the length of its ticks in nanoseconds.
    #[serde(skip)]
    pub(super) shift: Option<(Shift, f64)>,
}

impl HostClock {
    /// A time of this host in nanoseconds of the first host's counter, and how many nanoseconds of
    /// that a tick here is; nothing if the clocks could not be compared.
    #[must_use]
    pub fn on_first_host(&self, at: Ticks) -> Option<(f64, f64)> {
        let (shift, nanos_per_tick) = self.shift?;
        let ns = shift.apply(at.0 as f64 * nanos_per_tick);
        Some((ns, nanos_per_tick * (1.0 + shift.slope)))
    }
}

/// What is to be added to a host's times.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Shift {
    offset: f64,
    /// By nanosecond behind `from`.
    slope: f64,
    from: f64,
    /// How far it may be from the truth.
    pub(super) error: f64,
}

impl Shift {
    /// The first host's time.
    pub(super) fn apply(&self, ns: f64) -> f64 {
        ns + self.offset + self.slope * (ns - self.from)
    }
}

/// Bounds of what is to be added: at that time of the host, at least or at most so much.
#[derive(Clone, Debug, Default)]
pub(super) struct Bounds {
    pub(super) least: Vec<(f64, f64)>,
    pub(super) most: Vec<(f64, f64)>,
}

/// Clocks of processors differ by less than this in speed.
const SLOPE_MAX: f64 = 2e-4;

impl Bounds {
    /// The best line between the bounds; nothing if there are none on one side.
    pub(super) fn shift(&self) -> Option<Shift> {
        let near = |bounds: &[(f64, f64)], better: fn(f64, f64) -> bool| thinned(bounds, better);
        let thin = Self {
            least: near(&self.least, |a, b| a > b),
            most: near(&self.most, |a, b| a < b),
        };
        thin.best_line()
    }

    fn best_line(&self) -> Option<Shift> {
        let times = || self.least.iter().chain(&self.most).map(|one| one.0);
        let from = times().fold(f64::MAX, f64::min);
        if self.least.is_empty() || self.most.is_empty() {
            return None;
        }
        let ends = |slope: f64| {
            let rest = |&(at, bound): &(f64, f64)| bound - slope * (at - from);
            let least = self.least.iter().map(rest).fold(f64::MIN, f64::max);
            let most = self.most.iter().map(rest).fold(f64::MAX, f64::min);
            (least, most)
        };
        let room = |slope: f64| {
            let (least, most) = ends(slope);
            most - least
        };
        // The room is a concave function of the slope.
        let (mut low, mut high) = (-SLOPE_MAX, SLOPE_MAX);
        for _ in 0..100 {
            let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
            match room(a) < room(b) {
                true => low = a,
                false => high = b,
            }
        }
        let slope = f64::midpoint(low, high);
        let (least, most) = ends(slope);
        Some(Shift {
            offset: f64::midpoint(least, most),
            slope,
            from,
            // Bounds that contradict each other: the clocks' speed changed by as much.
            error: (most - least).abs() / 2.0,
        })
    }
}

/// The best bound of each of some hundred parts of the time.
fn thinned(bounds: &[(f64, f64)], better: fn(f64, f64) -> bool) -> Vec<(f64, f64)> {
    const PARTS: f64 = 512.0;
    let from = bounds.iter().map(|one| one.0).fold(f64::MAX, f64::min);
    let to = bounds.iter().map(|one| one.0).fold(f64::MIN, f64::max);
    let mut best: BTreeMap<u32, (f64, f64)> = BTreeMap::new();
    for one in bounds {
        let part = (one.0 - from) / (to - from).max(1.0) * PARTS;
        let kept = best.entry(part as u32).or_insert(*one);
        if better(one.1, kept.1) {
            *kept = *one;
        }
    }
    best.into_values().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that is 5 ms behind, and loses 3 us a second, is found within the stated error.
    #[test]
    fn a_clock_that_is_behind_and_slower_is_found_within_its_error() {
        let truth = |at: f64| 5e6 + 3e-6 * at;
        let mut bounds = Bounds::default();
        for step in 0..200_u32 {
            let at = f64::from(step) * 5e7;
            // Each way takes 20 to 60 us.
            let way = 2e4 + f64::from(step * 7919 % 40) * 1e3;
            bounds.least.push((at, truth(at) - way));
            bounds.most.push((at + 1e6, truth(at + 1e6) + way));
        }
        let shift = bounds.shift().expect("both sides are bounded");
        assert!(shift.error <= 3e4, "{shift:?}");
        for at in [0.0, 5e9, 1e10] {
            let off = shift.apply(at) - at - truth(at);
            assert!(off.abs() <= shift.error, "{off} at {at}: {shift:?}");
        }
    }

    #[test]
    fn a_clock_that_is_bounded_on_one_side_is_unknown() {
        let mut bounds = Bounds::default();
        bounds.least.push((0.0, 1.0));
        assert_eq!(bounds.shift(), None);
    }
}
