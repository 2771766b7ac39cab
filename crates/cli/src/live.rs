//! The live directory: shared memory between a running program and the drain.

use crate::failure::Failure;
use nix::sys::statvfs::statvfs;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// Where shared memory lives.
const SHARED_MEMORY: &str = "/dev/shm";
/// Followed by the launcher's process number and a count.
const PREFIX: &str = "fathomp-";
/// Room that a recording may need: below it, the recording directory is used.
const ROOM_MIN: u64 = 64 << 20;

/// A live directory, removed when dropped.
#[derive(Debug)]
pub(crate) struct Live {
    path: PathBuf,
}

impl Live {
    /// Makes a live directory in shared memory, or inside `recording` where
    /// there is too little of that.
    pub(crate) fn create(recording: &Path) -> Result<Self, Failure> {
        if room(Path::new(SHARED_MEMORY)).is_some_and(|free| free >= ROOM_MIN)
            && let Ok(live) = Self::within(Path::new(SHARED_MEMORY))
        {
            return Ok(live);
        }
        Self::within(recording).map_err(|error| Failure::unwritable(recording, &error))
    }

    fn within(parent: &Path) -> io::Result<Self> {
        let pid = std::process::id();
        let mut attempt = 0_u32;
        loop {
            let path = parent.join(format!("{PREFIX}{pid}-{attempt}"));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                // Left behind by a killed launcher with our process number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists && attempt < 1000 => {
                    attempt += 1;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        // Everything of value has been drained; `doctor` names what stays.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Live directories whose launcher is gone.
pub(crate) fn stale() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(SHARED_MEMORY) else {
        return Vec::new();
    };
    let mut stale: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| launcher_of(path).is_some_and(|pid| !Path::new("/proc").join(pid).exists()))
        .collect();
    stale.sort();
    stale
}

fn launcher_of(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let (pid, _) = name.split_once('-')?;
    pid.parse::<u32>().ok().map(|pid| pid.to_string())
}

fn room(path: &Path) -> Option<u64> {
    let found = statvfs(path).ok()?;
    found.blocks_available().checked_mul(found.fragment_size())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_goes_away_when_dropped() {
        let parent = tempfile::tempdir().unwrap();
        let live = Live::within(parent.path()).unwrap();
        let second = Live::within(parent.path()).unwrap();
        assert_ne!(live.path(), second.path());
        fs::write(live.path().join("ring"), b"x").unwrap();
        drop((live, second));
        assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
    }

    #[test]
    fn only_names_of_ours_are_stale() {
        assert_eq!(
            launcher_of(Path::new("/dev/shm/fathomp-12-0")),
            Some("12".to_owned())
        );
        assert_eq!(launcher_of(Path::new("/dev/shm/fathomp-x-0")), None);
        assert_eq!(launcher_of(Path::new("/dev/shm/other-12-0")), None);
    }
}
