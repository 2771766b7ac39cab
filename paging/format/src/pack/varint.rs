//! Numbers of variable length: seven bits a byte, lowest first, the eighth says
//! that more follow.

/// Most bytes of a number.
pub(super) const BYTES_MAX: usize = 10;

/// Writes `value` to the beginning of `bytes`, which has room for
/// [`BYTES_MAX`]; gives the bytes written.
#[inline]
pub(super) fn write(bytes: &mut [u8], mut value: u64) -> usize {
    let mut length = 0;
    for byte in bytes {
        length += 1;
        if value < 0x80 {
            *byte = value as u8;
            break;
        }
        *byte = value as u8 | 0x80;
        value >>= 7;
    }
    length
}

/// Appends `value` to `out`.
pub(super) fn append(out: &mut Vec<u8>, value: u64) {
    let mut bytes = [0; BYTES_MAX];
    let length = write(&mut bytes, value);
    out.extend_from_slice(&bytes[..length]);
}

/// Reads a number at `*at`, and moves that behind it. `None` if it is cut or
/// larger than 64 bits.
#[inline]
pub(super) fn read(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let first = *bytes.get(*at)?;
    *at += 1;
    if first < 0x80 {
        return Some(u64::from(first));
    }
    let second = *bytes.get(*at)?;
    *at += 1;
    let value = u64::from(first & 0x7f) | u64::from(second & 0x7f) << 7;
    if second < 0x80 {
        return Some(value);
    }
    read_long(bytes, at, value)
}

/// The third byte and those after it.
fn read_long(bytes: &[u8], at: &mut usize, mut value: u64) -> Option<u64> {
    for shift in (14..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        let bits = u64::from(byte & 0x7f);
        value |= bits << shift;
        if byte < 0x80 {
            // The tenth byte has room for one bit.
            return (shift < 63 || bits < 2).then_some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(value: u64, shift in 0u32..64, noise in any::<u8>()) {
            let value = value >> shift;
            let mut bytes = Vec::new();
            append(&mut bytes, value);
            let length = bytes.len();
            bytes.push(noise);
            let mut at = 0;
            prop_assert_eq!(read(&bytes, &mut at), Some(value));
            prop_assert_eq!(at, length);
            for cut in 0..length {
                prop_assert_eq!(read(&bytes[..cut], &mut 0), None);
            }
        }
    }

    #[test]
    fn numbers_that_are_too_large_are_refused() {
        let mut bytes = [0xff; 10];
        assert_eq!(read(&bytes, &mut 0), None);
        bytes[9] = 1;
        assert_eq!(read(&bytes, &mut 0), Some(u64::MAX));
        bytes[9] = 2;
        assert_eq!(read(&bytes, &mut 0), None);
    }
}
