//! Each target for about half a second, with the same seed every day; and with the seed and time
//! that `FATHOMP_FUZZ=SEED,SECONDS` says.

use fathomp_fuzz::targets;
use libtest_mimic::{Arguments, Failed, Trial};
use std::env;
use std::process::{Command, ExitCode};

fn main() -> ExitCode {
    let trials = targets::ALL.iter().map(|target| {
        let name = target.name;
        Trial::test(name, move || everyday(name))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit_code()
}

fn everyday(name: &str) -> Result<(), Failed> {
    let asked = env::var("FATHOMP_FUZZ").unwrap_or_default();
    let (seed, seconds) = asked.split_once(',').unwrap_or(("1", "0.5"));
    let ended = Command::new(env!("CARGO_BIN_EXE_fathomp-fuzz"))
        .args([name, "--seed", seed, "--seconds", seconds])
        .output()?;
    let said = String::from_utf8_lossy(&ended.stdout);
    if ended.status.success() {
        println!("{}", said.trim());
        return Ok(());
    }
    let errors = String::from_utf8_lossy(&ended.stderr);
    Err(format!("{said}{errors}").into())
}
