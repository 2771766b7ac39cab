//! Writing the embedded files to a directory the loader can use.

use crate::place::{Candidate, candidates};
use crate::{CLUSTER_LIBRARY, LIBRARY, PROBE, SHA256, TAP, WITNESS};
use nix::sys::statvfs::{FsFlags, statvfs};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the embedded files lie now.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// fathomp's cache directory, which other commands may use too.
    pub cache: PathBuf,
    /// The runtime library, for `LD_PRELOAD`.
    pub library: PathBuf,
    /// The runtime library for several nodes, for `LD_PRELOAD`.
    pub cluster_library: PathBuf,
    /// The tap, for `LD_PRELOAD`: `libfathomp-tap.so`.
    pub tap: PathBuf,
    /// The recorder of programs on other runtimes, for `LD_PRELOAD`: `libfathomp-witness.so`.
    pub witness: PathBuf,
    /// The calibration probe.
    pub probe: PathBuf,
}

/// No directory could take the runtime library.
#[derive(Debug, thiserror::Error)]
#[error("cannot unpack the runtime library ({}): set XDG_CACHE_HOME to a directory that you can write to and run programs from, without spaces or colons in its path", .reasons.join("; "))]
pub struct UnpackError {
    /// Why each candidate was refused.
    reasons: Vec<String>,
}

/// Makes sure that the files are on disk, in the first directory that works.
///
/// # Errors
/// If none of [`candidates`] can be used.
pub fn unpack() -> Result<Unpacked, UnpackError> {
    unpack_at(&candidates())
}

/// Like [`unpack`], with the candidates given.
///
/// # Errors
/// If none of them can be used; the message says why for each.
pub fn unpack_at(candidates: &[Candidate]) -> Result<Unpacked, UnpackError> {
    let mut reasons = Vec::new();
    for candidate in candidates {
        match unpack_to(candidate) {
            Ok(unpacked) => return Ok(unpacked),
            Err(error) => reasons.push(format!("{}: {error}", candidate.path.display())),
        }
    }
    if reasons.is_empty() {
        reasons.push("no usable path in XDG_CACHE_HOME, HOME or TMPDIR".to_owned());
    }
    Err(UnpackError { reasons })
}

fn unpack_to(candidate: &Candidate) -> io::Result<Unpacked> {
    make_directory(candidate)?;
    let directory = candidate.path.join(SHA256);
    if let Err(error) = DirBuilder::new().mode(0o700).create(&directory)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    if statvfs(&directory)?.flags().contains(FsFlags::ST_NOEXEC) {
        return Err(io::Error::other("mounted noexec"));
    }
    let library = directory.join("libgomp.so.1");
    let tap = directory.join("libfathomp-tap.so");
    let witness = directory.join("libfathomp-witness.so");
    let probe = directory.join("probe");
    ensure(&library, LIBRARY)?;
    // Under the name that programs ask for, hence in a directory of its own.
    let cluster = directory.join("cluster");
    fs::create_dir_all(&cluster)?;
    let cluster_library = cluster.join("libgomp.so.1");
    ensure(&cluster_library, CLUSTER_LIBRARY)?;
    for library in [&library, &cluster_library] {
        name_as_llvms(library)?;
    }
    ensure(&tap, TAP)?;
    ensure(&witness, WITNESS)?;
    ensure(&probe, PROBE)?;
    Ok(Unpacked {
        cache: candidate.path.clone(),
        library,
        cluster_library,
        tap,
        witness,
        probe,
    })
}

/// What programs call LLVM's runtime, and Intel's, which is the same.
const LLVMS_NAMES: [&str; 4] = ["libomp.so.5", "libomp.so", "libomp5.so", "libiomp5.so"];

/// Gives the library these names as well, for programs that are to find it in its directory. The
/// loader takes a file that it has loaded under another name for the same library.
fn name_as_llvms(library: &Path) -> io::Result<()> {
    let (Some(directory), Some(file)) = (library.parent(), library.file_name()) else {
        return Ok(());
    };
    for name in LLVMS_NAMES {
        match symlink(file, directory.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

fn make_directory(candidate: &Candidate) -> io::Result<()> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&candidate.path)?;
    if candidate.shared {
        let found = fs::symlink_metadata(&candidate.path)?;
        let ours = found.is_dir()
            && found.uid() == nix::unistd::geteuid().as_raw()
            && found.mode() & 0o077 == 0;
        if !ours {
            return Err(io::Error::other("not a private directory of yours"));
        }
    }
    Ok(())
}

/// Leaves `path` with exactly `content`. Several processes may do this at the
/// same time: each writes a file of its own and renames it, so a reader sees
/// the whole file or none, and a program that has mapped the old one keeps it.
fn ensure(path: &Path, content: &[u8]) -> io::Result<()> {
    if holds(path, content) {
        return Ok(());
    }
    static ATTEMPT: AtomicU32 = AtomicU32::new(0);
    let attempt = ATTEMPT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{attempt}.new", std::process::id()));
    let fresh = PathBuf::from(name);
    let written = write(&fresh, content).and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // Best effort: the error that matters is the one being returned.
        let _ = fs::remove_file(&fresh);
    }
    written
}

fn holds(path: &Path, content: &[u8]) -> bool {
    let fits = |found: &fs::Metadata| {
        found.is_file() && found.len() == content.len() as u64 && found.mode() & 0o500 == 0o500
    };
    fs::metadata(path).is_ok_and(|found| fits(&found))
        && fs::read(path).is_ok_and(|found| found == content)
}

fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(0o700)
        .open(path)?;
    file.write_all(content)?;
    // The umask may have taken the execute bit away.
    file.set_permissions(Permissions::from_mode(0o755))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{slice, thread};

    fn own(path: PathBuf) -> Candidate {
        Candidate {
            path,
            shared: false,
        }
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let candidate = own(directory.path().join("cache"));
        let first = unpack_at(slice::from_ref(&candidate)).unwrap();
        fs::write(&first.library, b"not a library").unwrap();
        let second = unpack_at(slice::from_ref(&candidate)).unwrap();
        assert_eq!(fs::read(second.library).unwrap(), LIBRARY);
    }

    #[test]
    fn concurrent_starts_leave_whole_files() {
        let directory = tempfile::tempdir().unwrap();
        let candidate = own(directory.path().to_owned());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let unpacked = unpack_at(slice::from_ref(&candidate)).unwrap();
                    assert_eq!(fs::read(unpacked.library).unwrap(), LIBRARY);
                });
            }
        });
        let leftovers = fs::read_dir(directory.path().join(SHA256)).unwrap().count();
        assert_eq!(leftovers, 5 + LLVMS_NAMES.len());
    }

    #[test]
    fn an_unusable_candidate_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, b"").unwrap();
        let good = directory.path().join("good");
        let unpacked = unpack_at(&[own(file), own(good.clone())]).unwrap();
        assert_eq!(unpacked.cache, good);
    }

    #[test]
    fn a_shared_directory_open_to_others_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        fs::set_permissions(directory.path(), Permissions::from_mode(0o777)).unwrap();
        let shared = Candidate {
            path: directory.path().to_owned(),
            shared: true,
        };
        let error = unpack_at(&[shared]).unwrap_err().to_string();
        assert!(error.contains("private directory"), "{error}");
    }
}
