//! Streams made by hand.
#![allow(dead_code)]

use fathomp_paging::pack::TaskPacker;
use fathomp_paging::reader::Recording;
use fathomp_paging::stream::{self, BY_INTERPOSER, Kind, PROCESS, ProcessNote, TaskNote};
use fathomp_paging::{Activity, Cause, Counter, Counts, State};
use fathomp_types::{Clock, Ticks};

pub(crate) const META: &[u8] = br#"{"format": 1}"#;

pub(crate) fn faults(number: u64) -> Counts {
    let mut counts = Counts::ZERO;
    counts[Counter::MinorFaults] = number;
    counts
}

pub(crate) fn open(stream: (String, Vec<u8>)) -> Recording {
    Recording::from_bytes(Some(META), [stream]).expect("a recording")
}

/// A stream with the notes of a process and what `fill` adds.
pub(crate) fn stream_of(
    pid: u32,
    note: &ProcessNote,
    fill: impl FnOnce(&mut Vec<u8>),
) -> (String, Vec<u8>) {
    let mut bytes = stream::start().to_vec();
    let note = ProcessNote {
        pid: Some(pid),
        clock: note.clock.or(Some(Clock::NANOS)),
        ..note.clone()
    };
    stream::put_note(&mut bytes, Kind::Process, BY_INTERPOSER, PROCESS, 1, &note);
    fill(&mut bytes);
    (
        stream::file_name(pid, note.begin.unwrap_or_default(), None),
        bytes,
    )
}

/// A task's blocks, with one stay of `faults` per millisecond.
pub(crate) fn put_task(bytes: &mut Vec<u8>, number: u32, note: &TaskNote, stays: u64) {
    let mut packer = TaskPacker::new(number, Ticks(0));
    for stay in 1..=stays {
        let state = State::active(Activity::Compute);
        packer.change(Ticks(stay * 1_000_000), state, Cause(1), &faults(1));
    }
    bytes.extend_from_slice(packer.seal().expect("a block"));
    stream::put_note(bytes, Kind::Task, BY_INTERPOSER, number, 1, note);
}
