//! Executes a body once with values instead of numbers: loops once with what an iteration
//! leaves to the next as unknowns, which are then solved.
//!
//! The blocks of a loop are executed in an order in which each comes behind those that lead to
//! it. Where ways meet, values that differ become a choice by the condition where the ways
//! parted, or unknown. When a loop is done, what its registers and memory hold at the end of
//! an iteration is compared with the beginning (`induction`), its trips follow from its exits
//! (`trips`), and what lies behind it goes on with what its last iteration leaves. Memory that
//! a loop stores to at an address that stays the same is carried from iteration to iteration
//! like a register; then its loop is executed once more, because that shows only at its end.
//! Any other load is taken to read what was there when the body began.

mod accesses;
mod calls;
mod either;
mod facts;
mod induction;
mod level;
mod llvm;
mod merge;
mod reach;
mod trips;
mod ways;

pub(crate) use reach::Reach;

pub(crate) use facts::{
    AccessFact, CallFact, DivisionFact, Facts, FrameId, LoopFact, Scheduled, StaticFact,
};

use crate::machine::{Machine, State};
use crate::names::{WatchedPlace, Watches};
use crate::values::{Location, Node, Substitution, Value, Values};
use fathomp_cfg::{BlockId, CycleId, Effects, Flow, FunctionId, Image, Target};
use fathomp_regions::{Leaf, LoopId};
use iced_x86::InstructionInfoFactory;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;

/// Instructions executed for one body, at most.
const STEPS_MAX: usize = 1_500_000;
/// Values made for one body, at most.
const VALUES_MAX: usize = 3_000_000;

/// A function while it is executed on behalf of a body: the body itself, or one that it calls.
pub(crate) struct Frame {
    pub(crate) function: FunctionId,
    pub(crate) flow: Arc<Flow>,
    /// Its loops, by their cycles.
    pub(crate) loops: Vec<LoopId>,
    /// The loop around the call of it.
    pub(crate) outside: Option<LoopId>,
    /// Calls around it.
    pub(crate) depth: u32,
    /// The conditions under which branches at the ends of blocks are taken.
    conditions: Vec<Option<Value>>,
    /// Blocks from which there is a way back to the caller.
    hopeful: Vec<bool>,
    /// Orders of blocks that were found before.
    orders: HashMap<Option<CycleId>, Arc<Vec<level::Item>>>,
}

impl Frame {
    /// The condition under which the branch at the end of a block is taken.
    pub(crate) fn condition(&self, block: BlockId) -> Option<Value> {
        self.conditions.get(block.index()).copied().flatten()
    }

    /// The innermost loop around a block.
    pub(crate) fn inside(&self, block: BlockId) -> Option<LoopId> {
        match self.flow.cycle_of(block) {
            Some(cycle) => Some(self.loops[cycle.index()]),
            None => self.outside,
        }
    }
}

/// Functions that are looked through for loops that threads share.
const FUNCTIONS_MAX: usize = 200;

/// What is executed on behalf of one body.
pub(crate) struct Walk<'a> {
    pub(crate) values: Values,
    pub(crate) image: &'a Image,
    pub(crate) frames: Vec<Frame>,
    pub(crate) facts: Facts,
    /// What is carried from iteration to iteration, as far as it is expressed otherwise.
    pub(crate) solved: Substitution,
    machine: Machine<'a>,
    effects: &'a Effects,
    /// Calls that were followed: caller, address.
    followed: BTreeMap<(FrameId, u64), FrameId>,
    /// Places in memory that loops carry.
    stored: HashMap<LoopId, BTreeSet<(Value, u8)>>,
    /// Calls that hand out chunks, by address.
    worksharing: BTreeMap<u64, calls::Worksharing>,
    /// Variables that are looked for.
    watches: &'a Watches,
    steps: usize,
    /// Whether it was given up.
    pub(crate) exhausted: bool,
}

impl<'a> Walk<'a> {
    pub(crate) fn new(
        image: &'a Image,
        effects: &'a Effects,
        sections: &'a [Range<u64>],
        watches: &'a Watches,
    ) -> Self {
        Self {
            values: Values::new(),
            image,
            frames: Vec::new(),
            facts: Facts::default(),
            solved: Substitution::default(),
            machine: Machine {
                image,
                fixed: !image.is_position_independent(),
                sections,
                inside: None,
                factory: InstructionInfoFactory::new(),
            },
            effects,
            followed: BTreeMap::new(),
            stored: HashMap::new(),
            worksharing: BTreeMap::new(),
            watches,
            steps: 0,
            exhausted: false,
        }
    }

    /// Executes a body that gets `argument`.
    pub(crate) fn body(&mut self, function: FunctionId, flow: &Arc<Flow>, argument: Value) {
        let frame = self.frame(function, flow, None, 0);
        let state = State::body(&mut self.values, argument);
        let entry = flow.entry;
        self.run_level(frame, None, entry, state, Vec::new());
    }

    /// A new frame.
    fn frame(
        &mut self,
        function: FunctionId,
        flow: &Arc<Flow>,
        outside: Option<LoopId>,
        depth: u32,
    ) -> FrameId {
        let id = FrameId(self.frames.len() as u32);
        let mut loops: Vec<LoopId> = Vec::with_capacity(flow.cycles.len());
        for cycle in &flow.cycles {
            let parent = match cycle.parent {
                Some(parent) => loops.get(parent.index()).copied(),
                None => outside,
            };
            let new = self.values.new_loop(parent);
            loops.push(new);
            let cycle = CycleId(loops.len() as u32 - 1);
            self.facts.loops.push(LoopFact::new(id, cycle, parent));
        }
        self.frames.push(Frame {
            function,
            flow: flow.clone(),
            loops,
            outside,
            depth,
            conditions: vec![None; flow.blocks.len()],
            hopeful: hopeful(flow),
            orders: HashMap::new(),
        });
        id
    }

    /// The frame of a call that was followed.
    pub(crate) fn followed(&self, caller: FrameId, at: u64) -> Option<FrameId> {
        self.followed.get(&(caller, at)).copied()
    }

    /// Notes where the values of variables come from that are at known places now.
    fn note_variables(&mut self, at: u64, state: &State) {
        let Some(watches) = self.watches.get(&at) else {
            return;
        };
        for (number, watch) in watches.iter().enumerate() {
            let register = |number: u8| state.registers[usize::from(number)].value;
            let address = match watch.place {
                WatchedPlace::Value(number) => self.address_of(register(number)),
                WatchedPlace::At(number, offset) => {
                    Some(self.values.offset(register(number), offset))
                }
                WatchedPlace::Behind(number, offset) => {
                    let place = self.values.offset(register(number), offset);
                    let location = Location::Memory(place, 8);
                    Some(state.get(&mut self.values, location))
                }
                WatchedPlace::Frame(offset) => {
                    let stack = self.values.intern(Node::Stack);
                    let place = self.values.offset(stack, offset + 8);
                    let held = [8, 4].map(|bytes| state.memory.get(&(place, bytes)).copied());
                    let held = held.into_iter().flatten().next();
                    held.and_then(|value| self.address_of(value))
                }
            };
            if let Some(address) = address {
                self.facts.variables.insert((address, at, number));
            }
        }
    }

    /// Notes what an instruction divided by the team's size.
    fn note_division(
        &mut self,
        frame: FrameId,
        block: BlockId,
        instruction: &iced_x86::Instruction,
        state: &State,
    ) {
        use iced_x86::Mnemonic;
        if !matches!(instruction.mnemonic(), Mnemonic::Idiv | Mnemonic::Div) {
            return;
        }
        let threads = self.values.leaf(Leaf::Threads);
        if let Node::Op(_, number, by) = *self.values.node(state.registers[0].value)
            && by == threads
        {
            let fact = DivisionFact {
                block,
                bits: state.registers[0].bits,
                inside: self.machine.inside,
                number,
                reach: state.reach.clone(),
            };
            let at = instruction.ip();
            self.facts.divisions.insert((frame, at), fact);
        }
    }

    /// Whether a function, or one that it calls, may divide loops among threads by its code.
    pub(crate) fn may_divide(&self, function: FunctionId) -> bool {
        let mut seen = BTreeSet::from([function]);
        let mut open = vec![function];
        while let Some(id) = open.pop() {
            let Some(flow) = self.effects.flow(id) else {
                continue;
            };
            let (mut size, mut number) = (false, false);
            let calls = flow.instructions.iter();
            for call in calls.filter(|one| fathomp_cfg::is_call(one)) {
                let (name, callee) = match self.image.target(call) {
                    Some(Target::Import(name)) => (name.to_string(), None),
                    Some(Target::Local(address)) => {
                        let id = self.image.function_from(address);
                        let name = id.and_then(|id| self.image.name(id)).unwrap_or_default();
                        (name.to_owned(), id)
                    }
                    _ => continue,
                };
                size |= name.starts_with("omp_get_num_threads");
                number |= name.starts_with("omp_get_thread_num");
                if seen.len() < FUNCTIONS_MAX {
                    open.extend(callee.filter(|callee| seen.insert(*callee)));
                }
            }
            if size && number {
                return true;
            }
        }
        false
    }

    /// Where a value was loaded from, if it was.
    fn address_of(&self, value: Value) -> Option<Value> {
        match self.values.node(value) {
            Node::Load { address, .. } => Some(*address),
            _ => None,
        }
    }

    /// Whether too much was done already.
    fn is_exhausted(&mut self) -> bool {
        self.exhausted |= self.steps > STEPS_MAX || self.values.len() > VALUES_MAX;
        self.exhausted
    }
}

/// Blocks from which a function can return, or go to where it is not known.
fn hopeful(flow: &Flow) -> Vec<bool> {
    use fathomp_cfg::Leave;
    let mut found = vec![false; flow.blocks.len()];
    let mut open: Vec<BlockId> = flow
        .ids()
        .filter(|id| {
            matches!(
                flow.block(*id).leaves,
                Some(Leave::Return | Leave::Tail(_) | Leave::Unknown)
            )
        })
        .collect();
    while let Some(id) = open.pop() {
        if !std::mem::replace(&mut found[id.index()], true) {
            open.extend(&flow.block(id).predecessors);
        }
    }
    found
}
