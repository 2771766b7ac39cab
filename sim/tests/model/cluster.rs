//! A cluster as a model: its states, and what can happen next.

use crate::memory::{Memory, Place, Small};
use crate::shared::{self, Memories};
use crate::update::Stage;
use crate::wait::PUBLISHER;
use fathomp_base::{NodeId, ThreadId};
use fathomp_dsm::{Access, Action, Content, Input, LockId, Operation, Protocol, Underway};
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
    /// Adds nothing; leaves out so many steps if something else is there.
    IfUpdated(Place, u8, usize),
    Release(u64),
    /// The same, but the node keeps the lock if it can.
    Keep(u64),
    Flush,
    Barrier,
}

/// A protocol, what it is told at the start, and a program for each thread of each
/// node. The first thread of each takes part in barriers, others do not.
pub(crate) struct Cluster<P: Protocol<Small>> {
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
    pub(crate) looks_for: Option<fn(&P::Incoming) -> bool>,
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
    /// How far it is with an update, and what it found in a copy.
    pub(crate) stage: Stage,
    pub(crate) found: u8,
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Node<P> {
    pub(crate) protocol: P,
    pub(crate) memory: Memory,
    pub(crate) threads: Vec<Thread>,
    /// Barriers left.
    left: usize,
    /// It is telling what was written for another node.
    pub(crate) publishes: bool,
    /// What it has sent.
    pub(crate) underway: Underway,
}

/// The cluster at a moment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State<P, M> {
    pub(crate) nodes: Vec<Node<P>>,
    /// What nodes do in memory that they share.
    pub(crate) memories: Memories,
    /// Messages under way, from and to, in order.
    pub(crate) channels: BTreeMap<(usize, usize), VecDeque<M>>,
    /// What every write reaches at once.
    pub(crate) truth: BTreeMap<Place, u8>,
    /// The same when the last node reached each barrier.
    at_barrier: Vec<BTreeMap<Place, u8>>,
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

impl<P> Cluster<P>
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash,
    P::Incoming: Clone + PartialEq + Hash,
{
    fn ended(&self, state: &State<P, P::Incoming>) -> bool {
        let programs = self.programs.iter().flatten();
        let threads = state.nodes.iter().flat_map(|node| &node.threads);
        let mut both = programs.zip(threads);
        both.all(|(steps, thread)| thread.next == steps.len())
    }

    /// A thread takes its next step, or faults at it.
    fn step(
        &self,
        state: &mut State<P, P::Incoming>,
        at @ (node, thread): (usize, usize),
    ) -> Result<(), String> {
        let step = self.programs[node][thread][state.nodes[node].threads[thread].next];
        if shared::uses_kept_lock(state, node, step) {
            state.nodes[node].threads[thread].next += 1;
            return Ok(());
        }
        let operation = match step {
            Step::IfWaited(..) if state.nodes[node].threads[thread].stage != Stage::Begun => {
                return self.ask(state, at);
            }
            Step::Write(place, _) => return self.access(state, at, place, Access::Write, step),
            Step::Read(place) | Step::IfSeen(place, ..) | Step::IfWaited(place, ..) => {
                return self.access(state, at, place, Access::Read, step);
            }
            Step::Update(..) | Step::IfUpdated(..) => return self.update(state, at, step),
            Step::Acquire(lock) => Operation::Acquire(LockId(lock)),
            Step::TryAcquire(lock, _) => Operation::TryAcquire(LockId(lock)),
            Step::Release(lock) | Step::Keep(lock) => Operation::Release(LockId(lock)),
            Step::Flush => Operation::Flush,
            Step::Barrier => Operation::Barrier,
        };
        let waiting = &mut state.nodes[node].threads[thread];
        waiting.next += 1;
        waiting.waits = Some(At::Operation);
        if step == Step::Barrier {
            waiting.waits = Some(At::Barrier);
            let barriers = |(node, steps): (&Node<P>, &Vec<Vec<Step>>)| {
                let passed = steps[0][..node.threads[0].next].iter();
                passed.filter(|step| **step == Step::Barrier).count()
            };
            let nodes = state.nodes.iter().zip(&self.programs);
            if nodes.map(barriers).min() > Some(state.at_barrier.len()) {
                state.at_barrier.push(state.truth.clone());
            }
        }
        let thread = id(thread);
        self.input(state, node, Input::Operation { thread, operation })
    }

    /// A thread faults.
    pub(crate) fn fault(
        &self,
        state: &mut State<P, P::Incoming>,
        (number, thread): (usize, usize),
        place: Place,
        access: Access,
    ) -> Result<(), String> {
        let node = &mut state.nodes[number];
        node.threads[thread].waits = Some(At::Fault);
        // Not counted where all are looked into: it would only tell states apart.
        let faults = &mut node.threads[thread].faults;
        *faults = faults.saturating_add(u8::from(self.faults_max < u8::MAX));
        let fault = Input::Fault {
            thread: id(thread),
            page: fathomp_base::PageId(place.page),
            access,
        };
        self.input(state, number, fault)
    }

    fn access(
        &self,
        state: &mut State<P, P::Incoming>,
        (number, thread): (usize, usize),
        place: Place,
        access: Access,
        step: Step,
    ) -> Result<(), String> {
        let node = &mut state.nodes[number];
        if !node.memory.permits(place.page, access) {
            return self.fault(state, (number, thread), place, access);
        }
        node.threads[thread].next += 1;
        node.threads[thread].faults = 0;
        let seen = node.memory.read(place);
        match step {
            Step::Write(_, value) => {
                node.memory.write(place, value);
                state.truth.insert(place, value);
            }
            Step::IfSeen(_, value, leave_out) | Step::IfWaited(_, value, leave_out)
                if seen != Some(value) =>
            {
                node.threads[thread].next += leave_out;
            }
            Step::IfWaited(..) => {
                node.threads[thread].next -= 1;
                node.threads[thread].stage = Stage::Asks(0);
            }
            Step::Read(_) => {
                let truth = state.truth.get(&place).copied().unwrap_or(0);
                if seen != Some(truth) {
                    return Err(format!(
                        "node {number} reads {seen:?}, not {truth}, at {place:?}"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Tells the protocol of a node something, and does what it answers and what follows.
    pub(crate) fn input(
        &self,
        state: &mut State<P, P::Incoming>,
        number: usize,
        input: Input<P::Incoming>,
    ) -> Result<(), String> {
        // One after the other, as nodes do it.
        let mut following = VecDeque::from([input]);
        while let Some(input) = following.pop_front() {
            following.extend(self.take_in(state, number, input)?);
        }
        let Node {
            protocol, memory, ..
        } = &mut state.nodes[number];
        if let Some(committed) = protocol.committed().filter(|_| P::TELLS_VERSIONS) {
            memory.shown = committed.received.iter().collect();
        }
        Ok(())
    }

    fn take_in(
        &self,
        state: &mut State<P, P::Incoming>,
        number: usize,
        input: Input<P::Incoming>,
    ) -> Result<Vec<Input<P::Incoming>>, String> {
        let mut actions = Vec::new();
        let news = shared::news(state, number);
        let node = &mut state.nodes[number];
        for input in news.into_iter().chain([input]) {
            if node.protocol.wants_writes(&input) {
                let wrote = Input::Wrote(node.memory.take_wrote());
                let stepped = node.protocol.step(wrote, &mut actions);
                stepped.map_err(|violation| violation.to_string())?;
            }
            let stepped = node.protocol.step(input, &mut actions);
            stepped.map_err(|violation| format!("node {number}: {violation}"))?;
        }
        self.carry_out(state, number, actions)
    }

    /// Does what a node's protocol asks for. What it has to be told then.
    fn carry_out(
        &self,
        state: &mut State<P, P::Incoming>,
        number: usize,
        actions: Vec<Action<P::Outgoing, Small>>,
    ) -> Result<Vec<Input<P::Incoming>>, String> {
        let mut answers = Vec::new();
        let Node {
            protocol, memory, ..
        } = &mut state.nodes[number];
        if let Some(committed) = protocol.committed().filter(|_| P::TELLS_VERSIONS) {
            memory.knows = committed.received.iter().collect();
        }
        for mut action in actions {
            if let Action::Install(page, content) | Action::InstallTwinned(page, content) =
                &mut action
                && let Small::Left(home) = *content
            {
                let there = &mut state.nodes[usize::from(home.0)].memory;
                let there = there.content(Content::Page(*page));
                *content = there.ok_or("a page is not where it was left")?;
            }
            let left = state.nodes[number].memory.carry_out(action)?;
            if let Some(Action::Send(to, message)) = &left
                && let Some(inputs) = shared::without_message(state, number, *to, message)
            {
                answers.extend(inputs?);
                continue;
            }
            let node = &mut state.nodes[number];
            match left {
                None => {}
                Some(Action::Log(notice)) => shared::enter(state, notice),
                Some(Action::Claim(lock)) => {
                    answers.push(Input::Claimed(lock, state.memories.shared.claim(lock)));
                }
                Some(Action::Unclaim(lock)) => state.memories.shared.unclaim(lock),
                Some(Action::Send(to, mut message)) => {
                    // Of each answer some.
                    let leaves = |content| matches!(content, Content::Page(page) | Content::Fresh(page) if page.0 % 2 == 0);
                    node.protocol.leave(&mut message, leaves);
                    if let Some(carried) = P::carries(&message) {
                        node.underway.sends(to, carried);
                    }
                    let mut missing = false;
                    let message = P::fill(message, |content| {
                        let content = match content {
                            Content::Left(_) => Some(Small::Left(node_id(number))),
                            content => node.memory.content(content),
                        };
                        missing |= content.is_none();
                        content.unwrap_or(Small::Page([0; 2]))
                    });
                    if missing {
                        return Err(format!("node {number} sends what it does not have"));
                    }
                    if usize::from(to.0) == number {
                        answers.push(Input::Message { from: to, message });
                        continue;
                    }
                    let channel = (number, usize::from(to.0));
                    state
                        .channels
                        .entry(channel)
                        .or_default()
                        .push_back(message);
                }
                Some(Action::Resume(PUBLISHER)) => node.publishes = false,
                Some(Action::Resume(ThreadId(thread)) | Action::Refuse(ThreadId(thread)))
                    if node.threads[thread as usize].waits.is_none() =>
                {
                    return Err(format!("thread {thread} of node {number} goes on unasked"));
                }
                Some(Action::Resume(thread)) => {
                    let waits = node.threads[thread.0 as usize].waits.take();
                    if waits == Some(At::Barrier) {
                        self.leave_barrier(state, number)?;
                    }
                }
                Some(Action::Refuse(thread)) => {
                    let number = (number, thread.0 as usize);
                    let thread = &mut node.threads[number.1];
                    thread.waits = None;
                    if thread.stage != Stage::default() {
                        thread.stage = thread.stage.refused();
                        continue;
                    }
                    let asked = self.programs[number.0][number.1][thread.next - 1];
                    let Step::TryAcquire(_, leave_out) = asked else {
                        return Err(format!("{asked:?} of {number:?} is refused"));
                    };
                    thread.next += leave_out;
                }
                Some(_) => return Err(format!("node {number} asks for what is not known")),
            }
        }
        Ok(answers)
    }

    /// Whether a thread writes there that takes no part in barriers.
    fn is_unsettled(&self, place: Place) -> bool {
        let mut others = self
            .programs
            .iter()
            .flat_map(|threads| &threads[1..])
            .flatten();
        others.any(|step| matches!(step, Step::Write(written, _) if *written == place))
    }

    /// All pages that can be read here are as they were when all had arrived.
    fn leave_barrier(
        &self,
        state: &mut State<P, P::Incoming>,
        number: usize,
    ) -> Result<(), String> {
        let node = &mut state.nodes[number];
        let truth = state.at_barrier.get(node.left);
        let truth = truth.ok_or_else(|| format!("node {number} leaves a barrier too early"))?;
        node.left += 1;
        for (place, expected) in truth {
            let seen = node.memory.read(*place);
            if seen.is_some_and(|seen| seen != *expected) && !self.is_unsettled(*place) {
                return Err(format!(
                    "node {number} leaves a barrier with another {place:?}"
                ));
            }
        }
        Ok(())
    }
}

impl<P> Model for Cluster<P>
where
    P: Protocol<Small> + Clone + Debug + PartialEq + Hash,
    P::Incoming: Clone + PartialEq + Hash,
{
    type State = State<P, P::Incoming>;
    type Action = Event;

    fn init_states(&self) -> Vec<Self::State> {
        let node = |(protocol, programs): (&P, &Vec<_>)| Node {
            protocol: protocol.clone(),
            memory: Memory::new(self.pages),
            threads: vec![Thread::default(); programs.len()],
            left: 0,
            publishes: false,
            underway: Underway::default(),
        };
        let nodes = self.start.iter().zip(&self.programs);
        let mut state = State {
            nodes: nodes.map(node).collect(),
            memories: Memories::default(),
            channels: BTreeMap::new(),
            truth: BTreeMap::new(),
            at_barrier: Vec::new(),
            wrong: None,
        };
        for node in 0..self.start.len() {
            let mut actions = Vec::new();
            self.start[node].start(&mut actions);
            let started = self.carry_out(&mut state, node, actions);
            let started = started.and_then(|follows| {
                let mut follows = follows.into_iter();
                follows.try_for_each(|input| self.input(&mut state, node, input))
            });
            state.wrong = state.wrong.or(started.err());
        }
        vec![state]
    }

    fn actions(&self, state: &Self::State, actions: &mut Vec<Event>) {
        if state.wrong.is_some() {
            return;
        }
        for (number, node) in state.nodes.iter().enumerate() {
            for (thread, at) in node.threads.iter().enumerate() {
                let goes_on = at.waits.is_none() && self.is_answered(state, at.stage);
                if goes_on && at.next < self.programs[number][thread].len() {
                    actions.push(Event::Step(number, thread));
                }
            }
        }
        actions.extend(
            state
                .channels
                .keys()
                .map(|(from, to)| Event::Arrival(*from, *to)),
        );
    }

    fn next_state(&self, last: &Self::State, event: Event) -> Option<Self::State> {
        let mut state = last.clone();
        let done = match event {
            Event::Step(node, thread) => self.step(&mut state, (node, thread)),
            Event::Arrival(from, to) => {
                let channel = state.channels.get_mut(&(from, to))?;
                let message = channel.pop_front()?;
                if channel.is_empty() {
                    state.channels.remove(&(from, to));
                }
                let from = NodeId(u16::try_from(from).ok()?);
                self.input(&mut state, to, Input::Message { from, message })
            }
        };
        state.wrong = done.err();
        Some(state)
    }

    fn within_boundary(&self, state: &Self::State) -> bool {
        let mut threads = state.nodes.iter().flat_map(|node| &node.threads);
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
                    let mut messages = state.channels.values().flatten();
                    model
                        .looks_for
                        .is_some_and(|looked_for| messages.any(looked_for))
                },
            ));
        }
        properties
    }
}

pub(crate) fn node_id(number: usize) -> NodeId {
    NodeId(u16::try_from(number).unwrap_or(u16::MAX))
}

fn id(thread: usize) -> ThreadId {
    ThreadId(u32::try_from(thread).unwrap_or(u32::MAX))
}
