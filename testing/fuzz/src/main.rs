//! `cargo run -p fathomp-fuzz --release -- TARGET --seconds 600`.
#![forbid(unsafe_code)]

use clap::Parser;
use fathomp_fuzz::run::{Plan, limit, one, run};
use fathomp_fuzz::target::Target;
use fathomp_fuzz::watch::{Finding, WatchError, watch};
use fathomp_fuzz::{regressions, room, targets};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{fs, io};

/// Feeds damaged and made-up bytes to readers, and prints an input at which one fails.
#[derive(Debug, Parser)]
#[command(name = "fathomp-fuzz")]
struct Arguments {
    /// Targets, or `all`; without one, they are listed.
    targets: Vec<String>,
    #[command(flatten)]
    plan: Plan,
    /// Read this file instead, such as an input that was found.
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,
    /// In the process that is watched: a directory for its files.
    #[arg(long, hide = true)]
    room: Option<PathBuf>,
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

/// Whether nothing was found.
fn carry_out(arguments: &Arguments) -> Result<bool, String> {
    let chosen = chosen(&arguments.targets)?;
    if chosen.is_empty() {
        for target in targets::ALL {
            println!("{:18} {}", target.name, target.what);
        }
    }
    let (plan, replay) = (&arguments.plan, arguments.replay.as_deref());
    let mut clean = true;
    for target in chosen {
        if let Some(room) = &arguments.room {
            read(target, plan, room, replay).map_err(|error| error.to_string())?;
        } else {
            clean &= search(target, plan, replay).map_err(|error| error.to_string())?;
        }
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

/// In the process that is watched.
fn read(target: &Target, plan: &Plan, room: &Path, replay: Option<&Path>) -> io::Result<()> {
    room::set(room);
    if let Some(input) = replay {
        let input = fs::read(input)?;
        limit()?;
        one(target, &input, 0);
        println!("read without a fault");
        return Ok(());
    }
    let known = regressions(target.name)?;
    limit()?;
    let current = room.join("input");
    let done = run(target, &known, plan, |input| fs::write(&current, input))?;
    let (inputs, said, seed) = (done.inputs, done.said, plan.seed);
    println!("{inputs} inputs, {said} different answers (seed {seed})");
    Ok(())
}

fn search(target: &Target, plan: &Plan, replay: Option<&Path>) -> Result<bool, WatchError> {
    let name = target.name;
    let Finding { fault, said, input } = match watch(target, plan, replay)? {
        Ok(line) => {
            println!("{name}: {line}");
            return Ok(true);
        }
        Err(finding) => finding,
    };
    println!("{name}: {fault}\n{}", said.trim());
    if replay.is_none() {
        let path = keep(name, &input)?;
        let letters: String = input.escape_ascii().map(char::from).take(400).collect();
        println!(
            "seed {}, input of {} bytes: {letters}\nagain: cargo run -p fathomp-fuzz -- {name} --replay {}",
            plan.seed,
            input.len(),
            path.display(),
        );
    }
    Ok(false)
}

/// Writes an input that was found where it outlives the run.
fn keep(name: &str, input: &[u8]) -> Result<PathBuf, WatchError> {
    let mut hasher = DefaultHasher::new();
    input.hash(&mut hasher);
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    let directory = crates
        .unwrap_or(Path::new("."))
        .join("target/fuzz")
        .join(name);
    let path = directory.join(format!("{:016x}", hasher.finish()));
    match fs::create_dir_all(&directory).and_then(|()| fs::write(&path, input)) {
        Ok(()) => Ok(path),
        Err(source) => Err(WatchError::File { path, source }),
    }
}
