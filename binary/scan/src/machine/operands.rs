//! Operands of instructions: addresses, sizes, reading and writing.

use super::{Machine, Slot, State, gpr, xmm};
use crate::values::{Node, Value, Values};
use fathomp_regions::{Leaf, Op, ReasonKind};
use iced_x86::{Instruction, OpKind, Register};

impl Machine<'_> {
    /// The address of an instruction's memory operand.
    pub(crate) fn address(
        &self,
        values: &mut Values,
        state: &State,
        instruction: &Instruction,
    ) -> Value {
        let base = instruction.memory_base();
        if base == Register::RIP || base == Register::EIP {
            return values.module(instruction.memory_displacement64());
        }
        let mut address = match instruction.memory_segment() {
            Register::FS | Register::GS => values.leaf(Leaf::ThreadStatic),
            _ => values.constant(0),
        };
        if let Some(base) = gpr(base) {
            let base = wide(values, state.registers[usize::from(base)]);
            address = values.add(address, base);
        }
        let index = instruction.memory_index();
        if let Some(index) = gpr(index) {
            let index = wide(values, state.registers[usize::from(index)]);
            let index = values.scale(index, i64::from(instruction.memory_index_scale()));
            address = values.add(address, index);
        } else if index != Register::None {
            // Of a vector: as many addresses as it has elements.
            let number =
                values.unknown(ReasonKind::Instruction, instruction.ip(), None, self.inside);
            address = values.add(address, number);
        }
        let displacement = instruction.memory_displacement64();
        let displacement = match self.is_linked_address(displacement) {
            true => values.module(displacement),
            false => values.constant(displacement as i64),
        };
        values.add(address, displacement)
    }

    /// Whether a constant is an address, in a program that lies where it was linked.
    pub(crate) fn is_linked_address(&self, constant: u64) -> bool {
        self.fixed && self.sections.iter().any(|range| range.contains(&constant))
    }

    /// The bits of an operand.
    pub(crate) fn bits(instruction: &Instruction, operand: u32) -> u32 {
        match instruction.op_kind(operand) {
            OpKind::Register => instruction.op_register(operand).size() as u32 * 8,
            OpKind::Memory => instruction.memory_size().size() as u32 * 8,
            _ => {
                let first = match instruction.op_kind(0) {
                    OpKind::Register => instruction.op_register(0).size(),
                    _ => instruction.memory_size().size(),
                };
                first as u32 * 8
            }
        }
    }

    /// What an operand holds, its low `bits` as a signed number.
    pub(crate) fn read(
        &self,
        values: &mut Values,
        state: &State,
        instruction: &Instruction,
        operand: u32,
    ) -> Value {
        let bits = Self::bits(instruction, operand);
        match instruction.op_kind(operand) {
            OpKind::Register => {
                self.register(values, state, instruction, instruction.op_register(operand))
            }
            OpKind::Memory => {
                let address = self.address(values, state, instruction);
                self.load(values, state, instruction, address, bits)
            }
            OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
                values.constant(instruction.near_branch_target() as i64)
            }
            _ => {
                let constant = instruction.try_immediate(operand).unwrap_or(0);
                let constant = match bits {
                    8 => i64::from(constant as i8),
                    16 => i64::from(constant as i16),
                    32 => i64::from(constant as i32),
                    _ => constant as i64,
                };
                match self.is_linked_address(constant as u64) {
                    true => values.module(constant as u64),
                    false => values.constant(constant),
                }
            }
        }
    }

    fn register(
        &self,
        values: &mut Values,
        state: &State,
        instruction: &Instruction,
        register: Register,
    ) -> Value {
        if let Some(number) = gpr(register) {
            let slot = state.registers[usize::from(number)];
            let bits = register.size() as u8 * 8;
            let high = matches!(
                register,
                Register::AH | Register::BH | Register::CH | Register::DH
            );
            if high {
                return self.lost(values, instruction, ReasonKind::Instruction);
            }
            return match bits {
                64 => wide(values, slot),
                32 => narrow(values, slot.value, 32),
                _ if slot.bits == bits => slot.value,
                _ => {
                    let known = narrow(values, slot.value, bits);
                    let constant = values.as_constant(known).is_some();
                    match constant || values.is_condition(known) {
                        true => known,
                        false => {
                            let by = values.constant(i64::from(bits));
                            values.op(Op::SignExtend, slot.value, by)
                        }
                    }
                }
            };
        }
        if let Some(number) = xmm(register)
            && let Some(value) = state.vectors[usize::from(number)]
        {
            return value;
        }
        self.lost(values, instruction, ReasonKind::Instruction)
    }

    /// What memory holds, as a signed number.
    pub(crate) fn load(
        &self,
        values: &mut Values,
        state: &State,
        instruction: &Instruction,
        address: Value,
        bits: u32,
    ) -> Value {
        let bytes = match bits {
            8 | 16 | 32 | 64 => (bits / 8) as u8,
            _ => return self.lost(values, instruction, ReasonKind::Instruction),
        };
        if let Some(value) = state.memory.get(&(address, bytes)) {
            return *value;
        }
        // A part of what was stored, such as the low half of a spilled register.
        if bytes == 4
            && let Some(value) = state.memory.get(&(address, 8))
        {
            return narrow(values, *value, 32);
        }
        if let Some(constant) = self.read_only(values, address, bytes) {
            return values.constant(constant);
        }
        values.intern(Node::Load {
            address,
            bytes,
            signed: true,
        })
    }

    /// What lies in memory that nobody writes.
    fn read_only(&self, values: &mut Values, address: Value, bytes: u8) -> Option<i64> {
        let (base, offset) = values.split_constant(address);
        if !matches!(values.node(base), Node::Leaf(Leaf::Module(0))) {
            return None;
        }
        let constant = self.image.constant(offset as u64, bytes)?;
        let unused = 64 - u32::from(bytes) * 8;
        Some((constant << unused) as i64 >> unused)
    }

    /// Sets an operand's low `bits`.
    pub(crate) fn write(
        &self,
        values: &mut Values,
        state: &mut State,
        instruction: &Instruction,
        operand: u32,
        value: Option<Value>,
    ) {
        let bits = Self::bits(instruction, operand);
        match instruction.op_kind(operand) {
            OpKind::Register => {
                let register = instruction.op_register(operand);
                self.set_register(values, state, instruction, register, value);
            }
            OpKind::Memory => {
                let address = self.address(values, state, instruction);
                let value = match bits {
                    8 | 16 | 32 | 64 => Some(value.unwrap_or_else(|| {
                        self.lost(values, instruction, ReasonKind::Instruction)
                    })),
                    _ => None,
                };
                state.store(values, address, (bits / 8).min(255) as u8, value);
            }
            _ => {}
        }
    }

    /// Sets a register.
    pub(crate) fn set_register(
        &self,
        values: &mut Values,
        state: &mut State,
        instruction: &Instruction,
        register: Register,
        value: Option<Value>,
    ) {
        if let Some(number) = gpr(register) {
            let bits = register.size() as u8 * 8;
            let old = state.registers[usize::from(number)];
            let value = value.unwrap_or_else(|| {
                self.lost_at(values, instruction, ReasonKind::Instruction, number)
            });
            let slot = match bits {
                64 | 32 => Slot { value, bits },
                // The rest is 0 where it was cleared before (`xor eax, eax; sete al`).
                _ if values.as_constant(old.value) == Some(0) && values.is_condition(value) => {
                    Slot { value, bits: 64 }
                }
                _ => Slot { value, bits },
            };
            state.registers[usize::from(number)] = slot;
        } else if let Some(number) = xmm(register) {
            state.vectors[usize::from(number)] = value;
        }
    }

    /// A value that an instruction leaves and that is not followed.
    pub(crate) fn lost(
        &self,
        values: &mut Values,
        instruction: &Instruction,
        kind: ReasonKind,
    ) -> Value {
        values.unknown(kind, instruction.ip(), None, self.inside)
    }

    /// The same in a register.
    pub(crate) fn lost_at(
        &self,
        values: &mut Values,
        instruction: &Instruction,
        kind: ReasonKind,
        register: u8,
    ) -> Value {
        let what = Some(crate::values::Location::Register(register));
        values.unknown(kind, instruction.ip(), what, self.inside)
    }
}

/// A register as 64 bits.
pub(crate) fn wide(values: &mut Values, slot: Slot) -> Value {
    match (slot.bits, values.as_constant(slot.value)) {
        (32, Some(constant)) => values.constant(constant & 0xffff_ffff),
        // A number that is not negative, as counts and indices are.
        _ => slot.value,
    }
}

/// The low bits of a value as a signed number; of what is not constant, no bits are thought
/// to be lost.
fn narrow(values: &mut Values, value: Value, bits: u8) -> Value {
    match values.as_constant(value) {
        Some(constant) => {
            let unused = 64 - u32::from(bits);
            values.constant(constant << unused >> unused)
        }
        None => value,
    }
}
