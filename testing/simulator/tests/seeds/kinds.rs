//! Random programs of every sort over each kind of protocol, so many of each kind:
//! `FATHOMP_SIM_SEEDS=0..100000 cargo test --release -p fathomp-simulator --test seeds kinds`. The
//! protocols are right whatever is predicted: also with answers drawn at random.

use fathomp_protocols::heuristics::Heuristics;
use fathomp_protocols::home::{self, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_simulator::{
    Program, Shape, Step, add_own_threads, add_own_threads_anywhere, add_updates, random_home,
    random_homeless, random_network, random_program, run_seed, seeds,
};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// A random program of any sort; if plain loads need not `acquire`, one that does not rely on
/// it.
fn any_program(acquire: Option<bool>, random: &mut StdRng) -> Program {
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
    if acquire.map_or_else(|| random.random(), |acquire| !acquire) {
        // Nobody relies on loads that acquire.
        for step in program.threads.iter_mut().flatten().flatten() {
            if let Step::Await(byte, value) | Step::Spin(byte, value) = *step {
                *step = Step::Wait(byte, value);
            }
        }
    }
    program
}

/// Runs programs of all seeds over the home-based protocol, as `kind` wants it. If plain
/// loads need not `acquire`, only programs that do not rely on it.
fn home_based(acquire: Option<bool>, kind: impl Fn(&mut home::Config, &mut StdRng)) {
    for seed in seeds(1500) {
        let mut random = StdRng::seed_from_u64(seed);
        let program = any_program(acquire, &mut random);
        let network = random_network(&mut random);
        let mut config = random_home(&program, &mut random);
        config.loads_acquire = acquire.unwrap_or(config.loads_acquire);
        kind(&mut config, &mut random);
        let home = |me, config: &home::Config| Home::new(me, config.clone()).unwrap();
        run_seed(seed, &program, network, &config, home, &mut random);
    }
}

/// The same over the homeless one.
fn homeless(acquire: Option<bool>, kind: impl Fn(&mut homeless::Config, &mut StdRng)) {
    for seed in seeds(1500) {
        let mut random = StdRng::seed_from_u64(seed);
        let program = any_program(acquire, &mut random);
        let network = random_network(&mut random);
        let mut config = random_homeless(&program, &mut random);
        config.loads_acquire = acquire.unwrap_or(config.loads_acquire);
        kind(&mut config, &mut random);
        let homeless = |me, config: &homeless::Config| Homeless::new(me, config.clone()).unwrap();
        run_seed(seed, &program, network, &config, homeless, &mut random);
    }
}

#[test]
fn home_based_where_loads_need_not_acquire() {
    home_based(Some(false), |_, _| ());
}

#[test]
fn home_based_where_changes_are_carried() {
    home_based(Some(false), |config, _| config.carries = true);
}

#[test]
fn home_based_with_any_predictions_where_changes_are_carried() {
    home_based(Some(false), |config, random| {
        config.carries = true;
        config.heuristics = Heuristics::Random(random.random());
    });
}

/// The same program with locks that threads wait for where they only tried to take them.
fn waiting_for_locks(program: &mut Program) {
    for step in program.threads.iter_mut().flatten().flatten() {
        if let Step::TryAcquire(lock, _) = *step {
            *step = Step::Acquire(lock);
        }
    }
}

/// Nodes keep locks, as predictors or chance want it.
#[test]
fn home_based_where_locks_stay() {
    for seed in seeds(3000) {
        let mut random = StdRng::seed_from_u64(seed);
        let mut program = any_program(Some(false), &mut random);
        waiting_for_locks(&mut program);
        let network = random_network(&mut random);
        let mut config = random_home(&program, &mut random);
        (config.loads_acquire, config.keeps_locks) = (false, true);
        if random.random() {
            config.heuristics = Heuristics::Random(random.random());
        }
        let home = |me, config: &home::Config| Home::new(me, config.clone()).unwrap();
        run_seed(seed, &program, network, &config, home, &mut random);
    }
}

#[test]
fn home_based_where_loads_acquire() {
    home_based(Some(true), |_, _| ());
}

#[test]
fn home_based_without_predictions() {
    home_based(None, |config, _| config.heuristics = Heuristics::Nothing);
}

#[test]
fn home_based_with_any_predictions() {
    home_based(None, |config, random| {
        config.heuristics = Heuristics::Random(random.random());
    });
}

/// As the published system works.
#[test]
fn home_based_plain() {
    home_based(None, |config, _| {
        let home::Config {
            nodes,
            areas,
            loads_acquire,
            ..
        } = config.clone();
        *config = home::Config {
            fan_in: config.fan_in,
            log_max: config.log_max,
            ..home::Config::usual(nodes, areas, true, loads_acquire)
        };
    });
}

#[test]
fn homeless_with_predictors() {
    homeless(Some(false), |_, _| ());
}

#[test]
fn homeless_where_loads_acquire() {
    homeless(Some(true), |_, _| ());
}

#[test]
fn homeless_with_any_predictions() {
    homeless(None, |config, random| {
        config.heuristics = Heuristics::Random(random.random());
    });
}

/// As the published system works.
#[test]
fn homeless_plain() {
    homeless(None, |config, _| {
        let homeless::Config {
            nodes,
            areas,
            loads_acquire,
            ..
        } = config.clone();
        *config = homeless::Config {
            diffs_max: config.diffs_max,
            fan_in: config.fan_in,
            log_max: config.log_max,
            ..homeless::Config::usual(nodes, areas, 1, true, loads_acquire)
        };
    });
}
