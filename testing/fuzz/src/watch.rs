//! Runs the loop in another process, and makes the input smaller that ends it.

use crate::room;
use crate::run::{PANICKED, Plan, TOO_SLOW};
use crate::target::Target;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{env, fmt, fs, io};

/// What making an input smaller may take.
const SHRINKING: Duration = Duration::from_secs(60);

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The other process cannot be started.
    #[error("cannot start the process that reads inputs: {0}")]
    Start(#[source] io::Error),
    /// A file cannot be written or read.
    #[error("cannot use {}: {source}: check the space and the permissions there", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The process ended for a reason that has nothing to do with inputs.
    #[error("the process that reads inputs failed ({status}): {said}")]
    Failed {
        /// How it ended.
        status: ExitStatus,
        /// What it said last.
        said: String,
    },
}

/// How a process ended in which a reader failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It panicked there (`file:line:column`).
    Panic(String),
    /// It took too long.
    Slow,
    /// A signal ended it: the stack or the memory ran out, or something worse.
    Signal(i32),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Panic(place) => write!(f, "it panicked at {place}"),
            Self::Slow => f.write_str("it took too long"),
            Self::Signal(signal) => write!(
                f,
                "signal {signal} ended it: the stack or the memory ran out, or worse"
            ),
        }
    }
}

/// An input at which a reader fails.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What happened.
    pub fault: Fault,
    /// What the process said.
    pub said: String,
    /// The input, as small as it could be made.
    pub input: Vec<u8>,
}

/// What came of a run.
#[derive(Debug)]
pub enum Outcome {
    /// Nothing was found; the line says what was done.
    Clean(String),
    /// Something was.
    Found(Box<Finding>),
}

/// Runs a target in a process of its own.
///
/// # Errors
/// See [`WatchError`].
pub fn watch(target: &Target, plan: Plan) -> Result<Outcome, WatchError> {
    let room = room::new().map_err(WatchError::Start)?;
    let current = room.path().join("input");
    let child = || {
        let mut command = itself()?;
        command
            .arg("--loop")
            .arg(&current)
            .arg(target.name)
            .args(["--seed", &plan.seed.to_string()])
            .args(["--inputs", &plan.inputs.to_string()])
            .args(["--seconds", &plan.time.as_secs_f64().to_string()]);
        command.output()
    };
    let ended = child().map_err(WatchError::Start)?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    if ended.status.success() {
        let line = String::from_utf8_lossy(&ended.stdout);
        return Ok(Outcome::Clean(line.trim().to_owned()));
    }
    let Some(fault) = fault(ended.status, &said) else {
        return Err(WatchError::Failed {
            status: ended.status,
            said: said.trim().to_owned(),
        });
    };
    let input = read(&current)?;
    let input = match fault {
        // Each try would take as long again.
        Fault::Slow => input,
        _ => shrink(&input, |smaller| {
            fs::write(&current, smaller).map_err(|source| WatchError::File {
                path: current.clone(),
                source,
            })?;
            Ok(replay(target, &current)?.is_some_and(|(other, _)| other == fault))
        })?,
    };
    Ok(Outcome::Found(Box::new(Finding { fault, said, input })))
}

/// Has the input in a file read, in a process of its own: how it failed and what it said, if
/// it did.
///
/// # Errors
/// See [`WatchError`].
pub fn replay(target: &Target, input: &Path) -> Result<Option<(Fault, String)>, WatchError> {
    let ended = itself()
        .and_then(|mut command| command.arg("--once").arg(input).arg(target.name).output())
        .map_err(WatchError::Start)?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    Ok(fault(ended.status, &said).map(|fault| (fault, said)))
}

fn itself() -> io::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    // Where a panic was is what tells faults apart; a backtrace takes long and says no more.
    command.env("RUST_BACKTRACE", "0").stdin(Stdio::null());
    Ok(command)
}

fn read(path: &Path) -> Result<Vec<u8>, WatchError> {
    fs::read(path).map_err(|source| WatchError::File {
        path: path.to_owned(),
        source,
    })
}

fn fault(status: ExitStatus, said: &str) -> Option<Fault> {
    match (status.code(), status.signal()) {
        (Some(PANICKED), _) => Some(Fault::Panic(place(said))),
        (Some(TOO_SLOW), _) => Some(Fault::Slow),
        (_, Some(signal)) => Some(Fault::Signal(signal)),
        _ => None,
    }
}

/// Where the first panic was.
fn place(said: &str) -> String {
    let place = said
        .lines()
        .find_map(|line| line.split_once(" panicked at "))
        .map_or("an unknown place", |(_, place)| place);
    place.trim_end_matches(':').to_owned()
}

/// Makes an input smaller as long as it fails in the same way: leaves out halves, quarters,
/// and so on (A. Zeller, R. Hildebrandt, "Simplifying and isolating failure-inducing input",
/// IEEE TSE 28(2), 2002).
fn shrink<E>(input: &[u8], mut fails: impl FnMut(&[u8]) -> Result<bool, E>) -> Result<Vec<u8>, E> {
    let end = Instant::now() + SHRINKING;
    let mut smallest = input.to_vec();
    let mut piece = smallest.len().div_ceil(2);
    while piece > 0 {
        let mut at = 0;
        let mut shrank = false;
        while at < smallest.len() && Instant::now() < end {
            let mut smaller = smallest.clone();
            smaller.drain(at..(at + piece).min(smallest.len()));
            if fails(&smaller)? {
                smallest = smaller;
                shrank = true;
            } else {
                at += piece;
            }
        }
        if Instant::now() >= end {
            break;
        }
        if !(shrank && piece == 1) {
            piece /= 2;
        }
    }
    Ok(smallest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_matter_is_left_out() {
        let input = b"some text with an X in it, and another Y behind";
        let fails = |input: &[u8]| Ok::<_, ()>(input.contains(&b'X') && input.contains(&b'Y'));
        assert_eq!(shrink(input, fails), Ok(b"XY".to_vec()));
        assert_eq!(shrink(b"abc", |_| Ok::<_, ()>(false)), Ok(b"abc".to_vec()));
        assert_eq!(shrink(b"", |_| Ok::<_, ()>(true)), Ok(Vec::new()));
    }

    #[test]
    fn the_place_of_a_panic_is_found() {
        let said =
            "\nthread 'main' (12) panicked at crates/x/src/lib.rs:3:5:\nindex out of bounds\n";
        assert_eq!(place(said), "crates/x/src/lib.rs:3:5");
        assert_eq!(place("killed"), "an unknown place");
    }
}
