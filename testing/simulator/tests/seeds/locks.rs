//! Programs whose threads take locks again and again, which their nodes keep: whoever else takes
//! one sees what was written under it. `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds than the
//! everyday ones.

use fathomp_protocols::home::Home;
use fathomp_protocols::{LockId, Protocol};
use fathomp_shm_window::Sizes;
use fathomp_simulator::{
    Address, Blob, Network, Program, Step, random_home, random_network, roomy, run_seed, seeds,
};
use fathomp_types::NodeId;
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::fmt::Debug;

/// Locks, each of which guards three bytes.
const LOCKS: u32 = 3;

/// What a thread does under a lock, once or several times.
fn sections(pages: u32, random: &mut impl Rng) -> Vec<Step> {
    let lock = random.random_range(0..LOCKS);
    let byte = |at: u32| Address::at((lock + at) % pages, 10 + 3 * lock + at);
    let mut steps = Vec::new();
    for _ in 0..random.random_range(1..6) {
        let inside = (0..random.random_range(1..4)).map(|_| {
            let byte = byte(random.random_range(0..3));
            match random.random() {
                true => Step::Write(byte, random.random()),
                false => Step::Read(byte),
            }
        });
        let mut inside: Vec<_> = inside.collect();
        inside.push(Step::Release(LockId(lock.into())));
        steps.push(match random.random_ratio(1, 4) {
            true => Step::TryAcquire(LockId(lock.into()), inside.len()),
            false => Step::Acquire(LockId(lock.into())),
        });
        steps.extend(inside);
    }
    steps
}

/// Threads of nodes that meet at barriers, and perhaps some that do not.
fn program(random: &mut impl Rng) -> Program {
    let (pages, phases) = (random.random_range(1..=4), random.random_range(1..=3));
    let nodes = random.random_range(2..=4);
    let mut own = 0;
    let mut thread = |meets: bool, random: &mut StdRng| {
        own += 1;
        let mut steps = Vec::new();
        for _ in 0..phases {
            for _ in 0..random.random_range(0..4) {
                match random.random_range(0..6) {
                    0 => steps.push(Step::Flush),
                    1 => {
                        let byte = Address::at(random.random_range(0..pages), 100 + own);
                        steps.push(Step::Write(byte, random.random()));
                        steps.push(Step::Read(byte));
                    }
                    2 => {
                        let byte = Address::at(random.random_range(0..pages), 50);
                        steps.push(Step::Observe(byte));
                    }
                    _ => steps.extend(sections(pages, random)),
                }
            }
            if meets {
                steps.push(Step::Barrier);
            }
        }
        steps
    };
    let mut random = StdRng::seed_from_u64(random.random());
    let threads = (0..nodes).map(|_| {
        let mut threads = vec![thread(true, &mut random)];
        if random.random_ratio(1, 3) {
            threads.push(thread(random.random_ratio(2, 3), &mut random));
        }
        threads
    });
    let threads = threads.collect();
    Program { pages, threads }
}

/// Runs programs over clusters of any kind whose nodes reach each other's memory.
fn all_seeds<C: Debug, P: Protocol<Blob>>(
    config: impl Fn(&Program, Network, &mut StdRng) -> C,
    protocol: impl Fn(NodeId, &C) -> P,
) {
    let mut kept = 0;
    for seed in seeds(3000) {
        let mut random = StdRng::seed_from_u64(seed);
        let program = program(&mut random);
        let mut network = random_network(&mut random);
        let sizes = [roomy(), Sizes::small()][random.random_range(0..2)];
        (network.shared, network.keeps_locks) = (Some(sizes), true);
        let config = config(&program, network, &mut random);
        let outcome = run_seed(seed, &program, network, &config, &protocol, &mut random);
        kept += outcome.locks_kept;
    }
    println!("{kept} locks were taken by nodes that kept them");
    assert!(kept > 0);
}

#[test]
fn home_based() {
    all_seeds(random_home, |me, config| {
        Home::new(me, config.clone()).unwrap()
    });
}
