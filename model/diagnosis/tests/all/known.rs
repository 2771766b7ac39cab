//! Programs of which the cause is known because it was put into them.

use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{
    Analysis, BarrierWaitCauses, Decided, Decider, Options, Oversubscription, State, analyse,
};
use fathomp_diagnosis::{Basis, Cause, Diagnosis, Input, Kind, diagnose};
use fathomp_predict::machine::{Bandwidth, Machine};
use fathomp_shared_lines::{Evidence, Findings, SharedLine};
use fathomp_trace::model::{Pace, PieceTimes};
use fathomp_trace::record::Record;

const REGION: u64 = 0x1200;

fn facts(script: Script) -> Analysis {
    analyse(&script.build(), &Options::default())
}

pub(crate) fn of(analyses: &[Analysis]) -> Diagnosis {
    let main = analyses.last().expect("there is one");
    diagnose(&Input {
        analyses,
        main,
        prediction: None,
        machine: None,
        sharing: None,
        samples: None,
        asks: &[],
    })
}

/// A program of one region, executed `times`.
pub(crate) fn regions(work: &[Work], times: usize) -> Analysis {
    let mut script = Script::new(work.len() as u32);
    script.serial(10_000);
    for _ in 0..times {
        script.region(REGION, work);
    }
    facts(script)
}

pub(crate) fn first(diagnosis: &Diagnosis) -> Kind {
    diagnosis
        .of_program()
        .next()
        .expect("there is a cause")
        .kind
}

/// A line that two threads write.
pub(crate) fn hits() -> SharedLine {
    SharedLine {
        kind: fathomp_shared_lines::Kind::False,
        name: "hits".to_owned(),
        parts: vec!["hits[0]".to_owned(), "hits[1]".to_owned()],
        offset: 0,
        lines: 1,
        address: 0x4000,
        declared: None,
        allocation: Vec::new(),
        regions: Vec::new(),
        accesses_at: Vec::new(),
        phases: 5,
        writers: vec![0, 1],
        readers: Vec::new(),
        accesses: 1000,
        atomics: 1000,
        locked: 0,
        est_cost_ns: None,
        boundary: false,
        handed_on: false,
        evidence: Evidence::Writes,
        sentence: String::new(),
        mend: "Pad it.".to_owned(),
    }
}

#[test]
fn threads_with_more_work_are_waited_for() {
    let work = [4_000_000, 1_000_000, 2_000_000, 3_000_000].map(Work::compute);
    let diagnosis = of(&[regions(&work, 20)]);
    assert_eq!(first(&diagnosis), Kind::UnequalWork);
    // 4 ms where 2.5 ms each would do.
    let share = diagnosis.causes[0].measured.share;
    assert!((share - 0.375).abs() < 0.02, "{share}");
}

/// Messages take most of the time of nodes' barriers, whichever node comes last.
#[test]
fn barriers_between_nodes_are_no_unequal_work() {
    let mut work = Work::default();
    for _ in 0..40 {
        work = work
            .and(State::Compute, 200_000)
            .and(State::ExplicitBarrier, 400_000);
    }
    let mut analysis = regions(&[work.clone(), work], 20);
    assert_eq!(first(&of(&[analysis.clone()])), Kind::UnequalWork);
    let waited = analysis.regions[1].states[State::ExplicitBarrier];
    analysis.program.nodes = 2;
    analysis.regions[1].barrier_wait_causes = Some(BarrierWaitCauses {
        other_ns: waited,
        ..BarrierWaitCauses::default()
    });
    assert_eq!(first(&of(&[analysis])), Kind::Overhead);
}

#[test]
fn one_thread_among_idle_ones_is_serial_work() {
    let work = [9_000_000, 1_000_000, 1_000_000, 1_000_000].map(Work::compute);
    assert_eq!(first(&of(&[regions(&work, 20)])), Kind::SerialInRegion);
}

#[test]
fn three_chunks_leave_the_fourth_thread_idle() {
    let chunk = Work::compute(5_000_000).dynamic(1, 1);
    let work = [
        chunk.clone(),
        chunk.clone(),
        chunk,
        Work::compute(1_000).dynamic(0, 0),
    ];
    let diagnosis = of(&[regions(&work, 3)]);
    assert_eq!(first(&diagnosis), Kind::FewPieces);
    assert!(
        diagnosis.causes[0].evidence.contains("3 chunks"),
        "{:?}",
        diagnosis.causes[0]
    );
    assert_eq!(diagnosis.causes[0].basis, Basis::Counts);
}

#[test]
fn regions_of_nanoseconds_are_too_short_whatever_their_threads_do() {
    let work = [Work::compute(200), Work::compute(20)];
    let diagnosis = of(&[regions(&work, 500)]);
    assert_eq!(first(&diagnosis), Kind::ShortRegions);
    assert!(diagnosis.causes[0].evidence.contains("500 executions"));
}

#[test]
fn waits_for_a_critical_section_are_its() {
    let work = [3, 4].map(|ms| Work::compute(1_000_000).and(State::Critical, ms * 1_000_000));
    assert_eq!(first(&of(&[regions(&work, 10)])), Kind::Critical);
}

#[test]
fn entering_a_section_all_the_time_is_its_fault_without_a_wait() {
    let mut analysis = regions(&[Work::compute(1_000_000), Work::compute(1_200_000)], 10);
    let region = &mut analysis.regions[1];
    region.mutexes_taken = 1_000_000;
    assert_eq!(first(&of(&[analysis])), Kind::Critical);
}

#[test]
fn computing_that_grows_with_threads_is_not_told_apart_without_looking() {
    let one = regions(&[Work::compute(10_000_000)], 5);
    let two = regions(&[Work::compute(10_000_000), Work::compute(10_000_000)], 5);
    let runs = [one, two];
    assert_eq!(first(&of(&runs)), Kind::SharedLinesOrBandwidth);
    let look = |lines: Vec<SharedLine>| {
        let found = Findings {
            threads: 2,
            phases: 5,
            complete: true,
            lines,
            atomics: Vec::new(),
            contended_ns: None,
            notes: Vec::new(),
        };
        let diagnosis = diagnose(&Input {
            analyses: &runs,
            main: &runs[1],
            prediction: None,
            machine: None,
            sharing: Some(&found),
            samples: None,
            asks: &[],
        });
        diagnosis.causes[0].clone()
    };
    assert_eq!(look(Vec::new()).kind, Kind::Bandwidth);
    let cause = look(vec![hits()]);
    assert_eq!(
        (cause.kind, cause.title.as_str()),
        (Kind::FalseSharing, "false sharing of hits")
    );
    // Where blocks of two threads only meet, it is not what makes all slower.
    let boundary = SharedLine {
        boundary: true,
        ..hits()
    };
    assert_eq!(look(vec![boundary]).kind, Kind::Bandwidth);
}

#[test]
fn a_team_that_ignores_what_it_is_given_is_said_to() {
    let work = [Work::compute(1_000_000), Work::compute(1_000_000)];
    let runs = [1, 2].map(|given| {
        let mut analysis = regions(&work, 5);
        analysis.program.threads_asked = Some(given);
        analysis
    });
    let diagnosis = of(&runs);
    let fixed = diagnosis
        .causes
        .iter()
        .find(|one| one.kind == Kind::FixedTeam);
    assert_eq!(
        fixed.map(|one| one.title.as_str()),
        Some("team is always 2")
    );
    // One that follows is not.
    let followed = [1, 2].map(|given| {
        let mut analysis = regions(&work[..given], 5);
        analysis.program.threads_asked = Some(given as u32);
        analysis
    });
    assert!(
        of(&followed)
            .causes
            .iter()
            .all(|one| one.kind != Kind::FixedTeam)
    );
}

/// Two runs of a region with teams of `size`, of which that decided in all executions.
fn decided(size: usize, decider: Decider) -> Diagnosis {
    let runs = [1, 2].map(|given| {
        let mut analysis = regions(&vec![Work::compute(1_000_000); size], 5);
        analysis.program.threads_asked = Some(given);
        analysis.program.sets_threads_at = vec!["a.c:3".to_owned()];
        for region in &mut analysis.regions[1..] {
            let all = Decided {
                executions: region.instances,
                wall_ns: region.wall_ns,
                team_size_max: size as u32,
            };
            region.deciders.insert(decider, all);
        }
        analysis
    });
    of(&runs)
}

#[test]
fn who_decided_on_a_team_is_named() {
    let fixed = |size: usize, decider: Decider| {
        let diagnosis = decided(size, decider);
        let found = diagnosis
            .causes
            .into_iter()
            .find(|one| one.kind == Kind::FixedTeam);
        found.map(|one| format!("{}: {} {}", one.title, one.evidence, one.action))
    };
    let says = |size, decider, words: &str| {
        let said = fixed(size, decider).unwrap_or_default();
        assert!(said.contains(words), "{decider:?}: {said}");
        said
    };
    says(2, Decider::Clause, "Drop the num_threads clause");
    says(2, Decider::Routine, "omp_set_num_threads at a.c:3");
    says(1, Decider::Limit, "thread_limit");
    says(1, Decider::Dynamic, "omp_set_dynamic");
    let said = says(
        1,
        Decider::If,
        "the if clause is false in 5 of 5 executions",
    );
    assert!(!said.contains("num_threads"), "{said}");
    says(1, Decider::One, "or num_threads asks for 1 thread");
    assert_eq!(fixed(2, Decider::Advice), None);
}

#[test]
fn threads_that_alone_flush_to_zero_are_named() {
    let mut analysis = regions(&[Work::compute(1_000_000), Work::compute(2_000_000)], 5);
    analysis.regions[1].threads[0].floats = 1;
    let diagnosis = of(&[analysis]);
    let first = &diagnosis.causes[0];
    assert_eq!(first.title, "different floating-point environments");
    assert!(
        first.evidence.starts_with("thread 1 takes 2")
            && first.evidence.contains("in thread 0 only"),
        "{}",
        first.evidence
    );
}

#[test]
fn a_crowd_explains_what_its_threads_wait_for() {
    let mut analysis = regions(&[Work::compute(1_000_000), Work::compute(3_000_000)], 10);
    analysis.crowds.push(Oversubscription {
        processors: 1,
        first: Some(3),
        threads: 2,
        members: 2,
        ready_ns: 20_000_000,
        processor_ns: 40_000_000,
    });
    let diagnosis = of(&[analysis]);
    assert_eq!(first(&diagnosis), Kind::Oversubscription);
    assert!(
        diagnosis.causes[0]
            .evidence
            .contains("bound to processor 3")
    );
    let blamed = diagnosis
        .causes
        .iter()
        .any(|one| one.kind == Kind::UnequalWork);
    assert!(!blamed);
}

/// A region in which thread 0 sleeps, as its counter readings tell.
#[test]
fn a_sleeping_thread_is_blocked_and_not_at_work() {
    let mut script = Script::new(2).with_counters();
    script.serial(10_000);
    script.region(
        REGION,
        &[Work::compute(50_000_000), Work::compute(1_000_000)],
    );
    let mut recording = script.build();
    for thread in &mut recording.processes[0].threads {
        for record in &mut thread.records {
            if let Record::Counters(reading) = record {
                let elapsed = reading.at.since(reading.since).0;
                let slept = if elapsed > 20_000_000 {
                    elapsed - 1_000_000
                } else {
                    0
                };
                reading.counts.processor_ns = Some(elapsed - slept);
                reading.counts.run_delay_ns = Some(0);
                // The other thread sleeps in the runtime.
                reading.counts.asleep_ns = Some(if thread.id.0 == 0 { 0 } else { slept });
            }
        }
    }
    let analysis = analyse(&recording, &Options::default());
    let region = &analysis.regions[1];
    assert!(
        region.states[State::Blocked] > 40_000_000,
        "{:?}",
        region.states
    );
    assert_eq!(first(&of(&[analysis])), Kind::Blocked);
}

/// Two runs of equal work, of which each of two threads takes `longer` times as long, on
/// processors that computed `slower` times as long before and after it.
fn growing(longer: f64, slower: [f64; 2]) -> [Analysis; 2] {
    growing_densely(longer, slower, slower)
}

/// The same on processors that slow dense arithmetic down by another factor.
fn growing_densely(longer: f64, slower: [f64; 2], dense: [f64; 2]) -> [Analysis; 2] {
    let work = |ns: f64| Work::compute(ns as u64);
    let share = 5_000_000.0 * longer;
    let mut one = regions(&[work(10_000_000.0)], 5);
    let mut two = regions(&[work(share), work(share)], 5);
    let pieces = |usual: f64, dense: f64| PieceTimes {
        usual_ns: 30_000.0 * usual,
        dense_ns: 20_000.0 * dense,
        uneven: 1.0,
    };
    let pace = |processors, usual: [f64; 2], dense: [f64; 2]| {
        Some(Pace {
            processors,
            before: pieces(usual[0], dense[0]),
            after: pieces(usual[1], dense[1]),
        })
    };
    one.program.pace = pace(1, [1.0, 1.0], [1.0, 1.0]);
    two.program.pace = pace(2, slower, dense);
    [one, two]
}

/// On processors that stay as fast.
pub(crate) fn facts_of_growth(longer: f64) -> [Analysis; 2] {
    growing(longer, [1.0, 1.0])
}

/// A machine on which two threads get little more of memory than one.
pub(crate) fn machine() -> Machine {
    let points = [(1, 10e9), (2, 12e9)];
    let mut machine = Machine::unmeasured(2);
    machine.bandwidth = points
        .map(|(threads, bytes_per_s)| Bandwidth {
            threads,
            bytes_per_s,
        })
        .into();
    machine
}

fn slower(diagnosis: &Diagnosis) -> Option<&Cause> {
    let kind = Kind::SlowerProcessors;
    diagnosis.causes.iter().find(|one| one.kind == kind)
}

#[test]
fn processors_that_are_slower_together_are_not_the_programs_fault() {
    let diagnosis = of(&growing(1.5, [1.5, 1.5]));
    assert_eq!(diagnosis.of_program().next(), None);
    let slower = slower(&diagnosis).expect("it is there");
    // A third of each thread's 7.5 ms, of which the run consists.
    let share = slower.measured.share;
    assert!((share - 1.0 / 3.0).abs() < 0.02, "{share}");
    let said = "took 1.50 times as long on 2 processors at once as on 1";
    assert!(slower.evidence.contains(said), "{}", slower.evidence);
}

#[test]
fn the_program_keeps_what_slower_processors_do_not_explain() {
    let runs = growing(2.0, [1.2, 1.2]);
    let diagnosis = of(&runs);
    assert_eq!(first(&diagnosis), Kind::SharedLinesOrBandwidth);
    let of_processors = slower(&diagnosis).expect("it is there");
    let parts = [&diagnosis.causes[0], of_processors].map(|one| one.measured.share);
    assert!((parts[0] - 0.4).abs() < 0.02, "{parts:?}");
    assert!((parts[1] - 0.1).abs() < 0.02, "{parts:?}");
}

#[test]
fn what_slower_processors_may_explain_is_not_the_programs() {
    let diagnosis = of(&growing(1.4, [1.0, 1.4]));
    assert_eq!(diagnosis.of_program().next(), None);
    let evidence = &slower(&diagnosis).expect("it is there").evidence;
    assert!(evidence.contains("took 1.20 to 1.40 times"), "{evidence}");
}

/// Processors that share a core slow some programs down more than others: by how much at most
/// dense arithmetic says.
#[test]
fn what_shared_cores_may_explain_is_not_the_programs() {
    let diagnosis = of(&growing_densely(1.6, [1.3, 1.3], [1.9, 1.8]));
    assert_eq!(diagnosis.of_program().next(), None);
    let evidence = &slower(&diagnosis).expect("it is there").evidence;
    assert!(evidence.contains("took 1.30 to 1.90 times"), "{evidence}");
    let diagnosis = of(&growing_densely(2.6, [1.3, 1.3], [1.9, 1.8]));
    assert_eq!(first(&diagnosis), Kind::SharedLinesOrBandwidth);
}

/// A thread on a slow processor computes longer than the others without doing more.
#[test]
fn unlike_processors_explain_as_much_as_they_differ() {
    let with = |longest: u64, uneven: f64, after: f64| {
        let mut run = regions(&[Work::compute(longest), Work::compute(10_000_000)], 5);
        let piece = |usual_ns: f64| PieceTimes {
            usual_ns,
            dense_ns: 20_000.0,
            uneven,
        };
        run.program.pace = Some(Pace {
            processors: 2,
            before: piece(30_000.0),
            after: piece(30_000.0 * after),
        });
        let diagnosis = of(&[run]);
        let words = slower(&diagnosis).map(|cause| cause.evidence.clone());
        let unequal = diagnosis
            .of_program()
            .any(|one| one.kind == Kind::UnequalWork);
        (words, unequal)
    };
    // 15 to 10: 1.2 times the mean.
    let (words, unequal) = with(15_000_000, 1.25, 1.0);
    let words = words.expect("processors are named");
    assert!(words.contains("takes 1.20 times as long"), "{words}");
    assert!(words.contains("differed by up to 1.25 times"), "{words}");
    assert!(!unequal);
    assert!(!with(15_000_000, 1.1, 1.15).1);
    assert_eq!(with(15_000_000, 1.1, 1.0), (None, true));
    assert_eq!(with(30_000_000, 1.25, 1.0), (None, true));
}

#[test]
fn processors_as_fast_as_before_take_no_blame() {
    for pace in [[1.0, 1.0], [0.7, 0.8], [1.05, 1.0]] {
        let diagnosis = of(&growing(1.5, pace));
        assert_eq!(first(&diagnosis), Kind::SharedLinesOrBandwidth);
        assert_eq!(slower(&diagnosis), None);
    }
}

#[test]
fn a_pace_that_was_measured_once_tells_nothing() {
    let mut runs = growing(1.5, [1.5, 1.5]);
    runs[0].program.pace = None;
    assert_eq!(first(&of(&runs)), Kind::SharedLinesOrBandwidth);
}

/// A machine's bandwidth is of another time than the runs.
#[test]
fn only_more_than_sharing_all_bandwidth_explains_is_shared_lines_for_certain() {
    let mut machine = Machine::unmeasured(2);
    machine.bandwidth = [(1, 4e10), (2, 8e10)]
        .map(|(threads, bytes_per_s)| Bandwidth {
            threads,
            bytes_per_s,
        })
        .into();
    let first_of = |longer| {
        let runs = growing(longer, [1.0, 1.0]);
        let diagnosis = diagnose(&Input {
            analyses: &runs,
            main: &runs[1],
            prediction: None,
            machine: Some(&machine),
            sharing: None,
            samples: None,
            asks: &[],
        });
        first(&diagnosis)
    };
    assert_eq!(first_of(1.9), Kind::SharedLinesOrBandwidth);
    assert_eq!(first_of(4.0), Kind::SharedLines);
}

#[test]
fn a_larger_team_tells_serial_work_from_unequal_shares() {
    let team = |threads: usize, barriers: u64| {
        let shared = 8_000_000 / threads as u64;
        let mut work = vec![Work::compute(shared); threads];
        work[0] = Work::compute(shared + 3_000_000);
        let mut analysis = regions(&work, 10);
        let waits = 10 * threads as u64 * barriers;
        let counts = &mut analysis.regions[1].wait_counts;
        counts.insert(State::ExplicitBarrier, waits);
        analysis
    };
    let rehearsed = |barriers| {
        let mut rehearsal = team(8, barriers);
        rehearsal.program.rehearsal = true;
        of(&[rehearsal, team(2, barriers)])
    };
    assert_eq!(first(&of(&[team(2, 1)])), Kind::UnequalWork);
    assert_eq!(first(&rehearsed(1)), Kind::SerialInRegion);
    // All that is heavy may lie in the first share of a loop.
    assert_eq!(first(&rehearsed(0)), Kind::UnequalWork);
}

/// Losing the processor is no sleep, whatever the kernel says of how long.
#[test]
fn a_thread_that_never_slept_is_not_blocked() {
    let mut script = Script::new(2).with_counters();
    script.serial(10_000);
    script.region(REGION, &[50_000_000, 50_000_000].map(Work::compute));
    let mut recording = script.build();
    for record in recording.processes[0]
        .threads
        .iter_mut()
        .flat_map(|thread| &mut thread.records)
    {
        if let Record::Counters(reading) = record {
            let elapsed = reading.at.since(reading.since).0;
            reading.counts.processor_ns = Some(elapsed / 2);
            reading.counts.run_delay_ns = Some(0);
            reading.counts.asleep_ns = Some(0);
            reading.counts.voluntary_switches = 0;
            reading.counts.involuntary_switches = 1;
        }
    }
    let analysis = analyse(&recording, &Options::default());
    assert_eq!(analysis.states[State::Blocked], 0);
    assert!(analysis.regions[1].states[State::Ready] > 40_000_000);
}

/// Threads that found no task show how few there are, unless there were plenty: then they
/// came late, as in a rehearsal with more threads than processors.
#[test]
fn a_thread_without_any_of_many_tasks_came_late() {
    let working = |tasks: u64| {
        let mut script = Script::new(8);
        let busy = [5_000_000, 5_000_000, 5_000_000, 0, 0, 0, 0, 0].map(Work::compute);
        script.region(REGION, &busy);
        let mut recording = script.build();
        for thread in recording.processes[0].threads.iter_mut().take(3) {
            for record in &mut thread.records {
                if let Record::Instance(instance) = record {
                    instance.tasks_run = tasks;
                }
            }
        }
        analyse(&recording, &Options::default()).regions[1]
            .work
            .working
    };
    assert_eq!(working(0), 3);
    assert_eq!(working(1), 3);
    assert_eq!(working(50_000), 8);
}
