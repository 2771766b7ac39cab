//! The loop around a compare-and-exchange that repeats until nobody else came in between.

use super::jumps::Jumps;
use super::lead::{self, Lead};
use super::values::{Of, Operation, State, Term, Value, address_of, overlaps, slot};
use crate::does::minus;
use crate::operand::operand;
use fathomp_cfg::{Registers, makes_frame, reads, successors, writes};
use fathomp_sys::text_patch::{Does, Effect, FirstGuess, Operand, Source};
use iced_x86::{
    Code, FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions, Mnemonic,
    OpKind, Register,
};
use std::collections::BTreeSet;

/// Instructions in such a loop, at most.
const ROUND_MAX: usize = 32;

/// A loop that does nothing but to change a word.
pub(super) struct Found {
    /// What becomes of the word.
    pub(super) does: Does,
    /// Where the program goes on.
    pub(super) exit: u64,
    /// Registers that it writes.
    pub(super) written: Registers,
    /// Instructions that nobody else must come to but by the one before: first and next address.
    pub(super) closed: Vec<(u64, u64)>,
    /// The load of the value that the first round expects, if it serves nothing else.
    pub(super) guess: Option<FirstGuess>,
}

/// The loop around the exchange that is the instruction with that number of a function.
pub(super) fn find(function: &[Instruction], exchange: usize, jumps: &Jumps) -> Option<Found> {
    let instruction = &function[exchange];
    let word = u8::try_from(instruction.memory_size().size()).ok()?;
    let is_exchange = instruction.mnemonic() == Mnemonic::Cmpxchg;
    // A jump that only a run knows might come into the middle of the loop.
    if !is_exchange || !matches!(word, 4 | 8) || !jumps.is_complete() {
        return None;
    }
    let round = round(function, exchange)?;
    let chain: Vec<&Instruction> = round.chain.iter().map(|at| &function[*at]).collect();
    let entry = last_entry(function, &round.chain, jumps)?;
    let written = written(&chain);
    if written.contains(Register::RSP) {
        return None;
    }

    // What leads to the exchange in each round, the first one included.
    let (before, last) = (&chain[entry..chain.len() - 1], chain[chain.len() - 1]);
    let mut first = State::new(word);
    for instruction in before {
        if instruction.flow_control() == FlowControl::ConditionalBranch {
            return None;
        }
        first.step(instruction)?;
    }
    let expected = first.register(Register::RAX)?.lowest(word)?;
    let is_same = |register: &Register| {
        let value = first.register(*register);
        value.and_then(|value| value.lowest(word)) == Some(expected)
    };
    let others = Register::values().filter(|r| r.is_gpr64() || r.is_zmm());
    let same: Vec<Register> = others.filter(is_same).collect();

    // And in each but that.
    let mut again = State::exchanged(word, &same);
    let mut exit = None;
    for instruction in &chain[..chain.len() - 1] {
        if instruction.flow_control() == FlowControl::ConditionalBranch {
            let taken_if_done = again.decides(instruction)?;
            let [taken, passed] = [instruction.near_branch_target(), instruction.next_ip()];
            let leaves = if taken_if_done { taken } else { passed };
            if leaves != round.exit {
                return None;
            }
            exit = Some(leaves);
        } else {
            again.step(instruction)?;
        }
    }
    let exit = exit?;
    if again.register(Register::RAX)?.lowest(word)? != Of::Plain(Term::Found) {
        return None;
    }
    let slots: Vec<(u64, u8)> = again.written().collect();
    let has_frame = !written.contains(Register::RBP);
    if !slots.is_empty() {
        let is_own = has_frame && are_own(function, &chain, &slots);
        is_own.then_some(())?;
    }

    // The same word in each round.
    let mut led = None;
    for register in address_of(last) {
        let [one, other] = [&first, &again].map(|state| state.register(register));
        let Of::Plain(term) = other?.lowest(8)? else {
            return None;
        };
        is_stable(term, written, &slots, 8).then_some(())?;
        if one != other {
            // It is read again in each round but the first, before which it was elsewhere.
            let led = led.get_or_insert_with(|| Lead::to(function, &round.chain, entry, jumps));
            let led = led.as_ref()?;
            (led.means(term)? == led.exchange.register(register)?.lowest(8)?).then_some(())?;
        }
    }

    let new = last.op1_register();
    let Of::Plain(expected) = expected else {
        return None;
    };
    let now = computed(first.register(new)?, expected, word)?;
    let later = computed(again.register(new)?, Term::Found, word)?;
    let does = match (now, later) {
        // Compilers double a number by adding it to itself.
        ((Operation::Add, None), (Operation::Add, None)) => Does {
            effect: Effect::MultiplyFloat,
            source: Source::Value(two(word)),
        },
        ((how, Some(other)), _) if now == later && is_stable(other, written, &slots, word) => {
            // A word that changes by itself is not to be read apart from that.
            let changed = Operand {
                bytes: 0,
                ..operand(last)?
            };
            if other == Term::Memory(changed) {
                return None;
            }
            does(how, source(&first, other, word)?)
        }
        _ => return None,
    };
    let before = led.flatten().map_or(0..0, |led| led.instructions);
    let closed = before
        .map(|at| &function[at])
        .chain(chain[entry..].iter().copied())
        .skip(1);
    let guess = match expected {
        Term::Initial(register) if written.contains(register) => {
            let lead = lead::falling(function, &round.chain, entry, jumps);
            lead.and_then(|lead| lead::guess(&function[lead], register, word, does.effect))
        }
        _ => None,
    };
    Some(Found {
        does,
        exit,
        written,
        closed: closed.map(|i| (i.ip(), i.next_ip())).collect(),
        guess,
    })
}

/// A round, from behind the exchange to it: the numbers of its instructions.
struct Round {
    chain: Vec<usize>,
    exit: u64,
}

/// The one way back to the exchange that has no branch but that which leaves the loop.
fn round(function: &[Instruction], exchange: usize) -> Option<Round> {
    let mut chain = Vec::new();
    let mut ip = function[exchange].next_ip();
    let branch = loop {
        let at = straight(function, ip)?;
        if at == exchange || chain.len() >= ROUND_MAX {
            return None;
        }
        chain.push(at);
        match jump_or_next(&function[at]) {
            Some(next) => ip = next,
            None => break &function[at],
        }
    };
    let ends = [branch.near_branch_target(), branch.next_ip()];
    let back = ends.map(|end| way_to(function, exchange, end));
    let (way, exit) = match back {
        [Some(way), None] => (way, ends[1]),
        [None, Some(way)] => (way, ends[0]),
        // It never ends, or is no loop.
        _ => return None,
    };
    chain.extend(way);
    let leaves = chain.iter().all(|at| function[*at].ip() != exit);
    (chain.len() <= ROUND_MAX && leaves).then_some(Round { chain, exit })
}

/// The instructions from an address to one with that number, if there is one way alone.
fn way_to(function: &[Instruction], to: usize, from: u64) -> Option<Vec<usize>> {
    let mut way = Vec::new();
    let mut ip = from;
    while way.len() < ROUND_MAX {
        let at = straight(function, ip)?;
        way.push(at);
        if at == to {
            return Some(way);
        }
        ip = jump_or_next(&function[at])?;
    }
    None
}

/// The instruction at an address, if it goes on behind it or where it says.
fn straight(function: &[Instruction], ip: u64) -> Option<usize> {
    let at = function.binary_search_by_key(&ip, Instruction::ip).ok()?;
    let goes_on = matches!(
        function[at].flow_control(),
        FlowControl::Next | FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
    );
    goes_on.then_some(at)
}

/// Where an instruction leads that is no conditional branch.
fn jump_or_next(instruction: &Instruction) -> Option<u64> {
    let is_plain = instruction.flow_control() != FlowControl::ConditionalBranch;
    is_plain.then(|| successors(instruction).next()).flatten()
}

/// The last in a round to which the program comes from outside, counted from its beginning.
fn last_entry(function: &[Instruction], chain: &[usize], jumps: &Jumps) -> Option<usize> {
    let inside: BTreeSet<u64> = chain.iter().map(|at| function[*at].ip()).collect();
    chain.iter().rposition(|at| {
        let ip = function[*at].ip();
        let before = at.checked_sub(1).map(|before| &function[before]);
        // The first is where the function is entered.
        let falls = before.is_none_or(|before| {
            successors(before).any(|to| to == ip) && !inside.contains(&before.ip())
        });
        falls || jumps.to(ip).iter().any(|from| !inside.contains(from))
    })
}

/// Registers that some instructions write.
fn written(chain: &[&Instruction]) -> Registers {
    let mut factory = InstructionInfoFactory::new();
    let mut all = Registers::NONE;
    for instruction in chain {
        let info = factory.info_options(instruction, InstructionInfoOptions::NO_MEMORY_USAGE);
        for used in info.used_registers() {
            if writes(used.access()) {
                all.insert(used.register());
            }
        }
    }
    all
}

/// Whether what a term says is the same in each round.
fn is_stable(term: Term, written: Registers, slots: &[(u64, u8)], bytes: u8) -> bool {
    match term {
        Term::Initial(register) => !written.contains(register),
        Term::Memory(operand) => {
            let base = operand.base.map(general);
            let index = operand.index.map(|(register, _)| general(register));
            let moves = base.into_iter().chain(index).any(|r| written.contains(r));
            let own = base == Some(Register::RBP) && index.is_none();
            let changes = |slot: &(u64, u8)| overlaps(*slot, (operand.displacement, bytes));
            let changes = own && slots.iter().any(changes);
            !moves && !changes
        }
        Term::Found | Term::Expected => false,
    }
}

fn general(number: u8) -> Register {
    Register::RAX + u32::from(number)
}

/// What is done with the number `old` and another one, if a value is just that; none is `old`
/// itself.
fn computed(value: Value, old: Term, word: u8) -> Option<(Operation, Option<Term>)> {
    let Of::Computed(how, bytes, [left, right]) = value.lowest(word)? else {
        return None;
    };
    let other = |term: Term| Some(term).filter(|term| *term != old);
    match how {
        _ if bytes != word => None,
        _ if left == old => Some((how, other(right))),
        Operation::Add | Operation::Multiply if right == old => Some((how, other(left))),
        _ => None,
    }
}

/// The number 2 in so many bytes.
fn two(word: u8) -> u64 {
    match word {
        4 => 2_f32.to_bits().into(),
        _ => 2_f64.to_bits(),
    }
}

/// Where a number is when the program comes to the exchange.
fn source(state: &State, number: Term, word: u8) -> Option<Source> {
    let holds = |register: &Register| {
        let value = state.register(*register);
        value.and_then(|value| value.lowest(word)) == Some(Of::Plain(number))
    };
    let mut vectors = (0..16_u8).map(|number| (number, Register::ZMM0 + u32::from(number)));
    match (vectors.find(|(_, register)| holds(register)), number) {
        (Some((vector, _)), _) => Some(Source::Vector(vector)),
        // Its address is still what it was, since nothing in the loop changes that.
        (None, Term::Memory(operand)) => Some(Source::Memory(Operand {
            bytes: word,
            ..operand
        })),
        _ => None,
    }
}

fn does(how: Operation, source: Source) -> Does {
    let (effect, source) = match how {
        Operation::Add => (Effect::AddFloat, source),
        Operation::Subtract => (Effect::AddFloat, minus(source)),
        Operation::Multiply => (Effect::MultiplyFloat, source),
    };
    Does { effect, source }
}

/// Whether a loop alone uses some of a function's memory, by its distance from the frame's
/// pointer.
fn are_own(function: &[Instruction], chain: &[&Instruction], slots: &[(u64, u8)]) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let inside: BTreeSet<u64> = chain.iter().map(|i| i.ip()).collect();
    let mut read = BTreeSet::new();
    let mut has_frame = false;
    for instruction in function {
        if makes_frame(instruction) {
            has_frame = true;
            continue;
        }
        if instruction.mnemonic() == Mnemonic::Leave {
            continue;
        }
        let info = factory.info(instruction);
        let pointers = [Register::RBP, Register::RSP];
        let is_pointer = |register: Register| pointers.contains(&register.full_register());
        let named = (0..instruction.op_count())
            .filter(|operand| instruction.op_kind(*operand) == OpKind::Register)
            .map(|operand| instruction.op_register(operand));
        // But for what functions begin and end with, the pointers are not values.
        let allowed = matches!(
            (instruction.mnemonic(), instruction.op0_register()),
            (Mnemonic::Push | Mnemonic::Pop, Register::RBP)
                | (Mnemonic::Sub | Mnemonic::Add | Mnemonic::And, Register::RSP)
        );
        if !allowed && named.into_iter().any(is_pointer) {
            return false;
        }
        let address: Vec<Register> = address_of(instruction).collect();
        if !address.iter().any(|register| is_pointer(*register)) {
            continue;
        }
        let access = info.used_memory().iter().map(|memory| memory.access());
        let is_read = access.clone().any(reads);
        let is_written = access.clone().any(writes);
        let Some(at) = slot(instruction) else {
            // Arguments of calls are written below everything else.
            let fixed = address == [Register::RSP];
            if fixed && is_written && !is_read {
                continue;
            }
            return false;
        };
        // Code that has the address of something may use what follows it.
        let is_address = instruction.code() == Code::Lea_r64_m;
        let Ok(bytes) = u8::try_from(instruction.memory_size().size()) else {
            return false;
        };
        for (begin, length) in slots {
            let end = begin.wrapping_add(u64::from(*length)).cast_signed();
            let is_known = (at, bytes) == (*begin, *length);
            if is_address && at.cast_signed() < end {
                return false;
            }
            if is_known && is_read && inside.contains(&instruction.ip()) {
                read.insert(*begin);
            } else if overlaps((at, bytes), (*begin, *length))
                && (!is_known || is_read && !inside.contains(&instruction.ip()))
            {
                return false;
            }
        }
    }
    has_frame && slots.iter().all(|(begin, _)| read.contains(begin))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_of_a_register_is_that_of_machine_code() {
        for (at, register) in [(0, Register::RAX), (4, Register::RSP), (15, Register::R15)] {
            assert_eq!(general(at), register);
            assert_eq!(crate::does::number(register), Some(at));
        }
    }
}
