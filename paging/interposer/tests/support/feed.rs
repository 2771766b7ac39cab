//! What processes have left in their ring files.

use fathomp_feed::facts::Facts;
use fathomp_feed::file::RingFile;
use fathomp_feed::layout::EXTENSION;
use fathomp_feed::names;
use fathomp_feed::record::{self, Record};
use fathomp_paging::{Activity, Counter, Counts, State};
use std::fs;
use std::path::Path;

/// A process.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) facts: Facts,
    pub(crate) threads: Vec<Vec<Record>>,
    pub(crate) names: Vec<String>,
}

/// A stay in a call.
#[derive(Clone, Debug)]
pub(crate) struct Stay {
    pub(crate) state: State,
    pub(crate) cause: String,
    pub(crate) counts: Counts,
    pub(crate) ns: f64,
}

/// All processes that recorded into that directory, in the order of their beginning.
pub(crate) fn processes(live: &Path) -> Vec<Process> {
    let mut found: Vec<Process> = fs::read_dir(live)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == EXTENSION))
        .map(|path| process(&RingFile::open(&path).unwrap()))
        .collect();
    found.sort_by_key(|process| process.facts.zero);
    found
}

fn process(file: &RingFile) -> Process {
    let threads = (0..file.slots_used()).flat_map(|index| slot(file, index));
    Process {
        facts: file.facts(),
        threads: threads.collect(),
        names: (0..names::count(file.words()))
            .map(|number| names::name(file.words(), number))
            .collect(),
    }
}

/// The threads that used a slot, one after the other.
fn slot(file: &RingFile, index: usize) -> Vec<Vec<Record>> {
    let ring = file.ring(index).unwrap();
    let mut words = Vec::new();
    ring.copy(ring.consumed(), ring.written(), &mut words)
        .unwrap();
    let mut threads: Vec<Vec<Record>> = Vec::new();
    let mut rest = &words[..];
    while !rest.is_empty() {
        let (record, length) = record::read(rest).unwrap();
        if matches!(record, Record::Begin { .. }) {
            threads.push(Vec::new());
        }
        threads.last_mut().unwrap().push(record);
        rest = &rest[length..];
    }
    threads
}

impl Process {
    /// The stays of all threads.
    pub(crate) fn stays(&self) -> Vec<Stay> {
        self.threads.iter().flat_map(|t| self.stays_of(t)).collect()
    }

    /// The stays of one.
    pub(crate) fn stays_of(&self, thread: &[Record]) -> Vec<Stay> {
        let mut last = 0;
        let mut stays = Vec::new();
        for record in thread {
            match record {
                Record::Begin { at, .. } => last = at.0,
                Record::Interval {
                    at,
                    state,
                    cause,
                    counts,
                    ..
                } => {
                    let name = self.names.get(cause.0 as usize);
                    stays.push(Stay {
                        state: *state,
                        cause: name.cloned().unwrap_or_default(),
                        counts: *counts,
                        ns: (at.0 - last) as f64 * self.facts.nanos_per_tick,
                    });
                    last = at.0;
                }
                _ => {}
            }
        }
        stays
    }

    /// How often threads were in calls of that name.
    pub(crate) fn times(&self, cause: &str) -> usize {
        self.stays().iter().filter(|s| s.cause == cause).count()
    }

    /// The sum of a counter over all stays in an activity.
    pub(crate) fn sum(&self, activity: Activity, counter: Counter) -> u64 {
        let stays = self.stays();
        let chosen = stays.iter().filter(|s| s.state.activity == activity);
        chosen.map(|s| s.counts[counter]).sum()
    }

    /// The sum of a counter.
    pub(crate) fn total(&self, counter: Counter) -> u64 {
        self.stays().iter().map(|s| s.counts[counter]).sum()
    }
}
