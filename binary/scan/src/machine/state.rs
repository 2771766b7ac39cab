//! Registers, flags and memory at one place of the code.

use super::Flags;
use crate::values::{Location, Node, Value, Values};
use crate::walk::Reach;
use fathomp_regions::Leaf;
use iced_x86::Register;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Places in memory whose values are followed, at most.
const MEMORY_MAX: usize = 600;

/// Conditions that are followed, at most.
const HOLDS_MAX: usize = 80;

/// A value in a register, and how many of its low bits were written last: what is above 32
/// bits is then 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) value: Value,
    pub(crate) bits: u8,
}

/// Registers, flags and memory at one place.
#[derive(Clone, Debug)]
pub(crate) struct State {
    pub(crate) registers: [Slot; 16],
    /// The low 64 bits of vector registers, where a whole number is known to be there.
    pub(crate) vectors: [Option<Value>; 16],
    pub(crate) flags: Flags,
    /// What was stored, by address and bytes.
    pub(crate) memory: Rc<BTreeMap<(Value, u8), Value>>,
    /// Conditions that hold, because of the branches that led here.
    pub(crate) holds: Rc<BTreeSet<Value>>,
    /// When this place is reached.
    pub(crate) reach: Rc<Reach>,
}

/// Number of a general register in machine code.
pub(crate) fn gpr(register: Register) -> Option<u8> {
    let full = register.full_register();
    full.is_gpr64().then(|| full.number() as u8)
}

/// Number of a vector register, of those that are followed.
pub(crate) fn xmm(register: Register) -> Option<u8> {
    (register.is_vector_register() && register.number() < 16).then(|| register.number() as u8)
}

impl State {
    /// The state when a body begins: `argument` in the first argument's register.
    pub(crate) fn body(values: &mut Values, argument: Value) -> Self {
        const ARGUMENTS: [Register; 6] = [
            Register::RDI,
            Register::RSI,
            Register::RDX,
            Register::RCX,
            Register::R8,
            Register::R9,
        ];
        let registers = std::array::from_fn(|number| {
            let number = number as u8;
            let order = ARGUMENTS.iter().position(|r| gpr(*r) == Some(number));
            let value = match order {
                Some(0) => argument,
                Some(order) => values.leaf(Leaf::Argument(order as u8 + 1)),
                None if Some(number) == gpr(Register::RSP) => values.intern(Node::Stack),
                None => values.unknown(
                    fathomp_regions::ReasonKind::Other,
                    0,
                    Some(Location::Register(number)),
                    None,
                ),
            };
            Slot { value, bits: 64 }
        });
        Self {
            registers,
            vectors: [None; 16],
            flags: Flags::Unknown,
            memory: Rc::default(),
            holds: Rc::default(),
            reach: Rc::new(Reach::always()),
        }
    }

    /// Notes that a condition holds from here on.
    pub(crate) fn hold(&mut self, values: &mut Values, condition: Value) {
        Rc::make_mut(&mut self.reach).and(values, condition);
        if values.as_constant(condition).is_none() && self.holds.len() < HOLDS_MAX {
            Rc::make_mut(&mut self.holds).insert(condition);
        }
    }

    /// What a location holds.
    pub(crate) fn get(&self, values: &mut Values, location: Location) -> Value {
        match location {
            Location::Register(number) => self.registers[usize::from(number)].value,
            Location::Vector(number) => match self.vectors[usize::from(number)] {
                Some(value) => value,
                None => values.unknown(
                    fathomp_regions::ReasonKind::Instruction,
                    0,
                    Some(location),
                    None,
                ),
            },
            Location::Memory(address, bytes) => {
                if let Some(value) = self.memory.get(&(address, bytes)) {
                    return *value;
                }
                values.intern(Node::Load {
                    address,
                    bytes,
                    signed: true,
                })
            }
        }
    }

    /// Sets what a location holds.
    pub(crate) fn set(&mut self, values: &mut Values, location: Location, value: Value) {
        match location {
            Location::Register(number) => {
                self.registers[usize::from(number)] = Slot { value, bits: 64 };
            }
            Location::Vector(number) => self.vectors[usize::from(number)] = Some(value),
            Location::Memory(address, bytes) => self.store(values, address, bytes, Some(value)),
        }
    }

    /// Stores; nothing known if there is no value.
    pub(crate) fn store(
        &mut self,
        values: &mut Values,
        address: Value,
        bytes: u8,
        value: Option<Value>,
    ) {
        let memory = Rc::make_mut(&mut self.memory);
        // Whatever overlaps it for sure is no longer there.
        let (base, offset) = values.split_constant(address);
        let mut gone = Vec::new();
        for (known, size) in memory.keys() {
            if *known == address && *size == bytes {
                continue;
            }
            let (other, at) = values.split_constant(*known);
            let overlaps = other == base
                && at < offset.wrapping_add(i64::from(bytes))
                && offset < at.wrapping_add(i64::from(*size));
            if overlaps {
                gone.push((*known, *size));
            }
        }
        for key in gone {
            memory.remove(&key);
        }
        match value {
            Some(value) if memory.len() < MEMORY_MAX => {
                memory.insert((address, bytes), value);
            }
            _ => {
                memory.remove(&(address, bytes));
            }
        }
    }
}
