//! Writing the embedded files to a directory the loader can use.

use crate::place::{Candidate, candidates};
use crate::{Bundle, File};
use flate2::read::DeflateDecoder;
use nix::sys::statvfs::{FsFlags, statvfs};
use sha2::{Digest, Sha256};
use std::fs::{self, DirBuilder, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where the files of a bundle lie now.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// fathomp's cache directory, which other commands may use too.
    pub cache: PathBuf,
    /// The bundle's own directory in it.
    pub directory: PathBuf,
}

/// No directory could take the files.
#[derive(Debug, thiserror::Error)]
#[error("cannot unpack the libraries that fathomp carries ({}): set XDG_CACHE_HOME to a directory that you can write to and run programs from, without spaces or colons in its path", .reasons.join("; "))]
pub struct UnpackError {
    /// Why each candidate was refused.
    reasons: Vec<String>,
}

impl UnpackError {
    /// Says that what is needed beside the files cannot be made at `path`.
    #[must_use]
    pub fn new(path: &Path, why: &io::Error) -> Self {
        Self {
            reasons: vec![format!("{}: {why}", path.display())],
        }
    }
}

/// Makes sure that the files are on disk, in the first directory that works.
///
/// # Errors
/// If none of [`candidates`] can be used.
pub fn unpack(bundle: &Bundle) -> Result<Unpacked, UnpackError> {
    unpack_at(bundle, &candidates())
}

/// Like [`unpack`], with the candidates given.
///
/// # Errors
/// If none of them can be used; the message says why for each.
pub fn unpack_at(bundle: &Bundle, candidates: &[Candidate]) -> Result<Unpacked, UnpackError> {
    let mut reasons = Vec::new();
    for candidate in candidates {
        match unpack_to(bundle, candidate) {
            Ok(unpacked) => return Ok(unpacked),
            Err(error) => reasons.push(format!("{}: {error}", candidate.path.display())),
        }
    }
    if reasons.is_empty() {
        reasons.push("no usable path in XDG_CACHE_HOME, HOME or TMPDIR".to_owned());
    }
    Err(UnpackError { reasons })
}

fn unpack_to(bundle: &Bundle, candidate: &Candidate) -> io::Result<Unpacked> {
    make_directory(candidate)?;
    let directory = candidate.path.join(bundle.sha256);
    if let Err(error) = DirBuilder::new().mode(0o700).create(&directory)
        && error.kind() != io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    if statvfs(&directory)?.flags().contains(FsFlags::ST_NOEXEC) {
        return Err(io::Error::other("mounted noexec"));
    }
    for file in bundle.files {
        let path = directory.join(file.name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        ensure(&path, file)?;
    }
    Ok(Unpacked {
        cache: candidate.path.clone(),
        directory,
    })
}

/// What a file holds when it is unpacked.
///
/// # Errors
/// If what is carried is no such file, which is a fault of the build.
pub fn content(file: &File) -> io::Result<Vec<u8>> {
    // The length comes from the build script; a file that is longer fails below.
    let mut content = Vec::with_capacity(file.length as usize);
    DeflateDecoder::new(file.packed).read_to_end(&mut content)?;
    if fits(file, &content) {
        Ok(content)
    } else {
        let message = format!("{} is damaged inside this program", file.name);
        Err(io::Error::new(io::ErrorKind::InvalidData, message))
    }
}

fn fits(file: &File, content: &[u8]) -> bool {
    content.len() as u64 == file.length && Sha256::digest(content)[..] == file.sha256
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

/// Leaves `path` with what `file` holds. Several processes may do this at the
/// same time: each writes a file of its own and renames it, so a reader sees
/// the whole file or none, and a program that has mapped the old one keeps it.
fn ensure(path: &Path, file: &File) -> io::Result<()> {
    if holds(path, file) {
        return Ok(());
    }
    static ATTEMPT: AtomicU32 = AtomicU32::new(0);
    let attempt = ATTEMPT.fetch_add(1, Ordering::Relaxed);
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{}-{attempt}.new", std::process::id()));
    let fresh = PathBuf::from(name);
    let written = content(file)
        .and_then(|content| write(&fresh, &content))
        .and_then(|()| fs::rename(&fresh, path));
    if written.is_err() {
        // Best effort: the error that matters is the one being returned.
        let _ = fs::remove_file(&fresh);
    }
    written
}

fn holds(path: &Path, file: &File) -> bool {
    let may = |found: &fs::Metadata| {
        found.is_file() && found.len() == file.length && found.mode() & 0o500 == 0o500
    };
    fs::metadata(path).is_ok_and(|found| may(&found))
        && fs::read(path).is_ok_and(|found| fits(file, &found))
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
    use flate2::Compression;
    use flate2::write::DeflateEncoder;
    use std::{slice, thread};

    const CONTENT: &[u8] = b"one file after the other, one file after the other";

    fn packed(content: &[u8]) -> &'static [u8] {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(content).unwrap();
        Box::leak(encoder.finish().unwrap().into_boxed_slice())
    }

    fn bundle() -> Bundle {
        let file = |name, content: &[u8]| File {
            name,
            packed: packed(content),
            length: content.len() as u64,
            sha256: Sha256::digest(content).into(),
        };
        let files = vec![file("one", CONTENT), file("below/two", b"")];
        Bundle {
            sha256: "0123",
            files: Box::leak(files.into_boxed_slice()),
        }
    }

    fn own(path: PathBuf) -> Candidate {
        Candidate {
            path,
            shared: false,
        }
    }

    #[test]
    fn files_lie_where_their_names_say_and_may_be_executed() {
        let directory = tempfile::tempdir().unwrap();
        let unpacked = unpack_at(&bundle(), &[own(directory.path().to_owned())]).unwrap();
        assert_eq!(fs::read(unpacked.directory.join("one")).unwrap(), CONTENT);
        assert_eq!(fs::read(unpacked.directory.join("below/two")).unwrap(), b"");
        let mode = fs::metadata(unpacked.directory.join("one")).unwrap().mode();
        assert_eq!(mode & 0o777, 0o755);
    }

    #[test]
    fn a_damaged_file_is_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let candidate = own(directory.path().join("cache"));
        for damage in [&b"not a library"[..], &[b'x'; CONTENT.len()]] {
            let first = unpack_at(&bundle(), slice::from_ref(&candidate)).unwrap();
            fs::write(first.directory.join("one"), damage).unwrap();
            let second = unpack_at(&bundle(), slice::from_ref(&candidate)).unwrap();
            assert_eq!(fs::read(second.directory.join("one")).unwrap(), CONTENT);
        }
    }

    #[test]
    fn content_of_another_length_or_hash_is_refused() {
        let good = bundle().files[0];
        let cut = &good.packed[..good.packed.len() - 2];
        let others = [
            File { length: 7, ..good },
            File {
                sha256: [0; 32],
                ..good
            },
            File {
                packed: cut,
                ..good
            },
        ];
        for file in others {
            assert!(content(&file).is_err(), "{file:?}");
        }
    }

    #[test]
    fn concurrent_starts_leave_whole_files() {
        let directory = tempfile::tempdir().unwrap();
        let candidate = own(directory.path().to_owned());
        thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let unpacked = unpack_at(&bundle(), slice::from_ref(&candidate)).unwrap();
                    assert_eq!(fs::read(unpacked.directory.join("one")).unwrap(), CONTENT);
                });
            }
        });
        let left = fs::read_dir(directory.path().join("0123")).unwrap().count();
        assert_eq!(left, 2, "a file and a folder");
    }

    #[test]
    fn an_unusable_candidate_is_passed_over() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, b"").unwrap();
        let good = directory.path().join("good");
        let unpacked = unpack_at(&bundle(), &[own(file), own(good.clone())]).unwrap();
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
        let error = unpack_at(&bundle(), &[shared]).unwrap_err().to_string();
        assert!(error.contains("private directory"), "{error}");
    }
}
