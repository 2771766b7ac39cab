//! What messages of MPI take, what ranks lack of processors, and threads that take turns in MPI.

use crate::ranks::{STEP, call, rank, rank_of, together, transfer, wait};
use fathomp_analysis::WaitKind;
use fathomp_analysis::testing::Script;
use fathomp_trace::model::Recording;
use fathomp_trace::record::{CounterReading, Counters, Interval, Record};
use fathomp_trace::state::State;
use fathomp_types::mpi::TransferKind::{ReceiveDone, ReceivePosted, SendDone, SendPosted};
use fathomp_types::{SiteId, Ticks};

#[test]
fn messages_cost_the_time_of_both_ranks_without_waits() {
    let at = |message: u64| 100 + 20 * message;
    let sends: Vec<_> = (0..9)
        .map(|one| ("MPI_Send", at(one), at(one) + 2, SendPosted, 1, 0))
        .collect();
    let receives: Vec<_> = (0..9)
        .map(|one| ("MPI_Recv", at(one) - 5, at(one) + 2, ReceivePosted, 0, 0))
        .collect();
    let found = together(&[rank_of(&sends), rank_of(&receives)]);
    let [sent] = &found.sent[..] else {
        panic!("one place sends: {:?}", found.sent);
    };
    assert_eq!((sent.count, sent.bytes, sent.message_ns), (9, 900, 4000.0));
    // All but the first follow another.
    assert_eq!(sent.in_a_row, 8);
    assert_eq!(sent.bytes_per_ns, 100.0 / 8000.0);
}

/// MPI goes on with a message only when the other rank calls it.
#[test]
fn time_until_the_other_rank_calls_mpi_is_no_cost_of_a_message() {
    let sender = rank_of(&[
        ("MPI_Isend", 100, 102, SendPosted, 1, 5),
        ("MPI_Wait", 110, 410, SendDone, -1, 5),
    ]);
    let receiver = rank_of(&[
        ("MPI_Irecv", 100, 102, ReceivePosted, 0, 9),
        // Computes from 102 to 400.
        ("MPI_Wait", 400, 410, ReceiveDone, 0, 9),
    ]);
    let found = together(&[sender, receiver]);
    // Both begin in 2 us, and for 10 us both ranks complete it.
    assert_eq!(found.sent[0].message_ns, 24_000.0, "{:?}", found.sent);
}

#[test]
fn a_rank_that_answers_sends_nothing_in_a_row() {
    let first = rank_of(&[
        ("MPI_Send", 100, 101, SendPosted, 1, 0),
        ("MPI_Recv", 101, 111, ReceivePosted, 1, 0),
        ("MPI_Send", 112, 113, SendPosted, 1, 0),
        ("MPI_Recv", 113, 121, ReceivePosted, 1, 0),
    ]);
    let second = rank_of(&[
        ("MPI_Recv", 90, 102, ReceivePosted, 0, 0),
        ("MPI_Send", 110, 111, SendPosted, 0, 0),
        ("MPI_Recv", 111, 114, ReceivePosted, 0, 0),
        ("MPI_Send", 120, 121, SendPosted, 0, 0),
    ]);
    let found = together(&[first, second]);
    assert_eq!(found.sent[0].count, 4);
    assert_eq!(found.sent[0].in_a_row, 0, "{:?}", found.sent);
}

/// A rank of which a reading says for how long it had no processor.
fn without_processor(mut recording: Recording, ns: u64) -> Recording {
    let process = &mut recording.processes[0];
    let (since, at) = (process.begin, Ticks(process.begin.0 + 10 * STEP));
    process.threads[0]
        .records
        .push(Record::from(CounterReading {
            since,
            at,
            site: SiteId::SERIAL,
            counts: Counters {
                processor_ns: Some(10 * STEP - ns),
                run_delay_ns: Some(ns),
                asleep_ns: Some(0),
                ..Counters::default()
            },
        }));
    recording
}

#[test]
fn what_a_rank_lacks_of_its_processor_is_no_sure_wait_for_it() {
    let late = without_processor(rank(1_000_000), 3_000_000);
    let found = together(&[rank(500_000), late]);
    assert_eq!(found.ranks[1].taken_ns, 3_000_000);
    assert_eq!(found.ranks[0].taken_ns, 0);
    let last = wait(&found, WaitKind::LastRank);
    assert_eq!((last.waited_ns, last.sure_ns), (5_000_000, 2_000_000));
    let late = found.late.expect("rank 1 is late");
    assert_eq!((late.waited_ns, late.sure_ns), (5_000_000, 2_000_000));
}

/// The reading does not say when: outside of MPI it can be no more than there is.
#[test]
fn time_without_a_processor_is_bounded_by_the_time_outside_of_mpi() {
    let found = together(&[without_processor(rank(100_000), 3_000_000), rank(500_000)]);
    let one = &found.ranks[0];
    assert_eq!((one.taken_ns, one.taken_outside_ns), (3_000_000, 1_000_000));
}

/// The rank that is waited for moves messages meanwhile: it is not late by its work.
#[test]
fn waits_for_a_rank_that_is_in_mpi_are_not_sure() {
    let sender = rank_of(&[
        ("MPI_Ssend", 100, 400, SendPosted, 1, 0),
        ("MPI_Send", 500, 510, SendPosted, 1, 0),
    ]);
    let receiver = rank_of(&[
        ("MPI_Recv", 100, 150, ReceivePosted, 0, 0),
        ("MPI_Recv", 200, 510, ReceivePosted, 0, 0),
    ]);
    let late = together(&[sender, receiver]);
    let late = wait(&late, WaitKind::LateSender);
    assert_eq!((late.waited_ns, late.sure_ns), (300_000, 100_000));
}

/// Two threads that send to the other rank, at the same time or by turns.
fn rank_of_two_threads(calls: &[(usize, u64, u64)]) -> Recording {
    let mut script = Script::new(2);
    script.serial(10 * STEP);
    let mut recording = script.build();
    for (thread, begin, end) in calls {
        let records = &mut recording.processes[0].threads[*thread].records;
        records.push(transfer(SendPosted, 1, 1));
        records.push(call("MPI_Isend", *begin, *end));
    }
    recording
}

#[test]
fn calls_that_begin_while_another_thread_is_in_mpi_are_compared_with_others() {
    let mut calls = Vec::new();
    for at in (0..30).map(|one| 10_000 * one) {
        calls.extend([(0, at, at + 3000), (1, at + 500, at + 3000)]);
        calls.extend([(1, at + 5000, at + 6000), (0, at + 7000, at + 8000)]);
    }
    let found = together(&[rank_of_two_threads(&calls), rank(500_000)]);
    let [turns] = &found.turns[..] else {
        panic!("one place: {:?}", found.turns);
    };
    assert_eq!((turns.rank, turns.threads, turns.count), (0, 2, 30));
    assert_eq!(turns.together_ns, 2500.0);
    assert_eq!(turns.alone_ns, 1000.0);
    // The same calls one behind the other.
    let calls: Vec<_> = (0..60)
        .map(|one| (one as usize % 2, 5000 * one, 5000 * one + 3000))
        .collect();
    let found = together(&[rank_of_two_threads(&calls), rank(500_000)]);
    assert_eq!(found.turns, []);
}

#[test]
fn waits_for_a_lock_count_while_another_thread_is_in_mpi() {
    let mut rank_of_two = rank_of_two_threads(&[(0, 1000, 4000), (1, 5000, 6000)]);
    let begin = rank_of_two.processes[0].begin.0;
    for (state, from, to) in [
        (State::Critical, 2000, 5000),
        // Its own call, and no lock.
        (State::Lock, 5000, 6000),
        (State::ExplicitBarrier, 1000, 4000),
    ] {
        let wait = Interval {
            state,
            begin: Ticks(begin + from),
            end: Ticks(begin + to),
            site: SiteId::SERIAL,
        };
        let records = &mut rank_of_two.processes[0].threads[1].records;
        records.push(Record::Interval(wait));
    }
    let found = together(&[rank_of_two, rank(500_000)]);
    let [locked] = &found.locked[..] else {
        panic!("one rank waits so: {:?}", found.locked);
    };
    assert_eq!((locked.rank, locked.threads, locked.count), (0, 1, 1));
    assert_eq!(locked.waited_ns, 2000);
    assert!(locked.place.starts_with("MPI_Isend"), "{locked:?}");
}
