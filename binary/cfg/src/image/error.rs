//! Why a file has no code that can be read.

use std::io;
use std::path::PathBuf;

/// Why bytes are no image.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// Not ELF at all.
    #[error("is no ELF program or library; give the program itself, not a script that starts it")]
    NotElf,
    /// Another kind of ELF.
    #[error("is not a program for x86-64")]
    Architecture,
    /// Not linked yet, or no code at all.
    #[error("is {0}, not a linked program or library; link it first")]
    Kind(&'static str),
    /// Stripped of even the table that says where its code is.
    #[error(
        "has no section table, so its code cannot be told from its data; \
         strip it with `strip`, not `sstrip`"
    )]
    NoSections,
    /// Its code is compressed and unpacked when it runs.
    #[error("is packed{0}, so that its code shows only when it runs; give the unpacked program")]
    Packed(&'static str),
    /// No section is executable, or they are in another file.
    #[error(
        "contains no code; if its debugging information was split off, give the program itself"
    )]
    NoCode,
    /// Tables lead out of the file.
    #[error("is cut off or damaged: {0}")]
    Damaged(#[from] object::Error),
    /// More than can be read into memory.
    #[error("is no file of at most {} MiB", Self::BYTES_MAX >> 20)]
    Size,
    /// The system does not let us read it.
    #[error("cannot be read: {0}")]
    Read(#[source] io::Error),
}

impl ImageError {
    /// The largest file that is read.
    pub const BYTES_MAX: u64 = 4 << 30;
}

/// Why a file has no code that can be read, and which file.
#[derive(Debug, thiserror::Error)]
#[error("{}: {error}", path.display())]
pub struct ReadError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    #[source]
    pub error: ImageError,
}
