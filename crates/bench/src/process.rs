//! Running a child process that may hang.

use std::io::Read;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// What a child left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Why a child gave no result.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    #[error("it could not be started: {0}")]
    Start(#[source] std::io::Error),
    #[error("it was still running after {0:?} and was stopped")]
    TimedOut(Duration),
}

/// Longest wait between two looks at the child. The first looks come sooner,
/// so that a short child costs little.
const LONGEST_PAUSE: Duration = Duration::from_millis(5);

/// Runs `command` to its end, or kills it after `limit`.
pub(crate) fn run(command: &mut Command, limit: Duration) -> Result<Finished, RunError> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(RunError::Start)?;
    // Both pipes are drained while the child runs: a full pipe would stop it.
    let stdout = drain(child.stdout.take());
    let stderr = drain(child.stderr.take());
    let start = Instant::now();
    let mut pause = Duration::from_micros(200);
    let status = loop {
        match child.try_wait().map_err(RunError::Start)? {
            Some(status) => break status,
            None if start.elapsed() >= limit => {
                // Errors mean that it ended in this moment: nothing to stop.
                let _ = child.kill();
                let _ = child.wait();
                return Err(RunError::TimedOut(limit));
            }
            None => thread::sleep(pause),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    Ok(Finished {
        status,
        stdout: stdout.join().unwrap_or_default(),
        stderr: stderr.join().unwrap_or_default(),
    })
}

fn drain<R: Read + Send + 'static>(pipe: Option<R>) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // What was read before an error is still worth showing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_status_come_back() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo out; echo err >&2; exit 3"]);
        let finished = run(&mut command, Duration::from_secs(20)).unwrap();
        assert_eq!(finished.status.code(), Some(3));
        assert_eq!(finished.stdout, "out\n");
        assert_eq!(finished.stderr, "err\n");
    }

    #[test]
    fn a_hanging_child_is_stopped() {
        let mut command = Command::new("sleep");
        command.arg("600");
        let result = run(&mut command, Duration::from_millis(50));
        assert!(matches!(result, Err(RunError::TimedOut(_))));
    }

    #[test]
    fn a_missing_program_is_an_error() {
        let result = run(
            &mut Command::new("/nonexistent/program"),
            Duration::from_secs(1),
        );
        assert!(matches!(result, Err(RunError::Start(_))));
    }
}
