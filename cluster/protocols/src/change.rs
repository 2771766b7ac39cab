//! Atomic instructions as what they do to a word, so that another node can do it.

use crate::wire::{Reader, WireError, Write};

/// What an atomic instruction makes of the word on which it works.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChangeKind {
    /// Adds to it.
    Add,
    /// Keeps the bits that both have.
    And,
    /// Keeps the bits that one of them has.
    Or,
    /// Keeps the bits that exactly one of them has.
    Xor,
    /// Adds to it as a number in floating point: an `f32` of 4 bytes, an `f64` of 8.
    AddFloat,
    /// Multiplies it so.
    MultiplyFloat,
    /// Puts something in its place.
    Exchange,
    /// The same if it was what was expected.
    CompareExchange {
        /// That.
        expected: u64,
    },
}

/// A change of a word inside one page, in one atomic step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Change {
    offset: u16,
    bytes: u8,
    kind: ChangeKind,
    operand: u64,
}

impl Change {
    /// A change of the word of so many bytes at that offset in a page. None if there is no such
    /// word: it has 1, 2, 4 or 8 bytes, 4 or 8 if it is a number in floating point, and lies
    /// where as many may begin.
    #[must_use]
    pub fn new(offset: usize, bytes: usize, kind: ChangeKind, operand: u64) -> Option<Self> {
        let is_word = matches!(bytes, 1 | 2 | 4 | 8) && offset.is_multiple_of(bytes);
        let is_float = matches!(kind, ChangeKind::AddFloat | ChangeKind::MultiplyFloat);
        let is_word = is_word && (bytes >= 4 || !is_float);
        let fits = is_word && offset + bytes <= fathomp_types::PAGE_BYTES;
        Some(Self {
            offset: u16::try_from(offset).ok().filter(|_| fits)?,
            bytes: u8::try_from(bytes).ok()?,
            kind,
            operand,
        })
    }

    /// Where the word lies in its page.
    #[must_use]
    pub fn offset(&self) -> usize {
        self.offset.into()
    }

    /// The word's size: 1, 2, 4 or 8.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes.into()
    }

    /// What the word is afterwards.
    #[must_use]
    pub fn after(&self, before: u64) -> u64 {
        let mask = u64::MAX >> (64 - 8 * u32::from(self.bytes));
        let operand = self.operand;
        let after = match self.kind {
            ChangeKind::Add => before.wrapping_add(operand),
            ChangeKind::And => before & operand,
            ChangeKind::Or => before | operand,
            ChangeKind::Xor => before ^ operand,
            ChangeKind::AddFloat => self.float(before, |a, b| a + b, |a, b| a + b),
            ChangeKind::MultiplyFloat => self.float(before, |a, b| a * b, |a, b| a * b),
            ChangeKind::Exchange => operand,
            ChangeKind::CompareExchange { expected } => match (before ^ expected) & mask {
                0 => operand,
                _ => before,
            },
        };
        after & mask
    }

    /// What an operation on numbers in floating point makes of the word.
    fn float(&self, before: u64, short: fn(f32, f32) -> f32, long: fn(f64, f64) -> f64) -> u64 {
        let operand = self.operand;
        match self.bytes {
            4 => {
                let low = |bits: u64| f32::from_bits(bits as u32);
                short(low(before), low(operand)).to_bits().into()
            }
            _ => long(f64::from_bits(before), f64::from_bits(operand)).to_bits(),
        }
    }

    pub(crate) fn encode(&self, bytes: &mut Vec<u8>) {
        let (kind, expected) = match self.kind {
            ChangeKind::Add => (0, None),
            ChangeKind::And => (1, None),
            ChangeKind::Or => (2, None),
            ChangeKind::Xor => (3, None),
            ChangeKind::Exchange => (4, None),
            ChangeKind::CompareExchange { expected } => (5, Some(expected)),
            ChangeKind::AddFloat => (6, None),
            ChangeKind::MultiplyFloat => (7, None),
        };
        bytes.push(kind);
        bytes.number(self.offset);
        bytes.number(self.bytes);
        bytes.number(self.operand);
        if let Some(expected) = expected {
            bytes.number(expected);
        }
    }

    pub(crate) fn decode(reader: &mut Reader) -> Result<Self, WireError> {
        let kind = reader.byte()?;
        let (offset, bytes): (u16, u8) = (reader.number()?, reader.number()?);
        let operand = reader.number()?;
        let kind = match kind {
            0 => ChangeKind::Add,
            1 => ChangeKind::And,
            2 => ChangeKind::Or,
            3 => ChangeKind::Xor,
            4 => ChangeKind::Exchange,
            5 => ChangeKind::CompareExchange {
                expected: reader.number()?,
            },
            6 => ChangeKind::AddFloat,
            7 => ChangeKind::MultiplyFloat,
            _ => return Err(WireError::Kind(kind)),
        };
        let change = Self::new(offset.into(), bytes.into(), kind, operand);
        change.ok_or(WireError::Pages { at: 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_changed_as_the_instructions_do() {
        let after = |kind, bytes, before, operand| {
            let change = Change::new(8, bytes, kind, operand).unwrap();
            change.after(before)
        };
        assert_eq!(after(ChangeKind::Add, 1, 0xff, 2), 1);
        assert_eq!(after(ChangeKind::Add, 8, u64::MAX, 1), 0);
        assert_eq!(after(ChangeKind::And, 4, 0b1100, 0b0110), 0b0100);
        assert_eq!(after(ChangeKind::Or, 4, 0b1100, 0b0110), 0b1110);
        assert_eq!(after(ChangeKind::Xor, 2, 0b1100, 0xff_000f), 0b0011);
        assert_eq!(after(ChangeKind::Exchange, 4, 7, 0x1_0000_0002), 2);
        // Only as many bytes count as the word has.
        let expected = 0xffff_ffff_0000_0003;
        let swap = ChangeKind::CompareExchange { expected };
        assert_eq!(after(swap, 4, 3, 9), 9);
        assert_eq!(after(swap, 8, 3, 9), 3);
    }

    #[test]
    fn numbers_in_floating_point_have_four_bytes_or_eight() {
        let after = |kind, bytes, before, operand| {
            let change = Change::new(8, bytes, kind, operand)?;
            Some(change.after(before))
        };
        let long = f64::to_bits;
        let sum = after(ChangeKind::AddFloat, 8, long(0.1), long(0.2));
        assert_eq!(sum, Some(long(0.1 + 0.2)));
        let product = after(ChangeKind::MultiplyFloat, 8, long(3.0), long(-0.5));
        assert_eq!(product, Some(long(-1.5)));
        let short = |value: f32| u64::from(value.to_bits());
        // Only the low half counts.
        let high = 0xdead_beef << 32;
        let sum = after(
            ChangeKind::AddFloat,
            4,
            high | short(0.1),
            high | short(0.2),
        );
        assert_eq!(sum, Some(short(0.1 + 0.2)));
        assert_eq!(after(ChangeKind::AddFloat, 2, 0, 0), None);
    }

    #[test]
    fn words_lie_in_one_page_where_words_may() {
        let at = |offset, bytes| Change::new(offset, bytes, ChangeKind::Add, 1).is_some();
        assert!(at(0, 8) && at(4088, 8) && at(4095, 1) && at(2, 2));
        assert!(!at(4092, 8) && !at(4096, 1) && !at(1, 2) && !at(0, 3) && !at(0, 0));
    }
}
