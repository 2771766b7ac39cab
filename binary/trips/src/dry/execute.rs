//! What instructions do, as far as it decides where control goes.

use super::machine::{Flags, Machine, mask, signed};
use iced_x86::{
    ConditionCode, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register,
};

/// What the stack protector reads: any constant will do.
const CANARY: u64 = 0x5afe_5afe_5afe_5a00;

impl Machine<'_> {
    /// Where a memory operand lies.
    pub(super) fn address(&self, instruction: &Instruction) -> Option<u64> {
        if matches!(instruction.memory_segment(), Register::FS | Register::GS) {
            return None;
        }
        instruction.virtual_address(
            // The one that is memory, whichever it is.
            (0..instruction.op_count()).find(|op| instruction.op_kind(*op) == OpKind::Memory)?,
            0,
            |register, _, _| match register {
                Register::DS | Register::ES | Register::SS | Register::CS => Some(0),
                _ => self.register(register),
            },
        )
    }

    fn operand(&mut self, instruction: &Instruction, number: u32) -> Option<u64> {
        match instruction.op_kind(number) {
            OpKind::Register => self.register(instruction.op_register(number)),
            OpKind::Memory => {
                let bytes = instruction.memory_size().size() as u32;
                if instruction.memory_segment() == Register::FS
                    && instruction.memory_base() == Register::None
                    && instruction.memory_displacement64() == 0x28
                {
                    return Some(CANARY);
                }
                let address = self.address(instruction)?;
                self.load(address, bytes)
            }
            _ => instruction.try_immediate(number).ok(),
        }
    }

    fn set(&mut self, instruction: &Instruction, value: Option<u64>) {
        match instruction.op_kind(0) {
            OpKind::Register => self.set_register(instruction.op_register(0), value),
            OpKind::Memory => {
                let bytes = instruction.memory_size().size() as u32;
                if let Some(address) = self.address(instruction) {
                    self.store(address, bytes, value);
                }
            }
            _ => {}
        }
    }

    /// Whether a condition holds.
    pub(super) fn holds(&self, condition: ConditionCode) -> Option<bool> {
        let flags = self.flags?;
        let less = flags.sign != flags.overflow;
        Some(match condition {
            ConditionCode::None => true,
            ConditionCode::o => flags.overflow,
            ConditionCode::no => !flags.overflow,
            ConditionCode::b => flags.carry,
            ConditionCode::ae => !flags.carry,
            ConditionCode::e => flags.zero,
            ConditionCode::ne => !flags.zero,
            ConditionCode::be => flags.carry || flags.zero,
            ConditionCode::a => !flags.carry && !flags.zero,
            ConditionCode::s => flags.sign,
            ConditionCode::ns => !flags.sign,
            ConditionCode::p => flags.parity,
            ConditionCode::np => !flags.parity,
            ConditionCode::l => less,
            ConditionCode::ge => !less,
            ConditionCode::le => less || flags.zero,
            ConditionCode::g => !less && !flags.zero,
        })
    }

    /// Executes an instruction that goes on with the next one.
    pub(super) fn execute(&mut self, instruction: &Instruction, info: &mut InstructionInfoFactory) {
        let bytes = width(instruction);
        match instruction.mnemonic() {
            Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Pause => {}
            Mnemonic::Mov | Mnemonic::Movzx => {
                let value = self.operand(instruction, 1);
                let value = value.map(|value| value & mask(bytes));
                self.set(instruction, value);
            }
            Mnemonic::Movsx | Mnemonic::Movsxd => {
                let from = source_bytes(instruction);
                let value = self.operand(instruction, 1);
                self.set(instruction, value.map(|value| signed(value, from) as u64));
            }
            Mnemonic::Lea => {
                let value = self.address(instruction);
                self.set(instruction, value);
            }
            Mnemonic::Push => {
                let value = self.operand(instruction, 0);
                self.push(value);
            }
            Mnemonic::Pop => {
                let value = self.pop();
                self.set(instruction, value);
            }
            Mnemonic::Leave => {
                let frame = self.register(Register::RBP);
                self.set_register(Register::RSP, frame);
                let frame = self.pop();
                self.set_register(Register::RBP, frame);
            }
            Mnemonic::Add | Mnemonic::Sub | Mnemonic::Cmp => self.sum(instruction, bytes),
            Mnemonic::And | Mnemonic::Or | Mnemonic::Xor | Mnemonic::Test => {
                self.logic(instruction, bytes);
            }
            Mnemonic::Inc | Mnemonic::Dec => self.step(instruction, bytes),
            Mnemonic::Neg => {
                let value = self.operand(instruction, 0);
                let result = value.map(|value| value.wrapping_neg() & mask(bytes));
                self.flags = value.map(|value| difference(0, value, bytes));
                self.set(instruction, result);
            }
            Mnemonic::Not => {
                let value = self.operand(instruction, 0);
                self.set(instruction, value.map(|value| !value & mask(bytes)));
            }
            Mnemonic::Imul if instruction.op_count() > 1 => {
                let last = instruction.op_count() - 1;
                let (left, right) = (
                    self.operand(instruction, last - 1),
                    self.operand(instruction, last),
                );
                let product = left
                    .zip(right)
                    .map(|(left, right)| left.wrapping_mul(right));
                self.flags = None;
                self.set(instruction, product.map(|product| product & mask(bytes)));
            }
            Mnemonic::Shl | Mnemonic::Shr | Mnemonic::Sar => self.shift(instruction, bytes),
            Mnemonic::Cdqe => self.widen(Register::EAX, Register::RAX),
            Mnemonic::Cwde => self.widen(Register::AX, Register::EAX),
            Mnemonic::Cdq => self.sign(Register::EAX, Register::EDX),
            Mnemonic::Cqo => self.sign(Register::RAX, Register::RDX),
            Mnemonic::Idiv | Mnemonic::Div if bytes >= 4 => self.divide(instruction, bytes),
            Mnemonic::Xchg => {
                let (left, right) = (self.operand(instruction, 0), self.operand(instruction, 1));
                self.set(instruction, right);
                if instruction.op_kind(1) == OpKind::Register {
                    self.set_register(instruction.op_register(1), left);
                }
            }
            _ if is_move(instruction) => {
                let condition = self.holds(instruction.condition_code());
                let (old, new) = (self.operand(instruction, 0), self.operand(instruction, 1));
                let value = match condition {
                    Some(true) => new,
                    Some(false) => old,
                    None => None,
                };
                // Also clears the upper half if nothing is moved.
                self.set(instruction, value);
            }
            _ if is_set(instruction) => {
                let condition = self.holds(instruction.condition_code());
                self.set(instruction, condition.map(u64::from));
            }
            _ => self.forget(instruction, info),
        }
    }

    /// An instruction that is not followed: what it writes is unknown.
    fn forget(&mut self, instruction: &Instruction, info: &mut InstructionInfoFactory) {
        let writes = |access| {
            matches!(
                access,
                OpAccess::Write
                    | OpAccess::CondWrite
                    | OpAccess::ReadWrite
                    | OpAccess::ReadCondWrite
            )
        };
        let info = info.info(instruction);
        for used in info.used_memory() {
            if writes(used.access()) {
                let bytes = used.memory_size().size() as u32;
                if let Some(address) = self.address(instruction) {
                    self.store(address, bytes, None);
                }
            }
        }
        for used in info.used_registers() {
            if writes(used.access()) {
                self.set_register(used.register(), None);
            }
        }
        if instruction.rflags_modified() != 0 {
            self.flags = None;
        }
    }

    pub(super) fn push(&mut self, value: Option<u64>) {
        if let Some(top) = self.register(Register::RSP) {
            let top = top.wrapping_sub(8);
            self.store(top, 8, value);
            self.set_register(Register::RSP, Some(top));
        }
    }

    pub(super) fn pop(&mut self) -> Option<u64> {
        let top = self.register(Register::RSP)?;
        self.set_register(Register::RSP, Some(top.wrapping_add(8)));
        self.load(top, 8)
    }

    fn sum(&mut self, instruction: &Instruction, bytes: u32) {
        let both = self.both(instruction, bytes);
        let result = both.map(|(left, right)| match instruction.mnemonic() {
            Mnemonic::Add => {
                let sum = left.wrapping_add(right) & mask(bytes);
                let overflow = (left ^ sum) & (right ^ sum) & top(bytes) != 0;
                (
                    sum,
                    Flags {
                        carry: sum < left,
                        overflow,
                        ..of_result(sum, bytes)
                    },
                )
            }
            _ => (
                left.wrapping_sub(right) & mask(bytes),
                difference(left, right, bytes),
            ),
        });
        self.flags = result.map(|(_, flags)| flags);
        if instruction.mnemonic() != Mnemonic::Cmp {
            let same = zeroed(instruction) && instruction.mnemonic() == Mnemonic::Sub;
            let value = result.map(|(value, _)| value);
            self.set(instruction, value.or(same.then_some(0)));
        }
    }

    fn logic(&mut self, instruction: &Instruction, bytes: u32) {
        let both = self.both(instruction, bytes);
        let result = match both {
            Some((left, right)) => Some(match instruction.mnemonic() {
                Mnemonic::Or => left | right,
                Mnemonic::Xor => left ^ right,
                _ => left & right,
            }),
            // Whatever is in the register.
            None if zeroed(instruction) && instruction.mnemonic() == Mnemonic::Xor => Some(0),
            None => None,
        };
        self.flags = result.map(|result| of_result(result, bytes));
        if instruction.mnemonic() != Mnemonic::Test {
            self.set(instruction, result);
        }
    }

    fn step(&mut self, instruction: &Instruction, bytes: u32) {
        let value = self.operand(instruction, 0);
        let carry = self.flags.map(|flags| flags.carry);
        let up = instruction.mnemonic() == Mnemonic::Inc;
        let result = value.map(|value| {
            let result = match up {
                true => value.wrapping_add(1),
                false => value.wrapping_sub(1),
            };
            result & mask(bytes)
        });
        // The carry stays; where it is not known nobody asks for it after these.
        self.flags = result.map(|result| Flags {
            carry: carry.unwrap_or(false),
            overflow: result == if up { top(bytes) } else { top(bytes) - 1 },
            ..of_result(result, bytes)
        });
        self.set(instruction, result);
    }

    fn shift(&mut self, instruction: &Instruction, bytes: u32) {
        let value = self.operand(instruction, 0);
        let distance = match instruction.op_count() {
            1 => Some(1),
            _ => self.operand(instruction, 1),
        };
        let limit = if bytes == 8 { 63 } else { 31 };
        let result = value.zip(distance).map(|(value, distance)| {
            let distance = (distance & limit) as u32;
            let result = match instruction.mnemonic() {
                Mnemonic::Shl => value << distance,
                Mnemonic::Shr => value >> distance,
                _ => (signed(value, bytes) >> distance) as u64,
            };
            let last = match (instruction.mnemonic(), distance) {
                (_, 0) => false,
                (Mnemonic::Shl, _) if distance <= bytes * 8 => {
                    value >> (bytes * 8 - distance) & 1 != 0
                }
                (_, _) => (signed(value, bytes) >> (distance - 1)) & 1 != 0,
            };
            (result & mask(bytes), distance, last)
        });
        match result {
            Some((_, 0, _)) => {}
            Some((result, _, carry)) => {
                self.flags = Some(Flags {
                    carry,
                    ..of_result(result, bytes)
                });
            }
            None => self.flags = None,
        }
        self.set(instruction, result.map(|(result, ..)| result));
    }

    fn divide(&mut self, instruction: &Instruction, bytes: u32) {
        let (low, high) = match bytes {
            8 => (Register::RAX, Register::RDX),
            _ => (Register::EAX, Register::EDX),
        };
        let divisor = self.operand(instruction, 0);
        let parts = self.register(low).zip(self.register(high)).zip(divisor);
        let result = parts.and_then(|((low, high), divisor)| {
            let bits = bytes * 8;
            let whole = u128::from(high) << bits | u128::from(low);
            if instruction.mnemonic() == Mnemonic::Div {
                let divisor = u128::from(divisor);
                let quotient = whole.checked_div(divisor)?;
                return Some((quotient as u64, (whole % divisor) as u64));
            }
            let shift = 128 - bits * 2;
            let whole = ((whole << shift) as i128) >> shift;
            let divisor = i128::from(signed(divisor, bytes));
            let quotient = whole.checked_div(divisor)?;
            Some((quotient as u64, (whole % divisor) as u64))
        });
        self.set_register(low, result.map(|(quotient, _)| quotient & mask(bytes)));
        self.set_register(high, result.map(|(_, rest)| rest & mask(bytes)));
        self.flags = None;
    }

    fn both(&mut self, instruction: &Instruction, bytes: u32) -> Option<(u64, u64)> {
        let left = self.operand(instruction, 0)? & mask(bytes);
        Some((left, self.operand(instruction, 1)? & mask(bytes)))
    }

    fn widen(&mut self, from: Register, to: Register) {
        let value = self.register(from);
        let bytes = from.size() as u32;
        self.set_register(to, value.map(|value| signed(value, bytes) as u64));
    }

    fn sign(&mut self, from: Register, to: Register) {
        let value = self.register(from);
        let bytes = from.size() as u32;
        self.set_register(to, value.map(|value| (signed(value, bytes) >> 63) as u64));
    }
}

/// Bytes of the first operand.
fn width(instruction: &Instruction) -> u32 {
    match instruction.op_kind(0) {
        OpKind::Register => instruction.op_register(0).size() as u32,
        OpKind::Memory => instruction.memory_size().size() as u32,
        _ => 8,
    }
}

fn source_bytes(instruction: &Instruction) -> u32 {
    match instruction.op_kind(1) {
        OpKind::Register => instruction.op_register(1).size() as u32,
        _ => instruction.memory_size().size() as u32,
    }
}

/// Both operands are one register.
fn zeroed(instruction: &Instruction) -> bool {
    instruction.op_kind(0) == OpKind::Register
        && instruction.op_kind(1) == OpKind::Register
        && instruction.op_register(0) == instruction.op_register(1)
}

fn is_move(instruction: &Instruction) -> bool {
    instruction.condition_code() != ConditionCode::None
        && instruction.op_count() == 2
        && instruction.op_kind(0) == OpKind::Register
        && instruction.op_register(0).size() >= 2
        && matches!(instruction.op_kind(1), OpKind::Register | OpKind::Memory)
        && instruction.op_register(0).full_register().is_gpr64()
}

fn is_set(instruction: &Instruction) -> bool {
    instruction.condition_code() != ConditionCode::None
        && instruction.op_count() == 1
        && !instruction.is_jcc_short_or_near()
        && width(instruction) == 1
}

/// The sign bit.
fn top(bytes: u32) -> u64 {
    1 << (bytes.clamp(1, 8) * 8 - 1)
}

fn of_result(result: u64, bytes: u32) -> Flags {
    Flags {
        zero: result & mask(bytes) == 0,
        sign: result & top(bytes) != 0,
        parity: (result as u8).count_ones().is_multiple_of(2),
        ..Flags::default()
    }
}

fn difference(left: u64, right: u64, bytes: u32) -> Flags {
    let result = left.wrapping_sub(right) & mask(bytes);
    Flags {
        carry: left < right,
        overflow: (left ^ right) & (left ^ result) & top(bytes) != 0,
        ..of_result(result, bytes)
    }
}
