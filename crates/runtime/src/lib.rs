//! The runtime library, the tap and the witness as bytes inside the program, and its way to the disk.
//!
//! A program can only be made to load a *file*, so the embedded library is
//! unpacked once per user to a directory named by its hash:
//! `<cache>/fathomp/<sha256>/libgomp.so.1`. Every start compares the file with
//! the embedded bytes, so a damaged or foreign file is never loaded.
#![forbid(unsafe_code)]

mod place;
mod unpack;

pub use place::{Candidate, candidates};
pub use unpack::{UnpackError, Unpacked, unpack, unpack_at};

/// The shared library, `libgomp.so.1` by name.
pub const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libgomp.so.1"));

/// The same library for programs that run on several nodes: it also stands in
/// front of the C library's heap, its start-up code and its system calls.
pub const CLUSTER_LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/cluster.so"));

/// The library that is loaded into programs whose paging is recorded, `libfathomp-tap.so`.
pub const TAP: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libfathomp-tap.so"));

/// The library that is loaded into programs that are recorded on a runtime other than ours,
/// `libfathomp-witness.so`.
pub const WITNESS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libfathomp-witness.so"));

/// The program that measures what the library's constructs cost.
pub const PROBE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/probe"));

/// SHA-256 over [`LIBRARY`], [`CLUSTER_LIBRARY`], [`TAP`], [`WITNESS`] and [`PROBE`], in
/// hexadecimal.
pub const SHA256: &str = env!("FATHOMP_RUNTIME_SHA256");
