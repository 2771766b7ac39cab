//! The blocks of one loop, or of a function outside loops.

use super::merge::Edge;
use super::trips::{Ends, LoopExit};
use super::{FrameId, Reach, Walk};
use crate::machine::{State, gpr, xmm};
use crate::values::{Location, Node, Substitution, Value};
use fathomp_cfg::{BlockId, CycleId, Flow, Leave};
use fathomp_regions::{LoopId, ReasonKind};
use iced_x86::{InstructionInfoFactory, Register};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

/// Times that a loop is executed to find out which memory it carries.
const ROUNDS_MAX: usize = 3;

/// What is executed as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Item {
    Block(BlockId),
    Cycle(CycleId),
}

/// A way out of a loop.
pub(super) struct Exit {
    pub(super) from: BlockId,
    pub(super) to: BlockId,
    pub(super) state: State,
}

/// How a level is left.
#[derive(Default)]
pub(super) struct Left {
    /// Back to its beginning.
    pub(super) latches: Vec<Edge>,
    /// Out of the loop.
    pub(super) exits: Vec<Exit>,
    /// Out of the function.
    pub(super) returns: Vec<Edge>,
}

impl Walk<'_> {
    /// Executes a loop's blocks, or a function's, from one block on. `sideways` are other ways
    /// into it.
    pub(super) fn run_level(
        &mut self,
        frame: FrameId,
        level: Option<CycleId>,
        start: BlockId,
        state: State,
        sideways: Vec<(BlockId, Edge)>,
    ) -> Left {
        let flow = self.frames[frame.0 as usize].flow.clone();
        let order = self.order(frame, level, start);
        let mut left = Left::default();
        let mut pending: BTreeMap<BlockId, Vec<Edge>> = BTreeMap::new();
        for (to, edge) in sideways {
            pending.entry(to).or_default().push(edge);
        }
        let mut first = Some(state);
        for item in order.iter() {
            if self.is_exhausted() {
                break;
            }
            match *item {
                Item::Block(block) => {
                    let state = match first.take_if(|_| block == start) {
                        Some(state) => Some(state),
                        None => {
                            let edges = pending.remove(&block).unwrap_or_default();
                            self.merge(frame, block, edges)
                        }
                    };
                    let Some(mut state) = state else {
                        continue;
                    };
                    self.run_block(frame, &flow, block, &mut state);
                    let ends = &flow.block(block);
                    match &ends.leaves {
                        Some(Leave::Return) => left.returns.push((block, state.clone())),
                        Some(Leave::Tail(target)) => {
                            let mut state = state.clone();
                            self.run_tail(frame, &flow, block, target, &mut state);
                            left.returns.push((block, state));
                        }
                        _ => {}
                    }
                    let condition = self.frames[frame.0 as usize].condition(block);
                    for to in &ends.successors {
                        let mut state = state.clone();
                        if ends.successors.len() == 2 && ends.taken != ends.passed {
                            let condition = match condition {
                                Some(condition) => condition,
                                None => self.decision(frame, &flow, block),
                            };
                            let holds = match ends.taken == Some(*to) {
                                true => condition,
                                false => self.values.not(condition),
                            };
                            // Ways to where the program ends say nothing of the others.
                            if self.is_choice(frame, ends) {
                                state.hold(&mut self.values, holds);
                            }
                        }
                        self.push(
                            &flow,
                            level,
                            start,
                            block,
                            *to,
                            state,
                            &mut pending,
                            &mut left,
                        );
                    }
                }
                Item::Cycle(cycle) => {
                    let inner = flow.cycle(cycle);
                    let mut sideways = Vec::new();
                    for entry in &inner.entries {
                        if *entry != inner.header {
                            let edges = pending.remove(entry).unwrap_or_default();
                            sideways.extend(edges.into_iter().map(|edge| (*entry, edge)));
                        }
                    }
                    let edges = match first.take_if(|_| inner.header == start) {
                        Some(state) => vec![(start, state)],
                        None => pending.remove(&inner.header).unwrap_or_default(),
                    };
                    let at = inner.header;
                    let entry = match self.merge(frame, at, edges) {
                        Some(entry) => entry,
                        // Entered at its other entries only.
                        None => match sideways.first() {
                            Some((_, (_, state))) => state.clone(),
                            None => continue,
                        },
                    };
                    let exits = self.run_loop(frame, cycle, entry, sideways, &mut left.returns);
                    for exit in exits {
                        let Exit { from, to, state } = exit;
                        self.push(
                            &flow,
                            level,
                            start,
                            from,
                            to,
                            state,
                            &mut pending,
                            &mut left,
                        );
                    }
                }
            }
        }
        left
    }

    #[allow(clippy::too_many_arguments)]
    fn push(
        &self,
        flow: &Flow,
        level: Option<CycleId>,
        start: BlockId,
        from: BlockId,
        to: BlockId,
        state: State,
        pending: &mut BTreeMap<BlockId, Vec<Edge>>,
        left: &mut Left,
    ) {
        match level {
            Some(_) if to == start => left.latches.push((from, state)),
            Some(cycle) if !flow.cycle(cycle).contains(to) => {
                left.exits.push(Exit { from, to, state });
            }
            _ => pending.entry(to).or_default().push((from, state)),
        }
    }

    /// Whether both ways from the end of a block lead on.
    fn is_choice(&self, frame: FrameId, block: &fathomp_cfg::Block) -> bool {
        let hopeful = &self.frames[frame.0 as usize].hopeful;
        block.successors.iter().all(|to| hopeful[to.index()])
    }

    /// What stands for the condition of a branch that is not known.
    fn decision(&mut self, frame: FrameId, flow: &Flow, block: BlockId) -> Value {
        let at = flow.code(block).last().map_or(0, |last| last.ip());
        let inside = self.frames[frame.0 as usize].inside(block);
        self.values
            .unknown(ReasonKind::DataDependentExit, at, None, inside)
    }

    /// Executes a block, up to its end.
    fn run_block(&mut self, frame: FrameId, flow: &Flow, block: BlockId, state: &mut State) {
        let inside = self.frames[frame.0 as usize].inside(block);
        self.machine.inside = inside;
        for instruction in flow.code(block) {
            self.steps += 1;
            self.note_variables(instruction.ip(), state);
            if fathomp_cfg::is_call(instruction) {
                self.run_call(frame, block, instruction, state);
                self.machine.inside = inside;
                continue;
            }
            self.note_accesses(frame, block, instruction, state);
            self.machine.execute(&mut self.values, state, instruction);
            self.note_division(frame, block, instruction, state);
        }
        let condition = flow
            .code(block)
            .last()
            .filter(|last| last.is_jcc_short_or_near())
            .and_then(|last| {
                state
                    .flags
                    .condition(&mut self.values, last.condition_code())
            });
        self.frames[frame.0 as usize].conditions[block.index()] = condition;
    }

    /// Executes a loop. Returns its ways out with what its last iteration leaves.
    fn run_loop(
        &mut self,
        frame: FrameId,
        cycle: CycleId,
        entry: State,
        sideways: Vec<(BlockId, Edge)>,
        returns: &mut Vec<Edge>,
    ) -> Vec<Exit> {
        let flow = self.frames[frame.0 as usize].flow.clone();
        let id = self.frames[frame.0 as usize].loops[cycle.index()];
        let header = flow.cycle(cycle).header;
        let changed = self.changed(&flow, cycle);
        let mut round = 0;
        let (begin, left, latch) = loop {
            round += 1;

            let begin = self.begin(id, &entry, &changed);
            let left = self.run_level(frame, Some(cycle), header, begin.clone(), sideways.clone());
            let latch = self.merge(frame, header, left.latches.clone());
            let more = match &latch {
                Some(latch) => self.note_stored(id, &begin, latch),
                None => false,
            };
            if !more || round >= ROUNDS_MAX || self.is_exhausted() {
                break (begin, left, latch);
            }
        };
        let mut solved = match &latch {
            Some(latch) => self.solve(id, &entry, &begin, latch),
            None => Substitution::default(),
        };
        let mut left = left;
        let hopeful = &self.frames[frame.0 as usize].hopeful;
        let leaves: Vec<LoopExit> = left
            .exits
            .iter()
            .filter(|exit| hopeful[exit.to.index()])
            .map(|exit| LoopExit {
                from: exit.from,
                to: exit.to,
                reach: exit.state.reach.clone(),
            })
            .collect();
        let ends = self.find_trips(frame, cycle, id, &leaves, &mut solved);
        self.facts.loops[id.0 as usize].entered = (*entry.reach).clone();
        let mut closing: HashMap<Option<Value>, Closing> = HashMap::new();
        self.exits_reached(frame, &flow, &entry, &ends, &mut left.exits);
        for exit in &mut left.exits {
            let last = ends.iterations.get(&(exit.from, exit.to)).copied();
            let closing = closing
                .entry(last)
                .or_insert_with(|| Closing::new(self, id, solved.clone(), last));
            closing.close(self, &mut exit.state);
        }
        for (_, state) in &mut left.returns {
            let closing = closing
                .entry(None)
                .or_insert_with(|| Closing::new(self, id, solved.clone(), None));
            closing.close(self, state);
        }
        returns.append(&mut left.returns);
        left.exits
    }

    /// Says of ways out of a loop when they are reached: one of them is, if the loop is.
    fn exits_reached(
        &mut self,
        frame: FrameId,
        flow: &Flow,
        entry: &State,
        ends: &Ends,
        exits: &mut [Exit],
    ) {
        let hopeful = self.frames[frame.0 as usize].hopeful.clone();
        let mut targets: Vec<BlockId> = Vec::new();
        for exit in exits.iter() {
            if hopeful[exit.to.index()] && !targets.contains(&exit.to) {
                targets.push(exit.to);
            }
        }
        // Those that are taken at once or never come first.
        let immediate = |to: &BlockId| {
            let mut here = exits.iter().filter(|exit| exit.to == *to);
            let only = here.next().filter(|_| here.next().is_none());
            only.and_then(|exit| ends.unless.get(&(exit.from, exit.to)).copied())
        };
        let immediate: HashMap<BlockId, Value> = targets
            .iter()
            .filter_map(|to| Some((*to, immediate(to)?)))
            .collect();
        targets.sort_by_key(|to| !immediate.contains_key(to));
        let mut rest = (*entry.reach).clone();
        let mut by_target: HashMap<BlockId, Rc<Reach>> = HashMap::new();
        for (number, to) in targets.iter().enumerate() {
            let mut here = rest.clone();
            if number + 1 < targets.len() {
                let from = exits
                    .iter()
                    .find(|exit| exit.to == *to)
                    .map(|exit| exit.from);
                let left = match immediate.get(to) {
                    Some(unless) => self.values.not(*unless),
                    None => self.decision(frame, flow, from.unwrap_or(*to)),
                };
                here.and(&mut self.values, left);
                let stayed = self.values.not(left);
                rest.and(&mut self.values, stayed);
            }
            by_target.insert(*to, Rc::new(here));
        }
        for exit in exits {
            exit.state.reach = by_target.get(&exit.to).unwrap_or(&entry.reach).clone();
        }
    }

    /// The state when an iteration begins: what the loop changes is carried.
    fn begin(&mut self, id: LoopId, entry: &State, changed: &BTreeSet<Location>) -> State {
        let mut state = entry.clone();
        state.flags = crate::machine::Flags::Unknown;
        state.reach = Rc::new(Reach::always());
        for location in changed {
            match location {
                Location::Vector(number) => state.vectors[usize::from(*number)] = None,
                _ => {
                    let carried = self.values.intern(Node::Carried(id, *location));
                    state.set(&mut self.values, *location, carried);
                }
            }
        }
        let stored = self.stored.get(&id).cloned().unwrap_or_default();
        for (address, bytes) in stored {
            let location = Location::Memory(address, bytes);
            let carried = self.values.intern(Node::Carried(id, location));
            state.set(&mut self.values, location, carried);
        }
        state
    }

    /// Notes places in memory that an iteration leaves changed. Returns whether there are new
    /// ones.
    fn note_stored(&mut self, id: LoopId, begin: &State, latch: &State) -> bool {
        let mut more = false;
        let mut lost: Vec<(Value, u8)> = Vec::new();
        for key in begin.memory.keys() {
            if !latch.memory.contains_key(key) {
                lost.push(*key);
            }
        }
        let differing = latch
            .memory
            .iter()
            .filter(|(key, value)| begin.memory.get(*key) != Some(*value));
        let keys: Vec<(Value, u8)> = differing.map(|(key, _)| *key).chain(lost).collect();
        for (address, bytes) in keys {
            if self.values.varies(address, id) || self.is_popped(latch, address) {
                continue;
            }
            more |= self.stored.entry(id).or_default().insert((address, bytes));
        }
        more
    }

    /// Whether an address lies below the stack's top, where nothing is kept.
    fn is_popped(&mut self, state: &State, address: Value) -> bool {
        let distance = self.values.sub(address, state.registers[4].value);
        self.values
            .as_constant(distance)
            .is_some_and(|by| by < -128)
    }

    /// What a loop may change, memory left out.
    fn changed(&mut self, flow: &Flow, cycle: CycleId) -> BTreeSet<Location> {
        let mut found = BTreeSet::new();
        let mut factory = InstructionInfoFactory::new();
        for block in &flow.cycle(cycle).blocks {
            for instruction in flow.code(*block) {
                if fathomp_cfg::is_call(instruction) {
                    let left = self.effects.of_call(self.image, instruction);
                    for number in 0..16 {
                        let register = Register::RAX + number;
                        if left.changed.contains(register) || number == 0 {
                            found.extend(gpr(register).map(Location::Register));
                        }
                        found.extend(xmm(Register::XMM0 + number).map(Location::Vector));
                    }
                    continue;
                }
                for used in factory.info(instruction).used_registers() {
                    if !fathomp_cfg::writes(used.access()) {
                        continue;
                    }
                    found.extend(gpr(used.register()).map(Location::Register));
                    found.extend(xmm(used.register()).map(Location::Vector));
                }
            }
        }
        found.remove(&Location::Register(4));
        found
    }

    /// The order of execution of a loop's blocks, or of a function's outside loops.
    fn order(&mut self, frame: FrameId, level: Option<CycleId>, start: BlockId) -> Arc<Vec<Item>> {
        let frame = &mut self.frames[frame.0 as usize];
        if let Some(order) = frame.orders.get(&level) {
            return order.clone();
        }
        let order = Arc::new(order(&frame.flow, level, start));
        frame.orders.insert(level, order.clone());
        order
    }
}

/// What a block is part of, as seen from a level; none if it lies outside.
fn item(flow: &Flow, level: Option<CycleId>, block: BlockId) -> Option<Item> {
    let mut at = flow.cycle_of(block);
    if at == level {
        return Some(Item::Block(block));
    }
    loop {
        let id = at?;
        let parent = flow.cycle(id).parent;
        if parent == level {
            return Some(Item::Cycle(id));
        }
        at = parent;
    }
}

/// Reverse postorder of the items of a level.
fn order(flow: &Flow, level: Option<CycleId>, start: BlockId) -> Vec<Item> {
    let next = |of: Item| -> Vec<Item> {
        let targets: Vec<BlockId> = match of {
            Item::Block(block) => flow.block(block).successors.clone(),
            Item::Cycle(cycle) => flow.cycle(cycle).exits.iter().map(|exit| exit.1).collect(),
        };
        targets
            .into_iter()
            .filter(|to| level.is_none() || *to != start)
            .filter_map(|to| item(flow, level, to))
            .filter(|to| *to != of)
            .collect()
    };
    let Some(first) = item(flow, level, start) else {
        return Vec::new();
    };
    let mut seen: HashSet<Item> = HashSet::from([first]);
    let mut open = vec![(first, next(first))];
    let mut done = Vec::new();
    // Other entries of a loop may be reached from outside only.
    let mut more: Vec<Item> = match level {
        Some(cycle) => {
            let entries = flow.cycle(cycle).entries.iter();
            entries
                .filter_map(|entry| item(flow, level, *entry))
                .collect()
        }
        None => Vec::new(),
    };
    loop {
        while let Some((at, successors)) = open.last_mut() {
            match successors.pop() {
                Some(to) => {
                    if seen.insert(to) {
                        let further = next(to);
                        open.push((to, further));
                    }
                }
                None => {
                    done.push(*at);
                    open.pop();
                }
            }
        }
        match more.pop() {
            Some(entry) if seen.insert(entry) => {
                let further = next(entry);
                open.push((entry, further));
            }
            Some(_) => {}
            None => break,
        }
    }
    done.reverse();
    // The level's own beginning comes first in any case.
    if let Some(at) = done.iter().position(|of| *of == first) {
        let first = done.remove(at);
        done.insert(0, first);
    }
    done
}

/// Makes what a loop's last iteration leaves out of what holds inside.
struct Closing {
    id: LoopId,
    /// What is carried, solved.
    solved: Substitution,
    /// Iterations to the number of the last one.
    last: Substitution,
    done: HashMap<Value, Value>,
}

impl Closing {
    fn new(walk: &mut Walk<'_>, id: LoopId, solved: Substitution, last: Option<Value>) -> Self {
        let mut substitution = Substitution::default();
        if let Some(last) = last {
            let iteration = walk.values.iteration(id);
            substitution.insert(iteration, last);
        }
        Self {
            id,
            solved,
            last: substitution,
            done: HashMap::new(),
        }
    }

    fn close(&mut self, walk: &mut Walk<'_>, state: &mut State) {
        for number in 0..state.registers.len() {
            let old = state.registers[number].value;
            let location = Location::Register(number as u8);
            state.registers[number].value = self.value(walk, old, location);
        }
        for (number, slot) in state.vectors.iter_mut().enumerate() {
            *slot = slot.map(|old| self.value(walk, old, Location::Vector(number as u8)));
        }
        if state.memory.iter().any(|((address, _), value)| {
            walk.values.varies(*address, self.id) || walk.values.varies(*value, self.id)
        }) {
            let mut memory = BTreeMap::new();
            for ((address, bytes), value) in state.memory.iter() {
                if walk.values.varies(*address, self.id) {
                    continue;
                }
                let location = Location::Memory(*address, *bytes);
                let value = self.value(walk, *value, location);
                memory.insert((*address, *bytes), value);
            }
            state.memory = memory.into();
        }
        state.flags = crate::machine::Flags::Unknown;
        if state
            .holds
            .iter()
            .any(|holds| walk.values.varies(*holds, self.id))
        {
            Rc::make_mut(&mut state.holds).retain(|holds| !walk.values.varies(*holds, self.id));
        }
    }

    fn value(&mut self, walk: &mut Walk<'_>, value: Value, location: Location) -> Value {
        if !walk.values.varies(value, self.id) {
            return value;
        }
        if let Some(done) = self.done.get(&value) {
            return *done;
        }
        let mut new = self.solved.apply(&mut walk.values, value);
        if walk.values.varies(new, self.id) {
            new = self.last.apply(&mut walk.values, new);
        }
        if walk.values.varies(new, self.id) {
            let kind = walk
                .why(new, self.id)
                .unwrap_or(ReasonKind::DataDependentExit);
            let frame = walk.facts.loops[self.id.0 as usize].frame;
            let cycle = walk.facts.loops[self.id.0 as usize].cycle;
            let frame = &walk.frames[frame.0 as usize];
            let at = frame.flow.block(frame.flow.cycle(cycle).header).start;
            let inside = walk.facts.loops[self.id.0 as usize].parent;
            new = walk.values.unknown(kind, at, Some(location), inside);
        } else {
            self.done.insert(value, new);
        }
        new
    }
}
