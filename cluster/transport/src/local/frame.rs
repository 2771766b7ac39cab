//! A message in a ring: a header, the bytes, and padding to whole headers, so
//! that each header is a multiple of its own size from the start.

/// What stands before a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// Length of the message in bytes.
    pub(super) length: u32,
    /// Number of the message on its link, to notice a peer that skips or
    /// repeats.
    pub(super) sequence: u32,
    /// Not to be handed out before this moment, in nanoseconds of
    /// `CLOCK_MONOTONIC`.
    pub(super) due_ns: u64,
}

impl Header {
    /// Length in bytes.
    pub(super) const BYTES: usize = 16;

    #[inline]
    pub(super) fn encode(self) -> [u8; Self::BYTES] {
        let front = u64::from(self.length) | u64::from(self.sequence) << 32;
        (u128::from(front) | u128::from(self.due_ns) << 64).to_le_bytes()
    }

    #[inline]
    pub(super) fn decode(bytes: [u8; Self::BYTES]) -> Self {
        let word = u128::from_le_bytes(bytes);
        Self {
            length: word as u32,
            sequence: (word >> 32) as u32,
            due_ns: (word >> 64) as u64,
        }
    }

    /// Bytes of the message with its padding.
    #[inline]
    pub(super) fn padded(self) -> usize {
        (self.length as usize).next_multiple_of(Self::BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_survives(length: u32, sequence: u32, due_ns: u64) {
            let header = Header { length, sequence, due_ns };
            prop_assert_eq!(Header::decode(header.encode()), header);
            prop_assert!(header.padded() >= length as usize);
            prop_assert_eq!(header.padded() % Header::BYTES, 0);
        }
    }
}
