//! A cluster as a model: its states, and what can happen next.

use crate::machine::{Problem, Seat, node_id, thread_id};
use crate::memory::{Place, Small, Two};
use crate::wait;
use fathomp_driver::Driver;
use fathomp_protocols::message::Message;
use fathomp_protocols::{Access, Change, ChangeKind, Input, LockId, Operation, Protocol};
use fathomp_simulator::{Bytes, Memory, Next, Update};
use fathomp_types::{NodeId, PageId, ThreadId};
use stateright::{Model, Property};
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Debug;
use std::hash::Hash;

/// What a thread does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Step {
    Write(Place, u8),
    /// Reads what was written last.
    Read(Place),
    /// Reads; leaves out so many steps if something else is there.
    IfSeen(Place, u8, usize),
    /// The same as in a loop that tells when it ends.
    IfWaited(Place, u8, usize),
    Acquire(u64),
    TryAcquire(u64, usize),
    /// Adds in one atomic step.
    Update(Place, u8),
    /// The same, and never looks at what was there.
    Add(Place, u8),
    /// Adds nothing; leaves out so many steps if something else is there.
    IfUpdated(Place, u8, usize),
    /// Exchanges it for 1; leaves out so many steps if it was not 0.
    IfTaken(Place, usize),
    Release(u64),
    Flush,
    Barrier,
}

/// A protocol, what it is told at the start, and a program for each thread of each
/// node. The first thread of each takes part in barriers, others do not.
pub(crate) struct Cluster<P> {
    pub(crate) start: Vec<P>,
    pub(crate) pages: usize,
    pub(crate) programs: Vec<Vec<Vec<Step>>>,
    /// Faults of a thread at one step that are looked into. Between a fault and the access
    /// that follows it, others may take the page away, which is another fault. Two threads
    /// can do so to each other for ever if both are slow each time, and each time intervals
    /// end: without a bound there would be no end of states. Every run in which no thread
    /// faults more often at a step is gone through as it is.
    pub(crate) faults_max: u8,
    /// A message that is to be sent in some run.
    pub(crate) looks_for: Option<fn(&Message<Small>) -> bool>,
}

/// Where a thread stands still.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum At {
    Fault,
    Operation,
    Barrier,
}

/// A thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Thread {
    pub(crate) next: usize,
    /// Faults at that step.
    pub(crate) faults: u8,
    /// What it stands still at.
    pub(crate) waits: Option<At>,
    /// How far it is with an update, and what it found.
    pub(crate) update: Update,
    pub(crate) found: u8,
    /// How far it is with waiting.
    pub(crate) wait: wait::Stage,
}

/// A node but for its protocol.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node {
    pub(crate) memory: Memory<Two>,
    pub(crate) threads: Vec<Thread>,
    /// Barriers left.
    pub(crate) left: u32,
    /// It is telling what was written for another node.
    pub(crate) publishes: bool,
}

/// All nodes, and what is between them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct World {
    pub(crate) nodes: Vec<Node>,
    /// Messages under way, from and to, in order.
    pub(crate) channels: BTreeMap<(usize, usize), VecDeque<Message<Small>>>,
    /// What every write reaches at once.
    pub(crate) truth: BTreeMap<Place, u8>,
    /// The same when the last node reached each barrier.
    pub(crate) at_barrier: Vec<BTreeMap<Place, u8>>,
}

impl World {
    /// A thread adds to a byte, wherever that will be done.
    fn has_added(&mut self, place: Place, add: u8) {
        let truth = self.truth.entry(place).or_default();
        *truth = truth.wrapping_add(add);
    }

    /// A byte was updated, where this was found. What is only looked at others write meanwhile.
    pub(crate) fn has_updated(
        &mut self,
        place: Place,
        found: u8,
        after: u8,
    ) -> Result<(), Problem> {
        if after == found {
            return Ok(());
        }
        let truth = self.truth.entry(place).or_default();
        if *truth != found {
            return Err(format!("{found} is updated, not {truth}, at {place:?}").into());
        }
        *truth = after;
        Ok(())
    }
}

/// The cluster at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State<P> {
    drivers: Vec<Driver<P, Small>>,
    pub(crate) world: World,
    /// What must not have happened.
    wrong: Option<String>,
}

/// What happens next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Event {
    /// A thread of a node goes on.
    Step(usize, usize),
    /// The next message between two nodes arrives.
    Arrival(usize, usize),
}

/// What has to hold at any time.
pub(crate) const WRITTEN: &str = "memory is what was written";
/// What has to happen at some time.
pub(crate) const REACHED: &str = "what is looked for is sent";

/// A state while something happens in it.
pub(crate) struct Turn<'a, P> {
    pub(crate) cluster: &'a Cluster<P>,
    pub(crate) drivers: &'a mut Vec<Driver<P, Small>>,
    pub(crate) world: &'a mut World,
}

impl<P: Protocol<Small>> Turn<'_, P> {
    pub(crate) fn thread(&mut self, (node, thread): (usize, usize)) -> &mut Thread {
        &mut self.world.nodes[node].threads[thread]
    }

    /// A node's driver, and what it works on.
    pub(crate) fn at(&mut self, node: usize) -> (&mut Driver<P, Small>, Seat<'_>) {
        let seat = Seat {
            node,
            world: self.world,
            programs: &self.cluster.programs,
        };
        (&mut self.drivers[node], seat)
    }

    fn start(&mut self) -> Result<(), Problem> {
        for node in 0..self.cluster.start.len() {
            let (driver, mut seat) = self.at(node);
            driver.start(&mut seat)?;
        }
        Ok(())
    }

    /// Tells the protocol of a node something.
    pub(crate) fn input(&mut self, node: usize, input: Input<Small>) -> Result<(), Problem> {
        let (driver, mut seat) = self.at(node);
        let done = driver.input(&mut seat, input);
        done.map_err(|problem| format!("node {node}: {problem}"))?;
        Ok(driver.protocol().check()?)
    }

    /// A thread asks for an operation.
    pub(crate) fn operation(
        &mut self,
        at: (usize, usize),
        waits: At,
        operation: Operation,
    ) -> Result<(), Problem> {
        self.thread(at).waits = Some(waits);
        let thread = thread_id(at.1);
        self.input(at.0, Input::Operation { thread, operation })
    }

    fn happens(&mut self, event: Event) -> Result<(), Problem> {
        match event {
            Event::Step(node, thread) => self.step((node, thread)),
            Event::Arrival(from, to) => {
                let channel = self.world.channels.get_mut(&(from, to));
                let channel = channel.ok_or("nothing is under way")?;
                let message = channel.pop_front().ok_or("nothing is under way")?;
                if channel.is_empty() {
                    self.world.channels.remove(&(from, to));
                }
                let from = node_id(from);
                self.input(to, Input::Message { from, message })
            }
        }
    }

    /// A thread takes its next step, or faults at it.
    fn step(&mut self, at: (usize, usize)) -> Result<(), Problem> {
        let next = self.thread(at).next;
        let step = self.cluster.programs[at.0][at.1][next];
        let operation = match step {
            Step::IfWaited(..) if self.thread(at).wait != wait::Stage::Looks => {
                return self.ask(at);
            }
            Step::Write(place, _) => return self.access(at, place, Access::Write, step),
            Step::Read(place) | Step::IfSeen(place, ..) | Step::IfWaited(place, ..) => {
                return self.access(at, place, Access::Read, step);
            }
            Step::Add(place, add) => return self.add(at, place, add),
            Step::Update(place, _) | Step::IfUpdated(place, ..) | Step::IfTaken(place, _) => {
                return self.update(at, place, step);
            }
            Step::Acquire(lock) => Operation::Acquire(LockId(lock)),
            Step::TryAcquire(lock, _) => Operation::TryAcquire(LockId(lock)),
            Step::Release(lock) => Operation::Release(LockId(lock)),
            Step::Flush => Operation::Flush,
            Step::Barrier => Operation::Barrier,
        };
        self.thread(at).next += 1;
        if step != Step::Barrier {
            return self.operation(at, At::Operation, operation);
        }
        let barriers = |(node, steps): (&Node, &Vec<Vec<Step>>)| {
            let passed = steps[0][..node.threads[0].next].iter();
            passed.filter(|step| **step == Step::Barrier).count()
        };
        let nodes = self.world.nodes.iter().zip(&self.cluster.programs);
        if nodes.map(barriers).min() > Some(self.world.at_barrier.len()) {
            self.world.at_barrier.push(self.world.truth.clone());
        }
        self.operation(at, At::Barrier, operation)
    }

    /// A thread faults.
    fn fault(&mut self, at: (usize, usize), page: PageId, access: Access) -> Result<(), Problem> {
        // Not counted where all are looked into: it would only tell states apart.
        let counts = self.cluster.faults_max < u8::MAX;
        let thread = self.thread(at);
        thread.waits = Some(At::Fault);
        thread.faults = thread.faults.saturating_add(u8::from(counts));
        let fault = Input::Fault {
            thread: thread_id(at.1),
            page,
            access,
        };
        self.input(at.0, fault)
    }

    fn access(
        &mut self,
        at @ (number, thread): (usize, usize),
        place: Place,
        access: Access,
        step: Step,
    ) -> Result<(), Problem> {
        let node = &mut self.world.nodes[number];
        if !node.memory.permits(place.id(), access) {
            return self.fault(at, place.id(), access);
        }
        let thread = &mut node.threads[thread];
        thread.next += 1;
        thread.faults = 0;
        let seen = node.memory.readable(place.id());
        let seen = seen.map(|page| page.bytes()[place.byte]);
        match step {
            Step::Write(_, value) => {
                node.memory.write(place.id(), place.byte, value)?;
                self.world.truth.insert(place, value);
            }
            Step::IfSeen(_, value, leave_out) | Step::IfWaited(_, value, leave_out)
                if seen != Some(value) =>
            {
                thread.next += leave_out;
            }
            Step::IfWaited(..) => {
                thread.next -= 1;
                thread.wait = wait::Stage::Asks(0);
            }
            Step::Read(_) => {
                let truth = self.world.truth.get(&place).copied().unwrap_or(0);
                if seen != Some(truth) {
                    let what = format!("node {number} reads {seen:?}, not {truth}, at {place:?}");
                    return Err(what.into());
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// A thread adds to a byte, and goes on at once if it can.
    fn add(&mut self, at: (usize, usize), place: Place, add: u8) -> Result<(), Problem> {
        let (page, step) = (place.id(), Step::Add(place, add));
        let (driver, mut seat) = self.at(at.0);
        if !driver.protocol().batches_atomics(page) {
            return self.update(at, place, step);
        }
        let change = change(step, place.byte)?;
        seat.world.has_added(place, add);
        driver.input(&mut seat, Input::Postpone(page, change))?;
        self.thread(at).next += 1;
        Ok(())
    }

    /// A thread goes on with an update.
    fn update(
        &mut self,
        at @ (node, thread): (usize, usize),
        place: Place,
        step: Step,
    ) -> Result<(), Problem> {
        let page = place.id();
        let stage = self.thread(at).update;
        let (stage, next) = stage.next(self.drivers[node].protocol(), page, false);
        if next == Next::UpdatesCopy {
            let node = &mut self.world.nodes[node];
            if !node.memory.permits(page, Access::Write) {
                return self.fault(at, page, Access::Write);
            }
            let before = node.memory.readable(page);
            let before = before.map_or(0, |page| page.bytes()[place.byte]);
            let after = updated(step, before);
            node.memory.write(page, place.byte, after)?;
            (node.threads[thread].found, node.threads[thread].faults) = (before, 0);
        }
        let state = self.thread(at);
        state.update = stage;
        let found = state.found;
        match next {
            Next::Operation(operation) => return self.operation(at, At::Operation, operation),
            Next::Carries => {
                if let Step::Add(place, add) = step {
                    self.world.has_added(place, add);
                }
                let operation = Operation::Change(page, change(step, place.byte)?);
                return self.operation(at, At::Operation, operation);
            }
            Next::Ends => {
                state.found = 0;
                state.next += 1;
                state.next += match step {
                    Step::IfUpdated(_, value, leave_out) if value != found => leave_out,
                    Step::IfTaken(_, leave_out) if found != 0 => leave_out,
                    _ => 0,
                };
                return Ok(());
            }
            Next::UpdatesCopy => match step {
                // Others may have added what will be done later.
                Step::Add(place, add) => self.world.has_added(place, add),
                _ => self.world.has_updated(place, found, updated(step, found))?,
            },
            Next::GoesOn => {}
        }
        if stage == Update::Done {
            // Much may happen before it is looked what the copy has shown.
            return Ok(());
        }
        self.update(at, place, step)
    }
}

/// The same as a change that is carried home.
fn change(step: Step, byte: usize) -> Result<Change, Problem> {
    let (kind, operand) = match step {
        Step::Update(_, add) | Step::Add(_, add) => (ChangeKind::Add, add),
        Step::IfTaken(..) => (ChangeKind::Exchange, 1),
        _ => (ChangeKind::Add, 0),
    };
    let change = Change::new(byte, 1, kind, operand.into());
    change.ok_or_else(|| "a page has no such byte".into())
}

/// What a step makes of a byte.
fn updated(step: Step, before: u8) -> u8 {
    match step {
        Step::Update(_, add) | Step::Add(_, add) => before.wrapping_add(add),
        Step::IfTaken(..) => 1,
        _ => before,
    }
}

impl<P> Cluster<P>
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash + 'static,
{
    /// Lets something happen in a state.
    fn turn(
        &self,
        state: &mut State<P>,
        what: impl FnOnce(&mut Turn<'_, P>) -> Result<(), Problem>,
    ) {
        let done = what(&mut Turn {
            cluster: self,
            drivers: &mut state.drivers,
            world: &mut state.world,
        });
        state.wrong = done.err().map(|problem| problem.to_string());
    }

    fn ended(&self, state: &State<P>) -> bool {
        let programs = self.programs.iter().flatten();
        let threads = state.world.nodes.iter().flat_map(|node| &node.threads);
        let mut both = programs.zip(threads);
        both.all(|(steps, thread)| thread.next == steps.len())
    }
}

impl<P> Model for Cluster<P>
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash + 'static,
{
    type State = State<P>;
    type Action = Event;

    fn init_states(&self) -> Vec<Self::State> {
        let node = |programs: &Vec<_>| Node {
            memory: Memory::new(self.pages as u32),
            threads: vec![Thread::default(); programs.len()],
            left: 0,
            publishes: false,
        };
        let start = (0..).map(NodeId).zip(&self.start);
        let mut state = State {
            drivers: start
                .map(|(me, protocol)| Driver::new(me, protocol.clone()))
                .collect(),
            world: World {
                nodes: self.programs.iter().map(node).collect(),
                channels: BTreeMap::new(),
                truth: BTreeMap::new(),
                at_barrier: Vec::new(),
            },
            wrong: None,
        };
        self.turn(&mut state, |turn| turn.start());
        vec![state]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Event>) {
        if state.wrong.is_some() {
            return;
        }
        let world = &state.world;
        for (number, node) in world.nodes.iter().enumerate() {
            for (thread, at) in node.threads.iter().enumerate() {
                let goes_on = at.waits.is_none() && wait::is_answered(world, at.wait);
                if goes_on && at.next < self.programs[number][thread].len() {
                    actions.push(Event::Step(number, thread));
                }
            }
        }
        let channels = world.channels.keys();
        actions.extend(channels.map(|(from, to)| Event::Arrival(*from, *to)));
    }

    fn next_state(&self, last: &Self::State, event: Event) -> Option<Self::State> {
        let mut state = last.clone();
        self.turn(&mut state, |turn| turn.happens(event));
        Some(state)
    }

    fn within_boundary(&self, state: &Self::State) -> bool {
        let mut threads = state.world.nodes.iter().flat_map(|node| &node.threads);
        threads.all(|thread| thread.faults <= self.faults_max)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        let mut properties = vec![
            Property::always(WRITTEN, |_, state: &Self::State| state.wrong.is_none()),
            Property::always("nobody waits for ever", |model: &Self, state| {
                let mut next = Vec::new();
                model.actions(state, &mut next);
                !next.is_empty() || state.wrong.is_some() || model.ended(state)
            }),
        ];
        if self.looks_for.is_some() {
            properties.push(Property::sometimes(
                REACHED,
                |model: &Self, state: &Self::State| {
                    let mut messages = state.world.channels.values().flatten();
                    model
                        .looks_for
                        .is_some_and(|looked_for| messages.any(looked_for))
                },
            ));
        }
        properties
    }
}

/// Whether a thread writes there that takes no part in barriers.
pub(crate) fn is_unsettled(programs: &[Vec<Vec<Step>>], place: Place) -> bool {
    let others = programs.iter().flat_map(|threads| &threads[1..]);
    let mut steps = others.flatten();
    steps.any(|step| matches!(step, Step::Write(written, _) if *written == place))
}

/// The thread of a number.
pub(crate) fn number(thread: ThreadId) -> usize {
    thread.0 as usize
}
