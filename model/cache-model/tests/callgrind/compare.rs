//! A workload scanned, predicted, and run under callgrind with simulated caches.

use fathomp_cache_model::{Assume, Cache, Nest, Repetition, Traffic};
use fathomp_callgrind::{Beginnings, Simulated, begun, callgrind};
use fathomp_regions::{AccessClass, Body, Regions};
use fathomp_toolchain::{Compiler, build};
use fathomp_workloads::{Class, Variant, find};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub(crate) const CACHES: [Cache; 2] = [
    Cache {
        bytes: 32 << 10,
        line: 64,
        ways: 8,
    },
    Cache {
        bytes: 512 << 10,
        line: 64,
        ways: 16,
    },
];

const LIMIT: Duration = Duration::from_secs(300);

/// One access: what was predicted, and what was counted.
#[derive(Clone, Debug)]
#[allow(dead_code, reason = "the example prints what the test shows whole")]
pub(crate) struct Compared {
    pub(crate) region: String,
    pub(crate) at: u64,
    pub(crate) line: u32,
    pub(crate) name: String,
    pub(crate) class: AccessClass,
    pub(crate) executed: f64,
    /// Misses per execution, for each cache.
    pub(crate) predicted: [f64; 2],
    pub(crate) counted: [f64; 2],
}

impl Compared {
    /// Whether a prediction is right: within 10 %, or within 0.02 misses per access.
    pub(crate) fn right(&self, level: usize) -> bool {
        let (predicted, counted) = (self.predicted[level], self.counted[level]);
        (predicted - counted).abs() <= (0.1 * counted).max(0.02)
    }
}

/// A workload as a program in `directory`.
pub(crate) fn built(name: &str, flags: &[&str], directory: &Path) -> (PathBuf, Vec<String>) {
    let workload = find(name).expect("a workload");
    let variant = Variant {
        class: Class::S,
        openmp: true,
        flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
    };
    let compiler = Compiler::find("gcc").expect("gcc");
    let program = build(&compiler, &workload.recipe(&variant), directory).expect("a program");
    (program.path, workload.size_arguments(Class::S, None))
}

/// Compares all accesses in loops of the regions of a program.
pub(crate) fn compare(program: &Path, arguments: &[String]) -> Vec<Compared> {
    let scanned = fathomp_scan::scan(program).expect("a scan");
    let mut words = vec![program.display().to_string()];
    words.extend(arguments.iter().cloned());
    let beginnings = begun(&words, &[], LIMIT).expect("a run");
    let [first, last] = CACHES.map(|cache| Simulated {
        bytes: cache.bytes,
        ways: cache.ways,
    });
    let environment = [("OMP_NUM_THREADS", "1")];
    let (profile, _) =
        callgrind(&words, &environment, Some((first, last)), LIMIT).expect("a profile");
    let predictions = predict(&scanned, &beginnings);
    let mut compared = Vec::new();
    for body in bodies(&scanned) {
        let Some(predicted) = predictions.get(&body.address) else {
            continue;
        };
        for (index, access) in body.accesses.iter().enumerate() {
            let counts = profile.at(program, access.at);
            let (Some(_), Some(predicted)) = (access.inside, predicted.get(&index)) else {
                continue;
            };
            if counts.executed == 0 || counts.accesses() == 0 {
                continue;
            }
            let executed = counts.executed as f64;
            compared.push(Compared {
                region: body.symbol.clone().unwrap_or_default(),
                at: access.at,
                line: access.place.as_ref().map_or(0, |place| place.line),
                name: access.base.name.clone().unwrap_or_default(),
                class: access.class.clone(),
                executed,
                predicted: *predicted,
                counted: [
                    counts.first_misses() as f64 / executed,
                    counts.last_misses() as f64 / executed,
                ],
            });
        }
    }
    compared
}

fn bodies(scanned: &Regions) -> impl Iterator<Item = &Body> {
    scanned
        .regions
        .iter()
        .filter_map(|region| region.body.as_ref())
}

/// Predicted misses per execution, for each cache, by number of the access.
type Predicted = BTreeMap<usize, [f64; 2]>;

/// Mean predictions over all that was noted, by address of the body. Regions follow each
/// other as noted: whether a region's data were touched before, and what was touched since
/// the region's last execution, is known from the nests of the others.
fn predict(scanned: &Regions, beginnings: &Beginnings) -> BTreeMap<u64, Predicted> {
    let mut sums: BTreeMap<u64, BTreeMap<usize, ([f64; 2], f64)>> = BTreeMap::new();
    let nests: Vec<(&Body, Nest)> = beginnings
        .begun
        .iter()
        .filter_map(|begun| {
            let body = bodies(scanned).find(|body| body.address == begun.function)?;
            Some((body, Nest::of(body, begun, &Assume::default())))
        })
        .collect();
    // Serial code before the first region has touched all data once.
    let mut before: Vec<(f64, f64)> = Vec::new();
    let data: f64 = joined(nests.iter().flat_map(|(_, nest)| nest.extents()))
        .map(|(low, high)| high - low)
        .sum();
    let mut touched = 0.0;
    let mut last: BTreeMap<u64, f64> = BTreeMap::new();
    for (body, nest) in &nests {
        let extents = nest.extents();
        let repetition = Repetition {
            times: 1.0,
            warm: true,
            elsewhere: match last.get(&body.address) {
                _ if shared(&extents, &before) < 0.5 => data,
                Some(then) => touched - then,
                None => 0.0,
            },
        };
        let traffic = Traffic::of(nest, &CACHES, repetition);
        touched += traffic.footprint_bytes;
        last.insert(body.address, touched);
        before.extend(extents);
        let sums = sums.entry(body.address).or_default();
        for (index, access) in traffic.accesses.iter().enumerate() {
            let (sum, weight) = sums.entry(index).or_default();
            *weight += access.executions;
            for (sum, misses) in sum.iter_mut().zip(&access.misses) {
                *sum += misses.expected * access.executions;
            }
        }
    }
    // What is thought never to run is thought to miss nothing.
    let mean = |(sum, weight): ([f64; 2], f64)| sum.map(|sum| sum / weight.max(1e-9));
    sums.into_iter()
        .map(|(address, sums)| {
            let means = sums.into_iter().map(|(index, sum)| (index, mean(sum)));
            (address, means.collect())
        })
        .collect()
}

/// Extents joined where they overlap.
fn joined(extents: impl Iterator<Item = (f64, f64)>) -> impl Iterator<Item = (f64, f64)> {
    let mut all: Vec<(f64, f64)> = extents.collect();
    all.sort_by(|one, two| one.0.total_cmp(&two.0));
    let mut end = f64::NEG_INFINITY;
    all.into_iter().map(move |(low, high)| {
        let from = low.max(end);
        end = end.max(high);
        (from, from.max(high))
    })
}

/// The share of `extents` that overlaps with any of `before`.
fn shared(extents: &[(f64, f64)], before: &[(f64, f64)]) -> f64 {
    let all: f64 = extents.iter().map(|(low, high)| high - low + 1.0).sum();
    let of_one = |(low, high): &(f64, f64)| {
        let overlaps = before
            .iter()
            .map(|(from, to)| high.min(*to) - low.max(*from) + 1.0);
        overlaps.fold(0.0, f64::max)
    };
    extents.iter().map(of_one).sum::<f64>() / all.max(1.0)
}

/// Shares of right predictions: of all accesses, and by executions; for each cache.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Shares {
    pub(crate) accesses: usize,
    right: [usize; 2],
    executed: f64,
    right_executed: [f64; 2],
}

impl Shares {
    pub(crate) fn add(&mut self, compared: &[Compared]) {
        for one in compared {
            self.accesses += 1;
            self.executed += one.executed;
            for level in 0..2 {
                if one.right(level) {
                    self.right[level] += 1;
                    self.right_executed[level] += one.executed;
                }
            }
        }
    }

    pub(crate) fn unweighted(&self, level: usize) -> f64 {
        self.right[level] as f64 / (self.accesses as f64).max(1.0)
    }

    pub(crate) fn weighted(&self, level: usize) -> f64 {
        self.right_executed[level] / self.executed.max(1.0)
    }
}
