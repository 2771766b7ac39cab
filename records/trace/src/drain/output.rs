//! Where a stream is written to.

use crate::stream;
use fathomp_sys::shm;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

/// A stream under construction: a file of the recording, or memory for what a
/// reader salvages.
#[derive(Debug)]
pub(crate) enum Output {
    /// The file and its sound length.
    File(File, u64),
    /// Bytes.
    Memory(Vec<u8>),
}

impl Output {
    /// Begins a new stream file.
    pub(crate) fn create(path: &Path) -> io::Result<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(path)?;
        let mut output = Self::File(file, 0);
        output.append(&stream::start())?;
        Ok(output)
    }

    /// Appends whole blocks. If that fails, nothing of them stays.
    pub(crate) fn append(&mut self, blocks: &[u8]) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => bytes.extend(blocks),
            Self::File(file, sound) => {
                // A write beyond the limit would end this process.
                if *sound + blocks.len() as u64 > shm::file_size_limit() {
                    return Err(io::ErrorKind::FileTooLarge.into());
                }
                if let Err(error) = file.write_all(blocks) {
                    // Best effort: a torn block at the end is found by its
                    // checksum anyway.
                    let _ = file.set_len(*sound);
                    let _ = file.seek(SeekFrom::Start(*sound));
                    return Err(error);
                }
                *sound += blocks.len() as u64;
            }
        }
        Ok(())
    }
}
