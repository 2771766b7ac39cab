//! What functions leave changed for those that call them.
//!
//! gcc keeps values in caller-saved registers across calls of functions that it knows not to
//! change them (`-fipa-ra`), so that the calling convention alone says too little.

use crate::flow::{Flow, FlowError, Leave, may_return};
use crate::image::{FunctionId, Image, Target};
use crate::instruction::{is_call, makes_frame, writes};
use crate::registers::Registers;
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, Register};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Instructions of functions that are looked into, at most, all together.
const INSTRUCTIONS_MAX: usize = 4 << 20;
/// Times that more functions are looked for that do not return.
const ROUNDS_MAX: usize = 4;

/// What a call leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallEffects {
    /// Registers that may be changed.
    pub changed: Registers,
    /// Whether memory may be changed that is not the function's own stack.
    pub stores: bool,
    /// Whether it may return.
    pub returns: bool,
}

impl CallEffects {
    /// By a function of which nothing is known.
    pub const UNKNOWN: Self = Self {
        changed: Registers::CALLER_SAVED,
        stores: true,
        returns: true,
    };
}

/// Of some functions and all that they call.
#[derive(Debug, Default)]
pub struct Effects {
    flows: BTreeMap<FunctionId, Arc<Flow>>,
    left: BTreeMap<FunctionId, CallEffects>,
    /// Functions without a graph.
    failed: Vec<(FunctionId, FlowError)>,
    incomplete: bool,
}

/// What a function does itself, and what it calls.
struct FunctionEffects {
    left: CallEffects,
    callees: BTreeSet<FunctionId>,
}

impl Effects {
    /// Looks into some functions, those that they call directly, and so on.
    #[must_use]
    pub fn of(image: &Image, roots: impl IntoIterator<Item = FunctionId>) -> Self {
        let mut effects = Self::default();
        let mut next: Vec<FunctionId> = roots.into_iter().collect();
        let mut seen: BTreeSet<FunctionId> = next.iter().copied().collect();
        let mut own: BTreeMap<FunctionId, FunctionEffects> = BTreeMap::new();
        let mut factory = InstructionInfoFactory::new();
        let mut instructions = 0;
        while let Some(id) = next.pop() {
            if instructions > INSTRUCTIONS_MAX {
                effects.incomplete = true;
                break;
            }
            match Flow::of(image, id) {
                Ok(flow) => {
                    instructions += flow.instructions.len();
                    let found = look(image, &flow, &mut factory);
                    next.extend(found.callees.iter().filter(|callee| seen.insert(**callee)));
                    own.insert(id, found);
                    effects.flows.insert(id, Arc::new(flow));
                }
                Err(error) => effects.failed.push((id, error)),
            }
        }
        for _ in 0..ROUNDS_MAX {
            effects.left = settle(&own);
            let never = |id: &FunctionId| effects.left.get(id).is_some_and(|left| !left.returns);
            let callers: Vec<FunctionId> = own
                .iter()
                .filter(|(_, own)| own.callees.iter().any(never))
                .map(|(id, _)| *id)
                .collect();
            let returns = |target: &Target| match target {
                Target::Local(address) => {
                    let id = image.function_from(*address);
                    may_return(image, target) && !id.is_some_and(|id| never(&id))
                }
                _ => may_return(image, target),
            };
            let mut changed = false;
            for id in callers {
                let Ok(flow) = Flow::with(image, id, returns) else {
                    continue;
                };
                let before = effects.flows.get(&id).map(|flow| flow.blocks.len());
                if before == Some(flow.blocks.len()) {
                    continue;
                }
                changed = true;
                own.insert(id, look(image, &flow, &mut factory));
                effects.flows.insert(id, Arc::new(flow));
            }
            if !changed {
                break;
            }
        }
        effects.left = settle(&own);
        effects
    }

    /// The graph of a function that was looked into.
    #[must_use]
    pub fn flow(&self, function: FunctionId) -> Option<&Arc<Flow>> {
        self.flows.get(&function)
    }

    /// Functions that were looked into.
    pub fn functions(&self) -> impl Iterator<Item = FunctionId> {
        self.flows.keys().copied()
    }

    /// Functions that have no graph, and why.
    #[must_use]
    pub fn failed(&self) -> &[(FunctionId, FlowError)] {
        &self.failed
    }

    /// Whether there were more functions than are looked into.
    #[must_use]
    pub fn is_incomplete(&self) -> bool {
        self.incomplete
    }

    /// What a function leaves.
    #[must_use]
    pub fn left(&self, function: FunctionId) -> CallEffects {
        self.left
            .get(&function)
            .copied()
            .unwrap_or(CallEffects::UNKNOWN)
    }

    /// What a call leaves, or a jump in the place of one.
    #[must_use]
    pub fn of_call(&self, image: &Image, call: &Instruction) -> CallEffects {
        match callee(image, call) {
            Some(id) => self.left(id),
            None => CallEffects {
                returns: image
                    .target(call)
                    .is_none_or(|target| may_return(image, &target)),
                ..CallEffects::UNKNOWN
            },
        }
    }
}

/// The function that an instruction calls or jumps to directly: only of those may compilers know
/// what they change. By way of stubs others may be called.
fn callee(image: &Image, instruction: &Instruction) -> Option<FunctionId> {
    let direct = matches!(
        instruction.flow_control(),
        FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
    );
    let to = direct.then(|| instruction.near_branch_target())?;
    (!image.is_stub(to))
        .then(|| image.function_from(to))
        .flatten()
}

/// What a function does without those that it calls.
fn look(image: &Image, flow: &Flow, factory: &mut InstructionInfoFactory) -> FunctionEffects {
    let mut own = FunctionEffects {
        left: CallEffects {
            changed: Registers::NONE,
            stores: false,
            returns: false,
        },
        callees: BTreeSet::new(),
    };
    let frame = flow.instructions.iter().any(makes_frame);
    for id in flow.ids() {
        let block = flow.block(id);
        if !block.reachable {
            continue;
        }
        for instruction in flow.code(id) {
            if is_call(instruction) {
                called(image, instruction, &mut own);
                continue;
            }
            // Leaves the lower halves as they are, which is all that anybody relies on.
            if matches!(instruction.mnemonic(), Mnemonic::Vzeroupper) {
                continue;
            }
            let info = factory.info(instruction);
            for used in info.used_registers() {
                if writes(used.access()) {
                    own.left.changed.insert(used.register());
                }
            }
            own.left.stores |= info.used_memory().iter().any(|memory| {
                let base = memory.base().full_register();
                let stack = base == Register::RSP || frame && base == Register::RBP;
                writes(memory.access()) && !stack
            });
        }
        match &block.leaves {
            Some(Leave::Return) => own.left.returns = true,
            Some(Leave::Unknown | Leave::Nothing) => {
                own.left = CallEffects::UNKNOWN;
            }
            Some(Leave::Tail(_)) => {
                // Falls into the next function, or jumps.
                match flow.code(id).last().map(|last| (last, image.target(last))) {
                    Some((last, Some(_))) => called(image, last, &mut own),
                    _ => own.left = CallEffects::UNKNOWN,
                }
                // Whether what is jumped to returns is found out with what is called.
                own.left.returns = true;
            }
            Some(Leave::NeverReturns | Leave::Stops) | None => {}
        }
    }
    own.left.changed = own.left.changed.common(Registers::CALLER_SAVED);
    own
}

fn called(image: &Image, call: &Instruction, own: &mut FunctionEffects) {
    match callee(image, call) {
        Some(id) => {
            own.callees.insert(id);
        }
        None => {
            own.left.changed = own.left.changed.and(Registers::CALLER_SAVED);
            own.left.stores = true;
        }
    }
}

/// Adds what callees do until nothing more is added.
fn settle(own: &BTreeMap<FunctionId, FunctionEffects>) -> BTreeMap<FunctionId, CallEffects> {
    let mut left: BTreeMap<FunctionId, CallEffects> =
        own.iter().map(|(id, own)| (*id, own.left)).collect();
    let mut callers: BTreeMap<FunctionId, Vec<FunctionId>> = BTreeMap::new();
    for (id, own) in own {
        for callee in &own.callees {
            callers.entry(*callee).or_default().push(*id);
        }
    }
    let mut work: Vec<FunctionId> = own.keys().copied().collect();
    while let Some(id) = work.pop() {
        let Some(own) = own.get(&id) else {
            continue;
        };
        let mut new = own.left;
        for callee in &own.callees {
            let other = left.get(callee).copied().unwrap_or(CallEffects::UNKNOWN);
            new.changed = new.changed.and(other.changed);
            new.stores |= other.stores;
        }
        if left.get(&id) != Some(&new) {
            left.insert(id, new);
            work.extend(callers.get(&id).into_iter().flatten());
        }
    }
    left
}
