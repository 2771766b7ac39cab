//! A process that carries a link: its end, its last words, and how it is ended.

use fathomp_process::{Tail, kill_group};
use fathomp_sys::peer::{PidFd, ends_within};
use fathomp_types::Ending;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

/// How long a process may take to end after its output has.
const EXIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that are kept of what it says.
const SAID_BYTES_MAX: usize = 2 << 10;

/// A child whose standard error is kept. It leads a process group.
#[derive(Clone, Debug)]
pub(crate) struct Process(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    child: Mutex<Child>,
    said: Tail,
    given_up: Mutex<Option<&'static str>>,
}

/// How it came to its end.
#[derive(Debug)]
pub(crate) struct End {
    /// None if it cannot be known.
    pub(crate) status: Option<Ending>,
    /// Its last words, on one line.
    pub(crate) said: String,
    /// Why it was ended from here, if it was.
    pub(crate) given_up: Option<&'static str>,
}

impl Process {
    /// Starts a command as the leader of a process group; gives the ends of its standard input
    /// and output, where they are pipes.
    pub(crate) fn spawn(
        command: &mut Command,
    ) -> io::Result<(Self, Option<ChildStdin>, Option<ChildStdout>)> {
        command.process_group(0);
        let mut child = command.spawn().map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            io::Error::other(format!("cannot start {program}: {error}"))
        })?;
        let (stdin, stdout) = (child.stdin.take(), child.stdout.take());
        let process = Self(Arc::new(Inner {
            said: Tail::start(child.stderr.take(), SAID_BYTES_MAX)?,
            child: Mutex::new(child),
            given_up: Mutex::default(),
        }));
        Ok((process, stdin, stdout))
    }

    /// Its number.
    pub(crate) fn id(&self) -> u32 {
        lock(&self.0.child).id()
    }

    /// Kills it and its process group: for what reason, for the sentence about its end.
    pub(crate) fn give_up(&self, why: &'static str) {
        lock(&self.0.given_up).get_or_insert(why);
        self.kill();
    }

    fn kill(&self) {
        let mut child = lock(&self.0.child);
        // It is not waited for yet, so the number is its own.
        if let Ok(None) = child.try_wait() {
            kill_group(child.id());
        }
    }

    /// Waits for its end, and brings it about if it does not come.
    pub(crate) fn conclude(&self) -> End {
        let id = lock(&self.0.child).id();
        if !matches!(ends_within(id, EXIT_TIMEOUT), Ok(true)) {
            self.kill();
        }
        let status = lock(&self.0.child).wait().ok().map(Ending::from);
        End {
            status,
            said: one_line(&self.0.said.end(EXIT_TIMEOUT)),
            given_up: *lock(&self.0.given_up),
        }
    }
}

/// Has something done when that process ends, which may have ended already.
pub(crate) fn when_ended(number: i32, act: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let watched = u32::try_from(number).ok().map(PidFd::open);
    thread::Builder::new()
        .name("watch".to_owned())
        .spawn(move || {
            if let Some(Ok(watched)) = watched {
                watched.wait();
            }
            act();
        })
        .map(drop)
}

/// A lock whose owner cannot have left it in disorder: all changes are of one step.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn one_line(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let all = lines.collect::<Vec<_>>().join("; ");
    fathomp_types::text::one_line(&all).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Stdio;

    fn shell(script: &str) -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Process::spawn(&mut command).unwrap().0
    }

    #[test]
    fn ends_are_told_with_last_words() {
        let process = shell("printf 'one\\n two\\n' >&2; exit 3");
        let end = process.conclude();
        assert_eq!(end.status, Some(Ending::Exited(3)));
        assert_eq!((end.said.as_str(), end.given_up), ("one; two", None));
    }

    #[test]
    fn what_does_not_end_is_ended() {
        let process = shell("trap '' TERM; sleep 1000");
        process.give_up("enough");
        let end = process.conclude();
        assert_eq!(end.given_up, Some("enough"));
        assert_eq!(end.status, Some(Ending::Signalled(9)));
    }

    #[test]
    fn what_cannot_be_started_is_named() {
        let error = Process::spawn(&mut Command::new("/no/such/thing")).unwrap_err();
        assert!(error.to_string().contains("/no/such/thing"), "{error}");
    }
}
