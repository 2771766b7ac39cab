//! Everything of a simulated cluster but its protocols.

use super::wait::{Frame, Publishing};
use super::{check, wait};
use crate::failure::{Failure, Wrong};
use crate::memory::Memory;
use crate::network::{Death, Network};
use crate::program::{Address, Program, Step};
use crate::update::Update;
use crate::world::Outcome;
use fathomp_protocols::PageBytes;
use fathomp_types::{NodeId, ThreadId};
use rand::{Rng, RngExt};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

pub(super) enum Event {
    /// A thread takes its next step.
    Step(usize, usize),
    /// A node has not flushed for a while.
    Timer(usize),
    /// A thread comes to a barrier for its node, to which all others have come.
    Begin(usize, usize),
    /// A message arrives.
    Deliver(NodeId, usize, Vec<u8>),
    /// A node has told what was written there, for others.
    Published(usize),
    /// A message that is not the protocol's.
    Frame(NodeId, usize, Frame),
}

impl Event {
    /// Where it happens.
    pub(super) fn node(&self) -> usize {
        match self {
            Self::Step(node, _) | Self::Begin(node, _) => *node,
            Self::Timer(node) | Self::Published(node) => *node,
            Self::Deliver(_, node, _) | Self::Frame(_, node, _) => *node,
        }
    }
}

pub(super) struct Thread {
    pub(super) steps: Vec<Step>,
    pub(super) next: usize,
    /// Stands still until the protocol lets it go on.
    pub(super) waiting: bool,
    /// Takes part in barriers. A thread that does not is one that the program started by
    /// itself.
    pub(super) member: bool,
    pub(super) at_barrier: bool,
    /// An awaited value was not there; flush, then look again.
    pub(super) flushing: bool,
    /// How far it is with an update, and what it found there.
    pub(super) update: Update,
    pub(super) found: u8,
    /// How far it is with waiting.
    pub(super) wait: wait::Stage,
}

pub(super) struct Node {
    pub(super) memory: Memory<Box<PageBytes>>,
    pub(super) threads: Vec<Thread>,
    slowness: u64,
    pub(super) publishing: Publishing,
    /// A flush that no thread asked for is on its way.
    pub(super) flushing: bool,
    /// Barriers that all its threads have reached, and those that it has left.
    pub(super) reached: usize,
    pub(super) left: usize,
    /// The thread that has reached one for it, and waits for all other nodes to do so.
    pub(super) awaiting: Option<usize>,
}

impl Node {
    /// True if all threads that take part in barriers have reached one.
    pub(super) fn is_at_barrier(&self) -> bool {
        let mut members = self.threads.iter().filter(|t| t.member).peekable();
        members.peek().is_some() && members.all(|t| t.at_barrier)
    }

    /// Whether threads that take no part in barriers may do here what others wait for. At a
    /// barrier of the protocol they may have to stand still: it begins when all nodes have
    /// come to the program's. On real nodes so it does if there are any such threads; here only
    /// if they synchronise, or if others `learn` what pages show beside what they write: these wait
    /// until that is told.
    pub(super) fn is_needed_until_all_come(&self, learn: bool) -> bool {
        let synchronises = |step: &Step| {
            let is_plain = matches!(step, Step::Read(_) | Step::Write(..) | Step::Observe(_));
            !is_plain
        };
        let mut own = self.threads.iter().filter(|thread| !thread.member);
        own.any(|thread| learn || thread.steps.iter().any(synchronises))
    }
}

/// The nodes, what is on its way between them, and what all writes should have led to.
pub(super) struct Cluster<'a> {
    pub(super) nodes: Vec<Node>,
    /// What every write reaches at once.
    pub(super) truth: BTreeMap<Address, u8>,
    /// Whether threads may have to learn what pages show: they update bytes, or wait for some.
    pub(super) learn: bool,
    /// Bytes that threads write which take no part in barriers.
    pub(super) unsettled: BTreeSet<Address>,
    /// Bytes of which the truth is what was added so far, wherever that is.
    pub(super) added: BTreeSet<Address>,
    /// The truth when the last node reached each barrier.
    pub(super) at_barrier: Vec<BTreeMap<Address, u8>>,
    /// What was written since, perhaps before a node has left.
    pub(super) since: BTreeMap<Address, BTreeSet<u8>>,
    /// By time, then by order of creation.
    events: BTreeMap<(u64, u64), Event>,
    created: u64,
    now: u64,
    /// Arrival of the last message between two nodes.
    last: BTreeMap<(usize, usize), u64>,
    pub(super) network: Network,
    pub(super) outcome: Outcome,
    pub(super) random: &'a mut dyn Rng,
}

impl<'a> Cluster<'a> {
    pub(super) fn new(program: &Program, network: Network, random: &'a mut dyn Rng) -> Self {
        let nodes = program.threads.iter().map(|threads| {
            let threads = threads.iter().map(|steps| Thread {
                steps: steps.clone(),
                next: 0,
                waiting: false,
                member: steps.contains(&Step::Barrier),
                at_barrier: false,
                flushing: false,
                update: Update::default(),
                found: 0,
                wait: wait::Stage::default(),
            });
            Node {
                memory: Memory::new(program.pages),
                threads: threads.collect(),
                publishing: Publishing::default(),
                flushing: false,
                reached: 0,
                left: 0,
                awaiting: None,
                slowness: random.random_range(1..=network.slowness_max),
            }
        });
        let mut cluster = Self {
            nodes: nodes.collect(),
            truth: BTreeMap::new(),
            learn: program.updates() || program.waits(),
            unsettled: check::unsettled(program),
            added: check::added(program),
            at_barrier: Vec::new(),
            since: BTreeMap::new(),
            events: BTreeMap::new(),
            created: 0,
            now: 0,
            last: BTreeMap::new(),
            network,
            outcome: Outcome::default(),
            random,
        };
        for node in 0..cluster.nodes.len() {
            for thread in 0..cluster.nodes[node].threads.len() {
                let delay = cluster.random.random_range(0..5);
                cluster.schedule(delay, Event::Step(node, thread));
            }
        }
        cluster
    }

    /// What happens next, at a node that lives.
    pub(super) fn next_event(&mut self) -> Result<Option<Event>, Failure> {
        while let Some(((now, _), event)) = self.events.pop_first() {
            self.now = now;
            self.outcome.events += 1;
            if self.outcome.events > self.network.events_max {
                return Err(Failure::Hung(self.unfinished()));
            }
            if !self.is_dead(event.node()) {
                return Ok(Some(event));
            }
        }
        Ok(None)
    }

    pub(super) fn schedule(&mut self, delay: u64, event: Event) {
        self.created += 1;
        self.events.insert((self.now + delay, self.created), event);
    }

    /// A thread takes its next step soon.
    pub(super) fn go_on(&mut self, node: usize, thread: usize) {
        let slowness = self.nodes[node].slowness;
        let delay = self.random.random_range(1..=2 * slowness);
        self.schedule(delay, Event::Step(node, thread));
    }

    /// How long a message takes from one node to another that is sent now.
    pub(super) fn delay(&mut self, from: usize, to: usize) -> u64 {
        let last = self.last.entry((from, to)).or_default();
        let arrival = self.now + self.random.random_range(1..=self.network.delay_max);
        *last = arrival.max(*last);
        *last - self.now
    }

    pub(super) fn is_dead(&self, node: usize) -> bool {
        let death = self.network.death;
        death.is_some_and(|death| usize::from(death.node.0) == node && self.has_come(death))
    }

    pub(super) fn has_come(&self, death: Death) -> bool {
        self.outcome.events > death.after
    }

    /// Threads of living nodes that have not ended.
    pub(super) fn unfinished(&self) -> Vec<(NodeId, ThreadId)> {
        let nodes = self.nodes.iter().enumerate();
        let living = nodes.filter(|(node, _)| !self.is_dead(*node));
        let threads = living.flat_map(|(node, state)| {
            let threads = state.threads.iter().enumerate();
            threads
                .filter(|(_, thread)| thread.next < thread.steps.len())
                .map(move |(thread, _)| (node_id(node), thread_id(thread)))
        });
        threads.collect()
    }

    /// True if a thread has yet to spin.
    pub(super) fn spins(&self) -> bool {
        let mut threads = self.nodes.iter().flat_map(|node| &node.threads);
        threads.any(|t| {
            let mut ahead = t.steps[t.next..].iter();
            ahead.any(|step| matches!(step, Step::Spin(..)))
        })
    }

    /// All threads of a node go on that the barrier's representative has come to it for.
    pub(super) fn leave_barrier(&mut self, node: usize) -> Result<(), Wrong> {
        self.check_pages(node)?;
        let state = &mut self.nodes[node];
        state.left += 1;
        for thread in 0..state.threads.len() {
            let state = &mut self.nodes[node].threads[thread];
            if std::mem::take(&mut state.at_barrier) {
                state.waiting = false;
                state.next += 1;
                self.go_on(node, thread);
            }
        }
        Ok(())
    }

    /// All nodes have reached a barrier, which those hear that wait for it.
    pub(super) fn let_barriers_begin(&mut self) {
        for node in 0..self.nodes.len() {
            if let Some(thread) = self.nodes[node].awaiting.take() {
                let delay = self.random.random_range(1..=self.network.delay_max);
                self.schedule(delay, Event::Begin(node, thread));
            }
        }
    }

    pub(super) fn note(&mut self, node: usize, way: &str, what: &dyn Debug) {
        if self.network.trace {
            let line = format!("{:>6} node {node} {way}: {what:?}", self.now);
            self.outcome.trace.push(line);
        }
    }
}

pub(super) fn node_id(number: usize) -> NodeId {
    NodeId(u16::try_from(number).unwrap_or(u16::MAX))
}

pub(super) fn thread_id(number: usize) -> ThreadId {
    ThreadId(u32::try_from(number).unwrap_or(u32::MAX))
}
