//! The loop: takes an input, changes it, has it read, keeps it if something new was said.
//!
//! It runs in a process of its own ([`watch`](crate::watch)), which ends at the first fault.
//! The input that is being read lies in a file, so that it is known whatever ends the process:
//! a panic, a stack overflow, memory, a limit of time.

use crate::random::Random;
use crate::target::{Said, Target};
use fathomp_sys::clock;
use nix::sys::resource::{Resource, setrlimit};
use std::collections::HashSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Exit code of a process in which a reader panicked, as the language has it.
pub const PANICKED: i32 = 101;
/// Exit code of a process in which a reader took too long.
pub const TOO_SLOW: i32 = 102;
/// What one input may take where other programs take time as well.
const SLOW_S: u64 = 20;
/// Address space of the process. A reader that believes a length in an input asks for more.
const MEMORY_BYTES: u64 = 4 << 30;
/// Inputs that are kept to be changed further, at most.
const KEPT_MAX: usize = 4_096;
/// Inputs are at most so long, or twice as long as the longest that the target begins with.
const INPUT_BYTES_MAX: usize = 64 << 10;

/// From where a run begins, and how long it goes on: until the first of its limits.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Plan {
    /// Time for each target.
    #[arg(long = "seconds", value_name = "S", default_value = "60", value_parser = seconds)]
    pub time: Duration,
    /// Inputs for each target [default: as many as the time allows].
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    pub inputs: u64,
    /// Seed from which all inputs follow [default: the time].
    #[arg(long, default_value_t = clock::unix_ns() / 1_000_000_000, hide_default_value = true)]
    pub seed: u64,
}

/// Seconds, in decimals.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

/// What a run did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Done {
    /// Inputs that were read.
    pub inputs: u64,
    /// Different things that were said of them.
    pub said: usize,
}

/// Limits this process, and ends it when an input takes too long.
///
/// # Errors
/// If the system refuses the limit.
pub fn limit() -> io::Result<()> {
    setrlimit(Resource::RLIMIT_AS, MEMORY_BYTES, MEMORY_BYTES)?;
    thread::Builder::new()
        .name("watchdog".to_owned())
        .spawn(|| {
            let mut last = (0, Instant::now());
            loop {
                thread::sleep(Duration::from_secs(1));
                let now = STARTED.load(Ordering::Relaxed);
                if now == 0 || now != last.0 {
                    last = (now, Instant::now());
                } else if last.1.elapsed() > Duration::from_secs(SLOW_S) {
                    eprintln!("reading took more than {SLOW_S} s");
                    std::process::exit(TOO_SLOW);
                }
            }
        })?;
    Ok(())
}

/// Inputs that were begun with; 0 between two of them.
static STARTED: AtomicU64 = AtomicU64::new(0);

/// Has one input read under the eyes of the watchdog.
pub fn one(target: &Target, input: &[u8], number: u64) -> Said {
    STARTED.store(number + 1, Ordering::Relaxed);
    let said = (target.read)(input);
    STARTED.store(0, Ordering::Relaxed);
    said
}

/// Runs a target. `note` keeps each input before it is read.
///
/// # Errors
/// If that fails.
pub fn run(
    target: &Target,
    regressions: &[Vec<u8>],
    plan: &Plan,
    mut note: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<Done> {
    let end = Instant::now() + plan.time;
    let mut random = Random::new(plan.seed);
    let mut kept = (target.seeds)();
    kept.extend_from_slice(regressions);
    kept.push(Vec::new());
    let longest = kept.iter().map(Vec::len).max().unwrap_or(0);
    let bytes_max = INPUT_BYTES_MAX.max(2 * longest);
    let mut said = HashSet::new();
    let mut inputs = 0;
    for input in &kept {
        note(input)?;
        said.insert(one(target, input, inputs));
        inputs += 1;
    }
    let mut input = Vec::new();
    while inputs < plan.inputs && Instant::now() < end {
        input.clear();
        input.extend_from_slice(random.one_of(&kept).map_or(&[][..], |kept| kept));
        target.change(&mut input, &kept, &mut random);
        input.truncate(bytes_max);
        note(&input)?;
        let new = said.insert(one(target, &input, inputs));
        inputs += 1;
        if new && kept.len() < KEPT_MAX {
            kept.push(input.clone());
        }
    }
    Ok(Done {
        inputs,
        said: said.len(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::Shape;

    /// Says how many of the first bytes are those of a word.
    fn guess(input: &[u8]) -> Said {
        let same = input
            .iter()
            .zip(b"fathom")
            .take_while(|(one, other)| one == other);
        Said::read(same.count())
    }

    #[test]
    fn inputs_of_which_something_new_is_said_lead_further() {
        let target = Target {
            name: "guess",
            what: "a word",
            shape: Shape::Bytes,
            seeds: Vec::new,
            read: guess,
        };
        let plan = Plan {
            seed: 1,
            inputs: 200_000,
            time: Duration::from_secs(600),
        };
        let done = run(&target, &[], &plan, |_| Ok(())).unwrap();
        // By chance alone, one of 256 inputs has the first letter, and of those one of 256
        // the next.
        assert!(done.said >= 4, "{done:?}");
        let few = Plan {
            inputs: 100,
            ..plan
        };
        assert_eq!(run(&target, &[], &few, |_| Ok(())).unwrap().inputs, 100);
    }
}
