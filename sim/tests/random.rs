//! Random programs without data races give every read what was last written,
//! whatever the network does. `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds
//! than the everyday ones.

use fathomp_base::{NodeId, PageId};
use fathomp_dsm::Protection;
use fathomp_dsm::home::{Config, Home, Placement};
use fathomp_sim::{Network, Program, Shape, random_program, run};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::ops::Range;

const SHAPE: Shape = Shape {
    nodes_max: 4,
    threads_max: 3,
    pages_max: 6,
    phases_max: 5,
    steps_max: 12,
    locks_max: 3,
};

fn seeds() -> Range<u64> {
    let asked = std::env::var("FATHOMP_SIM_SEEDS").unwrap_or_default();
    match asked.split_once("..") {
        Some((first, end)) => first.parse().unwrap()..end.parse().unwrap(),
        None => 0..3000,
    }
}

fn network(random: &mut impl Rng) -> Network {
    Network {
        delay_max: [1, 4, 60][random.random_range(0..3)],
        slowness_max: [1, 20][random.random_range(0..2)],
        events_max: 2_000_000,
    }
}

fn home_config(program: &Program, random: &mut impl Rng) -> Config {
    Config {
        nodes: u16::try_from(program.threads.len()).unwrap(),
        pages: program.pages,
        placement: [Placement::Block, Placement::Cyclic(1)][random.random_range(0..2)],
        migrate: random.random(),
        fan_in: random.random_range(1..=3),
    }
}

/// What threads may do at the beginning.
fn at_home(config: Config) -> impl Fn(NodeId, PageId) -> Protection {
    move |node, page| {
        let protocol: Home<()> = Home::new(node, config);
        if protocol.home_of(page) == node {
            Protection::ReadWrite
        } else {
            Protection::None
        }
    }
}

#[test]
fn home_based() {
    for seed in seeds() {
        let mut random = StdRng::seed_from_u64(seed);
        let program = random_program(SHAPE, &mut random);
        let config = home_config(&program, &mut random);
        let network = network(&mut random);
        let outcome = run(
            &program,
            |me| Home::new(me, config),
            at_home(config),
            network,
            &mut random,
        );
        if let Err(failure) = outcome {
            panic!("seed {seed}: {failure}\n{config:?}\n{network:?}\n{program:?}");
        }
    }
}
