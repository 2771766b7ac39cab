//! What leads to a loop around a compare-and-exchange.
//!
//! Where registers are few, the first round has the word's address from code before the loop, and
//! each later one reads it from the stack, where that code has put it or found it.

use super::jumps::Jumps;
use super::values::{Of, State, Term, address_of, overlaps};
use crate::does::number;
use fathomp_sys::text_patch::{Effect, FirstGuess, Operand};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use std::ops::Range;

/// Instructions looked at before a loop, at most.
const LEAD_MAX: usize = 8;
/// The stack pointer's number in machine code.
const STACK: u8 = 4;

/// The instructions right before a loop, and what the thread has by them.
pub(super) struct Lead {
    /// Their numbers in the function.
    pub(super) instructions: Range<usize>,
    /// At the exchange of the first round, in terms of what it had before the first of them.
    pub(super) exchange: State,
    /// The same where the loop is entered.
    entry: State,
    /// Words that were put on the stack, by their distance from its pointer.
    kept: Vec<(u64, Of)>,
}

impl Lead {
    /// Those before the round that is this chain of instructions, which is entered there. None if
    /// it may be entered by a jump from elsewhere.
    pub(super) fn to(
        function: &[Instruction],
        chain: &[usize],
        entry: usize,
        jumps: &Jumps,
    ) -> Option<Self> {
        let Range { start, end } = falling(function, chain, entry, jumps)?;
        // As many as are understood.
        let round = &chain[entry..chain.len() - 1];
        (start..end).find_map(|first| Self::of(function, first..end, round))
    }

    fn of(function: &[Instruction], instructions: Range<usize>, round: &[usize]) -> Option<Self> {
        // Addresses are asked for, whatever is exchanged there.
        let mut state = State::new(8);
        let mut kept = Vec::new();
        for instruction in &function[instructions.clone()] {
            match keeps(instruction) {
                Some((at, register)) => {
                    let value = state.register(register)?.lowest(8)?;
                    kept.retain(|(other, _)| !overlaps((*other, 8), (at, 8)));
                    kept.push((at, value));
                }
                None => step(&mut state, instruction, &kept)?,
            }
        }
        let entry = state.clone();
        for at in round {
            step(&mut state, &function[*at], &kept)?;
        }
        Some(Self {
            instructions,
            exchange: state,
            entry,
            kept,
        })
    }

    /// What a term that stays the same in the loop is, in terms of what there was before the lead.
    pub(super) fn means(&self, term: Term) -> Option<Of> {
        match term {
            Term::Initial(register) => self.entry.register(register)?.lowest(8),
            Term::Memory(operand) => {
                if let Some(at) = on_stack(operand) {
                    if let Some((_, of)) = self.kept.iter().find(|(other, _)| *other == at) {
                        return Some(*of);
                    }
                    let changes = |(other, _): &(u64, Of)| overlaps((*other, 8), (at, 8));
                    if self.kept.iter().any(changes) {
                        return None;
                    }
                }
                let index = operand.index.map(|(register, _)| register);
                let stays = |number: u8| {
                    let register = Register::RAX + u32::from(number);
                    let value = self.entry.register(register);
                    value.and_then(|value| value.lowest(8))
                        == Some(Of::Plain(Term::Initial(register)))
                };
                let stay = operand.base.into_iter().chain(index).all(stays);
                stay.then_some(Of::Plain(term))
            }
            Term::Found | Term::Expected => None,
        }
    }
}

/// The instructions before a round by which alone, one after the other, the function comes to it,
/// as far as they are looked at.
pub(super) fn falling(
    function: &[Instruction],
    chain: &[usize],
    entry: usize,
    jumps: &Jumps,
) -> Option<Range<usize>> {
    let inside = |from: &u64| chain.iter().any(|at| function[*at].ip() == *from);
    let end = *chain.get(entry)?;
    if !jumps.to(function[end].ip()).iter().all(inside) {
        return None;
    }
    let falls = |at: &usize| {
        let (one, next) = (&function[*at], &function[*at + 1]);
        one.flow_control() == FlowControl::Next
            && one.next_ip() == next.ip()
            && (*at + 1 == end || jumps.to(next.ip()).is_empty())
    };
    let before = (end.saturating_sub(LEAD_MAX)..end).rev();
    Some(before.take_while(falls).last()?..end)
}

/// The load among the instructions before a round that brings what it expects first in a
/// register, if nothing behind it uses that register.
pub(super) fn guess(
    before: &[Instruction],
    register: Register,
    word: u8,
    effect: Effect,
) -> Option<FirstGuess> {
    let mut factory = InstructionInfoFactory::new();
    let mut uses = |instruction: &&Instruction| {
        let used = factory.info(instruction).used_registers();
        let mut used = used.iter().map(|used| used.register().full_register());
        used.any(|used| used == register)
    };
    let load = before.iter().rev().find(|instruction| uses(instruction))?;
    let brings = load.mnemonic() == Mnemonic::Mov
        && load.op0_kind() == OpKind::Register
        && load.op0_register().full_register() == register
        && load.op0_register().size() == usize::from(word)
        && load.op1_kind() == OpKind::Memory;
    // One of these changes no number.
    let value = match (effect, word) {
        (Effect::MultiplyFloat, 4) => 1_f32.to_bits().into(),
        (Effect::MultiplyFloat, _) => 1_f64.to_bits(),
        _ => 0,
    };
    let guess = FirstGuess {
        address: load.ip() as usize,
        length: u8::try_from(load.len()).ok()?,
        register: number(register)?,
        value,
    };
    brings.then_some(guess)
}

/// Does what an instruction does, unless it reads near what was put on the stack.
fn step(state: &mut State, instruction: &Instruction, kept: &[(u64, Of)]) -> Option<()> {
    let is_near = address_of(instruction).any(|register| register == Register::RSP);
    if is_near && !kept.is_empty() {
        return None;
    }
    state.step(instruction)
}

/// Where on the stack an instruction puts which register, if it does that.
fn keeps(instruction: &Instruction) -> Option<(u64, Register)> {
    let puts = instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_kind() == OpKind::Memory
        && instruction.op1_kind() == OpKind::Register
        && instruction.op1_register().is_gpr64()
        && instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None
        && instruction.segment_prefix() == Register::None;
    puts.then(|| {
        (
            instruction.memory_displacement64(),
            instruction.op1_register(),
        )
    })
}

/// How far from the stack's pointer something lies, if that alone says where.
fn on_stack(operand: Operand) -> Option<u64> {
    let is = operand.base == Some(STACK) && operand.index.is_none() && !operand.thread_local;
    is.then_some(operand.displacement)
}
