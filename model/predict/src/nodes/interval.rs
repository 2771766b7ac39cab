//! How far off a time on nodes may be.
//!
//! Terms are taken to be off independently of each other, each by a part of
//! itself; the whole is then off by the root of the sum of squares. What held the
//! predictions of other programs against what was observed tells better, where it
//! is known: there the larger of the two counts.

use super::terms::{NodesTerm, NodesTime};
use serde::Serialize;

/// Standard deviations from the middle to the ends of an interval that holds 90 %.
const NINE_IN_TEN: f64 = 1.645;
/// Prices that were not measured are off by this part: on the one cluster whose
/// prices are published, the rule that derives them is within 15 % (`derive`), and
/// elsewhere it is untried.
const DERIVED: f64 = 0.3;

/// What is known of the terms' precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// Relative standard deviation of the time with one thread from run to run.
    pub work: f64,
    /// Prices were measured, not derived.
    pub measured: bool,
    /// Root mean square of ln(predicted / observed) of other programs on as many
    /// nodes; none if there are too few.
    pub seen: Option<f64>,
}

/// Between what a time is expected, nine times of ten.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NodesInterval {
    /// Lower end.
    pub low_ns: f64,
    /// Upper end.
    pub high_ns: f64,
}

/// Relative standard deviation of a term.
fn spread(term: NodesTerm, precision: &Precision) -> f64 {
    let price = if precision.measured { 0.1 } else { DERIVED };
    match term {
        NodesTerm::Serial | NodesTerm::Work => precision.work.max(0.02),
        NodesTerm::LocalWrites
        | NodesTerm::RemoteWrites
        | NodesTerm::Fetches
        | NodesTerm::Diffs => price,
        // Measured where nothing else went on.
        NodesTerm::Barriers | NodesTerm::Locks | NodesTerm::Flushes | NodesTerm::Notices => {
            2.0 * price
        }
        NodesTerm::Imbalance
        | NodesTerm::Sharing
        | NodesTerm::Contention
        | NodesTerm::Writers
        | NodesTerm::Waits
        | NodesTerm::Stalls => 0.5,
    }
}

/// The interval about a time.
#[must_use]
pub fn interval(time: &NodesTime, precision: &Precision) -> NodesInterval {
    let squares = time
        .terms()
        .map(|(term, ns)| (ns * spread(term, precision)).powi(2));
    let time_ns = time.time_ns();
    let own = squares.sum::<f64>().sqrt() / time_ns.max(1.0);
    let factor = (NINE_IN_TEN * own.max(precision.seen.unwrap_or(0.0))).exp();
    NodesInterval {
        low_ns: time_ns / factor,
        high_ns: time_ns * factor,
    }
}
