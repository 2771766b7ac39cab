//! Files that travel compressed inside a program, and their way to the disk.
//!
//! Programs and the loader can only be given a *file*. So what a program carries is unpacked once
//! per user, to `<cache>/fathomp/<hash of all files of the bundle>/`. Every start compares length
//! and hash of each file, so a damaged or foreign one is never loaded.
//!
//! * `pack`: what a build script calls to make the module that holds a [`Bundle`];
//! * `unpack`: what the program calls to have the files.
#![forbid(unsafe_code)]

#[cfg(feature = "pack")]
pub mod pack;
#[cfg(feature = "unpack")]
mod place;
#[cfg(feature = "unpack")]
mod unpack;

#[cfg(feature = "unpack")]
pub use place::{Candidate, candidates};
#[cfg(feature = "unpack")]
pub use unpack::{UnpackError, Unpacked, content, unpack, unpack_at};

/// A file as it is carried.
#[derive(Clone, Copy, Debug)]
pub struct File {
    /// Its path inside the bundle's directory.
    pub name: &'static str,
    /// Its content, compressed (deflate).
    pub packed: &'static [u8],
    /// Length of its content, in bytes.
    pub length: u64,
    /// SHA-256 of its content.
    pub sha256: [u8; 32],
}

/// Files that are unpacked together.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    /// SHA-256 over the content of all files, in hexadecimal: the name of their directory.
    pub sha256: &'static str,
    /// The files.
    pub files: &'static [File],
}
