//! Recordings of paging: streams, circumstances, faults, and what an interposer is set up with.

use crate::room;
use crate::target::{Said, Shape, Target, about, check_sentence};
use fathomp_faults::fault_facts;
use fathomp_paging::faults::{FaultEvent, FaultsFile, FaultsNote, FaultsWriter, Mapping};
use fathomp_paging::reader::{Recording, View};
use fathomp_paging::setup::{SETUP_FILE, Setup};
use fathomp_paging::testing::Builder;
use fathomp_paging::{Activity, Cause, Counter, Counts, MarkKind, State};

/// A stream.
pub(super) const STREAM: Target = Target {
    name: "paging-stream",
    what: "streams of paging recordings",
    shape: Shape::Blocks,
    seeds: streams,
    read: stream,
};

/// The circumstances.
pub(super) const META: Target = Target {
    name: "paging-meta",
    what: "paging.json of paging recordings",
    shape: Shape::Json,
    seeds: metas,
    read: meta,
};

/// The faults.
pub(super) const FAULTS: Target = Target {
    name: "paging-faults",
    what: "files of page faults, and what is concluded from them",
    shape: Shape::Blocks,
    seeds: fault_files,
    read: faults,
};

/// The setup.
pub(super) const SETUP: Target = Target {
    name: "paging-setup",
    what: "setup.json that an interposer in a program reads",
    shape: Shape::Json,
    seeds: setups,
    read: setup,
};

const FORMAT: &[u8] = br#"{"format": 1}"#;

fn risen(number: u64) -> Counts {
    let mut counts = Counts::ZERO;
    counts[Counter::MinorFaults] = number;
    counts
}

/// A stream with everything in it, in several blocks.
fn whole() -> (String, Vec<u8>) {
    let mut builder = Builder::new();
    let read = builder.name("read");
    builder
        .task()
        .stay(1_000, State::active(Activity::Compute), risen(3))
        .mark(1_000, MarkKind::Barrier, read)
        .stay_in(1_500, State::active(Activity::Io), read, risen(1))
        .cut()
        .sample(400, risen(2))
        .sample(1_200, risen(2))
        .gap(1_700)
        .stay(2_000, State::active(Activity::Communication), risen(4))
        .cut()
        .merge(100)
        .stay(2_350, State::active(Activity::Compute), risen(10));
    builder.streams().remove(0)
}

pub(super) fn streams() -> Vec<Vec<u8>> {
    vec![whole().1]
}

/// What holds of every recording that can be opened.
pub(super) fn check(recording: &Recording) -> Said {
    let mut intervals = 0;
    for task in recording.tasks() {
        assert!(task.begin <= task.end, "a task ends before it begins");
        let mut last = 0;
        let visited = recording.visit(task.id, |interval| {
            assert!(last <= interval.begin, "intervals overlap");
            assert!(
                interval.begin <= interval.end,
                "an interval ends before it begins"
            );
            let named = recording.names().len() > interval.cause.0 as usize;
            assert!(named || interval.cause == Cause::UNSEEN, "no such name");
            last = interval.end;
            intervals += 1;
        });
        let visited = visited.expect("memory can be read");
        for problem in visited.problems("it") {
            check_sentence(&problem);
        }
        let view = View {
            from: 1_100,
            to: 1_900,
            ..View::ALL
        };
        let part = recording.visit_part(task.id, view, |interval| {
            assert!(interval.begin < 1_900, "an interval outside of the part");
        });
        part.expect("memory can be read");
        recording.marks(task.id).expect("memory can be read");
    }
    for problem in recording.problems() {
        check_sentence(problem);
    }
    Said::read([
        about(recording.tasks().len()),
        about(intervals),
        about(recording.problems().len()),
    ])
}

fn stream(input: &[u8]) -> Said {
    match Recording::from_bytes(Some(FORMAT), [(whole().0, input.to_vec())]) {
        Ok(recording) => check(&recording),
        Err(error) => Said::refused(&error),
    }
}

fn metas() -> Vec<Vec<u8>> {
    let mut builder = Builder::new();
    let meta = serde_json::to_vec(builder.meta()).expect("circumstances as JSON");
    vec![meta, FORMAT.to_vec()]
}

fn meta(input: &[u8]) -> Said {
    match Recording::from_bytes(Some(input), [whole()]) {
        Ok(recording) => check(&recording),
        Err(error) => Said::refused(&error),
    }
}

fn fault_files() -> Vec<Vec<u8>> {
    let mut file = Vec::new();
    let note = FaultsNote::default();
    let mut writer = FaultsWriter::new(&mut file, 1 << 20, note).expect("a file in memory");
    let fault = |at, address| {
        FaultEvent::Fault(fathomp_paging::faults::Fault {
            at,
            process: 1,
            thread: 7,
            address,
            instruction: 0x40_1000,
            found: fathomp_paging::faults::Found::Nothing,
        })
    };
    let events = [
        FaultEvent::Program {
            at: 10,
            process: 1,
            name: "solver".to_owned(),
        },
        FaultEvent::Mapping(Mapping {
            at: 11,
            process: 1,
            start: 0x10_0000,
            end: 0x20_0000,
            offset: 0,
            protection: 3,
            flags: 2,
            name: "/usr/bin/solver".to_owned(),
        }),
        FaultEvent::Stack {
            at: 12,
            process: 1,
            thread: 7,
            pointer: 0x7fff_0000,
        },
        fault(13, 0x10_0000),
        fault(14, 0x10_1000),
        FaultEvent::Served {
            at: 15,
            process: 1,
            thread: 7,
            address: 0x10_1000,
        },
        FaultEvent::Fork {
            at: 16,
            process: 2,
            parent: 1,
        },
        fault(17, 0x7ffe_fff0),
    ];
    for event in &events {
        writer.put(event).expect("a file in memory");
    }
    writer.finish().expect("a file in memory");
    vec![file]
}

fn faults(input: &[u8]) -> Said {
    match FaultsFile::new(input.to_vec()) {
        Ok(file) => {
            let events = file.events().count();
            let facts = fault_facts(&file);
            let shown = format!("{facts:?}");
            Said::read([
                about(events),
                about(usize::try_from(file.damaged()).unwrap_or(usize::MAX)),
                about(shown.len()),
            ])
        }
        Err(error) => Said::refused(&error),
    }
}

fn setups() -> Vec<Vec<u8>> {
    vec![serde_json::to_vec(&Setup::default()).expect("a setup as JSON")]
}

fn setup(input: &[u8]) -> Said {
    let path = room::put(SETUP_FILE, input);
    let live = path.parent().unwrap_or(&path);
    match Setup::read(live) {
        Ok(setup) => {
            assert!(
                setup.ring_words().is_power_of_two(),
                "a ring of no power of two"
            );
            let chosen = setup.tasks.as_ref().is_none_or(|rule| rule.chooses(3));
            Said::read((setup.counter_mask(), setup.activity_mask(), chosen))
        }
        Err(error) => Said::refused(&error),
    }
}
