//! Appends to files of a recording without keeping descriptors open: a program may close or
//! take any descriptor that it finds, and a collector has more files than descriptors.

use fathomp_sys::shm;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;

/// What appending took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Appended {
    /// Length of the file now, in bytes.
    pub length: u64,
    /// Write calls.
    pub calls: u64,
}

/// Appends bytes to a file, which is made if it is not there. If that fails, nothing of them
/// stays. Nobody else may append meanwhile.
///
/// # Errors
/// If there is no room, or the file cannot be opened.
pub fn append(path: &Path, mut bytes: &[u8]) -> io::Result<Appended> {
    let mut file = OpenOptions::new().append(true).create(true).open(path)?;
    let sound = file.metadata()?.len();
    let length = sound.saturating_add(bytes.len() as u64);
    // A write beyond the limit would end this process.
    if length > shm::file_size_limit() {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    let mut calls = 0;
    while !bytes.is_empty() {
        calls += 1;
        let error = match file.write(bytes) {
            Ok(0) => io::ErrorKind::WriteZero.into(),
            Ok(written) => {
                bytes = bytes.get(written..).unwrap_or_default();
                continue;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => error,
        };
        // Best effort: a torn block at the end is found by its checksum anyway.
        let _ = file.set_len(sound);
        return Err(error);
    }
    Ok(Appended { length, calls })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_after_those_that_are_there() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("stream");
        assert_eq!(append(&path, b"ab").unwrap().length, 2);
        let second = append(&path, b"cd").unwrap();
        assert_eq!((second.length, second.calls), (4, 1));
        assert_eq!(std::fs::read(&path).unwrap(), b"abcd");
    }

    #[test]
    fn what_has_no_room_leaves_nothing() {
        // Every write there finds no space.
        let full = Path::new("/dev/full");
        assert!(append(full, b"ab").is_err());
    }
}
