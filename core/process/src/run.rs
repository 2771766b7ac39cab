//! Running a child process that may hang or talk without end.

use crate::guard::Guarded;
use crate::tail::Tail;
use fathomp_sys::process::without_null;
use fathomp_types::Ending;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

/// What a child may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Longest life.
    pub time: Duration,
    /// Bytes kept of each output stream: the last ones.
    pub bytes: usize,
}

/// What a child left behind.
#[derive(Debug)]
pub struct Finished {
    /// How it ended.
    pub status: ExitStatus,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Finished {
    /// The end in words: "exit code 3", "signal 11 (SIGSEGV)".
    #[must_use]
    pub fn describe(&self) -> String {
        Ending::from(self.status).to_string()
    }
}

/// Why a child gave no result.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// It is not there, or not a program.
    #[error("it could not be started: {0}{lacking}", lacking = without_null(.0))]
    Start(#[source] std::io::Error),
    /// It was stopped.
    #[error("it was still running after {} s and was stopped", .0.as_secs_f64())]
    TimedOut(Duration),
}

/// How long a pipe may stay open after the child's end: somebody that the child
/// left running may hold it.
const OUTPUT_END_TIMEOUT: Duration = Duration::from_secs(1);

/// Runs `command` without standard input to its end, or kills it at the limit.
///
/// The child stays in the process group of the caller: what the user's
/// terminal sends (Ctrl-C) reaches both.
///
/// # Errors
/// See [`RunError`].
pub fn run(command: &mut Command, limits: Limits) -> Result<Finished, RunError> {
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = Guarded::spawn(command).map_err(RunError::Start)?;
    let stdout = Tail::start(child.child.stdout.take(), limits.bytes).map_err(RunError::Start)?;
    let stderr = Tail::start(child.child.stderr.take(), limits.bytes).map_err(RunError::Start)?;
    let ended = child.wait_within(limits.time).map_err(RunError::Start)?;
    let Some(status) = ended else {
        child.kill();
        return Err(RunError::TimedOut(limits.time));
    };
    let text = |output: Tail| {
        let bytes = output.end(OUTPUT_END_TIMEOUT);
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok(Finished {
        status,
        stdout: text(stdout),
        stderr: text(stderr),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;
    use std::time::Instant;

    const LIMITS: Limits = Limits {
        time: Duration::from_secs(20),
        bytes: 100,
    };

    fn shell(script: &str, limits: Limits) -> Result<Finished, RunError> {
        run(Command::new("sh").args(["-c", script]), limits)
    }

    #[test]
    fn output_and_status_come_back() {
        let finished = shell("echo out; echo err >&2; exit 3", LIMITS).unwrap();
        assert_eq!(finished.describe(), "exit code 3");
        assert_eq!(finished.stdout, "out\n");
        assert_eq!(finished.stderr, "err\n");
        let killed = shell("kill -11 $$", LIMITS).unwrap();
        assert_eq!(killed.describe(), "signal 11 (SIGSEGV)");
    }

    #[test]
    fn the_end_of_a_long_output_is_kept() {
        let finished = shell("head -c 1000000 /dev/zero; echo last", LIMITS).unwrap();
        assert!(finished.stdout.ends_with("last\n"));
        assert!(finished.stdout.len() <= LIMITS.bytes);
    }

    #[test]
    fn a_hanging_child_is_stopped() {
        let short = Limits {
            time: Duration::from_millis(50),
            ..LIMITS
        };
        let error = shell("exec sleep 600", short).unwrap_err();
        assert!(matches!(error, RunError::TimedOut(_)));
    }

    #[test]
    fn a_grandchild_left_behind_does_not_hold_us_up() {
        let finished = shell("sleep 20 & echo said", LIMITS).unwrap();
        assert_eq!(finished.stdout, "said\n");
    }

    #[test]
    fn a_grandchild_that_talks_without_end_is_not_listened_to_for_ever() {
        let directory = tempfile::tempdir().unwrap();
        let ended = directory.path().join("ended");
        let short = Limits {
            time: Duration::from_millis(50),
            ..LIMITS
        };
        // The inner shell outlives the outer one, which is killed.
        let script = format!("(yes; : >{}) & wait", ended.display());
        let error = shell(&script, short).unwrap_err();
        assert!(matches!(error, RunError::TimedOut(_)));
        let start = Instant::now();
        while !ended.exists() {
            assert!(start.elapsed() < LIMITS.time, "it still talks");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let error = run(&mut Command::new("/nonexistent/program"), LIMITS).unwrap_err();
        assert!(matches!(error, RunError::Start(_)));
    }
}
