//! Finding a program as `execvp` does, and asking the file system about it.

use super::error::{ProgramError, unreadable};
use nix::unistd::{AccessFlags, access, getegid, geteuid};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Used when PATH is not set, as the C library does.
const DEFAULT_PATH: &str = "/bin:/usr/bin";

/// The file that `name` stands for: searched for in PATH unless it contains a
/// slash.
pub(super) fn executable(name: &OsStr) -> Result<PathBuf, ProgramError> {
    if name.is_empty() {
        return Err(ProgramError::NotFound(String::new()));
    }
    if name.as_bytes().contains(&b'/') {
        let path = PathBuf::from(name);
        return file(&path).map(|()| path);
    }
    let path = env::var_os("PATH").unwrap_or_else(|| DEFAULT_PATH.into());
    // A match that may not be executed is reported only if nothing better
    // follows, as the shell does.
    let mut refused = None;
    for directory in env::split_paths(&path) {
        let candidate = directory.join(name);
        match file(&candidate) {
            Ok(()) => return Ok(candidate),
            Err(ProgramError::Missing(_) | ProgramError::Directory(_)) => {}
            // A directory that cannot be looked into: nothing is known to be there.
            Err(ProgramError::Unreadable { .. }) => {}
            Err(error) => refused = refused.or(Some(error)),
        }
    }
    Err(refused.unwrap_or_else(|| ProgramError::NotFound(name.to_string_lossy().into_owned())))
}

/// Checks that `path` is a file that may be executed.
pub(super) fn file(path: &Path) -> Result<(), ProgramError> {
    let found = fs::metadata(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory | io::ErrorKind::InvalidInput => {
            ProgramError::Missing(path.to_owned())
        }
        _ => unreadable(path, error),
    })?;
    if found.is_dir() {
        return Err(ProgramError::Directory(path.to_owned()));
    }
    if !found.is_file() {
        return Err(ProgramError::Special(path.to_owned()));
    }
    access(path, AccessFlags::X_OK).map_err(|_| ProgramError::NotExecutable(path.to_owned()))
}

/// Refuses files that change the user on execution, because the loader then
/// ignores `LD_PRELOAD`.
pub(super) fn check_privileges(path: &Path) -> Result<(), ProgramError> {
    const SET_UID: u32 = 0o4000;
    const SET_GID: u32 = 0o2000;
    let found = fs::metadata(path).map_err(|error| unreadable(path, error))?;
    let changes_user = found.mode() & SET_UID != 0 && found.uid() != geteuid().as_raw();
    let changes_group = found.mode() & SET_GID != 0 && found.gid() != getegid().as_raw();
    if changes_user || changes_group {
        return Err(ProgramError::Privileged(path.to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_searched_for_in_the_path() {
        let found = executable(OsStr::new("sh")).unwrap();
        assert!(found.is_absolute());
    }

    #[test]
    fn kinds_of_refusal() {
        type Kind = fn(&ProgramError) -> bool;
        let cases: [(&str, Kind); 6] = [
            ("no-such-program-anywhere", |e| {
                matches!(e, ProgramError::NotFound(_))
            }),
            ("", |e| matches!(e, ProgramError::NotFound(_))),
            ("/no/such/path", |e| matches!(e, ProgramError::Missing(_))),
            ("/etc/passwd/x", |e| matches!(e, ProgramError::Missing(_))),
            ("/tmp", |e| matches!(e, ProgramError::Directory(_))),
            ("/dev/null", |e| matches!(e, ProgramError::Special(_))),
        ];
        for (name, is_kind) in cases {
            let error = executable(OsStr::new(name)).unwrap_err();
            assert!(is_kind(&error), "{name}: {error}");
        }
    }
}
