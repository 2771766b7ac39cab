//! The bytes before the first block: which kind of file it is, and its version.

/// Bytes before the first block.
pub const START_BYTES: usize = 16;

/// Why the blocks of a file are not looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// Its first bytes are others.
    #[error("it is not a stream of a recording")]
    Foreign,
    /// It was made by a later version, or by none.
    #[error("its version is {found}, this fathomp reads up to {newest}")]
    Version {
        /// The file's version.
        found: u32,
        /// The newest that can be read.
        newest: u32,
    },
}

/// The bytes before the first block.
#[must_use]
pub fn start(magic: [u8; 8], version: u32) -> [u8; START_BYTES] {
    let mut bytes = [0; START_BYTES];
    bytes[..8].copy_from_slice(&magic);
    bytes[8..12].copy_from_slice(&version.to_le_bytes());
    bytes
}

/// Checks the bytes before the first block, and gives what follows them. A file
/// that was cut within them is like an empty one.
///
/// # Errors
/// If the file is of another kind or of a version later than `newest`.
pub fn after_start(bytes: &[u8], magic: [u8; 8], newest: u32) -> Result<&[u8], StartError> {
    let Some((start, rest)) = bytes.split_at_checked(START_BYTES) else {
        return Ok(&[]);
    };
    if start[..8] != magic {
        return Err(StartError::Foreign);
    }
    let found = start[8..12].try_into().map_or(u32::MAX, u32::from_le_bytes);
    if found == 0 || found > newest {
        return Err(StartError::Version { found, newest });
    }
    Ok(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAGIC: [u8; 8] = *b"FTHTEST\0";

    #[test]
    fn files_of_this_kind_and_version_are_read() {
        let mut bytes = start(MAGIC, 2).to_vec();
        bytes.push(7);
        assert_eq!(after_start(&bytes, MAGIC, 2), Ok(&[7][..]));
        assert_eq!(after_start(&bytes, MAGIC, 3), Ok(&[7][..]));
        assert_eq!(after_start(&bytes[..9], MAGIC, 2), Ok(&[][..]));
    }

    #[test]
    fn other_files_are_refused() {
        let later = StartError::Version {
            found: 2,
            newest: 1,
        };
        assert_eq!(after_start(&start(MAGIC, 2), MAGIC, 1), Err(later));
        assert!(after_start(&start(MAGIC, 0), MAGIC, 1).is_err());
        let other = start(*b"FTHSTRM\0", 1);
        assert_eq!(after_start(&other, MAGIC, 1), Err(StartError::Foreign));
    }
}
