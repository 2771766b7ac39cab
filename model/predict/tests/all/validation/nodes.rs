//! What our model of nodes makes of counts and prices, term by term.

mod flags;

use super::{measured, recording};
use fathomp_analysis::{Analysis, Dsm, PhaseShare, RegionDsm, State, Times};
use fathomp_predict::nodes::{Beside, NodesTerm, NodesTime, nodes};
use fathomp_predict::prices::{Cluster, Crowd, Priced as Price, Prices, Protocol, Synchronisation};
use std::path::Path;

/// What a home-based recording is predicted from, on processors of its own.
fn beside<'a>(alone: &'a Analysis, cluster: &'a Cluster, prices: &'a Prices) -> Beside<'a> {
    Beside {
        alone,
        others: &[],
        processors: None,
        cluster,
        protocol: Protocol::Home,
        prices,
    }
}

/// As if each thread had computed for so long, and counted what is given.
fn computed(analysis: &mut Analysis, region: usize, compute_ns: &[u64], dsm: &[Dsm]) {
    let shares = &mut analysis.regions[region].threads;
    shares.truncate(dsm.len());
    let counted = compute_ns.iter().zip(dsm).zip(0..);
    for (share, ((compute_ns, dsm), node)) in shares.iter_mut().zip(counted) {
        share.node = node;
        share.states = Times::default();
        share.states.0[State::Compute] = *compute_ns;
        share.dsm = Some(*dsm);
    }
    let states = &mut analysis.regions[region].states;
    *states = Times::default();
    states.0[State::Compute] = compute_ns.iter().sum();
}

#[test]
fn our_model_of_nodes_adds_what_the_published_leave_out() {
    let mut two = recording("a", 2, 1);
    two.program.nodes = 2;
    two.regions.truncate(2);
    let serial = Dsm {
        barriers: 2,
        ..Dsm::default()
    };
    computed(&mut two, 0, &[5_000_000], &[serial]);
    let [slow, quick] = [(3, 4), (100, 2)].map(|(fetch_faults, locks)| Dsm {
        fetch_faults,
        pages_served: 103 - fetch_faults,
        locks,
        barriers: 5,
        flushes: 1,
        fault_ns: 500_000_000,
        lock_ns: 600_000,
        flush_ns: 400_000,
        ..Dsm::default()
    });
    computed(&mut two, 1, &[61_000_000, 11_000_000], &[slow, quick]);
    let cluster = measured();
    let prices = cluster.prices(Protocol::Home, None).unwrap().prices;
    let mut alone = recording("a", 1, 1);
    let none = Dsm::default();
    computed(&mut alone, 0, &[4_000_000], &[none]);
    computed(&mut alone, 1, &[84_000_000], &[none]);
    let beside = beside(&alone, &cluster, &prices);
    let whole = |analysis: &Analysis, beside: &Beside<'_>| -> NodesTime {
        let regions = nodes(analysis, beside).unwrap();
        regions.iter().map(|region| &region.time).sum()
    };
    let time = whole(&two, &beside);
    let close = |found: f64, expected_us: f64| {
        assert!(
            (found - expected_us * 1e3).abs() < 1.0,
            "{found} {expected_us}"
        );
    };
    // The first thread is slower: 60 ms and few faults against 10 ms and many,
    // and that of 84 ms with one thread.
    close(time[NodesTerm::Serial], 4_000.0);
    close(time[NodesTerm::Work], 42_000.0);
    close(time[NodesTerm::Imbalance], 30_000.0);
    close(time[NodesTerm::Sharing], 0.0);
    close(time[NodesTerm::Fetches], 3.0 * 295.3);
    // It answers the other now and then: each time that keeps its link for 40 us at most.
    let queued_us = time[NodesTerm::Contention] * 1e-3;
    assert!((0.0..3.0 * 41.0).contains(&queued_us), "{queued_us}");
    // The last to come is node 0, whose way is none: the other learns of it, and comes to where the
    // next region begins.
    close(time[NodesTerm::Barriers], 5.0 * (75.0 + 75.0));
    close(time[NodesTerm::Locks], 6.0 * 130.0);
    // It is at the node that orders them.
    close(time[NodesTerm::Flushes], 0.0);
    let sum: f64 = time.terms().map(|(_, time_ns)| time_ns).sum();
    close(time.time_ns(), sum * 1e-3);

    // Without measured synchronisation, latency is all that is known of it.
    let published = Cluster::find(Path::new("gige_amd")).unwrap();
    let unmeasured = Beside {
        cluster: &published,
        ..beside
    };
    let time = whole(&two, &unmeasured);
    close(time[NodesTerm::Barriers], 5.0 * (62.5 + 62.5));
    // Node 0, which comes last, need not ask for its own.
    close(time[NodesTerm::Locks], 6.0 * 62.5);
    let queued_us = time[NodesTerm::Contention] * 1e-3;
    assert!((0.0..3.0 * 41.0).contains(&queued_us), "{queued_us}");

    // One processor for both.
    let shared = Beside {
        processors: Some(1),
        ..beside
    };
    close(whole(&two, &shared)[NodesTerm::Sharing], 72_000.0);

    // So much application time that it was spent looking.
    computed(&mut two, 1, &[200_000_000, 20_000_000], &[slow, quick]);
    let time = whole(&two, &beside);
    close(time[NodesTerm::Work], 42_000.0);
    close(time[NodesTerm::Imbalance], 0.0);

    // In emulated time it was work, and what the serial part took longer too.
    two.program.emulated_time = true;
    let time = whole(&two, &beside);
    close(time[NodesTerm::Work], 42_000.0);
    close(
        time[NodesTerm::Stalls],
        1_000.0 + 199_000.0 - 84_000.0 * 199.0 / 218.0,
    );
    // Unless it flushes all the time.
    let looking = Dsm {
        flushes: 6,
        ..quick
    };
    computed(&mut two, 1, &[200_000_000, 20_000_000], &[slow, looking]);
    close(whole(&two, &beside)[NodesTerm::Stalls], 1_000.0);

    two.program.nodes = 1;
    assert!(nodes(&two, &beside).is_none());
}

#[test]
fn diffs_cost_what_they_hold_and_wait_for_those_of_others() {
    let cluster = measured();
    let prices = cluster.prices(Protocol::Home, None).unwrap().prices;
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 1, &[0], &[Dsm::default()]);
    let mut three = recording("a", 3, 1);
    three.program.nodes = 3;
    three.regions.truncate(2);
    computed(&mut three, 0, &[0], &[Dsm::default()]);
    let home = Dsm {
        pages_served: 200,
        diffs_applied: 20,
        bytes_sent: 200 * (4096 + 64),
        ..Dsm::default()
    };
    // 1000 bytes each, and as much for the messages as is taken off for them.
    let writer = Dsm {
        fetch_faults: 100,
        diffs_sent: 10,
        bytes_sent: 10_000 + 100 * 64,
        ..Dsm::default()
    };
    computed(&mut three, 1, &[0, 0, 0], &[home, writer, writer]);
    let beside = beside(&alone, &cluster, &prices);
    let regions = nodes(&three, &beside).unwrap();
    let time: NodesTime = regions.iter().map(|region| &region.time).sum();
    let per_byte_us = prices.diff_to_home_us / fathomp_protocols::Diff::BYTES_OF_HALF as f64;
    let close = |found: f64, expected_us: f64| {
        let off = (found * 1e-3 - expected_us).abs();
        assert!(off < 1e-6 * expected_us, "{found} {expected_us}");
    };
    // All of the other's come in at the same link, and their home waits for that. So long is one on
    // its way.
    let link_us = 10_000.0 / 103.4;
    let way_us = 75.0;
    close(
        time[NodesTerm::Diffs],
        10_000.0 * per_byte_us + link_us + way_us,
    );
    // Two ask one home, each 100 times in the course of its work: the second finds the first's
    // page on the link for so much of the time, half gone. Who fetches answers nobody.
    let page_us = 4160.0 / 103.4;
    let work_us = |time: &NodesTime| time[NodesTerm::Work] * 1e-3;
    let cycle_us = prices.fetch_us + work_us(&time) / 100.0;
    let queued_us = 50.0 * page_us * page_us / cycle_us;
    let contention_us = time[NodesTerm::Contention] * 1e-3;
    let off = contention_us / queued_us;
    assert!((0.7..1.4).contains(&off), "{contention_us} {queued_us}");
    // Of many, all wait for that link.
    let mut many = recording("a", 20, 1);
    many.program.nodes = 20;
    many.regions.truncate(2);
    computed(&mut many, 0, &[0], &[Dsm::default()]);
    let mut shares = vec![writer; 20];
    shares[0] = Dsm {
        pages_served: 1900,
        ..home
    };
    computed(&mut many, 1, &[0; 20], &shares);
    let regions = nodes(&many, &beside).unwrap();
    let contention_us = regions[1].time[NodesTerm::Contention] * 1e-3;
    let cycle_us = prices.fetch_us + work_us(&regions[1].time) / 100.0;
    let queued_us = 100.0 * (19.0 * page_us - cycle_us);
    assert!(
        (contention_us - queued_us).abs() < 0.03 * queued_us,
        "{contention_us} {queued_us}"
    );
    // A published price is of a diff, whatever it holds.
    let published = Cluster {
        measured: None,
        ..cluster.clone()
    };
    let beside = Beside {
        cluster: &published,
        ..beside
    };
    let regions = nodes(&three, &beside).unwrap();
    close(
        regions[1].time[NodesTerm::Diffs],
        10.0 * prices.diff_to_home_us + link_us + 62.5,
    );
}

#[test]
fn who_waits_for_a_lock_waits_for_what_is_fetched_with_it() {
    let cluster = measured();
    let prices = cluster.prices(Protocol::Home, None).unwrap().prices;
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 1, &[0], &[Dsm::default()]);
    let mut two = recording("a", 2, 1);
    two.program.nodes = 2;
    let holder = |fetch_faults, fetch_faults_locked| Dsm {
        locks: 10,
        fetch_faults,
        fetch_faults_locked,
        ..Dsm::default()
    };
    computed(&mut two, 1, &[0, 0], &[holder(10, 7), holder(50, 3)]);
    let beside = beside(&alone, &cluster, &prices);
    let regions = nodes(&two, &beside).unwrap();
    // The other's seven; its own three are among its fetches.
    let expected_us = 20.0 * 130.0 + 7.0 * prices.fetch_us;
    let found = regions[1].time[NodesTerm::Locks];
    assert!((found - expected_us * 1e3).abs() < 1.0, "{found}");

    // Who looks at flags finds the other there now and then, the rarer the longer it does
    // something else.
    for share in &mut two.regions[1].threads {
        let dsm = share.dsm.as_mut().unwrap();
        dsm.flushes = 11;
    }
    let locks_ns = |two: &Analysis, alone: &Analysis| {
        let beside = Beside { alone, ..beside };
        nodes(two, &beside).unwrap()[1].time[NodesTerm::Locks]
    };
    let often_ns = locks_ns(&two, &alone);
    let mut longer = alone.clone();
    computed(&mut longer, 1, &[20_000_000_000], &[Dsm::default()]);
    let rarely_ns = locks_ns(&two, &longer);
    let lone_ns = 10.0 * 2.0 * cluster.network.latency_us * 1e3;
    assert!(
        lone_ns < rarely_ns && rarely_ns < 1.01 * lone_ns,
        "{rarely_ns}"
    );
    assert!(
        rarely_ns < often_ns && often_ns < expected_us * 1e3,
        "{often_ns}"
    );
}

#[test]
fn what_all_want_of_one_node_waits_for_it() {
    let mut cluster = measured();
    let prices = cluster.prices(Protocol::Home, None).unwrap().prices;
    let price = |median: f64| Price {
        median,
        interval: [median, median],
    };
    let crowd = |nodes: u32, fetch_us: f64, diff_us: f64| Synchronisation {
        nodes,
        crowd: Some(Crowd {
            update_us: price(500.0),
            lone_update_us: price(90.0),
            lone_flush_us: None,
            lone_flush_diff_us: None,
            fetch_us: price(fetch_us),
            same_us: None,
            at_work_us: None,
            first_diff_us: None,
            diff_us: price(diff_us),
            half_diff_us: None,
            whole_diff_us: None,
            ragged_diff_us: None,
            diff_sent_us: None,
            whole_sent_us: None,
            // The home does 1 us for each page, and the others 3.5 us for each of their own.
            notice_us: price(1.0 + 3.5 / f64::from(nodes - 1)),
        }),
        ..measured().measured.unwrap().synchronisation[0]
    };
    let rows = vec![crowd(2, 200.0, 5.0), crowd(8, 1200.0, 17.0)];
    cluster.measured.as_mut().unwrap().synchronisation = rows;
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 1, &[0], &[Dsm::default()]);
    let mut three = recording("a", 3, 1);
    three.program.nodes = 3;
    three.regions.truncate(2);
    computed(&mut three, 0, &[0], &[Dsm::default()]);
    let writer = Dsm {
        fetch_faults: 110,
        fetch_faults_locked: 10,
        write_faults_remote: 40,
        diffs_sent: 30,
        invalidations: 60,
        locks: 10,
        ..Dsm::default()
    };
    let home = Dsm {
        pages_served: 220,
        diffs_applied: 60,
        ..Dsm::default()
    };
    computed(&mut three, 1, &[0, 0, 0], &[home, writer, writer]);
    let beside = beside(&alone, &cluster, &prices);
    let locked = nodes(&three, &beside).unwrap()[1].time;
    // What was done with a lock held is in the price of handing it on, twenty times. Of the two
    // that were priced, the page's home did not fetch it. The other diffs go home with it as well,
    // and whoever gets it next waits for them: nothing is left to send.
    let (handed_us, diffs_us) = (20.0 * (2.0 * 500.0 - 130.0), 2.0 * 20.0 * 5.0);
    let locks_us = locked[NodesTerm::Locks] * 1e-3;
    assert!((locks_us - handed_us - diffs_us).abs() < 1e-6, "{locks_us}");
    assert_eq!(locked[NodesTerm::Diffs], 0.0);
    // Without it they are sent when all have come.
    for share in &mut three.regions[1].threads {
        share.dsm.as_mut().unwrap().locks = 0;
    }
    let regions = nodes(&three, &beside).unwrap();
    let time_us = |term| regions[1].time[term] * 1e-3;
    let close = |term, expected_us: f64| {
        let found = time_us(term);
        assert!((found - expected_us).abs() < 1e-6 * expected_us, "{found}");
    };
    close(NodesTerm::Fetches, 100.0 * prices.fetch_us);
    close(NodesTerm::RemoteWrites, 30.0 * prices.remote_write_us);
    // A diff costs something whatever it holds; so does telling of a page.
    // Seven others add 12 us to one: each keeps the home for 2 of 5.
    close(NodesTerm::Diffs, 20.0 * 3.0);
    close(NodesTerm::Notices, 60.0 * 3.5);
    // Seven take six times as long as one: a home's processor is what they wait for, for 171 us each.
    // Of two, each waits for that of the other, once the one is behind the other.
    let waits_us = time_us(NodesTerm::Contention);
    let once_us = 1_200.0 / 7.0;
    assert!((0.0..2.0 * once_us).contains(&waits_us), "{waits_us}");
    // If nobody is told anything, the home goes on last: when the first has come, and it has done
    // those of both.
    for share in &mut three.regions[1].threads {
        share.dsm.as_mut().unwrap().invalidations = 0;
    }
    let untold = nodes(&three, &beside).unwrap()[1].time;
    let diffs_us = untold[NodesTerm::Diffs] * 1e-3;
    assert!(
        (diffs_us - 75.0 - 20.0 * (3.0 + 2.0 * 2.0)).abs() < 1e-6,
        "{diffs_us}"
    );
    assert_eq!(untold[NodesTerm::Notices], 0.0);
}

#[test]
fn a_fetch_costs_what_its_home_has_to_do_and_more_while_that_is_at_work() {
    let price = |median: f64| Price {
        median,
        interval: [median, median],
    };
    // Seven take as long as one if they read the same pages, and wait for each other if not.
    let cluster = |fetch_us: f64, same_us: Option<f64>, at_work_us: Option<f64>| {
        let mut cluster = measured();
        let rows = [(2, 200.0), (8, fetch_us)].map(|(nodes, fetch_us)| Synchronisation {
            nodes,
            crowd: Some(Crowd {
                update_us: price(500.0),
                lone_update_us: price(90.0),
                lone_flush_us: None,
                lone_flush_diff_us: None,
                fetch_us: price(fetch_us),
                same_us: same_us.map(price),
                at_work_us: at_work_us.map(price),
                first_diff_us: None,
                diff_us: price(5.0),
                half_diff_us: None,
                whole_diff_us: None,
                ragged_diff_us: None,
                diff_sent_us: None,
                whole_sent_us: None,
                notice_us: price(0.0),
            }),
            ..measured().measured.unwrap().synchronisation[0]
        });
        cluster.measured.as_mut().unwrap().synchronisation = rows.to_vec();
        cluster
    };
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 0, &[0], &[Dsm::default()]);
    computed(&mut alone, 1, &[8_000_000], &[Dsm::default()]);
    let two = |write_faults_local, diffs_applied| {
        let mut two = recording("a", 2, 1);
        two.program.nodes = 2;
        two.regions.truncate(2);
        computed(&mut two, 0, &[0, 0], &[Dsm::default(); 2]);
        let home = Dsm {
            pages_served: 10,
            write_faults_local,
            diffs_applied,
            ..Dsm::default()
        };
        let asker = Dsm {
            fetch_faults: 10,
            ..Dsm::default()
        };
        computed(&mut two, 1, &[4_000_000; 2], &[home, asker]);
        two
    };
    let prices = measured().prices(Protocol::Home, None).unwrap().prices;
    let time_us = |analysis: &Analysis, cluster: &Cluster, term| {
        let regions = nodes(analysis, &beside(&alone, cluster, &prices)).unwrap();
        regions[1].time[term] * 1e-3
    };
    let plain = cluster(200.0, None, None);
    let [fetches_us, waits_us] =
        [NodesTerm::Fetches, NodesTerm::Contention].map(|term| time_us(&two(2, 0), &plain, term));
    assert_eq!(fetches_us, 10.0 * prices.fetch_us);
    assert!(waits_us < 1e-6, "{waits_us}");
    // The home works for 4 ms of the 4 that the asker works for and those of its fetches. Then it
    // looks for messages, but not for as long as it is until the next.
    let at_work = cluster(200.0, None, Some(290.0));
    let more_us = time_us(&two(2, 0), &at_work, NodesTerm::Contention);
    assert!((more_us - 10.0 * 90.0).abs() < 0.1, "{more_us}");
    // Of ten pages so many were new to their home: what it wrote, and half of the diffs.
    let same = cluster(1_200.0, Some(200.0), None);
    let less_us = |mut analysis: Analysis, nodes| {
        analysis.program.nodes = nodes;
        fetches_us - time_us(&analysis, &same, NodesTerm::Fetches)
    };
    // At least as many as there are others to be first.
    let most_us = less_us(two(0, 0), 8);
    assert!(most_us > 10.0 * 150.0 * 6.0 / 7.0, "{most_us}");
    assert!((less_us(two(2, 6), 8) - 0.5 * most_us * 7.0 / 6.0).abs() < 1e-6);
    assert!(less_us(two(12, 0), 8).abs() < 1e-6);
    assert!(less_us(two(0, 0), 2).abs() < 1e-6);
}

#[test]
fn threads_that_are_slowest_by_turns_take_longer_than_any_of_them() {
    let cluster = measured();
    let prices = cluster.prices(Protocol::Home, None).unwrap().prices;
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 1, &[40_000_000], &[Dsm::default()]);
    let mut two = recording("a", 2, 1);
    two.program.nodes = 2;
    let dsm = |fetch_faults, barriers| Dsm {
        fetch_faults,
        barriers,
        ..Dsm::default()
    };
    computed(&mut two, 1, &[20_000_000; 2], &[dsm(70, 3), dsm(70, 3)]);
    let time = |two: &Analysis| -> NodesTime {
        let regions = nodes(two, &beside(&alone, &cluster, &prices)).unwrap();
        regions[1].time
    };
    let close = |found: f64, expected_us: f64| {
        let off = (found * 1e-3 - expected_us).abs();
        assert!(off <= 1e-6 * expected_us, "{found} {expected_us}");
    };
    let even = time(&two);
    close(even[NodesTerm::Fetches], 70.0 * prices.fetch_us);
    close(even[NodesTerm::Work], 20_000.0);
    close(even[NodesTerm::Imbalance], 0.0);
    // First one fetches, and computes most, then the other. Of the last barrier nothing is
    // known but what is left: ten fetches of each, and a third of the time.
    let part = |own_ns, fetch_faults| PhaseShare {
        own_ns,
        dsm: dsm(fetch_faults, 1),
        last: false,
    };
    two.regions[1].dsm = Some(RegionDsm {
        phases: vec![
            vec![part(9_000, 60), part(1_000, 0)],
            vec![part(1_000, 0), part(9_000, 60)],
        ],
        ..RegionDsm::default()
    });
    let by_turns = time(&two);
    close(by_turns[NodesTerm::Fetches], 130.0 * prices.fetch_us);
    close(by_turns[NodesTerm::Work], 20_000.0);
    close(by_turns[NodesTerm::Imbalance], 2.0 * 0.8 * 20_000.0 / 3.0);
    close(by_turns[NodesTerm::Barriers], 3.0 * 150.0);
}

#[test]
fn what_work_takes_longer_after_a_write_counts_once() {
    let cluster = measured();
    let prices = cluster.prices(Protocol::Home, None).unwrap().prices;
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 1, &[40_000_000], &[Dsm::default()]);
    let priced_ns = 100.0 * prices.remote_write_us * 1e3;
    let recorded = |fetch_faults, emulated_time| {
        let mut two = recording("a", 2, 1);
        two.program.nodes = 2;
        two.program.emulated_time = emulated_time;
        let writer = Dsm {
            write_faults_remote: 100,
            fetch_faults,
            fault_ns: (0.75 * priced_ns) as u64,
            ..Dsm::default()
        };
        computed(
            &mut two,
            1,
            &[20_000_000, 21_000_000],
            &[Dsm::default(), writer],
        );
        nodes(&two, &beside(&alone, &cluster, &prices)).unwrap()[1].time
    };
    let writes = |time: NodesTime| time[NodesTerm::RemoteWrites] / priced_ns;
    // What they took is known; what the price says more is in what work took longer.
    let emulated = recorded(0, true);
    assert!((writes(emulated) - 0.75).abs() < 1e-6);
    assert!(emulated[NodesTerm::Stalls] > 0.0);
    // Of who fetches as well it is not known, and in real time nothing else holds it.
    for time in [recorded(1, true), recorded(0, false)] {
        assert!((writes(time) - 1.0).abs() < 1e-9);
    }
}
