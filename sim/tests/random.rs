//! Random programs without data races give every read what was last written,
//! whatever the network does. `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds
//! than the everyday ones;
//! `FATHOMP_SIM_TRACE=1` tells what happened before a failure.

use fathomp_base::NodeId;
use fathomp_dsm::home::{Config, Home};
use fathomp_dsm::homeless::{self, Homeless};
use fathomp_dsm::{Area, Placement, Protocol};
use fathomp_sim::{Blob, Network, Program, Shape, random_program, run};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::fmt::Debug;
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
        silent_writes: random.random(),
        trace: std::env::var_os("FATHOMP_SIM_TRACE").is_some(),
        events_max: 2_000_000,
    }
}

/// Areas of all kinds that together have `pages` pages.
fn areas(nodes: u16, mut pages: u32, random: &mut impl Rng) -> Vec<Area> {
    let mut areas = Vec::new();
    while pages > 0 {
        let node = NodeId(random.random_range(0..nodes));
        let area = Area {
            pages: random.random_range(1..=pages),
            home: match random.random_range(0..4) {
                0 => Placement::Block,
                1 => Placement::Cyclic(random.random_range(1..3)),
                2 => Placement::At(node),
                _ => Placement::Pinned(node),
            },
        };
        pages -= area.pages;
        areas.push(area);
    }
    areas
}

fn home_config(program: &Program, network: Network, random: &mut impl Rng) -> Config {
    let nodes = u16::try_from(program.threads.len()).unwrap();
    Config {
        nodes,
        areas: areas(nodes, program.pages, random),
        migrate: random.random(),
        prefetch: random.random_range(0..5),
        silent_writes: network.silent_writes,
        loads_acquire: true,
        fan_in: random.random_range(1..=3),
    }
}

fn homeless_config(program: &Program, random: &mut impl Rng) -> homeless::Config {
    let nodes = u16::try_from(program.threads.len()).unwrap();
    homeless::Config {
        nodes,
        areas: areas(nodes, program.pages, random),
        diffs_max: random.random_range(0..20),
        fan_in: random.random_range(1..=3),
    }
}

/// Runs the random programs of all seeds.
fn all_seeds<C: Debug, P: Protocol<Blob>>(
    config: impl Fn(&Program, Network, &mut StdRng) -> C,
    protocol: impl Fn(NodeId, &C) -> P,
) {
    for seed in seeds() {
        let mut random = StdRng::seed_from_u64(seed);
        let program = random_program(SHAPE, &mut random);
        let network = network(&mut random);
        let config = config(&program, network, &mut random);
        let run = run(&program, |me| protocol(me, &config), network, &mut random);
        if let Err((failure, trace)) = run {
            let trace = trace.join("\n");
            panic!("seed {seed}: {failure}\n{config:?}\n{network:?}\n{program:?}\n{trace}");
        }
    }
}

#[test]
fn home_based() {
    all_seeds(home_config, |me, config| {
        Home::new(me, config.clone()).unwrap()
    });
}

#[test]
fn homeless() {
    let config =
        |program: &Program, _: Network, random: &mut StdRng| homeless_config(program, random);
    all_seeds(config, |me, config| {
        Homeless::new(me, config.clone()).unwrap()
    });
}
