//! Programs whose threads wait for each other's plain writes in loops that tell by their
//! branches, and never flush: whoever has waited sees what was written before.
//! `FATHOMP_SIM_SEEDS=FIRST..END` tries other seeds than the everyday ones.

use fathomp_protocols::home::{self, Home};
use fathomp_protocols::homeless::{self, Homeless};
use fathomp_simulator::{
    Address, Program, Step, random_home, random_homeless, random_network, run_seed, seeds,
};
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};

/// Runs programs over both protocols on clusters of any kind.
fn all_seeds(program: impl Fn(&mut StdRng) -> Program) {
    for seed in seeds(4000) {
        let mut random = StdRng::seed_from_u64(seed);
        let program = program(&mut random);
        let network = random_network(&mut random);
        let mut config = random_home(&program, &mut random);
        config.loads_acquire &= random.random_ratio(1, 8);
        let home = |me, config: &home::Config| Home::new(me, config.clone()).unwrap();
        run_seed(seed, &program, network, &config, home, &mut random);
        let mut config = random_homeless(&program, &mut random);
        config.loads_acquire &= random.random_ratio(1, 8);
        let homeless = |me, config: &homeless::Config| Homeless::new(me, config.clone()).unwrap();
        run_seed(seed, &program, network, &config, homeless, &mut random);
    }
}

/// The threads of a program, one on each node but for some, and its pages, which hold data, and
/// flags beside it.
struct Threads {
    pages: u32,
    nodes: Vec<usize>,
    threads: Vec<Vec<Step>>,
}

impl Threads {
    /// At first all write and read everywhere, so that there are homes, copies and twins.
    fn random(random: &mut impl Rng) -> Self {
        let pages = random.random_range(1..=4);
        let nodes = random.random_range(2..=4);
        let mut of_nodes: Vec<_> = (0..nodes).collect();
        of_nodes.extend(random.random_bool(0.3).then_some(0));
        of_nodes.sort_unstable();
        let mut threads = vec![Vec::new(); of_nodes.len()];
        for _ in 0..random.random_range(0..4) {
            for (thread, steps) in (0..).zip(&mut threads) {
                for _ in 0..random.random_range(0..4) {
                    let page = random.random_range(0..pages);
                    steps.push(match random.random() {
                        true => Step::Write(Address::at(page, 900 + thread), random.random()),
                        false => Step::Observe(Address::at(page, 50)),
                    });
                }
                steps.push(Step::Barrier);
            }
        }
        Self {
            pages,
            nodes: of_nodes,
            threads,
        }
    }

    /// A byte of some page.
    fn byte(&self, offset: u32, random: &mut impl Rng) -> Address {
        Address::at(random.random_range(0..self.pages), offset)
    }

    /// What a thread does beside: at bytes of its own, or of nobody.
    fn work(&mut self, thread: usize, random: &mut impl Rng) {
        for _ in 0..random.random_range(0..3) {
            let own = self.byte(900 + thread as u32, random);
            let step = match random.random_range(0..6) {
                0 => Step::Flush,
                1 | 2 => Step::Observe(self.byte(50, random)),
                _ => Step::Write(own, random.random()),
            };
            self.threads[thread].push(step);
        }
    }

    fn finish(mut self) -> Program {
        let mut threads = vec![Vec::new(); self.nodes.last().map_or(0, |last| last + 1)];
        for (node, steps) in self.nodes.iter().zip(&mut self.threads) {
            steps.push(Step::Barrier);
            threads[*node].push(std::mem::take(steps));
        }
        Program {
            pages: self.pages,
            threads,
        }
    }
}

/// Data and then a flag, on from thread to thread: the last sees what all have written.
#[test]
fn who_is_handed_something_sees_all_that_went_before() {
    all_seeds(|random| {
        let mut all = Threads::random(random);
        for round in 0..random.random_range(1..=3_u32) {
            let mut order: Vec<_> = (0..all.threads.len()).collect();
            order.shuffle(random);
            order.truncate(random.random_range(2..=order.len()));
            let mut data = Vec::new();
            for (at, thread) in (0..).zip(order) {
                all.work(thread, random);
                let [own, flag, before] = [100, 200, 199].map(|offset| offset + 10 * round + at);
                if at > 0 {
                    if random.random() {
                        let old = data.iter().map(|byte| Step::Observe(*byte));
                        all.threads[thread].extend(old);
                    }
                    let before = Address::at(round % all.pages, before);
                    all.threads[thread].push(Step::Wait(before, 1));
                    let seen = data.iter().map(|byte| Step::Read(*byte));
                    all.threads[thread].extend(seen);
                }
                let own = all.byte(own, random);
                data.push(own);
                let flag = Address::at(round % all.pages, flag);
                let steps = [Step::Write(own, random.random()), Step::Write(flag, 1)];
                all.threads[thread].extend(steps);
                all.work(thread, random);
            }
        }
        all.finish()
    });
}

/// Rows of a plane after the other, as in a pipeline: each thread has some rows, and a flag for
/// each that it sets when the next may begin, which sets it back. Most of them only one thread
/// looks at.
#[test]
fn a_pipeline_whose_rows_wait_for_each_other_is_in_order() {
    all_seeds(|random| {
        let mut all = Threads::random(random);
        let page = random.random_range(0..all.pages);
        let flag = |row: u32| Address::at(page, 300 + 4 * row);
        let datum = |row: u32, pages| Address::at(row % pages, 500 + 8 * row);
        let mut rows = Vec::new();
        for thread in 0..all.threads.len() {
            rows.extend(std::iter::repeat_n(thread, random.random_range(1..=3)));
        }
        for _ in 0..random.random_range(1..=4) {
            for (row, thread) in (0_u32..).zip(&rows) {
                let is_last = row as usize == rows.len() - 1;
                let steps = &mut all.threads[*thread];
                if row > 0 {
                    let before = datum(row - 1, all.pages);
                    steps.extend([Step::Wait(flag(row - 1), 1), Step::Read(before)]);
                }
                if !is_last {
                    steps.push(Step::Wait(flag(row), 0));
                }
                steps.push(Step::Write(datum(row, all.pages), random.random()));
                if !is_last {
                    steps.push(Step::Write(flag(row), 1));
                }
                if row > 0 {
                    steps.push(Step::Write(flag(row - 1), 0));
                }
            }
        }
        all.finish()
    });
}
