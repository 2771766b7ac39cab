//! Atomic updates of which the program uses neither what they found nor what they left: it
//! wants them done, and nothing else. Such an update may be done later and elsewhere.
//!
//! An instruction is one if what it writes beside memory, flags and a register, is written again
//! before it is read, on all ways on. So is the loop around a compare-and-exchange that compilers
//! make of an update in floating point, if each round computes the new value from the one that is
//! expected and from a number that no round changes, and if nobody reads afterwards what the loop
//! has written. Then it makes no difference how many rounds there were. What is not certain is
//! not said: without it a program is slow, and by mistake it would be wrong.

mod dead;
mod jumps;
mod lead;
mod round;
mod values;

#[cfg(test)]
mod tests;

use crate::context::ProgramContext;
use dead::{Holds, Pending};
use fathomp_cfg::Registers;
use fathomp_sys::text_patch::{Does, Effect, FirstGuess, Site};
use iced_x86::{Instruction, Mnemonic};
use jumps::Jumps;
use std::cell::OnceCell;

/// A loop around a compare-and-exchange that is understood, if nobody else comes into it from
/// elsewhere in the program.
pub(crate) struct Round {
    /// Address of the exchange.
    pub(crate) site: usize,
    /// Its instructions to which nobody else may jump: first and next address, and how many jumps
    /// in the function lead there.
    closed: Vec<(u64, u64, usize)>,
    /// The load of the value that the first round expects, if it serves nothing else.
    pub(crate) guess: Option<FirstGuess>,
}

impl Round {
    /// Whether among all places where the program branches, in order, there is none that leads
    /// into it.
    pub(crate) fn is_closed(&self, targets: &[u64]) -> bool {
        self.closed.iter().all(|(from, to, known)| {
            let before = |end: u64| targets.partition_point(|target| *target < end);
            let (there, behind) = (before(from.saturating_add(1)), before(*to));
            there - before(*from) == *known && there == behind
        })
    }
}

/// Says of a function's atomic instructions which of them are such updates. The loops among them
/// are, unless the program jumps into them.
pub(crate) fn find(
    function: &[Instruction],
    sites: &mut [Site],
    around: &ProgramContext,
) -> Vec<Round> {
    let mut rounds = Vec::new();
    let jumps = OnceCell::new();
    for site in sites {
        let at = function.binary_search_by_key(&(site.address as u64), Instruction::ip);
        let (Ok(at), Some(does)) = (at, site.does) else {
            continue;
        };
        match does.effect {
            Effect::CompareExchange => {
                let jumps = jumps.get_or_init(|| Jumps::of(function));
                let Some((does, round)) = exchange(function, at, jumps, around) else {
                    continue;
                };
                site.blind = Some(does);
                rounds.push(round);
            }
            Effect::Add | Effect::And | Effect::Or | Effect::Xor => {
                site.blind = Some(does).filter(|_| is_unused(function, at, around));
            }
            Effect::Exchange | Effect::AddFloat | Effect::MultiplyFloat => {}
        }
    }
    rounds
}

/// Whether nobody uses what an instruction leaves in flags, and in its register if it writes that.
fn is_unused(function: &[Instruction], at: usize, around: &ProgramContext) -> bool {
    let instruction = &function[at];
    let mut registers = Registers::NONE;
    if instruction.mnemonic() == Mnemonic::Xadd {
        registers.insert(instruction.op1_register());
    }
    let pending = Pending {
        registers,
        flags: instruction.rflags_modified(),
    };
    let what = (pending, Holds::Integers);
    dead::is_dead(function, instruction.next_ip(), what, around)
}

/// What the loop around an exchange does, if it is understood.
fn exchange(
    function: &[Instruction],
    at: usize,
    jumps: &Jumps,
    around: &ProgramContext,
) -> Option<(Does, Round)> {
    let found = round::find(function, at, jumps)?;
    let pending = Pending {
        registers: found.written,
        flags: function[at].rflags_modified(),
    };
    let word = u8::try_from(function[at].memory_size().size()).ok()?;
    let what = (pending, Holds::Floats(word));
    if !dead::is_dead(function, found.exit, what, around) {
        return None;
    }
    let closed = found.closed.into_iter();
    let round = Round {
        site: function[at].ip() as usize,
        closed: closed
            .map(|(from, to)| (from, to, jumps.to(from).len()))
            .collect(),
        guess: found.guess,
    };
    Some((found.does, round))
}
