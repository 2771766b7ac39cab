//! Sets of registers.

use iced_x86::Register;

/// A set of registers, parts counted as the whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registers(u64);

/// General registers come first, by their number in machine code.
const VECTORS: u32 = 16;
const MASKS: u32 = 48;
/// The x87 and MMX registers, which nobody keeps values in across calls.
const X87: u32 = 56;

impl Registers {
    /// None.
    pub const NONE: Self = Self(0);
    /// The sixteen general registers.
    pub const GENERAL: Self = Self(0xffff);
    /// What any function may leave changed: the C calling convention's caller-saved registers.
    pub const CALLER_SAVED: Self = {
        // RAX, RCX, RDX, RSI, RDI, R8 to R11; everything that is no general register.
        let general = 1 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 0xf << 8;
        Self(general | !0xffff & ((1 << (X87 + 1)) - 1))
    };

    /// General registers that hold arguments: RDI, RSI, RDX, RCX, R8 and R9.
    pub const ARGUMENTS: Self = Self(1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9);
    /// Caller-saved general registers that hold none: RAX, R10 and R11.
    pub const SCRATCH: Self = Self::CALLER_SAVED
        .common(Self::GENERAL)
        .without(Self::ARGUMENTS);

    /// Its bit; none for segments, the instruction pointer and the like.
    fn bit(register: Register) -> Option<u32> {
        let full = register.full_register();
        let number = full.number() as u32;
        if full.is_gpr64() {
            Some(number)
        } else if full.is_vector_register() {
            Some(VECTORS + number)
        } else if full.is_k() {
            Some(MASKS + number)
        } else if full.is_st() || full.is_mm() {
            Some(X87)
        } else {
            None
        }
    }

    /// Adds a register.
    pub fn insert(&mut self, register: Register) {
        if let Some(bit) = Self::bit(register) {
            self.0 |= 1 << bit;
        }
    }

    /// Whether a register, or one that it is part of, is in the set.
    #[must_use]
    pub fn contains(self, register: Register) -> bool {
        Self::bit(register).is_some_and(|bit| self.0 >> bit & 1 != 0)
    }

    /// What is in either.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// What is in both.
    #[must_use]
    pub const fn common(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this one alone.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// The general registers in it.
    pub fn general(self) -> impl Iterator<Item = Register> {
        let all = (0..VECTORS).filter(move |bit| self.0 >> bit & 1 != 0);
        all.map(|bit| Register::RAX + bit)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<Register> for Registers {
    fn from_iter<I: IntoIterator<Item = Register>>(registers: I) -> Self {
        let mut set = Self::NONE;
        registers.into_iter().for_each(|r| set.insert(r));
        set
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_count_as_the_whole() {
        let set: Registers = [Register::EAX, Register::XMM31, Register::K7, Register::ST3]
            .into_iter()
            .collect();
        for inside in [
            Register::AL,
            Register::RAX,
            Register::ZMM31,
            Register::K7,
            Register::MM0,
        ] {
            assert!(set.contains(inside), "{inside:?}");
        }
        let without = set.without([Register::AX].into_iter().collect());
        assert!(!without.contains(Register::RAX) && without.contains(Register::K7));
        for outside in [
            Register::RBX,
            Register::XMM30,
            Register::K0,
            Register::RIP,
            Register::FS,
        ] {
            assert!(!set.contains(outside), "{outside:?}");
        }
    }

    #[test]
    fn the_convention_saves_six_registers_and_the_stack() {
        let kept = [
            Register::RBX,
            Register::RBP,
            Register::RSP,
            Register::R12,
            Register::R13,
            Register::R14,
            Register::R15,
        ];
        for register in Register::values().filter(|r| r.is_gpr64() || r.is_zmm() || r.is_k()) {
            let changed = Registers::CALLER_SAVED.contains(register);
            assert_eq!(changed, !kept.contains(&register), "{register:?}");
        }
        let scratch: Vec<Register> = Registers::SCRATCH.general().collect();
        assert_eq!(scratch, [Register::RAX, Register::R10, Register::R11]);
        let general: Vec<Register> = Registers::CALLER_SAVED.general().collect();
        assert_eq!(general.len(), 9);
        assert!(general.iter().all(|register| !kept.contains(register)));
    }
}
