//! The program a user wants to start: found, looked at, refused early if
//! fathomp could not do anything for it.

mod elf;
mod error;
mod find;
mod script;

use elf::Linkage;
pub use elf::{calls, definitions};
pub use error::ProgramError;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// A program that can be started with the runtime library in front.
#[derive(Clone, Debug)]
pub struct Program {
    /// The file that will be executed.
    pub path: PathBuf,
    /// The name as typed, and the arguments.
    pub command: Vec<OsString>,
    /// What to tell the user if no OpenMP construct was seen in the end.
    pub suspicion: Option<Suspicion>,
}

/// Why a program might not use the runtime that was put in front of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suspicion {
    /// It does not name an OpenMP runtime (it may load one later).
    NotLinked,
    /// It is a script, whose programs are not known before it runs.
    Script,
    /// It contains an OpenMP runtime of its own, linked statically.
    OwnCopy,
}

/// Scripts may be interpreted by scripts; the kernel follows four.
const SCRIPT_DEPTH: u32 = 4;

/// Finds and examines the program of a command line.
pub fn examine(command: &[OsString]) -> Result<Program, ProgramError> {
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
    pub fn numbered(&self, index: usize) -> String {
        let name = self.path.file_name().unwrap_or_default();
        format!("{}-{}", index + 1, name.to_string_lossy())
    }

    /// Whether OpenMP may be used by it or by a program that its command line names, as
    /// in `mpirun -n 4 ./solver`. Of scripts that is not known, so they may.
    pub fn may_use_openmp(&self) -> bool {
        match self.suspicion {
            None | Some(Suspicion::Script) => true,
            Some(Suspicion::OwnCopy) => false,
            Some(Suspicion::NotLinked) => {
                let mut named = self.named();
                named.any(|word| matches!(look_inside(word, SCRIPT_DEPTH), Ok(None)))
            }
        }
    }

    /// Whether it contains an OpenMP runtime of its own.
    pub fn has_own_copy(&self) -> bool {
        self.suspicion == Some(Suspicion::OwnCopy)
    }

    /// Whether it is linked with that library.
    pub fn links(&self, library: &Path) -> bool {
        elf::links(&self.path, library)
    }

    /// Whether it is a compiled program that begins MPI by itself, or may start one.
    pub fn may_use_mpi(&self) -> bool {
        self.suspicion == Some(Suspicion::Script) || elf::begins_mpi(&self.path)
    }

    /// Whether it, or a program that its command line names as in `mpirun -n 4 ./solver`, may call
    /// MPI.
    pub fn may_call_mpi(&self) -> bool {
        let script = self.suspicion == Some(Suspicion::Script);
        script || elf::uses_mpi(&self.path) || self.named().any(elf::uses_mpi)
    }

    /// Which words of its command line are programs that use MPI, as the last of `mpirun -n 4
    /// ./solver`, one of each part of `mpirun -n 1 ./first : -n 3 ./others`; none where the launcher
    /// finds programs in some other way.
    pub fn programs_of_mpi(&self) -> Vec<usize> {
        let words = self.command.iter().map(Path::new).enumerate().skip(1);
        let words: Vec<(usize, &Path)> = words.collect();
        let parts = words.split(|(_, word)| *word == Path::new(":"));
        let is_one = |(_, word): &&(usize, &Path)| find::file(word).is_ok() && elf::uses_mpi(word);
        let first = |part: &[(usize, &Path)]| part.iter().find(is_one).map(|(index, _)| *index);
        parts.filter_map(first).collect()
    }

    /// Whether it is what starts the ranks of programs that use MPI.
    pub fn is_launcher_of_mpi(&self) -> bool {
        /// Names, and what versions of them begin with (`mpirun.openmpi`, `mpiexec.hydra`).
        const NAMES: [&str; 5] = ["srun", "orterun", "prterun", "prun", "aprun"];
        const PREFIXES: [&str; 2] = ["mpirun", "mpiexec"];
        let name = self
            .command
            .first()
            .map(Path::new)
            .and_then(Path::file_name);
        let name = name.and_then(OsStr::to_str).unwrap_or_default();
        NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    }

    /// The command line with more words in front of each program that uses MPI: what its launcher
    /// starts instead. The same command line where there is none.
    pub fn with_ranks_behind(&self, words: &[OsString]) -> Self {
        let mut command = self.command.clone();
        for index in self.programs_of_mpi().into_iter().rev() {
            command.splice(index..index, words.iter().cloned());
        }
        Self {
            path: self.path.clone(),
            command,
            suspicion: None,
        }
    }

    /// Programs that its command line names: words that are files which may be executed.
    fn named(&self) -> impl Iterator<Item = &Path> {
        let words = self.command.iter().skip(1).map(Path::new);
        words.filter(|word| find::file(word).is_ok())
    }

    /// Whether it can run on several nodes: what to tell the user if only
    /// programs that it starts can.
    pub fn on_nodes(&self, nodes: u16) -> Result<Option<String>, ProgramError> {
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
