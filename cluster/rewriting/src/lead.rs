//! The branches of a loop that waits by which the runtime can be told of it.
//!
//! When a thread leaves such a loop, what it has waited for has come. That is where what was
//! written before has to become visible, if the program does not flush there. And each branch
//! that stays inside says that the thread waits, if nothing else in the loop does.

use crate::looks::looks_at;
use crate::waits::{Effect, Loop, Place};
use fathomp_cfg::successors;
use fathomp_sys::text_patch::{Operand, Way};
use iced_x86::{FlowControl, Instruction, Mnemonic};
use std::collections::{BTreeMap, BTreeSet};

/// Instructions between a test before a loop and the loop, at most, and those that fill up lines
/// not counted.
const BEFORE: usize = 4;
/// Instructions before a test among which what it depends on is looked for.
const DECIDES: usize = 8;

/// Branches by their addresses.
pub(crate) type Ways = BTreeMap<u64, ToldBranch>;

/// What a branch tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ToldBranch {
    /// What it means that it is taken, and that it is not.
    pub(crate) ways: [Way; 2],
    /// What alone it depends on, if that is certain.
    pub(crate) looks_at: Option<Operand>,
}

/// Adds branches. What one loop needs to be told counts more than what another one does not.
pub(crate) fn join(ways: &mut Ways, more: Ways) {
    for (address, led) in more {
        let both = ways.entry(address).or_insert(led);
        for (one, other) in both.ways.iter_mut().zip(led.ways) {
            *one = other.max(*one);
        }
        both.looks_at = both.looks_at.filter(|_| both.looks_at == led.looks_at);
    }
}

/// The branches of a loop in a function that perhaps `flushes` behind itself, and of the `tests`
/// before it. None if it can be left in a way that cannot be told.
pub(crate) fn lead(
    function: &[Instruction],
    waits: &Loop<'_>,
    flushes: bool,
    tests: &[&Instruction],
    mut effect: impl FnMut(&Instruction) -> Effect,
) -> Option<Ways> {
    let outside = if flushes { Way::Free } else { Way::Came };
    let inside = match waits.meanwhile {
        // Who flushes before and behind expects it of others.
        Way::Flushes if flushes => Way::Free,
        meanwhile => meanwhile,
    };
    let mut ways = Ways::new();
    let mut add = |branch: &Instruction, both: [Way; 2]| {
        let mut looks_at = None;
        if both.contains(&Way::Came) {
            looks_at = looks_at_in(function, branch, waits, &mut effect);
        }
        let led = ToldBranch {
            ways: both,
            looks_at,
        };
        join(&mut ways, [(branch.ip(), led)].into());
    };
    for instruction in &waits.body {
        if successors(instruction).all(|to| waits.contains(to)) {
            continue;
        }
        if can_be_led(instruction) {
            let way = |to| if waits.contains(to) { inside } else { outside };
            add(instruction, ends(instruction).map(way));
        } else if outside == Way::Came {
            return None;
        }
    }
    for test in tests {
        if !can_be_led(test) {
            return None;
        }
        let way = |to| {
            if waits.contains(to) {
                Way::Free
            } else {
                Way::Came
            }
        };
        let [taken, passed] = ends(test).map(way);
        // The branch over the loop goes there if it is not taken.
        let passed = if taken == passed { Way::Free } else { passed };
        add(test, [taken, passed]);
    }
    ways.retain(|_, led| led.ways != [Way::Free; 2]);
    Some(ways)
}

/// What alone a branch of a function depends on, in or before a loop that waits.
fn looks_at_in(
    function: &[Instruction],
    branch: &Instruction,
    waits: &Loop<'_>,
    effect: &mut impl FnMut(&Instruction) -> Effect,
) -> Option<Operand> {
    let at = function.binary_search_by_key(&branch.ip(), Instruction::ip);
    looks_at(function, at.ok()?, &waits.body, effect)
}

/// The branches before a loop by which compilers test for the first time whether it is to be
/// entered, and which depend on memory as it does: into it, or over it.
pub(crate) fn tests<'a>(
    function: &'a [Instruction],
    first: usize,
    waits: &Loop<'_>,
    mut effect: impl FnMut(&Instruction) -> Effect,
) -> Vec<&'a Instruction> {
    let is_into = |i: &Instruction| ends(i).into_iter().any(|to| waits.contains(to));
    let into = function
        .iter()
        .enumerate()
        .filter(|(_, i)| is_branch(i) && !waits.contains(i.ip()) && is_into(i));
    into.map(|(at, _)| at)
        .chain(over(&function[..first]))
        .filter(|at| depends_on_memory(&function[..*at], &mut effect))
        .map(|at| &function[at])
        .collect()
}

/// The branch over what follows `code`, if there is one.
fn over(code: &[Instruction]) -> Option<usize> {
    let behind = code.iter().enumerate().rev();
    let behind = behind.filter(|(_, i)| i.mnemonic() != Mnemonic::Nop);
    let mut near = behind.take(BEFORE + 1);
    let (at, last) = near.find(|(_, i)| i.flow_control() != FlowControl::Next)?;
    is_branch(last).then_some(at)
}

/// Whether a branch that follows `code` depends on memory that is no variable of the function.
fn depends_on_memory(code: &[Instruction], mut effect: impl FnMut(&Instruction) -> Effect) -> bool {
    let mut decides = BTreeSet::from([Place::Flags]);
    for instruction in code.iter().rev().take(DECIDES) {
        let Effect {
            reads,
            writes,
            loads,
            ..
        } = effect(instruction);
        if writes.iter().any(|place| decides.contains(place)) {
            if loads {
                return true;
            }
            decides.retain(|place| !writes.contains(place));
            decides.extend(reads);
        }
    }
    false
}

fn is_branch(instruction: &Instruction) -> bool {
    instruction.flow_control() == FlowControl::ConditionalBranch
}

/// Not those that depend on a register, or count one down.
fn can_be_led(instruction: &Instruction) -> bool {
    instruction.is_jcc_short_or_near()
}

/// Where a conditional branch goes if it is taken, and if it is not.
fn ends(branch: &Instruction) -> [u64; 2] {
    [branch.near_branch_target(), branch.next_ip()]
}
