//! Processes and their tasks, names and clocks, however they are spread over streams.

use fathomp_paging::pack::{SamplePacker, TaskPacker};
use fathomp_paging::reader::Recording;
use fathomp_paging::stream::{
    self, BY_INTERPOSER, BY_SAMPLER, EndNote, Kind, NamesNote, PROCESS, ProcessNote, TaskNote,
    Totals,
};
use fathomp_paging::{Cause, Counter, Ending, HostClock, PagingMeta, State, TaskId, TaskKind};
use fathomp_types::{Clock, ClockReading, Ticks};

use crate::common::{META, faults, open, put_task, stream_of};

#[test]
fn striped_blocks_are_joined_in_order_and_missing_ones_said() {
    let mut packer = TaskPacker::new(0, Ticks(0));
    let mut stripes = vec![stream::start().to_vec(); 3];
    for number in 1..=30 {
        packer.change(
            Ticks(number * 10),
            State::ALL[0],
            Cause::NONE,
            &faults(number),
        );
        let block = packer.seal().expect("a block");
        stripes[(number as usize * 7) % 3].extend_from_slice(block);
    }
    let end = packer.end_note();
    stream::put_note(&mut stripes[1], Kind::End, BY_INTERPOSER, 0, 1, &end);
    let note = ProcessNote {
        ending: Some(Ending::Exit),
        clock: Some(Clock::NANOS),
        ..ProcessNote::default()
    };
    stream::put_note(
        &mut stripes[0],
        Kind::Process,
        BY_INTERPOSER,
        PROCESS,
        1,
        &note,
    );
    let named = |stripes: Vec<Vec<u8>>| {
        let parts = stripes.into_iter().enumerate();
        parts.map(|(part, bytes)| (stream::file_name(5, Ticks(1), Some(part as u32)), bytes))
    };
    let whole = Recording::from_bytes(Some(META), named(stripes.clone())).expect("a recording");
    assert!(whole.problems().is_empty(), "{:?}", whole.problems());
    assert_eq!((whole.tasks().len(), whole.tasks()[0].process), (1, 5));
    let mut seen = Vec::new();
    whole
        .visit(TaskId(0), |stay| {
            seen.push(stay.counts[Counter::MinorFaults])
        })
        .expect("sound blocks");
    assert_eq!(seen, (1..=30).collect::<Vec<_>>());

    stripes[2].truncate(fathomp_blocks::START_BYTES);
    let part = Recording::from_bytes(Some(META), named(stripes)).expect("a recording");
    let problems = part.problems().join("\n");
    // Numbers 2, 5, ... 29 were there.
    assert!(
        problems.contains("10 blocks between others are missing"),
        "{problems}"
    );
    assert!(
        problems.contains("Of written intervals 10 are missing"),
        "{problems}"
    );
}

#[test]
fn a_process_that_becomes_another_program_is_two() {
    let note = |program: &str, begin, ending| ProcessNote {
        program: Some(program.to_owned()),
        begin: Some(Ticks(begin)),
        ending: Some(ending),
        ..ProcessNote::default()
    };
    let thread = TaskNote {
        os_id: Some(4711),
        ..TaskNote::default()
    };
    let recording = Recording::from_bytes(
        Some(META),
        [
            stream_of(4711, &note("sh", 0, Ending::Exec), |bytes| {
                put_task(bytes, 0, &thread, 1);
            }),
            stream_of(4711, &note("gzip", 2_000_000, Ending::Exit), |bytes| {
                put_task(bytes, 0, &thread, 2);
            }),
        ],
    )
    .expect("a recording");
    let known: Vec<_> = recording
        .tasks()
        .iter()
        .map(|task| (task.label(), task.ending))
        .collect();
    assert_eq!(
        known,
        [
            ("sh[4711]".to_owned(), Ending::Exec),
            ("gzip[4711]".to_owned(), Ending::Exit)
        ]
    );
    assert_eq!(recording.processes().len(), 2);
}

#[test]
fn a_process_that_was_killed_is_said_and_its_last_samples_are_kept() {
    let (name, bytes) = stream_of(7, &ProcessNote::default(), |bytes| {
        put_task(bytes, 0, &TaskNote::default(), 2);
        let mut samples = SamplePacker::new(BY_INTERPOSER, 0, Ticks(0));
        for number in 1..=5 {
            samples.sample(Ticks(number * 1_000_000), &faults(10));
        }
        bytes.extend_from_slice(samples.seal().expect("a block"));
    });
    let recording = open((name, bytes));
    let task = &recording.tasks()[0];
    assert_eq!((task.ending, task.end), (Ending::Lost, 5_000_000));
    let problems = recording.problems().join("\n");
    assert!(problems.contains("Process 7 was killed"), "{problems}");
    let mut seen = Vec::new();
    recording
        .visit(task.id, |stay| {
            seen.push((stay.end, stay.counts[Counter::MinorFaults]))
        })
        .expect("sound blocks");
    // The intervals' counts as they are, then the samples that nothing else tells of.
    let ms = 1_000_000;
    assert_eq!(
        seen,
        [
            (ms, 1),
            (2 * ms, 1),
            (3 * ms, 10),
            (4 * ms, 10),
            (5 * ms, 10)
        ]
    );
}

#[test]
fn samplers_that_number_tasks_themselves_are_matched_by_thread_and_time() {
    let thread = |os_id, begin, end| TaskNote {
        os_id: Some(os_id),
        begin: Some(Ticks(begin)),
        end: Some(Ticks(end)),
        ending: Some(Ending::Exit),
        ..TaskNote::default()
    };
    let note = ProcessNote {
        ending: Some(Ending::Exit),
        ..ProcessNote::default()
    };
    let interposer = stream_of(7, &note, |bytes| {
        let names = NamesNote {
            first: 1,
            names: vec!["work".to_owned()],
        };
        stream::put_note(bytes, Kind::Names, BY_INTERPOSER, PROCESS, 0, &names);
        stream::put_note(bytes, Kind::End, BY_INTERPOSER, 0, 1, &EndNote::default());
        stream::put_note(bytes, Kind::End, BY_INTERPOSER, 1, 1, &EndNote::default());
        // The kernel gave the number 70 out twice.
        put_task(bytes, 0, &thread(70, 0, 2_000_000), 2);
        put_task(bytes, 1, &thread(70, 5_000_000, 9_000_000), 9);
    });
    let sampler = {
        let mut bytes = stream::start().to_vec();
        let of = thread(70, 5_500_000, 8_500_000);
        stream::put_note(&mut bytes, Kind::Task, BY_SAMPLER, 33, 1, &of);
        let mut samples = SamplePacker::new(BY_SAMPLER, 33, Ticks(5_500_000));
        samples.sample(Ticks(6_500_000), &faults(4));
        bytes.extend_from_slice(samples.seal().expect("a block"));
        (stream::file_name(7, Ticks(0), Some(9)), bytes)
    };
    let recording = Recording::from_bytes(Some(META), [interposer, sampler]).expect("a recording");
    assert_eq!(recording.tasks().len(), 2);
    let stays = |task| {
        let mut ends = Vec::new();
        recording
            .visit(task, |stay| ends.push(stay.end))
            .expect("sound blocks");
        ends
    };
    assert_eq!(stays(TaskId(0)).len(), 2);
    let second = stays(TaskId(1));
    assert_eq!(second.len(), 10);
    assert!(second.contains(&6_500_000), "{second:?}");
    assert!(
        recording.problems().is_empty(),
        "{:?}",
        recording.problems()
    );
}

#[test]
fn what_a_sampler_saw_of_a_process_goes_to_what_it_became() {
    let note = |program: &str, begin, end, ending| ProcessNote {
        program: Some(program.to_owned()),
        begin: Some(Ticks(begin)),
        end: Some(Ticks(end)),
        ending: Some(ending),
        ..ProcessNote::default()
    };
    let thread = |begin, end| TaskNote {
        os_id: Some(7),
        begin: Some(Ticks(begin)),
        end: Some(Ticks(end)),
        ..TaskNote::default()
    };
    let interposed = |note: &ProcessNote, begin, end| {
        stream_of(7, note, |bytes| {
            let mut packer = TaskPacker::new(0, Ticks(begin));
            packer.change(Ticks(end), State::ALL[0], Cause::NONE, &faults(100));
            bytes.extend_from_slice(packer.seal().expect("a block"));
            stream::put_note(bytes, Kind::Task, BY_INTERPOSER, 0, 1, &thread(begin, end));
            stream::put_note(bytes, Kind::End, BY_INTERPOSER, 0, 1, &packer.end_note());
        })
    };
    let sampler = {
        let mut bytes = stream::start().to_vec();
        let process = ProcessNote {
            pid: Some(7),
            program: Some("seen".to_owned()),
            clock: Some(Clock::NANOS),
            ..ProcessNote::default()
        };
        stream::put_note(&mut bytes, Kind::Process, BY_SAMPLER, PROCESS, 1, &process);
        for (number, kind) in [(0, TaskKind::Thread), (1, TaskKind::Sampled)] {
            let task = TaskNote {
                kind: Some(kind),
                ..thread(50, 950)
            };
            stream::put_note(&mut bytes, Kind::Task, BY_SAMPLER, number, 1, &task);
            let mut samples = SamplePacker::new(BY_SAMPLER, number, Ticks(50));
            for at in [150, 250, 450, 950] {
                let mut rise = faults(at);
                rise[Counter::ProcessSwapIns] = 10;
                samples.sample(Ticks(at), &rise);
            }
            bytes.extend_from_slice(samples.seal().expect("a block"));
        }
        (stream::file_name(7, Ticks(50), None), bytes)
    };
    let recording = Recording::from_bytes(
        Some(META),
        [
            interposed(&note("sh", 0, 400, Ending::Exec), 0, 400),
            interposed(&note("gzip", 400, 1_000, Ending::Exit), 400, 1_000),
            sampler,
        ],
    )
    .expect("a recording");
    assert!(
        recording.problems().is_empty(),
        "{:?}",
        recording.problems()
    );
    let programs: Vec<_> = recording
        .processes()
        .iter()
        .map(|one| &one.program)
        .collect();
    assert_eq!(programs, ["sh", "gzip"]);
    let tasks: Vec<_> = recording
        .tasks()
        .iter()
        .map(|task| (task.kind, task.label()))
        .collect();
    assert_eq!(
        tasks,
        [
            (TaskKind::Thread, "sh[7]".to_owned()),
            (TaskKind::Thread, "gzip[7]".to_owned()),
            (TaskKind::Sampled, "gzip[7]".to_owned()),
        ]
    );
    let mut swapped = Vec::new();
    for task in &recording.tasks()[..2] {
        let mut total = 0;
        recording
            .visit(task.id, |stay| {
                swapped.push((stay.begin, stay.end));
                total += stay.counts[Counter::MinorFaults];
            })
            .expect("sound blocks");
        assert_eq!(total, 100);
    }
    assert_eq!(
        swapped,
        [
            (0, 150),
            (150, 250),
            (250, 400),
            (400, 450),
            (450, 950),
            (950, 1_000)
        ]
    );
    let mut total = 0;
    for task in &recording.tasks()[..2] {
        recording
            .visit(task.id, |stay| {
                total += stay.counts[Counter::ProcessSwapIns]
            })
            .expect("sound blocks");
    }
    assert_eq!(total, 40, "what was sampled once is told once");
}

#[test]
fn names_of_processes_become_those_of_the_recording() {
    let name = |names: &[&str]| NamesNote {
        first: 1,
        names: names.iter().map(|&name| name.to_owned()).collect(),
    };
    let stream = |pid, names: &[&str]| {
        stream_of(pid, &ProcessNote::default(), |bytes| {
            stream::put_note(bytes, Kind::Names, BY_INTERPOSER, PROCESS, 0, &name(names));
            put_task(bytes, 0, &TaskNote::default(), 1);
        })
    };
    let streams = [
        stream(1, &["read"]),
        stream(2, &["write", "read"]),
        stream(3, &[]),
    ];
    let recording = Recording::from_bytes(Some(META), streams).expect("a recording");
    let cause = |task| {
        let mut name = "";
        recording
            .visit(TaskId(task), |stay| name = recording.name(stay.cause))
            .expect("sound blocks");
        name
    };
    assert_eq!((cause(0), cause(1), cause(2)), ("read", "write", ""));
    let problems = recording.problems().join("\n");
    assert!(
        problems.contains("names of up to 1 call are missing"),
        "{problems}"
    );
}

#[test]
fn hosts_and_later_begins_share_one_clock() {
    let clock = |zero, zero_unix_ns| Clock {
        zero: Ticks(zero),
        zero_unix_ns,
        nanos_per_tick: 0.5,
    };
    let meta = PagingMeta {
        format: 1,
        clock: Some(clock(1_000_000, 5_000_000)),
        hosts: vec!["a".to_owned(), "b".to_owned()],
        ..PagingMeta::default()
    };
    let meta = serde_json::to_vec(&meta).expect("a note");
    let note = |host: &str, zero, offset_ns| ProcessNote {
        host: Some(host.to_owned()),
        clock: Some(clock(zero, 9_000_000)),
        begin: Some(Ticks(zero)),
        offset_ns,
        ..ProcessNote::default()
    };
    let streams = [
        stream_of(1, &note("a", 3_000_000, None), |_| {}),
        stream_of(2, &note("b", 9, Some(2_000_000)), |_| {}),
        stream_of(3, &note("b", 7, None), |_| {}),
    ];
    let recording = Recording::from_bytes(Some(&meta), streams).expect("a recording");
    let begins: Vec<_> = recording
        .processes()
        .iter()
        .map(|process| (process.pid, process.begin))
        .collect();
    // By ticks, as told, by the time of day.
    assert_eq!(begins, [(1, 1_000_000), (2, 2_000_000), (3, 4_000_000)]);
    let problems = recording.problems().join("\n");
    assert!(
        problems.contains("The clock of process 3 on another host"),
        "{problems}"
    );
}

/// Two hosts whose processes have the same number, as containers' have, and call themselves alike.
#[test]
fn processes_of_hosts_are_told_apart_by_their_streams() {
    let clock = |zero| Clock {
        zero: Ticks(zero),
        zero_unix_ns: 5_000_000,
        nanos_per_tick: 1.0,
    };
    let beside = |first, here| HostClock {
        begin: Some(ClockReading {
            first,
            here,
            error_ns: 70,
        }),
        end: None,
    };
    let note = |zero| ProcessNote {
        pid: Some(1),
        host: Some("box".to_owned()),
        clock: Some(clock(zero)),
        begin: Some(Ticks(zero + 100)),
        ..ProcessNote::default()
    };
    let streams = || {
        [("h0-1-a", 1_000_000), ("h1-1-b", 50), ("h7-1-c", 9)].map(|(stem, zero)| {
            let (_, bytes) = stream_of(1, &note(zero), |_| {});
            (format!("{stem}.fthp"), bytes)
        })
    };
    let mut meta = PagingMeta {
        format: 1,
        clock: Some(clock(1_000_000)),
        hosts: vec!["north".to_owned(), "south".to_owned()],
        clocks: vec![HostClock::default(), beside(1_000_500, 30)],
        ..PagingMeta::default()
    };
    let open = |meta: &PagingMeta| {
        let meta = serde_json::to_vec(meta).expect("a note");
        let recording = Recording::from_bytes(Some(&meta), streams()).expect("a recording");
        let of = |host: &str| {
            let mut all = recording.processes().iter();
            let process = all
                .find(|process| process.host == host)
                .expect("its process");
            (process.begin, process.offset_error_ns)
        };
        let all = ["north", "south", "box"].map(of);
        (all, recording.problems().join("\n"))
    };
    let (found, problems) = open(&meta);
    // By the readings; one of no host of the run by the time of day.
    assert_eq!(found, [(100, None), (620, Some(70)), (100, None)]);
    assert_eq!(
        problems.matches("was not compared").count(),
        1,
        "{problems}"
    );
    meta.clocks.clear();
    let (found, problems) = open(&meta);
    assert_eq!(found, [(100, None), (100, None), (100, None)]);
    assert!(
        problems.contains("right to some milliseconds"),
        "{problems}"
    );
}

#[test]
fn a_part_is_compared_with_the_whole_by_totals() {
    let task = |selected, minor| TaskNote {
        selected: Some(selected),
        totals: Some(Totals {
            counts: faults(minor),
            ..Totals::default()
        }),
        ..TaskNote::default()
    };
    let stream = stream_of(1, &ProcessNote::default(), |bytes| {
        for number in 0..8 {
            let note = task(number == 0, if number == 0 { 300 } else { 100 });
            stream::put_note(bytes, Kind::Task, BY_INTERPOSER, number, 1, &note);
        }
        // Not a thread, so not a part of the whole.
        let machine = TaskNote {
            kind: Some(TaskKind::Sampled),
            ..TaskNote::default()
        };
        stream::put_note(bytes, Kind::Task, BY_INTERPOSER, 8, 1, &machine);
    });
    let recording = open(stream);
    assert_eq!(recording.part().expect("a part").to_string(), "1_8");
    assert!(recording.is_selected(TaskId(0)) && !recording.is_selected(TaskId(1)));
    let [found] = recording.deviations()[..] else {
        panic!("one counter rose");
    };
    assert_eq!((found.recorded_mean, found.mean), (300.0, 125.0));
    assert!(
        found.to_string().contains("140 % more minor faults"),
        "{found}"
    );
}

#[test]
fn a_recording_is_read_by_several_threads_at_once() {
    let stream = |pid| {
        stream_of(pid, &ProcessNote::default(), |bytes| {
            put_task(bytes, 0, &TaskNote::default(), 1_000);
        })
    };
    let recording = Recording::from_bytes(Some(META), (1..5).map(stream)).expect("a recording");
    let visit = |task| {
        let mut sum = 0;
        recording
            .visit(task, |stay| sum += stay.counts[Counter::MinorFaults])
            .expect("sound blocks");
        sum
    };
    std::thread::scope(|scope| {
        let visits = recording
            .tasks()
            .iter()
            .map(|task| scope.spawn(|| visit(task.id)));
        for visit in visits.collect::<Vec<_>>() {
            assert_eq!(visit.join().expect("no panic"), 1_000);
        }
    });
}
