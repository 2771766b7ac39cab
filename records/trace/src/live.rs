//! The live directory: where running programs and the drainer meet.

use fathomp_sys::shm;
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Space a memory file system must have for it to be used: rings for a good
/// number of threads.
const SPACE_WANTED_BYTES: u64 = 64 << 20;

/// File name extension of a ring file.
pub(crate) const EXTENSION: &str = "ring";

/// Makes a live directory for a recording: in memory if there is room, else
/// inside the recording. Only the present user may enter it.
///
/// # Errors
/// If neither can be made.
pub fn create(recording: &Path) -> io::Result<PathBuf> {
    let memory = Path::new("/dev/shm");
    let roomy = shm::free_bytes(memory).is_ok_and(|free| free >= SPACE_WANTED_BYTES);
    if roomy && let Ok(made) = create_in(memory, "fathomp-") {
        return Ok(made);
    }
    create_in(recording, "live-")
}

fn create_in(parent: &Path, prefix: &str) -> io::Result<PathBuf> {
    let unique = fathomp_sys::clock::unix_ns();
    let path = parent.join(format!("{prefix}{}-{unique:x}", std::process::id()));
    std::fs::DirBuilder::new().mode(0o700).create(&path)?;
    path.canonicalize()
}

/// Removes a live directory and what is left in it.
///
/// # Errors
/// If it cannot be removed; that it is already gone is none.
pub fn remove(live: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(live) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_live_directory_is_private_and_can_be_removed() {
        use std::os::unix::fs::PermissionsExt;
        let parent = std::env::temp_dir();
        let live = create(&parent).unwrap();
        let mode = std::fs::metadata(&live).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        std::fs::write(live.join("left over"), b"x").unwrap();
        remove(&live).unwrap();
        assert!(!live.exists());
        remove(&live).unwrap();
    }
}
