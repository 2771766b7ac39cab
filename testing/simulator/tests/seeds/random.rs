//! Random programs without data races give every read what was last written,
//! whatever the network does. `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds
//! than the everyday ones;
//! `FATHOMP_SIM_TRACE=1` tells what happened before a failure.

use fathomp_protocols::Protocol;
use fathomp_protocols::heuristics::{Heuristics, Limits, PredictorSet};
use fathomp_protocols::home::{self, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_simulator::{
    Address, Blob, Network, Program, Shape, Step, add_own_threads, add_own_threads_anywhere,
    add_updates, random_heuristics, random_home, random_homeless, random_network, random_program,
    run_seed, seeds,
};
use fathomp_types::NodeId;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::fmt::Debug;

const SHAPE: Shape = Shape {
    nodes_max: 4,
    threads_max: 3,
    pages_max: 6,
    phases_max: 5,
    steps_max: 12,
    locks_max: 3,
    alone: false,
};

/// Programs of each kind, everyday.
const SEEDS: u64 = 2000;

/// Where there are threads that take no part in barriers, and synchronise.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OwnThreads {
    Nowhere,
    AtNodeZero,
    Anywhere,
}

impl OwnThreads {
    fn add(self, program: &mut Program, random: &mut StdRng) {
        match self {
            Self::Nowhere => {}
            Self::AtNodeZero => add_own_threads(program, random),
            Self::Anywhere => add_own_threads_anywhere(program, random),
        }
    }
}

const ALL: [OwnThreads; 3] = [
    OwnThreads::Nowhere,
    OwnThreads::AtNodeZero,
    OwnThreads::Anywhere,
];

/// Runs the random programs of all seeds.
fn all_seeds<C: Debug, P: Protocol<Blob>>(
    own_threads: OwnThreads,
    config: impl Fn(&Program, &mut StdRng) -> C,
    protocol: impl Fn(NodeId, &C) -> P,
) {
    all_seeds_of((SHAPE, Program::clone), own_threads, config, protocol);
}

/// The same of programs of some shape, or of what is made of them.
fn all_seeds_of<C: Debug, P: Protocol<Blob>>(
    (shape, other): (Shape, impl Fn(&Program) -> Program),
    own_threads: OwnThreads,
    config: impl Fn(&Program, &mut StdRng) -> C,
    protocol: impl Fn(NodeId, &C) -> P,
) {
    for seed in seeds(SEEDS) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut program = random_program(shape, &mut random);
        own_threads.add(&mut program, &mut random);
        let program = other(&program);
        let network = random_network(&mut random);
        let config = config(&program, &mut random);
        run_seed(seed, &program, network, &config, &protocol, &mut random);
    }
}

fn home(me: NodeId, config: &home::Config) -> Home<Blob> {
    Home::new(me, config.clone()).unwrap()
}

fn homeless(me: NodeId, config: &homeless::Config) -> Homeless<Blob> {
    Homeless::new(me, config.clone()).unwrap()
}

fn any_homeless(program: &Program, random: &mut StdRng) -> homeless::Config {
    random_homeless(program, random)
}

#[test]
fn home_based_any() {
    for own_threads in ALL {
        all_seeds(own_threads, random_home, home);
    }
}

/// Room in a short log: for little more than an interval of each node, or for one.
const SHORT: [fn(&Program) -> usize; 2] = [|program| program.threads.len() + 1, |_| 1];

/// Everybody is told intervals soon, also the sequencer's node, which may have written
/// without a fault before, and whose threads may write while it is at a barrier.
#[test]
fn home_based_with_a_short_log() {
    for (own_threads, log_max) in all_with_short_logs() {
        let config = |program: &Program, random: &mut StdRng| home::Config {
            migrate: false,
            heuristics: Heuristics::History(Limits {
                prefetch_pages_max: random.random_range(1..6),
                lease_after_intervals: random.random_range(0..3),
                ..Limits::default()
            }),
            loads_acquire: program.relies_on_loads(),
            log_max: log_max(program),
            ..random_home(program, random)
        };
        all_seeds(own_threads, config, home);
    }
}

#[test]
fn homeless_with_a_short_log() {
    for (own_threads, log_max) in all_with_short_logs() {
        let config = |program: &Program, random: &mut StdRng| homeless::Config {
            loads_acquire: program.relies_on_loads(),
            log_max: log_max(program),
            ..random_homeless(program, random)
        };
        all_seeds(own_threads, config, homeless);
    }
}

/// All places of own threads with all short logs.
fn all_with_short_logs() -> impl Iterator<Item = (OwnThreads, fn(&Program) -> usize)> {
    ALL.into_iter()
        .flat_map(|own_threads| SHORT.map(|log_max| (own_threads, log_max)))
}

/// Threads update bytes.
#[test]
fn home_based_with_updates() {
    let mut updates = [0; 2];
    for (own_threads, log_max) in [
        (OwnThreads::Nowhere, None),
        (OwnThreads::AtNodeZero, None),
        (OwnThreads::Anywhere, None),
        (OwnThreads::Nowhere, Some(SHORT[1])),
    ] {
        for seed in seeds(SEEDS) {
            let mut random = StdRng::seed_from_u64(seed);
            let mut program = loop {
                let program = random_program(SHAPE, &mut random);
                if !program.relies_on_loads() {
                    break program;
                }
            };
            own_threads.add(&mut program, &mut random);
            add_updates(&mut program, &mut random);
            let network = random_network(&mut random);
            let mut config = random_home(&program, &mut random);
            config.loads_acquire = random.random_ratio(1, 8);
            if let Some(log_max) = log_max {
                config.log_max = log_max(&program);
            }
            let outcome = run_seed(seed, &program, network, &config, home, &mut random);
            updates[0] += outcome.changes;
            updates[1] += outcome.updates;
        }
    }
    println!("{updates:?} updates at home and in copies");
    assert!(updates[0] > 0 && updates[1] > 0);
}

#[test]
fn homeless_with_updates() {
    for seed in seeds(SEEDS) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut program = random_program(SHAPE, &mut random);
        add_updates(&mut program, &mut random);
        let network = random_network(&mut random);
        let config = random_homeless(&program, &mut random);
        run_seed(seed, &program, network, &config, homeless, &mut random);
    }
}

/// As races are looked for.
#[test]
fn home_based_watching_all() {
    all_seeds(OwnThreads::Nowhere, random_home, |me, config| {
        Home::new(me, config.clone()).unwrap().watching_all()
    });
}

#[test]
fn homeless_any() {
    for own_threads in ALL {
        all_seeds(own_threads, any_homeless, homeless);
    }
}

/// Most pages have one writer, and another one after the next barrier.
const ONE_WRITER: Shape = Shape {
    phases_max: 9,
    alone: true,
    ..SHAPE
};

/// Who waits for what another thread writes does so in loops that tell by their branches.
fn in_loops(program: &Program) -> Program {
    each_thread(program, |_, steps| {
        let steps = steps.iter().map(|step| match *step {
            Step::Await(byte, value) | Step::Spin(byte, value) => Step::Wait(byte, value),
            step => step,
        });
        steps.collect()
    })
}

/// Pages move, several are taken at once, and some are expected to be written again.
#[test]
fn home_based_where_pages_have_one_writer() {
    let config = |program: &Program, random: &mut StdRng| home::Config {
        loads_acquire: false,
        migrate: true,
        heuristics: Heuristics::History(Limits {
            prefetch_pages_max: random.random_range(2..=6),
            lease_after_intervals: random.random_range(0..3),
            ..Limits::default()
        }),
        ..random_home(program, random)
    };
    for own_threads in ALL {
        all_seeds_of((ONE_WRITER, in_loops), own_threads, config, home);
    }
}

/// The same for longer, with more synchronisation in between than barriers.
const WRITTEN_AGAIN: Shape = Shape {
    phases_max: 3,
    steps_max: 50,
    alone: true,
    ..SHAPE
};

/// Who writes a page again and again leases it, and has to give it back.
#[test]
fn home_based_where_pages_are_leased() {
    let config = |program: &Program, random: &mut StdRng| home::Config {
        loads_acquire: false,
        heuristics: Heuristics::History(Limits {
            prefetch_pages_max: random.random_range(1..6),
            lease_after_intervals: 1,
            left_out: match random.random() {
                true => PredictorSet::OF_WRITES,
                false => PredictorSet::default(),
            },
            ..Limits::default()
        }),
        ..random_home(program, random)
    };
    for own_threads in ALL {
        all_seeds_of((WRITTEN_AGAIN, in_loops), own_threads, config, home);
    }
}

#[test]
fn homeless_where_pages_have_one_writer() {
    let config = |program: &Program, random: &mut StdRng| homeless::Config {
        loads_acquire: false,
        sole_writers: true,
        heuristics: random_heuristics(random),
        ..random_homeless(program, random)
    };
    for own_threads in ALL {
        all_seeds_of((ONE_WRITER, in_loops), own_threads, config, homeless);
    }
}

/// What is written often is what was there before the last write: no diff tells of what was in
/// between, so nobody may have kept that.
#[test]
fn homeless_with_bytes_that_change_back() {
    let few_values = |program: &Program| {
        each_thread(program, |_, steps| {
            let steps = steps.iter().map(|step| match *step {
                Step::Write(byte, value) => Step::Write(byte, value & 1),
                step => step,
            });
            steps.collect()
        })
    };
    for own_threads in ALL {
        all_seeds_of((SHAPE, few_values), own_threads, any_homeless, homeless);
    }
}

/// The same program with each thread's steps in other words.
fn each_thread(program: &Program, other: impl Fn(usize, &[Step]) -> Vec<Step>) -> Program {
    let threads = program.threads.iter().map(|threads| {
        let threads = threads.iter().enumerate();
        threads
            .map(|(number, steps)| other(number, steps))
            .collect()
    });
    Program {
        pages: program.pages,
        threads: threads.collect(),
    }
}

/// Whoever has a lock first, the last byte written is the same.
fn deterministic(program: &Program) -> Program {
    each_thread(program, |_, steps| {
        let (mut phase, mut locked) = (0_u8, false);
        let steps = steps.iter().map(|step| {
            match step {
                Step::Barrier => phase += 1,
                Step::Acquire(_) | Step::TryAcquire(..) => locked = true,
                Step::Release(_) => locked = false,
                _ => {}
            }
            match *step {
                Step::TryAcquire(lock, _) => Step::Acquire(lock),
                Step::Write(byte, _) if locked => Step::Write(byte, 100 + phase),
                step => step,
            }
        });
        steps.collect()
    })
}

/// After each barrier all nodes look at all pages, so that none is without a
/// valid copy.
fn with_looks(program: &Program) -> Program {
    each_thread(program, |thread, steps| {
        let looks = (0..program.pages).map(|page| Step::Observe(Address::at(page, 0)));
        let looks: Vec<_> = looks.filter(|_| thread == 0).collect();
        let steps = steps.iter().flat_map(|step| match step {
            Step::Barrier => [&[Step::Barrier], &looks[..], &[Step::Barrier]].concat(),
            other => vec![*other],
        });
        steps.collect()
    })
}

/// The same program over both protocols, each on a cluster of its own.
#[test]
fn both_protocols_leave_the_same_bytes() {
    let mut compared = 0;
    for seed in seeds(SEEDS) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut program = deterministic(&random_program(SHAPE, &mut random));
        if random.random() {
            program = with_looks(&program);
        }
        let mut network = || Network {
            images: true,
            ..random_network(&mut random)
        };
        let networks = [network(), network()];
        let config = random_home(&program, &mut random);
        let home = run_seed(seed, &program, networks[0], &config, home, &mut random);
        let config = random_homeless(&program, &mut random);
        let homeless = run_seed(seed, &program, networks[1], &config, homeless, &mut random);
        let images = [home.images, homeless.images];
        assert_eq!(images[0].len(), images[1].len(), "seed {seed}");
        for (barrier, (home, homeless)) in images[0].iter().zip(&images[1]).enumerate() {
            for (page, bytes) in home {
                let Some(other) = homeless.get(page) else {
                    continue;
                };
                assert!(
                    bytes == other,
                    "seed {seed}: page {page}, barrier {barrier}"
                );
                compared += 1;
            }
        }
    }
    println!("{compared} pages compared");
    assert!(compared > 0);
}
