//! The program a user wants to start: found, looked at, refused early if
//! fathomp could not do anything for it.

mod elf;
mod find;
mod script;

use elf::Linkage;
pub(crate) use elf::{calls, definitions};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// A program that can be started with the runtime library in front.
#[derive(Clone, Debug)]
pub(crate) struct Program {
    /// The file that will be executed.
    pub(crate) path: PathBuf,
    /// The name as typed, and the arguments.
    pub(crate) command: Vec<OsString>,
    /// What to tell the user if no OpenMP construct was seen in the end.
    pub(crate) suspicion: Option<Suspicion>,
}

/// Why a program might not use the runtime that was put in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Suspicion {
    /// It does not name an OpenMP runtime (it may load one later).
    NotLinked,
    /// It is a script, whose programs are not known before it runs.
    Script,
    /// It contains an OpenMP runtime of its own, linked statically.
    OwnCopy,
}

/// The program cannot be started, or not with the runtime in front.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("{0}: no such program: check the name, or give a path such as ./{0}")]
    NotFound(String),
    #[error("{}: no such file: check the path", .0.display())]
    Missing(PathBuf),
    #[error("{}: is a directory: name the program inside it", .0.display())]
    Directory(PathBuf),
    #[error("{}: is not an ordinary file: name a program", .0.display())]
    Special(PathBuf),
    #[error("{}: is not executable: run `chmod +x` on it, or name its interpreter first", .0.display())]
    NotExecutable(PathBuf),
    #[error("{}: cannot be read ({source}), so fathomp cannot tell what it is: make it readable", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{}: is neither an ELF program nor a script that starts with #!: name a compiled program, or its interpreter first", .0.display())]
    NotAProgram(PathBuf),
    #[error("{}: its ELF headers are damaged or cut short: build it again", .0.display())]
    Damaged(PathBuf),
    #[error("{}: is a 32-bit program; fathomp has a runtime for 64-bit programs only: build it with -m64", .0.display())]
    Bits32(PathBuf),
    #[error("{}: was built for {machine}, this machine is {}: build it for this machine", path.display(), std::env::consts::ARCH)]
    Foreign { path: PathBuf, machine: String },
    #[error("{}: is an object file, not a program: link it first", .0.display())]
    NotLinked(PathBuf),
    #[error("{}: is a shared library, not a program: name the program that loads it", .0.display())]
    Library(PathBuf),
    #[error("{}: is statically linked, so no library can be put in front of it: link it without -static", .0.display())]
    Static(PathBuf),
    #[error("{}: is set-uid or set-gid, so the loader ignores LD_PRELOAD: run a copy without that bit", .0.display())]
    Privileged(PathBuf),
    #[error("{}: contains an OpenMP runtime of its own, so it cannot run on several nodes: link it with the shared libgomp or libomp", .0.display())]
    OwnCopy(PathBuf),
    #[error("{}: names the interpreter {interpreter}, which cannot be started: {source}", script.display())]
    Interpreter {
        script: PathBuf,
        interpreter: String,
        source: Box<ProgramError>,
    },
    #[error("{}: scripts call each other without end: name a compiled program", .0.display())]
    ScriptLoop(PathBuf),
}

impl ProgramError {
    /// Exit code in the manner of `env` and `timeout`: 127 if the program does
    /// not exist, 126 if it cannot be started.
    pub(crate) fn exit_code(&self) -> u8 {
        match self {
            Self::NotFound(_) | Self::Missing(_) => 127,
            _ => 126,
        }
    }
}

/// Scripts may be interpreted by scripts; the kernel follows four.
const SCRIPT_DEPTH: u32 = 4;

/// Finds and examines the program of a command line.
pub(crate) fn examine(command: &[OsString]) -> Result<Program, ProgramError> {
    let name = command.first().cloned().unwrap_or_default();
    let path = find::executable(&name)?;
    let suspicion = look_inside(&path, SCRIPT_DEPTH)?;
    Ok(Program {
        path,
        command: command.to_vec(),
        suspicion,
    })
}

impl Program {
    /// What files of the program at this place among several are called.
    pub(crate) fn numbered(&self, index: usize) -> String {
        let name = self.path.file_name().unwrap_or_default();
        format!("{}-{}", index + 1, name.to_string_lossy())
    }

    /// Whether OpenMP may be used by it or by a program that its command line names, as
    /// in `mpirun -n 4 ./solver`. Of scripts that is not known, so they may.
    pub(crate) fn may_use_openmp(&self) -> bool {
        match self.suspicion {
            None | Some(Suspicion::Script) => true,
            Some(Suspicion::OwnCopy) => false,
            Some(Suspicion::NotLinked) => {
                let words = self.command.iter().skip(1);
                words.map(Path::new).any(|word| {
                    find::file(word).is_ok() && matches!(look_inside(word, SCRIPT_DEPTH), Ok(None))
                })
            }
        }
    }

    /// Whether it contains an OpenMP runtime of its own.
    pub(crate) fn has_own_copy(&self) -> bool {
        self.suspicion == Some(Suspicion::OwnCopy)
    }

    /// Whether it is linked with that library.
    pub(crate) fn links(&self, library: &Path) -> bool {
        elf::links(&self.path, library)
    }

    /// Whether it is a compiled program that begins MPI by itself, or may start one.
    pub(crate) fn may_use_mpi(&self) -> bool {
        self.suspicion == Some(Suspicion::Script) || elf::begins_mpi(&self.path)
    }

    /// Whether it can run on several nodes: what to tell the user if only
    /// programs that it starts can.
    pub(crate) fn on_nodes(&self, nodes: u16) -> Result<Option<String>, ProgramError> {
        match self.suspicion {
            Some(Suspicion::OwnCopy) if nodes > 1 => Err(ProgramError::OwnCopy(self.path.clone())),
            Some(Suspicion::NotLinked) if nodes > 1 => Ok(Some(format!(
                "{}: does not name an OpenMP runtime, so it runs in one process, \
                 and of the programs that it starts those with OpenMP run on {nodes} nodes",
                self.path.display()
            ))),
            _ => Ok(None),
        }
    }
}

fn look_inside(path: &Path, depth: u32) -> Result<Option<Suspicion>, ProgramError> {
    find::check_privileges(path)?;
    let start = elf::read_start(path)?;
    if let Some(interpreter) = script::interpreter(&start) {
        if depth == 0 {
            return Err(ProgramError::ScriptLoop(path.to_owned()));
        }
        return find::file(Path::new(&interpreter))
            .and_then(|()| look_inside(Path::new(&interpreter), depth - 1))
            .map(|_| Some(Suspicion::Script))
            .map_err(|source| ProgramError::Interpreter {
                script: path.to_owned(),
                interpreter: interpreter.to_string_lossy().into_owned(),
                source: Box::new(source),
            });
    }
    match elf::linkage(path, &start)? {
        Linkage::Shared => Ok(None),
        Linkage::OwnCopy => Ok(Some(Suspicion::OwnCopy)),
        Linkage::None => Ok(Some(Suspicion::NotLinked)),
    }
}
