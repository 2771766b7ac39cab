//! Which bytes of memory an instruction accesses.

use crate::does::number;
use fathomp_sys::text_patch::Operand;
use iced_x86::{Decoder, DecoderOptions, Instruction, Mnemonic, OpKind, Register};

/// Bytes of memory that the instruction at the beginning of `code` accesses at a time; 1 if
/// that is not known. Neither allocates nor takes a lock.
#[must_use]
pub fn operand_bytes(code: &[u8]) -> usize {
    let instruction = Decoder::new(64, code, DecoderOptions::NONE).decode();
    match instruction.memory_size().size() {
        0 => 1,
        bytes => bytes,
    }
}

/// An instruction's memory operand. `None` for what user programs of Linux do not contain:
/// addresses of 32 bits and the segment GS.
pub(crate) fn operand(instruction: &Instruction) -> Option<Operand> {
    let thread_local = match instruction.segment_prefix() {
        Register::FS => true,
        Register::GS => return None,
        _ => false,
    };
    let base = match instruction.memory_base() {
        // The displacement is the address: iced adds them up.
        Register::None | Register::RIP => None,
        register => Some(number(register)?),
    };
    let index = match instruction.memory_index() {
        Register::None => None,
        register => {
            let factor = u8::try_from(instruction.memory_index_scale()).ok()?;
            Some((number(register)?, factor))
        }
    };
    let bit = match instruction.mnemonic() {
        Mnemonic::Bts | Mnemonic::Btr | Mnemonic::Btc
            if instruction.op1_kind() == OpKind::Register =>
        {
            Some(number(instruction.op1_register().full_register())?)
        }
        _ => None,
    };
    Some(Operand {
        base,
        index,
        displacement: instruction.memory_displacement64(),
        thread_local,
        bit,
        bytes: u8::try_from(instruction.memory_size().size()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operands_have_sizes() {
        // mov eax, [rdi]; add [rdi], rax; vmovups ymm0, [rdi]; rep movsb; what is no instruction.
        assert_eq!(operand_bytes(&[0x8b, 0x07]), 4);
        assert_eq!(operand_bytes(&[0x48, 0x01, 0x07]), 8);
        assert_eq!(operand_bytes(&[0xc5, 0xfc, 0x10, 0x07]), 32);
        assert_eq!(operand_bytes(&[0xf3, 0xa4]), 1);
        assert_eq!(operand_bytes(&[]), 1);
    }
}
