//! The state of the interpreter: registers, flags and memory, of which each value may be
//! unknown.

use iced_x86::Register;
use std::collections::HashMap;

/// The program's memory, which is only read.
pub trait Memory {
    /// Fills `into` with what lies at `address`, as far as that can be read: how many bytes.
    fn read(&self, address: u64, into: &mut [u8]) -> usize;
}

/// Bytes that are read of the program at a time.
const PAGE: u64 = 4096;
/// Pages that are read in one run.
const PAGES_MAX: usize = 1024;
/// Words that a run may store to.
const STORES_MAX: usize = 1 << 16;

/// Eight bytes that the run has stored to.
#[derive(Clone, Copy, Default)]
struct Stored {
    value: u64,
    /// Bytes that were stored to, a byte each.
    written: u64,
    /// Of these, bytes whose value is known.
    known: u64,
}

/// Flags as far as branches ask for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Flags {
    pub(super) carry: bool,
    pub(super) parity: bool,
    pub(super) zero: bool,
    pub(super) sign: bool,
    pub(super) overflow: bool,
}

/// Registers, flags and what was stored.
pub(super) struct Machine<'a> {
    memory: &'a dyn Memory,
    registers: [Option<u64>; 16],
    pub(super) flags: Option<Flags>,
    stored: HashMap<u64, Stored>,
    pages: HashMap<u64, (usize, Box<[u8; PAGE as usize]>)>,
    /// More was read or stored than is kept.
    pub(super) overrun: bool,
}

/// Which bits so many bytes are.
pub(super) fn mask(bytes: u32) -> u64 {
    match bytes {
        0 => 0,
        1..=7 => (1 << (bytes * 8)) - 1,
        _ => u64::MAX,
    }
}

/// The low bytes of a value as a signed number.
pub(super) fn signed(value: u64, bytes: u32) -> i64 {
    let shift = 64 - bytes.clamp(1, 8) * 8;
    ((value << shift) as i64) >> shift
}

impl<'a> Machine<'a> {
    pub(super) fn new(memory: &'a dyn Memory) -> Self {
        Self {
            memory,
            registers: [None; 16],
            flags: None,
            stored: HashMap::new(),
            pages: HashMap::new(),
            overrun: false,
        }
    }

    /// A general register or part of one; others are unknown.
    pub(super) fn register(&self, register: Register) -> Option<u64> {
        let full = register.full_register();
        if !full.is_gpr64() {
            return None;
        }
        let value = (*self.registers.get(full.number())?)?;
        Some(if is_high(register) {
            value >> 8 & 0xff
        } else {
            value & mask(register.size() as u32)
        })
    }

    /// Changes it as the processor does: 32 bits clear the upper half.
    pub(super) fn set_register(&mut self, register: Register, value: Option<u64>) {
        let full = register.full_register();
        if !full.is_gpr64() {
            return;
        }
        let Some(place) = self.registers.get_mut(full.number()) else {
            return;
        };
        let part = match register.size() {
            8 => {
                *place = value;
                return;
            }
            4 => {
                *place = value.map(|value| value & mask(4));
                return;
            }
            _ if is_high(register) => 0xff00,
            size => mask(size as u32),
        };
        let shift = part.trailing_zeros();
        *place = place
            .zip(value)
            .map(|(old, value)| old & !part | value << shift & part);
    }

    /// Up to eight bytes.
    pub(super) fn load(&mut self, address: u64, bytes: u32) -> Option<u64> {
        let mut value = 0;
        let mut missing = false;
        let mut done = 0;
        while done < bytes.min(8) {
            let at = address.wrapping_add(done.into());
            let inside = (at & 7) as u32;
            let some = (8 - inside).min(bytes - done);
            let wanted = mask(some) << (inside * 8);
            let stored = self.stored.get(&(at & !7)).copied().unwrap_or_default();
            missing |= stored.written & wanted & !stored.known != 0;
            let mut word = stored.value & stored.written;
            if stored.written & wanted != wanted {
                match self.original(at & !7, inside + some) {
                    Some(original) => word |= original & !stored.written,
                    None => missing = true,
                }
            }
            value |= (word & wanted) >> (inside * 8) << (done * 8);
            done += some;
        }
        (!missing).then_some(value)
    }

    /// A word of the program's, of which so many bytes are needed.
    fn original(&mut self, at: u64, bytes: u32) -> Option<u64> {
        let page = at & !(PAGE - 1);
        if !self.pages.contains_key(&page) {
            if self.pages.len() >= PAGES_MAX {
                self.overrun = true;
                return None;
            }
            let mut content = Box::new([0; PAGE as usize]);
            let read = self.memory.read(page, &mut content[..]);
            self.pages.insert(page, (read, content));
        }
        let (read, content) = self.pages.get(&page)?;
        let offset = (at - page) as usize;
        if offset + bytes as usize > *read {
            return None;
        }
        let word = content.get(offset..offset + 8)?.first_chunk()?;
        Some(u64::from_le_bytes(*word))
    }

    /// Stores bytes, known or not; more than eight only unknown ones.
    pub(super) fn store(&mut self, address: u64, bytes: u32, value: Option<u64>) {
        let mut done = 0;
        while done < bytes {
            let at = address.wrapping_add(done.into());
            let inside = (at & 7) as u32;
            let some = (8 - inside).min(bytes - done);
            let touched = mask(some) << (inside * 8);
            if self.stored.len() >= STORES_MAX {
                self.overrun = true;
                return;
            }
            let word = self.stored.entry(at & !7).or_default();
            word.written |= touched;
            word.known &= !touched;
            if let Some(value) = value.filter(|_| done < 8) {
                let part = value >> (done * 8) << (inside * 8);
                word.value = word.value & !touched | part & touched;
                word.known |= touched;
            }
            done += some;
        }
    }
}

fn is_high(register: Register) -> bool {
    matches!(
        register,
        Register::AH | Register::BH | Register::CH | Register::DH
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Pattern;

    impl Memory for Pattern {
        fn read(&self, address: u64, into: &mut [u8]) -> usize {
            for (byte, at) in into.iter_mut().zip(address..) {
                *byte = at as u8;
            }
            if address < 0x10000 { into.len() } else { 100 }
        }
    }

    #[test]
    fn stores_lie_over_what_the_program_holds() {
        let mut machine = Machine::new(&Pattern);
        assert_eq!(machine.load(0x1001, 4), Some(0x0403_0201));
        assert_eq!(machine.load(0x1ffc, 8), Some(0x0302_0100_fffe_fdfc));
        machine.store(0x1006, 4, Some(0xaabb_ccdd));
        assert_eq!(machine.load(0x1004, 8), Some(0x0b0a_aabb_ccdd_0504));
        machine.store(0x1007, 1, None);
        assert_eq!(machine.load(0x1004, 8), None);
        assert_eq!(machine.load(0x1008, 4), Some(0x0b0a_aabb));
        machine.store(0x1000, 32, None);
        assert_eq!(machine.load(0x1018, 8), None);
        assert_eq!(machine.load(0x1020, 1), Some(0x20));
        // Only so far can be read.
        assert_eq!(machine.load(0x20000 + 96, 4), Some(0x6362_6160));
        assert_eq!(machine.load(0x20000 + 96, 8), None);
    }

    #[test]
    fn parts_of_registers_change_as_on_the_processor() {
        let mut machine = Machine::new(&Pattern);
        machine.set_register(Register::RAX, Some(0x1122_3344_5566_7788));
        machine.set_register(Register::AH, Some(0xee));
        assert_eq!(machine.register(Register::RAX), Some(0x1122_3344_5566_ee88));
        machine.set_register(Register::AX, Some(1));
        assert_eq!(machine.register(Register::RAX), Some(0x1122_3344_5566_0001));
        machine.set_register(Register::EAX, Some(u64::MAX));
        assert_eq!(machine.register(Register::RAX), Some(0xffff_ffff));
        machine.set_register(Register::AL, None);
        assert_eq!(machine.register(Register::RAX), None);
        assert_eq!(machine.register(Register::XMM0), None);
    }
}
