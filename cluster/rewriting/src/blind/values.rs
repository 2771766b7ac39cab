//! What registers and a function's own memory hold, in terms of what they held before.

use crate::does::number;
use crate::operand::operand;
use fathomp_sys::text_patch::Operand;
use iced_x86::{ConditionCode, Instruction, Mnemonic, OpKind, Register};
use std::collections::BTreeMap;

/// Bytes of a value that are followed, at most.
const BYTES_MAX: u8 = 8;

/// Something that is not computed here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Term {
    /// What a register held at the beginning.
    Initial(Register),
    /// What memory holds where registers said at the beginning, of no certain size.
    Memory(Operand),
    /// What the exchange found.
    Found,
    /// What it expected there.
    Expected,
}

/// What is done with two numbers in floating point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Add,
    Subtract,
    Multiply,
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Of {
    Plain(Term),
    /// In so many bytes.
    Computed(Operation, u8, [Term; 2]),
    /// 1 if it is so that the exchange was done, or that it was not, and otherwise 0.
    Success(bool),
}

/// Of which so many of the lowest bytes are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Value {
    pub(super) of: Of,
    bytes: u8,
}

impl Value {
    fn plain(term: Term, bytes: u8) -> Self {
        Self {
            of: Of::Plain(term),
            bytes,
        }
    }

    /// What its lowest `bytes` are, if so many are known.
    pub(super) fn lowest(self, bytes: u8) -> Option<Of> {
        (self.bytes >= bytes).then_some(self.of)
    }
}

/// What the zero flag says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Zero {
    Unknown,
    /// It is set if it is so that the exchange was done, or that it was not.
    Success(bool),
}

/// What a thread has.
#[derive(Clone)]
pub(super) struct State {
    /// Those that are not what they were; none if it is not known what they are.
    registers: BTreeMap<Register, Option<Value>>,
    /// The same of the function's memory, by its distance from the frame's pointer, and how many
    /// bytes were written there.
    slots: BTreeMap<u64, (u8, Option<Value>)>,
    zero: Zero,
    /// How many bytes are exchanged.
    word: u8,
}

impl State {
    /// Somewhere in a loop that exchanges so many bytes.
    pub(super) fn new(word: u8) -> Self {
        Self {
            word,
            registers: BTreeMap::new(),
            slots: BTreeMap::new(),
            zero: Zero::Unknown,
        }
    }

    /// Behind the exchange, whose expected value is in these registers, too.
    pub(super) fn exchanged(word: u8, expected: &[Register]) -> Self {
        let mut state = Self::new(word);
        state.zero = Zero::Success(true);
        let expected = expected.iter().map(|register| (*register, Term::Expected));
        for (register, term) in expected.chain([(Register::RAX, Term::Found)]) {
            let value = Value::plain(term, word);
            state.registers.insert(register, Some(value));
        }
        state
    }

    /// What a register holds.
    pub(super) fn register(&self, register: Register) -> Option<Value> {
        let full = full(register)?;
        match self.registers.get(&full) {
            Some(value) => *value,
            None => Some(Value::plain(Term::Initial(full), BYTES_MAX)),
        }
    }

    /// The bytes of the function's memory that were written: their distances from the frame's
    /// pointer, and how many.
    pub(super) fn written(&self) -> impl Iterator<Item = (u64, u8)> + '_ {
        self.slots.iter().map(|(at, (bytes, _))| (*at, *bytes))
    }

    /// What a conditional branch means if it is taken: that the exchange was done, or not.
    pub(super) fn decides(&self, branch: &Instruction) -> Option<bool> {
        match (self.zero, branch.condition_code()) {
            (Zero::Success(is), ConditionCode::e) => Some(is),
            (Zero::Success(is), ConditionCode::ne) => Some(!is),
            _ => None,
        }
    }

    /// Does what an instruction does. None if it may do more than is followed here.
    pub(super) fn step(&mut self, instruction: &Instruction) -> Option<()> {
        use Mnemonic as M;
        if instruction.op_mask() != Register::None || instruction.is_broadcast() {
            return None;
        }
        match instruction.mnemonic() {
            M::Nop | M::Pause | M::Jmp => Some(()),
            M::Mov | M::Movq | M::Movd | M::Vmovq | M::Vmovd => self.moves(instruction, 1, 8),
            M::Movsd | M::Movss | M::Vmovsd | M::Vmovss => {
                let bytes = match instruction.mnemonic() {
                    M::Movss | M::Vmovss => 4,
                    _ => 8,
                };
                // With three operands, the last one brings the lowest bytes.
                let from = instruction.op_count().checked_sub(1)?;
                self.moves(instruction, from, bytes)
            }
            M::Movaps
            | M::Movapd
            | M::Movdqa
            | M::Movups
            | M::Movupd
            | M::Movdqu
            | M::Vmovaps
            | M::Vmovapd
            | M::Vmovdqa
            | M::Vmovups
            | M::Vmovupd
            | M::Vmovdqu => {
                // What it writes to memory is more than one value.
                (instruction.op0_kind() == OpKind::Register)
                    .then(|| self.moves(instruction, 1, 8))?
            }
            M::Addss | M::Vaddss => self.computes(instruction, Operation::Add, 4),
            M::Addsd | M::Vaddsd => self.computes(instruction, Operation::Add, 8),
            M::Subss | M::Vsubss => self.computes(instruction, Operation::Subtract, 4),
            M::Subsd | M::Vsubsd => self.computes(instruction, Operation::Subtract, 8),
            M::Mulss | M::Vmulss => self.computes(instruction, Operation::Multiply, 4),
            M::Mulsd | M::Vmulsd => self.computes(instruction, Operation::Multiply, 8),
            M::Cmp => {
                self.zero = self.compared(instruction);
                Some(())
            }
            M::Test => {
                self.zero = self.tested(instruction);
                Some(())
            }
            M::Sete | M::Setne => {
                let is_set = instruction.mnemonic() == M::Sete;
                let value = match self.zero {
                    Zero::Success(is) => Some(Value {
                        of: Of::Success(is == is_set),
                        bytes: 1,
                    }),
                    Zero::Unknown => None,
                };
                let register = instruction.op0_register();
                let is_low = instruction.op0_kind() == OpKind::Register
                    && !matches!(
                        register,
                        Register::AH | Register::BH | Register::CH | Register::DH
                    );
                is_low.then(|| self.set(register, value))?
            }
            _ => None,
        }
    }

    fn set(&mut self, register: Register, value: Option<Value>) -> Option<()> {
        self.registers.insert(full(register)?, value);
        Some(())
    }

    /// An operand goes to the first one, and with it no more than so many bytes.
    fn moves(&mut self, instruction: &Instruction, from: u32, bytes: u8) -> Option<()> {
        let mut value = self.operand(instruction, from);
        if let Some(value) = &mut value {
            value.bytes = value.bytes.min(bytes);
        }
        match instruction.op0_kind() {
            OpKind::Register => {
                let register = instruction.op0_register();
                if register.is_gpr32() {
                    value = value.map(|value| Value {
                        bytes: value.bytes.min(4),
                        ..value
                    });
                } else if !register.is_gpr64() && !register.is_xmm() {
                    value = None;
                }
                // What is less than a word leaves the rest as it was.
                let is_part = register.is_gpr() && register.size() < 4;
                (!is_part).then(|| self.set(register, value))?
            }
            OpKind::Memory => {
                let bytes = u8::try_from(instruction.memory_size().size()).ok()?;
                let at = slot(instruction)?;
                if bytes > BYTES_MAX {
                    return None;
                }
                for (begin, (length, known)) in &mut self.slots {
                    if overlaps((*begin, *length), (at, bytes)) {
                        *known = None;
                    }
                }
                self.slots.insert(at, (bytes, value));
                Some(())
            }
            _ => None,
        }
    }

    /// The last two operands' numbers come together in the first operand.
    fn computes(&mut self, instruction: &Instruction, how: Operation, bytes: u8) -> Option<()> {
        let count = instruction.op_count();
        let term = |operand: u32| match self.operand(instruction, operand)?.lowest(bytes)? {
            Of::Plain(term) => Some(term),
            Of::Computed(..) | Of::Success(_) => None,
        };
        let left = term(count.checked_sub(2)?);
        let right = term(count.checked_sub(1)?);
        let value = left.zip(right).map(|(left, right)| Value {
            of: Of::Computed(how, bytes, [left, right]),
            bytes,
        });
        let plain = instruction.rounding_control() == iced_x86::RoundingControl::None;
        self.set(instruction.op0_register(), value.filter(|_| plain))
    }

    /// Of what the exchange found with what it had expected: whether it was done.
    fn compared(&self, instruction: &Instruction) -> Zero {
        let bytes = match instruction.op0_kind() {
            OpKind::Register => instruction.op0_register().size(),
            _ => instruction.memory_size().size(),
        };
        // In fewer bytes they may be alike without being the same, and behind them are others that
        // the exchange did not compare.
        if bytes != usize::from(self.word) {
            return Zero::Unknown;
        }
        let known = |operand| self.operand(instruction, operand)?.lowest(self.word);
        let both = [known(0), known(1)];
        let [found, expected] = [Term::Found, Term::Expected].map(|t| Some(Of::Plain(t)));
        if both == [found, expected] || both == [expected, found] {
            Zero::Success(true)
        } else {
            Zero::Unknown
        }
    }

    /// Of a byte that says whether it was done.
    fn tested(&self, instruction: &Instruction) -> Zero {
        let register = instruction.op0_register();
        let mask = instruction.try_immediate(1).unwrap_or(0);
        let is_all = instruction.op1_kind() == OpKind::Register
            && instruction.op1_register() == register
            || mask & 1 == 1;
        let is_low = instruction.op0_kind() == OpKind::Register && register.is_gpr8();
        match self.operand(instruction, 0).map(|value| value.of) {
            Some(Of::Success(is)) if is_all && is_low => Zero::Success(!is),
            _ => Zero::Unknown,
        }
    }

    /// An operand's value.
    fn operand(&self, instruction: &Instruction, number: u32) -> Option<Value> {
        match instruction.op_kind(number) {
            OpKind::Register => {
                let register = instruction.op_register(number);
                let value = self.register(register)?;
                let bytes = match register.size() {
                    1 if is_lowest(register) => 1,
                    4 => 4,
                    8.. => BYTES_MAX,
                    _ => return None,
                };
                Some(Value {
                    bytes: value.bytes.min(bytes),
                    ..value
                })
            }
            OpKind::Memory => self.memory(instruction),
            _ => None,
        }
    }

    /// What an instruction reads in memory.
    fn memory(&self, instruction: &Instruction) -> Option<Value> {
        let bytes = match instruction.memory_size().size() {
            4 => 4,
            8.. => BYTES_MAX,
            _ => return None,
        };
        if let Some(at) = slot(instruction) {
            if let Some((length, value)) = self.slots.get(&at)
                && *length >= bytes
            {
                let value = (*value)?;
                return Some(Value {
                    bytes: value.bytes.min(bytes),
                    ..value
                });
            }
            let mut written = self.written();
            if written.any(|written| overlaps(written, (at, bytes))) {
                return None;
            }
        }
        let is_own = |register| matches!(register, Register::RBP | Register::RSP);
        let elsewhere = slot(instruction).is_none() && address_of(instruction).any(is_own);
        if elsewhere && !self.slots.is_empty() {
            return None;
        }
        let mut operand = operand(instruction)?;
        for register in address_of(instruction) {
            let is_initial = Of::Plain(Term::Initial(register));
            if self.register(register)?.lowest(BYTES_MAX)? != is_initial {
                return None;
            }
        }
        operand.bytes = 0;
        Some(Value::plain(Term::Memory(operand), bytes))
    }
}

fn is_lowest(register: Register) -> bool {
    !matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    )
}

/// The whole of a register whose values are followed.
fn full(register: Register) -> Option<Register> {
    let full = register.full_register();
    let is_followed = full.is_gpr64() || full.is_vector_register();
    is_followed.then_some(full)
}

/// The registers that say where an instruction's operand lies.
pub(super) fn address_of(instruction: &Instruction) -> impl Iterator<Item = Register> + use<> {
    [instruction.memory_base(), instruction.memory_index()]
        .into_iter()
        .filter(|register| number(register.full_register()).is_some())
        .map(Register::full_register)
}

/// How far from the frame's pointer an operand lies, if that alone says where.
pub(super) fn slot(instruction: &Instruction) -> Option<u64> {
    let own = instruction.memory_base() == Register::RBP
        && instruction.memory_index() == Register::None
        && instruction.segment_prefix() == Register::None;
    own.then(|| instruction.memory_displacement64())
}

/// Whether bytes, by their distance from the frame's pointer and how many they are, are some of
/// others.
pub(super) fn overlaps(one: (u64, u8), other: (u64, u8)) -> bool {
    // They lie within a small distance on both sides of the pointer.
    let [(from, to), (other_from, other_to)] = [one, other].map(|(at, bytes)| {
        let from = at.cast_signed();
        (from, from.saturating_add(i64::from(bytes)))
    });
    from < other_to && other_from < to
}
