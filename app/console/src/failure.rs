//! How a command ends when it cannot do its job.

use crate::program::ProgramError;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

/// fathomp's own exit codes, beside those of a program it runs.
pub mod exit {
    /// The job was not done.
    pub const FAILED: u8 = 1;
    /// What was asked for makes no sense.
    pub const USAGE: u8 = 2;
    /// A launching command failed itself; kept apart from what programs
    /// usually return, as `env` and `timeout` do.
    pub const LAUNCHER: u8 = 125;
}

/// One sentence for the user, and the exit code.
#[derive(Debug)]
pub struct Failure {
    /// What happened and what to do about it; empty if a command that this one started has said so.
    pub sentence: String,
    /// Exit code of the command.
    pub code: u8,
}

impl Failure {
    /// The job was not done for this reason.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            code: exit::FAILED,
        }
    }

    /// What a command that this one started has told the user.
    pub fn said(code: u8) -> Self {
        Self {
            sentence: String::new(),
            code,
        }
    }

    /// An output that cannot be written.
    pub fn unwritable(path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!(
            "cannot write {}: {error}: choose another place for it",
            path.display()
        ))
    }

    /// The same failure with another exit code.
    pub fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }
}

/// Whatever a part of fathomp says went wrong. A program that cannot be started has exit codes of
/// its own.
impl<E: Error + 'static> From<E> for Failure {
    fn from(error: E) -> Self {
        let failure = Self::of(&error);
        let error: &dyn Error = &error;
        match error.downcast_ref::<ProgramError>() {
            Some(refused) => failure.with_code(refused.exit_code()),
            None => failure,
        }
    }
}

impl Failure {
    /// Any error of the parts, with its causes unless it speaks of them.
    pub fn of(error: &dyn Error) -> Self {
        let mut sentence = error.to_string();
        let mut cause = error.source();
        while let Some(next) = cause {
            let text = next.to_string();
            if !sentence.contains(&text) {
                // Writing to a String cannot fail.
                let _ = write!(sentence, ": {text}");
            }
            cause = next.source();
        }
        Self::new(sentence)
    }
}

/// What every command returns: the exit code if it did its job.
pub type Outcome = Result<u8, Failure>;
