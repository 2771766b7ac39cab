//! The cluster at work: one event after the other, in an order that the seed
//! decides.

mod check;
mod cluster;
mod machine;
mod update;
mod wait;

use crate::blob::Blob;
use crate::failure::{Failure, Wrong};
use crate::network::Network;
use crate::program::{Address, Program, Step};
use cluster::{Cluster, Event, node_id, thread_id};
use fathomp_driver::Driver;
use fathomp_protocols::message::Message;
use fathomp_protocols::{Access, Input, Operation, PageBytes, Protocol};
use fathomp_types::{NodeId, PageId, ThreadId};
use machine::Seat;
use rand::{Rng, RngExt};
use std::collections::BTreeMap;

/// What a run left.
#[derive(Debug, Default)]
pub struct Outcome {
    /// What each thread observed, in order, by node and thread.
    pub observed: BTreeMap<(NodeId, ThreadId), Vec<u8>>,
    /// Messages sent.
    pub messages: u64,
    /// Faults taken.
    pub faults: u64,
    /// Updates done in copies.
    pub updates: u64,
    /// Updates that were postponed.
    pub postponed: u64,
    /// Updates that were carried to their page's home.
    pub changes: u64,
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
    let nodes = (0..program.nodes()).map(NodeId);
    let mut world = World {
        drivers: nodes.map(|me| Driver::new(me, protocol(me))).collect(),
        cluster: Cluster::new(program, network, random),
    };
    match world.start().and_then(|()| world.run()) {
        Ok(()) => Ok(world.cluster.outcome),
        Err(failure) => Err((failure, world.cluster.outcome.trace)),
    }
}

/// The thread that flushes for a node whose threads do not.
const SERVICE: ThreadId = ThreadId(u32::MAX);
/// Time between two of its flushes.
const FLUSH_EVERY: u64 = 300;

struct World<'a, P> {
    drivers: Vec<Driver<P, Blob>>,
    cluster: Cluster<'a>,
}

impl<'a, P: Protocol<Blob>> World<'a, P> {
    fn start(&mut self) -> Result<(), Failure> {
        for node in 0..self.drivers.len() {
            let (driver, mut seat) = self.at(node);
            let started = driver.start(&mut seat);
            self.judge(node, started)?;
        }
        if self.cluster.spins() {
            for node in 0..self.drivers.len() {
                let delay = self.cluster.random.random_range(1..FLUSH_EVERY);
                self.cluster.schedule(delay, Event::Timer(node));
            }
        }
        Ok(())
    }

    fn run(&mut self) -> Result<(), Failure> {
        while let Some(event) = self.cluster.next_event()? {
            match event {
                Event::Step(node, thread) => self.step(node, thread)?,
                Event::Timer(node) => self.timer(node)?,
                Event::Published(node) => self.go_on_publishing(node)?,
                Event::Frame(from, to, frame) => self.framed(from, to, frame)?,
                Event::Begin(node, thread) => {
                    self.operation(node, thread_id(thread), Operation::Barrier)?;
                }
                Event::Deliver(from, to, bytes) => self.deliver(from, to, &bytes)?,
            }
        }
        let unfinished = self.cluster.unfinished();
        let died = self.cluster.network.death;
        if unfinished.is_empty() {
            return Ok(());
        }
        if died.is_some_and(|death| self.cluster.has_come(death)) {
            self.cluster.outcome.standing = unfinished;
            return Ok(());
        }
        Err(Failure::Hung(unfinished))
    }

    /// A node's driver, and what it works on.
    fn at(&mut self, node: usize) -> (&mut Driver<P, Blob>, Seat<'_, 'a>) {
        let cluster = &mut self.cluster;
        (&mut self.drivers[node], Seat { cluster, node })
    }

    /// Tells the protocol of a node something.
    fn input(&mut self, node: usize, input: Input<Blob>) -> Result<(), Failure> {
        self.cluster.note(node, "in", &input);
        let (driver, mut seat) = self.at(node);
        let done = driver.input(&mut seat, input);
        self.judge(node, done)
    }

    /// A thread asks for an operation, and stands still.
    fn operation(
        &mut self,
        node: usize,
        thread: ThreadId,
        operation: Operation,
    ) -> Result<(), Failure> {
        if let Some(thread) = self.cluster.nodes[node].threads.get_mut(thread.0 as usize) {
            thread.waiting = true;
        }
        self.input(node, Input::Operation { thread, operation })
    }

    /// A thread touches a page that it may not.
    fn fault(
        &mut self,
        node: usize,
        thread: usize,
        page: PageId,
        access: Access,
    ) -> Result<(), Failure> {
        self.cluster.nodes[node].threads[thread].waiting = true;
        self.cluster.outcome.faults += 1;
        let thread = thread_id(thread);
        self.input(
            node,
            Input::Fault {
                thread,
                page,
                access,
            },
        )
    }

    /// Whether a node's step was right, and has left its protocol in order.
    fn judge(&self, node: usize, done: Result<(), Wrong>) -> Result<(), Failure> {
        let check = |()| {
            let check = self.drivers[node].protocol().check();
            check.map_err(Wrong::Invariant)
        };
        let node = node_id(node);
        done.and_then(check)
            .map_err(|what| Failure::Node { node, what })
    }

    fn deliver(&mut self, from: NodeId, to: usize, bytes: &[u8]) -> Result<(), Failure> {
        let message = Message::decode(bytes, |range| Blob::from(&bytes[range]));
        match message {
            Ok(message) => self.input(to, Input::Message { from, message }),
            Err(error) => self.judge(to, Err(error.into())),
        }
    }

    /// Flushes for a node whose threads may be waiting for each other by ordinary
    /// reads and writes.
    fn timer(&mut self, node: usize) -> Result<(), Failure> {
        let waits = self.cluster.nodes[node].awaiting.is_some();
        if !waits && !self.cluster.spins() {
            return Ok(());
        }
        self.cluster.schedule(FLUSH_EVERY, Event::Timer(node));
        let state = &mut self.cluster.nodes[node];
        if state.flushing || state.is_at_barrier() && !waits {
            return Ok(());
        }
        state.flushing = true;
        self.operation(node, SERVICE, Operation::Flush)
    }

    /// A thread takes its next step, or faults at it.
    fn step(&mut self, node: usize, thread: usize) -> Result<(), Failure> {
        let state = &self.cluster.nodes[node].threads[thread];
        let Some(step) = state.steps.get(state.next).copied() else {
            return Ok(());
        };
        let state = &mut self.cluster.nodes[node].threads[thread];
        let operation = match step {
            Step::Await(..) if state.flushing => Operation::Flush,
            Step::Flush => Operation::Flush,
            Step::Acquire(lock) => Operation::Acquire(lock),
            Step::TryAcquire(lock, _) => Operation::TryAcquire(lock),
            Step::Release(lock) => Operation::Release(lock),
            Step::Barrier => return self.reach_barrier(node, thread),
            Step::Add(address, add) if self.may_postpone(node, thread, address) => {
                return self.postpone(node, thread, address, add);
            }
            Step::Update(..) | Step::Add(..) | Step::Poll(..) | Step::Take(_) => {
                return self.update(node, thread, step);
            }
            Step::Wait(..) => return self.wait(node, thread, step),
            Step::Read(a) | Step::Observe(a) | Step::Await(a, _) | Step::Spin(a, _) => {
                return self.access(node, thread, a, Access::Read, step);
            }
            Step::Write(a, _) => return self.access(node, thread, a, Access::Write, step),
        };
        if state.flushing {
            state.flushing = false;
        } else {
            state.next += 1;
        }
        self.operation(node, thread_id(thread), operation)
    }

    fn access(
        &mut self,
        node: usize,
        thread: usize,
        address: Address,
        access: Access,
        step: Step,
    ) -> Result<(), Failure> {
        let page = address.page();
        let cluster = &mut self.cluster;
        let state = &mut cluster.nodes[node];
        if !state.memory.permits(page, access) {
            return self.fault(node, thread, page, access);
        }
        let seen = state.memory.readable(page);
        let seen = seen.map_or(0, |bytes| bytes[address.offset()]);
        let state = &mut state.threads[thread];
        let mut done = true;
        match step {
            Step::Write(_, value) => {
                let memory = &mut cluster.nodes[node].memory;
                let written = memory.write(page, address.offset(), value);
                self.judge(node, written.map_err(Wrong::from))?;
                self.cluster.has_written(address, value);
            }
            Step::Observe(_) => {
                let observed = &mut cluster.outcome.observed;
                let observed = observed.entry((node_id(node), thread_id(thread)));
                observed.or_default().push(seen);
            }
            Step::Await(_, value) if seen != value => {
                state.flushing = true;
                done = false;
            }
            Step::Spin(_, value) if seen != value => done = false,
            Step::Await(..) | Step::Spin(..) => {}
            Step::Wait(_, value) => {
                state.wait = match seen == value {
                    true => wait::Stage::Ends,
                    false => wait::Stage::GoesOn,
                };
                done = false;
            }
            _ => cluster.check_read(node, thread, address, seen)?,
        }
        self.cluster.nodes[node].threads[thread].next += usize::from(done);
        self.cluster.go_on(node, thread);
        Ok(())
    }

    fn reach_barrier(&mut self, node: usize, thread: usize) -> Result<(), Failure> {
        let cluster = &mut self.cluster;
        let state = &mut cluster.nodes[node];
        state.threads[thread].at_barrier = true;
        state.threads[thread].waiting = true;
        if !state.is_at_barrier() {
            return Ok(());
        }
        state.reached += 1;
        let mut nodes = cluster.nodes.iter();
        if nodes.all(|n| n.reached > cluster.at_barrier.len()) {
            cluster.at_barrier.push(cluster.truth.clone());
            cluster.since.clear();
            cluster.let_barriers_begin();
        }
        // Those of the sequencer's node never have to stand still, but for changes.
        let may_stand = node > 0 || self.drivers[node].protocol().forwards_atomics(PageId(0));
        let state = &mut cluster.nodes[node];
        let has_begun = state.reached <= cluster.at_barrier.len();
        if may_stand && !has_begun && state.is_needed_until_all_come(cluster.learn) {
            state.awaiting = Some(thread);
            if !cluster.spins() {
                // Another node may wait for what was written before.
                cluster.schedule(FLUSH_EVERY, Event::Timer(node));
            }
            return Ok(());
        }
        self.operation(node, thread_id(thread), Operation::Barrier)
    }
}
