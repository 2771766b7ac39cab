//! Reading the file, whatever its bytes are.

use super::event::FaultEvent;
use super::pack::Unpacker;
use super::write::FaultsNote;
use super::{EVENTS, MAGIC, NOTE, VERSION};
use fathomp_blocks::{Blocks, Piece, StartError, after_start};
use std::io;
use std::path::{Path, PathBuf};

/// Why a file of faults cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FaultsError {
    /// The system does not let it be read.
    #[error("cannot read {}: {source}; record with --record-faults to have it", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is no file of faults, or of a later version.
    #[error("cannot read {}: {source}; record again with this fathomp", path.display())]
    Start {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        source: StartError,
    },
}

/// A file of faults in memory.
#[derive(Clone, Debug)]
pub struct FaultsFile {
    bytes: Vec<u8>,
    note: FaultsNote,
    damaged: u64,
}

/// Reads a file of faults.
///
/// # Errors
/// If it cannot be read, is none or is of a later version. Damage within is no error: see
/// [`FaultsFile::damaged`].
pub fn read(path: &Path) -> Result<FaultsFile, FaultsError> {
    let bytes = std::fs::read(path).map_err(|source| FaultsError::Read {
        path: path.to_owned(),
        source,
    })?;
    FaultsFile::new(bytes).map_err(|source| FaultsError::Start {
        path: path.to_owned(),
        source,
    })
}

impl FaultsFile {
    /// A file's content.
    ///
    /// # Errors
    /// If it does not begin like a file of faults of this version or an earlier one.
    pub fn new(bytes: Vec<u8>) -> Result<Self, StartError> {
        let mut note = FaultsNote::default();
        let mut damaged = 0;
        for piece in Blocks::new(after_start(&bytes, MAGIC, VERSION)?) {
            match piece {
                Piece::Block(block) if block.kind == NOTE => {
                    match serde_json::from_slice(block.payload) {
                        Ok(later) => note = later,
                        Err(_) => damaged += 1,
                    }
                }
                Piece::Block(_) => {}
                // A file that is still being written ends anywhere.
                Piece::Cut(_) | Piece::Damage(_) => damaged += 1,
            }
        }
        Ok(Self {
            bytes,
            note,
            damaged,
        })
    }

    /// What is known of the file as a whole.
    #[must_use]
    pub fn note(&self) -> &FaultsNote {
        &self.note
    }

    /// Places in the file that are damaged or cut off; what follows them is read.
    #[must_use]
    pub fn damaged(&self) -> u64 {
        self.damaged
    }

    /// The events, nearly in the order in which they happened.
    pub fn events(&self) -> impl Iterator<Item = FaultEvent> + '_ {
        let blocks = after_start(&self.bytes, MAGIC, VERSION).unwrap_or_default();
        Blocks::new(blocks)
            .filter_map(|piece| match piece {
                Piece::Block(block) if block.kind == EVENTS => Some(block.payload),
                _ => None,
            })
            .flat_map(Unpacker::new)
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, FaultsWriter};
    use super::*;

    fn fault(at: u64) -> FaultEvent {
        FaultEvent::Fault(Fault {
            at,
            process: 1,
            thread: 2,
            address: at << 12,
            instruction: 0x400_000,
            ..Fault::default()
        })
    }

    fn file(count: u64, limit: u64) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = FaultsWriter::new(&mut bytes, limit, FaultsNote::default()).unwrap();
        for at in 0..count {
            writer.put(&fault(at)).unwrap();
            if at % 100 == 99 {
                writer.flush().unwrap();
            }
        }
        writer.note().lost = 5;
        let note = writer.finish().unwrap();
        assert_eq!(note.faults + note.left_out, count);
        bytes
    }

    #[test]
    fn what_was_written_is_read() {
        let read = FaultsFile::new(file(1000, u64::MAX)).unwrap();
        let expected: Vec<_> = (0..1000).map(fault).collect();
        assert_eq!(read.events().collect::<Vec<_>>(), expected);
        assert_eq!((read.note().faults, read.note().lost), (1000, 5));
        assert!(read.note().complete && read.damaged() == 0);
    }

    #[test]
    fn a_file_that_is_full_counts_what_it_leaves_out() {
        let read = FaultsFile::new(file(1000, 2000)).unwrap();
        let note = read.note();
        assert!(note.left_out > 0 && note.faults > 0, "{note:?}");
        assert_eq!(read.events().count() as u64, note.faults);
    }

    #[test]
    fn a_cut_costs_the_end_alone() {
        let whole = file(1000, u64::MAX);
        for cut in (0..whole.len()).step_by(97) {
            let read = FaultsFile::new(whole[..cut].to_vec()).unwrap();
            let events: Vec<_> = read.events().collect();
            let expected: Vec<_> = (0..events.len() as u64).map(fault).collect();
            assert_eq!(events, expected, "cut at {cut}");
        }
    }

    #[test]
    fn other_files_are_refused() {
        let error = FaultsFile::new(b"something else entirely".to_vec());
        assert_eq!(error.unwrap_err(), StartError::Foreign);
    }
}
