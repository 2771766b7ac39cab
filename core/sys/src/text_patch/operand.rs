//! Which bytes of memory an instruction works on.

/// A memory operand, in terms of the registers' values before the instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operand {
    /// Number of the register that the address starts from.
    pub base: Option<u8>,
    /// Register that is added after multiplication, and the factor.
    pub index: Option<(u8, u8)>,
    /// What is added to both; the whole address where it is known beforehand.
    pub displacement: u64,
    /// Whether the address counts from the thread's own storage (segment FS).
    pub thread_local: bool,
    /// The bit-test instructions: the register with the number of the bit,
    /// counted from the address on.
    pub bit: Option<u8>,
    /// Size in bytes.
    pub bytes: u8,
}

/// The sixteen general registers, in the order of their numbers in machine
/// code: rax, rcx, rdx, rbx, rsp, rbp, rsi, rdi, r8 to r15.
pub(super) type Registers = [u64; 16];

impl Operand {
    /// Address of the first byte, for a thread with these registers and its own
    /// storage at `thread`.
    pub(super) fn address(&self, registers: &Registers, thread: u64) -> usize {
        let register = |number: u8| registers[usize::from(number) % registers.len()];
        let mut address = self.displacement;
        if let Some(base) = self.base {
            address = address.wrapping_add(register(base));
        }
        if let Some((index, factor)) = self.index {
            address = address.wrapping_add(register(index).wrapping_mul(u64::from(factor)));
        }
        if self.thread_local {
            address = address.wrapping_add(thread);
        }
        if let Some(bit) = self.bit {
            address = address.wrapping_add(self.offset_of_bit(register(bit)));
        }
        // Addresses are 64 bits wide on the only platform with this module.
        usize::try_from(address).unwrap_or(usize::MAX)
    }

    /// What a register has to hold in place of base, index and displacement for the
    /// instruction to work at `address`.
    pub(super) fn moved_to(&self, registers: &Registers, address: usize) -> usize {
        let offset = self.bit.map_or(0, |bit| {
            let number = registers[usize::from(bit) % registers.len()];
            self.offset_of_bit(number)
        });
        (address as u64).wrapping_sub(offset) as usize
    }

    /// Distance in bytes of the operand-sized word that holds a bit. The number
    /// is signed and as wide as the operand (Intel SDM volume 2, BT).
    fn offset_of_bit(&self, number: u64) -> u64 {
        let bits = u32::from(self.bytes) * 8;
        let unused = 64_u32.saturating_sub(bits).min(63);
        let number = (number << unused).cast_signed() >> unused;
        let word = number >> bits.max(1).ilog2();
        word.wrapping_mul(i64::from(self.bytes)).cast_unsigned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registers() -> Registers {
        std::array::from_fn(|number| 0x1000 * (number as u64 + 1))
    }

    #[test]
    fn an_address_is_the_sum_of_its_parts() {
        let operand = Operand {
            base: Some(0),
            index: Some((15, 8)),
            displacement: (-8_i64).cast_unsigned(),
            bytes: 4,
            ..Operand::default()
        };
        assert_eq!(operand.address(&registers(), 0), 0x1000 + 8 * 0x10000 - 8);
        let own = Operand {
            displacement: (-0x20_i64).cast_unsigned(),
            thread_local: true,
            ..Operand::default()
        };
        assert_eq!(own.address(&registers(), 0x7000), 0x6fe0);
    }

    #[test]
    fn a_bit_far_away_is_in_another_word() {
        let mut all = registers();
        let operand = Operand {
            base: Some(0),
            bit: Some(1),
            bytes: 4,
            ..Operand::default()
        };
        // Only the low half counts for a 32-bit operand.
        for (bit, address) in [(31, 0x1000), (32, 0x1004), (0xffff_ffff, 0xffc)] {
            all[1] = 0xabcd_0000_0000_0000 | bit;
            assert_eq!(operand.address(&all, 0), address);
        }
    }
}
