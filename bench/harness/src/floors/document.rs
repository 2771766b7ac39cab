//! The result: every sample, and what they say.

use super::Extent;
use crate::machine::Machine;
use crate::prices::Estimate;
use fathomp_stats::{Random, grouped_median, percentile_interval, quantile};
use serde::Serialize;

/// Name of the format.
pub const SCHEMA: &str = "fathomp.bench.dsm";
/// It grows when a field changes its meaning or goes away.
pub const VERSION: u32 = 1;

/// Bootstrap replicates.
const REPLICATES: usize = 400;
/// Part of the samples that other programs have disturbed least.
const QUIET: f64 = 0.1;

/// What was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Where.
    pub machine: Machine,
    /// How much.
    pub extent: Extent,
    /// In the table's order.
    pub rows: Vec<Row>,
    /// What could not be measured, and why.
    pub skipped: Vec<String>,
    /// What makes it doubtful.
    pub warnings: Vec<String>,
}

impl Document {
    pub(super) fn new(machine: Machine, extent: Extent) -> Self {
        Self {
            schema: SCHEMA,
            version: VERSION,
            warnings: machine.warnings(),
            machine,
            extent,
            rows: Vec::new(),
            skipped: Vec::new(),
        }
    }

    /// True if all bounds are met.
    #[must_use]
    pub fn is_met(&self) -> bool {
        self.rows.iter().all(|row| row.met != Some(false))
    }
}

/// Unit of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Unit {
    /// Microseconds.
    Us,
    /// Milliseconds.
    Ms,
    /// 2^20 bytes.
    Mib,
}

impl Unit {
    /// As tables show it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Us => "us",
            Self::Ms => "ms",
            Self::Mib => "MiB",
        }
    }
}

/// A cost beside its floor.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// How accesses are noticed, and on how many processors.
    pub group: String,
    /// What it is the cost of.
    pub name: String,
    /// Of both sides and of a bound on the value.
    pub unit: Unit,
    /// What it costs on nodes.
    pub ours: Side,
    /// The least that kernel and machine take for it.
    pub floor: Option<Side>,
    /// Ours over the floor, by medians.
    pub ratio: Option<Estimated>,
    /// The same by the quiet values.
    pub quiet_ratio: Option<f64>,
    /// What it should be at most.
    pub bound: Option<Bound>,
    /// Whether the median is.
    pub met: Option<bool>,
    /// Whether all of the 95 % interval is on the same side of the bound.
    pub clear: Option<bool>,
}

/// Samples of one side.
#[derive(Clone, Debug, Serialize)]
pub struct Side {
    /// Their median.
    pub median: Estimated,
    /// The fastest tenth is at most this.
    pub quiet: f64,
    /// All of them, by process.
    pub processes: Vec<Vec<f64>>,
}

/// A value with its 95 % bootstrap interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimated {
    /// The value.
    pub value: f64,
    /// Lower end of the interval.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The most that something should cost.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bound {
    /// So many times the floor.
    Ratio(f64),
    /// So much.
    Value(f64),
}

impl Side {
    fn of(processes: Vec<Vec<f64>>) -> Option<Self> {
        let median = Estimate::of(&processes)?;
        Some(Self {
            median: Estimated {
                value: median.value,
                low: median.interval.low,
                high: median.interval.high,
            },
            quiet: quantile(&processes.concat(), QUIET)?,
            processes,
        })
    }
}

/// A row, if there are samples of ours. `bound` is told the floor's median.
pub(super) fn row(
    group: &str,
    name: String,
    unit: Unit,
    ours: Vec<Vec<f64>>,
    floor: Option<Vec<Vec<f64>>>,
    bound: impl FnOnce(Option<f64>) -> Option<Bound>,
) -> Option<Row> {
    let ours = Side::of(ours)?;
    let floor = floor.and_then(Side::of);
    let ratio = floor.as_ref().and_then(|floor| ratio(&ours, floor));
    let quiet = floor.as_ref().map(|floor| floor.quiet);
    let bound = bound(floor.as_ref().map(|floor| floor.median.value));
    let judged = bound.and_then(|bound| match bound {
        Bound::Ratio(most) => ratio.map(|ratio| (ratio, most)),
        Bound::Value(most) => Some((ours.median, most)),
    });
    Some(Row {
        group: group.to_owned(),
        name,
        unit,
        quiet_ratio: quiet
            .filter(|quiet| *quiet > 0.0)
            .map(|quiet| ours.quiet / quiet),
        ratio,
        bound,
        met: judged.map(|(is, most)| is.value <= most),
        clear: judged.map(|(is, most)| is.low > most || is.high <= most),
        ours,
        floor,
    })
}

/// Nothing if the floor cannot be told from nothing.
fn ratio(ours: &Side, floor: &Side) -> Option<Estimated> {
    let mut resampler = Random(REPLICATES as u64);
    let replicates: Vec<f64> = (0..REPLICATES)
        .filter_map(|_| {
            let ours = resampler.draw_grouped_median(&ours.processes)?;
            let floor = resampler.draw_grouped_median(&floor.processes)?;
            (floor > 0.0).then_some(ours / floor)
        })
        .collect();
    let over = grouped_median(&floor.processes).filter(|floor| *floor > 0.0)?;
    let value = grouped_median(&ours.processes)? / over;
    let interval = percentile_interval(&replicates)?.around(value);
    Some(Estimated {
        value,
        low: interval.low,
        high: interval.high,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(ours: &[f64], floor: Option<&[f64]>, bound: Bound) -> Row {
        let processes = |samples: &[f64]| vec![samples.to_vec(); 3];
        let floor = floor.map(processes);
        let name = "it".to_owned();
        row("all", name, Unit::Us, processes(ours), floor, |_| {
            Some(bound)
        })
        .unwrap()
    }

    #[test]
    fn a_bound_is_met_or_not() {
        let times = Bound::Ratio(1.5);
        let row = judged(&[2.8; 5], Some(&[2.0; 5]), times);
        assert_eq!((row.met, row.clear), (Some(true), Some(true)));
        assert!((row.ratio.unwrap().value - 1.4).abs() < 1e-9);
        let row = judged(&[4.0; 5], Some(&[2.0; 5]), times);
        assert_eq!((row.met, row.clear), (Some(false), Some(true)));
        let row = judged(&[1.0, 2.9, 9.0], Some(&[2.0; 5]), times);
        assert_eq!((row.met, row.clear), (Some(true), Some(false)));
        let row = judged(&[4.0; 5], None, Bound::Value(5.0));
        assert_eq!((row.met, row.ratio), (Some(true), None));
    }

    #[test]
    fn what_cannot_be_compared_is_not_judged() {
        let row = judged(&[4.0; 5], Some(&[0.0; 5]), Bound::Ratio(1.5));
        assert_eq!((row.met, row.ratio, row.quiet_ratio), (None, None, None));
        let none = row_without_samples();
        assert!(none.is_none());
    }

    fn row_without_samples() -> Option<Row> {
        row("all", String::new(), Unit::Ms, Vec::new(), None, |_| None)
    }

    #[test]
    fn a_bound_may_depend_on_the_floor() {
        let samples = |value: f64| vec![vec![value]];
        let name = String::new();
        let row = row(
            "",
            name,
            Unit::Mib,
            samples(700.0),
            Some(samples(300.0)),
            |own| own.map(|own| Bound::Value(2.0 * own + 64.0)),
        )
        .unwrap();
        assert_eq!(row.bound, Some(Bound::Value(664.0)));
        assert_eq!(row.met, Some(false));
    }
}
