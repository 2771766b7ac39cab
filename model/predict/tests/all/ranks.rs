//! Hybrid programs of which all is known: what is predicted with other ranks and threads.

use fathomp_predict::ranks::{Between, RankCell, Split, ThreadModel, best, growth, splits};

const MS: f64 = 1e6;

/// A program: 10 ms that every rank does, 200 ms that ranks divide, 1.6 s that ranks and threads
/// divide, 5 ms of MPI for each doubling of ranks; the rank with most work has a tenth more.
fn cell(ranks: u32, threads: u32) -> RankCell {
    let (r, t) = (f64::from(ranks), f64::from(threads));
    let serial_ns = 10.0 * MS + 200.0 * MS / r;
    let regions_ns = 1600.0 * MS / (r * t);
    let unequal = if ranks > 1 { 1.1 } else { 1.0 };
    let most_ns = (serial_ns + regions_ns) * unequal;
    RankCell {
        ranks,
        threads,
        wall_ns: most_ns + 5.0 * MS * r.log2(),
        serial_ns,
        regions_ns,
        most_ns,
    }
}

/// Knows how the longest rank scales over threads.
struct Exact;

impl ThreadModel for Exact {
    fn time(&self, ranks: u32, threads: u32, _: Option<u32>) -> Option<Between> {
        let ns = cell(ranks, threads).wall_ns;
        Some(Between {
            ns,
            low_ns: ns * 0.98,
            high_ns: ns * 1.02,
        })
    }
}

fn predict(measured: &[(u32, u32)], wanted: &[(u32, u32)]) -> Vec<Split> {
    let cells: Vec<RankCell> = measured.iter().map(|(r, t)| cell(*r, *t)).collect();
    splits(&cells, &Exact, wanted)
}

#[test]
fn more_ranks_and_threads_are_predicted_from_a_few() {
    let wanted = [(8, 1), (4, 4), (2, 8), (1, 16), (8, 8)];
    for one in predict(&[(1, 1), (1, 2), (2, 1), (2, 2), (4, 1)], &wanted) {
        let truth = cell(one.ranks, one.threads).wall_ns;
        let predicted = one.predicted.expect("enough is known");
        let error = (predicted.ns - truth).abs() / truth;
        assert!(error < 0.1, "{one:?}: {truth}, {error}");
        assert!(
            predicted.low_ns <= truth && truth <= predicted.high_ns,
            "{one:?}: {truth}"
        );
    }
}

#[test]
fn work_that_grows_with_the_number_of_ranks_is_told() {
    let measured = [(1, 2), (1, 1), (2, 1), (4, 1)];
    assert_eq!(growth(&predict(&measured, &measured)), None);
    // Every rank does the same, however many there are.
    let weak = measured.map(|(ranks, threads)| RankCell {
        ranks,
        ..cell(1, threads)
    });
    let found = growth(&splits(&weak, &Exact, &measured)).expect("it grows");
    assert_eq!((found.ranks, found.threads), ([1, 4], 1));
    assert!((found.times - 4.0).abs() < 1e-9, "{found:?}");
}

#[test]
fn measured_times_are_predicted_from_the_others_alone() {
    let all = predict(&[(1, 1), (1, 2), (2, 1)], &[(1, 1), (1, 2), (2, 1)]);
    let errors: Vec<Option<f64>> = all.iter().map(Split::error).collect();
    assert!(errors[1].is_some_and(|error| error.abs() < 0.02), "{all:?}");
    // Nothing else has several ranks.
    assert_eq!(errors[2], None);
    assert!(all[2].measured_ns.is_some());
}

#[test]
fn more_ranks_are_not_predicted_from_one() {
    let all = predict(&[(1, 1), (1, 2)], &[(2, 1), (1, 4)]);
    assert!(all[0].predicted.is_none());
    assert!(
        all[0]
            .unknown
            .as_ref()
            .is_some_and(|why| why.contains("one rank"))
    );
    assert!(all[1].predicted.is_some());
}

#[test]
fn the_best_split_uses_no_more_processors_than_there_are() {
    let measured = [(1, 1), (2, 1), (1, 2), (4, 1)];
    let all = predict(
        &measured,
        &[
            (1, 1),
            (2, 1),
            (1, 2),
            (4, 1),
            (8, 1),
            (4, 2),
            (2, 4),
            (1, 8),
        ],
    );
    let here = best(&all, 2).expect("two are measured");
    assert_eq!((here.ranks, here.threads), (2, 1));
    let there = best(&all, 8).expect("some are predicted");
    assert_eq!(there.ranks * there.threads, 8);
    assert!(best(&all, 0).is_none());
}

/// Each rank does the same work whatever their number, the second one much more.
#[test]
fn work_that_ranks_do_not_divide_stays() {
    let cell = |ranks: u32, work_ns: f64| RankCell {
        ranks,
        threads: 1,
        wall_ns: work_ns * 2.0,
        serial_ns: work_ns,
        regions_ns: 0.0,
        most_ns: work_ns * 2.0,
    };
    let cells = [cell(1, 10.0 * MS), cell(2, 250.0 * MS)];
    let all = splits(&cells, &Exact, &[(4, 1)]);
    let predicted = all[0].predicted.expect("enough is known");
    assert!(
        predicted.ns > 400.0 * MS && predicted.high_ns < 1500.0 * MS,
        "{predicted:?}"
    );
}
