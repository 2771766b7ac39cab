//! The protocols are right whatever is guessed: random programs with guesses from
//! habits, with none, and with answers drawn at random.

use fathomp_dsm::guess::Guessing;
use fathomp_dsm::home::{self, Home};
use fathomp_dsm::homeless::{self, Homeless};
use fathomp_sim::{
    Program, Shape, Step, add_own_threads, add_own_threads_anywhere, add_updates, random_habits,
    random_home, random_homeless, random_network, random_program, run_seed, seeds,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// Random programs of every kind that there is.
fn any_program(random: &mut StdRng) -> Program {
    let alone = random.random();
    let shape = Shape {
        nodes_max: 4,
        threads_max: 3,
        pages_max: [1, 6, 16][random.random_range(0..3)],
        phases_max: 5,
        steps_max: if alone { 40 } else { 12 },
        locks_max: 3,
        alone,
    };
    let mut program = random_program(shape, random);
    match random.random_range(0..4) {
        0 => add_own_threads(&mut program, random),
        1 => add_own_threads_anywhere(&mut program, random),
        2 => add_updates(&mut program, random),
        _ => {}
    }
    if random.random() {
        // Nobody relies on loads that acquire, so that memory can be shared.
        for step in program.threads.iter_mut().flatten().flatten() {
            if let Step::Await(byte, value) | Step::Spin(byte, value) = *step {
                *step = Step::Wait(byte, value);
            }
        }
    }
    program
}

/// Runs programs of all seeds over both protocols.
fn all_seeds(guessing: impl Fn(&mut StdRng) -> Guessing) {
    for seed in seeds(1500) {
        run_home(seed, &guessing);
        run_homeless(seed, &guessing);
    }
}

fn run_home(seed: u64, guessing: impl Fn(&mut StdRng) -> Guessing) {
    let mut random = StdRng::seed_from_u64(seed);
    let program = any_program(&mut random);
    let network = random_network(&mut random);
    let config = home::Config {
        guessing: guessing(&mut random),
        ..random_home(&program, network, &mut random)
    };
    let loads_acquire = program.relies_on_loads() || random.random_ratio(1, 4);
    let config = home::Config {
        loads_acquire,
        ..config
    };
    let home = |me, config: &home::Config| Home::new(me, config.clone()).unwrap();
    run_seed(seed, &program, network, &config, home, &mut random);
}

fn run_homeless(seed: u64, guessing: impl Fn(&mut StdRng) -> Guessing) {
    let mut random = StdRng::seed_from_u64(seed);
    let program = any_program(&mut random);
    let network = random_network(&mut random);
    let config = homeless::Config {
        guessing: guessing(&mut random),
        sole_writers: random.random(),
        ..random_homeless(&program, &mut random)
    };
    let homeless = |me, config: &homeless::Config| Homeless::new(me, config.clone()).unwrap();
    run_seed(seed, &program, network, &config, homeless, &mut random);
}

#[test]
fn programs_are_right_with_guesses_from_habits() {
    all_seeds(random_habits);
}

#[test]
fn programs_are_right_without_guesses() {
    all_seeds(|_| Guessing::Nothing);
}

#[test]
fn programs_are_right_with_any_guesses() {
    all_seeds(|random| Guessing::Random(random.random()));
}
