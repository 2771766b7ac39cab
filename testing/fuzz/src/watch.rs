//! Runs the loop in another process, and makes the input smaller that ends it.

use crate::room;
use crate::run::{PANICKED, Plan, TOO_SLOW};
use crate::target::Target;
use fathomp_types::Ending;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};
use std::{env, fs, io};

/// What making an input smaller may take.
const SHRINKING: Duration = Duration::from_secs(60);

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The other process cannot be started.
    #[error("cannot start the process that reads inputs: {0}")]
    Start(#[from] io::Error),
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

/// An input at which a reader fails.
#[derive(Clone, Debug)]
pub struct Finding {
    /// How: words that are the same if others fail at the same place.
    pub fault: String,
    /// What the process said.
    pub said: String,
    /// The input, as small as it could be made.
    pub input: Vec<u8>,
}

/// Runs a target in a process of its own, or has it read one file there; gives what that
/// process says of it, or what was found.
///
/// # Errors
/// See [`WatchError`].
pub fn watch(
    target: &Target,
    plan: &Plan,
    replay: Option<&Path>,
) -> Result<Result<String, Finding>, WatchError> {
    let room = room::new()?;
    let current = room.path().join("input");
    let file = |path: &Path, source| WatchError::File {
        path: path.to_owned(),
        source,
    };
    let write = |input: &[u8]| fs::write(&current, input).map_err(|error| file(&current, error));
    if let Some(path) = replay {
        write(&fs::read(path).map_err(|error| file(path, error))?)?;
    }
    let start = |alone: bool| process(target, plan, room.path(), alone.then_some(&*current));
    let ended = start(replay.is_some())?;
    let Some(fault) = fault(&ended) else {
        let said = String::from_utf8_lossy(&ended.stdout).trim().to_owned();
        return match ended.status {
            status if status.success() => Ok(Ok(said)),
            status => Err(WatchError::Failed {
                status,
                said: errors(&ended).trim().to_owned(),
            }),
        };
    };
    let mut input = fs::read(&current).map_err(|error| file(&current, error))?;
    // Where it takes too long, each try would take as long again.
    if replay.is_none() && ended.status.code() != Some(TOO_SLOW) {
        input = shrink(&input, |smaller| {
            write(smaller)?;
            Ok::<_, WatchError>(self::fault(&start(true)?).as_ref() == Some(&fault))
        })?;
    }
    let said = errors(&ended);
    Ok(Err(Finding { fault, said, input }))
}

/// The loop in a process of its own, or one input there.
fn process(target: &Target, plan: &Plan, room: &Path, one: Option<&Path>) -> io::Result<Output> {
    let mut command = Command::new(env::current_exe()?);
    command
        // Where a panic was is what tells faults apart; a backtrace takes long and says no more.
        .env("RUST_BACKTRACE", "0")
        .stdin(Stdio::null())
        .arg(target.name)
        .arg("--room")
        .arg(room)
        .arg(format!("--seed={}", plan.seed))
        .arg(format!("--inputs={}", plan.inputs))
        .arg(format!("--seconds={}", plan.time.as_secs_f64()));
    if let Some(input) = one {
        command.arg("--replay").arg(input);
    }
    command.output()
}

fn errors(ended: &Output) -> String {
    String::from_utf8_lossy(&ended.stderr).into_owned()
}

/// How a reader failed there, if one did.
fn fault(ended: &Output) -> Option<String> {
    match Ending::from(ended.status) {
        Ending::Exited(PANICKED) => Some(format!("it panicked at {}", place(&errors(ended)))),
        Ending::Exited(TOO_SLOW) => Some("it took too long".to_owned()),
        Ending::Exited(_) => None,
        signal @ Ending::Signalled(_) => Some(format!(
            "{signal} ended it: the stack or the memory ran out, or worse"
        )),
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
