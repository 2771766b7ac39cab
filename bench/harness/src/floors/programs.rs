//! The programs that are run, and what they answer.

use super::Scheme;
use crate::compiler::Compiler;
use crate::prices::{self, Effort, PricesError};
use crate::suite::beginning_with;
use fathomp_process::RunError;
use fathomp_process::guard::Guarded;
use fathomp_toolchain::{self as toolchain, File, Recipe};
use fathomp_types::Ending;
use serde::Deserialize;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Longest start of a program.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// What is compared could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum FloorsError {
    /// A program could not be built, or said nothing of use.
    #[error(transparent)]
    Program(#[from] PricesError),
    /// A program computed something wrong, or another number of pages trapped
    /// than were touched.
    #[error(
        "{count} results of the program {program} were wrong ({group}): nodes do not work here, do not use them"
    )]
    Wrong {
        /// Its name.
        program: &'static str,
        /// How it was run.
        group: String,
        /// How many results.
        count: u64,
    },
    /// A program could not be started on nodes.
    #[error("an empty program did not run as it should: {0}")]
    Start(String),
    /// The kernel does not let a program keep to one processor.
    #[error("cannot keep to one processor: {0}")]
    Bind(#[source] io::Error),
    /// Everything failed.
    #[error("nothing could be measured ({0})")]
    Nothing(String),
}

/// The programs, ready to run.
#[derive(Clone, Debug)]
pub struct Built {
    /// Prices of events.
    pub prices: PathBuf,
    /// Floors.
    pub floors: PathBuf,
    /// A program that is empty or holds an array.
    pub hold: PathBuf,
}

/// Builds the programs, or finds them in `cache`.
///
/// # Errors
/// If one cannot be built.
pub fn build(compiler: &Compiler, cache: &Path) -> Result<Built, FloorsError> {
    let program = |name: &str, flags: &[&str], files: &[&str]| {
        let files = beginning_with(files).map(|source| File {
            path: source.name,
            text: source.text,
        });
        let recipe = Recipe {
            name: name.to_owned(),
            files: files.collect(),
            includes: Vec::new(),
            flags: flags.iter().map(|flag| (*flag).to_owned()).collect(),
            libraries: Vec::new(),
        };
        let built = toolchain::build(&compiler.tool, &recipe, cache);
        built.map(|built| built.path).map_err(PricesError::from)
    };
    let common = [
        "floors/floors.",
        "common/clock.",
        "common/json.",
        "common/pages.",
    ];
    Ok(Built {
        prices: prices::build(compiler, cache)?,
        floors: program("floors", &["-O2"], &common)?,
        hold: program("hold", &["-O2", "-fopenmp"], &["floors/hold."])?,
    })
}

/// Floors, one for each round: in nanoseconds a page, and the last three in
/// nanoseconds each.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Floors {
    /// Pages of which another number trapped than should, and wrong contents.
    pub(super) wrong: u64,
    /// A first write that traps.
    pub(super) write_ns: Vec<f64>,
    /// The same with a copy of the page.
    pub(super) twin_write_ns: Vec<f64>,
    /// A first access that traps, and a page from another process.
    pub(super) fetch_ns: Vec<f64>,
    /// A first write that the kernel records, where it can.
    #[serde(default)]
    pub(super) recorded_ns: Option<Vec<f64>>,
    /// A word to another process and one back.
    pub(super) round_trip_ns: Vec<f64>,
    /// Two processes meet.
    pub(super) barrier_ns: Vec<f64>,
    /// Two processes take turns.
    pub(super) handover_ns: Vec<f64>,
}

/// Runs the program of floors.
pub(super) fn floors(
    program: &mut Command,
    scheme: Scheme,
    effort: Effort,
) -> Result<Floors, FloorsError> {
    let [size, rounds, limit_ms] = effort.arguments();
    let program = program.args([scheme.name(), &size, &rounds, &limit_ms]);
    Ok(prices::ask(program)?)
}

#[derive(Deserialize)]
struct HeldMemory {
    wrong: u64,
    memory_kib: Vec<f64>,
}

/// Memory of the process that has most, of a program with an array of `mib`.
pub(super) fn held_mib(program: &mut Command, mib: u32) -> Result<f64, FloorsError> {
    let held: HeldMemory = prices::ask(program.arg(mib.to_string()))?;
    if held.wrong > 0 {
        return Err(FloorsError::Wrong {
            program: "hold",
            group: "memory".to_owned(),
            count: held.wrong,
        });
    }
    let most = held.memory_kib.into_iter().fold(0.0, f64::max);
    Ok(most / 1024.0)
}

/// Time from the start of an empty program to its end.
pub(super) fn start_ms(program: &mut Command) -> Result<f64, FloorsError> {
    let failed = |what: String| FloorsError::Start(what);
    program.arg("0").stdin(Stdio::null()).stdout(Stdio::null());
    let began = Instant::now();
    let failed_so = |error: io::Error| failed(error.to_string());
    let mut child = Guarded::spawn(program).map_err(failed_so)?;
    let Some(status) = child.wait_within(START_TIMEOUT).map_err(failed_so)? else {
        child.kill();
        return Err(failed(RunError::TimedOut(START_TIMEOUT).to_string()));
    };
    let took = began.elapsed();
    if status.success() {
        Ok(took.as_secs_f64() * 1e3)
    } else {
        Err(failed(Ending::from(status).to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn programs_that_fail_say_why() {
        let said = |script: &str| start_ms(&mut shell(script)).unwrap_err().to_string();
        assert!(said("exit 3").contains("exit code 3"));
        assert!(start_ms(&mut shell("exit 0")).unwrap() > 0.0);
        let held = |script: &str| held_mib(&mut shell(script), 5);
        assert_eq!(
            held("echo '{\"wrong\":0,\"memory_kib\":[1024,3072]}'").unwrap(),
            3.0
        );
        let wrong = held("echo '{\"wrong\":2,\"memory_kib\":[]}'").unwrap_err();
        assert!(wrong.to_string().contains("2 results"), "{wrong}");
        assert!(held("echo no >&2; exit 1").is_err());
    }

    /// The times mean nothing here; that each page trapped once does.
    #[test]
    fn every_page_traps_once() {
        let cache = tempfile::tempdir().unwrap();
        let compiler = Compiler::find("gcc", cache.path()).unwrap();
        let built = build(&compiler, cache.path()).unwrap();
        let effort = Effort {
            size: 16,
            rounds: 3,
            limit: Duration::from_secs(60),
        };
        for scheme in [Scheme::Mprotect, Scheme::Userfault] {
            let said = floors(&mut Command::new(&built.floors), scheme, effort);
            let said = match said {
                Err(FloorsError::Program(PricesError::Ended(why)))
                    if why.contains("this kernel does not watch pages") =>
                {
                    continue;
                }
                said => said.unwrap(),
            };
            assert_eq!(said.wrong, 0, "{scheme:?}");
            let lists = [
                said.write_ns,
                said.twin_write_ns,
                said.fetch_ns,
                said.round_trip_ns,
                said.barrier_ns,
                said.handover_ns,
            ];
            assert!(lists.iter().all(|list| list.len() == 3), "{scheme:?}");
        }
        let mut hold = Command::new(&built.hold);
        let mib = held_mib(hold.env("OMP_NUM_THREADS", "2"), 16).unwrap();
        assert!((16.0..64.0).contains(&mib), "{mib}");
        start_ms(&mut Command::new(&built.hold)).unwrap();
    }
}
