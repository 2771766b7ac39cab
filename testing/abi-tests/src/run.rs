//! Running one process to its end, or stopping it and all it started.

use crate::threads;
use fathomp_process::{Tail, kill_group};
use fathomp_sys::peer::ends_within;
use fathomp_types::Ending;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// What a process may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Longest life.
    pub time: Duration,
    /// Bytes kept of each output stream: the last ones.
    pub bytes: usize,
}

/// How a process ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ended {
    /// By an exit code or a signal.
    pub ending: Ending,
    /// True if it was stopped for running too long.
    pub timed_out: bool,
    /// What its threads were at then.
    pub threads: Vec<String>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ended {
    /// The end in words.
    #[must_use]
    pub fn describe(&self) -> String {
        match (self.timed_out, self.ending) {
            (true, _) => "it did not end in time and was stopped".to_owned(),
            (false, Ending::Exited(0)) => "it ended well".to_owned(),
            (false, ending) => format!("it {}", ending.predicate()),
        }
    }
}

/// Runs `command` in a process group of its own, within `limits`.
///
/// # Errors
/// If it cannot be started.
pub fn run(command: &mut Command, limits: Limits) -> io::Result<Ended> {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()?;
    let stdout = Tail::start(child.stdout.take(), limits.bytes)?;
    let stderr = Tail::start(child.stderr.take(), limits.bytes)?;
    let in_time = ends_within(child.id(), limits.time)?;
    let mut at = Vec::new();
    if !in_time {
        at = threads::of_group(child.id());
        kill_group(child.id());
    }
    let status = child.wait()?;
    // Whatever it left running would keep the pipes open.
    kill_group(child.id());
    let text = |output: &Tail| String::from_utf8_lossy(&output.end(limits.time)).into_owned();
    Ok(Ended {
        ending: Ending::from(status),
        timed_out: !in_time,
        threads: at,
        stdout: text(&stdout),
        stderr: text(&stderr),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits {
        time: Duration::from_secs(20),
        bytes: 100,
    };

    fn shell(script: &str, limits: Limits) -> Ended {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        run(&mut command, limits).unwrap()
    }

    #[test]
    fn code_signal_and_output_are_told() {
        let ended = shell("echo out; echo err >&2; exit 4", LIMITS);
        assert_eq!(ended.ending, Ending::Exited(4));
        assert_eq!(
            (ended.stdout.as_str(), ended.stderr.as_str()),
            ("out\n", "err\n")
        );
        let killed = shell("kill -11 $$", LIMITS);
        assert_eq!(killed.ending, Ending::Signalled(11));
    }

    #[test]
    fn output_is_bounded() {
        let ended = shell("head -c 1000000 /dev/zero", LIMITS);
        assert_eq!((ended.ending, ended.stdout.len()), (Ending::Exited(0), 100));
    }

    #[test]
    fn a_process_and_its_children_are_stopped() {
        let short = Limits {
            time: Duration::from_millis(100),
            ..LIMITS
        };
        let ended = shell("sleep 600 & sleep 600", short);
        assert!(ended.timed_out);
        assert_eq!(ended.ending, Ending::Signalled(9));
        assert!(!ended.threads.is_empty());
    }

    #[test]
    fn a_child_left_behind_does_not_hold_the_test_up() {
        let ended = shell("sleep 600 & exit 0", LIMITS);
        assert_eq!(ended.ending, Ending::Exited(0));
        assert!(!ended.timed_out);
    }
}
