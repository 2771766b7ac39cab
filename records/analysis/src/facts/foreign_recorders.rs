//! What recorders that are not part of the OpenMP runtime say of themselves.

use fathomp_trace::foreign_recorder::Unseen;
use fathomp_trace::model::{Process, Recording};
use serde::Serialize;

/// A runtime that was watched from outside, in one process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ForeignRecorderFacts {
    /// Operating-system process number.
    pub pid: u32,
    /// Name and version of the runtime.
    pub runtime: String,
    /// Its library.
    pub library: String,
    /// What it did not show, as names.
    pub unseen: Vec<Unseen>,
    /// The same as sentences.
    pub limits: Vec<String>,
    /// What it told wrongly or not at all, as sentences.
    pub lapses: Vec<String>,
    /// Events that it told.
    pub events: u64,
    /// Mean time in the recorder for an event.
    pub event_ns: f64,
    /// That time for all events, all threads.
    pub cost_ns: u64,
}

/// Those of a recording, by process.
pub(crate) fn all(recording: &Recording) -> Vec<ForeignRecorderFacts> {
    recording.processes.iter().filter_map(of).collect()
}

fn of(process: &Process) -> Option<ForeignRecorderFacts> {
    let foreign_recorder = process.foreign_recorder.as_ref()?;
    let cost_ns = foreign_recorder.cost.0 as f64 * process.clock.nanos_per_tick;
    let sentence = |unseen: &Unseen| unseen.sentence().to_owned();
    Some(ForeignRecorderFacts {
        pid: process.pid,
        runtime: process.runtime.clone(),
        library: foreign_recorder.library.to_string_lossy().into_owned(),
        unseen: foreign_recorder.unseen.clone(),
        limits: foreign_recorder.unseen.iter().map(sentence).collect(),
        lapses: foreign_recorder
            .lapses
            .iter()
            .map(|(lapse, times)| lapse.sentence(*times))
            .collect(),
        events: foreign_recorder.events,
        event_ns: cost_ns / (foreign_recorder.events as f64).max(1.0),
        cost_ns: cost_ns.round() as u64,
    })
}
