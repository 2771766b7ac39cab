//! Whether a function uses what it has in registers and flags.

use crate::context::{Callee, ProgramContext};
use fathomp_cfg::{Registers, jump_target, reads, successors};
use iced_x86::{
    EncodingKind, FlowControl, Instruction, InstructionInfoFactory, InstructionInfoOptions,
    Mnemonic, OpAccess, OpKind, Register,
};
use std::collections::BTreeMap;

/// Instructions looked at, at most.
const STEPS_MAX: usize = 4096;

/// What functions return.
const RESULTS: [Register; 4] = [Register::RAX, Register::RDX, Register::XMM0, Register::XMM1];

/// What nobody must use before it is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) registers: Registers,
    /// Bits as the decoder numbers them.
    pub(super) flags: u32,
}

impl Pending {
    fn is_empty(self) -> bool {
        self.registers.is_empty() && self.flags == 0
    }

    fn and(self, other: Self) -> Self {
        Self {
            registers: self.registers.and(other.registers),
            flags: self.flags | other.flags,
        }
    }
}

/// What the registers hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Integers, which any function may be given.
    Integers,
    /// Numbers in floating point of so many bytes, which the runtime's functions are not given.
    Floats(u8),
}

impl Holds {
    /// Bytes of them in vector registers.
    fn bytes(self) -> u8 {
        match self {
            Self::Integers => 8,
            Self::Floats(bytes) => bytes,
        }
    }
}

/// Whether on all ways from an address on what is `pending` is written before it is read.
pub(super) fn is_dead(
    function: &[Instruction],
    from: u64,
    (pending, holds): (Pending, Holds),
    around: &ProgramContext,
) -> bool {
    let mut factory = InstructionInfoFactory::new();
    let results = match function.first() {
        Some(first) if around.is_outlined(first.ip()) => Registers::NONE,
        _ => RESULTS.into_iter().collect(),
    };
    // What a function leaves as it was when it returns, its caller may use.
    let returned = results.and(Registers::GENERAL.without(Registers::CALLER_SAVED));
    let mut seen: BTreeMap<u64, Pending> = BTreeMap::new();
    let mut next = vec![(from, pending)];
    let mut steps = 0;
    while let Some((ip, pending)) = next.pop() {
        let known = seen.entry(ip).or_default();
        let all = known.and(pending);
        if all == *known {
            continue;
        }
        *known = all;
        steps += 1;
        let Ok(at) = function.binary_search_by_key(&ip, Instruction::ip) else {
            return false;
        };
        let instruction = &function[at];
        let Some(mut left) = behind(instruction, (all, holds), &mut factory) else {
            return false;
        };
        let is_tail = jump_target(instruction)
            .is_some_and(|to| function.binary_search_by_key(&to, Instruction::ip).is_err());
        match instruction.flow_control() {
            FlowControl::Next | FlowControl::ConditionalBranch => {}
            // Not those that call the system.
            FlowControl::Call | FlowControl::IndirectCall if instruction.op_count() == 1 => {
                match behind_call(instruction, (left, holds), around) {
                    Some(after) => left = after,
                    None => return false,
                }
            }
            // Elsewhere in the program may be another part of this function.
            FlowControl::UnconditionalBranch if is_tail => {
                if around.callee(instruction) == Callee::Unknown {
                    return false;
                }
                match behind_call(instruction, (left, holds), around) {
                    Some(after) if after.registers.common(returned).is_empty() => continue,
                    _ => return false,
                }
            }
            FlowControl::UnconditionalBranch => {}
            FlowControl::Return if left.registers.common(returned).is_empty() => continue,
            _ => return false,
        }
        if left.is_empty() {
            continue;
        }
        if steps >= STEPS_MAX {
            return false;
        }
        next.extend(successors(instruction).map(|to| (to, left)));
    }
    true
}

/// What is pending behind an instruction itself. None if it reads some of it.
fn behind(
    instruction: &Instruction,
    (mut pending, holds): (Pending, Holds),
    factory: &mut InstructionInfoFactory,
) -> Option<Pending> {
    match instruction.mnemonic() {
        // They name registers and use none.
        Mnemonic::Nop | Mnemonic::Endbr64 => return Some(pending),
        // Leaves the lower halves, in which scalar numbers are.
        Mnemonic::Vzeroupper => return Some(pending),
        _ => {}
    }
    let info = factory.info_options(instruction, InstructionInfoOptions::NO_MEMORY_USAGE);
    let used = || info.used_registers().iter();
    let kept = keeps_upper(instruction, holds.bytes());
    let is_read = used().any(|u| {
        let is_kept = kept == Some(u.register().full_register());
        reads(u.access()) && !is_kept && pending.registers.contains(u.register())
    });
    if is_read || instruction.rflags_read() & pending.flags != 0 {
        return None;
    }
    let written = used()
        .filter(|u| u.access() == OpAccess::Write && is_whole(instruction, u.register()))
        .map(|u| u.register());
    pending.registers = pending.registers.without(written.collect());
    if kept == Some(instruction.op0_register().full_register()) {
        pending.registers = pending.registers.without(kept.into_iter().collect());
    }
    if changes_flags_always(instruction) {
        pending.flags &= !instruction.rflags_modified();
    }
    Some(pending)
}

/// The vector register of which an instruction that computes one number uses but what lies above
/// a scalar number of so many bytes.
fn keeps_upper(instruction: &Instruction, bytes: u8) -> Option<Register> {
    use Mnemonic as M;
    let is_three = instruction.op_count() == 3;
    let moves = instruction.op1_kind() == OpKind::Register;
    let (operand, computed) = match instruction.mnemonic() {
        M::Cvtsi2sd | M::Cvtss2sd | M::Sqrtsd => (0, 8),
        M::Cvtsi2ss | M::Cvtsd2ss | M::Sqrtss => (0, 4),
        M::Movsd if moves => (0, 8),
        M::Movss if moves => (0, 4),
        M::Vcvtsi2sd | M::Vcvtss2sd | M::Vsqrtsd | M::Vmovsd if is_three => (1, 8),
        M::Vcvtsi2ss | M::Vcvtsd2ss | M::Vsqrtss | M::Vmovss if is_three => (1, 4),
        _ => return None,
    };
    if computed < bytes {
        return None;
    }
    let register = instruction.op_register(operand).full_register();
    let last = instruction.op_register(instruction.op_count().checked_sub(1)?);
    let is_masked = instruction.op_mask() != Register::None;
    let is_one = register.is_vector_register() && last.full_register() != register && !is_masked;
    is_one.then_some(register)
}

/// Whether writing a register leaves nothing of a scalar number that was in it.
fn is_whole(instruction: &Instruction, register: Register) -> bool {
    if register.is_gpr32() || register.is_gpr64() {
        return true;
    }
    // The others write less than a register, or a single number into the lowest of several.
    register.is_vector_register()
        && (instruction.encoding() != EncodingKind::Legacy
            || matches!(
                instruction.mnemonic(),
                Mnemonic::Movq
                    | Mnemonic::Movd
                    | Mnemonic::Movaps
                    | Mnemonic::Movapd
                    | Mnemonic::Movups
                    | Mnemonic::Movupd
                    | Mnemonic::Movdqa
                    | Mnemonic::Movdqu
                    | Mnemonic::Pxor
                    | Mnemonic::Xorps
                    | Mnemonic::Xorpd
                    | Mnemonic::Pshufd
                    | Mnemonic::Cvtdq2pd
                    | Mnemonic::Cvtps2pd
            )
            || matches!(instruction.mnemonic(), Mnemonic::Movsd | Mnemonic::Movss)
                && instruction.op1_register() == Register::None)
}

/// Shifts by a number in a register, and loops over strings, may change nothing.
fn changes_flags_always(instruction: &Instruction) -> bool {
    let shifts = (0..instruction.op_count())
        .any(|operand| instruction.op_register(operand) == Register::CL)
        && matches!(
            instruction.mnemonic(),
            Mnemonic::Shl
                | Mnemonic::Sal
                | Mnemonic::Shr
                | Mnemonic::Sar
                | Mnemonic::Rol
                | Mnemonic::Ror
                | Mnemonic::Rcl
                | Mnemonic::Rcr
                | Mnemonic::Shld
                | Mnemonic::Shrd
        );
    !shifts && !instruction.has_rep_prefix() && !instruction.has_repne_prefix()
}

/// What is pending when a called function has returned. None if it may be given some of it.
fn behind_call(
    call: &Instruction,
    (pending, holds): (Pending, Holds),
    around: &ProgramContext,
) -> Option<Pending> {
    let callee = around.callee(call);
    let may_hold = match (callee, holds) {
        (Callee::Runtime, Holds::Floats(_)) => pending.registers,
        (Callee::Runtime, Holds::Integers) => pending.registers.without(Registers::ARGUMENTS),
        // Others are arguments, or are as they were where an exception is caught.
        _ => Registers::SCRATCH,
    };
    if !pending.registers.without(may_hold).is_empty() {
        return None;
    }
    match callee {
        Callee::Runtime | Callee::Elsewhere => Some(Pending {
            registers: pending.registers.without(Registers::CALLER_SAVED),
            flags: 0,
        }),
        // A compiler that knows what a function of the program changes may keep values in the
        // other registers across its call.
        Callee::Unknown => Some(pending),
    }
}
