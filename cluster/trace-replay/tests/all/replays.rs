//! Small programs whose cost is known.

use crate::common::{HOME, HOMELESS, PLAIN, program, read, setting, thread, write};
use fathomp_access_trace::{Accesses, End};
use fathomp_protocols::{Area, Placement};
use fathomp_trace::dsm::DsmCount;
use fathomp_trace_replay::{Costs, Homes, ReplayError, Setting, replay};
use fathomp_types::NodeId;

fn count(accesses: &Accesses, setting: &Setting, of: DsmCount) -> Vec<u64> {
    let outcome = replay(accesses, setting).unwrap();
    outcome.nodes.iter().map(|node| node.counts[of]).collect()
}

/// Node 0 writes pages, then node 1 reads them.
fn handed_over(pages: u32) -> Accesses {
    program(
        pages,
        vec![
            thread(&[
                (&[write(0, pages, 24)], 0, End::Barrier),
                (&[], 0, End::Exit),
            ]),
            thread(&[(&[], 0, End::Barrier), (&[read(0, pages)], 0, End::Exit)]),
        ],
    )
}

#[test]
fn each_page_that_another_node_has_is_fetched_once() {
    let accesses = handed_over(10);
    let fetches = DsmCount::FetchFaults;
    assert_eq!(count(&accesses, &setting(2, PLAIN), fetches), [0, 10]);
    assert_eq!(count(&accesses, &setting(2, HOMELESS), fetches), [0, 10]);
    // A reader of one page after the other gets 4, then twice as many, of which there are 6.
    assert_eq!(count(&accesses, &setting(2, HOME), fetches), [0, 2]);
    let pages = DsmCount::PagesFetched;
    assert_eq!(count(&accesses, &setting(2, HOME), pages), [0, 10]);
    assert_eq!(count(&accesses, &setting(1, HOME), fetches), [0]);
}

/// Also if they travel at other times, or not as pages.
#[test]
fn what_another_node_changed_has_to_come_whatever_the_protocol() {
    let accesses = handed_over(10);
    for sharing in [HOME, PLAIN, HOMELESS] {
        let outcome = replay(&accesses, &setting(2, sharing)).unwrap();
        let least = outcome.nodes.iter().map(|node| node.least_bytes);
        assert_eq!(least.collect::<Vec<_>>(), [0, 240]);
    }
    let alone = replay(&accesses, &setting(1, HOME)).unwrap();
    assert_eq!(alone.all().least_bytes, 0);
}

/// Node 1 has fetched page 20 ahead, without content, when node 0 writes it.
#[test]
fn what_another_node_changes_at_the_same_time_need_not_come_yet() {
    let accesses = program(
        48,
        vec![
            thread(&[
                (&[], 0, End::Barrier),
                (&[write(20, 1, 3000)], 0, End::Barrier),
                (&[], 0, End::Exit),
            ]),
            thread(&[
                (&[read(13, 5)], 0, End::Barrier),
                (&[read(20, 1)], 0, End::Barrier),
                (&[read(20, 1)], 0, End::Exit),
            ]),
        ],
    );
    for (reads, least) in [(3, 3000), (2, 0)] {
        let mut accesses = accesses.clone();
        if reads == 2 {
            accesses.threads[1].sets[2].clear();
        }
        for sharing in [HOME, PLAIN, HOMELESS] {
            let all = replay(&accesses, &setting(2, sharing)).unwrap().all();
            assert_eq!(all.least_bytes, least, "{sharing:?}");
            assert!(least <= all.counts[DsmCount::BytesSent], "{sharing:?}");
        }
    }
}

#[test]
fn a_fetch_takes_two_latencies_and_its_bytes() {
    let alone = |pages| {
        let accesses = handed_over(pages);
        replay(&accesses, &setting(2, PLAIN)).unwrap()
    };
    let (ten, eleven) = (alone(10), alone(11));
    let extra_ns = eleven.time_ns - ten.time_ns;
    let bytes = |of: &fathomp_trace_replay::Outcome| of.all().counts[DsmCount::BytesSent];
    // All of it is the one more fetch, whose bytes take a nanosecond each; notices
    // about eleven pages are as long as those about ten.
    assert_eq!(extra_ns, 20_000 + bytes(&eleven) - bytes(&ten));
    assert!((4096..4120).contains(&(bytes(&eleven) - bytes(&ten))));
}

#[test]
fn what_nodes_do_costs_what_it_costs() {
    let accesses = handed_over(1);
    let free = setting(2, PLAIN);
    let time_ns = |costs| {
        replay(&accesses, &Setting { costs, ..free })
            .unwrap()
            .time_ns
    };
    let none = time_ns(Costs::default());
    let trap_ns = 1000;
    let costs = Costs {
        trap_ns,
        ..Costs::default()
    };
    assert_eq!(time_ns(costs), none + 1000);
    // Two at the fetch, and three in a row at the barrier: I am here, we all are,
    // once for the protocol and once beside it.
    let message_ns = 100_000;
    let costs = Costs {
        message_ns,
        ..Costs::default()
    };
    let more = time_ns(costs) - none;
    assert!((4 * message_ns..=6 * message_ns).contains(&more), "{more}");
}

#[test]
fn a_home_that_computes_answers_later() {
    let reads = |home_works_ns| {
        let accesses = program(
            1,
            vec![
                thread(&[(&[], home_works_ns, End::Barrier), (&[], 0, End::Exit)]),
                thread(&[(&[read(0, 1)], 0, End::Barrier), (&[], 0, End::Exit)]),
            ],
        );
        let mut cluster = setting(2, PLAIN);
        cluster.costs.wake_ns = 30_000;
        let outcome = replay(&accesses, &cluster).unwrap();
        outcome.nodes[1].counts[DsmCount::FaultTicks]
    };
    let (waits_ns, works_ns) = (reads(0), reads(10_000_000));
    assert_eq!(works_ns, waits_ns + 30_000);
}

#[test]
fn homes_serve_one_after_the_other() {
    // Three nodes ask node 0 for a page each, at the same time.
    let reader = |page| thread(&[(&[read(page, 1)][..], 0, End::Exit)]);
    let idle = thread(&[(&[], 0, End::Exit)]);
    let accesses = program(9, vec![idle, reader(0), reader(3), reader(6)]);
    let mut cluster = setting(4, PLAIN);
    let alone_ns = replay(&accesses, &cluster).unwrap().time_ns;
    cluster.costs.message_ns = 50_000;
    let outcome = replay(&accesses, &cluster).unwrap();
    // Each waits for those before it, and handles its own answer.
    assert!(
        outcome.time_ns >= alone_ns + 4 * 50_000 - 3 * 4096,
        "{outcome:?}"
    );
    assert_eq!(outcome.nodes[0].handling_ns, 150_000);
}

#[test]
fn work_lies_evenly_between_accesses() {
    let accesses = program(
        4,
        vec![
            thread(&[(&[], 0, End::Exit)]),
            thread(&[(&[read(0, 4)], 50_000, End::Exit)]),
        ],
    );
    let without = program(
        4,
        vec![
            thread(&[(&[], 0, End::Exit)]),
            thread(&[(&[read(0, 4)], 0, End::Exit)]),
        ],
    );
    for sharing in [PLAIN, HOMELESS] {
        let cluster = setting(2, sharing);
        let (with, without) = (replay(&accesses, &cluster), replay(&without, &cluster));
        let (with, without) = (with.unwrap(), without.unwrap());
        assert_eq!(with.time_ns, without.time_ns + 50_000);
        assert_eq!(with.all().work_ns, 50_000);
    }
}

#[test]
fn a_lock_is_held_by_one_after_the_other() {
    let inside = |work_ns| {
        thread(&[
            (&[], 0, End::Acquire(7)),
            (&[write(0, 1, 24)], work_ns, End::Release(7)),
            (&[], 0, End::Exit),
        ])
    };
    let accesses = program(1, (0..4).map(|_| inside(1_000_000)).collect());
    for sharing in [HOME, PLAIN, HOMELESS] {
        let outcome = replay(&accesses, &setting(4, sharing)).unwrap();
        assert!(outcome.time_ns >= 4_000_000, "{sharing:?}");
        assert_eq!(outcome.all().counts[DsmCount::Locks], 4);
        // The second, third and fourth see what those before wrote.
        assert!(outcome.all().counts[DsmCount::FetchFaults] >= 3);
    }
}

#[test]
fn whoever_holds_a_lock_for_ever_is_named() {
    // Each waits for the other's lock: a program that hangs.
    let both = |first, second| {
        thread(&[
            (&[], 0, End::Acquire(first)),
            (&[], 1_000_000, End::Acquire(second)),
            (&[], 0, End::Release(second)),
            (&[], 0, End::Release(first)),
            (&[], 0, End::Exit),
        ])
    };
    let accesses = program(1, vec![both(1, 2), both(2, 1)]);
    for sharing in [HOME, HOMELESS] {
        let stuck = ReplayError::Stuck {
            thread: 0,
            step: 1,
            what: "for a lock",
        };
        assert_eq!(replay(&accesses, &setting(2, sharing)), Err(stuck));
    }
}

#[test]
fn cells_order_threads() {
    let accesses = program(
        1,
        vec![
            thread(&[(&[], 0, End::Await(5, 2)), (&[read(0, 1)], 0, End::Exit)]),
            thread(&[
                (&[write(0, 1, 24)], 3_000_000, End::Put(5, 2)),
                (&[], 0, End::Exit),
            ]),
            thread(&[(&[], 0, End::Add(5, 1)), (&[], 0, End::Exit)]),
        ],
    );
    for sharing in [HOME, HOMELESS] {
        let outcome = replay(&accesses, &setting(3, sharing)).unwrap();
        assert!(outcome.time_ns > 3_000_000, "{outcome:?}");
        // Node 0 has it at home, or fetches it.
        assert_eq!(outcome.nodes[0].counts[DsmCount::Flushes], 1);
        assert_eq!(outcome.nodes[1].counts[DsmCount::Flushes], 1);
    }
    let alone = program(
        1,
        vec![thread(&[(&[], 0, End::Await(5, 1)), (&[], 0, End::Exit)])],
    );
    let waits = replay(&alone, &setting(1, HOME)).unwrap_err().to_string();
    assert!(waits.contains("for a cell"), "{waits}");
}

#[test]
fn threads_of_one_node_share_its_pages() {
    let worker = |number: u32| {
        thread(&[
            (&[write(number * 4, 4, 24)][..], 1000, End::Barrier),
            (&[read(0, 32)], 1000, End::Barrier),
            (&[], 0, End::Exit),
        ])
    };
    let accesses = program(32, (0..8).map(worker).collect());
    for sharing in [HOME, PLAIN, HOMELESS] {
        let fetched = |nodes| {
            let outcome = replay(&accesses, &setting(nodes, sharing)).unwrap();
            assert_eq!(outcome.nodes.len(), usize::from(nodes));
            outcome.all().counts[DsmCount::PagesFetched]
        };
        let fetched = [1, 2, 4, 8].map(fetched);
        assert_eq!(fetched[0], 0);
        assert!(fetched.is_sorted(), "{sharing:?}: {fetched:?}");
        assert!(fetched[3] >= 7 * 28, "{sharing:?}: {fetched:?}");
    }
}

/// Node 1 writes pages that node 0, their home, has never touched, and then again.
#[test]
fn an_untouched_page_moves_without_content_to_who_writes_it_first() {
    let worker = |pages| {
        let own: Vec<_> = (pages > 0)
            .then(|| write(0, pages, 520))
            .into_iter()
            .collect();
        let ends = [End::Barrier, End::Barrier, End::Exit];
        let rounds: Vec<_> = ends.iter().map(|end| (&own[..], 0, *end)).collect();
        thread(&rounds)
    };
    let sent = |sharing, pages| {
        let accesses = program(pages, vec![worker(0), worker(pages)]);
        replay(&accesses, &setting(2, sharing)).unwrap().all()
    };
    let moved = sent(HOME, 4);
    assert!(moved.counts[DsmCount::BytesSent] < 4096, "{moved:?}");
    assert_eq!(moved.counts[DsmCount::DiffsMade], 0);
    // As published, pages stay where they are, and their zeros are sent.
    let stays = sent(PLAIN, 4);
    assert!(stays.counts[DsmCount::BytesSent] > 4 * 4096, "{stays:?}");
    assert!(stays.counts[DsmCount::DiffsMade] >= 8, "{stays:?}");
}

#[test]
fn homes_where_pages_are_written_save_messages() {
    let worker = |number: u32| {
        let own = [write(number * 8, 8, 520)];
        let border = [read((number * 8 + 8) % 32, 1), own[0]];
        let rounds: Vec<_> = (0..6)
            .map(|_| (&border[..], 1000, End::Barrier))
            .chain([(&[][..], 0, End::Exit)])
            .collect();
        thread(&rounds)
    };
    let accesses = program(32, (0..4).map(worker).collect());
    let sent = |homes| {
        let cluster = Setting {
            homes,
            ..setting(4, PLAIN)
        };
        replay(&accesses, &cluster).unwrap().all().counts[DsmCount::BytesSent]
    };
    let first = sent(Homes::First);
    assert_eq!(sent(Homes::Recorded), first);
    assert!(sent(Homes::FirstTouch) * 2 < first);
    assert_eq!(sent(Homes::FirstTouch), sent(Homes::Block));
    assert!(sent(Homes::Cyclic(1)) > sent(Homes::Block));
}

#[test]
fn whoever_waits_for_work_when_the_program_ends_is_done() {
    let mut accesses = handed_over(3);
    accesses.threads[1] = thread(&[
        (&[], 0, End::Barrier),
        (&[read(0, 3)], 0, End::Barrier),
        (&[], 0, End::Exit),
    ]);
    accesses.check().unwrap();
    replay(&accesses, &setting(2, HOME)).unwrap();
}

#[test]
fn pinned_pages_cost_their_owner_nothing() {
    let mut accesses = handed_over(2);
    let stack = Area {
        pages: 2,
        home: Placement::Pinned(NodeId(1)),
    };
    accesses.areas.push(stack);
    accesses.threads[1].sets[0].push(write(2, 2, 24));
    accesses.threads[0].sets[1].push(read(3, 1));
    accesses.check().unwrap();
    for sharing in [HOME, HOMELESS] {
        let outcome = replay(&accesses, &setting(2, sharing)).unwrap();
        assert_eq!(outcome.nodes[0].counts[DsmCount::FetchFaults], 1);
        assert_eq!(outcome.nodes[1].counts[DsmCount::WriteFaultsLocal], 0);
    }
}

#[test]
fn clusters_that_cannot_be_are_refused() {
    let accesses = handed_over(1);
    assert_eq!(
        replay(&accesses, &setting(0, HOME)),
        Err(ReplayError::NoNode)
    );
    let said = replay(&accesses, &setting(3, HOME))
        .unwrap_err()
        .to_string();
    assert!(said.contains("record on 3 nodes"), "{said}");
}

#[test]
fn what_happens_is_told_by_region() {
    // The first region is gone through twice; thread 1 comes once more for work.
    let work = |ns| (&[][..], ns, End::Barrier);
    let rounds = [(9, 5000), (7, 100_000), (9, 5000)];
    let mut first = Vec::new();
    let mut second = Vec::new();
    let page = [write(0, 1, 24)];
    for (_, work_ns) in rounds {
        first.extend([work(1000), work(work_ns)]);
        second.extend([work(0), (&page[..], 0, End::Barrier)]);
    }
    first.push((&[], 300, End::Exit));
    second.push((&[], 0, End::Barrier));
    second.push((&[], 0, End::Exit));
    let mut accesses = program(1, vec![thread(&first), thread(&second)]);
    for (round, (region, _)) in rounds.into_iter().enumerate() {
        let fork = &mut accesses.threads[0].steps[2 * round];
        (fork.order_bytes, fork.region) = (168, region);
    }
    let outcome = replay(&accesses, &setting(2, PLAIN)).unwrap();
    let regions: Vec<_> = outcome
        .regions
        .iter()
        .map(|r| (r.site, r.instances))
        .collect();
    assert_eq!(regions, [(0, 4), (9, 2), (7, 1)]);
    let [outside, nine, seven] = &outcome.regions[..] else {
        panic!("{regions:?}");
    };
    let works = [outside, nine, seven].map(|region| region.all.work_ns);
    assert_eq!(works, [3300, 10_000, 100_000]);
    assert_eq!(nine.all.counts[DsmCount::FetchFaults], 1);
    // The first write fetches the page and then is a fault of its own.
    assert_eq!(nine.all.counts[DsmCount::WriteFaultsRemote], 2);
    assert_eq!(seven.all.counts[DsmCount::WriteFaultsRemote], 1);
    assert_eq!(outside.time_ns, 3300);
    assert!(seven.time_ns > 100_000);
    let times = outcome.regions.iter().map(|region| region.time_ns);
    assert_eq!(times.sum::<u64>(), outcome.time_ns);
    let messages = outcome.regions.iter().map(|region| region.all.messages);
    assert_eq!(messages.sum::<u64>(), outcome.all().messages);
}

#[test]
fn pages_fetched_with_a_lock_held_are_told_apart() {
    let locked = [write(0, 2, 24)];
    let each = thread(&[
        (&[read(4, 1)], 0, End::Acquire(1)),
        (&locked, 0, End::Release(1)),
        (&[read(5, 1)], 0, End::Barrier),
        (&[], 0, End::Exit),
    ]);
    let accesses = program(6, vec![each.clone(), each]);
    let outcome = replay(&accesses, &setting(2, PLAIN)).unwrap();
    let [fetches, held] = [DsmCount::FetchFaults, DsmCount::FetchFaultsLocked]
        .map(|count| outcome.nodes[1].counts[count]);
    assert_eq!((fetches, held), (4, 2));
}
