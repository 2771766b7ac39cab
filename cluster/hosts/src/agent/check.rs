//! Whether this host has what the program needs, before anything is started.

use crate::control::Job;
use rustix::fs::{Access, access};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// SHA-256 of a file.
///
/// # Errors
/// If it cannot be read.
pub fn digest(path: &Path) -> io::Result<[u8; 32]> {
    let mut file = File::open(path)?;
    let mut hash = Sha256::new();
    let mut bytes = vec![0; 1 << 16];
    loop {
        match file.read(&mut bytes)? {
            0 => return Ok(hash.finalize().into()),
            got => hash.update(&bytes[..got]),
        }
    }
}

/// What is missing, in words for the user.
pub(super) fn check(job: &Job) -> Result<(), String> {
    let directory = job.directory.to_path();
    if !directory.is_dir() {
        return Err(format!(
            "there is no directory {}: make it, or mount it at the same place on all hosts",
            directory.display()
        ));
    }
    let program = job.program.to_path();
    let path: PathBuf = directory.join(&program);
    if !path.is_file() {
        return Err(format!(
            "there is no program {}: copy it to the same place on all hosts",
            path.display()
        ));
    }
    access(&path, Access::EXEC_OK)
        .map_err(|error| format!("{} cannot be executed: {error}", path.display()))?;
    match digest(&path) {
        Ok(found) if found == job.program_sha256 => Ok(()),
        Ok(_) => Err(format!(
            "{} differs from the one here: copy it to all hosts",
            path.display()
        )),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}
