//! Recordings and rings that somebody cut short or scribbled over.
// A program of its own: `threads` counts what its process does, and this does much.

mod common;

use common::{Place, ago, execute, executions, region, total};
use fathomp_trace::drain::{Drainer, Limits};
use fathomp_trace::model::{Meta, Recording};
use fathomp_trace::reader::{self, OpenError};
use fathomp_trace::recorder::{Recorder, Settings};
use fathomp_trace::state::State;
use fathomp_trace::{now, writer};
use fathomp_types::SiteId;
use proptest::prelude::*;
use std::path::{Path, PathBuf};

const EXECUTIONS: u64 = 12;

/// A small recording of two threads.
fn sample() -> Place {
    let place = Place::new();
    let settings = Settings {
        interval_ns: 0,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let mut drainer = place.drainer();
    for first in [0, EXECUTIONS / 2] {
        let thread = recorder.attach().unwrap();
        for number in first..first + EXECUTIONS / 2 {
            execute(thread, region(recorder, 0), number);
            thread.wait(State::Lock, ago(9), now());
            drainer.poll().unwrap();
        }
        recorder.detach(thread);
    }
    recorder.finish();
    drainer.finish().unwrap();
    place
}

fn stream(place: &Place) -> PathBuf {
    let mut streams = std::fs::read_dir(place.recording.join("processes")).unwrap();
    streams.next().unwrap().unwrap().path()
}

/// What must hold for every recording that can be read at all.
fn is_sound(recording: &Recording) {
    for process in &recording.processes {
        for (number, site) in process.sites.iter().enumerate() {
            assert_eq!(site.id, SiteId(number as u32));
        }
        assert!(process.clock.nanos_per_tick > 0.0);
        for thread in &process.threads {
            assert!(thread.begin <= thread.end);
        }
        for site in &process.sites {
            for instance in executions(recording, site.id) {
                assert!(instance.begin <= instance.end);
                assert!(instance.merged >= 1);
            }
        }
    }
}

#[test]
fn a_stream_cut_at_any_byte_is_readable() {
    let place = sample();
    let path = stream(&place);
    let whole = std::fs::read(&path).unwrap();
    assert_eq!(total(&executions(&place.read(), SiteId(1))), EXECUTIONS);
    let mut last = 0;
    for cut in 0..whole.len() {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let recording = place.read();
        is_sound(&recording);
        assert!(
            recording
                .problems
                .iter()
                .any(|problem| problem.contains("breaks off") || problem.contains("No process")),
            "cut at {cut}: {:?}",
            recording.problems
        );
        let read = total(&executions(&recording, SiteId(1)));
        assert!(read >= last, "cut at {cut}: a longer stream says less");
        last = read;
    }
    assert_eq!(last, EXECUTIONS);
}

#[test]
fn a_meta_file_cut_at_any_byte_costs_only_the_circumstances() {
    let place = sample();
    let path = place.recording.join("meta.json");
    let whole = std::fs::read(&path).unwrap();
    for cut in 0..whole.len() - 2 {
        std::fs::write(&path, &whole[..cut]).unwrap();
        let recording = place.read();
        assert_eq!(total(&executions(&recording, SiteId(1))), EXECUTIONS);
        assert!(
            recording
                .problems
                .iter()
                .any(|problem| problem.contains("circumstances"))
        );
    }
    std::fs::remove_file(&path).unwrap();
    assert_eq!(total(&executions(&place.read(), SiteId(1))), EXECUTIONS);
}

#[test]
fn what_is_no_recording_is_refused_with_a_reason() {
    let root = tempfile::tempdir().unwrap();
    let missing = root.path().join("missing");
    assert!(matches!(reader::open(&missing), Err(OpenError::Missing(_))));
    assert!(matches!(
        reader::open(root.path()),
        Err(OpenError::NotARecording(_))
    ));
    let file = root.path().join("file");
    std::fs::write(&file, "x").unwrap();
    assert!(matches!(
        reader::open(&file),
        Err(OpenError::NotARecording(_))
    ));
    for foreign in [
        "{}",
        "[1]",
        "7",
        "null",
        r#"{"format": "1"}"#,
        r#"{"format": 0}"#,
    ] {
        std::fs::write(root.path().join("meta.json"), foreign).unwrap();
        assert!(
            matches!(reader::open(root.path()), Err(OpenError::NotARecording(_))),
            "{foreign}"
        );
    }
    std::fs::write(root.path().join("meta.json"), r#"{"format": 999}"#).unwrap();
    assert!(matches!(
        reader::open(root.path()),
        Err(OpenError::Version { found: 999, .. })
    ));
    let emulated = r#"{"format": 1, "emulated_time": true}"#;
    std::fs::write(root.path().join("meta.json"), emulated).unwrap();
    assert!(matches!(
        reader::open(root.path()),
        Err(OpenError::EmulatedTime(_))
    ));
}

#[test]
fn a_stream_of_a_later_version_is_left_out_with_a_reason() {
    let place = sample();
    let path = stream(&place);
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 200;
    std::fs::write(&path, bytes).unwrap();
    let recording = place.read();
    assert!(recording.processes.is_empty());
    assert!(recording.problems[0].contains("version is 200"));
}

#[test]
fn an_existing_directory_is_only_replaced_if_it_is_a_recording() {
    use writer::{CreateError, Existing, create};
    let place = sample();
    let meta = Meta::default();
    assert!(matches!(
        create(&place.recording, &meta, Existing::Keep),
        Err(CreateError::Recording(_))
    ));
    std::fs::write(place.recording.join("notes.txt"), "mine").unwrap();
    create(&place.recording, &meta, Existing::Replace).unwrap();
    assert!(place.recording.join("notes.txt").exists());
    assert!(!place.recording.join("processes").exists());
    let other = place.live.join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("letter"), "x").unwrap();
    for existing in [Existing::Keep, Existing::Replace] {
        assert!(matches!(
            create(&other, &meta, existing),
            Err(CreateError::Occupied(_))
        ));
    }
    assert!(matches!(
        create(&other.join("letter"), &meta, Existing::Replace),
        Err(CreateError::NotADirectory(_))
    ));
    assert!(matches!(
        create(Path::new("/proc/none/such"), &meta, Existing::Keep),
        Err(CreateError::Unwritable { .. })
    ));
}

/// A ring file with some contents, not drained.
fn ring_file(place: &Place) -> PathBuf {
    let settings = Settings {
        ring_kib: 4,
        threads: 2,
        ..place.settings()
    };
    let recorder = Recorder::open(settings, "test").unwrap();
    let thread = recorder.attach().unwrap();
    for number in 0..100 {
        execute(thread, region(recorder, 0), number);
    }
    thread.begin(&fathomp_trace::recorder::Start::default());
    let rings = fathomp_ring::drain::ring_files(&place.live, "ring").unwrap();
    place.live.join(&rings[0])
}

#[test]
fn files_in_the_live_directory_that_are_no_rings_are_told() {
    let place = Place::new();
    std::fs::write(place.live.join("1-1.ring"), b"nonsense").unwrap();
    std::fs::write(place.live.join("1-2.ring"), vec![7; 100_000]).unwrap();
    std::fs::write(place.live.join("1-3.ring"), b"").unwrap();
    std::fs::write(place.live.join("something else"), b"").unwrap();
    let summary = place.drain();
    assert_eq!(summary.problems.len(), 3);
}

#[test]
fn a_ring_file_that_is_cut_short_under_the_drainer_does_not_kill_it() {
    let place = Place::new();
    let path = ring_file(&place);
    let mut drainer = place.drainer();
    drainer.poll().unwrap();
    let copy = std::fs::read(&path).unwrap();
    // Not the file that this process has mapped itself.
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, &copy[..copy.len() / 2]).unwrap();
    drainer.poll().unwrap();
    drainer.finish().unwrap();
    is_sound(&place.read());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_damage_to_a_stream_is_survived(
        hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
        cut in any::<prop::sample::Index>(),
    ) {
        let place = sample();
        let path = stream(&place);
        let mut bytes = std::fs::read(&path).unwrap();
        for (at, value) in hits {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() * 4));
        std::fs::write(&path, bytes).unwrap();
        is_sound(&place.read());
    }

    #[test]
    fn any_stream_is_survived(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let place = sample();
        std::fs::write(stream(&place), bytes).unwrap();
        is_sound(&place.read());
    }

    #[test]
    fn any_scribbling_over_a_ring_is_survived(
        hits in proptest::collection::vec(
            (any::<prop::sample::Index>(), any::<u64>(), prop::bool::ANY), 1..200),
        headers in proptest::collection::vec((0_usize..20, any::<u64>()), 0..4),
    ) {
        let place = Place::new();
        let path = ring_file(&place);
        let copy = std::fs::read(&path).unwrap();
        let mut words: Vec<u64> = copy
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap()))
            .collect();
        // Half of the hits go where something stands.
        let used: Vec<_> = (0..words.len()).filter(|&at| words[at] != 0).collect();
        for (at, value, anywhere) in hits {
            let at = if anywhere { at.index(words.len()) } else { used[at.index(used.len())] };
            words[at] = value;
        }
        for (at, value) in headers {
            words[at] = value;
        }
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, bytes).unwrap();
        let mut drainer = Drainer::new(&place.live, &place.recording, Limits::default()).unwrap();
        drainer.poll().unwrap();
        drainer.finish().unwrap();
        is_sound(&place.read());
    }
}
