//! Programs whose threads meet by updates of single bytes, each in one atomic step: whoever
//! sees what one wrote sees what was written before it, also if that was a plain write.
//! `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds than the everyday ones.

use fathomp_protocols::LockId;
use fathomp_protocols::home::{Config, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_simulator::{
    Address, Program, Step, random_home, random_homeless, random_network, run_seed, seeds,
};
use rand::rngs::StdRng;
use rand::{Rng, RngExt, SeedableRng};

/// What nodes have, and what keeps their pages alike.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Over {
    /// Homes.
    Homes,
    /// The same, and what is updated is carried home.
    Carried,
    /// No homes.
    Homeless,
}

/// Runs programs over clusters of a kind. How many updates were postponed.
fn all_seeds(over: Over, program: impl Fn(&mut StdRng) -> Program) -> u64 {
    let mut postponed = 0;
    for seed in seeds(3000) {
        let mut random = StdRng::seed_from_u64(seed);
        let program = program(&mut random);
        let network = random_network(&mut random);
        if over == Over::Homeless {
            let mut config = random_homeless(&program, &mut random);
            // That lets others see a lock free before what it guards.
            config.stays_writable = false;
            // Each poll is an interval: a short log would tell everybody of each, and who fetches
            // the page could be told of the next one before it has the last.
            config.log_max = 1024;
            config.loads_acquire = random.random_ratio(1, 16);
            let protocol = |me, config: &homeless::Config| Homeless::new(me, config.clone());
            let protocol = |me, config: &_| protocol(me, config).unwrap();
            let outcome = run_seed(seed, &program, network, &config, protocol, &mut random);
            postponed += outcome.postponed;
            continue;
        }
        let mut config = random_home(&program, &mut random);
        config.loads_acquire = over != Over::Carried && random.random_ratio(1, 16);
        config.carries = over == Over::Carried;
        let protocol = |me, config: &Config| Home::new(me, config.clone()).unwrap();
        postponed += run_seed(seed, &program, network, &config, protocol, &mut random).postponed;
    }
    postponed
}

/// What a program is made of: its threads, and pages that all of them have touched.
struct Threads {
    pages: u32,
    threads: Vec<Vec<Step>>,
    /// Other threads of their nodes, which learn of things behind their backs.
    others: Vec<Option<Vec<Step>>>,
}

impl Threads {
    /// All threads write and read everywhere, so that homes are anywhere, pages have
    /// moved, and there are copies.
    fn random(random: &mut impl Rng) -> Self {
        let pages = random.random_range(1..=4);
        let nodes = random.random_range(2..=4);
        let mut threads = vec![Vec::new(); nodes];
        for _ in 0..random.random_range(0..4) {
            for (thread, steps) in (0..).zip(&mut threads) {
                for _ in 0..random.random_range(0..4) {
                    let byte = Address::at(random.random_range(0..pages), 100 + thread);
                    steps.push(match random.random() {
                        true => Step::Write(byte, random.random()),
                        false => Step::Observe(Address::at(byte.0 / 4096, 50)),
                    });
                }
                steps.push(Step::Barrier);
            }
        }
        Self {
            pages,
            others: vec![None; nodes],
            threads,
        }
    }

    /// Gives nodes another thread, which flushes now and then.
    fn add_others(&mut self, random: &mut impl Rng) {
        for (steps, other) in self.threads.iter().zip(&mut self.others) {
            if random.random() {
                continue;
            }
            let barriers = steps.iter().filter(|step| **step == Step::Barrier);
            let other = other.insert(barriers.copied().collect());
            for _ in 0..random.random_range(0..100) {
                other.push(match random.random_range(0..4) {
                    0 => Step::Observe(Address::at(random.random_range(0..self.pages), 50)),
                    _ => Step::Flush,
                });
            }
        }
    }

    /// A byte of some page.
    fn byte(&self, offset: u32, random: &mut impl Rng) -> Address {
        Address::at(random.random_range(0..self.pages), offset)
    }

    /// What a thread does beside: at bytes of its own, or of nobody.
    fn work(&mut self, thread: usize, random: &mut impl Rng) {
        for _ in 0..random.random_range(0..4) {
            let own = self.byte(100 + thread as u32, random);
            let step = match random.random_range(0..4) {
                0 => Step::Flush,
                1 => Step::Observe(self.byte(50, random)),
                _ => Step::Write(own, random.random()),
            };
            self.threads[thread].push(step);
        }
    }

    fn finish(mut self) -> Program {
        let threads = self.threads.iter_mut();
        let all = threads.chain(self.others.iter_mut().flatten());
        all.for_each(|steps| steps.push(Step::Barrier));
        let threads = self.threads.into_iter().zip(self.others);
        let threads = threads.map(|(steps, other)| [steps].into_iter().chain(other).collect());
        Program {
            pages: self.pages,
            threads: threads.collect(),
        }
    }
}

/// One thread writes data and then a flag, plainly or by an update; others update the flag
/// until they see it, and read the data.
fn poll_a_flag(over: Over, others: bool) {
    all_seeds(over, |random| {
        let mut all = Threads::random(random);
        if others {
            all.add_others(random);
        }
        let nodes = all.threads.len();
        let writer = random.random_range(0..nodes);
        for round in 0..random.random_range(1..=3) {
            let data = all.byte(10 + round, random);
            let flag = all.byte(20 + round, random);
            all.work(writer, random);
            let tells = match random.random_range(0..3) {
                0 => Step::Update(flag, 1),
                _ => Step::Write(flag, 1),
            };
            all.threads[writer].extend([Step::Write(data, random.random()), tells]);
            all.work(writer, random);
            for reader in (0..nodes).filter(|node| *node != writer) {
                if random.random_ratio(1, 4) {
                    continue;
                }
                if random.random() {
                    all.threads[reader].push(Step::Observe(data));
                }
                all.work(reader, random);
                all.threads[reader].extend([Step::Poll(flag, 1), Step::Read(data)]);
            }
        }
        all.finish()
    });
}

/// Threads take a byte by exchanging it, work on what it guards, and give it back by a plain
/// write, as user programs' own locks do.
fn spin_by_exchanges(over: Over, others: bool) {
    all_seeds(over, |random| {
        let mut all = Threads::random(random);
        if others {
            all.add_others(random);
        }
        let lock = all.byte(20, random);
        let guarded: Vec<_> = (0..3).map(|at| all.byte(10 + at, random)).collect();
        for thread in 0..all.threads.len() {
            for _ in 0..random.random_range(0..=3) {
                all.work(thread, random);
                all.threads[thread].push(Step::Take(lock));
                for byte in &guarded {
                    all.threads[thread].push(match random.random() {
                        true => Step::Write(*byte, random.random()),
                        false => Step::Read(*byte),
                    });
                }
                // Who waits does not see it before that.
                all.threads[thread].extend([Step::Write(lock, 0), Step::Flush]);
            }
        }
        all.finish()
    });
}

/// Threads add to bytes and do not look: to their own, which they also read and write, to one
/// that a lock guards, and to some that all add to and read when they have met. Some tell by an
/// addition that data is there, for which others poll.
fn add_blindly(over: Over, others: bool) {
    let postponed = all_seeds(over, |random| {
        let mut all = Threads::random(random);
        if others {
            all.add_others(random);
        }
        let nodes = all.threads.len();
        let guarded = all.byte(20, random);
        let lock = LockId(1);
        let own: Vec<_> = (0..nodes as u32)
            .map(|thread| all.byte(30 + thread, random))
            .collect();
        for round in 0..random.random_range(1..=3) {
            let sums: Vec<_> = (0..2)
                .map(|at| all.byte(40 + 2 * round + at, random))
                .collect();
            let (data, flag) = (all.byte(60 + round, random), all.byte(70 + round, random));
            let teller = random.random_range(0..2 * nodes);
            for thread in 0..nodes {
                for _ in 0..random.random_range(0..12) {
                    all.work(thread, random);
                    let add = random.random_range(1..=255);
                    let own = own[thread];
                    let steps = match random.random_range(0..8) {
                        0 => vec![Step::Add(own, add), Step::Read(own)],
                        1 => vec![Step::Write(own, add), Step::Add(own, add)],
                        2 => vec![Step::Add(own, add), Step::Write(own, add)],
                        3 => vec![
                            Step::Acquire(lock),
                            Step::Read(guarded),
                            Step::Add(guarded, add),
                            Step::Release(lock),
                        ],
                        _ => vec![Step::Add(sums[random.random_range(0..2)], add)],
                    };
                    all.threads[thread].extend(steps);
                }
                if thread == teller {
                    let own = own[thread];
                    let tells = match random.random_range(0..3) {
                        0 => vec![
                            Step::Write(flag, 1),
                            Step::Add(own, 1),
                            Step::Add(sums[0], 1),
                        ],
                        _ => vec![Step::Add(flag, 1)],
                    };
                    all.threads[thread].push(Step::Write(data, 7));
                    all.threads[thread].extend(tells);
                } else if teller < nodes && random.random() {
                    all.threads[thread].extend([Step::Poll(flag, 1), Step::Read(data)]);
                }
            }
            for other in all.others.iter_mut().flatten() {
                for _ in 0..random.random_range(0..12) {
                    other.push(match random.random_range(0..6) {
                        0 => Step::Flush,
                        1 => Step::Observe(Address::at(random.random_range(0..all.pages), 50)),
                        _ => Step::Add(sums[random.random_range(0..2)], random.random()),
                    });
                }
            }
            let everybody = all
                .threads
                .iter_mut()
                .chain(all.others.iter_mut().flatten());
            everybody.for_each(|steps| steps.push(Step::Barrier));
            for steps in &mut all.threads {
                let looked = sums.iter().chain(&own).filter(|_| random.random());
                steps.extend(looked.map(|byte| Step::Read(*byte)));
            }
            // Nobody adds while others look.
            let everybody = all
                .threads
                .iter_mut()
                .chain(all.others.iter_mut().flatten());
            everybody.for_each(|steps| steps.push(Step::Barrier));
        }
        all.finish()
    });
    println!("{postponed}");
    assert!(postponed > 10_000, "{postponed}");
}

#[test]
fn who_polls_a_flag_sees_what_came_before() {
    poll_a_flag(Over::Homes, false);
    poll_a_flag(Over::Homes, true);
}

#[test]
fn spin_locks_are_given_back_by_a_plain_write() {
    spin_by_exchanges(Over::Homes, false);
    spin_by_exchanges(Over::Homes, true);
}

#[test]
fn without_homes_who_updates_sees_what_came_before() {
    for others in [false, true] {
        poll_a_flag(Over::Homeless, others);
        spin_by_exchanges(Over::Homeless, others);
    }
}

#[test]
fn carried_home_who_polls_a_flag_sees_what_came_before() {
    poll_a_flag(Over::Carried, false);
    poll_a_flag(Over::Carried, true);
}

#[test]
fn carried_home_spin_locks_are_given_back_by_a_plain_write() {
    spin_by_exchanges(Over::Carried, false);
    spin_by_exchanges(Over::Carried, true);
}

#[test]
fn what_nobody_looks_at_is_added_in_batches() {
    add_blindly(Over::Carried, false);
    add_blindly(Over::Carried, true);
}

#[test]
fn without_homes_what_nobody_looks_at_is_added_in_batches() {
    add_blindly(Over::Homeless, false);
    add_blindly(Over::Homeless, true);
}
