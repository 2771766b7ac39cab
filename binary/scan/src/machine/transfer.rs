//! What each instruction does.

use super::{Flags, Slot, State, gpr, xmm};
use crate::values::{Node, Value, Values};
use fathomp_cfg::Image;
use fathomp_regions::{LoopId, Op, ReasonKind};
use iced_x86::{Instruction, InstructionInfoFactory, Mnemonic, OpKind, Register};
use std::ops::Range;

/// What instructions are executed on.
pub(crate) struct Machine<'a> {
    pub(crate) image: &'a Image,
    /// Whether the program lies where it was linked.
    pub(crate) fixed: bool,
    /// The addresses of its sections.
    pub(crate) sections: &'a [Range<u64>],
    /// The innermost loop around the instructions that are executed now.
    pub(crate) inside: Option<LoopId>,
    pub(crate) factory: InstructionInfoFactory,
}

impl Machine<'_> {
    /// Executes one instruction; calls are executed as if they did nothing.
    pub(crate) fn execute(
        &mut self,
        values: &mut Values,
        state: &mut State,
        instruction: &Instruction,
    ) {
        let known = match instruction.mnemonic() {
            Mnemonic::Mov
            | Mnemonic::Movsx
            | Mnemonic::Movsxd
            | Mnemonic::Movzx
            | Mnemonic::Lea
            | Mnemonic::Xchg
            | Mnemonic::Push
            | Mnemonic::Pop
            | Mnemonic::Leave
            | Mnemonic::Movq
            | Mnemonic::Vmovq
            | Mnemonic::Movd
            | Mnemonic::Vmovd
            | Mnemonic::Cdqe
            | Mnemonic::Cwde
            | Mnemonic::Cdq
            | Mnemonic::Cqo => self.moved(values, state, instruction),
            Mnemonic::Add
            | Mnemonic::Sub
            | Mnemonic::Inc
            | Mnemonic::Dec
            | Mnemonic::Neg
            | Mnemonic::Not
            | Mnemonic::And
            | Mnemonic::Or
            | Mnemonic::Xor
            | Mnemonic::Shl
            | Mnemonic::Sal
            | Mnemonic::Shr
            | Mnemonic::Sar
            | Mnemonic::Shlx
            | Mnemonic::Shrx
            | Mnemonic::Sarx
            | Mnemonic::Cmp
            | Mnemonic::Test => self.computed(values, state, instruction),
            Mnemonic::Imul | Mnemonic::Idiv | Mnemonic::Div | Mnemonic::Mul => {
                self.multiplied(values, state, instruction)
            }
            Mnemonic::Nop | Mnemonic::Endbr64 | Mnemonic::Jmp | Mnemonic::Call => true,
            _ if instruction.is_jcc_short_or_near() => true,
            _ => self.conditional(values, state, instruction),
        };
        if !known {
            self.anything(values, state, instruction);
        }
    }

    /// Moves and extensions.
    fn moved(&self, values: &mut Values, state: &mut State, instruction: &Instruction) -> bool {
        let count = instruction.op_count();
        match instruction.mnemonic() {
            Mnemonic::Mov | Mnemonic::Movsx | Mnemonic::Movsxd => {
                if instruction.op_kind(0) == OpKind::Register
                    && gpr(instruction.op0_register()).is_none()
                {
                    return false;
                }
                // A plain copy keeps all, also what is thought of its upper bits.
                if let (Mnemonic::Mov, Some(to), Some(from)) = (
                    instruction.mnemonic(),
                    whole(instruction, 0),
                    whole(instruction, 1),
                ) {
                    state.registers[usize::from(to)] = state.registers[usize::from(from)];
                    return true;
                }
                let value = self.read(values, state, instruction, 1);
                self.write(values, state, instruction, 0, Some(value));
            }
            Mnemonic::Movzx => {
                let from = Self::bits(instruction, 1);
                let value = self.read(values, state, instruction, 1);
                let value = unsigned(values, value, from);
                self.write(values, state, instruction, 0, Some(value));
            }
            Mnemonic::Lea => {
                let value = self.address(values, state, instruction);
                self.write(values, state, instruction, 0, Some(value));
            }
            Mnemonic::Xchg => {
                let (a, b) = (
                    self.read(values, state, instruction, 0),
                    self.read(values, state, instruction, 1),
                );
                self.write(values, state, instruction, 0, Some(b));
                self.write(values, state, instruction, 1, Some(a));
            }
            Mnemonic::Push => {
                let value = match whole(instruction, 0) {
                    Some(number) => state.registers[usize::from(number)].value,
                    None => self.read(values, state, instruction, 0),
                };
                let top = values.offset(state.registers[4].value, -8);
                state.registers[4].value = top;
                state.store(values, top, 8, Some(value));
            }
            Mnemonic::Pop => {
                let top = state.registers[4].value;
                let value = self.load(values, state, instruction, top, 64);
                state.registers[4].value = values.offset(top, 8);
                self.write(values, state, instruction, 0, Some(value));
            }
            Mnemonic::Leave => {
                let frame = state.registers[5].value;
                let value = self.load(values, state, instruction, frame, 64);
                state.registers[4].value = values.offset(frame, 8);
                state.registers[5] = Slot { value, bits: 64 };
            }
            Mnemonic::Movq | Mnemonic::Vmovq | Mnemonic::Movd | Mnemonic::Vmovd => {
                if count != 2 {
                    return false;
                }
                let from_general = instruction.op_kind(1) == OpKind::Register
                    && gpr(instruction.op1_register()).is_some();
                let from_vector = instruction.op_kind(1) == OpKind::Register
                    && xmm(instruction.op1_register())
                        .is_some_and(|number| state.vectors[usize::from(number)].is_some());
                if !from_general && !from_vector {
                    return false;
                }
                let value = self.read(values, state, instruction, 1);
                self.write(values, state, instruction, 0, Some(value));
            }
            Mnemonic::Cdqe | Mnemonic::Cwde => {
                let bits = if instruction.mnemonic() == Mnemonic::Cdqe {
                    64
                } else {
                    32
                };
                state.registers[0].bits = bits;
            }
            // The upper half of a dividend: only quotients read it, which see the lower half.
            Mnemonic::Cdq | Mnemonic::Cqo => {
                let shift = values.constant(63);
                let value = state.registers[0].value;
                let value = values.op(Op::ShrS, value, shift);
                let bits = if instruction.mnemonic() == Mnemonic::Cqo {
                    64
                } else {
                    32
                };
                state.registers[2] = Slot { value, bits };
            }
            _ => return false,
        }
        true
    }

    /// Sums, bits, shifts and comparisons.
    fn computed(&self, values: &mut Values, state: &mut State, instruction: &Instruction) -> bool {
        let bits = Self::bits(instruction, 0);
        let left = self.read(values, state, instruction, 0);
        let right = match instruction.op_count() {
            1 => left,
            _ => self.read(values, state, instruction, 1),
        };
        let zero = values.constant(0);
        let (value, flags) = match instruction.mnemonic() {
            Mnemonic::Add => {
                let sum = values.add(left, right);
                let flags = match values.as_constant(right) {
                    Some(by) => Flags::Sum(left, by),
                    None => Flags::Result(sum),
                };
                (Some(sum), flags)
            }
            Mnemonic::Sub => (Some(values.sub(left, right)), Flags::Compared(left, right)),
            Mnemonic::Inc => (Some(values.offset(left, 1)), Flags::Sum(left, 1)),
            Mnemonic::Dec => (Some(values.offset(left, -1)), Flags::Sum(left, -1)),
            Mnemonic::Neg => (Some(values.scale(left, -1)), Flags::Compared(zero, left)),
            Mnemonic::Not => {
                let value = values.scale(left, -1);
                (Some(values.offset(value, -1)), state.flags)
            }
            Mnemonic::And | Mnemonic::Or | Mnemonic::Xor => {
                let op = match instruction.mnemonic() {
                    Mnemonic::And => Op::And,
                    Mnemonic::Or => Op::Or,
                    _ => Op::Xor,
                };
                let value = values.op(op, left, right);
                (Some(value), Flags::Result(value))
            }
            Mnemonic::Cmp => (None, Flags::Compared(left, right)),
            Mnemonic::Test => {
                let value = values.op(Op::And, left, right);
                (None, Flags::Result(value))
            }
            Mnemonic::Shl | Mnemonic::Sal | Mnemonic::Shr | Mnemonic::Sar => {
                let value = shifted(values, instruction.mnemonic(), left, right, bits);
                (Some(value), Flags::Result(value))
            }
            Mnemonic::Shlx | Mnemonic::Shrx | Mnemonic::Sarx => {
                let mnemonic = match instruction.mnemonic() {
                    Mnemonic::Shlx => Mnemonic::Shl,
                    Mnemonic::Shrx => Mnemonic::Shr,
                    _ => Mnemonic::Sar,
                };
                let by = self.read(values, state, instruction, 2);
                (
                    Some(shifted(values, mnemonic, right, by, bits)),
                    state.flags,
                )
            }
            _ => return false,
        };
        if let Some(value) = value {
            self.write(values, state, instruction, 0, Some(value));
        }
        state.flags = flags;
        true
    }

    /// Products and quotients.
    fn multiplied(
        &self,
        values: &mut Values,
        state: &mut State,
        instruction: &Instruction,
    ) -> bool {
        let bits = Self::bits(instruction, 0);
        match (instruction.mnemonic(), instruction.op_count()) {
            (Mnemonic::Imul, 2 | 3) => {
                let first = instruction.op_count() - 2;
                let left = self.read(values, state, instruction, first);
                let right = self.read(values, state, instruction, first + 1);
                let value = values.mul(left, right);
                self.write(values, state, instruction, 0, Some(value));
                state.flags = Flags::Unknown;
                true
            }
            (Mnemonic::Idiv | Mnemonic::Div, 1) if bits >= 32 => {
                let by = self.read(values, state, instruction, 0);
                let dividend = state.registers[0].value;
                let signed = instruction.mnemonic() == Mnemonic::Idiv;
                let (divide, rest) = match signed {
                    true => (Op::DivS, Op::RemS),
                    false => (Op::DivU, Op::RemU),
                };
                let quotient = values.op(divide, dividend, by);
                let remainder = values.op(rest, dividend, by);
                let bits = bits as u8;
                state.registers[0] = Slot {
                    value: quotient,
                    bits,
                };
                state.registers[2] = Slot {
                    value: remainder,
                    bits,
                };
                state.flags = Flags::Unknown;
                true
            }
            _ => false,
        }
    }

    /// Instructions that do something under a condition.
    fn conditional(
        &self,
        values: &mut Values,
        state: &mut State,
        instruction: &Instruction,
    ) -> bool {
        let code = instruction.condition_code();
        if code == iced_x86::ConditionCode::None {
            return false;
        }
        let condition = state.flags.condition(values, code);
        if instruction.op_count() == 1 {
            // SETcc.
            let value = condition
                .unwrap_or_else(|| self.lost(values, instruction, ReasonKind::Instruction));
            self.write(values, state, instruction, 0, Some(value));
            return true;
        }
        // CMOVcc.
        let old = self.read(values, state, instruction, 0);
        let new = self.read(values, state, instruction, 1);
        let value = match condition {
            Some(condition) => values.select(condition, new, old),
            None if old == new => old,
            None => self.lost(values, instruction, ReasonKind::MergedValue),
        };
        self.write(values, state, instruction, 0, Some(value));
        true
    }

    /// Any other instruction: what it writes is not known any more.
    fn anything(&mut self, values: &mut Values, state: &mut State, instruction: &Instruction) {
        let info = self.factory.info(instruction).clone();
        if instruction.mnemonic() == Mnemonic::Xor || clears(instruction) {
            let zero = values.constant(0);
            if let Some(number) = xmm(instruction.op0_register()) {
                state.vectors[usize::from(number)] = Some(zero);
                return;
            }
        }
        let stores: Vec<(Value, u32)> = info
            .used_memory()
            .iter()
            .filter(|memory| fathomp_cfg::writes(memory.access()))
            .map(|memory| {
                let address = self.used_address(values, state, memory);
                (address, memory.memory_size().size() as u32)
            })
            .collect();
        for (address, bytes) in stores {
            let whole = matches!(bytes, 1 | 2 | 4 | 8)
                .then(|| self.lost(values, instruction, ReasonKind::Instruction));
            state.store(values, address, bytes.min(255) as u8, whole);
        }
        let kind = ReasonKind::Instruction;
        for used in info.used_registers() {
            if !fathomp_cfg::writes(used.access()) {
                continue;
            }
            if let Some(number) = gpr(used.register()) {
                if number == 4 {
                    continue;
                }
                let value = self.lost_at(values, instruction, kind, number);
                state.registers[usize::from(number)] = Slot { value, bits: 64 };
            } else if let Some(number) = xmm(used.register()) {
                state.vectors[usize::from(number)] = None;
            }
        }
        if instruction.rflags_modified() != 0 {
            state.flags = Flags::Unknown;
        }
    }

    /// The address of memory that an instruction uses.
    pub(crate) fn used_address(
        &self,
        values: &mut Values,
        state: &State,
        memory: &iced_x86::UsedMemory,
    ) -> Value {
        let mut address = match memory.segment() {
            Register::FS | Register::GS => values.leaf(fathomp_regions::Leaf::ThreadStatic),
            _ => values.constant(0),
        };
        if matches!(memory.base(), Register::RIP | Register::None)
            && memory.index() == Register::None
            && address == values.constant(0)
        {
            return values.module(memory.displacement());
        }
        if let Some(base) = gpr(memory.base()) {
            let base = super::operands::wide(values, state.registers[usize::from(base)]);
            address = values.add(address, base);
        }
        if let Some(index) = gpr(memory.index()) {
            let index = super::operands::wide(values, state.registers[usize::from(index)]);
            let index = values.scale(index, i64::from(memory.scale()));
            address = values.add(address, index);
        } else if memory.index() != Register::None {
            let number = values.unknown(ReasonKind::Instruction, 0, None, self.inside);
            address = values.add(address, number);
        }
        let displacement = memory.displacement();
        let displacement = match self.is_linked_address(displacement) {
            true => values.module(displacement),
            false => values.constant(displacement as i64),
        };
        values.add(address, displacement)
    }
}

/// The general register that an operand is, if it is a whole one.
fn whole(instruction: &Instruction, operand: u32) -> Option<u8> {
    let register = instruction.op_register(operand);
    (instruction.op_kind(operand) == OpKind::Register && register.is_gpr64())
        .then(|| gpr(register))
        .flatten()
}

/// Whether a vector register becomes 0.
fn clears(instruction: &Instruction) -> bool {
    let same = |a: u32, b: u32| {
        instruction.op_kind(a) == OpKind::Register
            && instruction.op_kind(b) == OpKind::Register
            && instruction.op_register(a) == instruction.op_register(b)
    };
    match instruction.mnemonic() {
        Mnemonic::Pxor | Mnemonic::Xorps | Mnemonic::Xorpd => same(0, 1),
        Mnemonic::Vpxor | Mnemonic::Vxorps | Mnemonic::Vxorpd => same(1, 2),
        _ => false,
    }
}

/// The low bits of a signed number as an unsigned one.
fn unsigned(values: &mut Values, value: Value, bits: u32) -> Value {
    if values.is_condition(value) {
        return value;
    }
    if let Node::Load { address, bytes, .. } = *values.node(value)
        && u32::from(bytes) * 8 == bits
    {
        return values.intern(Node::Load {
            address,
            bytes,
            signed: false,
        });
    }
    let by = values.constant(i64::from(bits));
    values.op(Op::ZeroExtend, value, by)
}

fn shifted(values: &mut Values, mnemonic: Mnemonic, left: Value, by: Value, bits: u32) -> Value {
    // The distance counts modulo the width.
    let by = match values.as_constant(by) {
        Some(by) => values.constant(by & i64::from(if bits == 64 { 63 } else { 31 })),
        None => by,
    };
    match mnemonic {
        Mnemonic::Shl | Mnemonic::Sal => values.op(Op::Shl, left, by),
        Mnemonic::Sar => values.op(Op::ShrS, left, by),
        _ => {
            let distance = values.as_constant(by).unwrap_or(0);
            // The sign, as of a signed quotient by 2.
            if bits < 64 && distance > 0 {
                if let Some(quotient) = values.exact_quotient(left, 1_i64 << distance.min(62)) {
                    return quotient;
                }
                if distance >= i64::from(bits) / 2 {
                    let width = values.constant(i64::from(bits));
                    let left = values.op(Op::ZeroExtend, left, width);
                    return values.op(Op::ShrU, left, by);
                }
                // Of a number that is not negative.
                return values.op(Op::ShrS, left, by);
            }
            values.op(Op::ShrU, left, by)
        }
    }
}
