//! What recorders that are not part of the OpenMP runtime say of themselves.

use fathomp_trace::model::{Process, Recording};
use fathomp_trace::witness::Unseen;
use serde::Serialize;

/// A runtime that was watched from outside, in one process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WitnessFacts {
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
pub(crate) fn all(recording: &Recording) -> Vec<WitnessFacts> {
    recording.processes.iter().filter_map(of).collect()
}

fn of(process: &Process) -> Option<WitnessFacts> {
    let witness = process.witness.as_ref()?;
    let cost_ns = witness.cost.0 as f64 * process.clock.nanos_per_tick;
    let sentence = |unseen: &Unseen| unseen.sentence().to_owned();
    Some(WitnessFacts {
        pid: process.pid,
        runtime: process.runtime.clone(),
        library: witness.library.to_string_lossy().into_owned(),
        unseen: witness.unseen.clone(),
        limits: witness.unseen.iter().map(sentence).collect(),
        lapses: witness
            .lapses
            .iter()
            .map(|(lapse, times)| lapse.sentence(*times))
            .collect(),
        events: witness.events,
        event_ns: cost_ns / (witness.events as f64).max(1.0),
        cost_ns: cost_ns.round() as u64,
    })
}
