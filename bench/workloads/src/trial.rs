//! One run of a built workload.

use crate::answer::{Answer, AnswerError, last_line, quotable};
use fathomp_launch::{Inherit, Plan};
use fathomp_process::{self as process, Finished, Limits, RunError};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// More than any workload prints; what comes beyond is not kept.
pub(crate) const OUTPUT_BYTES: usize = 1 << 20;

/// The runtime that answers a program's OpenMP calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Runtime {
    /// For tables.
    pub name: String,
    /// What the program and it are told, beside the number of threads. A library that is
    /// preloaded comes in front of the one the program was linked with.
    pub plan: Plan,
}

impl Runtime {
    /// What programs were linked with, if anything.
    #[must_use]
    pub fn linked(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            plan: Plan::default(),
        }
    }
}

/// A run to be made.
#[derive(Clone, Copy, Debug)]
pub struct Trial<'a> {
    /// The built workload.
    pub program: &'a Path,
    /// Its arguments.
    pub arguments: &'a [String],
    /// The runtime that answers its OpenMP calls.
    pub runtime: &'a Runtime,
    /// Number of threads it is asked to use, in all processes together.
    pub threads: u32,
    /// Longest time it may take.
    pub limit: Duration,
}

/// A run without a result.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// It did not start or did not end.
    #[error(transparent)]
    Run(#[from] RunError),
    /// It ended badly.
    #[error("it ended with {how}{}", said(.words))]
    Ended {
        /// Exit code or signal.
        how: String,
        /// Its last words on stderr, or nothing.
        words: String,
    },
    /// It ended well but did not say what workloads say.
    #[error(transparent)]
    Answer(#[from] AnswerError),
}

fn said(words: &str) -> String {
    if words.is_empty() {
        String::new()
    } else {
        format!(" and the words \"{words}\"")
    }
}

impl Trial<'_> {
    /// Makes the run.
    ///
    /// # Errors
    /// See [`TrialError`]; a wrong result is no error here.
    pub fn run(&self) -> Result<Answer, TrialError> {
        let mut plan = self.runtime.plan.clone();
        plan.openmp.threads = Some(self.threads);
        let mut command = Command::new(self.program);
        command.args(self.arguments);
        // The comparison of runtimes is void if another one slips in.
        plan.apply(&mut command, Inherit::NotPreloaded);
        let limits = Limits {
            time: self.limit,
            bytes: OUTPUT_BYTES,
        };
        read(&process::run(&mut command, limits)?)
    }
}

/// A program that found its result wrong says so and exits with 1.
fn read(finished: &Finished) -> Result<Answer, TrialError> {
    const WRONG: i32 = 1;
    let answer = last_line::<Answer>(&finished.stdout);
    match (finished.status.code(), answer) {
        (Some(0), answer) => Ok(answer?),
        (Some(WRONG), Ok(answer)) if answer.verified == Some(false) => Ok(answer),
        _ => Err(TrialError::Ended {
            how: finished.describe(),
            words: quotable(finished.stderr.trim_end().lines().next_back().unwrap_or("")),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Result<Answer, TrialError> {
        let arguments = ["-c".to_owned(), script.to_owned()];
        let trial = Trial {
            program: Path::new("/bin/sh"),
            arguments: &arguments,
            runtime: &Runtime::linked("system"),
            threads: 3,
            limit: Duration::from_secs(20),
        };
        trial.run()
    }

    fn line(verified: &str) -> String {
        format!(
            "echo '{{\"suite\":\"s\",\"workload\":\"w\",\"size\":\"S\",\"threads\":'$OMP_NUM_THREADS',\"iterations\":1,\"seconds\":1,\"mops_per_s\":null,\"checksum\":2,\"verified\":{verified}}}'"
        )
    }

    #[test]
    fn the_number_of_threads_arrives() {
        let answer = shell(&line("true")).unwrap();
        assert_eq!((answer.threads, answer.checksum), (3, Some(2.0)));
    }

    #[test]
    fn a_wrong_result_is_a_result() {
        let answer = shell(&format!("{}; exit 1", line("false"))).unwrap();
        assert_eq!(answer.verified, Some(false));
    }

    #[test]
    fn a_bad_end_counts_more_than_good_words() {
        for end in ["exit 1", "exit 2", "kill -SEGV $$"] {
            let error = shell(&format!("{}; echo why >&2; {end}", line("true"))).unwrap_err();
            assert!(matches!(error, TrialError::Ended { .. }), "{end}");
            assert!(error.to_string().contains("\"why\""), "{error}");
        }
    }

    #[test]
    fn garbage_is_no_result() {
        let error = shell("echo hello").unwrap_err();
        assert!(matches!(error, TrialError::Answer(_)));
    }
}
