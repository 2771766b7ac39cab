//! What the fetches of a phase wait for one another, message by message.
//!
//! A node has one link in each direction and one processor for messages, all of which take one
//! thing after the other. Its thread does something else, asks another node for a page, and waits
//! for it. A question waits behind the node's own answers on the link, and for the processor of the
//! node that is asked; what comes back waits behind others' answers on the link, and at last for
//! what the node does for others. Since all this takes about the same time again and again,
//! threads get into step, or out of each other's way, which means over askers that come at any time
//! do not tell: so it is simulated.

use crate::numeric::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Fetches of all threads that are simulated at most; of more, as many of each thread's in
/// proportion.
const MOST: f64 = 4_000.0;
/// Of what a fetch takes its thread beside messages and who answers, what is over before it asks.
/// The rest keeps its node's processor when the answer has come.
const BEFORE: f64 = 0.5;
/// The longest time that counts, in nanoseconds: sums of these do not overflow.
const LONGEST_NS: f64 = 1e15;

/// A thread and its node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Asker {
    /// What it fetches.
    pub(super) fetches: f64,
    /// When it begins, and when its node has done what it was sent before, in nanoseconds.
    pub(super) begins_ns: f64,
    pub(super) busy_until_ns: f64,
    /// What it does beside fetching, in all.
    pub(super) between_ns: f64,
    /// What a fetch takes it, what of that keeps the processor of the node that answers, and bytes
    /// of the answer.
    pub(super) fetch_ns: f64,
    pub(super) served_ns: f64,
    pub(super) bytes: f64,
    /// How many of all fetches its node answers, relative to others.
    pub(super) answers: f64,
    /// Whom it asks, if that is always the same node.
    pub(super) asks: Option<usize>,
}

/// What is the same for all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Costs {
    /// A message's way, and each of its bytes on a link, in nanoseconds.
    pub(super) latency_ns: f64,
    pub(super) ns_per_byte: f64,
    /// Bytes of a question.
    pub(super) ask_bytes: f64,
    /// What a message costs more for which nobody looks.
    pub(super) wake_ns: f64,
    /// For so long a thread that waits looks for messages.
    pub(super) looks_ns: f64,
    /// Who has fetched all waits for the others, and looks for messages; else it is at work.
    pub(super) ends_in_waiting: bool,
}

/// What a thread's fetches take longer than if it were alone, in nanoseconds.
pub(super) fn wait_ns(askers: &[Asker], costs: &Costs) -> Vec<f64> {
    let all: f64 = askers.iter().map(|one| one.fetches).sum();
    let scale = (MOST / all.max(1.0)).min(1.0);
    let nodes = Simulation::new(askers, costs, scale).run();
    let each = askers.iter().zip(nodes);
    // Only the first waits for what is left from before.
    each.map(|(asker, node)| {
        let first = asker.fetches.min(1.0);
        let others = (asker.fetches - first) / node.done.saturating_sub(1).max(1) as f64;
        node.waited_first_ns as f64 * first + node.waited_ns as f64 * others
    })
    .collect()
}

/// What happens next to a thread's fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// The thread wants a page.
    Wants,
    /// It asks for it.
    Asks,
    /// The question is at the link of a node, and at its processor.
    Reaches(usize),
    Comes(usize),
    /// That node answers.
    Answers(usize),
    /// The answer is at the asker's link, and all there.
    Returns,
    Ends,
}

/// A node, in nanoseconds.
#[derive(Debug)]
struct Node {
    /// What it fetches, of which so much is done, and asked for since then.
    fetches: u64,
    done: u64,
    asked_ns: u64,
    /// What it waited for the first, and for all others.
    waited_first_ns: u64,
    waited_ns: u64,
    /// Until when its links are busy, outwards and inwards, and its processor.
    out_ns: u64,
    in_ns: u64,
    serves_ns: u64,
    /// Since when its thread waits, if it does.
    waits_since_ns: Option<u64>,
    random: Random,
}

struct Simulation<'a> {
    askers: &'a [Asker],
    costs: &'a Costs,
    nodes: Vec<Node>,
    /// When, in which order of those at the same time, and whose.
    steps: BinaryHeap<Reverse<(u64, u64, usize, Step)>>,
    numbered: u64,
}

fn whole(ns: f64) -> u64 {
    ns.clamp(0.0, LONGEST_NS) as u64
}

impl<'a> Simulation<'a> {
    fn new(askers: &'a [Asker], costs: &'a Costs, scale: f64) -> Self {
        let answers: f64 = askers.iter().map(|one| one.answers).sum();
        let node = |(number, one): (usize, &Asker)| {
            let others = one
                .asks
                .map_or(answers > one.answers, |asked| asked != number);
            let fetches = match one.fetches > 0.0 && others {
                true => whole((one.fetches * scale).round()).max(1),
                false => 0,
            };
            Node {
                fetches,
                done: 0,
                asked_ns: 0,
                waited_first_ns: 0,
                waited_ns: 0,
                out_ns: 0,
                in_ns: 0,
                serves_ns: whole(one.busy_until_ns),
                waits_since_ns: None,
                random: Random(number as u64),
            }
        };
        let mut simulation = Self {
            askers,
            costs,
            nodes: askers.iter().enumerate().map(node).collect(),
            steps: BinaryHeap::new(),
            numbered: 0,
        };
        for (thread, one) in askers.iter().enumerate() {
            let wants_ns = whole(one.begins_ns + simulation.between_ns(thread));
            simulation.at(wants_ns, thread, Step::Wants);
        }
        simulation
    }

    /// All nodes when nobody wants anything any more.
    fn run(mut self) -> Vec<Node> {
        while let Some(Reverse((ns, _, thread, step))) = self.steps.pop() {
            self.step(ns, thread, step);
        }
        self.nodes
    }

    fn at(&mut self, ns: u64, thread: usize, step: Step) {
        self.numbered += 1;
        self.steps.push(Reverse((ns, self.numbered, thread, step)));
    }

    /// What a thread does from one page to the next, and before the first, as a mean.
    fn between_ns(&self, thread: usize) -> f64 {
        let asker = &self.askers[thread];
        asker.between_ns / (asker.fetches + 1.0)
    }

    /// The same: sometimes less, sometimes more, as if the moments at which it wants one were
    /// independent.
    fn varies_ns(&mut self, thread: usize) -> u64 {
        let varies = -(1.0 - self.nodes[thread].random.uniform()).ln();
        whole(self.between_ns(thread) * varies)
    }

    /// Who is asked for a thread's next page: any other, as often as it answers.
    fn asked(&mut self, thread: usize) -> usize {
        if let Some(asked) = self.askers[thread].asks {
            return asked.min(self.askers.len() - 1);
        }
        let others = self.askers.iter().enumerate();
        let others = others.filter(|(node, one)| *node != thread && one.answers > 0.0);
        let all: f64 = others.clone().map(|(_, one)| one.answers).sum();
        let mut left = self.nodes[thread].random.uniform() * all;
        let mut last = thread;
        for (node, one) in others {
            last = node;
            if left < one.answers {
                break;
            }
            left -= one.answers;
        }
        last
    }

    fn link_ns(&self, bytes: f64) -> u64 {
        whole(bytes * self.costs.ns_per_byte)
    }

    /// What a thread's fetch takes until the answer is there, and beside that, if it is alone.
    fn alone_ns(&self, thread: usize) -> [u64; 2] {
        let asker = &self.askers[thread];
        let links_ns = self.link_ns(asker.bytes) + self.link_ns(self.costs.ask_bytes);
        let messages_ns = 2 * whole(self.costs.latency_ns) + links_ns + whole(asker.served_ns);
        [
            messages_ns,
            whole(asker.fetch_ns).saturating_sub(messages_ns),
        ]
    }

    /// When a node's processor begins with a message that comes at `ns`.
    fn begins_ns(&self, node: usize, ns: u64) -> u64 {
        let node = &self.nodes[node];
        if node.serves_ns >= ns {
            return node.serves_ns;
        }
        let looks = node.waits_since_ns.is_some_and(|since_ns| {
            let idle_ns = ns.saturating_sub(since_ns.max(node.serves_ns));
            idle_ns as f64 <= self.costs.looks_ns
        });
        match looks {
            true => ns,
            false => ns + whole(self.costs.wake_ns),
        }
    }

    fn step(&mut self, ns: u64, thread: usize, step: Step) {
        let latency_ns = whole(self.costs.latency_ns);
        let ask_ns = self.link_ns(self.costs.ask_bytes);
        let answer_ns = self.link_ns(self.askers[thread].bytes);
        let [messages_ns, own_ns] = self.alone_ns(thread);
        let before_ns = whole(own_ns as f64 * BEFORE);
        match step {
            Step::Wants => {
                let node = &mut self.nodes[thread];
                if node.done < node.fetches {
                    node.asked_ns = ns;
                    self.at(ns + before_ns, thread, Step::Asks);
                } else if self.costs.ends_in_waiting {
                    node.waits_since_ns = Some(ns);
                }
            }
            Step::Asks => {
                let asked = self.asked(thread);
                let node = &mut self.nodes[thread];
                node.waits_since_ns = Some(ns);
                let leaves_ns = ns.max(node.out_ns);
                node.out_ns = leaves_ns + ask_ns;
                self.at(leaves_ns + latency_ns, thread, Step::Reaches(asked));
            }
            Step::Reaches(asked) => {
                let node = &mut self.nodes[asked];
                node.in_ns = ns.max(node.in_ns) + ask_ns;
                let comes_ns = node.in_ns;
                self.at(comes_ns, thread, Step::Comes(asked));
            }
            Step::Comes(asked) => {
                let served_ns = whole(self.askers[thread].served_ns);
                let answers_ns = self.begins_ns(asked, ns) + served_ns;
                self.nodes[asked].serves_ns = answers_ns;
                self.at(answers_ns, thread, Step::Answers(asked));
            }
            Step::Answers(asked) => {
                let node = &mut self.nodes[asked];
                let leaves_ns = ns.max(node.out_ns);
                node.out_ns = leaves_ns + answer_ns;
                self.at(leaves_ns + latency_ns, thread, Step::Returns);
            }
            Step::Returns => {
                let node = &mut self.nodes[thread];
                node.in_ns = ns.max(node.in_ns) + answer_ns;
                let there_ns = node.in_ns;
                self.at(there_ns, thread, Step::Ends);
            }
            Step::Ends => {
                // Who sleeps while it waits for as long as if it were alone has woken up in the price.
                let begins_ns = match messages_ns as f64 > self.costs.looks_ns {
                    true => ns.max(self.nodes[thread].serves_ns),
                    false => self.begins_ns(thread, ns),
                };
                let goes_on_ns = begins_ns + own_ns.saturating_sub(before_ns);
                let node = &mut self.nodes[thread];
                let took_ns = goes_on_ns.saturating_sub(node.asked_ns);
                let waited_ns = took_ns.saturating_sub(messages_ns + own_ns);
                match node.done {
                    0 => node.waited_first_ns = waited_ns,
                    _ => node.waited_ns += waited_ns,
                }
                node.serves_ns = goes_on_ns;
                node.waits_since_ns = None;
                node.done += 1;
                let next_ns = goes_on_ns + self.varies_ns(thread);
                self.at(next_ns, thread, Step::Wants);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COSTS: Costs = Costs {
        latency_ns: 1_000.0,
        ns_per_byte: 1.0,
        ask_bytes: 50.0,
        wake_ns: 0.0,
        looks_ns: 500.0,
        ends_in_waiting: true,
    };

    /// It takes 2,950 ns alone, of which 100 at who answers and 300 beside.
    fn asker(fetches: f64, answers: f64) -> Asker {
        Asker {
            fetches,
            fetch_ns: 2_950.0,
            served_ns: 100.0,
            bytes: 500.0,
            answers,
            ..Asker::default()
        }
    }

    #[test]
    fn who_is_alone_waits_for_nobody() {
        let alone = [asker(7.0, 0.0), asker(0.0, 1.0)];
        assert_eq!(wait_ns(&alone, &COSTS), [0.0, 0.0]);
        // Nobody answers, or nobody but the asker.
        assert_eq!(
            wait_ns(&[asker(7.0, 0.0), asker(0.0, 0.0)], &COSTS),
            [0.0, 0.0]
        );
        assert_eq!(wait_ns(&[asker(7.0, 3.0)], &COSTS), [0.0]);
        assert!(wait_ns(&[], &COSTS).is_empty());
        let endless = Asker {
            fetch_ns: f64::INFINITY,
            between_ns: f64::NAN,
            ..asker(1e12, 0.0)
        };
        assert!(wait_ns(&[endless, asker(0.0, 1.0)], &COSTS)[0].is_finite());
    }

    #[test]
    fn many_wait_for_the_link_of_one_and_then_follow_each_other() {
        let mut askers = vec![asker(3.0, 0.0); 3];
        askers.push(asker(0.0, 1.0));
        // They ask at once. The second answer follows the first, which takes 500 ns, and the third
        // the second; so do the questions after these, which find the link free.
        assert_eq!(wait_ns(&askers, &COSTS), [0.0, 500.0, 1_000.0, 0.0]);
        // Of so many one waits for all others every time.
        let mut askers = vec![asker(100.0, 0.0); 20];
        askers.push(asker(0.0, 1.0));
        let waits_ns: f64 = wait_ns(&askers, &COSTS).iter().sum();
        let each_ns = waits_ns / 2_000.0;
        let all_ns = 20.0 * 500.0 - 2_950.0;
        assert!((each_ns - all_ns).abs() < 0.05 * all_ns, "{each_ns}");
    }

    #[test]
    fn many_wait_for_the_processor_of_one() {
        let one = Asker {
            served_ns: 800.0,
            fetch_ns: 3_650.0,
            ..asker(100.0, 0.0)
        };
        let mut askers = vec![one; 10];
        askers.push(asker(0.0, 1.0));
        let waits_ns: f64 = wait_ns(&askers, &COSTS).iter().sum();
        let each_ns = waits_ns / 1_000.0;
        let all_ns = 10.0 * 800.0 - 3_650.0;
        assert!((each_ns - all_ns).abs() < 0.05 * all_ns, "{each_ns}");
    }

    #[test]
    fn what_a_home_has_yet_to_do_comes_first() {
        let mut askers = [asker(4.0, 0.0), asker(0.0, 1.0)];
        askers[0].begins_ns = 2_000.0;
        askers[1].busy_until_ns = 10_000.0;
        // The first question comes at 2000 + 150 + 1000 + 50.
        assert_eq!(wait_ns(&askers, &COSTS)[0], 6_800.0);
        // As long, however many fetches follow.
        askers[0].fetches = 4.0 * MOST;
        let many_ns = wait_ns(&askers, &COSTS)[0];
        assert!((many_ns - 6_800.0).abs() < 0.05 * 6_800.0, "{many_ns}");
    }

    #[test]
    fn a_question_waits_behind_the_nodes_own_answers() {
        // Each asks just when its node has begun to answer the other.
        let mut both = [asker(50.0, 1.0); 2];
        both[1].begins_ns = 1_300.0;
        let waits_ns = wait_ns(&both, &COSTS);
        assert!(waits_ns.iter().all(|ns| *ns > 50.0 * 200.0), "{waits_ns:?}");
        // Or at the same time: then nothing is under way.
        both[1].begins_ns = 0.0;
        assert_eq!(wait_ns(&both, &COSTS), [0.0, 0.0]);
    }

    #[test]
    fn somebody_wakes_up_where_nobody_looks() {
        let costs = Costs {
            wake_ns: 70.0,
            looks_ns: 5_000.0,
            ..COSTS
        };
        let askers = [asker(10.0, 0.0), asker(0.0, 1.0)];
        assert_eq!(wait_ns(&askers, &costs)[0], 0.0);
        // It has waited for long when the first question comes.
        let late = Asker {
            begins_ns: 9_000.0,
            ..askers[0]
        };
        assert_eq!(wait_ns(&[late, askers[1]], &costs)[0], 70.0);
        // It is at work all the time.
        let at_work = Costs {
            ends_in_waiting: false,
            ..costs
        };
        assert_eq!(wait_ns(&askers, &at_work)[0], 700.0);
    }
}
