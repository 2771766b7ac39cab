//! What atomic instructions do to their operands.

use fathomp_sys::text_patch::{Does, Effect, Source};
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// What an instruction does to the word in memory on which it works. None of what is not done
/// to one word of 1, 2, 4 or 8 bytes, and of what works with flags or bits of words.
pub(crate) fn does(instruction: &Instruction) -> Option<Does> {
    if !matches!(instruction.memory_size().size(), 1 | 2 | 4 | 8) {
        return None;
    }
    let register = || register_of(instruction).map(Source::Register);
    let (effect, source) = match instruction.mnemonic() {
        Mnemonic::Add => (Effect::Add, second(instruction)?),
        Mnemonic::Sub => (Effect::Add, minus(second(instruction)?)),
        Mnemonic::Inc => (Effect::Add, Source::Value(1)),
        Mnemonic::Dec => (Effect::Add, Source::Value(u64::MAX)),
        Mnemonic::And => (Effect::And, second(instruction)?),
        Mnemonic::Or => (Effect::Or, second(instruction)?),
        Mnemonic::Xor => (Effect::Xor, second(instruction)?),
        Mnemonic::Not => (Effect::Xor, Source::Value(u64::MAX)),
        Mnemonic::Xadd => (Effect::Add, register()?),
        Mnemonic::Xchg => (Effect::Exchange, register()?),
        Mnemonic::Cmpxchg => (Effect::CompareExchange, register()?),
        _ => return None,
    };
    Some(Does { effect, source })
}

/// The operand that is not in memory.
fn second(instruction: &Instruction) -> Option<Source> {
    match instruction.try_immediate(1) {
        // With its sign, where it has fewer bytes than the word.
        Ok(value) => Some(Source::Value(value)),
        Err(_) => register_of(instruction).map(Source::Register),
    }
}

/// The same with the other sign.
pub(crate) fn minus(source: Source) -> Source {
    match source {
        Source::Register(number) => Source::Minus(number),
        Source::Minus(number) => Source::Register(number),
        Source::Value(value) => Source::Value(value.wrapping_neg()),
        Source::Vector(number) => Source::MinusVector(number),
        Source::MinusVector(number) => Source::Vector(number),
        Source::Memory(operand) => Source::MinusMemory(operand),
        Source::MinusMemory(operand) => Source::Memory(operand),
    }
}

/// The number of the register that it works with, whose value begins with the lowest byte.
fn register_of(instruction: &Instruction) -> Option<u8> {
    let mut operands = 0..instruction.op_count();
    let at = operands.find(|at| instruction.op_kind(*at) == OpKind::Register)?;
    let register = instruction.op_register(at);
    let is_high = matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    );
    number(register.full_register()).filter(|_| !is_high)
}

/// Number of a 64-bit general register in machine code.
pub(crate) fn number(register: Register) -> Option<u8> {
    register
        .is_gpr64()
        .then(|| u8::try_from(register.number()).ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use iced_x86::{Decoder, DecoderOptions};

    fn found(code: &[u8]) -> Option<Does> {
        let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
        does(&decoder.decode())
    }

    #[test]
    fn instructions_of_compilers_are_understood() {
        let is = |code: &[u8], effect, source| {
            assert_eq!(found(code), Some(Does { effect, source }), "{code:x?}");
        };
        let value = Source::Value;
        // lock add qword ptr [rdi], 1; lock sub dword ptr [rdi], 1; lock add [rdi], eax
        is(&[0xf0, 0x48, 0x83, 0x07, 1], Effect::Add, value(1));
        is(&[0xf0, 0x83, 0x2f, 1], Effect::Add, value(u64::MAX));
        is(&[0xf0, 0x01, 0x07], Effect::Add, Source::Register(0));
        // lock sub [rdi], r9; lock inc dword ptr [rdi]; lock not qword ptr [rdi]
        is(&[0xf0, 0x4c, 0x29, 0x0f], Effect::Add, Source::Minus(9));
        is(&[0xf0, 0xff, 0x07], Effect::Add, value(1));
        is(&[0xf0, 0x48, 0xf7, 0x17], Effect::Xor, value(u64::MAX));
        // lock xadd [rdi], rax; xchg [rdi], esi; lock cmpxchg [rdi], rdx
        let xadd = [0xf0, 0x48, 0x0f, 0xc1, 0x07];
        is(&xadd, Effect::Add, Source::Register(0));
        is(&[0x87, 0x37], Effect::Exchange, Source::Register(6));
        let cmpxchg = [0xf0, 0x48, 0x0f, 0xb1, 0x17];
        is(&cmpxchg, Effect::CompareExchange, Source::Register(2));
        // lock or dword ptr [rdi], -2, of which one byte is given
        is(&[0xf0, 0x83, 0x0f, 0xfe], Effect::Or, value(u64::MAX - 1));
    }

    #[test]
    fn what_needs_more_than_one_word_or_flags_is_left_alone() {
        // lock cmpxchg16b [rdi]; lock adc [rdi], eax; lock bts [rdi], eax; lock add [rdi], ah
        assert_eq!(found(&[0xf0, 0x48, 0x0f, 0xc7, 0x0f]), None);
        assert_eq!(found(&[0xf0, 0x11, 0x07]), None);
        assert_eq!(found(&[0xf0, 0x0f, 0xab, 0x07]), None);
        assert_eq!(found(&[0xf0, 0x00, 0x27]), None);
    }
}
