//! What the loader puts into memory: where functions of other modules are.

use super::{Image, Section};
use crate::stubs::stubs;
use iced_x86::{FlowControl, Instruction, OpKind};
use object::read::elf::ElfFile64;
use object::{
    Endianness, Object, ObjectSymbol, ObjectSymbolTable, RelocationFlags, RelocationTarget, elf,
};
use std::collections::HashMap;
use std::sync::Arc;

/// Eight bytes that the loader fills.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Slot {
    /// With the address of something in another module, by its name.
    Import(Arc<str>),
    /// With an address in this module.
    Local(u64),
    /// With something else, such as what a function says that it calls (`STT_GNU_IFUNC`), or
    /// the offset of a thread's variable.
    Other,
}

/// Where a call or jump goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// An address in this module.
    Local(u64),
    /// A function of another module, by its name.
    Import(Arc<str>),
    /// Only a run knows.
    Unknown,
}

impl Image {
    /// What the loader puts at an address.
    #[must_use]
    pub fn slot(&self, address: u64) -> Option<&Slot> {
        self.slots.get(&address)
    }

    /// The function of another module whose address the loader puts at `slot`.
    #[must_use]
    pub fn import_slot(&self, slot: u64) -> Option<&Arc<str>> {
        match self.slots.get(&slot)? {
            Slot::Import(name) => Some(name),
            _ => None,
        }
    }

    /// The function of another module to which the stub at an address jumps.
    #[must_use]
    pub fn import_at(&self, stub: u64) -> Option<&Arc<str>> {
        self.import_slot(*self.stubs.get(&stub)?)
    }

    /// Whether an address is one of a stub, through which the loader may be called.
    #[must_use]
    pub fn is_stub(&self, address: u64) -> bool {
        self.stubs.contains_key(&address)
    }

    /// All stubs: address, and the slot that each jumps by.
    pub fn stubs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.stubs.iter().map(|(stub, slot)| (*stub, *slot))
    }

    /// All slots, by address.
    pub fn slots(&self) -> impl Iterator<Item = (u64, &Slot)> {
        self.slots.iter().map(|(address, slot)| (*address, slot))
    }

    /// Where a call or jump goes; none if it is neither.
    #[must_use]
    pub fn target(&self, instruction: &Instruction) -> Option<Target> {
        Some(match instruction.flow_control() {
            FlowControl::Call
            | FlowControl::UnconditionalBranch
            | FlowControl::ConditionalBranch => self.resolve(instruction.near_branch_target()),
            FlowControl::IndirectCall | FlowControl::IndirectBranch => {
                let fixed = instruction.op0_kind() == OpKind::Memory
                    && (instruction.is_ip_rel_memory_operand()
                        || instruction.memory_base() == iced_x86::Register::None
                            && instruction.memory_index() == iced_x86::Register::None)
                    && instruction.segment_prefix() == iced_x86::Register::None;
                match fixed.then(|| self.slot(instruction.memory_displacement64())) {
                    Some(Some(slot)) => self.behind(slot),
                    _ => Target::Unknown,
                }
            }
            _ => return None,
        })
    }

    /// What lies at an address to which a call or jump goes: behind stubs.
    #[must_use]
    pub fn resolve(&self, address: u64) -> Target {
        match self.stubs.get(&address) {
            None => Target::Local(address),
            Some(slot) => match self.slots.get(slot) {
                Some(slot) => self.behind(slot),
                None => Target::Unknown,
            },
        }
    }

    fn behind(&self, slot: &Slot) -> Target {
        match slot {
            Slot::Import(name) => Target::Import(name.clone()),
            Slot::Local(address) if self.is_code(*address) => Target::Local(*address),
            Slot::Local(_) | Slot::Other => Target::Unknown,
        }
    }
}

/// Of an image.
#[derive(Default)]
pub(super) struct Tables {
    pub(super) slots: HashMap<u64, Slot>,
    pub(super) stubs: HashMap<u64, u64>,
}

impl Tables {
    pub(super) fn of<'data>(
        file: &ElfFile64<'data, Endianness, &'data [u8]>,
        sections: &[Section],
        data: &[u8],
    ) -> Self {
        let mut tables = Self::default();
        let symbols = file.dynamic_symbol_table();
        for (at, relocation) in file.dynamic_relocations().into_iter().flatten() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            let addend = relocation.addend();
            let slot = match (r_type, relocation.target()) {
                (elf::R_X86_64_RELATIVE, _) => Slot::Local(addend.cast_unsigned()),
                (
                    elf::R_X86_64_64 | elf::R_X86_64_GLOB_DAT | elf::R_X86_64_JUMP_SLOT,
                    RelocationTarget::Symbol(index),
                ) => match symbols.map(|table| table.symbol_by_index(index)) {
                    Some(Ok(symbol)) if symbol.is_definition() => {
                        Slot::Local(symbol.address().wrapping_add_signed(addend))
                    }
                    Some(Ok(symbol)) => match symbol.name() {
                        Ok(name) if !name.is_empty() => Slot::Import(name.into()),
                        _ => Slot::Other,
                    },
                    _ => Slot::Other,
                },
                // It fills a variable, not an address.
                (elf::R_X86_64_COPY, _) => continue,
                _ => Slot::Other,
            };
            tables.slots.insert(at, slot);
        }
        for section in sections.iter().filter(|s| s.name.starts_with(".plt")) {
            if let Some(code) = data.get(section.data.clone()) {
                let found = stubs(section.range.start, code);
                let found = found.into_iter().map(|stub| (stub.address, stub.slot));
                tables.stubs.extend(found);
            }
        }
        tables
    }
}
