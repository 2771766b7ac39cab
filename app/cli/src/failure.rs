//! How a command ends when it cannot do its job.

use crate::program::ProgramError;
use std::error::Error;
use std::fmt::Write as _;
use std::path::Path;

/// fathomp's own exit codes, beside those of a program it runs.
pub(crate) mod exit {
    /// The job was not done.
    pub(crate) const FAILED: u8 = 1;
    /// What was asked for makes no sense.
    pub(crate) const USAGE: u8 = 2;
    /// A launching command failed itself; kept apart from what programs
    /// usually return, as `env` and `timeout` do.
    pub(crate) const LAUNCHER: u8 = 125;
    /// Added to the number of the signal that ended a program.
    pub(crate) const SIGNAL: u8 = 128;
}

/// One sentence for the user, and the exit code.
#[derive(Debug)]
pub(crate) struct Failure {
    /// What happened and what to do about it; empty if a command that this one started has said so.
    pub(crate) sentence: String,
    /// Exit code of the command.
    pub(crate) code: u8,
}

impl Failure {
    /// The job was not done for this reason.
    pub(crate) fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            code: exit::FAILED,
        }
    }

    /// What a command that this one started has told the user.
    pub(crate) fn said(code: u8) -> Self {
        Self {
            sentence: String::new(),
            code,
        }
    }

    /// An output that cannot be written.
    pub(crate) fn unwritable(path: &Path, error: &std::io::Error) -> Self {
        Self::new(format!(
            "cannot write {}: {error}: choose another place for it",
            path.display()
        ))
    }

    /// The same failure with another exit code.
    pub(crate) fn with_code(mut self, code: u8) -> Self {
        self.code = code;
        self
    }
}

/// A program that cannot be started has exit codes of its own.
impl From<ProgramError> for Failure {
    fn from(error: ProgramError) -> Self {
        Self::of(&error).with_code(error.exit_code())
    }
}

macro_rules! failure_from {
    ($($error:ty),* $(,)?) => {
        $(impl From<$error> for Failure {
            fn from(error: $error) -> Self {
                Self::of(&error)
            }
        })*
    };
}
failure_from!(
    crate::calibrate::ClusterError,
    crate::calibrate::ProbeError,
    crate::launch::LaunchError,
    crate::paging::GroupError,
    crate::paging::MemoryError,
    crate::paging::SessionError,
    crate::share::ShareError,
    fathomp_collector::HostError,
    fathomp_paging::SelectionError,
    fathomp_bench::floors::FloorsError,
    fathomp_bench::read::ReadError,
    fathomp_bench::run::PlanError,
    fathomp_bench::runtime::RuntimeError,
    fathomp_bench::suite::BuildError,
    fathomp_report::PageError,
    fathomp_runtime::UnpackError,
    fathomp_toolchain::BuildError,
    fathomp_toolchain::CompilerError,
    fathomp_trace::drain::DrainError,
    fathomp_trace::reader::OpenError,
    fathomp_trace::writer::CreateError,
    fathomp_trace::writer::FinishError,
    serde_json::Error,
    std::fmt::Error,
);

impl Failure {
    /// Any error of the parts, with its causes unless it speaks of them.
    pub(crate) fn of(error: &dyn Error) -> Self {
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
pub(crate) type Outcome = Result<u8, Failure>;
