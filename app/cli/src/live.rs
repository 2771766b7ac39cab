//! Live directories that a killed launcher has left in shared memory.

use std::fs;
use std::path::{Path, PathBuf};

/// Where live directories are made.
const SHARED_MEMORY: &str = "/dev/shm";
/// Followed by the launcher's process number and something unique.
const PREFIX: &str = "fathomp-";

/// Live directories whose launcher is gone.
pub(crate) fn stale() -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(SHARED_MEMORY) else {
        return Vec::new();
    };
    let mut stale: Vec<_> = entries
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| launcher(path).is_some_and(|pid| !Path::new("/proc").join(pid).exists()))
        .collect();
    stale.sort();
    stale
}

fn launcher(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    let (pid, _) = name.split_once('-')?;
    pid.parse::<u32>().ok().map(|pid| pid.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_ours_are_stale() {
        assert_eq!(
            launcher(Path::new("/dev/shm/fathomp-12-a0")),
            Some("12".to_owned())
        );
        assert_eq!(launcher(Path::new("/dev/shm/fathomp-x-0")), None);
        assert_eq!(launcher(Path::new("/dev/shm/other-12-0")), None);
    }
}
