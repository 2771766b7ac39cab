//! Misses of each access, from samples of its executions: when was the line touched last,
//! which lines were touched since, and is the line still there.

use crate::cache::{Cache, Piece};
use crate::footprint::{Window, distinct, touched};
use crate::reuse::{Sources, last_touch};
use crate::tree::{ROOT, Tree};
use std::collections::BTreeMap;

/// How the executions of a nest follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetition {
    /// Executions over the same data, one after the other.
    pub times: f64,
    /// Whether the data were touched shortly before the first as well, by something that
    /// touches as much as the nest does, such as their initialisation.
    pub warm: bool,
    /// Bytes that others touch between two executions.
    pub elsewhere: f64,
}

impl Repetition {
    /// One execution on data that no cache holds.
    pub const COLD: Self = Self {
        times: 1.0,
        warm: false,
        elsewhere: 0.0,
    };
    /// One execution after something that touched the same data.
    pub const WARM: Self = Self {
        times: 1.0,
        warm: true,
        elsewhere: 0.0,
    };

    /// The share of executions with one before.
    pub(crate) fn preceded(self) -> f64 {
        if self.warm {
            1.0
        } else if self.times >= 1.0 {
            1.0 - 1.0 / self.times
        } else {
            0.0
        }
    }
}

/// A number with the bounds that it lies in.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize)]
pub struct Between {
    /// At least.
    pub low: f64,
    /// What is expected.
    pub expected: f64,
    /// At most.
    pub high: f64,
}

impl Between {
    /// A number that is known.
    #[must_use]
    pub fn exactly(value: f64) -> Self {
        Self {
            low: value,
            expected: value,
            high: value,
        }
    }

    /// So many times this.
    #[must_use]
    pub fn times(self, factor: f64) -> Self {
        Self {
            low: self.low * factor,
            expected: self.expected * factor,
            high: self.high * factor,
        }
    }

    /// Adds another up.
    pub fn add(&mut self, other: Self) {
        self.low += other.low;
        self.expected += other.expected;
        self.high += other.high;
    }
}

/// Lines that one access brings in, and lines that it makes dirty, per execution.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PerExecution {
    pub(crate) misses: Between,
    pub(crate) dirtied: Between,
}

/// Samples of each combination of first and later iterations.
const SAMPLES: usize = 24;
const SAMPLES_MIN: usize = 4;
/// Loops, from the innermost outwards, whose first iteration is looked at by itself.
const STRATA_MAX: usize = 4;
/// Executions in a row of which the line is looked at.
const ROW_MAX: f64 = 64.0;
/// Searches for one nest, more or less: what is above is done with fewer samples.
const SEARCHES_MAX: usize = 2_000_000;
/// Accesses to the same array among which the last touch of a line is looked for.
const MATES_MAX: usize = 48;

pub(crate) struct Judge<'a> {
    pub(crate) tree: &'a Tree,
    /// Of the same size of line.
    pub(crate) caches: &'a [Cache],
    pub(crate) repetition: Repetition,
    line: f64,
    known: BTreeMap<Vec<i64>, Vec<Piece>>,
    /// Accesses of each array.
    arrays: BTreeMap<u32, Vec<usize>>,
    /// Pairs of accesses that are compared.
    pairs: usize,
}

impl<'a> Judge<'a> {
    pub(crate) fn new(tree: &'a Tree, caches: &'a [Cache], repetition: Repetition) -> Self {
        let mut arrays: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for (index, access) in tree.accesses.iter().enumerate() {
            if access.affine {
                arrays.entry(access.access.base).or_default().push(index);
            }
        }
        let line = caches
            .first()
            .map_or(64.0, |cache| f64::from(cache.line.max(1)));
        Self {
            tree,
            caches,
            repetition,
            line,
            known: BTreeMap::new(),
            pairs: arrays
                .values()
                .map(|list| list.len() * list.len().min(MATES_MAX))
                .sum(),
            arrays,
        }
    }

    /// Accesses that may touch the lines of `own`: of many, those that start nearest.
    fn mates(&self, own: usize) -> Vec<usize> {
        let access = &self.tree.accesses[own];
        let mut mates = self
            .arrays
            .get(&access.access.base)
            .cloned()
            .unwrap_or_default();
        if mates.len() > MATES_MAX {
            let distance = |one: usize| {
                let other = &self.tree.accesses[one];
                let elsewhere = other.path != access.path || other.strides != access.strides;
                (elsewhere, (other.start - access.start).abs())
            };
            mates.sort_by(|one, two| {
                let (one, two) = (distance(*one), distance(*two));
                one.0.cmp(&two.0).then(one.1.total_cmp(&two.1))
            });
            mates.truncate(MATES_MAX);
        }
        mates
    }

    /// For each cache.
    pub(crate) fn access(&mut self, own: usize) -> Vec<PerExecution> {
        let access = &self.tree.accesses[own];
        if access.affine {
            self.affine(own)
        } else {
            self.random(own)
        }
    }

    fn affine(&mut self, own: usize) -> Vec<PerExecution> {
        let access = &self.tree.accesses[own];
        let mates = self.mates(own);
        let loops = access.path.len() - 1;
        let mut strata = loops.min(STRATA_MAX);
        while strata > 1 && self.pairs << strata > SEARCHES_MAX / SAMPLES_MIN {
            strata -= 1;
        }
        let samples = SEARCHES_MAX / (self.pairs.max(1) << strata);
        let samples = samples.clamp(SAMPLES_MIN, SAMPLES) as u32;
        let writes = access.access.direction != fathomp_regions::Direction::Read;
        // The loop that goes along lines.
        let row_from_inside = (0..loops).find(|from_inside| {
            let stride = access.strides[loops - from_inside].abs();
            stride > 0.0 && stride < self.line
        });
        let mut sums = vec![(0.0, 0.0); self.caches.len()];
        let mut weight = 0.0;
        for stratum in 0..1_u32 << strata {
            for sample in 0..samples {
                // Loops inside a triangle may be empty here and not elsewhere.
                let Some((at, share)) = self.draw(own, stratum, strata, sample) else {
                    continue;
                };
                let share = share / f64::from(samples);
                weight += share;
                let row =
                    row_from_inside.filter(|depth| *depth >= strata || stratum >> depth & 1 == 1);
                let found = self.row(own, at.clone(), row, &mates, Sources::All);
                for (sum, misses) in sums.iter_mut().zip(found) {
                    sum.0 += misses * share;
                }
                if writes {
                    let found = self.row(own, at, row, &mates, Sources::Writes);
                    for (sum, dirtied) in sums.iter_mut().zip(found) {
                        sum.1 += dirtied * share;
                    }
                }
            }
        }
        sums.into_iter()
            .map(|(misses, dirtied)| PerExecution {
                misses: Between::exactly(if weight > 0.0 { misses / weight } else { 0.0 }),
                dirtied: Between::exactly(if weight > 0.0 { dirtied / weight } else { 0.0 }),
            })
            .collect()
    }

    /// Iterations of a sample, and how many executions it stands for. Bit `d` of `stratum`
    /// says whether the `d`-th loop from inside is in its first iteration (0) or later (1).
    fn draw(
        &self,
        own: usize,
        stratum: u32,
        strata: usize,
        sample: u32,
    ) -> Option<(Vec<f64>, f64)> {
        let path = &self.tree.accesses[own].path;
        let mut at = self.tree.middle();
        at[ROOT] = 1.0;
        let mut share = 1.0;
        for (depth, over) in path.iter().enumerate().skip(1) {
            let trips = self.tree.loops[*over].trips.at(&at);
            let from_inside = path.len() - 1 - depth;
            let place = spread(sample, depth);
            let (iteration, of) = if from_inside >= strata {
                ((place * trips).floor(), trips)
            } else if stratum >> from_inside & 1 == 0 {
                (0.0, trips.min(1.0))
            } else {
                let rest = (trips - 1.0).max(0.0);
                (1.0 + (place * rest).floor(), rest)
            };
            if of <= 0.0 {
                return None;
            }
            at[*over] = iteration.min((trips.ceil() - 1.0).max(0.0));
            share *= of;
        }
        Some((at, share))
    }

    /// Lines brought in per execution: over as many iterations, from `at` on, of the loop
    /// `row` from inside as lie in one line, so that each place in a line counts alike.
    fn row(
        &mut self,
        own: usize,
        mut at: Vec<f64>,
        row: Option<usize>,
        mates: &[usize],
        sources: Sources,
    ) -> Vec<f64> {
        let tree = self.tree;
        let access = &tree.accesses[own];
        let innermost = access.path[access.path.len() - 1];
        let stride = access.strides[access.strides.len() - 1];
        let along = row.map(|from_inside| access.path.len() - 1 - from_inside);
        let (over, trips, steps) = match along {
            Some(depth) => {
                let over = access.path[depth];
                let trips = tree.loops[over].trips.at(&at).ceil();
                let steps = (self.line / access.strides[depth].abs()).ceil();
                (over, trips, steps.min(ROW_MAX).min(trips - 1.0).max(1.0))
            }
            None => (ROOT, 1.0, 1.0),
        };
        let begin = at[over];
        let mut sums = vec![0.0; self.caches.len()];
        for step in 0..steps as u32 {
            if over != ROOT {
                // Around the end, to the second iteration.
                at[over] = 1.0 + (begin - 1.0 + f64::from(step)) % (trips - 1.0).max(1.0);
            }
            let address = access.start
                + access
                    .path
                    .iter()
                    .zip(&access.strides)
                    .skip(1)
                    .map(|(over, stride)| at[*over] * stride)
                    .sum::<f64>();
            let last = ((address + access.access.bytes - 1.0) / self.line).floor();
            let mut line = (address / self.line).floor();
            // A wide access touches several lines; at most a few are looked at.
            let mut lines = 0;
            while line <= last && lines < 4 {
                let before = address - stride;
                let stays = innermost != ROOT
                    && at[innermost] >= 1.0
                    && access.access.probability > 0.5
                    && (before / self.line).floor() <= line
                    && line <= ((before + access.access.bytes - 1.0) / self.line).floor();
                if !stays {
                    let low = line * self.line;
                    let missed = self.missed(own, &at, low, mates, sources);
                    for (sum, missed) in sums.iter_mut().zip(missed) {
                        *sum += missed;
                    }
                }
                line += 1.0;
                lines += 1;
            }
        }
        sums.iter_mut().for_each(|sum| *sum /= steps);
        sums
    }

    /// The probability that each cache no longer holds a line.
    fn missed(
        &mut self,
        own: usize,
        at: &[f64],
        low: f64,
        mates: &[usize],
        sources: Sources,
    ) -> Vec<f64> {
        let found = last_touch(self.tree, own, at, (low, self.line), sources, mates);
        let Some(touch) = found else {
            return vec![1.0; self.caches.len()];
        };
        let exists = if touch.earlier_execution {
            self.repetition.preceded()
        } else {
            1.0
        };
        let base = self.tree.accesses[own].access.base;
        let (caches, line) = (self.caches, self.line);
        let elsewhere = self.repetition.elsewhere / line;
        let mut pieces = self.touched(&touch.since, at);
        let mut with_others: Vec<Piece>;
        if touch.earlier_execution && elsewhere > 0.0 {
            with_others = pieces.to_vec();
            with_others.push(Piece {
                base: OTHERS,
                lines: elsewhere,
                run: elsewhere,
                stride: 0.0,
            });
            pieces = &with_others;
        }
        caches
            .iter()
            .map(|cache| 1.0 - exists * cache.survival(pieces, base))
            .collect()
    }

    /// [`touched`], remembered for windows that are about as large.
    fn touched(&mut self, window: &Window, at: &[f64]) -> &[Piece] {
        let coarse = |value: f64| ((value.max(1e-3)).log2() * 16.0).round() as i64;
        let over = window.over();
        let mut key = vec![over as i64];
        match window {
            Window::Iterations(_, iterations) => key.push(coarse(*iterations)),
            Window::Within(_, portions) => {
                key.push(i64::MIN);
                key.extend(
                    portions
                        .iter()
                        .map(|portion| (portion * 32.0).round() as i64),
                );
            }
        }
        if self.tree.loops[over].sloped {
            let trips = self.tree.loops.iter().enumerate().skip(over + 1);
            key.extend(
                trips
                    .filter(|(_, inner)| !inner.trips.slopes.is_empty())
                    .map(|(_, inner)| coarse(inner.trips.at(at))),
            );
        }
        let (tree, line) = (self.tree, self.line);
        // What accesses share depends on where these loops are.
        let path = tree.loops[over].accesses.first();
        let path = path.map_or(&[][..], |access| &tree.accesses[*access].path);
        let inwards = path.iter().position(|one| *one == over).unwrap_or(0);
        for outer in path.iter().take(inwards + 1) {
            if tree.loops[*outer].shifts {
                let trips = tree.loops[*outer].trips.at(at).max(1.0);
                key.push((at[*outer] / trips * POSITIONS).round() as i64);
            }
        }
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known
            .entry(key)
            .or_insert_with(|| touched(tree, window, at, line))
    }

    /// An access to any element of a range: how long until the cache is full of what is
    /// touched, and how likely the element was among the last so many (H. Che, Y. Tung,
    /// Z. Wang, "Hierarchical Web Caching Systems", 2002).
    fn random(&mut self, own: usize) -> Vec<PerExecution> {
        let access = &self.tree.accesses[own];
        let bytes = match access.access.pattern {
            crate::nest::Pattern::Random(range) => range,
            crate::nest::Pattern::Affine { .. } => None,
        };
        let writes = access.access.direction != fathomp_regions::Direction::Read;
        let Some(bytes) = bytes else {
            let anything = Between {
                low: 0.0,
                expected: 0.5,
                high: 1.0,
            };
            let one = PerExecution {
                misses: anything,
                dirtied: if writes { anything } else { Between::default() },
            };
            return vec![one; self.caches.len()];
        };
        let all = (bytes / self.line).max(1.0);
        let mut found = Vec::with_capacity(self.caches.len());
        for cache in self.caches {
            let draws = self.draws_until_full(own, cache);
            let missed = match draws {
                Some(draws) => (-draws / all).exp(),
                None => {
                    // All of it stays: each line comes once, in the first execution.
                    let executions = self.executions_of(own, ROOT).max(1.0);
                    (1.0 - self.repetition.preceded()) * distinct(executions, all) / executions
                }
            };
            let missed = Between::exactly(missed.clamp(0.0, 1.0));
            found.push(PerExecution {
                misses: missed,
                dirtied: if writes { missed } else { Between::default() },
            });
        }
        found
    }

    /// Executions of `own` in one iteration of loop `over`.
    fn executions_of(&self, own: usize, over: usize) -> f64 {
        let access = &self.tree.accesses[own];
        let middle = self.tree.middle();
        let depth = access.path.iter().position(|one| *one == over);
        access.path[depth.map_or(0, |depth| depth + 1)..]
            .iter()
            .map(|inner| self.tree.loops[*inner].trips.at(&middle))
            .product::<f64>()
            * access.access.probability
    }

    /// Executions of accesses to the array of `own` until as many lines were touched as the
    /// cache holds; `None` if the whole nest touches fewer.
    fn draws_until_full(&mut self, own: usize, cache: &Cache) -> Option<f64> {
        let tree = self.tree;
        let middle = tree.middle();
        let path = &tree.accesses[own].path;
        let base = tree.accesses[own].access.base;
        let mates: Vec<usize> = (0..tree.accesses.len())
            .filter(|one| !tree.accesses[*one].affine && tree.accesses[*one].access.base == base)
            .collect();
        let capacity = cache.lines();
        for over in path.iter().rev() {
            let trips = if *over == ROOT {
                1.0
            } else {
                tree.loops[*over].trips.at(&middle)
            };
            let lines = |judge: &mut Self, iterations: f64| -> f64 {
                let window = Window::Iterations(*over, iterations);
                judge
                    .touched(&window, &middle)
                    .iter()
                    .map(|piece| piece.lines)
                    .sum()
            };
            if lines(self, trips.max(1.0)) <= capacity {
                continue;
            }
            let (mut few, mut many) = (0.0, trips.max(1.0));
            for _ in 0..24 {
                let middle = (few + many) / 2.0;
                if lines(self, middle) <= capacity {
                    few = middle;
                } else {
                    many = middle;
                }
            }
            let each: f64 = mates
                .iter()
                .filter(|one| tree.accesses[**one].path.contains(over))
                .map(|one| self.executions_of(*one, *over))
                .sum();
            return Some(few * each);
        }
        None
    }
}

/// Places in the run of a loop for which footprints are kept apart.
const POSITIONS: f64 = 16.0;
/// Number of what is touched by others: no array has it.
const OTHERS: u32 = u32::MAX;
/// Footprints remembered at a time.
const KNOWN_MAX: usize = 4096;

/// Points that fill the unit cube evenly in any order (additive recurrence with powers of a
/// root; M. Roberts, "The Unreasonable Effectiveness of Quasirandom Sequences", 2018).
fn spread(sample: u32, depth: usize) -> f64 {
    /// The root of x^7 = x + 1.
    const ROOT_OF_SIX_DIMENSIONS: f64 = 1.112_775_684_278_705_5;
    let power = (depth % 6 + 1) as i32;
    let step = ROOT_OF_SIX_DIMENSIONS.powi(-power);
    (0.5 + step * f64::from(sample + 1)).fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_spread_evenly() {
        for depth in 1..6 {
            let mean: f64 = (0..64).map(|one| spread(one, depth)).sum::<f64>() / 64.0;
            assert!((mean - 0.5).abs() < 0.06, "{depth}: {mean}");
        }
    }
}
