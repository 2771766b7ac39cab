//! Causes that ranks of an MPI program have together.

use fathomp_analysis::{
    Late, LockedCalls, RankCrowd, RankRow, RankWait, Ranks, SentMessages, Turns, WaitKind, ranks,
};
use fathomp_diagnosis::{Kind, RankCause, diagnose_ranks};

const MS: u64 = 1_000_000;
const WALL: u64 = 1000 * MS;

/// Ranks that are outside of MPI for so many milliseconds of a second, and wait otherwise.
fn outside(ms: &[u64]) -> Ranks {
    let row = |(rank, ms): (u32, &u64)| RankRow {
        rank,
        host: "node".to_owned(),
        threads: 1,
        wall_ns: WALL,
        computing_ns: ms * MS,
        taken_ns: 0,
        taken_outside_ns: 0,
        regions_ns: ms * MS,
        mpi_ns: WALL - ms * MS,
        waiting_ns: Some(WALL - ms * MS),
        last: Some(0),
    };
    let mut all = ranks(Vec::new());
    all.wall_ns = WALL;
    all.ranks = (0..).zip(ms).map(row).collect();
    all
}

fn wait(kind: WaitKind, ms: u64, sure_ms: u64, for_rank: u32) -> RankWait {
    RankWait {
        kind,
        place: "MPI_Recv at a.c:7".to_owned(),
        other: "MPI_Send at a.c:9".to_owned(),
        count: 10,
        waited_ns: ms * MS,
        sure_ns: sure_ms * MS,
        regular: 1.0,
        rank: 1 - for_rank,
        for_rank,
        pair_ns: ms * MS,
    }
}

fn kinds(causes: &[RankCause]) -> Vec<Kind> {
    causes.iter().map(|cause| cause.kind).collect()
}

#[test]
fn the_rank_that_works_longer_is_named_where_others_wait_for_it() {
    let mut all = outside(&[200, 900]);
    all.waits = vec![wait(WaitKind::LateSender, 700, 700, 1)];
    let causes = diagnose_ranks(&all);
    assert_eq!(kinds(&causes), [Kind::UnequalRanks]);
    let cause = &causes[0];
    assert_eq!(
        (cause.rank, cause.place.as_str()),
        (Some(1), "MPI_Recv at a.c:7")
    );
    assert!((cause.share - 0.35).abs() < 1e-9, "{cause:?}");
    assert_eq!(
        cause.sentence(),
        "Rank 1 is outside of MPI for 900 ms, and the others for 200 ms on the mean; they wait for it most in MPI_Recv at a.c:7: give it less work, or more threads."
    );
    all.waits[0].kind = WaitKind::LastRank;
    all.late = Some(Late {
        rank: 1,
        times: 9,
        of: 10,
        waited_ns: 700 * MS,
        sure_ns: 700 * MS,
        place: "MPI_Allreduce at a.c:8".to_owned(),
    });
    let causes = diagnose_ranks(&all);
    assert_eq!(kinds(&causes), [Kind::UnequalRanks]);
    assert!(causes[0].evidence.starts_with("Rank 1 comes last to 9 of"));
}

#[test]
fn a_rank_that_lacks_its_processor_has_no_more_work() {
    let mut all = outside(&[500, 900]);
    all.ranks[1].taken_ns = 400 * MS;
    all.ranks[1].taken_outside_ns = 400 * MS;
    all.waits = vec![wait(WaitKind::LateSender, 400, 0, 1)];
    let causes = diagnose_ranks(&all);
    assert_eq!(kinds(&causes), [Kind::OtherPrograms]);
    assert_eq!(causes[0].place, "rank 1");
    // In MPI it needs none to work longer than others.
    all.ranks[1].taken_outside_ns = 0;
    all.ranks[0] = outside(&[300]).ranks.remove(0);
    assert_eq!(
        kinds(&diagnose_ranks(&all)),
        [Kind::UnequalRanks, Kind::OtherPrograms]
    );
}

#[test]
fn processors_may_differ_by_as_much_as_ranks_do() {
    let mut all = outside(&[600, 900]);
    assert_eq!(kinds(&diagnose_ranks(&all)), [Kind::UnequalOrSlowerRanks]);
    // A rank that was not recorded may work longer still.
    all.missing = vec![2];
    assert_eq!(diagnose_ranks(&all), []);
}

#[test]
fn senders_are_late_where_all_ranks_work_equally_long() {
    let mut all = outside(&[500, 500]);
    all.waits = vec![wait(WaitKind::LateSender, 1000, 1000, 0)];
    let causes = diagnose_ranks(&all);
    assert_eq!(kinds(&causes), [Kind::LateSender]);
    assert_eq!(causes[0].share, 0.5);
    // Now one rank and now the other comes later.
    all.waits[0].regular = 0.5;
    assert_eq!(diagnose_ranks(&all), []);
    all.waits[0].regular = 0.9;
    all.waits[0].sure_ns = 50 * MS;
    assert_eq!(diagnose_ranks(&all), []);
}

fn sent(count: u64, size: u64, message_ns: f64, in_a_row: u64) -> SentMessages {
    SentMessages {
        place: "MPI_Isend at a.c:3".to_owned(),
        count,
        bytes: count * size,
        message_ns,
        bytes_per_ns: size as f64 / message_ns,
        in_a_row,
    }
}

#[test]
fn small_messages_are_named_where_their_number_costs_time() {
    let with = |sent: SentMessages| {
        let mut all = outside(&[900, 900]);
        all.sent = vec![sent];
        diagnose_ranks(&all)
    };
    let causes = with(sent(100_000, 8, 2000.0, 99_000));
    assert_eq!(kinds(&causes), [Kind::SmallMessages]);
    assert_eq!(causes[0].share, 0.1);
    assert!(causes[0].action.contains("one message"));
    let causes = with(sent(100_000, 8, 2000.0, 10));
    assert!(causes[0].action.contains("less often"), "{causes:?}");
    // Few of them, large ones, and ranks that lack their processor in MPI.
    assert_eq!(with(sent(10_000, 8, 2000.0, 0)), []);
    assert_eq!(with(sent(100_000, 1000, 2000.0, 0)), []);
    assert_eq!(with(sent(100, 8, 4e6, 0)), []);
}

#[test]
fn large_messages_are_named_where_their_bytes_cost_time() {
    let with = |sent: SentMessages| {
        let mut all = outside(&[900, 900]);
        all.sent = vec![sent];
        diagnose_ranks(&all)
    };
    let causes = with(sent(100, 8 << 20, 4e6, 0));
    assert_eq!(kinds(&causes), [Kind::LargeMessages]);
    assert_eq!(causes[0].share, 0.2);
    assert_eq!(
        causes[0].sentence(),
        "MPI_Isend at a.c:3 sends 100 messages of 8.00 MiB on the mean, each takes 4.00 ms in calls of both ranks; large messages take 20 % of the run: send only what the other rank needs, or begin early (MPI_Isend, MPI_Irecv) and compute meanwhile."
    );
    // Too few, and of a size whose bytes explain their time, though it is not large.
    assert_eq!(with(sent(20, 8 << 20, 4e6, 0)), []);
    assert_eq!(with(sent(100_000, 4096, 2000.0, 0)), []);
}

/// A message of the same run shows how fast bytes move.
#[test]
fn the_fastest_message_tells_what_bytes_take() {
    let mut all = outside(&[900, 900]);
    all.sent = vec![sent(100_000, 1000, 2000.0, 0)];
    all.sent.push(sent(1, 1_000_000, 50_000.0, 0));
    assert_eq!(kinds(&diagnose_ranks(&all)), [Kind::SmallMessages]);
}

#[test]
fn threads_take_turns_where_calls_take_longer_together() {
    let mut all = outside(&[900, 900]);
    all.turns = vec![Turns {
        rank: 1,
        place: "MPI_Waitall at a.c:5".to_owned(),
        threads: 2,
        count: 100_000,
        together_ns: 3000.0,
        alone_ns: 1000.0,
    }];
    let causes = diagnose_ranks(&all);
    assert_eq!(kinds(&causes), [Kind::MpiTurns]);
    assert_eq!((causes[0].rank, causes[0].share), (Some(1), 0.1));
    all.turns[0].together_ns = 1400.0;
    assert_eq!(diagnose_ranks(&all), []);
}

#[test]
fn a_lock_around_mpi_is_named_where_threads_wait_for_it() {
    let mut all = outside(&[900, 900]);
    all.locked = vec![LockedCalls {
        rank: 0,
        place: "MPI_Send at a.c:5".to_owned(),
        threads: 3,
        count: 700,
        waited_ns: 300 * MS,
    }];
    let causes = diagnose_ranks(&all);
    assert_eq!(kinds(&causes), [Kind::MpiTurns]);
    assert_eq!((causes[0].rank, causes[0].share), (Some(0), 0.1));
    assert!(causes[0].action.contains("outside of the lock"));
    all.locked[0].waited_ns = 100 * MS;
    assert_eq!(diagnose_ranks(&all), []);
}

#[test]
fn threads_that_share_processors_are_the_only_cause() {
    let mut all = outside(&[200, 900]);
    all.crowd = Some(RankCrowd {
        rank: None,
        host: "node".to_owned(),
        threads: 4,
        processors: 2,
    });
    assert_eq!(kinds(&diagnose_ranks(&all)), [Kind::Oversubscription]);
}

#[test]
fn no_rank_has_no_cause() {
    assert_eq!(diagnose_ranks(&ranks(Vec::new())), []);
}
