//! Ranks of an MPI program, each with a recording, put together.

use fathomp_analysis::testing::Script;
use fathomp_analysis::{Analysis, OneRank, Options, Ranks, analyse, ranks};
use fathomp_trace::model::Recording;
use fathomp_trace::record::{Instance, Message, Record};
use fathomp_trace::state::{PerState, State};
use fathomp_types::mpi::number;
use fathomp_types::{InstanceId, SiteId, Ticks};

const START: u64 = 1_000_000;
const STEP: u64 = 1_000_000;

fn call(function: &str, begin: u64, end: u64) -> Record {
    Record::Message(Message {
        site: SiteId(0),
        function: number(function) as u16,
        begin: Ticks(START + begin),
        end: Ticks(START + end),
        bytes: Some(8),
        peer: None,
        waits_for_all: function == "MPI_Allreduce",
    })
}

/// Ten steps of a millisecond, in each of which a rank computes for so long and is in
/// `MPI_Allreduce` for the rest.
fn rank(works_ns: u64) -> Recording {
    let mut script = Script::new(1);
    script.serial(10 * STEP);
    let mut recording = script.build();
    let thread = &mut recording.processes[0].threads[0];
    for step in 0..10 {
        let begin = step * STEP;
        thread
            .records
            .push(call("MPI_Allreduce", begin + works_ns, begin + STEP));
    }
    // What the recorder adds up of the same calls.
    let mut states = PerState::default();
    states[State::Communication] = Ticks(10 * (STEP - works_ns));
    thread.records.push(Record::Instance(Instance {
        site: SiteId(0),
        instance: InstanceId(0),
        merged: 1,
        team_size: 1,
        fork: Ticks(START),
        begin: Ticks(START),
        end: Ticks(START + 10 * STEP),
        busy: Ticks(10 * STEP),
        states,
        ..Instance::default()
    }));
    recording
}

fn together(recordings: &[Recording]) -> Ranks {
    let analyses: Vec<Analysis> = recordings
        .iter()
        .map(|one| analyse(one, &Options::default()))
        .collect();
    let all = recordings.iter().zip(&analyses).zip(0..);
    let all = all.map(|((recording, analysis), number)| OneRank {
        number,
        recording,
        analysis,
    });
    // In any order.
    let mut all: Vec<OneRank<'_>> = all.collect();
    all.reverse();
    ranks(all)
}

#[test]
fn the_rank_that_comes_last_is_waited_for() {
    let found = together(&[rank(500_000), rank(1_000_000), rank(400_000)]);
    let waits: Vec<_> = found.ranks.iter().map(|one| one.waiting_ns).collect();
    assert_eq!(waits, [Some(5_000_000), Some(0), Some(6_000_000)]);
    let late = found.late.expect("rank 1 is late");
    assert_eq!((late.rank, late.times, late.of), (1, 10, 10));
    assert_eq!(late.waited_ns, 5_500_000);
    assert!(late.place.starts_with("MPI_Allreduce"), "{}", late.place);
    let one = &found.calls[0];
    assert_eq!((one.ranks, one.count, one.bytes), (3, 30, Some(240)));
    assert_eq!(one.rank_ns, [0, 6_000_000]);
}

#[test]
fn efficiencies_are_products() {
    let found = together(&[rank(500_000), rank(1_000_000)]).efficiency;
    let close = |a: f64, b: f64| assert!((a - b).abs() < 0.01, "{a} {b}: {found:?}");
    close(found.mpi_balance, 0.75);
    close(found.mpi_communication, 1.0);
    close(found.mpi, 0.75);
    close(found.parallel, 0.75);
    close(found.parallel, found.mpi * found.openmp);
}

#[test]
fn waits_are_not_told_where_calls_or_clocks_differ() {
    let mut missing = rank(500_000);
    missing.processes[0].details_missing = 1;
    let found = together(&[missing, rank(1_000_000)]);
    assert!(found.late.is_none() && found.ranks[0].waiting_ns.is_none());
    assert!(
        found
            .unknown_waits
            .is_some_and(|why| why.contains("rank 0"))
    );

    let mut elsewhere = rank(500_000);
    elsewhere.meta.machine.host = "another".to_owned();
    let found = together(&[elsewhere, rank(1_000_000)]);
    assert!(found.late.is_none());
    assert!(found.unknown_waits.is_some_and(|why| why.contains("hosts")));
}

#[test]
fn a_rank_that_ended_early_meets_the_others_until_then() {
    let mut short = rank(500_000);
    let late = |record: &Record| matches!(record, Record::Message(call) if call.begin.0 > START + 5 * STEP);
    let records = &mut short.processes[0].threads[0].records;
    records.retain(|record| !late(record));
    let found = together(&[short, rank(1_000_000)]);
    assert_eq!(found.late.map(|late| late.of), Some(5));
}

#[test]
fn threads_without_processors_of_their_own_are_told() {
    let with = |online: u32, allowed: &[u32]| {
        let mut one = rank(500_000);
        one.meta.machine.cpus_online = online;
        one.meta.machine.cpus_allowed = allowed.to_vec();
        one.meta.threads = Some(2);
        one
    };
    let crowd = together(&[with(8, &[0, 1]), with(8, &[2])]).crowd.unwrap();
    assert_eq!(
        (crowd.rank, crowd.threads, crowd.processors),
        (Some(1), 2, 1)
    );
    let crowd = together(&[with(3, &[0, 1, 2]), with(3, &[0, 1, 2])])
        .crowd
        .unwrap();
    assert_eq!((crowd.rank, crowd.threads, crowd.processors), (None, 4, 3));
    assert_eq!(together(&[with(4, &[0, 1]), with(4, &[2, 3])]).crowd, None);
}

#[test]
fn no_rank_is_nothing() {
    let found = ranks(Vec::new());
    assert_eq!((found.ranks.len(), found.wall_ns), (0, 0));
    assert_eq!(found.efficiency.parallel, 0.0);
}
