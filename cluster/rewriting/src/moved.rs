//! Atomic instructions with their operand somewhere else.

use fathomp_sys::text_patch::Moved;
use iced_x86::{
    Encoder, Instruction, InstructionInfoFactory, InstructionInfoOptions, MemoryOperand, Mnemonic,
    OpKind, Register,
};

/// Registers that may hold the operand's address.
const FREE: [Register; 6] = [
    Register::R11,
    Register::R10,
    Register::R9,
    Register::R8,
    Register::RSI,
    Register::RDI,
];

/// The same instruction with its operand in memory where a register says that it does not
/// use otherwise. None of fences, and of what uses the stack pointer for more than an
/// address.
pub(crate) fn other_form(instruction: &Instruction) -> Option<Moved> {
    if instruction.mnemonic() == Mnemonic::Mfence {
        return None;
    }
    let operands = 0..instruction.op_count();
    let mut registers = operands.clone().filter_map(|at| {
        let is_register = instruction.op_kind(at) == OpKind::Register;
        is_register.then(|| instruction.op_register(at).full_register())
    });
    if registers.any(|register| register == Register::RSP) {
        return None;
    }
    if !operands
        .clone()
        .any(|at| instruction.op_kind(at) == OpKind::Memory)
    {
        return None;
    }
    let mut other = *instruction;
    other.set_segment_prefix(Register::None);
    let mut factory = InstructionInfoFactory::new();
    FREE.into_iter().find_map(|register| {
        let operand = MemoryOperand::with_base(register);
        other.set_memory_base(operand.base);
        other.set_memory_index(operand.index);
        other.set_memory_index_scale(1);
        other.set_memory_displacement64(0);
        other.set_memory_displ_size(0);
        let info = factory.info_options(&other, InstructionInfoOptions::NO_MEMORY_USAGE);
        let uses = info.used_registers().iter();
        let uses = uses.filter(|used| used.register().full_register() == register);
        // Once, for the address.
        if uses.count() != 1 {
            return None;
        }
        let mut encoder = Encoder::new(64);
        encoder.encode(&other, 0).ok()?;
        let register = u8::try_from(register.number()).ok()?;
        let code = encoder.take_buffer();
        Some(Moved { code, register })
    })
}
