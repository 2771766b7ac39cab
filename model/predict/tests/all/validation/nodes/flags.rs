//! What our model makes of threads that pass on by flags: how long they wait for each other,
//! and what their flushes cost.

use super::super::{measured, recording};
use super::{beside, computed};
use fathomp_analysis::{Analysis, Dsm, State};
use fathomp_predict::nodes::{Beside, NodesTerm, NodesTime, nodes};
use fathomp_predict::prices::{Cluster, Crowd, Priced as Price, Protocol, Synchronisation};

#[test]
fn a_pipeline_waits_for_each_thread_beside_the_slowest() {
    let cluster = measured();
    let prices = cluster.prices(Protocol::Home, None).unwrap().prices;
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 0, &[0], &[Dsm::default()]);
    computed(&mut alone, 1, &[0], &[Dsm::default()]);
    let passes = Dsm {
        flushes: 30,
        fetch_faults: 20,
        barriers: 1,
        fault_ns: (20.0 * prices.fetch_us * 1e3) as u64,
        // As measured.
        flush_ns: 30_000,
        ..Dsm::default()
    };
    // Looks for the others, by flushes and fetches that are not the program's.
    let looks = |looks: u64, look_ns| Dsm {
        flushes: 30 + looks,
        looks,
        fetch_faults: 20 + looks,
        fetch_faults_looking: looks,
        look_ns,
        look_shared_ns: 600_000,
        fault_ns: passes.fault_ns + 500_000,
        flush_ns: passes.flush_ns + 100_000,
        ..passes
    };
    let on = |nodes: u32, counted: &[Dsm]| {
        let mut analysis = recording("a", nodes, 1);
        analysis.program.nodes = nodes;
        analysis.program.emulated_time = true;
        analysis.regions.truncate(2);
        let none = vec![Dsm::default(); counted.len()];
        computed(&mut analysis, 0, &vec![0; counted.len()], &none);
        let between = |dsm: &Dsm| dsm.flush_ns + dsm.look_ns - dsm.look_shared_ns;
        let compute_ns: Vec<u64> = counted.iter().map(between).collect();
        computed(&mut analysis, 1, &compute_ns, counted);
        for (share, dsm) in analysis.regions[1].threads.iter_mut().zip(counted) {
            share.states.0[State::Communication] = dsm.fault_ns;
        }
        analysis
    };
    let first = Dsm {
        flushes: 30,
        ..Dsm::default()
    };
    // The slowest waits a millisecond for each of the other two; node 0 has nothing to do.
    let four = on(4, &[first, looks(3, 2_000_000), passes, passes]);
    let three = on(3, &[first, passes, looks(8, 700_000)]);
    let time = |analysis: &Analysis, others: &[&Analysis]| -> NodesTime {
        let known = Beside {
            others,
            ..beside(&alone, &cluster, &prices)
        };
        nodes(analysis, &known).unwrap()[1].time
    };
    let close = |found: f64, expected_us: f64| {
        let off = (found * 1e-3 - expected_us).abs();
        assert!(off <= 1e-3, "{found} {expected_us}");
    };
    let from_four = time(&three, &[&four]);
    close(from_four[NodesTerm::Waits], 1_000.0);
    // What looking costs is not counted again.
    close(from_four[NodesTerm::Flushes], 30.0);
    close(from_four[NodesTerm::Fetches], 20.0 * prices.fetch_us);
    close(from_four[NodesTerm::Stalls], 0.0);
    close(time(&four, &[&three])[NodesTerm::Waits], 2.0 * 700.0);
    // Of two nodes, one orders the flushes: the other has nobody to wait for.
    let two = on(2, &[looks(50, 9_000_000), passes]);
    close(time(&two, &[&four])[NodesTerm::Waits], 0.0);
    close(time(&three, &[&two, &four])[NodesTerm::Waits], 1_000.0);
    // Who looks for dear sees late what he has waited for, the more the more there are.
    let dear = |dsm: Dsm| Dsm {
        flush_ns: dsm.flushes * 30_000,
        ..dsm
    };
    let slow = on(
        4,
        &[first, dear(looks(3, 800_000)), dear(passes), dear(passes)],
    );
    let all = [[first; 1].as_slice(), &[dear(passes); 7]].concat();
    let [four_ns, eight_ns] = [&slow, &on(8, &all)].map(|one| {
        let time = time(one, &[&slow]);
        time[NodesTerm::Waits]
    });
    assert!(eight_ns > 3.2 * four_ns, "{four_ns} {eight_ns}");
}

#[test]
fn a_flush_costs_what_it_costs_one_alone_and_what_others_ask_of_node_0() {
    let price = |median: f64| Price {
        median,
        interval: [median, median],
    };
    let prices = measured().prices(Protocol::Home, None).unwrap().prices;
    let cluster = |lone_us: Option<f64>, at_work_us: Option<f64>| {
        let mut cluster = measured();
        // Seven others keep node 0 busy, for 20 us each.
        let rows = [(2, 170.0), (8, 210.0)].map(|(nodes, flush_us)| Synchronisation {
            nodes,
            flush_us: price(flush_us),
            crowd: Some(Crowd {
                update_us: price(500.0),
                lone_update_us: price(90.0),
                lone_flush_us: lone_us.map(price),
                lone_flush_diff_us: lone_us.map(|us| price(us + 30.0)),
                fetch_us: price(200.0),
                same_us: None,
                at_work_us: at_work_us.map(price),
                first_diff_us: Some(price(45.0)),
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
    computed(&mut alone, 1, &[0], &[Dsm::default()]);
    let passes = Dsm {
        flushes: 40,
        diffs_sent: 30,
        ..Dsm::default()
    };
    let time = |nodes_here: u32, cluster: &Cluster| {
        let mut all = recording("a", nodes_here, 1);
        all.program.nodes = nodes_here;
        all.program.emulated_time = true;
        all.regions.truncate(2);
        computed(&mut all, 0, &[0], &[Dsm::default()]);
        let mut counted = vec![passes; nodes_here as usize];
        // Recorded when it looks for flags.
        counted[0] = Dsm {
            flushes: 1,
            looks: 1,
            ..Dsm::default()
        };
        computed(&mut all, 1, &vec![0; counted.len()], &counted);
        nodes(&all, &beside(&alone, cluster, &prices)).unwrap()[1].time
    };
    let us = |time: NodesTime, term| time[term] * 1e-3;
    let close = |found_us: f64, expected_us: f64| {
        let off = (found_us - expected_us).abs();
        assert!(
            off < 1e-6 * expected_us.max(1.0),
            "{found_us} {expected_us}"
        );
    };
    let known = cluster(Some(150.0), None);
    let two = time(2, &known);
    close(us(two, NodesTerm::Flushes), 40.0 * 150.0);
    close(us(two, NodesTerm::Diffs), 30.0 * 30.0);
    close(us(two, NodesTerm::Contention), 0.0);
    // Node 0 looks for flags: somebody has to wake up there.
    let woken = time(2, &cluster(Some(150.0), Some(210.0)));
    close(us(woken, NodesTerm::Contention), 40.0 * 10.0);
    // Eight wait for each other, but no longer than for all.
    let waits_us = us(time(8, &known), NodesTerm::Contention);
    assert!((100.0..40.0 * 140.0).contains(&waits_us), "{waits_us}");
    // Where it was not measured, it costs as much as if all do it at once, and the first diff as
    // much as at a barrier.
    let unknown = time(2, &cluster(None, Some(210.0)));
    close(us(unknown, NodesTerm::Flushes), 40.0 * 170.0);
    close(us(unknown, NodesTerm::Diffs), 30.0 * 45.0);
    close(us(unknown, NodesTerm::Contention), 0.0);
}

#[test]
fn who_waits_for_a_thread_waits_for_what_that_is_told_when_it_flushes() {
    let price = |median: f64| Price {
        median,
        interval: [median, median],
    };
    let prices = measured().prices(Protocol::Home, None).unwrap().prices;
    // Seven microseconds a page that becomes invalid.
    let mut cluster = measured();
    let rows = [(2, 7.0), (8, 1.0)].map(|(nodes, notice_us)| Synchronisation {
        nodes,
        crowd: Some(Crowd {
            update_us: price(500.0),
            lone_update_us: price(90.0),
            lone_flush_us: Some(price(150.0)),
            lone_flush_diff_us: Some(price(150.0)),
            fetch_us: price(200.0),
            same_us: None,
            at_work_us: None,
            first_diff_us: None,
            diff_us: price(0.0),
            half_diff_us: None,
            whole_diff_us: None,
            ragged_diff_us: None,
            diff_sent_us: None,
            whole_sent_us: None,
            notice_us: price(notice_us),
        }),
        ..measured().measured.unwrap().synchronisation[0]
    });
    cluster.measured.as_mut().unwrap().synchronisation = rows.to_vec();
    let mut alone = recording("a", 1, 1);
    computed(&mut alone, 0, &[0], &[Dsm::default()]);
    computed(&mut alone, 1, &[0], &[Dsm::default()]);
    let time = |invalidations: u64| -> NodesTime {
        let mut all = recording("a", 4, 1);
        all.program.nodes = 4;
        all.program.emulated_time = true;
        all.regions.truncate(2);
        computed(&mut all, 0, &[0], &[Dsm::default()]);
        let passes = Dsm {
            flushes: 30,
            barriers: 1,
            flush_ns: 4_500_000,
            invalidations,
            ..Dsm::default()
        };
        let first = Dsm {
            flushes: 30,
            ..Dsm::default()
        };
        let last = Dsm {
            flushes: 33,
            looks: 3,
            look_ns: 2_000_000,
            ..passes
        };
        let counted = [first, last, passes, passes];
        let compute_ns = counted.map(|dsm| dsm.flush_ns + dsm.look_ns);
        computed(&mut all, 1, &compute_ns, &counted);
        nodes(&all, &beside(&alone, &cluster, &prices)).unwrap()[1].time
    };
    let (none, told) = (time(0), time(100));
    let more_us = |term| (told[term] - none[term]) * 1e-3;
    // Once for the slowest; and two milliseconds for the others are as much longer as these
    // take longer to pass on, but for the longest gap between two looks.
    assert!((more_us(NodesTerm::Notices) - 700.0).abs() < 1e-6);
    let waits_us = more_us(NodesTerm::Waits);
    let all_us = 2_000.0 * 700.0 / 4_500.0;
    assert!((0.5 * all_us..all_us).contains(&waits_us), "{waits_us}");
}
