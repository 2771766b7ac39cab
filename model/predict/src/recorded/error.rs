//! Why nothing can be predicted from recordings.

use fathomp_analysis::Taken;
use thiserror::Error;

/// Largest thread count that is taken seriously.
pub const MOST_THREADS: u32 = 65_536;

/// Why nothing can be predicted.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum PredictError {
    /// No recordings.
    #[error("there is no recording to predict from; make one with `fathomp record`")]
    Nothing,
    /// A recording of no length.
    #[error(
        "the recording of {program:?} holds no time at all; record a run that uses OpenMP before predicting from it"
    )]
    Empty {
        /// Which program.
        program: String,
    },
    /// Recordings of different programs.
    #[error(
        "these are recordings of different programs, {first} and {other}; give recordings of one program with different thread counts"
    )]
    Programs {
        /// One.
        first: String,
        /// And the other.
        other: String,
    },
    /// Recordings of different builds.
    #[error(
        "the recordings of {program} have no parallel region in common, as if it had been compiled anew in between; record all thread counts with the same binary"
    )]
    Builds {
        /// Which program.
        program: String,
    },
    /// Other programs took processors from all runs that would tell.
    #[error("{}", disturbed(*threads, taken))]
    Disturbed {
        /// Threads of the run.
        threads: u32,
        /// What was taken from it.
        taken: Taken,
    },
    /// A thread count of nothing.
    #[error("no program runs on 0 threads; ask for 1 or more")]
    ZeroThreads,
    /// A thread count beyond reason.
    #[error("{0} threads are more than any machine has; ask for {max} or fewer", max = MOST_THREADS)]
    TooManyThreads(u32),
}

/// Why runs that others disturbed say nothing about more threads, and what to do.
fn disturbed(threads: u32, taken: &Taken) -> String {
    let part = |fraction: f64| format!("{:.0} %", 100.0 * fraction);
    let used = part(taken.others_used);
    let (threads, whose) = match threads {
        1 => ("1 thread".to_owned(), "its thread"),
        many => (format!("{many} threads"), "its threads"),
    };
    format!(
        "while the program ran with {threads}, other programs used {used} of the processors and {whose} had none for {} of the time in which they could have run, so that these times do not show how it scales; measure when the machine is quiet, on a node of a batch system, or with the other programs under `nice`, or have a study look for quiet moments with --repeat 5",
        part(taken.lacked)
    )
}
