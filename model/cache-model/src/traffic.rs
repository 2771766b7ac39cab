//! What a nest costs: misses of its accesses, bytes from and to memory, work.

use crate::cache::Cache;
use crate::footprint::{Window, touched};
use crate::misses::{Between, Judge, Repetition};
use crate::nest::{Nest, NestWork};
use crate::tree::{ROOT, Tree};
use serde::Serialize;

/// What one execution of a nest costs.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Its accesses, in the order of the nest.
    pub accesses: Vec<AccessTraffic>,
    /// For each cache asked about.
    pub levels: Vec<LevelTraffic>,
    /// Bytes of the lines that it touches, each counted once.
    pub footprint_bytes: f64,
    /// What it computes: instructions of each kind, all iterations together.
    pub work: Vec<NestWork>,
    /// Floating-point operations: additions, products, quotients, roots; two for a fused
    /// product and sum; elements, not instructions, counted.
    pub flops: f64,
    /// Instructions.
    pub instructions: f64,
    /// Sentences about what is assumed.
    pub assumed: Vec<String>,
}

/// What one access costs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AccessTraffic {
    /// Address of the instruction.
    pub at: u64,
    /// Executions in one execution of the nest.
    pub executions: f64,
    /// Misses per execution in each cache asked about.
    pub misses: Vec<Between>,
    /// Whether the processor has to wait for each of its misses: addresses that are read
    /// from memory, or more than a page apart, which no prefetcher follows.
    pub far: bool,
}

/// What passes between a cache and the next larger one, or memory.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LevelTraffic {
    /// The cache.
    pub cache: Cache,
    /// Misses.
    pub misses: Between,
    /// Of these, misses that the processor has to wait for.
    pub far_misses: Between,
    /// Bytes read into it: lines of misses, those of writes included.
    pub bytes_in: Between,
    /// Bytes written back from it, and past it.
    pub bytes_out: Between,
}

/// Bytes of a page.
const PAGE: f64 = 4096.0;

impl Traffic {
    /// Of one execution of `nest`, for any caches; translation buffers are caches whose
    /// lines are pages.
    #[must_use]
    pub fn of(nest: &Nest, caches: &[Cache], repetition: Repetition) -> Self {
        let tree = Tree::of(nest);
        let iterations = nest.iterations();
        let times = |inside: Option<usize>| {
            inside.map_or(1.0, |inside| iterations.get(inside).copied().unwrap_or(0.0))
        };
        let mut accesses: Vec<AccessTraffic> = tree
            .accesses
            .iter()
            .map(|access| AccessTraffic {
                at: access.access.at,
                executions: times(access.access.inside) * access.access.probability,
                misses: vec![Between::default(); caches.len()],
                far: !access.affine || access.strides.last().is_some_and(|one| one.abs() > PAGE),
            })
            .collect();
        let mut levels: Vec<LevelTraffic> = caches.iter().map(|cache| empty(*cache)).collect();
        let mut lines: Vec<u32> = caches.iter().map(|cache| cache.line).collect();
        lines.sort_unstable();
        lines.dedup();
        for line in lines {
            let which: Vec<usize> = (0..caches.len())
                .filter(|index| caches[*index].line == line)
                .collect();
            let alike: Vec<Cache> = which.iter().map(|index| caches[*index]).collect();
            let mut judge = Judge::new(&tree, &alike, repetition);
            for (number, access) in tree.accesses.iter().enumerate() {
                let costs = &mut accesses[number];
                if access.access.non_temporal {
                    let bytes = Between::exactly(costs.executions * access.access.bytes);
                    which
                        .iter()
                        .for_each(|level| levels[*level].bytes_out.add(bytes));
                    continue;
                }
                for (level, found) in which.iter().zip(judge.access(number)) {
                    costs.misses[*level] = found.misses;
                    let level = &mut levels[*level];
                    let misses = found.misses.times(costs.executions);
                    level.misses.add(misses);
                    if costs.far {
                        level.far_misses.add(misses);
                    }
                    level.bytes_in.add(misses.times(f64::from(line)));
                    let out = found.dirtied.times(costs.executions * f64::from(line));
                    level.bytes_out.add(out);
                }
            }
        }
        let whole = Window::Iterations(ROOT, 1.0);
        let pieces = touched(&tree, &whole, &tree.middle(), 64.0);
        let work: Vec<NestWork> = nest
            .work
            .iter()
            .map(|one| NestWork {
                instructions: one.instructions * times(one.inside),
                ..*one
            })
            .collect();
        Self {
            accesses,
            levels,
            footprint_bytes: pieces.iter().map(|piece| piece.lines * 64.0).sum(),
            flops: work.iter().map(flops).sum(),
            work,
            instructions: nest
                .instructions
                .iter()
                .map(|(inside, count)| count * times(*inside))
                .sum(),
            assumed: nest.assumed.clone(),
        }
    }

    /// Bytes between the last of the caches asked about and memory, both ways.
    #[must_use]
    pub fn bytes_memory(&self) -> Between {
        let mut sum = Between::default();
        if let Some(last) = self.levels.last() {
            sum.add(last.bytes_in);
            sum.add(last.bytes_out);
        }
        sum
    }
}

fn empty(cache: Cache) -> LevelTraffic {
    LevelTraffic {
        cache,
        misses: Between::default(),
        far_misses: Between::default(),
        bytes_in: Between::default(),
        bytes_out: Between::default(),
    }
}

fn flops(work: &NestWork) -> f64 {
    use fathomp_regions::{ArithmeticKind, ElementKind};
    if work.element == ElementKind::Integer {
        return 0.0;
    }
    let each = match work.kind {
        ArithmeticKind::Add
        | ArithmeticKind::Multiply
        | ArithmeticKind::Divide
        | ArithmeticKind::SquareRoot => 1.0,
        ArithmeticKind::FusedMultiplyAdd => 2.0,
        ArithmeticKind::Compare
        | ArithmeticKind::Logic
        | ArithmeticKind::Convert
        | ArithmeticKind::Shuffle => 0.0,
    };
    each * f64::from(work.lanes) * work.instructions
}
