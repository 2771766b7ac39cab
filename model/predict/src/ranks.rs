//! How long a hybrid program takes with other numbers of ranks and threads.
//!
//! A run's time is put together from what its ranks do (POP's terms): time outside of regions and
//! of MPI, time in regions, unequal work of ranks, and MPI:
//!
//! * from one number of threads to another, time in regions changes as our model of threads says for
//!   the rank that is outside of MPI longest;
//! * from one number of ranks to another, time outside of MPI is `a + b / ranks` (Amdahl), by least
//!   squares without negative terms, or a power of the number of ranks: between both lies what is
//!   predicted;
//! * ranks stay as unequal as they were;
//! * MPI takes `c + d log2(ranks)`, as collective calls by trees do; at least what it took with most
//!   ranks, at most what grows with the number of others.
//!
//! What MPI costs is not known from runs with one rank: then more ranks are not predicted.

use fathomp_stats::median;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// What was measured with some ranks of some threads: one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RankCell {
    /// Ranks.
    pub ranks: u32,
    /// Threads of each.
    pub threads: u32,
    /// From the end of `MPI_Init` to the begin of `MPI_Finalize`.
    pub wall_ns: f64,
    /// A rank's time outside of regions and of MPI, the mean.
    pub serial_ns: f64,
    /// A rank's time in regions, the mean.
    pub regions_ns: f64,
    /// The most time of a rank outside of MPI.
    pub most_ns: f64,
}

/// A time and its interval, in nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Between {
    /// The time.
    pub ns: f64,
    /// Its interval's lower end.
    pub low_ns: f64,
    /// Its upper end.
    pub high_ns: f64,
}

/// The time with some ranks of some threads.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Split {
    /// Ranks.
    pub ranks: u32,
    /// Threads of each.
    pub threads: u32,
    /// The median of what was measured, if it was.
    pub measured_ns: Option<f64>,
    /// What all ranks together were outside of MPI, if it was measured.
    pub computed_ns: Option<f64>,
    /// What is predicted: of a measured one from all others.
    pub predicted: Option<Between>,
    /// Why nothing is predicted, if so.
    pub unknown: Option<String>,
}

impl Split {
    /// The time: as measured, else as predicted.
    #[must_use]
    pub fn time_ns(&self) -> Option<f64> {
        self.measured_ns.or(self.predicted.map(|one| one.ns))
    }

    /// How far the prediction from the others is from what was measured, as a part of that.
    #[must_use]
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured_ns.filter(|ns| *ns > 0.0)?;
        Some((self.predicted?.ns - measured) / measured)
    }
}

/// The time of the rank that is outside of MPI longest, by its threads, as our model of threads says
/// from runs with other numbers of them.
pub trait ThreadModel {
    /// With so many ranks, for so many threads; runs with `without` threads are left out.
    fn time(&self, ranks: u32, threads: u32, without: Option<u32>) -> Option<Between>;
}

/// Predicts all `wanted` (ranks, threads), in their order.
#[must_use]
pub fn splits(cells: &[RankCell], model: &impl ThreadModel, wanted: &[(u32, u32)]) -> Vec<Split> {
    let all = Medians::of(cells);
    let one = |&(ranks, threads): &(u32, u32)| {
        let measured = all.0.get(&(ranks, threads));
        let others = all.without((ranks, threads));
        let without = measured.map(|_| threads);
        let predicted = Predicting {
            known: &others,
            model,
            left_out: without.map(|_| (ranks, threads)),
        }
        .split(ranks, threads);
        Split {
            ranks,
            threads,
            measured_ns: measured.map(|one| one.wall_ns),
            computed_ns: measured
                .map(|one| (one.serial_ns + one.regions_ns) * f64::from(one.ranks)),
            unknown: predicted.as_ref().err().map(|why| (*why).to_owned()),
            predicted: predicted.ok(),
        }
    };
    wanted.iter().map(one).collect()
}

/// The fastest of those that need no more than so many processors.
#[must_use]
pub fn best(splits: &[Split], cores: u32) -> Option<&Split> {
    let fits = splits.iter().filter(|one| {
        let needed = one.ranks.saturating_mul(one.threads);
        needed <= cores && one.time_ns().is_some()
    });
    let time = |one: &Split| one.time_ns().unwrap_or(f64::MAX);
    fits.min_by(|a, b| time(a).total_cmp(&time(b)))
}

/// Two measured splits with equally many threads, of which the second has more ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Both numbers of ranks.
    pub ranks: [u32; 2],
    /// Threads of each rank.
    pub threads: u32,
    /// What all ranks compute with more of them, as a multiple of what they do with fewer.
    pub times: f64,
}

/// Where more ranks compute more in all, by half of what their number grows or more, with the fewest
/// threads of which two numbers of ranks were measured: either the problem grows with the number of
/// ranks (weak scaling), or they slow each other down.
#[must_use]
pub fn growth(splits: &[Split]) -> Option<Growth> {
    let measured = splits
        .iter()
        .filter_map(|one| Some((one, one.computed_ns?)));
    let mut by_threads: BTreeMap<u32, BTreeMap<u32, f64>> = BTreeMap::new();
    for (one, ns) in measured {
        let ranks = by_threads.entry(one.threads).or_default();
        ranks.insert(one.ranks, ns);
    }
    let (threads, ranks) = by_threads.into_iter().find(|(_, ranks)| ranks.len() > 1)?;
    let (fewer, less) = ranks.first_key_value()?;
    let (more, grown) = ranks.last_key_value()?;
    let times = grown / less.max(1.0);
    let by = f64::from(*more) / f64::from(*fewer);
    (times >= 1.0 + (by - 1.0) / 2.0).then_some(Growth {
        ranks: [*fewer, *more],
        threads,
        times,
    })
}

/// Why more ranks cannot be predicted.
const NO_MPI: &str = "what MPI costs between ranks is not known from runs with one rank";
const NOTHING: &str =
    "no other run tells, or what tells was too short or disturbed by other programs";

/// Medians of the runs, by ranks and threads.
struct Medians(BTreeMap<(u32, u32), RankCell>);

impl Medians {
    fn of(cells: &[RankCell]) -> Self {
        let mut groups: BTreeMap<(u32, u32), Vec<RankCell>> = BTreeMap::new();
        for cell in cells {
            groups
                .entry((cell.ranks, cell.threads))
                .or_default()
                .push(*cell);
        }
        let middle = |group: &[RankCell], of: fn(&RankCell) -> f64| {
            median(&group.iter().map(of).collect::<Vec<f64>>()).unwrap_or(0.0)
        };
        let of_group = |(key, group): ((u32, u32), Vec<RankCell>)| {
            let cell = RankCell {
                ranks: key.0,
                threads: key.1,
                wall_ns: middle(&group, |one| one.wall_ns),
                serial_ns: middle(&group, |one| one.serial_ns),
                regions_ns: middle(&group, |one| one.regions_ns),
                most_ns: middle(&group, |one| one.most_ns),
            };
            (key, cell)
        };
        Self(groups.into_iter().map(of_group).collect())
    }

    fn without(&self, key: (u32, u32)) -> Self {
        let others = self.0.iter().filter(|(other, _)| **other != key);
        Self(others.map(|(key, cell)| (*key, *cell)).collect())
    }

    fn ranks(&self) -> BTreeSet<u32> {
        self.0.keys().map(|key| key.0).collect()
    }
}

/// What is predicted may be wrong by this much at least: runs differ by as much.
const NOISE: f64 = 0.04;

struct Predicting<'a, M> {
    known: &'a Medians,
    model: &'a M,
    left_out: Option<(u32, u32)>,
}

/// A cell as it is expected, with the interval of its time outside of MPI.
struct Expected {
    cell: RankCell,
    less_ns: f64,
    more_ns: f64,
}

impl<M: ThreadModel> Predicting<'_, M> {
    fn split(&self, ranks: u32, threads: u32) -> Result<Between, &'static str> {
        let here = match self.known.ranks().contains(&ranks) {
            true => self.with_threads(ranks, threads),
            false => None,
        };
        let expected = match here {
            Some(expected) => expected,
            None => self.with_ranks(ranks, threads)?,
        };
        let cell = &expected.cell;
        let noise = NOISE * cell.wall_ns;
        Ok(Between {
            ns: cell.wall_ns,
            low_ns: (cell.wall_ns - expected.less_ns - noise).max(0.0),
            high_ns: cell.wall_ns + expected.more_ns + noise,
        })
    }

    /// With a number of ranks that was measured.
    fn with_threads(&self, ranks: u32, threads: u32) -> Option<Expected> {
        if let Some(cell) = self.known.0.get(&(ranks, threads)) {
            return Some(Expected {
                cell: *cell,
                less_ns: 0.0,
                more_ns: 0.0,
            });
        }
        // From the nearest number of threads that was measured.
        let near = self.known.0.values().filter(|one| one.ranks == ranks);
        let distance = |one: &RankCell| (f64::from(one.threads) / f64::from(threads)).ln().abs();
        let from = near.min_by(|a, b| distance(a).total_cmp(&distance(b)))?;
        let left_out = self.left_out.filter(|one| one.0 == ranks).map(|one| one.1);
        let model = |threads| self.model.time(ranks, threads, left_out);
        let (before, after) = (model(from.threads)?, model(threads)?);
        // Regions alone depend on threads; the most loaded rank's as those of all.
        let most = (from.most_ns / (from.serial_ns + from.regions_ns).max(1.0)).max(1.0);
        let changed = (after.ns - before.ns).max(-from.regions_ns * most);
        let mut cell = *from;
        cell.threads = threads;
        cell.regions_ns += changed / most;
        cell.most_ns += changed;
        cell.wall_ns += changed;
        Some(Expected {
            cell,
            less_ns: after.ns - after.low_ns,
            more_ns: after.high_ns - after.ns,
        })
    }

    /// With a number of ranks that was not measured.
    fn with_ranks(&self, ranks: u32, threads: u32) -> Result<Expected, &'static str> {
        let all = self.known.ranks().into_iter();
        let known: Vec<Expected> = all
            .filter_map(|one| self.with_threads(one, threads))
            .collect();
        if known.is_empty() {
            return Err(NOTHING);
        }
        let several = known.iter().filter(|one| one.cell.ranks > 1);
        let several: Vec<&Expected> = several.collect();
        if ranks > 1 && several.is_empty() {
            return Err(NO_MPI);
        }
        if ranks == 1 && known.len() < 2 {
            return Err(NOTHING);
        }
        let part = |of: fn(&RankCell) -> f64| {
            let points = known
                .iter()
                .map(|one| (f64::from(one.cell.ranks), of(&one.cell)));
            over_ranks(&points.collect::<Vec<_>>(), f64::from(ranks))
        };
        let (serial, regions) = (part(|one| one.serial_ns), part(|one| one.regions_ns));
        let work = serial.ns + regions.ns;
        let (unequal, mpi) = match ranks {
            1 => (
                0.0,
                Between {
                    ns: 0.0,
                    low_ns: 0.0,
                    high_ns: 0.0,
                },
            ),
            _ => (unequal(&several), mpi(&several, f64::from(ranks))),
        };
        let most_ns = work * (1.0 + unequal);
        let model = |of: fn(&Expected) -> f64| known.iter().map(of).fold(0.0, f64::max);
        Ok(Expected {
            cell: RankCell {
                ranks,
                threads,
                wall_ns: most_ns + mpi.ns,
                serial_ns: serial.ns,
                regions_ns: regions.ns,
                most_ns,
            },
            less_ns: (work - serial.low_ns - regions.low_ns) * (1.0 + unequal) + mpi.ns
                - mpi.low_ns
                + model(|one| one.less_ns),
            more_ns: (serial.high_ns + regions.high_ns - work) * (1.0 + unequal) + mpi.high_ns
                - mpi.ns
                + model(|one| one.more_ns),
        })
    }
}

/// How much more the rank with most work has than the mean.
fn unequal(several: &[&Expected]) -> f64 {
    let parts = several.iter().map(|one| {
        let cell = &one.cell;
        (cell.most_ns / (cell.serial_ns + cell.regions_ns).max(1.0) - 1.0).max(0.0)
    });
    parts.sum::<f64>() / several.len() as f64
}

/// What MPI takes.
fn mpi(several: &[&Expected], ranks: f64) -> Between {
    let points = several.iter().map(|one| {
        let cell = &one.cell;
        (
            f64::from(cell.ranks),
            (cell.wall_ns - cell.most_ns).max(0.0),
        )
    });
    let points: Vec<(f64, f64)> = points.collect();
    let (a, b) = match points.len() {
        // From nothing with one rank.
        1 => (0.0, points[0].1 / points[0].0.log2()),
        _ => line(
            &points
                .iter()
                .map(|(x, y)| (x.log2(), *y))
                .collect::<Vec<_>>(),
        ),
    };
    let last = points[points.len() - 1];
    let by_others = last.1 * (ranks - 1.0) / (last.0 - 1.0);
    let ns = a + b * ranks.log2();
    Between {
        ns,
        low_ns: ns.min(last.1),
        high_ns: ns.max(by_others),
    }
}

/// A rank's time with other numbers of ranks, from (ranks, time) in order of ranks.
fn over_ranks(points: &[(f64, f64)], ranks: f64) -> Between {
    let last = points[points.len() - 1];
    let logs = points.iter().map(|(x, y)| (x.ln(), y.max(1.0).ln()));
    let (level, slope) = any_line(&logs.collect::<Vec<_>>());
    if points.len() > 1 && slope >= 0.0 {
        // Work that ranks do not divide. It may grow as it did, though not faster than their number.
        let grown = last.1 * (ranks / last.0).powf(slope.min(1.0));
        return Between {
            ns: last.1,
            low_ns: last.1.min(grown),
            high_ns: last.1.max(grown),
        };
    }
    let (amdahl, power) = match points.len() {
        // Work is divided.
        1 => {
            let divided = last.1 * last.0 / ranks;
            (divided, divided)
        }
        _ => {
            let inverse = points.iter().map(|(x, y)| (1.0 / x, *y));
            let (a, b) = line(&inverse.collect::<Vec<_>>());
            (a + b / ranks, (level + slope * ranks.ln()).exp())
        }
    };
    Between {
        ns: f64::midpoint(amdahl, power),
        low_ns: amdahl.min(power),
        high_ns: match points.len() {
            // As well half of what is saved might not be.
            1 if ranks > last.0 => f64::midpoint(amdahl, last.1),
            _ => amdahl.max(power),
        },
    }
}

/// `a` and `b` of `y = a + b x` by least squares, neither of them negative.
fn line(points: &[(f64, f64)]) -> (f64, f64) {
    let (a, b) = any_line(points);
    if a >= 0.0 && b >= 0.0 {
        return (a, b);
    }
    let count = points.len() as f64;
    let mean = points.iter().map(|one| one.1).sum::<f64>() / count;
    let squares: f64 = points.iter().map(|one| one.0 * one.0).sum();
    let products: f64 = points.iter().map(|one| one.0 * one.1).sum();
    let through_origin = (products / squares.max(f64::MIN_POSITIVE)).max(0.0);
    match a < 0.0 {
        true => (0.0, through_origin),
        false => (mean.max(0.0), 0.0),
    }
}

fn any_line(points: &[(f64, f64)]) -> (f64, f64) {
    let count = points.len() as f64;
    let mean_x = points.iter().map(|one| one.0).sum::<f64>() / count;
    let mean_y = points.iter().map(|one| one.1).sum::<f64>() / count;
    let spread: f64 = points.iter().map(|one| (one.0 - mean_x).powi(2)).sum();
    let together: f64 = points
        .iter()
        .map(|one| (one.0 - mean_x) * (one.1 - mean_y))
        .sum();
    let b = if spread > 0.0 { together / spread } else { 0.0 };
    (mean_y - b * mean_x, b)
}
