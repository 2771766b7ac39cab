//! Recordings of OpenMP programs: streams, circumstances, and the rings that a program
//! leaves in shared memory. What can be opened is analysed, too.

use crate::room::{self, contents};
use crate::target::{Said, Shape, Target, about, check_sentence};
use fathomp_analysis::{Options, analyse};
use fathomp_trace::drain::{Drainer, Limits};
use fathomp_trace::model::{Meta, Recording, SiteKind};
use fathomp_trace::recorder::{Recorder, Settings, Start, ThreadRecorder};
use fathomp_trace::state::State;
use fathomp_trace::{now, reader, writer};
use fathomp_types::{InstanceId, SiteId};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A process's stream.
pub(super) const STREAM: Target = Target {
    name: "trace-stream",
    what: "streams of recordings, and what analysis makes of them",
    shape: Shape::Blocks,
    seeds: streams,
    read: stream,
};

/// The circumstances.
pub(super) const META: Target = Target {
    name: "trace-meta",
    what: "meta.json of recordings",
    shape: Shape::Json,
    seeds: metas,
    read: meta,
};

/// The rings.
pub(super) const RING: Target = Target {
    name: "trace-ring",
    what: "ring files that a program writes while it is recorded",
    shape: Shape::Words,
    seeds: rings,
    read: ring,
};

/// A new directory below the room.
fn directory(name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = room::path().join(format!("{name}-{number}"));
    fs::create_dir_all(&path).expect("a directory in the room");
    path
}

fn execute(thread: &ThreadRecorder, site: SiteId, instance: u64) {
    thread.begin(&Start {
        site,
        instance: InstanceId(instance),
        team_size: 1,
        level: 1,
        fork: now(),
        ..Start::default()
    });
    thread.end();
}

/// A recording of two threads: its directory and that of its rings.
fn recorded(threads: u32) -> (PathBuf, PathBuf) {
    let (live, recording) = (directory("live"), directory("recorded"));
    let meta = Meta::default();
    writer::create(&recording, &meta, writer::Existing::Replace).expect("a recording");
    let settings = Settings {
        interval_ns: 0,
        ring_kib: 4,
        threads: 2,
        ..Settings::new(live.clone())
    };
    let recorder = Recorder::open(settings, "fuzz").expect("a recorder");
    let mut drainer = Drainer::new(&live, &recording, Limits::default()).expect("a drainer");
    for number in 0..threads {
        let thread = recorder.attach().expect("a thread");
        for instance in 0..6 {
            let site = recorder.site(SiteKind::Parallel, 16 + number as usize, 0);
            execute(thread, site, u64::from(number * 6) + instance);
            thread.wait(State::Lock, now(), now());
        }
        drainer.poll().expect("a drained ring");
        recorder.detach(thread);
    }
    recorder.finish();
    if threads > 0 {
        drainer.finish().expect("a recording");
    }
    (live, recording)
}

fn streams() -> Vec<Vec<u8>> {
    let (_, recording) = recorded(2);
    contents(&recording.join("processes")).expect("a directory of seeds")
}

fn metas() -> Vec<Vec<u8>> {
    vec![serde_json::to_vec(&Meta::default()).expect("circumstances as JSON")]
}

fn rings() -> Vec<Vec<u8>> {
    let live = directory("live");
    let settings = Settings {
        interval_ns: 0,
        ring_kib: 4,
        threads: 2,
        ..Settings::new(live.clone())
    };
    let recorder = Recorder::open(settings, "fuzz").expect("a recorder");
    let thread = recorder.attach().expect("a thread");
    for instance in 0..20 {
        execute(thread, recorder.site(SiteKind::Parallel, 16, 0), instance);
    }
    thread.begin(&Start::default());
    contents(&live).expect("a directory of seeds")
}

/// What holds of every recording that can be opened.
fn check(recording: &Recording) -> Said {
    for process in &recording.processes {
        assert!(process.clock.nanos_per_tick > 0.0, "a clock that stands");
        for (number, site) in process.sites.iter().enumerate() {
            assert_eq!(site.id, SiteId(number as u32));
        }
        for thread in &process.threads {
            assert!(thread.begin <= thread.end, "a thread ends before it begins");
        }
    }
    let facts = analyse(recording, &Options::default());
    for problem in &recording.problems {
        check_sentence(problem);
    }
    for problem in &facts.problems {
        check_sentence(&problem.sentence);
    }
    let threads: usize = recording
        .processes
        .iter()
        .map(|process| process.threads.len())
        .sum();
    Said::read([
        about(recording.processes.len()),
        about(threads),
        about(recording.problems.len()),
        about(facts.problems.len()),
        about(facts.regions.len()),
    ])
}

fn opened(directory: &Path) -> Said {
    match reader::open(directory) {
        Ok(recording) => check(&recording),
        Err(error) => Said::refused(&error),
    }
}

fn put(directory: &Path, meta: &[u8], stream: &[u8]) {
    let processes = directory.join("processes");
    fs::create_dir_all(&processes).expect("a directory in the room");
    fs::write(directory.join("meta.json"), meta).expect("a file in the room");
    fs::write(processes.join("1-1.fthr"), stream).expect("a file in the room");
}

fn stream(input: &[u8]) -> Said {
    let directory = room::path().join("recording");
    put(&directory, br#"{"format": 1}"#, input);
    opened(&directory)
}

fn meta(input: &[u8]) -> Said {
    // The directory that it names could be any of this machine's.
    let input = String::from_utf8_lossy(input).replace('/', "_");
    let directory = room::path().join("circumstances");
    put(&directory, input.as_bytes(), &[]);
    opened(&directory)
}

fn ring(input: &[u8]) -> Said {
    let live = room::path().join("live");
    let recording = room::path().join("drained");
    fs::create_dir_all(&live).expect("a directory in the room");
    fs::write(live.join("1-1.ring"), input).expect("a file in the room");
    writer::create(&recording, &Meta::default(), writer::Existing::Replace).expect("a recording");
    let mut drainer = Drainer::new(&live, &recording, Limits::default()).expect("a drainer");
    drainer.poll().expect("a place for what was drained");
    let summary = drainer.finish().expect("a place for what was drained");
    for problem in &summary.problems {
        check_sentence(problem);
    }
    // The same if whoever drains was killed before it began.
    let killed = room::path().join("killed");
    fs::create_dir_all(&live).expect("a directory in the room");
    fs::write(live.join("1-1.ring"), input).expect("a file in the room");
    let meta = Meta {
        live: Some(live),
        ..Meta::default()
    };
    writer::create(&killed, &meta, writer::Existing::Replace).expect("a recording");
    Said::all([
        Said::read(about(summary.problems.len())),
        opened(&recording),
        opened(&killed),
    ])
}
