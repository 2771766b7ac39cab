//! Why a program is refused.

use std::io;
use std::path::{Path, PathBuf};

/// The program cannot be started, or not with the runtime in front.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// No program of that name is in the path.
    #[error("{0}: no such program: check the name, or give a path such as ./{0}")]
    NotFound(String),
    /// There is no such file.
    #[error("{}: no such file: check the path", .0.display())]
    Missing(PathBuf),
    /// It is a directory.
    #[error("{}: is a directory: name the program inside it", .0.display())]
    Directory(PathBuf),
    /// It is a device, a pipe or the like.
    #[error("{}: is not an ordinary file: name a program", .0.display())]
    Special(PathBuf),
    /// It may not be executed.
    #[error("{}: is not executable: run `chmod +x` on it, or name its interpreter first", .0.display())]
    NotExecutable(PathBuf),
    /// It cannot be looked at.
    #[error("{}: cannot be read ({source}), so fathomp cannot tell what it is: make it readable", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is neither an ELF file nor a script.
    #[error("{}: is neither an ELF program nor a script that starts with #!: name a compiled program, or its interpreter first", .0.display())]
    NotAProgram(PathBuf),
    /// Its ELF headers contradict each other or the file's length.
    #[error("{}: its ELF headers are damaged or cut short: build it again", .0.display())]
    Damaged(PathBuf),
    /// It is a program of 32 bits.
    #[error("{}: is a 32-bit program; fathomp has a runtime for 64-bit programs only: build it with -m64", .0.display())]
    Bits32(PathBuf),
    /// It is for another kind of machine.
    #[error("{}: was built for {machine}, this machine is {}: build it for this machine", path.display(), std::env::consts::ARCH)]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The machine that it was built for.
        machine: String,
    },
    /// It is an object file.
    #[error("{}: is an object file, not a program: link it first", .0.display())]
    NotLinked(PathBuf),
    /// It is a shared library.
    #[error("{}: is a shared library, not a program: name the program that loads it", .0.display())]
    Library(PathBuf),
    /// It is linked statically.
    #[error("{}: is statically linked, so no library can be put in front of it: link it without -static", .0.display())]
    Static(PathBuf),
    /// It changes its user or group when it starts.
    #[error("{}: is set-uid or set-gid, so the loader ignores LD_PRELOAD: run a copy without that bit", .0.display())]
    Privileged(PathBuf),
    /// It has a runtime of its own and was to run on several nodes.
    #[error("{}: contains an OpenMP runtime of its own, so it cannot run on several nodes: link it with the shared libgomp or libomp", .0.display())]
    OwnCopy(PathBuf),
    /// It is a script whose interpreter cannot be started.
    #[error("{}: names the interpreter {interpreter}, which cannot be started: {source}", script.display())]
    Interpreter {
        /// The script.
        script: PathBuf,
        /// Its interpreter.
        interpreter: String,
        /// Why that cannot be started.
        source: Box<ProgramError>,
    },
    /// It is a script of a script of a script, and so on.
    #[error("{}: scripts call each other without end: name a compiled program", .0.display())]
    ScriptLoop(PathBuf),
}

impl ProgramError {
    /// Exit code in the manner of `env` and `timeout`: 127 if the program does
    /// not exist, 126 if it cannot be started.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) | Self::Missing(_) => 127,
            _ => 126,
        }
    }
}

pub(super) fn unreadable(path: &Path, source: io::Error) -> ProgramError {
    ProgramError::Unreadable {
        path: path.to_owned(),
        source,
    }
}
