//! Instructions by which threads meet: atomics and fences.

use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// What an instruction by which threads meet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sync {
    /// A full fence and nothing else.
    Fence,
    /// Compare and exchange.
    CompareExchange,
    /// Any other atomic change of memory.
    Update,
}

/// Whether and how threads can meet by this instruction.
#[must_use]
#[inline]
pub fn sync(instruction: &Instruction) -> Option<Sync> {
    if !is_site(instruction) {
        return None;
    }
    Some(match instruction.mnemonic() {
        _ if is_fence(instruction) => Sync::Fence,
        Mnemonic::Cmpxchg | Mnemonic::Cmpxchg8b | Mnemonic::Cmpxchg16b => Sync::CompareExchange,
        _ => Sync::Update,
    })
}

/// Whether threads can meet by this instruction.
#[must_use]
#[inline]
pub fn is_site(instruction: &Instruction) -> bool {
    match instruction.mnemonic() {
        Mnemonic::Mfence => true,
        // Atomic without a prefix, if with memory.
        Mnemonic::Xchg => (0..2).any(|i| instruction.op_kind(i) == OpKind::Memory),
        _ => instruction.has_lock_prefix(),
    }
}

/// Whether it is a full fence and nothing else.
#[must_use]
#[inline]
pub fn is_fence(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Mfence || is_site(instruction) && is_idle(instruction)
}

/// Whether it changes nothing on the thread's own stack: `lock or $0, (%rsp)`
/// and the like, which compilers prefer to MFENCE as a full fence.
#[must_use]
#[inline]
pub fn is_idle(instruction: &Instruction) -> bool {
    let neutral = match instruction.mnemonic() {
        Mnemonic::Or | Mnemonic::Add | Mnemonic::Sub | Mnemonic::Xor => 0,
        Mnemonic::And => u64::MAX,
        _ => return false,
    };
    let immediate = matches!(
        instruction.op1_kind(),
        OpKind::Immediate8
            | OpKind::Immediate16
            | OpKind::Immediate32
            | OpKind::Immediate8to16
            | OpKind::Immediate8to32
            | OpKind::Immediate8to64
            | OpKind::Immediate32to64
    );
    let bits = u32::try_from(instruction.memory_size().size() * 8).unwrap_or(64);
    let mask = u64::MAX >> (64 - bits.clamp(1, 64));
    immediate
        && instruction.memory_base() == Register::RSP
        && instruction.memory_index() == Register::None
        && instruction.immediate(1) & mask == neutral & mask
}
