//! What single instructions do.

use iced_x86::{FlowControl, Instruction, Mnemonic, OpAccess, Register};

/// Where a direct jump goes.
#[must_use]
#[inline]
pub fn jump_target(instruction: &Instruction) -> Option<u64> {
    matches!(
        instruction.flow_control(),
        FlowControl::ConditionalBranch | FlowControl::UnconditionalBranch
    )
    .then(|| instruction.near_branch_target())
    .filter(|to| *to != 0)
}

/// Where the program may be after an instruction, as far as the instruction says it: behind a
/// call it has returned.
#[inline]
pub fn successors(instruction: &Instruction) -> impl Iterator<Item = u64> + use<> {
    let falls = matches!(
        instruction.flow_control(),
        FlowControl::Next
            | FlowControl::ConditionalBranch
            | FlowControl::Call
            | FlowControl::IndirectCall
    );
    let next = falls.then(|| instruction.next_ip());
    next.into_iter().chain(jump_target(instruction))
}

/// Whether it calls.
#[must_use]
#[inline]
pub fn is_call(instruction: &Instruction) -> bool {
    matches!(
        instruction.flow_control(),
        FlowControl::Call | FlowControl::IndirectCall
    )
}

/// Whether an access reads, at least sometimes.
#[must_use]
#[inline]
pub fn reads(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Whether an access writes, at least sometimes.
#[must_use]
#[inline]
pub fn writes(access: OpAccess) -> bool {
    matches!(
        access,
        OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite
    )
}

/// Whether an access concerns memory, not only an address (LEA, hints).
#[must_use]
#[inline]
pub fn memory_access(access: OpAccess) -> bool {
    reads(access) || writes(access)
}

/// Whether it makes RBP point into the function's part of the stack: `mov rbp, rsp`.
#[must_use]
#[inline]
pub fn makes_frame(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Mov
        && instruction.op0_register() == Register::RBP
        && instruction.op1_register() == Register::RSP
}
