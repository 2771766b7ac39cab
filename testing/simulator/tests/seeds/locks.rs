//! Programs whose threads take locks again and again, which their nodes keep: whoever else takes
//! one sees what was written under it. `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds than the
//! everyday ones.

use fathomp_protocols::LockId;
use fathomp_protocols::home::{Config, Home};
use fathomp_simulator::{Address, Program, Step, random_home, random_network, run_seed, seeds};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

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
        steps.push(Step::Acquire(LockId(lock.into())));
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

#[test]
fn home_based() {
    for seed in seeds(3000) {
        let mut random = StdRng::seed_from_u64(seed);
        let program = program(&mut random);
        let network = random_network(&mut random);
        let config = Config {
            keeps_locks: true,
            ..random_home(&program, &mut random)
        };
        let home = |me, config: &Config| Home::new(me, config.clone()).unwrap();
        run_seed(seed, &program, network, &config, home, &mut random);
    }
}
