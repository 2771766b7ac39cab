//! Running a program under callgrind.

use crate::{ParseError, Profile};
use fathomp_process::{Finished, Limits, RunError, run};
use std::ffi::{OsStr, OsString};
use std::io;
use std::process::Command;
use std::time::Duration;

/// A cache to simulate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Simulated {
    /// Bytes, a power of two.
    pub bytes: u64,
    /// Lines of a set.
    pub ways: u32,
}

/// Why there is no profile.
#[derive(Debug, thiserror::Error)]
pub enum JudgeError {
    /// valgrind did not do its work.
    #[error("valgrind ran into trouble: {0}")]
    Run(#[source] RunError),
    /// The program, or valgrind, ended in failure.
    #[error("under valgrind it ended with {}: {}", .0.describe(), last_line(&.0.stderr))]
    Failed(Box<Finished>),
    /// No output of callgrind.
    #[error("callgrind's output cannot be read: {0}")]
    Output(#[source] io::Error),
    /// Not what is expected.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

fn last_line(words: &str) -> &str {
    words
        .lines()
        .rfind(|line| !line.trim().is_empty())
        .unwrap_or("it did not say why")
}

/// Runs a program (its words) with `environment` added, and counts its instructions; with
/// `caches`, of the first level and the last, their misses as well (lines of 64 bytes).
/// What it prints is returned, too.
///
/// # Errors
/// See [`JudgeError`].
pub fn callgrind(
    program: &[impl AsRef<OsStr>],
    environment: &[(&str, &str)],
    caches: Option<(Simulated, Simulated)>,
    time: Duration,
) -> Result<(Profile, Finished), JudgeError> {
    let directory = tempfile::tempdir().map_err(JudgeError::Output)?;
    let output = directory.path().join("callgrind.out");
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--dump-instr=yes", "--error-exitcode=0"]);
    let mut file = OsString::from("--callgrind-out-file=");
    file.push(&output);
    command.arg(file);
    if let Some((first, last)) = caches {
        command.arg("--cache-sim=yes");
        command.arg(format!("--D1={},{},64", first.bytes, first.ways));
        command.arg(format!("--LL={},{},64", last.bytes, last.ways));
    }
    command.args(program).envs(environment.iter().copied());
    let finished = run(
        &mut command,
        Limits {
            time,
            bytes: 256 << 10,
        },
    )
    .map_err(JudgeError::Run)?;
    if !finished.status.success() {
        return Err(JudgeError::Failed(Box::new(finished)));
    }
    let text = std::fs::read_to_string(&output).map_err(JudgeError::Output)?;
    Ok((Profile::parse(&text)?, finished))
}
