//! What an atomic instruction does to the word on which it works, for a node that does it
//! elsewhere.

use super::operand::{Operand, Registers};

/// What becomes of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Something is added.
    Add,
    /// It keeps the bits that something has, too.
    And,
    /// It gets the bits that something has.
    Or,
    /// The bits that something has change.
    Xor,
    /// Something takes its place.
    Exchange,
    /// Something takes its place if it is what the accumulator (rax) says.
    CompareExchange,
    /// A number in floating point is added: an `f32` to 4 bytes, an `f64` to 8.
    AddFloat,
    /// The same, multiplied.
    MultiplyFloat,
}

/// That something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The register with that number.
    Register(u8),
    /// The same with the other sign.
    Minus(u8),
    /// A constant.
    Value(u64),
    /// The lowest bytes of the vector register with that number, one of the first sixteen.
    Vector(u8),
    /// The same with the other sign of a number in floating point.
    MinusVector(u8),
    /// Memory that the program reads right before the instruction, and that is read again when
    /// the section begins.
    Memory(Operand),
    /// The same with the other sign of a number in floating point.
    MinusMemory(Operand),
}

/// What an instruction does, in terms of the registers' values before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Does {
    /// What becomes of the word.
    pub effect: Effect,
    /// By what.
    pub source: Source,
}

/// What one execution of it does. Of all values as many bytes count as the word has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doing {
    /// What becomes of the word.
    pub effect: Effect,
    /// By what.
    pub operand: u64,
    /// What the accumulator is.
    pub expected: u64,
}

/// What a thread's state tells of what its instructions work with.
pub(super) struct Context<'a> {
    /// The general registers.
    pub(super) registers: &'a Registers,
    /// The lowest eight bytes of vector registers.
    pub(super) vectors: [u64; 16],
    /// Reads an operand of the program in memory.
    pub(super) read: &'a dyn Fn(&Operand) -> u64,
}

impl Does {
    /// For a thread in this state, to a word of so many bytes.
    pub(super) fn with(self, context: &Context<'_>, bytes: usize) -> Doing {
        let registers = context.registers;
        let register = |number: u8| registers[usize::from(number) % registers.len()];
        let vector = |number: u8| context.vectors[usize::from(number) % context.vectors.len()];
        let sign = 1 << (8 * bytes.clamp(1, 8) - 1);
        Doing {
            effect: self.effect,
            operand: match self.source {
                Source::Register(number) => register(number),
                Source::Minus(number) => register(number).wrapping_neg(),
                Source::Value(value) => value,
                Source::Vector(number) => vector(number),
                Source::MinusVector(number) => vector(number) ^ sign,
                Source::Memory(operand) => (context.read)(&operand),
                Source::MinusMemory(operand) => (context.read)(&operand) ^ sign,
            },
            expected: register(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_an_instruction_works_with_is_known_when_it_begins() {
        let registers: Registers = std::array::from_fn(|number| 10 + number as u64);
        let context = Context {
            registers: &registers,
            vectors: std::array::from_fn(|number| (f64::from(number as u8)).to_bits()),
            read: &|operand| operand.displacement,
        };
        let with = |source| {
            let effect = Effect::CompareExchange;
            let doing = Does { effect, source }.with(&context, 8);
            (doing.operand, doing.expected)
        };
        assert_eq!(with(Source::Register(3)), (13, 10));
        assert_eq!(with(Source::Minus(1)), (11_u64.wrapping_neg(), 10));
        assert_eq!(with(Source::Value(7)), (7, 10));
        assert_eq!(with(Source::Vector(2)), (2_f64.to_bits(), 10));
        assert_eq!(with(Source::MinusVector(15)), ((-15_f64).to_bits(), 10));
        let operand = Operand {
            displacement: u64::from(1.5_f32.to_bits()),
            bytes: 4,
            ..Operand::default()
        };
        assert_eq!(with(Source::Memory(operand)).0, operand.displacement);
        let effect = Effect::AddFloat;
        let source = Source::MinusMemory(operand);
        let doing = Does { effect, source }.with(&context, 4);
        assert_eq!(doing.operand, u64::from((-1.5_f32).to_bits()));
    }
}
