//! A directory for what readers of files need. It goes away with the process that watches.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::{env, fs, process};
use tempfile::TempDir;

/// A new room, where files are memory if there is such a place: inputs come by thousands.
///
/// # Errors
/// If there can be none.
pub fn new() -> io::Result<TempDir> {
    let mut named = tempfile::Builder::new();
    named.prefix("fathomp-fuzz-");
    named.tempdir_in("/dev/shm").or_else(|_| named.tempdir())
}

static ROOM: OnceLock<PathBuf> = OnceLock::new();

/// Says where it is. The first call counts.
pub fn set(path: &Path) {
    let _ = ROOM.set(path.to_owned());
}

/// The directory; one of this process where none was named.
///
/// # Panics
/// If it cannot be made.
#[must_use]
pub fn path() -> &'static Path {
    ROOM.get_or_init(|| {
        let path = env::temp_dir().join(format!("fathomp-fuzz-{}", process::id()));
        fs::create_dir_all(&path).expect("a directory for temporary files");
        path
    })
}

/// Puts an input into a file there, for readers that want a path.
///
/// # Panics
/// If it cannot be written.
#[must_use]
pub fn put(name: &str, input: &[u8]) -> PathBuf {
    let path = path().join(name);
    fs::write(&path, input).expect("a file in the room");
    path
}

/// The contents of all files of a directory, in the order of their names.
///
/// # Errors
/// If they cannot be read.
pub fn contents(directory: &Path) -> io::Result<Vec<Vec<u8>>> {
    let entries = fs::read_dir(directory)?.map(|entry| Ok(entry?.path()));
    let mut paths = entries.collect::<io::Result<Vec<_>>>()?;
    paths.sort();
    paths.into_iter().map(fs::read).collect()
}
