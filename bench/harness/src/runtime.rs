//! OpenMP runtimes, and which programs they can answer.

use fathomp_launch::{Network, Protocol};
use object::{Object, ObjectSymbol};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The calls that a compiler's programs make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Interface {
    /// gcc's and gfortran's: `GOMP_*`.
    Gnu,
    /// clang's: `__kmpc_*`.
    Llvm,
}

impl Interface {
    /// The runtime that such programs are linked to.
    fn native(self) -> &'static str {
        match self {
            Self::Gnu => "libgomp",
            Self::Llvm => "libomp",
        }
    }

    /// The name by which such programs ask the loader for it.
    fn file_name(self) -> &'static str {
        match self {
            Self::Gnu => "libgomp.so.1",
            Self::Llvm => "libomp.so.5",
        }
    }

    /// A call that every such program may make.
    fn entry(self) -> &'static str {
        match self {
            Self::Gnu => "GOMP_parallel",
            Self::Llvm => "__kmpc_fork_call",
        }
    }
}

/// How each thread of a team becomes a node of its own.
#[derive(Debug, Clone, PartialEq)]
pub struct OnNodes {
    /// What shares their memory.
    pub protocol: Protocol,
    /// Pages stay at their homes and come one by one.
    pub plain: bool,
    /// The network to emulate between them.
    pub network: Option<Network>,
    /// For nodes on several hosts: the words in front of a program that run it there, by
    /// number of nodes. They set everything else.
    pub in_front: BTreeMap<u32, Vec<OsString>>,
}

impl OnNodes {
    /// Nodes of this machine that share memory by a protocol.
    #[must_use]
    pub fn here(protocol: Protocol) -> Self {
        Self {
            protocol,
            plain: false,
            network: None,
            in_front: BTreeMap::new(),
        }
    }
}

/// An OpenMP runtime.
#[derive(Debug, Clone, PartialEq)]
pub struct Runtime {
    /// The name in tables.
    pub name: String,
    /// The shared library to preload; `None` for libgomp as programs link it.
    pub library: Option<PathBuf>,
    /// Interfaces it answers.
    interfaces: Vec<Interface>,
    /// Each thread is a node of its own.
    pub nodes: Option<OnNodes>,
}

/// Why something is not a usable runtime.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum RuntimeError {
    /// Neither a known name nor `NAME=PATH`.
    #[error(
        "\"{0}\" names no runtime: give fathomp, libgomp, libomp, home or homeless for nodes, or NAME=PATH of a library"
    )]
    Unknown(String),
    /// The file cannot be read.
    #[error("cannot use the library {}: {reason}: give the path of an OpenMP runtime's shared library", path.display())]
    Unreadable {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// It answers no OpenMP calls.
    #[error("{} is no OpenMP runtime: it has neither GOMP_parallel nor __kmpc_fork_call", .0.display())]
    Foreign(PathBuf),
    /// LLVM's runtime is not installed where it usually is.
    #[error("LLVM's libomp was not found: install it (libomp-dev) or give its path as libomp=PATH")]
    NoLibomp,
    /// The loader splits LD_PRELOAD at blanks and colons.
    #[error("the path {} has a blank or colon in it, which the loader cannot preload: move the library", .0.display())]
    Unloadable(PathBuf),
}

impl Runtime {
    /// libgomp, as gcc's programs link it.
    #[must_use]
    pub fn libgomp() -> Self {
        Self {
            name: "libgomp".to_owned(),
            library: None,
            interfaces: vec![Interface::Gnu],
            nodes: None,
        }
    }

    /// LLVM's runtime.
    ///
    /// # Errors
    /// If it is not installed.
    pub fn libomp() -> Result<Self, RuntimeError> {
        let path = find_libomp().ok_or(RuntimeError::NoLibomp)?;
        Self::from_library("libomp", &path)
    }

    /// A library, under a name.
    ///
    /// # Errors
    /// If it cannot be read or is no OpenMP runtime.
    pub fn from_library(name: &str, path: &Path) -> Result<Self, RuntimeError> {
        let unreadable = |reason: String| RuntimeError::Unreadable {
            path: path.to_owned(),
            reason,
        };
        let full = path.canonicalize().map_err(|e| unreadable(e.to_string()))?;
        let bytes = fs::read(&full).map_err(|e| unreadable(e.to_string()))?;
        let file = object::File::parse(&*bytes).map_err(|e| unreadable(e.to_string()))?;
        if full
            .to_str()
            .is_none_or(|text| text.contains([' ', ':', '\t']))
        {
            return Err(RuntimeError::Unloadable(full));
        }
        let defines = |entry: &str| {
            file.dynamic_symbols()
                .any(|symbol| symbol.is_definition() && symbol.name() == Ok(entry))
        };
        let interfaces: Vec<Interface> = [Interface::Gnu, Interface::Llvm]
            .into_iter()
            .filter(|interface| defines(interface.entry()))
            .collect();
        if interfaces.is_empty() {
            return Err(RuntimeError::Foreign(full));
        }
        Ok(Self {
            name: name.to_owned(),
            library: Some(full),
            interfaces,
            nodes: None,
        })
    }

    /// fathomp's library for nodes, with one thread on each, under a name.
    ///
    /// # Errors
    /// If it cannot be read or is no OpenMP runtime.
    pub fn on_nodes(name: &str, nodes: OnNodes, library: &Path) -> Result<Self, RuntimeError> {
        Ok(Self {
            nodes: Some(nodes),
            ..Self::from_library(name, library)?
        })
    }

    /// The library to preload so that this runtime answers programs that make
    /// `interface`'s calls; `None` where they are linked to it anyway.
    ///
    /// # Errors
    /// A sentence if it cannot answer them.
    pub fn preload(&self, interface: Interface) -> Result<Option<&Path>, String> {
        if self.name == interface.native() && (self.library.is_none() || self.is_installed()) {
            return Ok(None);
        }
        match &self.library {
            Some(library) if self.interfaces.contains(&interface) => Ok(Some(library)),
            _ => Err(format!(
                "{} does not answer {} calls",
                self.name,
                match interface {
                    Interface::Gnu => "gcc's GOMP_*",
                    Interface::Llvm => "clang's __kmpc_*",
                }
            )),
        }
    }

    /// A directory below `directory` in which the loader finds `library` when a
    /// program with `interface` asks for its own runtime. With preloading alone
    /// that one is loaded, too, and may bind the initial thread to a processor
    /// before this one looks how many there are: libgomp does.
    ///
    /// # Errors
    /// A sentence if the directory cannot be written.
    pub fn stand_in(
        library: &Path,
        interface: Interface,
        directory: &Path,
    ) -> Result<PathBuf, String> {
        let digest = Sha256::digest(library.as_os_str().as_bytes());
        let digits: String = digest.iter().take(6).map(|b| format!("{b:02x}")).collect();
        let own = directory.join(format!("runtime-{digits}"));
        let link = own.join(interface.file_name());
        let made = || {
            if fs::read_link(&link).is_ok_and(|target| target == library) {
                return Ok(());
            }
            fs::create_dir_all(&own)?;
            let new = own.join(format!("new-{}", std::process::id()));
            let _ = fs::remove_file(&new);
            symlink(library, &new)?;
            fs::rename(&new, &link)
        };
        match made() {
            Ok(()) => Ok(own),
            Err(error) => Err(format!("cannot write {}: {error}", own.display())),
        }
    }

    /// LLVM's runtime where clang's programs find it themselves.
    fn is_installed(&self) -> bool {
        self.library == find_libomp()
    }
}

/// LLVM's OpenMP runtime of the highest version installed.
#[must_use]
pub fn find_libomp() -> Option<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir("/usr/lib")
        .ok()?
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let version = entry
                .file_name()
                .to_str()?
                .strip_prefix("llvm-")?
                .parse()
                .ok()?;
            let library = entry.path().join("lib/libomp.so.5").canonicalize().ok()?;
            Some((version, library))
        })
        .collect();
    found.sort();
    found.pop().map(|(_, library)| library).or_else(|| {
        [
            "/usr/lib/x86_64-linux-gnu/libomp.so.5",
            "/usr/lib64/libomp.so",
        ]
        .iter()
        .find_map(|path| Path::new(path).canonicalize().ok())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libgomp_answers_gcc_and_not_clang() {
        let libgomp = Runtime::libgomp();
        assert_eq!(libgomp.preload(Interface::Gnu), Ok(None));
        let refused = libgomp.preload(Interface::Llvm).unwrap_err();
        assert!(refused.contains("__kmpc_"), "{refused}");
    }

    #[test]
    fn a_library_stands_in_under_the_name_that_programs_ask_for() {
        let directory = tempfile::tempdir().unwrap();
        let library = Path::new("/lib/x.so");
        for _ in 0..2 {
            let own = Runtime::stand_in(library, Interface::Gnu, directory.path()).unwrap();
            let link = fs::read_link(own.join("libgomp.so.1")).unwrap();
            assert_eq!(link, library);
            assert_eq!(fs::read_dir(own).unwrap().count(), 1);
        }
        let file = tempfile::NamedTempFile::new().unwrap();
        let refused = Runtime::stand_in(library, Interface::Llvm, file.path()).unwrap_err();
        assert!(refused.starts_with("cannot write "), "{refused}");
    }

    #[test]
    fn what_is_no_runtime_is_refused() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let missing = Runtime::from_library("x", Path::new("/nonexistent/lib.so"));
        assert!(matches!(missing, Err(RuntimeError::Unreadable { .. })));
        let empty = Runtime::from_library("x", file.path());
        assert!(matches!(empty, Err(RuntimeError::Unreadable { .. })));
        let program = std::env::current_exe().unwrap();
        let foreign = Runtime::from_library("x", &program);
        assert!(matches!(foreign, Err(RuntimeError::Foreign(_))));
    }
}
