//! Ranks of an MPI program, each with a recording, put together.

use fathomp_analysis::testing::Script;
use fathomp_analysis::{
    Analysis, OneRank, Options, RankSummary, RankWait, Ranks, WaitKind, analyse, ranks,
};
use fathomp_trace::model::Recording;
use fathomp_trace::record::{Instance, Interval, Message, Record, Transfer};
use fathomp_trace::state::{PerState, State};
use fathomp_types::mpi::{self, TransferKind, WORLD, number};
use fathomp_types::{InstanceId, SiteId, Ticks};

const START: u64 = 1_000_000;
pub(crate) const STEP: u64 = 1_000_000;

pub(crate) fn call(function: &str, begin: u64, end: u64) -> Record {
    Record::Message(Message {
        site: SiteId(0),
        function: number(function) as u16,
        begin: Ticks(START + begin),
        end: Ticks(START + end),
        bytes: Some(8),
        peer: None,
        communicator: WORLD,
        waits_for_all: function == "MPI_Allreduce",
    })
}

/// Ten steps of a millisecond, in each of which a rank computes for so long and is in
/// `MPI_Allreduce` for the rest.
pub(crate) fn rank(works_ns: u64) -> Recording {
    rank_by_step(|_| works_ns)
}

fn rank_by_step(works_ns: impl Fn(u64) -> u64) -> Recording {
    let mut script = Script::new(1);
    script.serial(10 * STEP);
    let mut recording = script.build();
    let thread = &mut recording.processes[0].threads[0];
    for step in 0..10 {
        let begin = step * STEP;
        let (from, to) = (begin + works_ns(step), begin + STEP);
        thread.records.push(Record::Interval(Interval {
            state: State::Communication,
            begin: Ticks(START + from),
            end: Ticks(START + to),
            site: SiteId(0),
        }));
        thread.records.push(call("MPI_Allreduce", from, to));
    }
    // What the recorder adds up of the same calls.
    let mut states = PerState::default();
    states[State::Communication] = Ticks((0..10).map(|step| STEP - works_ns(step)).sum());
    thread.records.push(Record::from(Instance {
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

pub(crate) fn together(recordings: &[Recording]) -> Ranks {
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
    let mut all: Vec<RankSummary> = all.map(|one| RankSummary::of(&one)).collect();
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
fn efficiencies_are_not_told_if_a_rank_is_missing() {
    let mut all = [rank(500_000), rank(1_000_000)];
    for recording in &mut all {
        recording.meta.ranks = Some(4);
    }
    let found = together(&all);
    assert_eq!(found.missing, [2, 3]);
    assert!(found.efficiency.is_none() && found.late.is_none());
    assert!(found.unknown_waits.is_some());
    all[0].meta.ranks = Some(2);
    all[1].meta.ranks = Some(2);
    assert!(together(&all).missing.is_empty());
}

#[test]
fn efficiencies_are_products() {
    let found = together(&[rank(500_000), rank(1_000_000)]).efficiency;
    let found = found.expect("all ranks are there");
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
}

/// Clocks of two hosts differ by 3 ms. What the ranks tell each other says so: each comes last to
/// some calls.
#[test]
fn clocks_of_hosts_are_compared_by_calls_of_all_ranks() {
    const AHEAD: u64 = 3_000_000;
    let by_turns = |odd: u64| {
        rank_by_step(move |step| match step % 2 == odd {
            true => STEP,
            false => STEP / 2,
        })
    };
    let mut elsewhere = by_turns(1);
    elsewhere.meta.machine.host = "another".to_owned();
    let process = &mut elsewhere.processes[0];
    process.begin.0 += AHEAD;
    let thread = &mut process.threads[0];
    thread.begin.0 += AHEAD;
    thread.end.0 += AHEAD;
    for record in &mut thread.records {
        match record {
            Record::Message(call) => {
                (call.begin.0, call.end.0) = (call.begin.0 + AHEAD, call.end.0 + AHEAD)
            }
            Record::Interval(one) => {
                (one.begin.0, one.end.0) = (one.begin.0 + AHEAD, one.end.0 + AHEAD)
            }
            Record::Instance(one) => {
                one.fork.0 += AHEAD;
                one.begin.0 += AHEAD;
                one.end.0 += AHEAD;
            }
            _ => {}
        }
    }
    let found = together(&[by_turns(0), elsewhere]);
    assert_eq!(found.clocks.len(), 1);
    assert!(
        found.clocks[0].error_ns.is_some_and(|error| error < 1000.0),
        "{:?}",
        found.clocks
    );
    let (ns, of_tick) = found.clocks[0]
        .on_first_host(Ticks(AHEAD + STEP))
        .expect("it is known");
    assert!((ns - STEP as f64).abs() < 1000.0, "{ns}");
    assert!((of_tick - 1.0).abs() < 2e-4, "{of_tick}");
    for row in &found.ranks {
        let waited = row.waiting_ns.expect("clocks are known");
        assert!(waited.abs_diff(5 * STEP / 2) < 10_000, "{row:?}");
    }
}

/// Nothing bounds how far a host's clock is ahead: no wait of its ranks is told.
#[test]
fn a_clock_that_nothing_bounds_is_unknown() {
    let mut elsewhere = rank(500_000);
    elsewhere.meta.machine.host = "another".to_owned();
    let records = &mut elsewhere.processes[0].threads[0].records;
    records.retain(|record| !matches!(record, Record::Message(_)));
    let found = together(&[elsewhere, rank(1_000_000)]);
    assert_eq!(found.clocks.first().map(|one| one.error_ns), Some(None));
    let known: Vec<bool> = found
        .ranks
        .iter()
        .map(|one| one.waiting_ns.is_some())
        .collect();
    assert_eq!(known, [true, false]);
}

/// A call with a message, from and to so many microseconds.
pub(crate) fn transfer(kind: TransferKind, peer: i32, request: u32) -> Record {
    Record::Transfer(Transfer {
        at: Ticks(START),
        what: mpi::Transfer {
            kind,
            request,
            peer,
            tag: 7,
            communicator: WORLD,
            bytes: 100,
        },
    })
}

/// A rank that does nothing but these calls: function, begin and end in microseconds, and a message.
pub(crate) fn rank_of(calls: &[(&str, u64, u64, TransferKind, i32, u32)]) -> Recording {
    let mut script = Script::new(1);
    script.serial(10 * STEP);
    let mut recording = script.build();
    let records = &mut recording.processes[0].threads[0].records;
    for (function, begin, end, kind, peer, request) in calls {
        records.push(transfer(*kind, *peer, *request));
        records.push(call(function, begin * 1000, end * 1000));
    }
    recording
}

pub(crate) fn wait(found: &Ranks, kind: WaitKind) -> &RankWait {
    let mut waits = found.waits.iter();
    let found = waits.find(|one| one.kind == kind);
    found.expect("ranks wait so")
}

use TransferKind::{
    CollectiveDone, CollectivePosted, ReceiveDone, ReceivePosted, SendDone, SendPosted,
};

#[test]
fn a_receiver_waits_until_the_message_is_sent() {
    let sender = rank_of(&[
        ("MPI_Send", 300, 310, SendPosted, 1, 0),
        ("MPI_Isend", 900, 901, SendPosted, 1, 4),
        ("MPI_Wait", 901, 902, SendDone, -1, 4),
    ]);
    let receiver = rank_of(&[
        ("MPI_Recv", 100, 320, ReceivePosted, 0, 0),
        ("MPI_Irecv", 330, 331, ReceivePosted, -1, 9),
        // Computes from 331 to 500, and waits for the rest.
        ("MPI_Wait", 500, 950, ReceiveDone, 0, 9),
    ]);
    let found = together(&[sender, receiver]);
    assert_eq!(found.waits.len(), 2, "{:?}", found.waits);
    let late = wait(&found, WaitKind::LateSender);
    assert_eq!((late.waited_ns, late.rank, late.for_rank), (400_000, 1, 0));
    assert_eq!(late.regular, 1.0);
    assert!(late.place.starts_with("MPI_Wait") && late.other.starts_with("MPI_Isend"));
    let messages = &found.messages[0];
    assert_eq!((messages.from, messages.to, messages.count), (0, 1, 2));
    assert_eq!((messages.bytes, messages.waited_ns), (200, 600_000));
    assert_eq!(
        found.ranks[1].waiting_ns,
        Some(0).map(|_| found.ranks[1].mpi_ns.min(600_000))
    );
}

#[test]
fn a_sender_waits_until_somebody_is_ready_to_receive() {
    let sender = rank_of(&[
        ("MPI_Ssend", 100, 420, SendPosted, 1, 0),
        // Buffered: over before anybody is ready.
        ("MPI_Send", 430, 431, SendPosted, 1, 0),
    ]);
    let receiver = rank_of(&[
        ("MPI_Recv", 400, 420, ReceivePosted, 0, 0),
        ("MPI_Recv", 800, 801, ReceivePosted, 0, 0),
    ]);
    let found = together(&[sender, receiver]);
    assert_eq!(found.waits.len(), 1, "{:?}", found.waits);
    let late = wait(&found, WaitKind::LateReceiver);
    assert_eq!((late.waited_ns, late.count, late.rank), (300_000, 1, 0));
}

/// A nonblocking operation is waited for where it is completed: rank 1 begins the first one 200 us
/// after rank 0 waits for it, and the second one, though last, before anybody waits for it.
#[test]
fn the_last_to_begin_a_nonblocking_operation_is_waited_for_at_its_completion() {
    let first = rank_of(&[
        ("MPI_Iallreduce", 100, 101, CollectivePosted, -1, 4),
        ("MPI_Wait", 200, 450, CollectiveDone, -1, 4),
        ("MPI_Ibarrier", 500, 501, CollectivePosted, -1, 5),
        ("MPI_Wait", 800, 810, CollectiveDone, -1, 5),
    ]);
    let late = rank_of(&[
        ("MPI_Iallreduce", 400, 401, CollectivePosted, -1, 8),
        ("MPI_Wait", 410, 420, CollectiveDone, -1, 8),
        ("MPI_Ibarrier", 600, 601, CollectivePosted, -1, 9),
        ("MPI_Wait", 800, 810, CollectiveDone, -1, 9),
    ]);
    let found = together(&[first, late]);
    assert_eq!(found.waits.len(), 1, "{:?}", found.waits);
    let last = wait(&found, WaitKind::LastRank);
    assert_eq!((last.waited_ns, last.rank, last.for_rank), (200_000, 0, 1));
    assert!(last.place.starts_with("MPI_Wait") && last.other.starts_with("MPI_Iallreduce"));
    let late = found.late.expect("rank 1 is late");
    assert_eq!((late.rank, late.times, late.of), (1, 1, 1));
}

/// A message that was not seen would shift all that follow.
#[test]
fn messages_that_are_not_counted_alike_at_both_ends_are_not_matched() {
    let sender = rank_of(&[
        ("MPI_Send", 300, 310, SendPosted, 1, 0),
        ("MPI_Send", 400, 410, SendPosted, 1, 0),
    ]);
    let receiver = rank_of(&[("MPI_Recv", 100, 420, ReceivePosted, 0, 0)]);
    let found = together(&[sender, receiver]);
    assert!(found.waits.is_empty() && found.messages.is_empty());
}

#[test]
fn ranks_wait_for_a_root_that_comes_late() {
    let with_root = |function, begin, end| {
        let mut one = rank(500_000);
        let records = &mut one.processes[0].threads[0].records;
        records.retain(|record| !matches!(record, Record::Message(_)));
        let Record::Message(mut message) = call(function, begin, end) else {
            unreachable!("a call");
        };
        message.peer = Some(0);
        records.push(Record::Message(message));
        one
    };
    let found = together(&[
        with_root("MPI_Bcast", 700_000, 710_000),
        with_root("MPI_Bcast", 200_000, 715_000),
    ]);
    let late = wait(&found, WaitKind::LateRoot);
    assert_eq!((late.rank, late.for_rank, late.waited_ns), (1, 0, 500_000));
    let found = together(&[
        with_root("MPI_Reduce", 100_000, 910_000),
        with_root("MPI_Reduce", 900_000, 905_000),
    ]);
    let early = wait(&found, WaitKind::EarlyRoot);
    assert_eq!(
        (early.rank, early.for_rank, early.waited_ns),
        (0, 1, 800_000)
    );
}

#[test]
fn efficiencies_are_told_by_phase() {
    let found = together(&[
        rank_by_step(|step| if step < 5 { STEP } else { STEP / 2 }),
        rank(STEP),
    ]);
    let phases = &found.phases;
    assert!(phases.len() > 4, "{phases:?}");
    let balance = |phase: usize| phases[phase].efficiency.mpi_balance;
    assert!(
        balance(1) > 0.95 && balance(phases.len() - 2) < 0.8,
        "{phases:?}"
    );
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
    assert_eq!(found.efficiency.map(|one| one.parallel), Some(0.0));
}
