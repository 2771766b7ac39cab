//! Scripts run in arithmetic.

use super::{Outcome, Policy, Script, Situation};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What a simulated run gives.
pub(super) struct Run {
    pub(super) outcome: Outcome,
    /// Of the time in which any task waits for a page, the part in which all do.
    pub(super) all_at_once: f64,
    /// The same for tasks that wait as long, independently.
    pub(super) by_chance: f64,
}

/// What ends a task's computing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Next {
    Fault,
    Barrier,
    End,
}

/// Where a task is in its script.
struct Cursor<'a> {
    script: &'a Script,
    segment: usize,
    faults_done: u64,
    computed: u64,
}

impl Cursor<'_> {
    /// Time to compute until something happens, and what.
    fn next(&mut self) -> (u64, Next) {
        let mut compute = 0_u64;
        loop {
            let Some(segment) = self.script.segments.get(self.segment) else {
                return (compute, Next::End);
            };
            if self.faults_done < segment.faults {
                // Equal distances: fault k comes after k / faults of the computing.
                self.faults_done += 1;
                let until = u128::from(segment.compute_ns) * u128::from(self.faults_done);
                let until = (until / u128::from(segment.faults)) as u64;
                compute = compute.saturating_add(until - self.computed);
                self.computed = until;
                return (compute, Next::Fault);
            }
            compute = compute.saturating_add(segment.compute_ns - self.computed);
            let barrier = segment.barrier;
            self.segment += 1;
            (self.faults_done, self.computed) = (0, 0);
            if barrier {
                return (compute, Next::Barrier);
            }
        }
    }
}

/// The state of a run. Computing tasks have their events in time of their own, which stands
/// still while all processors run the second program: real time less `held`.
struct World<'a> {
    situation: &'a Situation,
    policy: Policy,
    cursors: Vec<Cursor<'a>>,
    computing: BinaryHeap<Reverse<(u64, usize, Next)>>,
    /// Tasks that wait for pages, by the real time at which they can go on, and since when
    /// they wait.
    waiting: BinaryHeap<Reverse<(u64, usize)>>,
    held: u64,
    /// Tasks at the barrier.
    at_barrier: Vec<usize>,
    left: usize,
    /// Enough tasks wait since that moment for all processors to switch.
    due: Option<u64>,
    /// Moments at which waits begin (+) and end (-), and the same of the second program.
    waits: Vec<(u64, i32)>,
    others: Vec<(u64, i32)>,
    waited: Vec<u64>,
    compute_ns: u64,
    hidden_ns: u64,
    held_ns: u64,
    switching_ns: u64,
    other_ns: u64,
    end_ns: u64,
}

pub(super) fn simulate(scripts: &[Script], situation: &Situation, policy: Policy) -> Run {
    let mut world = World {
        situation,
        policy,
        cursors: scripts
            .iter()
            .map(|script| Cursor {
                script,
                segment: 0,
                faults_done: 0,
                computed: 0,
            })
            .collect(),
        computing: BinaryHeap::new(),
        waiting: BinaryHeap::new(),
        held: 0,
        at_barrier: Vec::new(),
        left: scripts.len(),
        due: None,
        waits: Vec::new(),
        others: Vec::new(),
        waited: vec![0; scripts.len()],
        compute_ns: 0,
        hidden_ns: 0,
        held_ns: 0,
        switching_ns: 0,
        other_ns: 0,
        end_ns: 0,
    };
    for task in 0..scripts.len() {
        world.compute(task, 0);
    }
    world.run();
    world.finish()
}

impl World<'_> {
    /// Lets a task compute from a real moment on.
    fn compute(&mut self, task: usize, now: u64) {
        let (ns, next) = self.cursors[task].next();
        self.compute_ns = self.compute_ns.saturating_add(ns);
        let at = now.saturating_add(ns).saturating_sub(self.held);
        self.computing.push(Reverse((at, task, next)));
    }

    fn run(&mut self) {
        loop {
            let computing = self.computing.peek();
            let computing = computing.map(|Reverse((at, ..))| at.saturating_add(self.held));
            // What happens at the same moment comes first.
            if let Some(now) = self.due
                && computing.is_none_or(|at| at > now)
            {
                self.due = None;
                self.switch_all(now);
                continue;
            }
            let waiting = self.waiting.peek().map(|Reverse((at, _))| *at);
            let page_first = match (computing, waiting) {
                (None, None) => return,
                (Some(computing), Some(waiting)) => waiting <= computing,
                (computing, _) => computing.is_none(),
            };
            if page_first {
                if let Some(Reverse((at, task))) = self.waiting.pop() {
                    self.compute(task, at);
                }
            } else if let Some(Reverse((at, task, next))) = self.computing.pop() {
                let now = at.saturating_add(self.held);
                match next {
                    Next::Fault => self.fault(task, now),
                    Next::Barrier => {
                        self.at_barrier.push(task);
                        self.open_barrier(now);
                    }
                    Next::End => {
                        self.left -= 1;
                        self.end_ns = self.end_ns.max(now);
                        // Who waits at a barrier waits for those that are left.
                        self.open_barrier(now);
                    }
                }
            }
        }
    }

    fn open_barrier(&mut self, now: u64) {
        if !self.at_barrier.is_empty() && self.at_barrier.len() == self.left {
            for task in std::mem::take(&mut self.at_barrier) {
                self.compute(task, now);
            }
        }
    }

    fn fault(&mut self, task: usize, now: u64) {
        let page = now.saturating_add(self.situation.fault_ns);
        self.waits.extend([(now, 1), (page, -1)]);
        self.waited[task] = self.waited[task].saturating_add(self.situation.fault_ns);
        let mut ready = page;
        if self.policy == Policy::Each && self.is_worth(self.situation.switch_ns) {
            let switch = self.situation.switch_ns;
            let from = now.saturating_add(switch);
            self.second(from, page, 1);
            self.hidden_ns = self.hidden_ns.saturating_add(page - from);
            self.switching_ns = self.switching_ns.saturating_add(2 * switch);
            ready = page.saturating_add(switch);
        }
        self.waiting.push(Reverse((ready, task)));
        if self.policy == Policy::Gang && self.is_worth(self.situation.gang_switch_ns) {
            let quorum = (self.situation.quorum * self.cursors.len() as f64).ceil();
            if self.waiting.len() as f64 >= quorum.max(1.0) {
                self.due = Some(now);
            }
        }
    }

    /// Whether the second program gets time between two switches.
    fn is_worth(&self, switch_ns: u64) -> bool {
        self.situation.fault_ns > switch_ns.saturating_mul(2)
    }

    /// The second program runs on so many processors.
    fn second(&mut self, from: u64, to: u64, processors: u64) {
        self.other_ns = self
            .other_ns
            .saturating_add((to - from).saturating_mul(processors));
        let number = processors as i32;
        self.others.extend([(from, number), (to, -number)]);
    }

    /// All processors switch, until all pages that are waited for are there.
    fn switch_all(&mut self, now: u64) {
        let switch = self.situation.gang_switch_ns;
        let processors = self.cursors.len() as u64;
        let outstanding: Vec<(u64, usize)> = self
            .waiting
            .drain()
            .map(|Reverse(waiting)| waiting)
            .collect();
        let last = outstanding
            .iter()
            .map(|(page, _)| *page)
            .max()
            .unwrap_or(now);
        let from = now.saturating_add(switch);
        let back = last.saturating_add(switch);
        self.second(from, last.max(from), processors);
        self.switching_ns = self.switching_ns.saturating_add(2 * switch * processors);
        for (page, _) in &outstanding {
            self.hidden_ns = self.hidden_ns.saturating_add(page.saturating_sub(from));
            // Its page is there, but its processor is not.
            self.held_ns = self.held_ns.saturating_add(back - page);
        }
        let stopped = back - now;
        let running = self.computing.len() as u64;
        self.held_ns = self.held_ns.saturating_add(stopped.saturating_mul(running));
        self.held = self.held.saturating_add(stopped);
        for (_, task) in outstanding {
            self.compute(task, back);
        }
    }

    fn finish(mut self) -> Run {
        let tasks = self.cursors.len();
        let waits_ns = self
            .waited
            .iter()
            .fold(0, |sum: u64, ns| sum.saturating_add(*ns));
        let (any, all) = overlaps(&mut self.waits, tasks);
        let (_, together) = overlaps(&mut self.others, tasks);
        let end = self.end_ns.max(1) as f64;
        let parts = || self.waited.iter().map(|ns| (*ns as f64 / end).min(1.0));
        let (all_wait, none_waits) = (
            parts().product::<f64>(),
            parts().map(|part| 1.0 - part).product::<f64>(),
        );
        let share = |part: f64, whole: f64| {
            if whole > 0.0 {
                (part / whole).min(1.0)
            } else {
                0.0
            }
        };
        let busy = self.compute_ns as f64 + self.other_ns as f64;
        Run {
            outcome: Outcome {
                policy: self.policy,
                makespan_ns: self.end_ns,
                waits_ns,
                hidden_share: share(self.hidden_ns as f64, waits_ns as f64),
                held_ns: self.held_ns,
                switching_ns: self.switching_ns,
                other_ns: self.other_ns,
                other_together_ns: together,
                utilisation: share(busy, end * tasks as f64),
            },
            all_at_once: share(all as f64, any as f64),
            by_chance: share(all_wait, 1.0 - none_waits),
        }
    }
}

/// Time in which any and in which all of so many are on.
fn overlaps(changes: &mut [(u64, i32)], all: usize) -> (u64, u64) {
    changes.sort_unstable();
    let (mut number, mut before) = (0_i64, 0_u64);
    let (mut any_ns, mut all_ns) = (0_u64, 0_u64);
    for (at, change) in changes {
        let length = *at - before;
        if number > 0 {
            any_ns = any_ns.saturating_add(length);
        }
        if number >= all as i64 {
            all_ns = all_ns.saturating_add(length);
        }
        number += i64::from(*change);
        before = *at;
    }
    (any_ns, all_ns)
}
