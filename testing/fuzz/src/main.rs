//! `cargo run -p fathomp-fuzz --release -- TARGET --seconds 600`.
#![forbid(unsafe_code)]

use clap::Parser;
use fathomp_fuzz::run::{Plan, limit, one, run};
use fathomp_fuzz::target::Target;
use fathomp_fuzz::watch::{Outcome, WatchError, replay, watch};
use fathomp_fuzz::{regressions, room, targets};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

/// Feeds damaged and made-up bytes to readers, and prints an input at which one fails.
#[derive(Debug, Parser)]
#[command(name = "fathomp-fuzz")]
struct Arguments {
    /// Targets, or `all`; without one, they are listed.
    targets: Vec<String>,
    /// Time for each target.
    #[arg(long, value_name = "S", default_value = "60", value_parser = seconds)]
    seconds: Duration,
    /// Inputs for each target [default: as many as the time allows].
    #[arg(long, value_name = "N", default_value_t = u64::MAX, hide_default_value = true)]
    inputs: u64,
    /// Seed from which all inputs follow [default: the time].
    #[arg(long)]
    seed: Option<u64>,
    /// Read this file instead, such as an input that was found.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// In the process that is watched: the loop, with the file for the current input.
    #[arg(long = "loop", hide = true)]
    current: Option<PathBuf>,
    /// In the process that is watched: one input.
    #[arg(long, hide = true)]
    once: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match carry_out(&arguments) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(sentence) => {
            eprintln!("fathomp-fuzz: {sentence}");
            ExitCode::from(2)
        }
    }
}

/// Seconds, in decimals.
fn seconds(text: &str) -> Result<Duration, String> {
    let number: f64 = text.parse().map_err(|_| format!("{text} is no number"))?;
    Duration::try_from_secs_f64(number).map_err(|error| error.to_string())
}

/// Whether nothing was found.
fn carry_out(arguments: &Arguments) -> Result<bool, String> {
    let chosen = chosen(&arguments.targets)?;
    if chosen.is_empty() {
        for target in targets::ALL {
            println!("{:18} {}", target.name, target.what);
        }
        return Ok(true);
    }
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default();
    let plan = Plan {
        seed: arguments.seed.unwrap_or(now.as_secs()),
        inputs: arguments.inputs,
        time: arguments.seconds,
    };
    let mut clean = true;
    for target in chosen {
        clean &= match (&arguments.once, &arguments.current, &arguments.replay) {
            (Some(input), _, _) => read_once(target, input)?,
            (_, Some(current), _) => read_many(target, plan, current)?,
            (_, _, Some(input)) => read_again(target, input).map_err(|e| e.to_string())?,
            _ => search(target, plan).map_err(|error| error.to_string())?,
        };
    }
    Ok(clean)
}

fn chosen(names: &[String]) -> Result<Vec<&'static Target>, String> {
    if names.iter().any(|name| name == "all") {
        return Ok(targets::ALL.iter().collect());
    }
    let found = names.iter().map(|name| {
        let target = targets::ALL.iter().find(|target| target.name == name);
        target.ok_or_else(|| format!("there is no target {name}: start it without one for a list"))
    });
    found.collect()
}

fn read_once(target: &Target, input: &Path) -> Result<bool, String> {
    room::set(input.parent().unwrap_or(Path::new(".")));
    let input = fs::read(input).map_err(|error| error.to_string())?;
    limit().map_err(|error| error.to_string())?;
    one(target, &input, 0);
    Ok(true)
}

fn read_many(target: &Target, plan: Plan, current: &Path) -> Result<bool, String> {
    room::set(current.parent().unwrap_or(Path::new(".")));
    let known = regressions(target.name).map_err(|error| error.to_string())?;
    limit().map_err(|error| error.to_string())?;
    let done = run(target, &known, plan, |input| fs::write(current, input))
        .map_err(|error| error.to_string())?;
    println!("{} inputs, {} different answers", done.inputs, done.said);
    Ok(true)
}

fn read_again(target: &Target, input: &Path) -> Result<bool, WatchError> {
    let bytes = fs::read(input).map_err(|source| WatchError::File {
        path: input.to_owned(),
        source,
    })?;
    // Readers of files get a room of their own.
    let room = room::new().map_err(WatchError::Start)?;
    let copy = room.path().join("input");
    fs::write(&copy, bytes).map_err(|source| WatchError::File {
        path: copy.clone(),
        source,
    })?;
    match replay(target, &copy)? {
        Some((fault, said)) => {
            println!("{}: {fault}\n{said}", target.name);
            Ok(false)
        }
        None => {
            println!("{}: read without a fault", target.name);
            Ok(true)
        }
    }
}

fn search(target: &Target, plan: Plan) -> Result<bool, WatchError> {
    match watch(target, plan)? {
        Outcome::Clean(done) => {
            println!("{}: {done} (seed {})", target.name, plan.seed);
            Ok(true)
        }
        Outcome::Found(finding) => {
            let path = keep(target.name, &finding.input)?;
            println!(
                "{}: {} (seed {})\n{}\ninput of {} bytes: {}\nagain: cargo run -p fathomp-fuzz -- {} --replay {}",
                target.name,
                finding.fault,
                plan.seed,
                finding.said.trim(),
                finding.input.len(),
                finding
                    .input
                    .escape_ascii()
                    .to_string()
                    .chars()
                    .take(400)
                    .collect::<String>(),
                target.name,
                path.display(),
            );
            Ok(false)
        }
    }
}

/// Writes an input that was found where it outlives the run.
fn keep(name: &str, input: &[u8]) -> Result<PathBuf, WatchError> {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let directory = Path::new("target/fuzz").join(name);
    let path = directory.join(format!("{:016x}", hasher.finish()));
    let written: io::Result<()> =
        fs::create_dir_all(&directory).and_then(|()| fs::write(&path, input));
    match written {
        Ok(()) => Ok(path),
        Err(source) => Err(WatchError::File { path, source }),
    }
}
