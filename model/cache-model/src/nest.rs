//! Loop nests in numbers.

use fathomp_regions::{ArithmeticKind, Direction, ElementKind};
use serde::Serialize;

/// Loops and the accesses in them, with numbers in place of expressions: one execution of
/// a region's body by one thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Nest {
    /// Loops; a loop stands behind the one that encloses it.
    pub loops: Vec<NestLoop>,
    /// Accesses.
    pub accesses: Vec<NestAccess>,
    /// What it computes.
    pub work: Vec<NestWork>,
    /// Instructions of each loop (`None`: outside loops), once per iteration.
    pub instructions: Vec<(Option<usize>, f64)>,
    /// Sentences about what is assumed, because it is not known.
    pub assumed: Vec<String>,
}

/// A loop.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct NestLoop {
    /// The loop around it.
    pub parent: Option<usize>,
    /// Address of its first block: where it stands among its parent's loops and accesses.
    pub at: u64,
    /// Iterations each time that it is entered.
    pub trips: Trips,
}

/// Iterations of a loop: a number, plus for each of `slopes` that many per iteration of an
/// enclosing loop (triangular nests); never below 0.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Trips {
    /// Iterations in the first iteration of all enclosing loops.
    pub constant: f64,
    /// Enclosing loop, and what each of its iterations adds.
    pub slopes: Vec<(usize, f64)>,
}

/// More iterations than any loop makes: numbers beyond are cut to it.
pub(crate) const TRIPS_MAX: f64 = 1e15;
/// Larger than any distance in an address space.
const BYTES_MAX: f64 = (1_u64 << 48) as f64;

impl Trips {
    /// The same number of iterations always.
    #[must_use]
    pub fn of(constant: f64) -> Self {
        Self {
            constant,
            slopes: Vec::new(),
        }
    }

    /// Iterations, when `iterations[l]` is the current iteration of loop `l`.
    #[must_use]
    pub fn at(&self, iterations: &[f64]) -> f64 {
        let sum = self
            .slopes
            .iter()
            .fold(self.constant, |sum, (over, slope)| {
                sum + slope * iterations.get(*over).copied().unwrap_or(0.0)
            });
        if sum.is_nan() {
            return 0.0;
        }
        sum.clamp(0.0, TRIPS_MAX)
    }
}

/// An access.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NestAccess {
    /// Address of the instruction: also its place in the order of the loop.
    pub at: u64,
    /// The innermost loop around it.
    pub inside: Option<usize>,
    /// Direction.
    pub direction: Direction,
    /// Bytes.
    pub bytes: f64,
    /// Number of the array: accesses of different arrays never touch the same line.
    pub base: u32,
    /// Where it goes.
    pub pattern: Pattern,
    /// How often it is executed per iteration of its loop.
    pub probability: f64,
    /// Whether it writes past the caches.
    pub non_temporal: bool,
}

/// Where an access goes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Pattern {
    /// `start` plus each loop's iteration times its bytes.
    Affine {
        /// First address; for one array relative to any origin.
        start: f64,
        /// Loop and bytes.
        strides: Vec<(usize, f64)>,
    },
    /// Anywhere in so many bytes, each element as likely; `None` if the size is not known.
    Random(Option<f64>),
}

/// Instructions that compute.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NestWork {
    /// The innermost loop around them.
    pub inside: Option<usize>,
    /// What they do.
    pub kind: ArithmeticKind,
    /// On what.
    pub element: ElementKind,
    /// Elements an instruction.
    pub lanes: u32,
    /// Instructions per iteration.
    pub instructions: f64,
}

impl Nest {
    /// Iterations of each loop in one execution of the nest, all entries together.
    #[must_use]
    pub fn iterations(&self) -> Vec<f64> {
        let mut found = Vec::with_capacity(self.loops.len());
        let mut at = vec![0.0; self.loops.len()];
        for index in 0..self.loops.len() {
            let mut path = vec![index];
            while let Some(parent) = self.parent_of(path[path.len() - 1]) {
                path.push(parent);
            }
            path.reverse();
            found.push(self.count(&path, &mut at).min(TRIPS_MAX));
        }
        found
    }

    /// Lowest and highest address that each affine access in a loop reaches, both included,
    /// joined where they overlap, in order: which memory two nests share. Of use only where
    /// addresses are known.
    #[must_use]
    pub fn extents(&self) -> Vec<(f64, f64)> {
        let mut most: Vec<f64> = Vec::with_capacity(self.loops.len());
        for one in &self.loops {
            // The largest trips of a loop are at an end of those around.
            let ends = one.trips.slopes.iter().map(|(over, slope)| {
                slope.max(0.0) * most.get(*over).map_or(0.0, |trips| (trips - 1.0).max(0.0))
            });
            let trips = one.trips.constant + ends.sum::<f64>();
            most.push(if trips.is_nan() {
                0.0
            } else {
                trips.clamp(0.0, TRIPS_MAX)
            });
        }
        let mut all: Vec<(f64, f64)> = Vec::new();
        for access in self
            .accesses
            .iter()
            .filter(|access| access.inside.is_some())
        {
            let Some((start, strides)) = access.affine() else {
                continue;
            };
            let (mut low, mut high) = (start, start + (bounded(access.bytes).max(1.0) - 1.0));
            for (over, bytes) in strides {
                let trips = most.get(*over).copied().unwrap_or(0.0);
                let reach = bounded(bounded(*bytes) * (trips - 1.0).max(0.0));
                low += reach.min(0.0);
                high += reach.max(0.0);
            }
            all.push((low, high));
        }
        all.sort_by(|one, two| one.0.total_cmp(&two.0));
        let mut joined: Vec<(f64, f64)> = Vec::new();
        for (low, high) in all {
            match joined.last_mut() {
                Some(last) if low <= last.1 + 1.0 => last.1 = last.1.max(high),
                _ => joined.push((low, high)),
            }
        }
        joined
    }

    /// The parent, if it stands before the loop as it must.
    pub(crate) fn parent_of(&self, index: usize) -> Option<usize> {
        self.loops
            .get(index)?
            .parent
            .filter(|parent| *parent < index)
    }

    /// Iterations of the last loop of `path` in all iterations of those before.
    fn count(&self, path: &[usize], at: &mut [f64]) -> f64 {
        let Some((first, rest)) = path.split_first() else {
            return 1.0;
        };
        let trips = self.loops[*first].trips.at(at);
        let depends = rest.iter().any(|inner| {
            let slopes = &self.loops[*inner].trips.slopes;
            slopes.iter().any(|(over, _)| over == first)
        });
        if !depends {
            at[*first] = 0.0;
            return trips * self.count(rest, at);
        }
        // What depends on the iteration is added up over evenly spread ones.
        let steps = trips.ceil().clamp(1.0, STEPS_MAX);
        let mut sum = 0.0;
        for step in 0..steps as u32 {
            at[*first] = ((f64::from(step) + 0.5) / steps * trips - 0.5).max(0.0);
            sum += self.count(rest, at);
        }
        sum / steps * trips
    }
}

const STEPS_MAX: f64 = 32.0;

impl NestAccess {
    /// First address and bytes per iteration of the loop, of an affine access.
    pub(crate) fn affine(&self) -> Option<(f64, &[(usize, f64)])> {
        match &self.pattern {
            Pattern::Affine { start, strides } => Some((bounded(*start), strides)),
            Pattern::Random(_) => None,
        }
    }
}

/// A distance or address as a number that arithmetic cannot lead astray.
pub(crate) fn bounded(bytes: f64) -> f64 {
    if bytes.is_nan() {
        return 0.0;
    }
    bytes.clamp(-BYTES_MAX, BYTES_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Given<'a> = (Option<usize>, f64, &'a [(usize, f64)]);

    fn nest(loops: &[Given<'_>]) -> Nest {
        Nest {
            loops: loops
                .iter()
                .map(|(parent, constant, slopes)| NestLoop {
                    parent: *parent,
                    at: 0,
                    trips: Trips {
                        constant: *constant,
                        slopes: slopes.to_vec(),
                    },
                })
                .collect(),
            ..Nest::default()
        }
    }

    #[test]
    fn triangles_and_pyramids_are_added_up() {
        let triangle = nest(&[(None, 100.0, &[]), (Some(0), 100.0, &[(0, -1.0)])]);
        let counts = triangle.iterations();
        assert_eq!(counts[0], 100.0);
        assert!((counts[1] - 5050.0).abs() < 60.0, "{}", counts[1]);
        let pyramid = nest(&[
            (None, 50.0, &[]),
            (Some(0), 0.0, &[(0, 1.0)]),
            (Some(1), 0.0, &[(0, 1.0)]),
        ]);
        let exact: f64 = (0..50).map(|i| f64::from(i * i)).sum();
        let found = pyramid.iterations()[2];
        assert!((found / exact - 1.0).abs() < 0.02, "{found} {exact}");
    }

    #[test]
    fn senseless_numbers_stay_numbers() {
        let odd = nest(&[
            (Some(7), f64::INFINITY, &[]),
            (Some(0), f64::NAN, &[(5, 1e300)]),
            (Some(0), -5.0, &[(0, f64::NEG_INFINITY)]),
        ]);
        assert!(odd.iterations().iter().all(|count| count.is_finite()));
    }
}
