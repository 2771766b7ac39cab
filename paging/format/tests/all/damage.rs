//! Recordings that are cut, damaged or odd are read as far as they go, and what is
//! missing is said.

use fathomp_paging::pack::TaskPacker;
use fathomp_paging::reader::{OpenError, Recording, View, VisitError};
use fathomp_paging::stream::{self, BY_INTERPOSER, EndNote, Kind, PROCESS, ProcessNote, TaskNote};
use fathomp_paging::testing::Builder;
use fathomp_paging::{Activity, Cause, Counter, Interval, MarkKind, PagingMeta, State, TaskId};
use fathomp_types::{Clock, Ticks};
use proptest::prelude::*;

use crate::common::{META, faults, open, put_task, stream_of};

/// A small recording of one task with everything in it, in several blocks.
fn small() -> (String, Vec<u8>) {
    let mut builder = Builder::new();
    let read = builder.name("read");
    builder
        .task()
        .stay(1_000, State::active(Activity::Compute), faults(3))
        .mark(1_000, MarkKind::Barrier, read)
        .stay_in(1_500, State::active(Activity::Io), read, faults(1))
        .cut()
        .sample(400, faults(2))
        .sample(1_200, faults(2))
        .gap(1_700)
        .stay(2_000, State::active(Activity::Communication), faults(4))
        .cut()
        .merge(100)
        .stay(2_350, State::active(Activity::Compute), faults(10));
    builder.streams().remove(0)
}

/// Opens, visits everything and checks what always holds; gives the faults.
fn check(recording: &Recording) -> u64 {
    let mut sum = 0;
    for task in recording.tasks() {
        assert!(task.begin <= task.end);
        let mut last = 0;
        let visited = recording.visit(task.id, |interval| {
            assert!(last <= interval.begin && interval.begin <= interval.end);
            let is_named = recording.names().len() > interval.cause.0 as usize;
            assert!(is_named || interval.cause == Cause::UNSEEN);
            last = interval.end;
            sum += interval.counts[Counter::MinorFaults];
        });
        let visited = visited.expect("blocks that were sound");
        let _ = visited.problems("it");
        let view = View {
            from: 1_100,
            to: 1_900,
            ..View::ALL
        };
        recording
            .visit_part(task.id, view, |interval| {
                assert!(interval.begin < 1_900);
            })
            .expect("blocks that were sound");
        recording.marks(task.id).expect("blocks that were sound");
    }
    for problem in recording.problems() {
        assert!(problem.ends_with(['.', ')']), "{problem}");
    }
    sum
}

#[test]
fn the_whole_is_whole() {
    let recording = open(small());
    assert_eq!(check(&recording), 18);
    let [merged] = recording.problems() else {
        panic!("{:?}", recording.problems());
    };
    assert!(
        merged.contains("1 stay of 1 task were merged from 2.00 µs on"),
        "{merged}"
    );
}

#[test]
fn a_stream_cut_at_any_byte_is_read() {
    let (name, bytes) = small();
    let mut last = 0;
    for cut in 0..bytes.len() {
        let recording = open((name.clone(), bytes[..cut].to_vec()));
        let sum = check(&recording);
        assert!(sum >= last, "less at byte {cut}");
        last = sum;
        // Something is said of what is missing, unless all that is missing is the
        // last note, or the cut is between blocks.
        if sum < 18 {
            assert!(!recording.problems().is_empty(), "nothing is said at {cut}");
        }
    }
    assert_eq!(last, 18);
}

#[test]
fn a_damaged_byte_costs_its_block_and_is_said() {
    let (name, bytes) = small();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x21;
        let recording = open((name.clone(), damaged));
        check(&recording);
        // That stays were merged is always said, unless the whole is left out. The
        // bytes after the version mean nothing.
        let enough = match at {
            0..12 => 1,
            12..16 => 0,
            _ => 2,
        };
        assert!(
            recording.problems().len() >= enough,
            "nothing is said of byte {at}: {:?}",
            recording.problems()
        );
    }
}

/// The same blocks, with sound checksums around damaged contents.
fn reframed(bytes: &[u8], damage: impl Fn(usize, &mut Vec<u8>)) -> Vec<u8> {
    let mut out = stream::start().to_vec();
    let blocks = fathomp_blocks::Blocks::new(&bytes[fathomp_blocks::START_BYTES..]);
    for (number, piece) in blocks.enumerate() {
        if let fathomp_blocks::Piece::Block(block) = piece {
            let mut payload = block.payload.to_vec();
            damage(number, &mut payload);
            fathomp_blocks::put(&mut out, block.kind, block.origin, &payload);
        }
    }
    out
}

proptest! {
    #[test]
    fn contents_that_make_no_sense_are_read_without_panic(
        damage in proptest::collection::vec((0_usize..12, any::<u16>(), any::<u8>()), 0..8),
        cut in proptest::option::of((0_usize..12, any::<u16>())),
    ) {
        let (name, bytes) = small();
        let bytes = reframed(&bytes, |number, payload| {
            for &(block, at, byte) in &damage {
                if block == number && !payload.is_empty() {
                    let at = usize::from(at) % payload.len();
                    payload[at] = byte;
                }
            }
            if let Some((block, at)) = cut && block == number {
                payload.truncate(usize::from(at) % (payload.len() + 1));
            }
        });
        check(&open((name, bytes)));
    }

    #[test]
    fn any_bytes_as_blocks_are_read_without_panic(
        blocks in proptest::collection::vec(
            (0_u32..10, 0_u32..3, prop_oneof![0_u32..3, Just(PROCESS)], any::<u64>(),
             proptest::collection::vec(any::<u8>(), 0..60)),
            0..12,
        ),
        meta in proptest::collection::vec(any::<u8>(), 0..40),
    ) {
        let mut bytes = stream::start().to_vec();
        for (kind, source, owner, position, payload) in blocks {
            let origin = fathomp_blocks::Origin { source, owner, position };
            fathomp_blocks::put(&mut bytes, kind, origin, &payload);
        }
        check(&open(("7-0.fthp".to_owned(), bytes.clone())));
        check(&Recording::from_bytes(Some(&meta), [("x".to_owned(), bytes)]).expect("a recording"));
    }

    #[test]
    fn any_bytes_as_a_stream_are_read_without_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..300), starts: bool,
    ) {
        let mut stream = if starts { stream::start().to_vec() } else { Vec::new() };
        stream.extend(bytes);
        check(&open(("1-2.3.fthp".to_owned(), stream)));
    }
}

#[test]
fn what_cannot_be_a_recording_is_refused_with_a_sentence() {
    let none = Recording::from_bytes(None, []);
    assert!(matches!(none, Err(OpenError::NotARecording(_))));
    let later = Recording::from_bytes(Some(br#"{"format": 99}"#), []).unwrap_err();
    assert!(later.to_string().contains("format 99"), "{later}");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let missing = Recording::open(&directory.path().join("none")).unwrap_err();
    assert!(missing.to_string().contains("does not exist"), "{missing}");
    let empty = Recording::open(directory.path()).unwrap_err();
    assert!(matches!(empty, OpenError::NotARecording(_)));
    let file = directory.path().join("file");
    std::fs::write(&file, b"x").expect("a file");
    assert!(matches!(
        Recording::open(&file),
        Err(OpenError::NotARecording(_))
    ));
}

#[test]
fn a_recording_whose_recorder_was_killed_is_read() {
    let recording = Recording::from_bytes(None, [small()]).expect("a recording");
    assert_eq!(check(&recording), 18);
    let problems = recording.problems().join(" ");
    assert!(problems.contains("meta.json is missing"), "{problems}");
}

#[test]
fn empty_and_foreign_files_are_named() {
    let (name, bytes) = small();
    let recording = Recording::from_bytes(
        Some(META),
        [
            (name, bytes),
            ("8-0.fthp".to_owned(), Vec::new()),
            (
                "9-0.fthp".to_owned(),
                b"some text that is no stream".to_vec(),
            ),
        ],
    )
    .expect("a recording");
    assert_eq!(recording.tasks().len(), 1);
    let problems = recording.problems().join("\n");
    assert!(problems.contains("8-0.fthp holds nothing"), "{problems}");
    assert!(
        problems.contains("9-0.fthp was left out: it is not a stream"),
        "{problems}"
    );
}

#[test]
fn unknown_kinds_of_blocks_are_skipped_and_counted() {
    let (name, mut bytes) = small();
    fathomp_blocks::put(&mut bytes, 77, fathomp_blocks::Origin::default(), b"later");
    let recording = open((name, bytes));
    assert_eq!(check(&recording), 18);
    let problems = recording.problems().join("\n");
    assert!(
        problems.contains("1 block was left out of a kind"),
        "{problems}"
    );
}

#[test]
fn clocks_without_length_are_guessed_and_said() {
    let note = ProcessNote {
        clock: Some(Clock {
            nanos_per_tick: 0.0,
            ..Clock::NANOS
        }),
        ..ProcessNote::default()
    };
    let stream = stream_of(1, &note, |bytes| {
        put_task(bytes, 0, &TaskNote::default(), 3)
    });
    let recording = open(stream);
    assert_eq!(check(&recording), 3);
    assert!(recording.problems()[0].contains("its times are guessed"));
}

#[test]
fn blocks_that_overlap_are_cut_and_said() {
    let (name, bytes) = stream_of(1, &ProcessNote::default(), |bytes| {
        for (position, begin) in [(1, 0), (2, 500)] {
            let mut packer = TaskPacker::new(0, Ticks(begin));
            packer.change(Ticks(begin + 1_000), State::ALL[0], Cause::NONE, &faults(5));
            let block = packer.seal().expect("a block").to_vec();
            let (block, _) = fathomp_blocks::read(&block).expect("a sound block");
            let origin = fathomp_blocks::Origin {
                position,
                ..block.origin
            };
            fathomp_blocks::put(bytes, block.kind, origin, block.payload);
        }
    });
    let recording = open((name, bytes));
    assert_eq!(check(&recording), 10);
    let mut times = Vec::new();
    recording
        .visit(TaskId(0), |stay| times.push((stay.begin, stay.end)))
        .expect("sound blocks");
    assert_eq!(times, [(0, 1_000), (1_000, 1_500)]);
    let problems = recording.problems().join("\n");
    assert!(
        problems.contains("run backwards between blocks, once"),
        "{problems}"
    );
}

#[test]
fn what_packers_counted_is_told() {
    let end = EndNote {
        merged_early: 3,
        marks_left_out: 1,
        changes_lost: 2,
        clock_went_back: 1,
        counters_went_back: 2,
        disk_full: true,
        ..EndNote::default()
    };
    let note = ProcessNote {
        io_calls_seen: Some(50),
        io_calls_made: Some(100),
        problems: vec!["It cleared its environment.".to_owned()],
        ..ProcessNote::default()
    };
    let stream = stream_of(1, &note, |bytes| {
        stream::put_note(bytes, Kind::End, BY_INTERPOSER, PROCESS, 1, &end);
    });
    let recording = open(stream);
    let problems = recording.problems().join("\n");
    for said in [
        "It cleared its environment.",
        "3 stays were merged with others because a ring was full",
        "1 mark was left out",
        "2 changes were",
        "run backwards once",
        "run backwards twice",
        "disk was full",
        "50 of 100 I/O calls were seen (50 %)",
    ] {
        assert!(problems.contains(said), "{said:?} is not said:\n{problems}");
    }
    assert_eq!(recording.io_calls(), (50, 100));
}

#[test]
fn a_recording_on_disk_is_read_block_by_block_and_watched() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let paging = directory.path().join("paging");
    std::fs::create_dir(&paging).expect("a directory");
    PagingMeta::default().write(&paging).expect("a meta.json");
    let (name, mut bytes) = small();
    let path = paging.join(name);
    std::fs::write(&path, &bytes).expect("a stream");
    let recording = Recording::open(directory.path()).expect("a recording");
    assert_eq!(recording.meta().format, 1);
    assert_eq!(check(&recording), 18);
    let last = bytes.len() - 100;
    bytes.truncate(last / 2);
    std::fs::write(&path, &bytes).expect("a stream");
    let changed = recording.visit(TaskId(0), |_: &Interval| {}).unwrap_err();
    assert!(matches!(changed, VisitError::Changed { .. }), "{changed}");
    std::fs::remove_file(&path).expect("a stream");
    let gone = recording.visit(TaskId(0), |_| {}).unwrap_err();
    assert!(matches!(gone, VisitError::Unreadable { .. }), "{gone}");
    let none = recording.visit(TaskId(9), |_| {}).unwrap_err();
    assert!(none.to_string().contains("no task number 9"), "{none}");
}

#[test]
fn blocks_that_are_there_twice_are_read_once() {
    let (name, mut bytes) = small();
    let blocks = bytes[fathomp_blocks::START_BYTES..].to_vec();
    bytes.extend(blocks);
    let recording = open((name, bytes));
    assert_eq!(check(&recording), 18);
    let problems = recording.problems().join("\n");
    assert!(
        problems.contains("4 blocks were left out that were there twice"),
        "{problems}"
    );
}

#[test]
fn later_sums_take_the_place_of_earlier_ones() {
    let mut packer = TaskPacker::new(0, Ticks(0));
    packer.merge(Ticks(10));
    let mut written = Vec::new();
    let (name, bytes) = stream_of(1, &ProcessNote::default(), |bytes| {
        for number in 1..=50 {
            packer.change(
                Ticks(number * 100),
                State::ALL[0],
                Cause::NONE,
                &faults(number),
            );
            packer.put_bins(bytes);
            written.push(bytes.len());
        }
        stream::put_note(bytes, Kind::End, BY_INTERPOSER, 0, 1, &packer.end_note());
    });
    let whole = open((name.clone(), bytes.clone()));
    assert_eq!(check(&whole), 50 * 51 / 2);
    assert!(!whole.problems().join("\n").contains("missing"));
    // Of a writer that was killed, the sums that it wrote last count; and if the last
    // are damaged, those before, and that is said.
    let cut = open((name.clone(), bytes[..written[29] + 7].to_vec()));
    assert_eq!(check(&cut), 30 * 31 / 2);
    let mut damaged = bytes;
    damaged[written[48] + 40] ^= 1;
    let damaged = open((name, damaged));
    assert_eq!(check(&damaged), 49 * 50 / 2);
    let problems = damaged.problems().join("\n");
    assert!(
        problems.contains("Of merged stays 1 is missing"),
        "{problems}"
    );
}
