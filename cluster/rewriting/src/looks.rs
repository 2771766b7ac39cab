//! What the branches of loops that wait look at: the variable that another thread changes.

use crate::operand::operand;
use crate::waits::{Effect, Place};
use fathomp_cfg::jump_target;
use fathomp_sys::text_patch::Operand;
use iced_x86::{FlowControl, Instruction, OpKind, Register};
use std::collections::BTreeSet;

/// Instructions before a branch among which its load is looked for.
const BEFORE: usize = 8;

/// The memory on which alone it depends where a branch goes, the instruction of that number in a
/// `function`, beside what stays the same in the loop with this `body`. It is found by the
/// registers as they are at the branch. None if any of that is not certain.
pub(crate) fn looks_at(
    function: &[Instruction],
    branch: usize,
    body: &[&Instruction],
    mut effect: impl FnMut(&Instruction) -> Effect,
) -> Option<Operand> {
    // Who waits for two variables leaves by a branch that depends on one of them.
    let loads = body.iter().filter(|instruction| effect(instruction).loads);
    if loads.count() != 1 {
        return None;
    }
    let mut decides = BTreeSet::from([Place::Flags]);
    let mut written: BTreeSet<Place> = BTreeSet::new();
    let mut found = None;
    for at in (branch.saturating_sub(BEFORE)..branch).rev() {
        let (instruction, next) = (&function[at], &function[at + 1]);
        let comes_from_it = instruction.next_ip() == next.ip()
            && instruction.flow_control() == FlowControl::Next
            && !function
                .iter()
                .any(|jump| jump_target(jump) == Some(next.ip()));
        if !comes_from_it || decides.is_empty() {
            break;
        }
        let Effect {
            reads,
            writes,
            loads,
            ..
        } = effect(instruction);
        let matters = writes.iter().any(|place| decides.contains(place));
        written.extend(&writes);
        if !matters {
            continue;
        }
        let address = address_of(instruction);
        decides.retain(|place| !writes.contains(place));
        if loads {
            let is_lost = address.iter().any(|place| written.contains(place));
            if found.is_some() || is_lost {
                return None;
            }
            found = Some(only_operand(instruction)?);
            decides.extend(reads.iter().filter(|place| !address.contains(place)));
        } else {
            decides.extend(reads);
        }
    }
    // Written in the loop it might be what another variable was.
    let mut changes = body
        .iter()
        .flat_map(|instruction| effect(instruction).writes);
    found.filter(|_| !changes.any(|place| decides.contains(&place)))
}

/// The registers that say where an instruction's operand lies.
fn address_of(instruction: &Instruction) -> Vec<Place> {
    [instruction.memory_base(), instruction.memory_index()]
        .into_iter()
        .filter(|register| *register != Register::None)
        .map(|register| Place::Register(register.full_register()))
        .collect()
}

/// Where the memory lies that an instruction reads, if it names it and there is no other.
fn only_operand(instruction: &Instruction) -> Option<Operand> {
    let kinds = (0..instruction.op_count()).map(|number| instruction.op_kind(number));
    let others = |kind: OpKind| {
        matches!(
            kind,
            OpKind::MemorySegSI
                | OpKind::MemorySegESI
                | OpKind::MemorySegRSI
                | OpKind::MemorySegDI
                | OpKind::MemorySegEDI
                | OpKind::MemorySegRDI
                | OpKind::MemoryESDI
                | OpKind::MemoryESEDI
                | OpKind::MemoryESRDI
        )
    };
    let named = kinds.clone().filter(|kind| *kind == OpKind::Memory).count();
    if named != 1 || kinds.into_iter().any(others) {
        return None;
    }
    operand(instruction).filter(|operand| operand.bytes > 0)
}
