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

use std::path::Path;
use std::{fs, io};

/// Inputs at which a reader failed once, which are tried first each time.
///
/// # Errors
/// If they cannot be read.
pub fn regressions(name: &str) -> io::Result<Vec<Vec<u8>>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("found")
        .join(name);
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut paths: Vec<_> = entries
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<io::Result<_>>()?;
    paths.sort();
    paths.into_iter().map(fs::read).collect()
}
