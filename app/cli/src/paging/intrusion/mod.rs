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
mod runs;

use super::Plan;
use crate::args::{Record, WriterList, WriterName};
use crate::failure::{Failure, Outcome};
use crate::launch::Stdin;
use crate::output;
use crate::program::Program;
use crate::progress::Progress;
use crate::voice::{Voice, print};
use fathomp_bench::intrusion::{Document, INTRUSION_FILE, Subject, table};
use fathomp_bench::machine::Machine;
use fathomp_runtime::Unpacked;
use fathomp_stats::Random;
use fathomp_types::Ending::Signalled;
use place::Place;
use runs::Runs;
use std::time::{SystemTime, UNIX_EPOCH};

/// Measures and prints.
pub(crate) fn measure(
    plan: &Record,
    rounds: u32,
    paging: &Plan,
    program: &Program,
    unpacked: &Unpacked,
    voice: Voice,
) -> Outcome {
    let asked = plan.paging.writer.as_ref().map(WriterList::names);
    let place = Place::claim(&plan.output, plan.force)?;
    let spool = tempfile::tempdir().map_err(|error| {
        Failure::new(format!(
            "cannot keep what the program reads: {error}: free some space in the directory for temporary files"
        ))
    })?;
    let machine = Machine::read();
    let writers = place.prepare(asked.map_or_else(WriterName::all, <[WriterName]>::to_vec));
    let seed = seed();
    let progress = Progress::start(voice, 1 + rounds as usize * (1 + writers.len()));
    let mut runs = Runs {
        plan,
        paging,
        program,
        unpacked,
        voice,
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
        voice.warn("stopped before a round was complete: nothing was measured");
        return Ok(Signalled(signal).shell_code());
    }
    let warnings: Vec<String> = taken.warnings().collect();
    let mut document = Document::new(machine, subject(plan, program), seed, taken.rounds, &names);
    document.warnings.extend(warnings);
    let json = serde_json::to_string_pretty(&document)? + "\n";
    output::write_file(&plan.output.join(INTRUSION_FILE), json.as_bytes())?;
    print(&match voice.json {
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

fn subject(plan: &Record, program: &Program) -> Subject {
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
        options: plan.paging.shown(),
    }
}
