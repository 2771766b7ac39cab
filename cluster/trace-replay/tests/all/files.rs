//! Files of accesses: what is written comes back, and nothing else is taken for
//! one.

use crate::common::{HOME, HOMELESS, program, read, setting, thread, write};
use fathomp_access_trace::{AccessError, Accesses, End, ReadError, Run, Step};
use fathomp_protocols::{Access, PageRange};
use fathomp_trace::dsm::DsmCount;
use fathomp_trace_replay::replay;
use fathomp_types::PageId;
use proptest::prelude::*;

fn sample() -> Accesses {
    let one = |first| {
        thread(&[
            (
                &[read(first, 3), write(first + 1, 2, 520)][..],
                1500,
                End::Acquire(9),
            ),
            (&[], 0, End::Release(9)),
            (&[write(7, 1, 24)], 10, End::Barrier),
            (&[], 3, End::Put(1, 2)),
            (&[], 3, End::Flush),
            (&[], 0, End::Exit),
        ])
    };
    let mut accesses = program(12, vec![one(0), one(4)]);
    accesses.threads[0].steps[2].order_bytes = 77;
    accesses.threads[0].steps[2].region = 5;
    accesses
}

fn text(accesses: &Accesses) -> String {
    let mut bytes = Vec::new();
    fathomp_access_trace::write(accesses, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

fn error(text: &str) -> ReadError {
    fathomp_access_trace::read(text.as_bytes()).unwrap_err()
}

#[test]
fn what_is_written_comes_back() {
    let accesses = sample();
    let again = fathomp_access_trace::read(text(&accesses).as_bytes()).unwrap();
    assert_eq!(again, accesses);
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let text = text(&sample());
    // Without the last newline it is whole.
    for end in 0..text.len() - 1 {
        assert!(
            fathomp_access_trace::read(&text.as_bytes()[..end]).is_err(),
            "{end}"
        );
    }
    let lines: Vec<_> = text.lines().collect();
    let without_last = lines[..lines.len() - 1].join("\n");
    assert!(matches!(
        error(&without_last),
        ReadError::Access(AccessError::NoExit { thread: 1 })
    ));
    let one_thread = lines[..lines
        .iter()
        .rposition(|l| l.contains("\"thread\""))
        .unwrap()]
        .join("\n");
    assert!(matches!(
        error(&one_thread),
        ReadError::Cut {
            thread: 1,
            threads: 2
        }
    ));
}

#[test]
fn what_a_program_accessed_that_ended_in_its_midst_is_kept_to_the_last_barrier() {
    let text = text(&sample());
    let lines: Vec<_> = text.lines().collect();
    let second = lines.iter().position(|l| *l == "{\"thread\":1}").unwrap();
    for end in second + 1..=lines.len() {
        let kept = lines[..end].join("\n");
        let (accesses, barriers) = fathomp_access_trace::read_cut(kept.as_bytes()).unwrap();
        let passed = lines[second..end].iter().any(|l| l.contains("barrier"));
        assert_eq!(barriers, usize::from(passed), "{end}");
        let work_ns = if passed { 2 * 1510 } else { 0 };
        assert_eq!(accesses.work_ns(), work_ns, "{end}");
    }
    let one_thread = lines[..second].join("\n");
    assert!(fathomp_access_trace::read_cut(one_thread.as_bytes()).is_err());
}

#[test]
fn what_is_wrong_is_said() {
    let good = text(&sample());
    for (from, to, said) in [
        (
            "\"version\":1",
            "\"version\":2",
            "only version 1 is understood",
        ),
        ("fathomp.accesses", "fathomp.cluster", "no file of accesses"),
        (
            "{\"thread\":1}",
            "{\"thread\":7}",
            "thread 7 begins where thread 1 of 2 should",
        ),
        ("{\"thread\":0}\n", "", "belongs to no thread"),
        (
            "[4,3]",
            "[4,30]",
            "thread 1 touches page 33, and there are 12",
        ),
        ("[4,3]", "[4,0]", "a run has no pages"),
        ("520", "5200", "a diff of 5200 bytes"),
        ("520", "-1", "makes no sense"),
        ("\"set\":0,", "\"set\":99,", "of set 99"),
        ("\"release\":9", "\"release\":8", "which it does not hold"),
        ("\"release\":9", "\"acquire\":9", "holds lock 9"),
        ("\"at\":0", "\"at\":2", "at home at node 2"),
        ("\"pages\":12", "\"pages\":6", "touches page"),
        ("\"work_ns\":1500", "\"work_ns\":-5", "line"),
        ("\"flush\"", "\"flash\"", "makes no sense"),
        (
            "\"exit\"}}\n{\"thread\":1}",
            "\"flush\"}}\n{\"thread\":1}",
            "thread 0 does not end",
        ),
    ] {
        assert!(good.contains(from), "{from}");
        let said_instead = error(&good.replacen(from, to, 1)).to_string();
        assert!(said_instead.contains(said), "{to}: {said_instead}");
        assert!(!said_instead.contains('\n'), "{said_instead}");
    }
    for nothing in ["", "\n", "hello", "[1]", "{}", "\u{0}"] {
        assert!(matches!(error(nothing), ReadError::Schema), "{nothing}");
    }
    let not_text = fathomp_access_trace::read(&[b"{\"schema\"", &[0xff, 0xfe][..]].concat()[..]);
    assert!(matches!(not_text, Err(ReadError::Io { line: 1, .. })));
}

#[test]
fn threads_that_would_wait_for_each_other_are_named() {
    let mut accesses = sample();
    let barrier = accesses.threads[1].steps[2];
    for _ in 0..2 {
        accesses.threads[1].steps.insert(3, barrier);
    }
    let wrong = AccessError::Barriers {
        thread: 1,
        barriers: 3,
        first: 1,
    };
    assert_eq!(accesses.check(), Err(wrong));
    // One more is the wait for work.
    accesses.threads[1].steps.remove(3);
    assert_eq!(accesses.check(), Ok(()));
}

/// Whether a thread had begun to wait when the first one ended is chance.
#[test]
fn who_waits_for_work_at_the_end_waits_for_nothing() {
    let without = sample();
    let mut with = without.clone();
    let steps = &mut with.threads[1].steps;
    let exit = steps.len() - 1;
    let waits = Step {
        end: End::Barrier,
        ..steps[exit]
    };
    steps.insert(exit, waits);
    assert_eq!(with.check(), Ok(()));
    let read = fathomp_access_trace::read(text(&with).as_bytes()).unwrap();
    assert_eq!(read, without);
}

#[test]
fn times_that_would_overflow_are_refused() {
    let mut accesses = sample();
    for thread in &mut accesses.threads {
        thread.steps[0].work_ns = Accesses::WORK_NS_MAX / 2 + 1;
    }
    assert_eq!(accesses.check(), Err(AccessError::TooLong));
    accesses.threads[0].steps[0].work_ns = 0;
    assert_eq!(accesses.check(), Ok(()));
}

fn runs() -> impl Strategy<Value = Vec<Run>> {
    let run = (0..40_u32, 1..8_u32, any::<bool>(), 8..4616_u32);
    let run = run.prop_map(|(first, pages, written, diff_bytes)| Run {
        access: if written { Access::Write } else { Access::Read },
        pages: PageRange::new(PageId(first), pages).unwrap(),
        diff_bytes: if written { diff_bytes } else { 0 },
    });
    prop::collection::vec(run, 0..4)
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(lines in prop::collection::vec("[ -~]{0,60}", 0..6), good in 0..8_usize) {
        let sample = text(&sample());
        let kept: Vec<_> = sample.lines().take(good).map(str::to_owned).chain(lines).collect();
        if let Ok(accesses) = fathomp_access_trace::read(kept.join("\n").as_bytes()) {
            prop_assert_eq!(accesses.check(), Ok(()));
        }
    }

    /// Programs with barriers, a lock and flushes end, on any number of nodes, also if threads
    /// read what others write at the same time.
    #[test]
    fn programs_that_end_are_replayed(
        threads in prop::collection::vec(prop::collection::vec((runs(), 0..5000_u64, 0..3_u8), 3), 1..6),
        nodes in 1..6_u16,
    ) {
        let threads = threads.iter().map(|rounds| {
            let mut intervals: Vec<(&[Run], u64, End)> = Vec::new();
            for (runs, work_ns, kind) in rounds {
                match kind {
                    0 => {
                        intervals.push((&[], 0, End::Acquire(1)));
                        intervals.push((runs, *work_ns, End::Release(1)));
                        intervals.push((runs, 0, End::Barrier));
                    }
                    1 => {
                        intervals.push((runs, *work_ns, End::Flush));
                        intervals.push((runs, *work_ns, End::Barrier));
                    }
                    _ => intervals.push((runs, *work_ns, End::Barrier)),
                }
            }
            intervals.push((&[], 0, End::Exit));
            thread(&intervals)
        });
        let accesses = program(48, threads.collect());
        let nodes = nodes.min(accesses.threads.len() as u16);
        for sharing in [HOME, HOMELESS] {
            let once = replay(&accesses, &setting(nodes, sharing));
            prop_assert!(once.is_ok(), "{:?}", once);
            let all = once.as_ref().map(fathomp_trace_replay::Outcome::all).unwrap_or_default();
            prop_assert!(all.least_bytes <= all.counts[DsmCount::BytesSent], "{:?}", all);
            prop_assert_eq!(once, replay(&accesses, &setting(nodes, sharing)));
        }
    }
}
