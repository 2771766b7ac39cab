//! A node that stops at any moment: the others see nothing that was not written,
//! until they stand still or end. The same cluster without the death ends, so
//! whoever stands still does so because of it; ending all nodes is up to the
//! runtime.

use fathomp_base::NodeId;
use fathomp_dsm::Protocol;
use fathomp_dsm::home::Home;
use fathomp_dsm::homeless::Homeless;
use fathomp_sim::{
    Blob, Death, Network, Program, Shape, random_home, random_homeless, random_network,
    random_program, run,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::ops::Range;

const SHAPE: Shape = Shape {
    nodes_max: 4,
    threads_max: 2,
    pages_max: 4,
    phases_max: 4,
    steps_max: 10,
    locks_max: 2,
    alone: false,
};

fn seeds() -> Range<u64> {
    let asked = std::env::var("FATHOMP_SIM_SEEDS").unwrap_or_default();
    match asked.split_once("..") {
        Some((first, end)) => first.parse().unwrap()..end.parse().unwrap(),
        None => 0..1500,
    }
}

fn dies<C, P: Protocol<Blob>>(
    config: impl Fn(&Program, Network, &mut StdRng) -> C,
    protocol: impl Fn(NodeId, &C) -> P,
) {
    let (mut stood, mut ended) = (0, 0);
    for seed in seeds() {
        let mut random = StdRng::seed_from_u64(seed);
        let program = random_program(SHAPE, &mut random);
        // Whoever waits for a plain variable does not stand still.
        if program.relies_on_loads() || program.nodes() == 1 {
            continue;
        }
        let mut network = random_network(&mut random);
        let config = config(&program, network, &mut random);
        // Until the death both runs are the same.
        let chance = || StdRng::seed_from_u64(!seed);
        let alive = run(&program, |me| protocol(me, &config), network, &mut chance());
        let alive = alive.unwrap_or_else(|(failure, _)| panic!("seed {seed}: {failure}"));
        network.death = Some(Death {
            node: NodeId(random.random_range(0..program.nodes())),
            after: random.random_range(0..alive.events),
        });
        let run = run(&program, |me| protocol(me, &config), network, &mut chance());
        match run {
            Ok(outcome) if outcome.standing.is_empty() => ended += 1,
            Ok(_) => stood += 1,
            Err((failure, _)) => panic!("seed {seed}, {:?}: {failure}", network.death),
        }
    }
    println!("the others stood still {stood} times and ended {ended} times");
    assert!(stood > 0 && ended > 0);
}

#[test]
fn home_based() {
    dies(random_home, |me, config| {
        Home::new(me, config.clone()).unwrap()
    });
}

#[test]
fn homeless() {
    let config = random_homeless;
    dies(config, |me, config| {
        Homeless::new(me, config.clone()).unwrap()
    });
}
