//! Nodes of one thread each, which run random trees of tasks in a random order of steps and
//! messages, with the real [`Ledger`] and nothing else of the runtime. Every seed is one run:
//! `FATHOMP_TASK_SEEDS=FIRST..END` tries others.
//!
//! Checked at each step: who waits inside a task runs only descendants of it, by the true tree;
//! every task begins once; nobody comes through a barrier before all tasks are complete. Checked
//! at the end: everybody came through, and few messages were needed.

use super::{BROKER, Ledger, Node, Note, Posted, Settled};
use fathomp_launch::names::TASK_SEEDS;
use fathomp_stats::Random;
use std::collections::{BTreeMap, VecDeque};

const BARRIERS: u32 = 3;
/// Far more steps than any run takes.
const STEPS_MAX: u32 = 400_000;

#[derive(Clone, Copy)]
enum Step {
    Create(usize),
    /// Until all children that it has created are complete.
    Wait,
}

/// A task as the program has it.
struct Task {
    parent: Option<usize>,
    body: Vec<Step>,
    begun: bool,
    complete: bool,
}

enum Message {
    Note(u32, Note),
    Waits(u32, Vec<u64>),
    Batch(Vec<(usize, u64, u64)>, Vec<u64>),
    Reports(Vec<u64>, bool),
    Arrived(u32),
    Passed,
}

struct Frame {
    task: usize,
    at: usize,
}

struct Process {
    ledger: Ledger,
    queue: Vec<usize>,
    stack: Vec<Frame>,
    /// Given to others: the task and who has it.
    away: BTreeMap<u64, (usize, Node)>,
    /// Given by others: who, its number there, and the task of this node that it is below.
    foreign: BTreeMap<usize, (Node, u64, Option<usize>)>,
    ended: Vec<usize>,
    /// Created here and, as far as this node knows, not complete.
    open: Vec<usize>,
    reports: Vec<(Node, u64)>,
    told: Vec<Vec<u64>>,
    last: u64,
    passed: u32,
    has_come: bool,
}

struct World {
    random: Random,
    tasks: Vec<Task>,
    /// Implicit tasks, by barrier and node.
    implicit: Vec<Vec<usize>>,
    nodes: Vec<Process>,
    channels: BTreeMap<(Node, Node), VecDeque<Message>>,
    arrived: Vec<u32>,
    notes: usize,
    batches: usize,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let count = 2 + random.below(3);
        let nodes = (0..count).map(|me| Process {
            ledger: Ledger::new(me as Node, count as u32),
            queue: Vec::new(),
            stack: Vec::new(),
            away: BTreeMap::new(),
            foreign: BTreeMap::new(),
            ended: Vec::new(),
            open: Vec::new(),
            reports: Vec::new(),
            told: vec![Vec::new(); count],
            last: 0,
            passed: 0,
            has_come: false,
        });
        let mut world = Self {
            random,
            tasks: Vec::new(),
            implicit: Vec::new(),
            nodes: nodes.collect(),
            channels: BTreeMap::new(),
            arrived: vec![0; BARRIERS as usize],
            notes: 0,
            batches: 0,
        };
        for _ in 0..BARRIERS {
            let all = (0..count).map(|_| {
                let most = if world.random.below(2) == 0 { 1 } else { 30 };
                let mut budget = world.random.below(most);
                world.grow(None, 0, &mut budget)
            });
            let all = all.collect();
            world.implicit.push(all);
        }
        for me in 0..count {
            world.begin(me, world.implicit[0][me]);
        }
        world
    }

    /// A random tree of at most `budget` tasks.
    fn grow(&mut self, parent: Option<usize>, depth: usize, budget: &mut usize) -> usize {
        let number = self.tasks.len();
        self.tasks.push(Task {
            parent,
            body: Vec::new(),
            begun: false,
            complete: false,
        });
        let mut body = Vec::new();
        while *budget > 0 && depth < 6 && self.random.below(8) != 0 {
            *budget -= 1;
            body.push(Step::Create(self.grow(Some(number), depth + 1, budget)));
            if self.random.below(3) == 0 {
                body.push(Step::Wait);
            }
        }
        self.tasks[number].body = body;
        number
    }

    fn begin(&mut self, me: usize, task: usize) {
        assert!(
            !std::mem::replace(&mut self.tasks[task].begun, true),
            "begun twice"
        );
        self.nodes[me].stack.push(Frame { task, at: 0 });
    }

    fn descends(&self, mut task: usize, ancestor: usize) -> bool {
        while let Some(parent) = self.tasks[task].parent {
            if parent == ancestor {
                return true;
            }
            task = parent;
        }
        false
    }

    fn send(&mut self, from: usize, to: Node, message: Message) {
        assert_ne!(from, to as usize, "a message to itself");
        self.notes += usize::from(matches!(message, Message::Note(..) | Message::Waits(..)));
        let channel = self.channels.entry((from as Node, to)).or_default();
        channel.push_back(message);
    }

    fn send_notes(&mut self, me: usize, notes: Vec<Posted>) {
        for Posted { to, epoch, note } in notes {
            self.send(me, to, Message::Note(epoch, note));
        }
    }

    /// The thread of a node does one thing; false if there is nothing for it to do.
    fn step(&mut self, me: usize) -> bool {
        let Some(frame) = self.nodes[me].stack.last_mut() else {
            return self.gather(me);
        };
        let task = frame.task;
        match self.tasks[task].body.get(frame.at) {
            Some(&Step::Create(child)) => {
                frame.at += 1;
                let mut notes = Vec::new();
                let node = &mut self.nodes[me];
                node.queue.push(child);
                node.open.push(child);
                node.ledger.holds(&mut notes);
                self.send_notes(me, notes);
                true
            }
            Some(Step::Wait) => {
                let node = &self.nodes[me];
                if node
                    .open
                    .iter()
                    .all(|open| self.tasks[*open].parent != Some(task))
                {
                    self.nodes[me].stack.last_mut().unwrap().at += 1;
                    let _ = self.ask(me, None);
                    return true;
                }
                let place = node
                    .queue
                    .iter()
                    .rposition(|&one| node.is_below(&self.tasks, one, task));
                match place {
                    Some(place) => {
                        let child = self.nodes[me].queue.remove(place);
                        assert!(self.descends(child, task), "runs what it must not");
                        self.begin(me, child);
                        true
                    }
                    None => self.deliver(me) || self.ask(me, Some(task)),
                }
            }
            None => {
                self.nodes[me].stack.pop();
                self.end(me, task);
                true
            }
        }
    }

    /// A task's code is through.
    fn end(&mut self, me: usize, task: usize) {
        self.tasks[task].complete = true;
        let node = &mut self.nodes[me];
        if let Some(&(from, number, _)) = node.foreign.get(&task) {
            node.ended.push(task);
            node.reports.push((from, number));
            if self.random.below(2) == 0 {
                self.deliver(me);
            }
        }
        self.nodes[me].open.retain(|one| *one != task);
    }

    /// Sends reports of ends.
    fn deliver(&mut self, me: usize) -> bool {
        let reports = std::mem::take(&mut self.nodes[me].reports);
        for &(to, number) in &reports {
            self.send(me, to, Message::Reports(vec![number], false));
        }
        !reports.is_empty()
    }

    /// Says for what the thread waits in `task`; whether that was news.
    fn ask(&mut self, me: usize, task: Option<usize>) -> bool {
        let mut news = false;
        for to in 0..self.nodes.len() {
            let node = &self.nodes[me];
            let wanted = |&(_, &(away, at)): &(&u64, &(usize, Node))| {
                at as usize == to && task.is_some_and(|task| node.is_below(&self.tasks, away, task))
            };
            let tasks: Vec<u64> = node.away.iter().filter(wanted).map(|(n, _)| *n).collect();
            if tasks != node.told[to] {
                self.nodes[me].told[to].clone_from(&tasks);
                let epoch = self.nodes[me].passed;
                self.send(me, to as Node, Message::Waits(epoch, tasks));
                news = true;
            }
        }
        news
    }

    /// The thread waits at the barrier.
    fn gather(&mut self, me: usize) -> bool {
        if self.nodes[me].passed == BARRIERS {
            return false;
        }
        if let Some(task) = self.nodes[me].queue.pop() {
            if self.nodes[me].queue.is_empty() && self.random.below(2) == 0 {
                let mut notes = Vec::new();
                self.nodes[me].ledger.is_idle(&mut notes);
                self.send_notes(me, notes);
            }
            self.begin(me, task);
            return true;
        }
        let mut news = self.deliver(me);
        let mut notes = Vec::new();
        let node = &mut self.nodes[me];
        let settled = match node.open.is_empty() {
            true => node.ledger.settle(),
            false => Settled::Nothing,
        };
        if settled != Settled::Come {
            node.ledger.is_idle(&mut notes);
        }
        news |= !notes.is_empty();
        self.send_notes(me, notes);
        match settled {
            Settled::Pay(to) => self.send(me, to, Message::Reports(Vec::new(), true)),
            Settled::Come => {
                self.nodes[me].has_come = true;
                let epoch = self.nodes[me].passed;
                if me as Node == BROKER {
                    self.arrived(me, epoch);
                } else {
                    self.send(me, BROKER, Message::Arrived(epoch));
                }
            }
            Settled::Nothing => return news,
        }
        true
    }

    /// Node 0 hears that a node has come.
    fn arrived(&mut self, from: usize, epoch: u32) {
        let mut notes = Vec::new();
        let broker = &mut self.nodes[BROKER as usize].ledger;
        broker
            .hear(from as Node, epoch, Note::Idle, &mut notes)
            .unwrap();
        self.send_notes(BROKER as usize, notes);
        self.arrived[epoch as usize] += 1;
        if self.arrived[epoch as usize] as usize == self.nodes.len() {
            let before = *self.implicit[epoch as usize].iter().max().unwrap();
            let trees = self.implicit.get(epoch as usize + 1);
            let end = trees.map_or(self.tasks.len(), |next| *next.iter().min().unwrap());
            assert!(before < end && self.tasks[..end].iter().all(|task| task.complete));
            for to in 1..self.nodes.len() {
                self.send(BROKER as usize, to as Node, Message::Passed);
            }
            self.pass(BROKER as usize);
        }
    }

    fn pass(&mut self, me: usize) {
        let node = &mut self.nodes[me];
        assert!(node.queue.is_empty() && node.away.is_empty() && node.stack.is_empty());
        assert!(node.has_come && node.reports.is_empty());
        node.ledger.pass().expect("all batches are paid back");
        node.has_come = false;
        node.told.iter_mut().for_each(Vec::clear);
        node.passed += 1;
        if node.passed < BARRIERS {
            let epoch = node.passed as usize;
            self.begin(me, self.implicit[epoch][me]);
        }
    }

    /// The next message from one node to another is handled.
    fn receive(&mut self, from: Node, to: Node) {
        let message = self
            .channels
            .get_mut(&(from, to))
            .and_then(VecDeque::pop_front);
        let me = to as usize;
        let mut notes = Vec::new();
        let node = &mut self.nodes[me];
        match message {
            None => {}
            Some(Message::Note(epoch, note)) => {
                node.ledger.hear(from, epoch, note, &mut notes).unwrap();
            }
            Some(Message::Waits(epoch, tasks)) => node.ledger.waits(from, epoch, tasks).unwrap(),
            Some(Message::Batch(parcels, home)) => {
                let pays = node.ledger.got(from);
                node.told[from as usize].clear();
                for number in home {
                    let (task, _) = node.away.remove(&number).expect("it was away");
                    node.queue.push(task);
                }
                for (task, number, below) in parcels {
                    let above = (below != 0).then(|| node.away[&below].0);
                    node.foreign.insert(task, (from, number, above));
                    node.queue.push(task);
                    node.open.push(task);
                }
                node.ledger.holds(&mut notes);
                if pays {
                    self.send(me, from, Message::Reports(Vec::new(), true));
                }
            }
            Some(Message::Reports(numbers, pays)) => {
                for number in numbers {
                    let (task, _) = node.away.remove(&number).expect("it was away");
                    node.open.retain(|one| *one != task);
                }
                if pays {
                    node.ledger.paid().unwrap();
                }
            }
            Some(Message::Arrived(epoch)) => self.arrived(from as usize, epoch),
            Some(Message::Passed) => self.pass(me),
        }
        self.send_notes(me, notes);
    }

    /// A node gives a batch to somebody who wants one; false if it cannot.
    fn serve(&mut self, me: usize) -> bool {
        let node = &mut self.nodes[me];
        let waiting = node.ledger.waiting();
        let waiting: Vec<_> = waiting
            .map(|(to, tasks)| (to, Some(tasks.to_vec())))
            .collect();
        let wanting: Vec<_> = node.ledger.wanting().map(|to| (to, None)).collect();
        for (to, below) in waiting.into_iter().chain(wanting) {
            let most = node.queue.len().div_ceil(2);
            let mut taken: Vec<usize> = Vec::new();
            for &task in &node.queue {
                let may = match (node.foreign.get(&task), &below) {
                    (Some((from, _, _)), None) => *from == to,
                    (Some((from, number, _)), Some(below)) => *from == to && below.contains(number),
                    (None, None) => true,
                    (None, Some(below)) => {
                        let above = node.above(&self.tasks, task, to);
                        above.iter().any(|number| below.contains(number))
                    }
                };
                if may && taken.len() < most {
                    taken.push(task);
                }
            }
            if taken.is_empty() {
                continue;
            }
            node.queue.retain(|task| !taken.contains(task));
            let (mut parcels, mut home) = (Vec::new(), Vec::new());
            for task in taken {
                if let Some((_, number, _)) = node.foreign.remove(&task) {
                    node.open.retain(|one| *one != task);
                    home.push(number);
                } else {
                    node.last += 1;
                    let above = node.above(&self.tasks, task, to);
                    node.away.insert(node.last, (task, to));
                    parcels.push((task, node.last, above.first().copied().unwrap_or(0)));
                }
            }
            node.ledger.gave(to);
            self.batches += 1;
            self.send(me, to, Message::Batch(parcels, home));
            return true;
        }
        false
    }

    fn run(&mut self) {
        let mut idle = 0;
        for _ in 0..STEPS_MAX {
            if self.nodes.iter().all(|node| node.passed == BARRIERS) {
                // Who finds nothing asks once, and each pair of nodes is matched once.
                let most = (self.batches + self.tasks.len()) * (3 + self.nodes.len());
                let fixed = BARRIERS as usize * self.nodes.len() * (3 + self.nodes.len());
                assert!(self.notes <= most + fixed, "{} notes", self.notes);
                return;
            }
            let filled = self.channels.iter().filter(|(_, queue)| !queue.is_empty());
            let filled: Vec<(Node, Node)> = filled.map(|(pair, _)| *pair).collect();
            let me = self.random.below(self.nodes.len());
            let did = match self.random.below(4) {
                0 | 1 if !filled.is_empty() => {
                    let (from, to) = filled[self.random.below(filled.len())];
                    self.receive(from, to);
                    true
                }
                2 => self.serve(me),
                _ => self.step(me),
            };
            idle = if did { 0 } else { idle + 1 };
            assert!(idle < 2000, "all nodes wait: {}", self.state());
        }
        panic!("no end: {}", self.state());
    }

    fn state(&self) -> String {
        let of = |node: &Process| {
            let stack: Vec<_> = node.stack.iter().map(|frame| frame.task).collect();
            format!(
                "[passed {} stack {stack:?} queue {:?} away {:?} open {:?} {:?}]",
                node.passed, node.queue, node.away, node.open, node.ledger
            )
        };
        self.nodes.iter().map(of).collect()
    }
}

impl Process {
    /// The task above, as far as this node knows.
    fn parent(&self, tasks: &[Task], task: usize) -> Option<usize> {
        match self.foreign.get(&task) {
            Some((_, _, above)) => *above,
            None => tasks[task].parent,
        }
    }

    fn is_below(&self, tasks: &[Task], mut task: usize, ancestor: usize) -> bool {
        while let Some(parent) = self.parent(tasks, task) {
            if parent == ancestor {
                return true;
            }
            task = parent;
        }
        false
    }

    /// Tasks of `node` that `task` is below and that have not ended, by that node's numbers.
    fn above(&self, tasks: &[Task], mut task: usize, node: Node) -> Vec<u64> {
        let mut found = Vec::new();
        while let Some(parent) = self.parent(tasks, task) {
            if let Some(&(from, number, _)) = self.foreign.get(&parent)
                && from == node
                && !self.ended.contains(&parent)
            {
                found.push(number);
            }
            task = parent;
        }
        found
    }
}

#[test]
fn all_tasks_run_once_and_every_barrier_ends_after_them() {
    let asked = std::env::var(TASK_SEEDS.name).ok();
    let seeds = asked.map_or(0..3000, |asked| {
        let range = asked.split_once("..");
        let range = range.and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
        range.unwrap_or_else(|| panic!("{TASK_SEEDS} is FIRST..END, not {asked:?}"))
    });
    for seed in seeds {
        let run = std::panic::AssertUnwindSafe(|| World::new(seed).run());
        if std::panic::catch_unwind(run).is_err() {
            panic!(
                "seed {seed}: run it again with {TASK_SEEDS}={seed}..{}",
                seed + 1
            );
        }
    }
}
