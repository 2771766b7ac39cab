//! Litmus programs: a few accesses whose outcomes tell memory models apart
//! (Alglave, Maranget, Tautschnig: "Herding Cats", TOPLAS 2014). Synchronised,
//! they show sequentially consistent outcomes only; where the synchronisation is
//! left out, the forbidden one does appear.
//! `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds than the everyday ones.

use fathomp_protocols::LockId;
use fathomp_protocols::home::{self, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_simulator::{
    Address, Outcome, Program, Step, random_home, random_homeless, random_network, run_seed, seeds,
};
use fathomp_types::{NodeId, ThreadId};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};
use std::collections::BTreeSet;

/// An access to a variable: one byte.
#[derive(Clone, Copy, Debug)]
enum Access {
    Write(usize, u8),
    Read(usize),
}
use Access::{Read, Write};

/// Threads that access up to two variables.
struct Litmus {
    name: &'static str,
    /// Of each thread its accesses, in stages: where barriers synchronise, they
    /// stand between stages.
    threads: &'static [&'static [&'static [Access]]],
    /// The outcome that gives the program its name: what was read, thread by
    /// thread.
    forbidden: &'static [u8],
    /// Two threads write the same variable: only locks and atomics order that.
    races: bool,
}

const X: usize = 0;
const Y: usize = 1;

/// Message passing: whoever sees the flag sees the data.
const MP: Litmus = Litmus {
    name: "MP",
    threads: &[
        &[&[Write(X, 1), Write(Y, 1)], &[]],
        &[&[], &[Read(Y), Read(X)]],
    ],
    forbidden: &[1, 0],
    races: false,
};

/// The same with two readers: the second may find what the first has fetched.
const MP2R: Litmus = Litmus {
    name: "MP2R",
    threads: &[
        &[&[Write(X, 1), Write(Y, 1)], &[]],
        &[&[], &[Read(Y), Read(X)]],
        &[&[], &[Read(Y), Read(X)]],
    ],
    forbidden: &[1, 1, 1, 0],
    races: false,
};

/// Store buffering: one of two writers sees the other's write.
const SB: Litmus = Litmus {
    name: "SB",
    threads: &[&[&[Write(X, 1)], &[Read(Y)]], &[&[Write(Y, 1)], &[Read(X)]]],
    forbidden: &[0, 0],
    races: false,
};

/// Load buffering: nobody sees what is written later.
const LB: Litmus = Litmus {
    name: "LB",
    threads: &[&[&[Read(X)], &[Write(Y, 1)]], &[&[Read(Y)], &[Write(X, 1)]]],
    forbidden: &[1, 1],
    races: false,
};

/// Write to read causality: whoever sees what was written after a read sees what
/// was read.
const WRC: Litmus = Litmus {
    name: "WRC",
    threads: &[
        &[&[Write(X, 1)], &[], &[]],
        &[&[], &[Read(X), Write(Y, 1)], &[]],
        &[&[], &[], &[Read(Y), Read(X)]],
    ],
    forbidden: &[1, 1, 0],
    races: false,
};

/// Independent reads of independent writes: all readers agree on an order.
const IRIW: Litmus = Litmus {
    name: "IRIW",
    threads: &[
        &[&[Write(X, 1)], &[]],
        &[&[Write(Y, 1)], &[]],
        &[&[], &[Read(X), Read(Y)]],
        &[&[], &[Read(Y), Read(X)]],
    ],
    forbidden: &[1, 0, 1, 0],
    races: false,
};

/// Coherence of one writer: nobody sees a variable go back.
const CORR: Litmus = Litmus {
    name: "CoRR",
    threads: &[&[&[Write(X, 1)], &[]], &[&[], &[Read(X), Read(X)]]],
    forbidden: &[1, 0],
    races: false,
};

/// Coherence of two writers: all agree which write was the last.
const CO2W: Litmus = Litmus {
    name: "CoRR2W",
    threads: &[
        &[&[Write(X, 1)], &[]],
        &[&[Write(X, 2)], &[]],
        &[&[], &[Read(X), Read(X)]],
        &[&[], &[Read(X), Read(X)]],
    ],
    forbidden: &[1, 2, 2, 1],
    races: true,
};

/// What stands between two accesses of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    Barrier,
    /// One lock for all.
    Lock,
    Flush,
    /// Each variable has a lock of its own, as sequentially consistent atomics
    /// have.
    Atomics,
    /// Nothing: atomic reads that acquire and writes that release are ordinary
    /// instructions.
    Plain,
}

/// A protocol and what it promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Under {
    Home,
    /// Home-based, where plain loads need not acquire.
    HomeRelaxed,
    Homeless,
    /// Homeless, where plain loads need not acquire.
    HomelessRelaxed,
}

const ALL: [Under; 4] = [
    Under::Home,
    Under::HomeRelaxed,
    Under::Homeless,
    Under::HomelessRelaxed,
];

const SEEDS: u64 = 400;

/// Everything that can be read if accesses are done one after the other.
fn sequential(litmus: &Litmus, by: By) -> BTreeSet<Vec<u8>> {
    // By stage, then by thread.
    let stages = (0..litmus.threads[0].len()).map(|stage| {
        let threads = litmus.threads.iter();
        threads.map(|thread| thread[stage].to_vec()).collect()
    });
    let mut stages: Vec<Vec<Vec<Access>>> = stages.collect();
    if by != By::Barrier {
        let whole = litmus.threads.iter().map(|thread| thread.concat());
        stages = vec![whole.collect()];
    }
    let mut outcomes = BTreeSet::new();
    let start = ([0; 2], vec![Vec::new(); litmus.threads.len()]);
    let mut states = vec![(stages, start)];
    while let Some((mut stages, (memory, read))) = states.pop() {
        let Some(stage) = stages.first() else {
            outcomes.insert(read.concat());
            continue;
        };
        if stage.iter().all(|left| left.is_empty()) {
            stages.remove(0);
            states.push((stages, (memory, read)));
            continue;
        }
        for thread in 0..stage.len() {
            let (mut stages, mut memory, mut read) = (stages.clone(), memory, read.clone());
            let left = &mut stages[0][thread];
            if left.is_empty() {
                continue;
            }
            match left.remove(0) {
                Write(variable, value) => memory[variable] = value,
                Read(variable) => read[thread].push(memory[variable]),
            }
            states.push((stages, (memory, read)));
        }
    }
    outcomes
}

/// A litmus program on a cluster of any shape: where its variables and threads
/// are, and which copies the nodes have before, is up to the seed.
struct Placed {
    program: Program,
    /// Where each thread is.
    places: Vec<(NodeId, ThreadId)>,
}

fn place(litmus: &Litmus, by: By, random: &mut impl Rng) -> Placed {
    let pages = random.random_range(1..=3);
    // Neighbours in a page, or in pages of their own.
    let variables = [0, 1].map(|i| Address::at(random.random_range(0..pages), 8 + i));
    let nodes = random.random_range(2..=litmus.threads.len().max(3));
    let mut threads = vec![Vec::new(); nodes];
    let mut places = Vec::new();
    // All pages are compared there with what was written last, if there is such.
    let meets = !litmus.races || matches!(by, By::Lock | By::Atomics);
    for (number, stages) in litmus.threads.iter().enumerate() {
        let together = random.random_ratio(1, 8);
        let node = if together { 0 } else { number % nodes };
        let mut steps = Vec::new();
        for variable in variables {
            if random.random() {
                steps.push(Step::Observe(variable));
            }
        }
        for _ in 0..random.random_range(0..10) {
            steps.push(match random.random_range(0..3) {
                0 if by != By::Plain => Step::Flush,
                _ => Step::Observe(Address::at(0, 100)),
            });
        }
        for (number, stage) in stages.iter().enumerate() {
            if by == By::Barrier && number > 0 {
                steps.push(Step::Barrier);
            }
            accesses(stage, variables, by, &mut steps);
        }
        if meets {
            steps.push(Step::Barrier);
        }
        places.push((id(node), ThreadId(threads[node].len() as u32)));
        threads[node].push(steps);
    }
    let between = usize::from(by == By::Barrier) * (litmus.threads[0].len() - 1);
    let barriers = between + usize::from(meets);
    for idle in threads.iter_mut().filter(|threads| threads.is_empty()) {
        idle.push(vec![Step::Barrier; barriers]);
    }
    let program = Program { pages, threads };
    Placed { program, places }
}

fn accesses(accesses: &[Access], variables: [Address; 2], by: By, steps: &mut Vec<Step>) {
    for access in accesses {
        let (step, variable) = match *access {
            Write(variable, value) => (Step::Write(variables[variable], value), variable),
            Read(variable) => (Step::Observe(variables[variable]), variable),
        };
        let lock = match by {
            By::Lock => Some(LockId(9)),
            By::Atomics => Some(LockId(variable as u64)),
            By::Flush | By::Barrier | By::Plain => None,
        };
        if by == By::Flush {
            steps.push(Step::Flush);
        }
        steps.extend(lock.map(Step::Acquire));
        steps.push(step);
        steps.extend(lock.map(Step::Release));
        if by == By::Flush {
            steps.push(Step::Flush);
        }
    }
}

fn id(node: usize) -> NodeId {
    NodeId(u16::try_from(node).unwrap())
}

fn run_under(under: Under, seed: u64, program: &Program, random: &mut StdRng) -> Outcome {
    let network = random_network(random);
    match under {
        Under::Home | Under::HomeRelaxed => {
            let mut config = random_home(program, random);
            config.loads_acquire = under == Under::Home;
            let home = |me, config: &home::Config| Home::new(me, config.clone()).unwrap();
            run_seed(seed, program, network, &config, home, random)
        }
        Under::Homeless | Under::HomelessRelaxed => {
            let mut config = random_homeless(program, random);
            config.loads_acquire = under == Under::Homeless;
            let homeless =
                |me, config: &homeless::Config| Homeless::new(me, config.clone()).unwrap();
            run_seed(seed, program, network, &config, homeless, random)
        }
    }
}

/// What was read, thread by thread.
fn outcome(litmus: &Litmus, by: By, under: Under, seed: u64) -> Vec<u8> {
    let mut random = StdRng::seed_from_u64(seed);
    let Placed { program, places } = place(litmus, by, &mut random);
    let ran = run_under(under, seed, &program, &mut random);
    let threads = litmus.threads.iter().zip(places);
    let read = threads.flat_map(|(stages, place)| {
        let accesses = stages.iter().copied().flatten();
        let reads = accesses.filter(|access| matches!(access, Read(_))).count();
        let observed = ran.observed.get(&place).map_or(&[][..], Vec::as_slice);
        // Those before only made copies.
        observed[observed.len() - reads..].to_vec()
    });
    read.collect()
}

/// Sequentially consistent outcomes appear, most of them, and no other.
fn is_consistent(litmus: &Litmus, by: By, under: Under) {
    let name = format!("{} by {by:?} under {under:?}", litmus.name);
    let allowed = sequential(litmus, by);
    assert!(!allowed.contains(litmus.forbidden), "{name}");
    let mut found = BTreeSet::new();
    for seed in seeds(SEEDS) {
        let outcome = outcome(litmus, by, under, seed);
        assert!(
            allowed.contains(&outcome),
            "{name}, seed {seed}: {outcome:?}"
        );
        found.insert(outcome);
    }
    assert!(
        found.len() * 4 >= allowed.len() * 3,
        "{name} shows only {found:?}"
    );
}

/// The forbidden outcome appears: the checks above can fail.
fn is_weak(litmus: &Litmus, by: By, under: Under) {
    let appears = (0..50_000).any(|seed| outcome(litmus, by, under, seed) == litmus.forbidden);
    assert!(appears, "{} by {by:?} under {under:?}", litmus.name);
}

fn is_consistent_if_synchronised(litmus: &Litmus) {
    for under in ALL {
        for by in [By::Barrier, By::Lock, By::Flush, By::Atomics] {
            is_consistent(litmus, by, under);
        }
    }
}

#[test]
fn message_passing() {
    for litmus in [MP, MP2R] {
        is_consistent_if_synchronised(&litmus);
        is_consistent(&litmus, By::Plain, Under::Home);
        is_consistent(&litmus, By::Plain, Under::Homeless);
        is_weak(&litmus, By::Plain, Under::HomeRelaxed);
        is_weak(&litmus, By::Plain, Under::HomelessRelaxed);
    }
}

#[test]
fn store_buffering() {
    is_consistent_if_synchronised(&SB);
    for under in ALL {
        is_weak(&SB, By::Plain, under);
    }
}

/// No protocol guesses what will be written, so nothing has to be synchronised
/// here; the test fails if the accesses of a thread are exchanged.
#[test]
fn load_buffering() {
    is_consistent_if_synchronised(&LB);
    let exchanged = Litmus {
        threads: &[&[&[Write(Y, 1)], &[Read(X)]], &[&[Write(X, 1)], &[Read(Y)]]],
        ..LB
    };
    for under in ALL {
        is_consistent(&LB, By::Plain, under);
        is_weak(&exchanged, By::Flush, under);
    }
}

#[test]
fn write_to_read_causality() {
    is_consistent_if_synchronised(&WRC);
    is_consistent(&WRC, By::Plain, Under::Home);
    is_consistent(&WRC, By::Plain, Under::Homeless);
    is_weak(&WRC, By::Plain, Under::HomeRelaxed);
    is_weak(&WRC, By::Plain, Under::HomelessRelaxed);
}

#[test]
fn independent_reads_of_independent_writes() {
    is_consistent_if_synchronised(&IRIW);
    for under in ALL {
        is_weak(&IRIW, By::Plain, under);
    }
}

#[test]
fn coherence() {
    is_consistent_if_synchronised(&CORR);
    for under in ALL {
        is_consistent(&CORR, By::Plain, under);
        is_consistent(&CO2W, By::Lock, under);
        is_consistent(&CO2W, By::Atomics, under);
    }
    // A flush does not order two writes of one byte.
    is_weak(&CO2W, By::Flush, Under::Homeless);
}

/// What a node wrote right before a barrier reaches whoever waits for it, and comes to
/// that barrier only then.
#[test]
fn what_is_written_before_a_barrier_is_not_kept() {
    let (flag, data) = (Address::at(0, 0), Address::at(1, 0));
    let [first, then] = [Step::Write(data, 7), Step::Write(flag, 1)];
    let writes = vec![first, Step::Flush, then, Step::Barrier];
    let (waits, reads) = (Step::Await(flag, 1), Step::Read(data));
    let waits = vec![waits, Step::Flush, reads, Step::Barrier];
    for under in ALL {
        for seed in seeds(SEEDS) {
            let mut random = StdRng::seed_from_u64(seed);
            let nodes = random.random_range(3..=7);
            let mut threads = vec![vec![vec![Step::Barrier]]; nodes];
            let writer = random.random_range(0..nodes);
            threads[writer] = vec![writes.clone()];
            threads[(writer + random.random_range(1..nodes)) % nodes] = vec![waits.clone()];
            let program = Program { pages: 2, threads };
            run_under(under, seed, &program, &mut random);
        }
    }
}

/// Neighbours hand data on, as pipelined loops do. Each waits for the other's flag with
/// flushes, and writes it next without another one: whoever writes what it has seen
/// somebody else write comes after that.
#[test]
fn pipelined_loops_hand_data_on() {
    for under in ALL {
        for seed in seeds(SEEDS) {
            let mut random = StdRng::seed_from_u64(seed);
            let program = pipeline(&mut random);
            run_under(under, seed, &program, &mut random);
        }
    }
}

fn pipeline(random: &mut impl Rng) -> Program {
    let nodes = random.random_range(2..=4);
    let pages = random.random_range(1..=8);
    let (apart, spread) = (random.random_range(0..2), random.random_range(0..=pages));
    let flag = |at: u32| Address::at((at * apart) % pages, 8 + at);
    let data =
        |at: u32, round: u32| Address::at((at + round * spread) % pages, 99 + 9 * at + round);
    // What a thread writes meanwhile, beside what others do.
    let own = |at: u32, page: u32| Address::at(page, 200 + at);
    let mut threads: Vec<_> = (0..nodes).map(|_| Vec::new()).collect();
    let rounds = random.random_range(1..=5);
    for sweep in 1..=random.random_range(1..=4) {
        for round in 0..rounds {
            for (steps, at) in threads.iter_mut().zip(0..) {
                if at > 0 {
                    let before = flag(at - 1);
                    steps.extend([Step::Await(before, 1), Step::Write(before, 0), Step::Flush]);
                    steps.push(Step::Read(data(at - 1, round)));
                }
                steps.push(Step::Write(data(at, round), sweep));
                for _ in 0..random.random_range(0..5) {
                    let own = own(at, random.random_range(0..pages));
                    steps.push(Step::Write(own, random.random()));
                }
                if at + 1 < nodes {
                    steps.extend([Step::Flush, Step::Await(flag(at), 0)]);
                    steps.extend([Step::Write(flag(at), 1), Step::Flush]);
                }
            }
        }
        threads
            .iter_mut()
            .for_each(|steps| steps.push(Step::Barrier));
    }
    let threads = threads.into_iter().map(|steps| vec![steps]).collect();
    Program { pages, threads }
}
