//! What a stream says of a process, from what the process says of itself.

use crate::facts::Facts;
use fathomp_paging::setup::Setup;
use fathomp_paging::stream::{self, BY_INTERPOSER, EndNote, Kind, NamesNote, PROCESS, ProcessNote};
use fathomp_paging::{Counter, CounterSet, Ending};

/// The counters that the intervals of a recording count exactly.
#[must_use]
pub fn exact(setup: &Setup) -> CounterSet {
    let chosen = CounterSet::from_bits(setup.counter_mask());
    let kernel = [
        Counter::MinorFaults,
        Counter::MajorFaults,
        Counter::PageIns,
        Counter::BlocksOut,
        Counter::VoluntarySwitches,
        Counter::InvoluntarySwitches,
    ];
    let of_kernel = kernel.into_iter().fold(CounterSet::NONE, CounterSet::with);
    match setup.read_counters {
        true => chosen,
        false => chosen.without(of_kernel),
    }
}

/// The note of a process as it stands.
#[must_use]
pub fn process(facts: &Facts, host: &str, setup: &Setup) -> ProcessNote {
    let end = facts.end;
    let mut problems = Vec::new();
    let pid = facts.pid;
    if facts.threads_lost > 0 {
        let lost = facts.threads_lost;
        problems.push(format!(
            "{lost} threads of process {pid} found no room and were not recorded."
        ));
    }
    if facts.names_lost > 0 {
        let lost = facts.names_lost;
        problems.push(format!(
            "{lost} names of calls or phases of process {pid} found no room; they are shown \
             without a name."
        ));
    }
    if end.is_some_and(|end| end.environment_cleared) {
        problems.push(format!(
            "Process {pid} removed LD_PRELOAD from the environment of a program that it started, \
             which is therefore not recorded."
        ));
    }
    ProcessNote {
        pid: Some(pid),
        parent: Some(facts.parent),
        program: Some(facts.program.clone()),
        host: Some(host.to_owned()),
        rank: facts.rank,
        node: facts.node,
        clock: Some(facts.clock()),
        begin: Some(facts.zero),
        end: end.map(|end| end.at),
        ending: end.map(|end| end.ending),
        exact: Some(exact(setup)),
        io_calls_seen: end.map(|end| end.io_calls_seen),
        io_calls_made: end.and_then(|end| end.io_calls_made),
        problems,
        ..ProcessNote::default()
    }
}

/// Appends a block with the note of a process. Its position is the moment that it speaks of:
/// that of the end, if the process has ended.
pub fn put_process(out: &mut Vec<u8>, note: &ProcessNote) {
    let position = match (note.end, note.ending) {
        (Some(end), Some(Ending::Exec)) => end.0,
        // Whatever else was thought of the process before.
        (Some(end), Some(_)) => end.0.saturating_add(1),
        _ => note.begin.unwrap_or_default().0,
    };
    stream::put_note(out, Kind::Process, BY_INTERPOSER, PROCESS, position, note);
}

/// Appends a block with names, numbered on from `first`.
pub fn put_names(out: &mut Vec<u8>, first: usize, names: Vec<String>) {
    let note = NamesNote {
        first: first as u32,
        names,
    };
    stream::put_note(
        out,
        Kind::Names,
        BY_INTERPOSER,
        PROCESS,
        first as u64,
        &note,
    );
}

/// Appends a block that says what was lost of a process as a whole.
pub fn put_end(out: &mut Vec<u8>, facts: &Facts, disk_full: bool) {
    let note = EndNote {
        marks_left_out: facts.marks_lost,
        disk_full,
        ..EndNote::default()
    };
    let position = facts.end.map_or(facts.zero, |end| end.at).0;
    stream::put_note(out, Kind::End, BY_INTERPOSER, PROCESS, position, &note);
}
