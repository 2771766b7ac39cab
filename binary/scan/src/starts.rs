//! Finds the bodies of a program: calls that start one, and the function that each gets.

use crate::entries::{self, Starter};
use crate::machine::{Machine, State};
use crate::values::{Node, Value, Values};
use fathomp_cfg::{BlockId, Flow, Image, Leave, Target};
use fathomp_regions::{Leaf, Start};
use iced_x86::{Instruction, InstructionInfoFactory};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// A call that starts bodies.
#[derive(Clone, Debug)]
pub(crate) struct Found {
    pub(crate) starter: Starter,
    /// The functions that it may start; none if that is not known.
    pub(crate) bodies: Vec<u64>,
    pub(crate) start: Start,
}

/// Looks for calls that start bodies in one function.
pub(crate) fn find(image: &Image, flow: &Flow, fixed: bool, sections: &[Range<u64>]) -> Vec<Found> {
    let calls: Vec<(BlockId, Instruction, String, Starter)> = flow
        .ids()
        .filter(|id| flow.block(*id).reachable)
        .flat_map(|id| {
            let called = flow.code(id).iter().filter_map(move |instruction| {
                let name = called(image, flow, id, instruction)?;
                let starter = entries::starter(&name)?;
                Some((id, *instruction, name, starter))
            });
            called.collect::<Vec<_>>()
        })
        .collect();
    if calls.is_empty() {
        return Vec::new();
    }
    let mut search = Search {
        values: Values::new(),
        machine: Machine {
            image,
            fixed,
            sections,
            inside: None,
            factory: InstructionInfoFactory::new(),
        },
        ends: HashMap::new(),
    };
    let states = search.states(image, flow);
    // Without such a call, regions of LLVM's interface have no `num_threads` clause.
    let has_clause = flow.instructions.iter().any(|instruction| {
        let name = match image.target(instruction) {
            Some(Target::Import(name)) => name.starts_with("__kmpc_push_num_threads"),
            _ => false,
        };
        fathomp_cfg::is_call(instruction) && name
    });
    let mut found = Vec::new();
    for (block, call, name, starter) in calls {
        let Some(mut state) = states.get(&block).cloned() else {
            continue;
        };
        for instruction in flow.code(block) {
            if instruction.ip() == call.ip() {
                break;
            }
            search.step(image, &mut state, instruction);
        }
        let is_default = entries::llvm::is_entry(&name) && !has_clause;
        let mut one = search.found(image, flow, &state, &call, name, starter);
        if is_default {
            one.start.threads = Some(0);
        }
        found.push(one);
    }
    found
}

/// The name of what an instruction calls, or jumps to in place of a call.
fn called(image: &Image, flow: &Flow, block: BlockId, instruction: &Instruction) -> Option<String> {
    let tail = || {
        let last = flow.code(block).last()?;
        let leaves = matches!(flow.block(block).leaves, Some(Leave::Tail(_)));
        (leaves && last.ip() == instruction.ip()).then_some(())
    };
    if !fathomp_cfg::is_call(instruction) {
        tail()?;
    }
    match image.target(instruction)? {
        Target::Import(name) => Some(name.to_string()),
        Target::Local(address) => {
            let id = image.function_from(address)?;
            image.name(id).map(str::to_owned)
        }
        Target::Unknown => None,
    }
}

/// Registers of arguments, by their numbers in machine code.
const ARGUMENTS: [usize; 6] = [7, 6, 2, 1, 8, 9];

struct Search<'a> {
    values: Values,
    machine: Machine<'a>,
    ends: HashMap<BlockId, State>,
}

impl Search<'_> {
    /// The state at the beginning of each block, each executed once: what loops change is what it
    /// is at first, which does for addresses of functions.
    fn states(&mut self, image: &Image, flow: &Flow) -> BTreeMap<BlockId, State> {
        let argument = self.values.leaf(Leaf::Argument(1));
        let mut states = BTreeMap::new();
        for block in flow.order() {
            let before: Vec<&State> = flow
                .block(*block)
                .predecessors
                .iter()
                .filter_map(|from| self.ends.get(from))
                .collect();
            let state = match before.split_first() {
                None => State::body(&mut self.values, argument),
                Some((first, rest)) => {
                    let mut merged = (*first).clone();
                    for other in rest {
                        for number in 0..16 {
                            let (a, b) = (merged.registers[number], other.registers[number]);
                            if a != b {
                                // One or the other, whatever decides.
                                let either = self.values.leaf(Leaf::Thread);
                                let value =
                                    self.values.intern(Node::Select(either, a.value, b.value));
                                merged.registers[number].value = value;
                            }
                        }
                        if merged.memory.len() > other.memory.len() {
                            merged.memory = other.memory.clone();
                        }
                    }
                    merged
                }
            };
            states.insert(*block, state.clone());
            let mut state = state;
            for instruction in flow.code(*block) {
                self.step(image, &mut state, instruction);
            }
            self.ends.insert(*block, state);
        }
        states
    }

    fn step(&mut self, image: &Image, state: &mut State, instruction: &Instruction) {
        if !fathomp_cfg::is_call(instruction) {
            self.machine.execute(&mut self.values, state, instruction);
            return;
        }
        let _ = image;
        for number in [0, 1, 2, 6, 7, 8, 9, 10, 11] {
            let value = self.machine.lost_at(
                &mut self.values,
                instruction,
                fathomp_regions::ReasonKind::Call,
                number,
            );
            state.registers[usize::from(number)].value = value;
        }
    }

    fn found(
        &mut self,
        image: &Image,
        flow: &Flow,
        state: &State,
        call: &Instruction,
        entry: String,
        starter: Starter,
    ) -> Found {
        let argument = |number: u8| {
            let register = ARGUMENTS.get(usize::from(number))?;
            Some(state.registers[*register].value)
        };
        let function = argument(starter.function);
        let mut bodies = Vec::new();
        if let Some(function) = function {
            self.functions(image, function, &mut bodies, 0);
        }
        bodies.sort_unstable();
        bodies.dedup();
        let constant = |number: Option<u8>| self.values.as_constant(argument(number?)?);
        let range = starter.range.map(|first| {
            let (from, to) = (constant(Some(first))?, constant(Some(first + 1))?);
            let step = constant(Some(first + 2))?;
            let last = to.checked_sub(from)?.checked_add(step)?;
            let count = last.checked_sub(step.signum())?.checked_div(step)?;
            Some(count.max(0))
        });
        let is_call = fathomp_cfg::is_call(call);
        Found {
            starter,
            bodies,
            start: Start {
                entry: entry.split('@').next().unwrap_or_default().to_owned(),
                at: call.ip(),
                returns_to: if is_call { call.next_ip() } else { 0 },
                function: image.name(flow.function).map(str::to_owned),
                place: None,
                threads: constant(starter.threads),
                iterations: range.flatten(),
            },
        }
    }

    /// The functions that a value may be the address of.
    fn functions(&mut self, image: &Image, value: Value, found: &mut Vec<u64>, depth: usize) {
        if depth > 16 {
            return;
        }
        if let Node::Select(_, yes, no) = *self.values.node(value) {
            self.functions(image, yes, found, depth + 1);
            self.functions(image, no, found, depth + 1);
            return;
        }
        let (base, address) = self.values.split_constant(value);
        let is_module = matches!(self.values.node(base), Node::Leaf(Leaf::Module(0)));
        let is_constant = self.values.as_constant(base) == Some(0);
        if (is_module || is_constant) && image.function_from(address as u64).is_some() {
            found.push(address as u64);
        }
    }
}
