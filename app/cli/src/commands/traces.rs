//! `fathomp regions`: recordings as traces that other tools show, of one recording or of ranks.

use crate::args::Regions;
use crate::console::Console;
use crate::failure::Failure;
use crate::load::AllRanks;
use crate::output;
use fathomp_report::export::{CommonClock, Otf2, Paraver, Perfetto, PerfettoOptions};
use fathomp_trace::model::{Meta, Recording};
use fathomp_trace::{reader, writer};
use std::fs::{self, File};
use std::path::Path;

/// What traces are made of.
pub(super) enum Source<'a> {
    /// A recording.
    One(&'a Recording),
    /// Those of ranks, which are read one after the other.
    Ranks(&'a AllRanks),
}

impl Source<'_> {
    fn count(&self) -> usize {
        match self {
            Self::One(_) => 1,
            Self::Ranks(ranks) => ranks.directories.len(),
        }
    }

    /// How many ranks the program had, if all of them are there; 0 if not.
    fn all_ranks(&self) -> u32 {
        let Self::Ranks(ranks) = self else {
            return 0;
        };
        match ranks.together.missing.is_empty() {
            true => ranks.directories.len() as u32,
            false => 0,
        }
    }

    fn each(
        &self,
        mut add: impl FnMut(Option<u32>, &Recording) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        match self {
            Self::One(recording) => add(None, recording),
            Self::Ranks(ranks) => ranks
                .directories
                .iter()
                .try_for_each(|(rank, directory)| add(Some(*rank), &reader::open(directory)?)),
        }
    }

    /// A clock that begins when recording did.
    fn clock(&self) -> CommonClock {
        let begin = match self {
            Self::One(recording) => {
                let processes = recording.processes.iter();
                let begins = processes.map(|process| process.clock.zero_unix_ns);
                begins.chain(begin_of(&recording.meta)).min()
            }
            Self::Ranks(ranks) => ranks
                .directories
                .iter()
                .filter_map(|(_, directory)| {
                    let text = fs::read(directory.join(writer::META)).ok()?;
                    begin_of(&serde_json::from_slice(&text).ok()?)
                })
                .min(),
        };
        let clock = CommonClock::new(begin.unwrap_or(0));
        match self {
            Self::One(_) => clock,
            Self::Ranks(ranks) => clock.with_hosts(&ranks.together.clocks),
        }
    }
}

fn begin_of(meta: &Meta) -> Option<u64> {
    Some(meta.started_unix_ns).filter(|begin| *begin > 0)
}

/// Says early which traces cannot be written.
pub(super) fn check(plan: &Regions) -> Result<(), Failure> {
    if let Some(file) = &plan.perfetto {
        output::check_file(file, plan.force)?;
    }
    if let Some(directory) = &plan.otf2 {
        output::check_directory(directory, plan.force)?;
    }
    if let Some(file) = &plan.paraver {
        if file.extension().is_none_or(|ending| ending != "prv") {
            return Err(Failure::new(format!(
                "{} does not end in .prv, which is how Paraver knows traces: name it so",
                file.display()
            )));
        }
        for ending in ["prv", "pcf", "row"] {
            output::check_file(&file.with_extension(ending), plan.force)?;
        }
    }
    Ok(())
}

/// Writes the traces that are asked for.
pub(super) fn write(plan: &Regions, source: &Source<'_>, console: Console) -> Result<(), Failure> {
    if let Some(file) = &plan.perfetto {
        perfetto(file, source, console)?;
    }
    if let Some(directory) = &plan.otf2 {
        let unwritable = |error| Failure::unwritable(directory, &error);
        let mut archive =
            Otf2::new(directory, source.clock(), source.all_ranks()).map_err(unwritable)?;
        source.each(|rank, recording| archive.add(rank, recording).map_err(unwritable))?;
        let anchor = archive.finish().map_err(unwritable)?;
        let anchor = anchor.display();
        console.say(format!("wrote {anchor}: open it with Vampir or otf2-print"));
    }
    if let Some(file) = &plan.paraver {
        paraver(file, source, console)?;
    }
    Ok(())
}

fn perfetto(file: &Path, source: &Source<'_>, console: Console) -> Result<(), Failure> {
    let left = output::stream_file(file, |out| {
        let options = PerfettoOptions::default();
        let trace = Perfetto::new(out, options, source.count(), source.clock());
        let mut trace = trace.map_err(|error| Failure::of(&error))?;
        source.each(|rank, recording| {
            let added = trace.add(rank, recording);
            added.map_err(|error| Failure::of(&error))
        })?;
        trace.finish().map_err(|error| Failure::of(&error))
    })?;
    console.say(format!(
        "wrote {}: open it at ui.perfetto.dev",
        file.display()
    ));
    if left.omitted > 0 {
        console.warn(format!(
            "left {} slices out of the trace to keep it small, all shorter than {} ns",
            left.omitted, left.shorter_than_ns
        ));
    }
    Ok(())
}

fn paraver(file: &Path, source: &Source<'_>, console: Console) -> Result<(), Failure> {
    let unwritable = |error| Failure::unwritable(file, &error);
    let draft = file.with_extension(format!("prv.{}.draft", std::process::id()));
    let opened = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(&draft)
        .map_err(unwritable)?;
    // It goes when nobody has it open any more, also if this program is killed.
    fs::remove_file(&draft).map_err(unwritable)?;
    let mut trace = Paraver::new(opened, source.clock());
    source.each(|rank, recording| trace.add(rank, recording).map_err(unwritable))?;
    let labels = output::stream_file(file, |out| trace.finish(out).map_err(unwritable))?;
    output::write_file(&file.with_extension("pcf"), labels.pcf.as_bytes())?;
    output::write_file(&file.with_extension("row"), labels.row.as_bytes())?;
    console.say(format!("wrote {}: open it with Paraver", file.display()));
    Ok(())
}
