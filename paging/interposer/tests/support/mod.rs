//! Programs under the interposer, and what they left.

pub(crate) mod feed;

use fathomp_launch::names::PAGING;
use fathomp_paging::setup::Setup;
use feed::Process;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{LazyLock, Mutex, PoisonError};
use tempfile::TempDir;

/// Where the interposer, compiled programs and their files lie until the tests end.
static ROOM: LazyLock<TempDir> = LazyLock::new(|| {
    // Its name must not make the libraries in it look like MPI's.
    let room = tempfile::Builder::new().prefix("mpi-").tempdir().unwrap();
    fs::write(
        room.path().join("libfathomp-paging.so"),
        fathomp_runtime::interposer().unwrap(),
    )
    .unwrap();
    room
});

/// One test compiles at a time, since some need the same program.
static COMPILING: Mutex<()> = Mutex::new(());

/// The interposer.
pub(crate) fn library() -> PathBuf {
    ROOM.path().join("libfathomp-paging.so")
}

/// A fresh folder.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(ROOM.path()).unwrap()
}

/// Where the sources of the programs lie.
pub(crate) fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs")
}

/// Compiles a program of `tests/programs`; `options` may name libraries.
pub(crate) fn compile(compiler: &str, source: &str, options: &[&str]) -> PathBuf {
    let stem = source.replace('.', "-") + &options.concat().replace(['/', ' ', '='], "-");
    let output = ROOM.path().join(stem);
    // Another test may run it meanwhile: what is there is not written again.
    let _alone = COMPILING.lock().unwrap_or_else(PoisonError::into_inner);
    if output.exists() {
        return output;
    }
    let mut command = Command::new(compiler);
    command
        .args(["-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-o"])
        .arg(&output)
        .arg(sources().join(source))
        .arg("-I")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"))
        .args(options);
    let made = command.output().unwrap();
    let said = String::from_utf8_lossy(&made.stderr);
    assert!(made.status.success(), "{source} does not compile: {said}");
    output
}

/// A C program of `tests/programs`.
pub(crate) fn program(source: &str) -> PathBuf {
    compile("cc", source, &["-ldl"])
}

/// What a program did.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) output: Output,
    pub(crate) processes: Vec<Process>,
}

/// Runs a command under the interposer and reads what it left.
pub(crate) fn record(command: &mut Command) -> Run {
    let live = folder();
    // Nobody empties the rings meanwhile.
    let setup = Setup {
        ring_bytes: 32 << 20,
        ..Setup::default()
    };
    setup.write(live.path()).unwrap();
    let output = under_interposer(command, live.path());
    Run {
        output,
        processes: feed::processes(live.path()),
    }
}

/// Runs a command with the interposer loaded and that live directory.
pub(crate) fn under_interposer(command: &mut Command, live: &Path) -> Output {
    command
        .env("LD_PRELOAD", library())
        .env(PAGING.name, live)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

impl Run {
    /// The run, if the program says that all is well.
    #[track_caller]
    pub(crate) fn ok(self) -> Self {
        let output = &self.output;
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{:?}: {said}", output.status);
        self
    }

    /// The only process.
    #[track_caller]
    pub(crate) fn one(&self) -> &Process {
        assert_eq!(self.processes.len(), 1, "{:#?}", self.processes);
        &self.processes[0]
    }

    /// The processes of that program, in the order of their beginning.
    pub(crate) fn of(&self, program: &str) -> Vec<&Process> {
        let all = self.processes.iter();
        all.filter(|process| process.facts.program == program)
            .collect()
    }
}

impl Process {
    /// The share of the calls that were made which were seen, in percent, leaving aside so
    /// many which the C library made by itself.
    #[track_caller]
    pub(crate) fn coverage_percent(&self, aside: u64) -> u64 {
        let end = self.facts.end.expect("the process said that it ends");
        let made = end.io_calls_made.expect("the kernel counts calls");
        assert!(end.io_calls_seen <= made, "{end:?}");
        end.io_calls_seen * 100 / made.saturating_sub(aside).max(1)
    }
}
