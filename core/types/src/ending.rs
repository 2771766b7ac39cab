//! How processes end.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::process::ExitStatus;

/// How a process ended; shown as "exit code 3" or "signal 11 (SIGSEGV)".
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// It left with this exit code.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
}

impl Ending {
    /// Signals by which somebody asks a program to stop.
    pub const STOPPING: [i32; 4] = [1, 2, 3, 15];

    /// By writing to a pipe that nobody reads any more, which is how programs end whose
    /// reader has had enough.
    pub const BROKEN_PIPE: Self = Self::Signalled(13);

    /// What a process did: "ended with exit code 3", "was killed by signal 9 (SIGKILL)".
    #[must_use]
    pub fn predicate(self) -> String {
        match self {
            Self::Exited(_) => format!("ended with {self}"),
            Self::Signalled(_) => format!("was killed by {self}"),
        }
    }

    /// The exit code a shell would show.
    #[must_use]
    pub fn shell_code(self) -> u8 {
        /// What a shell adds to the number of a signal.
        const SIGNAL: u8 = 128;
        match self {
            // The kernel passes on eight bits.
            Self::Exited(code) => (code & 0xff) as u8,
            Self::Signalled(number) => SIGNAL.saturating_add(u8::try_from(number).unwrap_or(0)),
        }
    }
}

#[cfg(unix)]
impl From<ExitStatus> for Ending {
    /// A status that `wait` gave: of a process that was stopped there is none.
    fn from(status: ExitStatus) -> Self {
        use std::os::unix::process::ExitStatusExt as _;
        match status.signal() {
            Some(number) => Self::Signalled(number),
            None => Self::Exited(status.code().unwrap_or_default()),
        }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit code {code}"),
            Self::Signalled(number) => match name(*number) {
                Some(name) => write!(f, "signal {number} ({name})"),
                None => write!(f, "signal {number}"),
            },
        }
    }
}

/// The name of a signal, with Linux's numbers on x86-64; those for real time have none.
fn name(number: i32) -> Option<&'static str> {
    const NAMES: [&str; 31] = [
        "SIGHUP",
        "SIGINT",
        "SIGQUIT",
        "SIGILL",
        "SIGTRAP",
        "SIGABRT",
        "SIGBUS",
        "SIGFPE",
        "SIGKILL",
        "SIGUSR1",
        "SIGSEGV",
        "SIGUSR2",
        "SIGPIPE",
        "SIGALRM",
        "SIGTERM",
        "SIGSTKFLT",
        "SIGCHLD",
        "SIGCONT",
        "SIGSTOP",
        "SIGTSTP",
        "SIGTTIN",
        "SIGTTOU",
        "SIGURG",
        "SIGXCPU",
        "SIGXFSZ",
        "SIGVTALRM",
        "SIGPROF",
        "SIGWINCH",
        "SIGIO",
        "SIGPWR",
        "SIGSYS",
    ];
    let place = usize::try_from(number).ok()?.checked_sub(1)?;
    NAMES.get(place).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_named_as_people_know_them() {
        for (ending, shown, code) in [
            (Ending::Exited(3), "exit code 3", 3),
            (Ending::Exited(256 + 7), "exit code 263", 7),
            (Ending::Signalled(11), "signal 11 (SIGSEGV)", 139),
            (Ending::Signalled(31), "signal 31 (SIGSYS)", 159),
            (Ending::Signalled(34), "signal 34", 162),
            (Ending::Signalled(0), "signal 0", 128),
            (Ending::Signalled(-1), "signal -1", 128),
        ] {
            assert_eq!(ending.to_string(), shown);
            assert_eq!(ending.shell_code(), code, "{shown}");
        }
    }
}
