//! Writing the file.

use super::event::FaultEvent;
use super::pack::Packer;
use super::{EVENTS, MAGIC, NOTE, VERSION};
use fathomp_blocks::{Origin, put, start};
use serde::{Deserialize, Serialize};
use std::io::{self, Write};

/// Bytes of events from which a block is closed.
const BLOCK_BYTES: usize = 256 << 10;

/// What is known of the file as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct FaultsNote {
    /// Host on which they happened.
    pub host: String,
    /// Faults in the file.
    pub faults: u64,
    /// Events that the kernel could not store, because they came faster than they were
    /// taken.
    pub lost: u64,
    /// Faults that were left out because the file had reached its limit.
    pub left_out: u64,
    /// Whether [`Found`](super::Found) is known.
    pub presence_known: bool,
    /// Huge pages that the kernel gave out meanwhile, to all programs of the machine
    /// (`thp_fault_alloc`); `None` if it does not say.
    pub huge_pages: Option<u64>,
    /// Nothing more will come.
    pub complete: bool,
}

/// Appends events to a file of faults.
#[derive(Debug)]
pub struct FaultsWriter<W> {
    out: W,
    packer: Packer,
    block: Vec<u8>,
    /// Bytes that the file may still grow by.
    room: u64,
    note: FaultsNote,
}

impl<W: Write> FaultsWriter<W> {
    /// Begins a file that may grow to about `limit` bytes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn new(mut out: W, limit: u64, note: FaultsNote) -> io::Result<Self> {
        out.write_all(&start(MAGIC, VERSION))?;
        let mut writer = Self {
            out,
            packer: Packer::default(),
            block: Vec::new(),
            room: limit,
            note,
        };
        writer.write_note()?;
        Ok(writer)
    }

    /// Appends one; a fault for which there is no room is only counted.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn put(&mut self, event: &FaultEvent) -> io::Result<()> {
        if let FaultEvent::Fault(_) = event {
            if self.room == 0 {
                self.note.left_out += 1;
                return Ok(());
            }
            self.note.faults += 1;
        }
        self.packer.put(event);
        match self.packer.len() >= BLOCK_BYTES {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what has gathered.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn flush(&mut self) -> io::Result<()> {
        if self.packer.len() == 0 {
            return Ok(());
        }
        let payload = self.packer.take();
        self.write(EVENTS, &payload)
    }

    /// What is known of the file, to be completed.
    pub fn note(&mut self) -> &mut FaultsNote {
        &mut self.note
    }

    /// Writes the rest: nothing more will come.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn finish(mut self) -> io::Result<FaultsNote> {
        self.flush()?;
        self.note.complete = true;
        self.write_note()?;
        self.out.flush()?;
        Ok(self.note)
    }

    fn write_note(&mut self) -> io::Result<()> {
        let json = serde_json::to_vec(&self.note).map_err(io::Error::from)?;
        self.write(NOTE, &json)
    }

    fn write(&mut self, kind: u32, payload: &[u8]) -> io::Result<()> {
        self.block.clear();
        put(&mut self.block, kind, Origin::default(), payload);
        self.room = self.room.saturating_sub(self.block.len() as u64);
        self.out.write_all(&self.block)
    }
}
