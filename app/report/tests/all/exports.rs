//! The formats other tools read.

use crate::synthetic;
use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{SiteKind, State};
use fathomp_diagnosis::Verdict;
use fathomp_report::Input;
use fathomp_report::export::{
    self, CommonClock, Left, Otf2, Paraver, Perfetto, PerfettoError, PerfettoOptions,
};
use fathomp_trace::model::Recording;
use fathomp_trace::record::{Interval, Record};
use fathomp_types::{SiteId, Ticks};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Write;

fn recording(steps: usize) -> Recording {
    let mut script = Script::new(3).with_counters();
    script.site(SiteKind::Parallel, 0x1000);
    for _ in 0..steps {
        script.serial(5_000);
        script.region(
            0x1000,
            &[
                Work::compute(100_000).dynamic(100, 10),
                Work::compute(60_000).and(State::Critical, 20_000),
                Work::compute(40_000),
            ],
        );
    }
    script.build()
}

fn perfetto(
    recording: &Recording,
    events_max: u64,
    out: impl Write,
) -> Result<Left, PerfettoError> {
    let options = PerfettoOptions { events_max };
    let begin = recording.processes[0].clock.zero_unix_ns;
    let mut trace = Perfetto::new(out, options, 1, CommonClock::new(begin))?;
    trace.add(None, recording)?;
    trace.finish()
}

fn trace(recording: &Recording, events_max: u64) -> (Value, Left, usize) {
    let mut text = Vec::new();
    let left = perfetto(recording, events_max, &mut text).expect("writing to memory works");
    let value = serde_json::from_slice(&text).expect("the trace is JSON");
    (value, left, text.len())
}

fn events(trace: &Value) -> &[Value] {
    trace["traceEvents"].as_array().expect("a list of events")
}

/// Slices of a track either nest or do not touch: anything else confuses
/// viewers.
fn assert_nested(trace: &Value) {
    let mut tracks: BTreeMap<u64, Vec<(i64, i64)>> = BTreeMap::new();
    for event in events(trace).iter().filter(|event| event["ph"] == "X") {
        let nanos = |name: &str| (event[name].as_f64().expect("a time") * 1000.0).round() as i64;
        let begin = nanos("ts");
        tracks
            .entry(event["tid"].as_u64().expect("a thread"))
            .or_default()
            .push((begin, begin + nanos("dur")));
    }
    assert_eq!(tracks.len(), 3);
    for slices in tracks.values() {
        let mut open: Vec<(i64, i64)> = Vec::new();
        for (begin, end) in slices {
            while open.last().is_some_and(|(_, end)| end <= begin) {
                open.pop();
            }
            if let Some((outer_begin, outer_end)) = open.last() {
                assert!(outer_begin <= begin && end <= outer_end, "{slices:?}");
            }
            open.push((*begin, *end));
        }
    }
}

#[test]
fn a_trace_has_tracks_slices_and_counters() {
    let (trace, left, _) = trace(&recording(20), 1_000_000);
    assert_eq!(left.omitted, 0);
    assert_nested(&trace);
    let kinds = |kind: &str| {
        events(&trace)
            .iter()
            .filter(|event| event["cat"] == kind)
            .count()
    };
    assert_eq!(kinds("region"), 60, "20 executions on 3 threads");
    assert_eq!(kinds("loop"), 20);
    assert!(kinds("wait") >= 20, "20 waits for a critical section");
    let names: Vec<&str> = events(&trace)
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .filter_map(|event| event["args"]["name"].as_str())
        .collect();
    assert_eq!(names, ["thread 0", "thread 1", "thread 2"]);
    assert!(events(&trace).iter().any(|event| event["ph"] == "C"));
    assert_eq!(trace["otherData"]["version"], 1);
}

#[test]
fn a_long_recording_gives_a_bounded_trace_that_says_so() {
    let (trace, left, length) = trace(&recording(2_000), 5_000);
    assert!((4_000..=5_000).contains(&left.written), "{left:?}");
    let counted = events(&trace)
        .iter()
        .filter(|event| event["ph"] == "X")
        .count();
    assert!((1_000..=5_000).contains(&counted), "{counted} slices");
    assert!(left.omitted > 0 && left.shorter_than_ns > 0);
    assert_eq!(trace["otherData"]["omitted"], left.omitted);
    assert!(length < 2_000_000, "{length} bytes");
    assert_nested(&trace);
    let (_, none, _) = self::trace(&recording(10), 0);
    assert_eq!(none.written, 0);
}

/// One whose times cannot be.
fn odd_recording() -> Recording {
    let mut recording = recording(1);
    let process = &mut recording.processes[0];
    process.clock.nanos_per_tick = 1e30;
    process.threads[1].os_id = process.threads[0].os_id;
    process.threads[2].os_id = 0;
    process.threads[2].records.push(Record::Interval(Interval {
        state: State::Io,
        begin: Ticks(u64::MAX),
        end: Ticks(0),
        site: SiteId(u32::MAX),
    }));
    recording
}

#[test]
fn times_that_cannot_be_do_not_stop_the_export() {
    let (trace, ..) = trace(&odd_recording(), 1_000);
    let tids: std::collections::BTreeSet<u64> = events(&trace)
        .iter()
        .filter(|event| event["name"] == "thread_name")
        .filter_map(|event| event["tid"].as_u64())
        .collect();
    assert_eq!(tids.len(), 3, "each thread has a track of its own");
    let room = tempfile::tempdir().expect("a directory");
    let mut archive = Otf2::new(room.path(), CommonClock::new(0), 0).expect("room");
    archive.add(None, &odd_recording()).expect("room");
    archive.finish().expect("room");
    assert!(room.path().join("traces/2.evt").exists());
    paraver(&odd_recording());
}

/// A trace for Paraver, of which times are in order and states have a length.
fn paraver(recording: &Recording) -> String {
    let draft = tempfile::tempfile().expect("a file");
    let mut trace = Paraver::new(draft, CommonClock::new(0));
    trace.add(None, recording).expect("room");
    let mut text = Vec::new();
    trace.finish(&mut text).expect("room");
    let text = String::from_utf8(text).expect("it is text");
    let mut before = 0;
    for line in text.lines().skip(1) {
        let fields: Vec<u64> = line.split(':').filter_map(|one| one.parse().ok()).collect();
        assert!(fields[5] >= before, "{line}");
        assert!(fields[0] == 2 || fields[6] > fields[5], "{line}");
        before = fields[5];
    }
    text
}

#[test]
fn workers_stay_in_a_region_until_the_encountering_thread_leaves_it() {
    let text = paraver(&recording(1));
    let leaves = text.lines().filter(|line| line.contains(":60000001:0:"));
    let times: Vec<&str> = leaves.filter_map(|line| line.split(':').nth(5)).collect();
    assert_eq!(times.len(), 3, "{text}");
    assert!(times.iter().all(|at| *at == times[0]), "{text}");
    // Threads 2 and 3 wait for thread 1, and that for nobody.
    let waits = text.lines().filter(|line| line.contains(":60000005:1:"));
    let who: Vec<&str> = waits.filter_map(|line| line.split(':').nth(4)).collect();
    assert_eq!(who, ["3", "2"], "{text}");
}

#[test]
fn json_names_its_schema_and_version() {
    let runs = [synthetic::analysis(1), synthetic::analysis(2)];
    let prediction = synthetic::prediction(2);
    let notes = ["the run with 4 threads failed".to_owned()];
    let input = Input {
        analyses: &runs,
        prediction: Some(&prediction),
        notes: &notes,
        ..Input::default()
    };
    let mut text = Vec::new();
    export::json(&input, &synthetic::conclude(&input), &mut text).expect("writing to memory works");
    let value: Value = serde_json::from_slice(&text).expect("it is JSON");
    assert_eq!(value["schema"], "fathomp.report");
    assert_eq!(
        value["version"], 1,
        "a change of meaning needs a new version"
    );
    assert_eq!(value["analyses"][1]["schema"], "fathomp.analysis");
    assert_eq!(value["prediction"]["schema"], "fathomp.prediction");
    assert_eq!(value["notes"][0], notes[0]);
    let mut keys: Vec<&String> = value.as_object().expect("an object").keys().collect();
    keys.sort();
    assert_eq!(
        keys,
        [
            "analyses",
            "causes",
            "notes",
            "prediction",
            "schema",
            "version"
        ]
    );
}

#[test]
fn a_full_disk_is_one_clear_sentence() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let analysis = synthetic::analysis(1);
    let runs = [analysis];
    let errors = [
        export::csv(&runs[0], Full)
            .expect_err("no room")
            .to_string(),
        export::json(
            &Input {
                analyses: &runs,
                ..Input::default()
            },
            &Verdict::default(),
            Full,
        )
        .expect_err("no room")
        .to_string(),
        perfetto(&recording(1), 1_000, Full)
            .expect_err("no room")
            .to_string(),
    ];
    for error in errors {
        assert!(error.starts_with("cannot write the"), "{error}");
        assert!(error.contains("no storage space"), "{error}");
    }
}
