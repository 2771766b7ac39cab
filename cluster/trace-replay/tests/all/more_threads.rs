//! Accesses at more threads than were recorded, told from fewer.

use crate::common::{HOME, PLAIN, read, setting, thread, write};
use fathomp_access_trace::{Accesses, End, Run, Step};
use fathomp_protocols::{Area, Placement};
use fathomp_trace_replay::{ExtrapolateError, extrapolate, replay};
use fathomp_types::NodeId;

const PAGES: u32 = 1024;

/// A grid in blocks, as `threads` nodes have it: each writes its part, reads its
/// neighbours' borders, one page that all read, and own and node 0's private memory.
fn grid(threads: u32) -> Accesses {
    let each = |pages, home: fn(NodeId) -> Placement| {
        (0..threads as u16).map(move |node| Area {
            pages,
            home: home(NodeId(node)),
        })
    };
    let one = |i: u32| {
        let (first, end) = (i * PAGES / threads, (i + 1) * PAGES / threads);
        let heap = PAGES + 9 + i * 500_000;
        let mut reads = vec![read(PAGES + 3, 1)];
        if i > 0 {
            reads.push(read(first - 1, 1));
        }
        if i + 1 < threads {
            reads.push(read(end, 1));
        }
        let writes = [write(first, end - first, 4616), write(heap + 100, 2, 80)];
        let work_ns = 1000 + 64_000 / u64::from(threads);
        let serial: &[Run] = if i == 0 {
            &[write(PAGES + 3, 1, 24)]
        } else {
            &[]
        };
        let mut rounds = vec![(serial, 10, End::Barrier)];
        for _ in 0..3 {
            rounds.push((&writes[..], work_ns, End::Barrier));
            rounds.push((&reads[..], work_ns, End::Barrier));
        }
        rounds.push((&[], 0, End::Exit));
        thread(&rounds)
    };
    let single = Area {
        pages: PAGES + 9,
        home: Placement::At(NodeId(0)),
    };
    let accesses = Accesses {
        page_bytes: Accesses::PAGE_BYTES,
        areas: [single]
            .into_iter()
            .chain(each(500_000, Placement::At))
            .chain(each(5, Placement::Pinned))
            .collect(),
        loads_acquire: false,
        threads: (0..threads).map(one).collect(),
    };
    accesses.check().unwrap();
    accesses
}

#[test]
fn what_is_told_is_what_happens() {
    let [two, four, eight] = [2, 4, 8].map(grid);
    for threads in [3, 16, 64, 100] {
        let told = extrapolate(&[&eight, &two, &four], threads).unwrap();
        told.check().unwrap();
        let real = grid(threads.into());
        for sharing in [PLAIN, HOME] {
            let cluster = setting(threads, sharing);
            let (told, real) = (replay(&told, &cluster), replay(&real, &cluster));
            let (told, real) = (told.unwrap(), real.unwrap());
            if 1024 % threads == 0 {
                let counts = |outcome: &fathomp_trace_replay::Outcome| {
                    let mut counts = outcome.all().counts.0;
                    // Pages have other numbers, and some of these are shorter.
                    counts[12..].fill(0);
                    counts
                };
                assert_eq!(counts(&told), counts(&real), "{threads} {sharing:?}");
            }
            let off = told.time_ns as f64 / real.time_ns as f64;
            assert!((0.9..1.1).contains(&off), "{threads} {sharing:?}: {off}");
        }
    }
}

#[test]
fn addresses_of_locks_and_who_waits_for_work_do_not_matter() {
    let locked = |threads: u32, lock: u64| {
        let mut accesses = grid(threads);
        for thread in &mut accesses.threads {
            for (at, end) in [(1, End::Release(lock)), (1, End::Acquire(lock))] {
                let step = Step {
                    end,
                    ..thread.steps[0]
                };
                thread.steps.insert(at, step);
            }
        }
        accesses.check().unwrap();
        accesses
    };
    let mut known = [(2, 77), (4, 5), (8, 1 << 40)].map(|(threads, lock)| locked(threads, lock));
    let told = extrapolate(&known.each_ref(), 16).unwrap();
    for thread in &mut known[1].threads[1..3] {
        let mut wait = *thread.steps.last().unwrap();
        wait.end = End::Barrier;
        thread.steps.insert(thread.steps.len() - 1, wait);
    }
    known[1].check().unwrap();
    assert_eq!(extrapolate(&known.each_ref(), 16), Ok(told));
}

#[test]
fn a_thousand_nodes_are_told_from_eight() {
    let [two, four, eight] = [2, 4, 8].map(grid);
    let told = extrapolate(&[&two, &four, &eight], 1024).unwrap();
    told.check().unwrap();
    assert_eq!(told.threads.len(), 1024);
    // Each has one page of its own.
    let outcome = replay(&told, &setting(1024, PLAIN)).unwrap();
    assert_eq!(outcome.nodes.len(), 1024);
}

#[test]
fn what_no_law_explains_is_refused() {
    let known = || [2, 4, 8].map(grid);
    let said = |known: &[Accesses], threads| {
        let known: Vec<_> = known.iter().collect();
        extrapolate(&known, threads).unwrap_err()
    };
    let too_few = said(&known()[..2], 16);
    assert!(matches!(
        too_few,
        ExtrapolateError::TooFew { asked: 16, .. }
    ));
    // Three numbers, but three threads between the first and the last: a law of theirs has as many
    // coefficients.
    let close = said(&[2, 3, 4].map(grid), 16);
    assert!(matches!(close, ExtrapolateError::TooFew { .. }), "{close}");
    assert!(
        close.to_string().contains("neither first nor last"),
        "{close}"
    );

    let mut scattered = known();
    scattered[2].threads[3].sets[2].push(read(700, 1));
    let error = said(&scattered, 16);
    let pattern = ExtrapolateError::Pattern {
        thread: 3,
        threads: 8,
        step: 2,
        barriers: 2,
        verb: "reads",
        page: 383,
        area: 0,
    };
    assert_eq!(error, pattern);

    let mut moved = known();
    moved[2].threads[7].sets[1][0] = write(500, 128, 4616);
    assert!(matches!(said(&moved, 16), ExtrapolateError::Pattern { .. }));

    let mut flushes = known();
    flushes[1].threads[1].steps[2].end = End::Flush;
    let operations = ExtrapolateError::Operations {
        thread: 1,
        threads: 4,
        step: 2,
    };
    assert_eq!(said(&flushes, 16), operations);

    let mut stranger = known();
    stranger[2].threads[2].sets[2].push(read(PAGES + 9 + 6 * 500_000, 1));
    assert!(matches!(
        said(&stranger, 16),
        ExtrapolateError::Stranger { thread: 2, .. }
    ));

    let mut other = known();
    other[0].areas[0].pages += 1;
    assert!(matches!(
        said(&other, 16),
        ExtrapolateError::Memory { a: 2, b: 4 }
    ));
}
