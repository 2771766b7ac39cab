//! The paging of a program that never ran: steps between barriers, in each of which all
//! tasks fault, read, exchange and wait.

#![allow(dead_code, reason = "each user needs some of it")]

use fathomp_bench::intrusion::Document;
use fathomp_faults::fault_facts;
use fathomp_paging::faults::{
    Fault, FaultEvent, FaultsFile, FaultsNote, FaultsWriter, Found, Mapping,
};
use fathomp_paging::{
    Activity, Cause, Counter, Counts, Ending, Interval, Mark, MarkKind, State, Task, TaskId,
    TaskKind,
};
use fathomp_paging_pages::{Circumstances, MemoryCurve, MemoryRun, PagingFacts};
use fathomp_skyline::{Bins, Lanes, Memory, Settings, analyse};

/// Names nobody would choose and a binary may still have.
const HOSTILE: [&str; 4] = [
    "</script><script>window.owned = 1</script>",
    "<img src=x onerror=\"window.owned = 1\"><b>&amp;{{ 7 * 7 }}'\"",
    "\u{202e}evil\u{1b}[31m\u{0}\u{2028}漢字\u{1f980}]]><!--",
    "=HYPERLINK(\"x\"),\"",
];

const US: u64 = 1_000;
const MS: u64 = 1_000_000;
/// Length of a step.
const STEP: u64 = 10 * MS;

/// A recording of `tasks` ranks over `steps` steps.
pub(crate) fn recording(tasks: u32, steps: u64) -> Memory {
    let mut memory = Memory {
        names: ["", "region solver.c:120", "barrier solver.c:131"]
            .map(str::to_owned)
            .to_vec(),
        ..Memory::default()
    };
    for number in 0..tasks {
        let (intervals, marks) = task(number, steps);
        memory.tasks.push(Task {
            id: TaskId(number),
            kind: TaskKind::Thread,
            process: 1_000 + number,
            parent: 0,
            os_id: 1_000 + number,
            program: "heat".to_owned(),
            rank: Some(number),
            node: None,
            openmp_thread: None,
            host: "alpha".to_owned(),
            begin: 0,
            end: steps * STEP,
            ending: Ending::Exit,
        });
        memory.intervals.push(intervals);
        memory.marks.push(marks);
    }
    memory
}

/// The last task does things of its own time.
fn task(number: u32, steps: u64) -> (Vec<Interval>, Vec<Mark>) {
    let mut intervals: Vec<Interval> = Vec::new();
    let mut marks = Vec::new();
    let mut at = 0;
    let mut stay = |until: u64, activity, suspended, counts: &[(Counter, u64)]| {
        let mut all = Counts::ZERO;
        for (counter, count) in counts {
            all[*counter] = *count;
        }
        intervals.push(Interval {
            begin: at,
            end: until,
            state: State {
                activity,
                suspended,
            },
            cause: Cause::NONE,
            counts: all,
            merged: 1,
        });
        at = until;
    };
    for step in 0..steps {
        let begin = step * STEP;
        // Nobody is quite like another, and no step like the one before.
        let jitter = u64::from(number * 7_919 % 13) * 20 * US + step * 104_729 % 11 * 15 * US;
        marks.push(Mark {
            at: begin + 1,
            kind: MarkKind::RegionBegin,
            name: 1,
        });
        let burst = if step == 0 {
            4_000
        } else {
            150 + 37 * (step % 3)
        };
        stay(
            begin + MS + jitter,
            Activity::Compute,
            false,
            &[(Counter::MinorFaults, burst)],
        );
        stay(begin + 4 * MS, Activity::Compute, false, &[]);
        let reads = if step % 3 == 0 { 240 } else { 0 };
        let io = [
            (Counter::PageIns, reads),
            (Counter::MajorFaults, reads / 8),
            (Counter::BytesRead, reads * 4_096),
            (Counter::IoCalls, 3),
        ];
        stay(begin + 5 * MS + jitter, Activity::Io, true, &io);
        stay(
            begin + 8 * MS,
            Activity::Compute,
            false,
            &[(Counter::MinorFaults, 2)],
        );
        let waits = step % 2 == 0;
        stay(
            begin + STEP,
            Activity::Communication,
            waits,
            &[(Counter::VoluntarySwitches, u64::from(waits))],
        );
        for (kind, name) in [(MarkKind::Barrier, 2), (MarkKind::RegionEnd, 1)] {
            marks.push(Mark {
                at: begin + STEP - 1,
                kind,
                name,
            });
        }
    }
    (intervals, marks)
}

/// The facts of a recording.
pub(crate) fn facts(memory: &Memory) -> PagingFacts {
    let settings = Settings {
        bins: 1_024,
        keep_published: true,
        ..Settings::default()
    };
    let Ok(bins) = Bins::read(memory, &settings);
    let analysis = analyse(&bins, &settings);
    let mut facts = PagingFacts {
        program: "heat".to_owned(),
        lanes: None,
        recording: Circumstances {
            command: vec!["./heat".to_owned(), "--size".to_owned(), "1000".to_owned()],
            machine: None,
            fathomp: "0.1.0".to_owned(),
            started_unix_ns: 1_700_000_000_000_000_000,
            writer: "shared".to_owned(),
            sampling_ns: Some(MS),
            hosts: vec!["alpha".to_owned()],
            part: String::new(),
            deviations: Vec::new(),
            io_calls: Some((88, 100)),
            merged: 0,
            lost: 0,
            problems: vec!["88 of 100 I/O calls were seen (88 %).".to_owned()],
        },
        faults: None,
        memory: None,
        intrusion: None,
        advice: Vec::new(),
        bins: Some(bins),
        analysis,
    };
    let places = fathomp_paging_pages::tasks_shown(&facts, 48);
    let (origin, window) = (facts.analysis.origin_ns, facts.analysis.window);
    let Ok(lanes) = Lanes::read(memory, origin, &window, &places, 1_024);
    facts.lanes = Some(lanes);
    facts
}

/// Everything that there can be.
pub(crate) fn whole(tasks: u32) -> PagingFacts {
    let mut paging = facts(&recording(tasks, 40));
    paging.faults = Some(fault_facts(&faults("/usr/lib/libheat.so")));
    paging.memory = Some(memory());
    paging.intrusion = Some(intrusion());
    paging
}

/// A file of faults: an array that is touched in order, twice, and a library.
pub(crate) fn faults(library: &str) -> FaultsFile {
    let mut bytes = Vec::new();
    let note = FaultsNote {
        host: "alpha".to_owned(),
        presence_known: true,
        ..FaultsNote::default()
    };
    let mut writer = FaultsWriter::new(&mut bytes, 1 << 30, note).expect("memory has room");
    let mapping = |start, end, name: &str| {
        FaultEvent::Mapping(Mapping {
            at: 0,
            process: 1_000,
            start,
            end,
            offset: 0,
            protection: 3,
            flags: 2,
            name: name.to_owned(),
        })
    };
    let array = 0x7f00_0000_0000;
    let mut events = vec![
        mapping(0x5500_0000_0000, 0x5500_0010_0000, library),
        mapping(array, array + (2_000 << 12), "//anon"),
    ];
    for round in 0..2 {
        for page in 0..2_000 {
            events.push(FaultEvent::Fault(Fault {
                at: round * 200 * MS + page * 60 * US,
                process: 1_000,
                thread: 1_000,
                address: array + (page << 12),
                instruction: 0x5500_0000_1000 + round * 0x40,
                found: if round == 0 {
                    Found::Nothing
                } else {
                    Found::Page
                },
            }));
        }
    }
    for event in &events {
        writer.put(event).expect("memory has room");
    }
    writer.finish().expect("memory has room");
    FaultsFile::new(bytes).expect("what was written can be read")
}

fn memory() -> MemoryCurve {
    let run = |limit_mib: Option<u64>, seconds: f64, is_killed: bool| MemoryRun {
        limit_bytes: limit_mib.map(|mib| mib << 20),
        wall_ns: (seconds * 1e9) as u64,
        slow_down: (!is_killed).then_some(seconds / 2.0),
        major_faults: Some((seconds * 1_000.0) as u64),
        page_ins: (seconds * 4_000.0) as u64,
        peak_bytes: Some(limit_mib.unwrap_or(600) << 20),
        is_killed,
    };
    MemoryCurve {
        runs: vec![
            run(None, 2.0, false),
            run(Some(512), 2.1, false),
            run(Some(256), 7.5, false),
            run(Some(128), 31.0, false),
            run(Some(64), 1.0, true),
        ],
        sentence: "Without a limit the program uses up to 600M. The knee is between 512M and 256M: with 256M it takes 3.8 times as long.".to_owned(),
    }
}

fn intrusion() -> Document {
    let json = serde_json::json!({
        "schema": "fathomp.intrusion", "version": 1,
        "machine": fathomp_bench::synthetic::epcc().machine,
        "subject": {"benchmark": "heat", "class": "", "options": []},
        "seed": 1, "rounds": [], "skipped": [], "warnings": ["Only 3 rounds."],
        "published": fathomp_bench::intrusion::published(),
        "rows": [{
            "writer": "shared", "benchmark": "heat", "class": "", "counted": "ranks",
            "nodes": 8, "nodes_profiled": 8, "seconds_without": 2.0, "seconds_with": 2.04,
            "trace_bytes_per_node": 81_920, "intrusion": {"value": 2.0, "interval": {"low": 0.5, "high": 3.1}},
            "user_seconds_without": 2.0, "user_seconds_with": 2.0, "user_intrusion": null,
            "state_changes": 1_000, "merged": 0, "lost": 0, "pairs": 3,
        }],
    });
    serde_json::from_value(json).expect("the document's fields")
}

/// Recordings that are hardly any, or say what cannot be.
pub(crate) fn odd() -> Vec<PagingFacts> {
    let mut all = vec![facts(&Memory::default())];
    // A task without a life, and one with a single event.
    let mut one = recording(1, 1);
    one.intervals[0].truncate(1);
    one.intervals[0][0].counts = Counts::ZERO;
    one.intervals[0][0].counts[Counter::MinorFaults] = 1;
    all.push(facts(&one));
    one.intervals[0].clear();
    one.marks[0].clear();
    one.tasks[0].end = 0;
    all.push(facts(&one));
    // Names that are markup, and barriers without one.
    let mut hostile = recording(3, 5);
    hostile.names = HOSTILE.iter().map(|name| (*name).to_owned()).collect();
    for task in &mut hostile.tasks {
        task.rank = None;
        task.program = HOSTILE[0].to_owned();
        task.host = HOSTILE[1].to_owned();
    }
    let mut hostile = facts(&hostile);
    hostile.program = HOSTILE[0].to_owned();
    hostile.recording.problems = HOSTILE.map(str::to_owned).to_vec();
    hostile.recording.command = HOSTILE.map(str::to_owned).to_vec();
    hostile.recording.hosts = HOSTILE.map(str::to_owned).to_vec();
    hostile.recording.part = HOSTILE[0].to_owned();
    hostile.faults = Some(fault_facts(&faults(&format!("/{}", HOSTILE[0]))));
    all.push(hostile);
    // The largest numbers.
    let mut large = recording(2, 30);
    for interval in large.intervals.iter_mut().flatten() {
        interval.counts = Counts([u64::MAX; Counter::COUNT]);
    }
    large.tasks[1].end = u64::MAX;
    if let Some(last) = large.intervals[1].last_mut() {
        last.end = u64::MAX;
    }
    let mut large = facts(&large);
    large.recording.io_calls = Some((u64::MAX, u64::MAX));
    (large.recording.merged, large.recording.lost) = (u64::MAX, u64::MAX);
    large.memory = Some(MemoryCurve {
        runs: vec![
            MemoryRun {
                wall_ns: u64::MAX,
                limit_bytes: Some(u64::MAX),
                slow_down: Some(f64::MAX),
                ..MemoryRun::default()
            };
            3
        ],
        sentence: String::new(),
    });
    all.push(large);
    all
}
