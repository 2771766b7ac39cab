//! The ring file of a process, from both sides.
//!
//! Nothing in it is believed by those who read it: the program may have scribbled over it.

use crate::facts::{End, Facts};
use crate::layout::{FORMAT, Geometry, ending, header, names, slot};
use crate::sums::Sums;
use fathomp_ring::file::{self, put_string};
pub use fathomp_ring::file::{SourceError, stem};
use fathomp_ring::{Ring, Word};
use fathomp_sys::clock::Pair;
use fathomp_types::Ticks;
use std::io;
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// A ring file.
#[derive(Debug)]
pub struct RingFile {
    file: file::RingFile,
    geometry: Geometry,
}

impl Deref for RingFile {
    type Target = file::RingFile;

    fn deref(&self) -> &file::RingFile {
        &self.file
    }
}

/// What a process knows of itself when its record begins.
#[derive(Clone, Debug)]
pub struct Opening {
    /// Number of its parent.
    pub parent: u32,
    /// When its record begins.
    pub begin: Pair,
    /// Wall-clock time then, nanoseconds since the Unix epoch.
    pub unix_ns: u64,
    /// First estimate of the length of a tick.
    pub nanos_per_tick: f64,
    /// Name of the program.
    pub program: String,
    /// A process that was recorded forked it.
    pub forked: bool,
    /// Its number in the order in which processes began, if they are counted.
    pub order: Option<u32>,
}

impl RingFile {
    /// Producer: makes the ring file of this process. It appears under `path` only when it is
    /// complete.
    ///
    /// # Errors
    /// If it cannot be made, or there is no room for its first pages.
    pub fn create(path: &Path, geometry: Geometry, opening: &Opening) -> io::Result<Self> {
        let file = file::RingFile::begin(path, FORMAT, geometry.words(), &opening.begin)?;
        let put = |at: usize, value: u64| file.words()[at].set(value);
        let process = u64::from(file.pid()) | u64::from(opening.parent) << 32;
        put(header::PROCESS, process);
        put(header::UNIX, opening.unix_ns);
        put(header::NANOS_PER_TICK, opening.nanos_per_tick.to_bits());
        put(header::SLOTS, geometry.slots as u64);
        put(header::RING_WORDS, geometry.ring_words as u64);
        put(header::FORKED, u64::from(opening.forked));
        put(
            header::ORDER,
            opening.order.map_or(0, |order| u64::from(order) + 1),
        );
        let program = &file.words()[header::PROGRAM..][..header::PROGRAM_WORDS];
        put_string(program, opening.program.as_bytes());
        file.complete()?;
        Ok(Self { file, geometry })
    }

    /// Producer: the process ends like that.
    pub fn put_end(&self, end: &End) {
        let put = |at: usize, value: u64| self.words()[at].set(value);
        put(header::END, end.at.0);
        put(header::IO_SEEN, end.io_calls_seen);
        put(
            header::IO_MADE,
            end.io_calls_made.map_or(0, |calls| calls.saturating_add(1)),
        );
        put(
            header::ENVIRONMENT_CLEARED,
            u64::from(end.environment_cleared),
        );
        self.words()[header::ENDING].release(ending::to_word(end.ending));
    }

    /// Producer: the process does not end after all.
    pub fn take_end_back(&self) {
        self.words()[header::ENDING].release(0);
    }

    /// Consumer: opens the ring file of another process.
    ///
    /// # Errors
    /// If it is none, or cannot be opened.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let file = file::RingFile::open(path, FORMAT, names::BEGIN + names::WORDS)?;
        let geometry = Geometry {
            slots: file.size(header::SLOTS),
            ring_words: file.size(header::RING_WORDS),
        };
        let words = file.words().len();
        let geometry = geometry.checked(words).ok_or(SourceError::Geometry)?;
        Ok(Self { file, geometry })
    }

    /// Its sizes.
    #[must_use]
    pub fn geometry(&self) -> Geometry {
        self.geometry
    }

    /// The words of a slot.
    #[must_use]
    pub fn slot(&self, index: usize) -> Option<&[AtomicU64]> {
        let at = self.geometry.slot(index);
        (index < self.geometry.slots).then(|| self.words().get(at..at + slot::WORDS))?
    }

    /// The ring of a slot.
    #[must_use]
    pub fn ring(&self, index: usize) -> Option<Ring<'_, AtomicU64>> {
        if index >= self.geometry.slots {
            return None;
        }
        let (slot, at) = (self.geometry.slot(index), self.geometry.ring(index));
        let counters = [slot + slot::HEAD, slot + slot::TAIL];
        self.file.ring(at, self.geometry.ring_words, counters)
    }

    /// The stays of a slot that found its ring full.
    #[must_use]
    pub fn merged(&self, index: usize) -> Option<Sums<'_>> {
        Sums::new(self.slot(index)?.get(slot::MERGED..)?)
    }

    /// The stays of a slot that were not selected.
    #[must_use]
    pub fn omitted(&self, index: usize) -> Option<Sums<'_>> {
        Sums::new(self.slot(index)?.get(slot::OMITTED..)?)
    }

    /// Slots that have ever been used.
    #[must_use]
    pub fn slots_used(&self) -> usize {
        usize::try_from(self.words()[header::SLOTS_USED].acquire())
            .unwrap_or(usize::MAX)
            .min(self.geometry.slots)
    }

    /// What the process says of itself, with the clock measured from the beginning to now.
    #[must_use]
    pub fn facts(&self) -> Facts {
        let read = |at: usize| self.words()[at].get();
        let process = read(header::PROCESS);
        let number = |at: usize| {
            let number = read(at).checked_sub(1);
            number.and_then(|number| u32::try_from(number).ok())
        };
        let end = ending::from_word(self.words()[header::ENDING].acquire()).map(|ending| End {
            at: Ticks(read(header::END)),
            ending,
            io_calls_seen: read(header::IO_SEEN),
            io_calls_made: read(header::IO_MADE).checked_sub(1),
            environment_cleared: read(header::ENVIRONMENT_CLEARED) == 1,
        });
        Facts {
            pid: process as u32,
            parent: (process >> 32) as u32,
            program: self.string(header::PROGRAM, header::PROGRAM_WORDS),
            zero: Ticks(read(header::BEGIN)),
            zero_unix_ns: read(header::UNIX),
            nanos_per_tick: self.nanos_per_tick(),
            forked: read(header::FORKED) == 1,
            order: number(header::ORDER),
            rank: number(header::RANK),
            node: number(header::NODE),
            threads: read(header::THREADS),
            threads_lost: read(header::THREADS_LOST),
            names_lost: read(header::NAMES_LOST),
            marks_lost: read(header::MARKS_LOST),
            refused: read(header::REFUSED),
            end,
        }
    }
}
