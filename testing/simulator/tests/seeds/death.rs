//! A node that stops at any moment: the others see nothing that was not written,
//! until they stand still or end. The same cluster without the death ends, so
//! whoever stands still does so because of it; ending all nodes is up to the
//! runtime.

use fathomp_protocols::Protocol;
use fathomp_protocols::home::Home;
use fathomp_protocols::homeless::Homeless;
use fathomp_simulator::{
    Blob, Death, Program, Shape, random_home, random_homeless, random_network, random_program,
    run_seed, seeds,
};
use fathomp_types::NodeId;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use std::fmt::Debug;

const SHAPE: Shape = Shape {
    nodes_max: 4,
    threads_max: 2,
    pages_max: 4,
    phases_max: 4,
    steps_max: 10,
    locks_max: 2,
    alone: false,
};

fn dies<C: Debug, P: Protocol<Blob>>(
    config: impl Fn(&Program, &mut StdRng) -> C,
    protocol: impl Fn(NodeId, &C) -> P,
) {
    let (mut stood, mut ended) = (0, 0);
    for seed in seeds(1500) {
        let mut random = StdRng::seed_from_u64(seed);
        let program = random_program(SHAPE, &mut random);
        // A thread that waits for a plain variable does not stand still.
        if program.relies_on_loads() || program.nodes() == 1 {
            continue;
        }
        let mut network = random_network(&mut random);
        let config = config(&program, &mut random);
        // Until the death both runs are the same.
        let run = |network| {
            let mut random = StdRng::seed_from_u64(!seed);
            run_seed(seed, &program, network, &config, &protocol, &mut random)
        };
        let alive = run(network);
        network.death = Some(Death {
            node: NodeId(random.random_range(0..program.nodes())),
            after: random.random_range(0..alive.events),
        });
        match run(network).standing.is_empty() {
            true => ended += 1,
            false => stood += 1,
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
    let config = |program: &Program, random: &mut StdRng| random_homeless(program, random);
    dies(config, |me, config| {
        Homeless::new(me, config.clone()).unwrap()
    });
}
