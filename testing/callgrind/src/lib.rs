//! What programs really execute and miss, instruction by instruction.
//!
//! For tests of what scans and models say: a program runs under valgrind's callgrind
//! (with its cache simulator if asked for), and a [`Profile`] tells for each instruction,
//! by its address in the file that holds it, how often it was executed, what it read and
//! wrote, and what of that missed. [`begun`] notes what parallel regions were started with,
//! for expressions that depend on it.
#![forbid(unsafe_code)]

mod begun;
mod parse;
mod run;

pub use begun::{Beginnings, Begun, begun};
pub use parse::ParseError;
pub use run::{JudgeError, Simulated, callgrind};

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Counts of one instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Executions.
    pub executed: u64,
    /// Reads of memory. One that changes memory in place counts as a read.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Reads that missed the first level.
    pub first_read_misses: u64,
    /// Writes that missed the first level.
    pub first_write_misses: u64,
    /// Reads that missed the last level.
    pub last_read_misses: u64,
    /// Writes that missed the last level.
    pub last_write_misses: u64,
}

impl Counts {
    /// Reads and writes.
    #[must_use]
    pub fn accesses(&self) -> u64 {
        self.reads + self.writes
    }

    /// Misses of both kinds in the first level.
    #[must_use]
    pub fn first_misses(&self) -> u64 {
        self.first_read_misses + self.first_write_misses
    }

    /// Misses of both kinds in the last level.
    #[must_use]
    pub fn last_misses(&self) -> u64 {
        self.last_read_misses + self.last_write_misses
    }

    fn add(&mut self, other: &Self) {
        self.executed = self.executed.saturating_add(other.executed);
        self.reads = self.reads.saturating_add(other.reads);
        self.writes = self.writes.saturating_add(other.writes);
        self.first_read_misses = self
            .first_read_misses
            .saturating_add(other.first_read_misses);
        self.first_write_misses = self
            .first_write_misses
            .saturating_add(other.first_write_misses);
        self.last_read_misses = self.last_read_misses.saturating_add(other.last_read_misses);
        self.last_write_misses = self
            .last_write_misses
            .saturating_add(other.last_write_misses);
    }
}

/// Counts of a whole run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Program and libraries, each with its instructions by their address in the file.
    pub files: BTreeMap<PathBuf, BTreeMap<u64, Counts>>,
}

impl Profile {
    /// Reads what callgrind wrote with `--dump-instr=yes`.
    ///
    /// # Errors
    /// See [`ParseError`].
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        parse::parse(text)
    }

    /// Instructions of a file, which may be named as it was started or by its real path.
    #[must_use]
    pub fn of_file(&self, path: &Path) -> Option<&BTreeMap<u64, Counts>> {
        self.files.get(path).or_else(|| {
            let real = std::fs::canonicalize(path).ok()?;
            self.files.get(&real)
        })
    }

    /// Counts of an instruction; all 0 if it was never executed.
    #[must_use]
    pub fn at(&self, path: &Path, address: u64) -> Counts {
        self.of_file(path)
            .and_then(|file| file.get(&address))
            .copied()
            .unwrap_or_default()
    }

    /// Sum over the instructions of a file from `from` on and before `to`.
    #[must_use]
    pub fn sum(&self, path: &Path, from: u64, to: u64) -> Counts {
        let mut sum = Counts::default();
        if let Some(file) = self.of_file(path)
            && from < to
        {
            file.range(from..to).for_each(|(_, counts)| sum.add(counts));
        }
        sum
    }
}
