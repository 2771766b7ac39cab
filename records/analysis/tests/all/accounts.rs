//! The accounts add up, and say what the made-up programs did.

use fathomp_analysis::testing::{Script, Work, demo, merge};
use fathomp_analysis::{Analysis, Confidence, Options, State, analyse};
use fathomp_trace::record::{CounterReading, Counters, Record};
use fathomp_types::SiteId;
use proptest::prelude::*;

fn facts(recording: &fathomp_trace::model::Recording) -> Analysis {
    analyse(recording, &Options::default())
}

fn row_total(analysis: &Analysis) -> u64 {
    analysis.regions.iter().map(|r| r.states.total_ns()).sum()
}

fn lives(analysis: &Analysis) -> u64 {
    let threads = analysis.threads_seen.iter();
    threads.map(|t| t.end_ns - t.begin_ns).sum()
}

#[test]
fn a_region_charges_every_thread_its_whole_length() {
    let mut script = Script::new(2);
    script
        .serial(5_000)
        .region(0x10, &[Work::compute(10_000), Work::compute(4_000)])
        .serial(1_000);
    let analysis = facts(&script.build());
    assert_eq!(analysis.wall_ns, 5_000 + 11_000 + 1_000);
    let region = &analysis.regions[1];
    assert_eq!((region.instances, region.wall_ns), (1, 11_000));
    assert_eq!(region.confidence, Confidence::Complete);
    assert_eq!(region.states[State::Compute], 14_000);
    assert_eq!(region.states[State::Overhead], 2_000);
    assert_eq!(region.states[State::ImplicitBarrier], 6_000);
    assert_eq!(region.imbalance_ns, 3_000);
    assert!((region.efficiency.load_balance - 0.7).abs() < 1e-9);
    assert!((region.efficiency.parallel - 14.0 / 22.0).abs() < 1e-9);
    let serial = &analysis.regions[0];
    assert_eq!(serial.wall_ns, 6_000);
    assert_eq!(serial.instances, 2);
    assert_eq!(serial.states[State::Compute], 6_000);
    assert_eq!(serial.states[State::Idle], 6_000);
    assert!((analysis.parallel_time_fraction - 11.0 / 17.0).abs() < 1e-9);
    assert_eq!(row_total(&analysis), 2 * 17_000);
}

#[test]
fn unevenness_says_who_was_longest_and_how_the_others_compare() {
    let mut script = Script::new(3);
    let work = |times: [u64; 3]| times.map(Work::compute);
    script
        .region(0x10, &work([10_000, 4_000, 4_000]))
        .region(0x10, &work([2_000, 6_000, 10_000]))
        .region(0x10, &[Work::compute(9_000)]);
    let seen = facts(&script.build()).regions[1].unevenness;
    assert_eq!((seen.executions, seen.team_size), (2, 3));
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-6, "{a} {b}");
    close(seen.longest_ns, 20_000.0);
    close(seen.excess_ns, 8_000.0);
    close(seen.excess_sd_ns, 0.0);
    close(seen.first_ns, 4_000.0);
    close(seen.most_ns, 4_000.0);
    // 6,000 against the mean of 2,000 and 6,000.
    close(seen.rest_ns, 2_000.0);
}

#[test]
fn efficiencies_of_the_program_multiply_and_add() {
    let analysis = facts(&demo(4));
    let e = analysis.efficiency;
    assert!((e.parallel - e.load_balance * e.communication).abs() < 1e-9);
    assert!((e.communication - e.serialisation * e.transfer).abs() < 1e-9);
    assert!((e.parallel - (e.serial_region + e.parallel_region - 1.0)).abs() < 1e-9);
    for region in &analysis.regions[1..] {
        let e = region.efficiency;
        assert!((e.parallel - e.load_balance * e.communication).abs() < 1e-6);
    }
}

#[test]
fn counters_are_divided_by_time_and_stay_whole() {
    let analysis = facts(&demo(4));
    let by_region: f64 = analysis.regions.iter().map(|r| r.counts.minor_faults).sum();
    assert!((by_region - analysis.counts.minor_faults).abs() < 1e-6);
    let instructions = analysis.counts.instructions.unwrap();
    assert!((instructions / analysis.counts.cycles.unwrap() - 2.0).abs() < 1e-9);
}

#[test]
fn time_without_a_processor_while_pages_were_fetched_is_not_taken_out_of_computing() {
    let mut work = Work::compute(100_000);
    for _ in 0..400 {
        work = work.and(State::Communication, 1_000);
    }
    let mut script = Script::new(1);
    script.region(0x10, &[work]);
    let mut recording = script.build();
    let thread = &mut recording.processes[0].threads[0];
    thread.records.push(Record::from(CounterReading {
        since: thread.begin,
        at: thread.end,
        site: SiteId::SERIAL,
        counts: Counters {
            voluntary_switches: 400,
            processor_ns: Some(150_000),
            run_delay_ns: Some(200_000),
            asleep_ns: Some(0),
            ..Counters::default()
        },
    }));
    recording.processes[0].cluster = 4_000;
    let states = facts(&recording).regions[1].states;
    // A fifth of the time was computing, so a fifth of the processor's absence.
    let near = |state, ns: f64| {
        let found = states[state] as f64;
        assert!((found / ns - 1.0).abs() < 0.02, "{state:?}: {found} {ns}");
    };
    near(State::Compute, 60_000.0);
    near(State::Communication, 400_000.0);
    near(State::Ready, 40_000.0);
}

#[test]
fn merged_recordings_keep_their_sums() {
    let mut recording = demo(4);
    let whole = facts(&recording);
    merge(&mut recording);
    let merged = facts(&recording);
    assert_eq!(row_total(&merged), lives(&merged));
    for region in &whole.regions[1..] {
        let other = merged.region(&region.key).unwrap();
        assert_eq!(other.confidence, Confidence::Merged);
        assert_eq!(other.instances, region.instances);
        assert_eq!(other.states.useful_ns(), region.states.useful_ns());
        let (a, b) = (other.wall_ns as f64, region.wall_ns as f64);
        assert!((a / b - 1.0).abs() < 0.01, "{a} {b}");
    }
}

#[test]
fn a_thread_without_records_is_missed() {
    let mut recording = demo(4);
    recording.processes[0].threads[0].records.clear();
    let analysis = facts(&recording);
    assert_eq!(row_total(&analysis), lives(&analysis));
    assert_eq!(analysis.regions[1].confidence, Confidence::Incomplete);
    let told = |p: &fathomp_analysis::Problem| p.sentence.contains("left no record");
    assert!(analysis.problems.iter().any(told));
}

#[test]
fn nothing_recorded_is_said_in_a_sentence() {
    let analysis = Analysis::empty();
    assert_eq!(analysis.regions.len(), 1);
    assert!(analysis.problems[0].sentence.contains("No process"));
    assert_eq!(analysis.threads, 1);
}

#[test]
fn json_names_its_schema_and_has_no_holes() {
    let json = serde_json::to_value(facts(&demo(3))).unwrap();
    assert_eq!(json["schema"], "fathomp.analysis");
    assert_eq!(json["version"], 1);
    assert!(json["regions"][1]["states"]["implicit_barrier"].is_u64());
    assert!(json["regions"][1]["efficiency"]["parallel"].is_f64());
}

fn works(threads: usize) -> impl Strategy<Value = Vec<Work>> {
    let one = (
        0..3_000_u64,
        proptest::collection::vec((0..11_usize, 0..5_000_u64), 0..5),
    );
    proptest::collection::vec(one, 1..=threads).prop_map(|team| {
        team.into_iter()
            .map(|(lead_ns, spans)| Work {
                lead_ns,
                states_ns: spans
                    .into_iter()
                    .map(|(state, ns)| (State::ALL[state], ns))
                    .collect(),
                ..Work::default()
            })
            .collect()
    })
}

proptest! {
    #[test]
    fn rows_add_up_to_the_lives_of_threads(
        teams in proptest::collection::vec((1..4_u64, 0..4_000_u64, works(4)), 0..20),
    ) {
        let mut script = Script::new(4);
        for (site, serial, work) in &teams {
            script.serial(*serial).region(site * 0x100, work);
        }
        let analysis = facts(&script.build());
        prop_assert_eq!(row_total(&analysis), lives(&analysis));
        prop_assert_eq!(lives(&analysis), 4 * analysis.wall_ns);
        for thread in &analysis.threads_seen {
            prop_assert_eq!(thread.states.total_ns(), analysis.wall_ns);
        }
        for region in &analysis.regions[1..] {
            // Every member of a team is charged the same.
            let members: u64 = region.threads.iter().map(|t| t.states.total_ns()).sum();
            prop_assert_eq!(members, region.states.total_ns());
            prop_assert!(region.efficiency.parallel <= 1.0);
        }
        for thread in &analysis.timeline.threads {
            let drawn: u64 = thread.segments.iter().map(|s| s.end_ns - s.begin_ns).sum();
            prop_assert_eq!(drawn, analysis.wall_ns);
        }
    }
}
