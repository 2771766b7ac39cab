//! Feeds damaged and made-up bytes to every reader of foreign bytes: of files, messages,
//! shared memory, programs, sources and text that somebody else wrote or changed. The README
//! beside this crate says which readers there are and how to run them for hours.
//!
//! A [`target`] is a function of bytes. [`mutate`], [`json`] and [`blocks`] change
//! inputs that are as they should be; [`run`] is the loop, [`watch`] the process around it.
#![forbid(unsafe_code)]

pub mod blocks;
pub mod json;
pub mod mutate;
pub mod random;
pub mod room;
pub mod run;
pub mod target;
pub mod targets;
pub mod watch;

use std::io;
use std::path::Path;

/// Inputs at which a reader failed once, which are tried first each time.
///
/// # Errors
/// If they cannot be read.
pub fn regressions(name: &str) -> io::Result<Vec<Vec<u8>>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("found")
        .join(name);
    match room::contents(&directory) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        found => found,
    }
}
