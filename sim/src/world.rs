//! The cluster at work: one event after the other, in an order that the seed
//! decides.

mod act;
mod check;
mod direct;
mod tell;
mod update;
mod wait;

use crate::failure::Failure;
use crate::memory::{Blob, Memory};
use crate::network::{Death, Network};
use crate::program::{Address, Program, Step};
use crate::shared::Shared;
use fathomp_base::{NodeId, PageId, ThreadId};
use fathomp_dsm::{
    Access, Input, Interval, Looks, Offer, Operation, PageBytes, Protocol, Underway,
};
use rand::{Rng, RngExt};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// What a run left.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What each thread observed, in order, by node and thread.
    pub observed: BTreeMap<(NodeId, ThreadId), Vec<u8>>,
    /// Messages sent.
    pub messages: u64,
    /// Faults taken.
    pub faults: u64,
    /// Updates done in the memory of their page's home, and in copies.
    pub updates: [u64; 2],
    /// Locks that threads took which their nodes kept.
    pub locks_kept: u64,
    /// The pages after each barrier, if that was asked for: those of which a node
    /// had a valid copy when it left, alike at all that had one.
    pub images: Vec<BTreeMap<PageId, Box<PageBytes>>>,
    /// Threads of other nodes that a node's death has left standing still.
    pub standing: Vec<(NodeId, ThreadId)>,
    /// Events that happened.
    pub events: u64,
    /// What happened, in order, if that was asked for.
    pub trace: Vec<String>,
}

/// Runs `program` with a protocol at each node.
///
/// # Errors
/// The first thing that is wrong, and what happened before.
pub fn run<P: Protocol<Blob>>(
    program: &Program,
    protocol: impl Fn(NodeId) -> P,

    network: Network,
    random: &mut impl Rng,
) -> Result<Outcome, (Failure, Vec<String>)> {
    let mut world = World::new(program, protocol, network, random);
    match world.start(random).and_then(|()| world.run(random)) {
        Ok(()) => Ok(world.outcome),
        Err(failure) => Err((failure, world.outcome.trace)),
    }
}

/// The thread that flushes for a node whose threads do not.
const SERVICE: ThreadId = ThreadId(u32::MAX);
/// Time between two of its flushes.
const FLUSH_EVERY: u64 = 300;

enum Event {
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
    Frame(NodeId, usize, wait::Frame),
}

impl Event {
    /// Where it happens.
    fn node(&self) -> usize {
        match self {
            Self::Step(node, _) | Self::Begin(node, _) => *node,
            Self::Timer(node) | Self::Published(node) => *node,
            Self::Deliver(_, node, _) | Self::Frame(_, node, _) => *node,
        }
    }
}

struct Thread {
    steps: Vec<Step>,
    next: usize,
    /// Stands still until the protocol lets it go on.
    waiting: bool,
    /// Takes part in barriers. Who does not is a thread that the program started
    /// by itself.
    member: bool,
    at_barrier: bool,
    /// An awaited value was not there; flush, then look again.
    flushing: bool,
    /// How far it is with an update, and what it found there.
    stage: update::Stage,
    found: u8,
    /// How far it is with waiting.
    wait: wait::Stage,
}

struct Node<P> {
    protocol: P,
    memory: Memory,
    threads: Vec<Thread>,
    slowness: u64,
    /// Whether others may take pages, and those that they have taken.
    offers: BTreeMap<PageId, Offer>,
    /// What it knew when it told others last, when pages became old, and when their content
    /// was complete.
    shown: Vec<(NodeId, Interval)>,
    olds: BTreeMap<PageId, Vec<(NodeId, Interval)>>,
    made: BTreeMap<PageId, Vec<(NodeId, Interval)>>,
    taken: BTreeSet<PageId>,
    /// What others have taken of pages that it writes unwatched, and keep.
    kept: Vec<(PageId, Vec<u8>)>,
    /// Diffs that others have brought since the protocol was told.
    brought: BTreeMap<NodeId, Interval>,
    /// The last intervals whose diffs they have begun to bring.
    begun: BTreeMap<NodeId, Interval>,
    underway: Underway,
    /// What has come to pages that threads wait for.
    looks: Looks,
    publishing: wait::Publishing,
    /// A flush that no thread asked for is on its way.
    flushing: bool,
    /// Barriers that all its threads have reached, and those that it has left.
    reached: usize,
    left: usize,
    /// The thread that has reached one for it, and waits for all other nodes to do so.
    awaiting: Option<usize>,
}

impl<P> Node<P> {
    /// True if all threads that take part in barriers have reached one.
    fn is_at_barrier(&self) -> bool {
        let mut members = self.threads.iter().filter(|t| t.member).peekable();
        members.peek().is_some() && members.all(|t| t.at_barrier)
    }

    /// Whether threads that take no part in barriers may do here what others wait for. At a
    /// barrier of the protocol they may have to stand still: it begins when all nodes have
    /// come to the program's.
    fn is_needed_until_all_come(&self) -> bool {
        let synchronises = |step: &Step| {
            let is_plain = matches!(step, Step::Read(_) | Step::Write(..) | Step::Observe(_));
            !is_plain
        };
        let mut own = self.threads.iter().filter(|thread| !thread.member);
        own.any(|thread| thread.steps.iter().any(synchronises))
    }
}

struct World<P: Protocol<Blob>> {
    nodes: Vec<Node<P>>,
    shared: Shared,
    /// What every write reaches at once.
    truth: BTreeMap<Address, u8>,
    /// Bytes that threads write which take no part in barriers.
    unsettled: BTreeSet<Address>,
    /// The truth when the last node reached each barrier.
    at_barrier: Vec<BTreeMap<Address, u8>>,
    /// What was written since, perhaps before a node has left.
    since: BTreeMap<Address, BTreeSet<u8>>,
    /// By time, then by order of creation.
    events: BTreeMap<(u64, u64), Event>,
    created: u64,
    now: u64,
    /// Arrival of the last message between two nodes.
    last: BTreeMap<(usize, usize), u64>,
    network: Network,
    outcome: Outcome,
}

impl<P: Protocol<Blob>> World<P> {
    fn new(
        program: &Program,
        protocol: impl Fn(NodeId) -> P,

        network: Network,
        random: &mut impl Rng,
    ) -> Self {
        let nodes = program.threads.iter().enumerate().map(|(number, threads)| {
            let me = node_id(number);
            let threads = threads.iter().map(|steps| Thread {
                steps: steps.clone(),
                next: 0,
                waiting: false,
                member: steps.contains(&Step::Barrier),
                at_barrier: false,
                flushing: false,
                stage: update::Stage::default(),
                found: 0,
                wait: wait::Stage::default(),
            });
            Node {
                protocol: protocol(me),
                memory: Memory::new(program.pages, network.silent_writes),
                threads: threads.collect(),
                offers: BTreeMap::new(),
                shown: Vec::new(),
                olds: BTreeMap::new(),
                made: BTreeMap::new(),
                taken: BTreeSet::new(),
                kept: Vec::new(),
                brought: BTreeMap::new(),
                begun: BTreeMap::new(),
                underway: Underway::default(),
                looks: Looks::default(),
                publishing: wait::Publishing::default(),
                flushing: false,
                reached: 0,
                left: 0,
                awaiting: None,
                slowness: random.random_range(1..=network.slowness_max),
            }
        });
        let mut world = Self {
            nodes: nodes.collect(),
            shared: Shared::default(),
            truth: BTreeMap::new(),
            unsettled: check::unsettled(program),
            at_barrier: Vec::new(),
            since: BTreeMap::new(),
            events: BTreeMap::new(),
            created: 0,
            now: 0,
            last: BTreeMap::new(),
            network,
            outcome: Outcome::default(),
        };
        for node in 0..world.nodes.len() {
            for thread in 0..world.nodes[node].threads.len() {
                world.schedule(random.random_range(0..5), Event::Step(node, thread));
            }
        }
        world
    }

    fn start(&mut self, random: &mut impl Rng) -> Result<(), Failure> {
        for node in 0..self.nodes.len() {
            let mut actions = Vec::new();
            self.nodes[node].protocol.start(&mut actions);
            for follows in self.carry_out(node, actions, random)? {
                self.input(node, follows, random)?;
            }
        }
        if self.spins() {
            for node in 0..self.nodes.len() {
                self.schedule(random.random_range(1..FLUSH_EVERY), Event::Timer(node));
            }
        }
        Ok(())
    }

    /// True if a thread has yet to spin.
    fn spins(&self) -> bool {
        let mut threads = self.nodes.iter().flat_map(|node| &node.threads);
        threads.any(|t| {
            t.steps[t.next..]
                .iter()
                .any(|step| matches!(step, Step::Spin(..)))
        })
    }

    /// Flushes for a node whose threads may be waiting for each other by ordinary
    /// reads and writes.
    fn timer(&mut self, node: usize, random: &mut impl Rng) -> Result<(), Failure> {
        let waits = self.nodes[node].awaiting.is_some();
        if !waits && !self.spins() {
            return Ok(());
        }
        self.schedule(FLUSH_EVERY, Event::Timer(node));
        let state = &mut self.nodes[node];
        if state.flushing || state.is_at_barrier() && !waits {
            return Ok(());
        }
        state.flushing = true;
        let flush = Input::Operation {
            thread: SERVICE,
            operation: Operation::Flush,
        };
        self.input(node, flush, random)
    }

    fn schedule(&mut self, delay: u64, event: Event) {
        self.created += 1;
        self.events.insert((self.now + delay, self.created), event);
    }

    fn run(&mut self, random: &mut impl Rng) -> Result<(), Failure> {
        let mut events = 0;
        while let Some(((now, _), event)) = self.events.pop_first() {
            self.now = now;
            events += 1;
            if events > self.network.events_max {
                return Err(Failure::Hung(self.unfinished()));
            }
            self.outcome.events = events;
            if self.is_dead(event.node()) {
                continue;
            }
            match event {
                Event::Step(node, thread) => self.step(node, thread, random)?,
                Event::Timer(node) => self.timer(node, random)?,
                Event::Published(node) => self.go_on_publishing(node, random)?,
                Event::Frame(from, to, frame) => self.framed(from, to, frame, random)?,
                Event::Begin(node, thread) => self.begin_barrier(node, thread, random)?,
                Event::Deliver(from, to, bytes) => {
                    let content = |range: Option<Range<usize>>| match range {
                        Some(range) => Blob::from(bytes[range].to_vec()),
                        None => Blob::Left(from),
                    };
                    let message = P::decode(&bytes, content).map_err(|error| Failure::Wire {
                        node: node_id(to),
                        error,
                    })?;
                    self.input(to, Input::Message { from, message }, random)?;
                }
            }
        }
        let unfinished = self.unfinished();
        if unfinished.is_empty() {
            return Ok(());
        }
        let died = |death: Death| self.outcome.events > death.after;
        if self.network.death.is_some_and(died) {
            self.outcome.standing = unfinished;
            return Ok(());
        }
        Err(Failure::Hung(unfinished))
    }

    fn is_dead(&self, node: usize) -> bool {
        let death = self.network.death;
        death.is_some_and(|death| {
            usize::from(death.node.0) == node && self.outcome.events > death.after
        })
    }

    /// Threads of living nodes that have not ended.
    fn unfinished(&self) -> Vec<(NodeId, ThreadId)> {
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

    /// A thread takes its next step, or faults at it.
    fn step(&mut self, node: usize, thread: usize, random: &mut impl Rng) -> Result<(), Failure> {
        let state = &mut self.nodes[node].threads[thread];
        let Some(step) = state.steps.get(state.next).copied() else {
            return Ok(());
        };
        if self.uses_kept_lock(node, thread, step, random) {
            self.go_on(node, thread, random);
            return Ok(());
        }
        let state = &mut self.nodes[node].threads[thread];
        let operation = match step {
            Step::Await(..) if state.flushing => Operation::Flush,
            Step::Flush => Operation::Flush,
            Step::Acquire(lock) => Operation::Acquire(lock),
            Step::TryAcquire(lock, _) => Operation::TryAcquire(lock),
            Step::Release(lock) => Operation::Release(lock),
            Step::Barrier => return self.reach_barrier(node, thread, random),
            Step::Update(..) | Step::Poll(..) | Step::Take(_) => {
                return self.update(node, thread, step, random);
            }
            Step::Wait(..) => return self.wait(node, thread, step, random),
            Step::Read(a) | Step::Observe(a) | Step::Await(a, _) | Step::Spin(a, _) => {
                return self.access(node, thread, a, Access::Read, step, random);
            }
            Step::Write(a, _) => return self.access(node, thread, a, Access::Write, step, random),
        };
        if state.flushing {
            state.flushing = false;
        } else {
            state.next += 1;
        }
        state.waiting = true;
        let thread = thread_id(thread);
        self.input(node, Input::Operation { thread, operation }, random)
    }

    fn access(
        &mut self,
        node: usize,
        thread: usize,
        address: Address,
        access: Access,
        step: Step,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let (page, id) = (address.page(), thread_id(thread));
        let state = &mut self.nodes[node];
        if !state.memory.permits(page, access) {
            state.threads[thread].waiting = true;
            self.outcome.faults += 1;
            let fault = Input::Fault {
                thread: id,
                page,
                access,
            };
            return self.input(node, fault, random);
        }
        let seen = state
            .memory
            .readable(page)
            .map_or(0, |p| p[address.offset()]);
        let mut done = true;
        match step {
            Step::Write(_, value) => {
                let written = state.memory.write(page, address.offset(), value);
                written.map_err(|what| action(node, what))?;
                self.truth.insert(address, value);
                self.since.entry(address).or_default().insert(value);
            }
            Step::Observe(_) => {
                let observed = &mut self.outcome.observed;
                observed.entry((node_id(node), id)).or_default().push(seen);
            }
            Step::Await(_, value) if seen != value => {
                state.threads[thread].flushing = true;
                done = false;
            }
            Step::Spin(_, value) if seen != value => done = false,
            Step::Await(..) | Step::Spin(..) => {}
            Step::Wait(_, value) => {
                self.nodes[node].threads[thread].wait = match seen == value {
                    true => wait::Stage::Ends,
                    false => wait::Stage::GoesOn,
                };
                done = false;
            }
            _ => {
                let expected = self.truth.get(&address).copied().unwrap_or(0);
                if seen != expected {
                    return Err(Failure::Read {
                        node: node_id(node),
                        thread: id,
                        address,
                        seen,
                        expected,
                    });
                }
            }
        }
        if done {
            self.nodes[node].threads[thread].next += 1;
        }
        self.go_on(node, thread, random);
        Ok(())
    }

    fn reach_barrier(
        &mut self,
        node: usize,
        thread: usize,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let state = &mut self.nodes[node];
        state.threads[thread].at_barrier = true;
        state.threads[thread].waiting = true;
        if !state.is_at_barrier() {
            return Ok(());
        }
        self.nodes[node].reached += 1;
        if self.nodes.iter().all(|n| n.reached > self.at_barrier.len()) {
            self.at_barrier.push(self.truth.clone());
            self.since.clear();
            self.let_barriers_begin(random);
        }
        // Those of the sequencer's node never have to stand still.
        let state = &mut self.nodes[node];
        if node > 0 && state.reached > self.at_barrier.len() && state.is_needed_until_all_come() {
            state.awaiting = Some(thread);
            if !self.spins() {
                // Another node may wait for what was written before.
                self.schedule(FLUSH_EVERY, Event::Timer(node));
            }
            return Ok(());
        }
        self.begin_barrier(node, thread, random)
    }

    /// All nodes have reached a barrier, which those hear that wait for it.
    fn let_barriers_begin(&mut self, random: &mut impl Rng) {
        for node in 0..self.nodes.len() {
            if let Some(thread) = self.nodes[node].awaiting.take() {
                let delay = random.random_range(1..=self.network.delay_max);
                self.schedule(delay, Event::Begin(node, thread));
            }
        }
    }

    fn begin_barrier(
        &mut self,
        node: usize,
        thread: usize,
        random: &mut impl Rng,
    ) -> Result<(), Failure> {
        let barrier = Input::Operation {
            thread: thread_id(thread),
            operation: Operation::Barrier,
        };
        self.input(node, barrier, random)
    }

    /// All threads of the node that the barrier's representative belongs to
    /// go on.
    fn leave_barrier(&mut self, node: usize, random: &mut impl Rng) -> Result<(), Failure> {
        self.check_pages(node)?;
        self.nodes[node].left += 1;
        for thread in 0..self.nodes[node].threads.len() {
            let state = &mut self.nodes[node].threads[thread];
            if !std::mem::take(&mut state.at_barrier) {
                continue;
            }
            state.waiting = false;
            state.next += 1;
            self.go_on(node, thread, random);
        }
        Ok(())
    }

    fn go_on(&mut self, node: usize, thread: usize, random: &mut impl Rng) {
        let delay = random.random_range(1..=2 * self.nodes[node].slowness);
        self.schedule(delay, Event::Step(node, thread));
    }

    fn note(&mut self, node: usize, way: &str, what: &impl std::fmt::Debug) {
        if self.network.trace {
            let line = format!("{:>6} node {node} {way:>3}: {what:?}", self.now);
            self.outcome.trace.push(line);
        }
    }
}

fn action(node: usize, what: String) -> Failure {
    Failure::Action {
        node: node_id(node),
        what,
    }
}

fn node_id(number: usize) -> NodeId {
    NodeId(u16::try_from(number).unwrap_or(u16::MAX))
}

fn thread_id(number: usize) -> ThreadId {
    ThreadId(u32::try_from(number).unwrap_or(u32::MAX))
}
