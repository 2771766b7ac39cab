//! The runtime library, the interposer of paging and the foreign recorder inside the program, and
//! their way to the disk.
//!
//! A program can only be made to load a *file*, so the embedded libraries are
//! unpacked once per user ([`fathomp_embed`]). Without the feature `cluster` the runtime's edition for
//! several nodes is not among them, and without `paging` the interposer is not.
#![forbid(unsafe_code)]

#[cfg(any(feature = "paging", test))]
use fathomp_embed::content;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

pub use fathomp_embed::{Candidate, UnpackError, candidates};

// The build script makes it of what it has linked.
include!(concat!(env!("OUT_DIR"), "/BUNDLE.rs"));

/// SHA-256 over all embedded files, in hexadecimal.
pub const SHA256: &str = BUNDLE.sha256;

/// Names of the files in the bundle, as the build script has them, too.
const LIBRARY: &str = "libgomp.so.1";
/// Under the name that programs ask for, hence in a directory of its own.
#[cfg(feature = "cluster")]
const CLUSTER_LIBRARY: &str = "cluster/libgomp.so.1";
#[cfg(feature = "paging")]
const INTERPOSER: &str = "libfathomp-paging.so";
const FOREIGN_RECORDER: &str = "libfathomp-foreign-recorder.so";
const MPI: &str = "libfathomp-mpi.so";
const PROBE: &str = "probe";

/// Where the embedded files lie now.
#[derive(Clone, Debug)]
pub struct Unpacked {
    /// fathomp's cache directory, which other commands may use too.
    pub cache: PathBuf,
    /// The runtime library, for `LD_PRELOAD`: `libgomp.so.1` by name.
    pub library: PathBuf,
    /// The same library for programs that run on several nodes, for `LD_PRELOAD`: it also stands
    /// in front of the C library's heap, its start-up code and its system calls.
    #[cfg(feature = "cluster")]
    pub cluster_library: PathBuf,
    /// The library that is loaded into programs whose paging is recorded, for `LD_PRELOAD`.
    #[cfg(feature = "paging")]
    pub interposer: PathBuf,
    /// The library that is loaded into programs that are recorded on a runtime other than ours,
    /// for `LD_PRELOAD`.
    pub foreign_recorder: PathBuf,
    /// The library that tells recorders of MPI's calls, for `LD_PRELOAD`.
    pub mpi: PathBuf,
    /// The program that measures what the library's constructs cost.
    pub probe: PathBuf,
}

impl Unpacked {
    /// The runtime library for programs on so many nodes.
    pub fn edition(&self, nodes: u16) -> &Path {
        match nodes {
            #[cfg(feature = "cluster")]
            2.. => &self.cluster_library,
            _ => &self.library,
        }
    }

    /// All editions of the runtime library.
    fn editions(&self) -> impl Iterator<Item = &Path> {
        [1, 2].map(|nodes| self.edition(nodes)).into_iter()
    }
}

/// Makes sure that the files are on disk, in the first directory that works.
///
/// # Errors
/// If none of [`candidates`] can be used; the message says why for each.
pub fn unpack() -> Result<Unpacked, UnpackError> {
    unpack_at(&candidates())
}

/// Like [`unpack`], with the candidates given.
///
/// # Errors
/// If none of them can be used.
pub fn unpack_at(candidates: &[Candidate]) -> Result<Unpacked, UnpackError> {
    let unpacked = fathomp_embed::unpack_at(&BUNDLE, candidates)?;
    let file = |name| unpacked.directory.join(name);
    let found = Unpacked {
        library: file(LIBRARY),
        #[cfg(feature = "cluster")]
        cluster_library: file(CLUSTER_LIBRARY),
        #[cfg(feature = "paging")]
        interposer: file(INTERPOSER),
        foreign_recorder: file(FOREIGN_RECORDER),
        mpi: file(MPI),
        probe: file(PROBE),
        cache: unpacked.cache,
    };
    for library in found.editions() {
        name_as_llvms(library).map_err(|error| UnpackError::new(library, &error))?;
    }
    Ok(found)
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

/// What the interposer's file holds.
///
/// # Errors
/// If it was damaged by the build.
#[cfg(feature = "paging")]
pub fn interposer() -> io::Result<Vec<u8>> {
    let mut files = BUNDLE.files.iter();
    let found = files.find(|file| file.name == INTERPOSER);
    content(found.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn every_file_is_unpacked_and_has_llvms_names() {
        let directory = tempfile::tempdir().unwrap();
        let candidate = Candidate {
            path: directory.path().to_owned(),
            shared: false,
        };
        let unpacked = unpack_at(&[candidate]).unwrap();
        let files = [
            (&unpacked.library, LIBRARY),
            #[cfg(feature = "cluster")]
            (&unpacked.cluster_library, CLUSTER_LIBRARY),
            #[cfg(feature = "paging")]
            (&unpacked.interposer, INTERPOSER),
            (&unpacked.foreign_recorder, FOREIGN_RECORDER),
            (&unpacked.mpi, MPI),
            (&unpacked.probe, PROBE),
        ];
        assert_eq!(files.len(), BUNDLE.files.len());
        for (path, name) in files {
            let mut all = BUNDLE.files.iter();
            let embedded = all.find(|file| file.name == name).unwrap();
            assert_eq!(
                fs::read(path).unwrap(),
                content(embedded).unwrap(),
                "{name}"
            );
        }
        for library in unpacked.editions() {
            for name in LLVMS_NAMES {
                assert!(library.with_file_name(name).exists(), "{name}");
            }
        }
    }
}
