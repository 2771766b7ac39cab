//! Whether a result is right.

use crate::answer::Answer;

/// Largest relative difference between the checksums of a parallel and the
/// serial run. Parallel sums round differently: by about 1e-16 times the square
/// root of the number of terms, far below this; a lost update, or a race, is
/// far above.
pub const CHECKSUM_TOLERANCE: f64 = 1e-9;

/// Why a result is not right.
#[derive(Clone, Debug, thiserror::Error, PartialEq)]
pub enum Wrong {
    /// The program's own verdict.
    #[error("its own check found the result wrong")]
    OwnCheck,
    /// Not what the serial program computes.
    #[error("its checksum is {parallel:e}, but the serial program's is {serial:e}")]
    Checksum {
        /// Of the run in question.
        parallel: f64,
        /// Of the serial program.
        serial: f64,
    },
    /// Neither a verdict nor anything to compare.
    #[error("it gave neither a verdict nor a finite checksum")]
    Nothing,
    /// What was to be checked did not happen.
    #[error("it ran with {got} instead of {asked} threads: unset OMP_DYNAMIC and OMP_THREAD_LIMIT")]
    Threads {
        /// By the caller.
        asked: u32,
        /// By the program.
        got: u32,
    },
}

/// Judges a run that was to have `threads` threads. `serial` is the checksum of
/// the serial program, needed where the program has no verdict of its own.
///
/// # Errors
/// If the result is wrong or nobody can say.
pub fn check(answer: &Answer, threads: u32, serial: Option<f64>) -> Result<(), Wrong> {
    if answer.threads != threads {
        return Err(Wrong::Threads {
            asked: threads,
            got: answer.threads,
        });
    }
    match (answer.verified, answer.checksum, serial) {
        (Some(true), _, _) => Ok(()),
        (Some(false), _, _) => Err(Wrong::OwnCheck),
        (None, Some(parallel), Some(serial)) => {
            let scale = serial.abs().max(f64::MIN_POSITIVE);
            if (parallel - serial).abs() <= CHECKSUM_TOLERANCE * scale {
                Ok(())
            } else {
                Err(Wrong::Checksum { parallel, serial })
            }
        }
        (None, _, _) => Err(Wrong::Nothing),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(verified: Option<bool>, checksum: Option<f64>) -> Answer {
        Answer {
            suite: "npb".to_owned(),
            workload: "cg".to_owned(),
            size: "S".to_owned(),
            threads: 2,
            iterations: 1,
            seconds: Some(1.0),
            mops_per_s: None,
            checksum,
            verified,
        }
    }

    #[test]
    fn the_program_knows_best() {
        assert_eq!(check(&answer(Some(true), None), 2, None), Ok(()));
        assert_eq!(
            check(&answer(Some(false), Some(1.0)), 2, Some(1.0)),
            Err(Wrong::OwnCheck)
        );
    }

    #[test]
    fn checksums_may_differ_by_rounding_only() {
        let near = 1.0 + 1e-12;
        assert_eq!(check(&answer(None, Some(near)), 2, Some(1.0)), Ok(()));
        assert_eq!(check(&answer(None, Some(0.0)), 2, Some(0.0)), Ok(()));
        for (parallel, serial) in [(1.0 + 1e-7, 1.0), (-1.0, 1.0), (1e-300, 0.0)] {
            let found = check(&answer(None, Some(parallel)), 2, Some(serial));
            assert_eq!(found, Err(Wrong::Checksum { parallel, serial }));
        }
    }

    #[test]
    fn silence_is_not_success() {
        assert_eq!(
            check(&answer(None, None), 2, Some(1.0)),
            Err(Wrong::Nothing)
        );
        assert_eq!(
            check(&answer(None, Some(1.0)), 2, None),
            Err(Wrong::Nothing)
        );
    }

    #[test]
    fn other_threads_than_asked_for_check_nothing() {
        let found = check(&answer(Some(true), None), 4, None);
        assert_eq!(found, Err(Wrong::Threads { asked: 4, got: 2 }));
    }
}
