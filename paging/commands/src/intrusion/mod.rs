//! `fathomp record --measure-intrusion`: what recording costs the program that is recorded.
//!
//!     DIR/                    the recording of the last run with one of the writers
//!       intrusion.json        every run, and what they say
//!       writers/WRITER/       the recording of the last run with each other writer
//!       writers/striped-1/    directories to stripe over, if none were given
//!       writers/loopback-1/   what a recording host kept, if that is this one

mod facts;
mod loopback;
mod place;
mod runner;
mod runs;

pub use runner::Runner;

use crate::args::{Paging, WriterList, WriterName};
use crate::plan::Plan;
use fathomp_bench::intrusion::{Document, INTRUSION_FILE, Subject, table};
use fathomp_bench::machine::Machine;
use fathomp_console::console::{Console, print};
use fathomp_console::failure::{Failure, Outcome};
use fathomp_console::launch::Stdin;
use fathomp_console::output;
use fathomp_console::program::Program;
use fathomp_console::progress::Progress;
use fathomp_stats::Random;
use fathomp_types::Ending::Signalled;
use place::Place;
use runs::Runs;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

/// What is to be measured.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Rounds of runs.
    pub rounds: u32,
    /// What was asked for.
    pub paging: &'a Paging,
    /// The same as a plan.
    pub plan: &'a Plan,
    /// Where all of it goes.
    pub output: &'a Path,
    /// Whether what is there may be replaced.
    pub force: bool,
}

/// Measures and prints.
///
/// # Errors
///
/// Fails if nothing could be measured, or what was measured cannot be written.
pub fn measure(
    asked: &Asked<'_>,
    program: &Program,
    runner: &dyn Runner,
    console: Console,
) -> Outcome {
    let rounds = asked.rounds;
    let named = asked.paging.writer.as_ref().map(WriterList::names);
    let place = Place::claim(asked.output, asked.force)?;
    let spool = tempfile::tempdir().map_err(|error| {
        Failure::new(format!(
            "cannot keep what the program reads: {error}: free some space in the directory for temporary files"
        ))
    })?;
    let machine = Machine::read();
    let writers = place.prepare(named.map_or_else(WriterName::all, <[WriterName]>::to_vec));
    let seed = seed();
    let progress = Progress::start(console, 1 + rounds as usize * (1 + writers.len()));
    let mut runs = Runs {
        plan: asked.plan,
        runner,
        console,
        progress: &progress,
        stdin: Stdin::for_several_runs(spool.path().join("stdin")),
        writers: &writers,
        order: Random(seed),
        done: 0,
    };
    let taken = runs.take(rounds)?;
    progress.finish();
    let names: Vec<String> = writers.iter().map(|writer| writer.name.clone()).collect();
    drop(writers);
    place.keep(&names)?;
    if let (Some(signal), true) = (taken.interrupted, taken.rounds.is_empty()) {
        console.warn("stopped before a round was complete: nothing was measured");
        return Ok(Signalled(signal).shell_code());
    }
    let warnings: Vec<String> = taken.warnings().collect();
    let mut document = Document::new(
        machine,
        subject(asked.paging, program),
        seed,
        taken.rounds,
        &names,
    );
    document.warnings.extend(warnings);
    let json = serde_json::to_string_pretty(&document)? + "\n";
    output::write_file(&asked.output.join(INTRUSION_FILE), json.as_bytes())?;
    print(&match console.json {
        true => json,
        false => table(&document),
    })?;
    if let Some(signal) = taken.interrupted {
        return Ok(Signalled(signal).shell_code());
    }
    if document.rows.is_empty() {
        return Err(Failure::new(
            "nothing could be measured: see why each writer was left out",
        ));
    }
    Ok(taken.exit_code)
}

/// Different each time: an order that does harm does it once only.
fn seed() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |since| u64::from(since.subsec_nanos()) + 1)
}

fn subject(paging: &Paging, program: &Program) -> Subject {
    let words: Vec<String> = program
        .command
        .iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let (name, arguments) = match words.split_first() {
        Some((name, arguments)) => (name.as_str(), arguments.join(" ")),
        None => ("", String::new()),
    };
    let base = name.rsplit('/').next().unwrap_or(name);
    Subject {
        benchmark: base.to_owned(),
        class: arguments,
        options: paging.shown(),
    }
}
