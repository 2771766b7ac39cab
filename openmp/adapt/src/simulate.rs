//! Programs that are arithmetic, run with and without adapting.
//!
//! Both runs meet the same noise, so that what differs is what the decisions cost.

use super::{Account, Region};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

/// How the time of a region depends on threads.
#[derive(Clone, Debug)]
struct Curve {
    /// Time of the work with one thread, ns.
    work: f64,
    /// Part of it that is not divided.
    serial: f64,
    /// Threads beyond which memory gives no more.
    saturates: f64,
    /// Time for each thread but the first, ns.
    overhead: f64,
    /// Lengths that executions have in turn, relative to each other.
    sizes: Vec<f64>,
}

impl Curve {
    fn time(&self, threads: u32, execution: usize) -> f64 {
        let p = f64::from(threads);
        let size = self.sizes[execution % self.sizes.len()];
        let divided = (1.0 - self.serial) / p.min(self.saturates);
        self.work * size * (self.serial + divided) + self.overhead * (p - 1.0)
    }
}

/// What disturbs.
#[derive(Clone, Debug)]
struct Noise {
    /// Standard deviation of the logarithm of each time.
    spread: f64,
    /// Executions in a thousand that something interrupts, for up to so many ns.
    interrupted: u32,
    interruption: f64,
}

#[derive(Clone, Debug)]
struct Program {
    regions: Vec<Curve>,
    noise: Noise,
    /// Serial work between regions, ns.
    gap: f64,
    rounds: usize,
    threads: u32,
    seed: u64,
}

/// A number in 0..1 that depends on nothing but its arguments.
fn chance(seed: u64, index: u64) -> f64 {
    let mut x = seed ^ index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2 {
        x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x ^= x >> 27;
    }
    (x >> 11) as f64 / (1_u64 << 53) as f64
}

impl Program {
    fn disturbed(&self, time: f64, event: u64) -> f64 {
        // Sum of uniform numbers: about normal.
        let normal: f64 = (0..6).map(|i| chance(self.seed, event * 8 + i) - 0.5).sum();
        let hit = chance(self.seed, event * 8 + 6) * 1000.0 < f64::from(self.noise.interrupted);
        let stop = if hit {
            self.noise.interruption * chance(self.seed, event * 8 + 7)
        } else {
            0.0
        };
        time * (normal * self.noise.spread * 1.41).exp() + stop
    }

    /// Time of the program; with `adapt` as the regions choose. Also the teams at the end.
    fn run(&self, adapt: bool) -> (f64, Vec<u32>) {
        let mut now = 1e6;
        let mut account = Account::new(0);
        let mut regions: Vec<Region> = (1..)
            .zip(&self.regions)
            .map(|(seed, _)| Region::new(self.threads, self.threads, seed * 77))
            .collect();
        let mut event = 0;
        for round in 0..self.rounds {
            for (curve, region) in self.regions.iter().zip(&mut regions) {
                event += 1;
                now += self.gap;
                let unwatched = if adapt {
                    region.unwatched()
                } else {
                    Some(self.threads)
                };
                let threads = unwatched.unwrap_or_else(|| region.choose(now as u64, &account));
                let time = self.disturbed(curve.time(threads, round), event);
                now += time;
                if unwatched.is_none() {
                    region.ended(threads, time as u64, &mut account);
                }
            }
        }
        (now, regions.iter().map(Region::threads).collect())
    }

    fn ratio(&self) -> f64 {
        self.run(true).0 / self.run(false).0
    }
}

fn curves() -> impl Strategy<Value = Curve> {
    let sizes = prop_oneof![
        3 => Just(vec![1.0]),
        1 => Just(vec![1.0, 8.0]),
        1 => Just(vec![64.0, 8.0, 1.0, 0.2, 0.2, 1.0, 8.0, 64.0]),
        1 => prop::collection::vec(0.1_f64..20.0, 2..12),
    ];
    (
        2.5_f64..7.0,
        0.0_f64..1.0,
        1.0_f64..70.0,
        1.0_f64..4.0,
        sizes,
    )
        .prop_map(|(work, serial, saturates, overhead, sizes)| Curve {
            work: 10_f64.powf(work),
            serial: serial * serial,
            saturates,
            overhead: 10_f64.powf(overhead),
            sizes,
        })
}

fn programs() -> impl Strategy<Value = Program> {
    let noise =
        (0.001_f64..0.3, 0_u32..30, 3.0_f64..7.0).prop_map(|(spread, interrupted, stop)| Noise {
            spread,
            interrupted,
            interruption: 10_f64.powf(stop),
        });
    let threads = prop_oneof![Just(2_u32), Just(4), Just(6), Just(64)];
    (
        prop::collection::vec(curves(), 1..5),
        noise,
        2.0_f64..5.0,
        10_usize..4000,
        threads,
        any::<u64>(),
    )
        .prop_map(|(regions, noise, gap, rounds, threads, seed)| Program {
            regions,
            noise,
            gap: 10_f64.powf(gap),
            rounds,
            threads,
            seed,
        })
}

/// Decisions rest on samples, so that some are wrong: of 16,000 programs one lost 3.02 %. Always
/// the same programs are tried here, for chance should not say whether a test passes.
#[test]
fn no_program_becomes_slower() {
    let mut runner = TestRunner::deterministic();
    let ratios: Vec<f64> = (0..1000)
        .map(|_| {
            let tree = programs().new_tree(&mut runner);
            let program = tree.expect("nothing is filtered").current();
            let ratio = program.ratio();
            assert!(ratio <= 1.03, "{ratio}: {program:?}");
            ratio
        })
        .collect();
    let slower = ratios.iter().filter(|ratio| **ratio > 1.01).count();
    assert!(slower <= 2, "{slower} of 1,000 programs lose over 1 %");
}

fn calm() -> Noise {
    Noise {
        spread: 0.05,
        interrupted: 3,
        interruption: 1e6,
    }
}

fn program(regions: Vec<Curve>, rounds: usize, threads: u32) -> Program {
    Program {
        regions,
        noise: calm(),
        gap: 1000.0,
        rounds,
        threads,
        seed: 5,
    }
}

fn short() -> Curve {
    Curve {
        work: 500.0,
        serial: 0.0,
        saturates: 64.0,
        overhead: 1000.0,
        sizes: vec![1.0],
    }
}

fn long() -> Curve {
    Curve {
        work: 1e6,
        ..short()
    }
}

#[test]
fn short_regions_get_one_thread_and_long_ones_all() {
    let program = program(vec![short(), long()], 4000, 8);
    let (_, teams) = program.run(true);
    assert_eq!(teams, [1, 8]);
    assert!(program.ratio() < 0.98, "{}", program.ratio());
}

#[test]
fn a_program_of_short_regions_gains() {
    let program = program(vec![short()], 20_000, 2);
    // All but what was spent until it was decided.
    let best = Program {
        threads: 1,
        ..program.clone()
    };
    assert!(program.run(true).0 < 1.01 * best.run(false).0);
}

#[test]
fn the_best_is_found_between_one_and_all() {
    let curve = Curve {
        work: 1e5,
        overhead: 2000.0,
        saturates: 8.0,
        ..short()
    };
    let (_, teams) = program(vec![curve], 20_000, 64).run(true);
    assert_eq!(teams, [8]);
}

#[test]
fn few_long_executions_are_not_tried_with() {
    let curve = Curve {
        work: 1e9,
        ..short()
    };
    let program = program(vec![curve], 20, 8);
    assert!((program.ratio() - 1.0).abs() < 1e-9);
}

#[test]
fn few_large_among_many_small_keep_the_team() {
    // As the levels of a multigrid method: the small ones gain from one thread, the
    // large one, which takes most of the time, does not.
    let curve = Curve {
        work: 2000.0,
        sizes: vec![1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 500.0],
        ..short()
    };
    let program = program(vec![curve], 20_000, 8);
    assert!(program.ratio() < 1.02, "{}", program.ratio());
    assert_eq!(program.run(true).1, [8]);
}

#[test]
fn a_region_that_grows_gets_its_threads_back() {
    let mut region = Region::new(8, 8, 3);
    let mut account = Account::new(0);
    let mut now = 1e6;
    let mut run = |region: &mut Region, curve: &Curve, executions: usize| {
        for execution in 0..executions {
            now += 1000.0;
            let threads = region.choose(now as u64, &account);
            let jitter = 1.0 + 0.02 * chance(9, execution as u64);
            let time = jitter * curve.time(threads, 0);
            now += time;
            region.ended(threads, time as u64, &mut account);
        }
        region.threads()
    };
    assert_eq!(run(&mut region, &short(), 5000), 1);
    assert_eq!(run(&mut region, &long(), 3000), 8);
}
