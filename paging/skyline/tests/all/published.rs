//! Synthetic recordings with the shapes of the published figures (Wang and Marinescu 1995,
//! Figures 5 to 15) are told apart, and random ones are not taken for any of them.

use fathomp_paging::{Activity, Counter, State, StateSet};
use fathomp_skyline::testing::Synthetic;
use fathomp_skyline::{Analysis, Bins, Fact, Selection, Settings, Shape, analyse};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const SECOND: f64 = 1e9;

fn analysed(made: &Synthetic) -> Analysis {
    let settings = Settings::default();
    let bins = Bins::read(&made.memory, &settings).unwrap();
    let analysis = analyse(&bins, &settings);
    for finding in &analysis.findings {
        println!("{} [{}]", finding.sentence, finding.evidence);
    }
    let json = serde_json::to_string(&analysis).unwrap();
    // JSON has no NaN: serde_json writes null.
    assert!(!json.contains("NaN"));
    analysis
}

/// Moments of random arrival with a rate of so many a second.
fn arrivals(random: &mut StdRng, per_second: f64, from: f64, to: f64) -> Vec<(u64, u64)> {
    let mut at = from;
    let mut found = Vec::new();
    loop {
        at -= (1.0 - random.random::<f64>()).ln() / per_second;
        if at >= to {
            return found;
        }
        found.push(((at * SECOND) as u64, 1));
    }
}

fn states(activity: Activity) -> StateSet {
    [false, true]
        .into_iter()
        .map(|suspended| State {
            activity,
            suspended,
        })
        .collect()
}

fn kinds(analysis: &Analysis) -> Vec<&'static str> {
    let kind = |fact: &Fact| match fact {
        Fact::Early { .. } => "early",
        Fact::Flat { .. } => "flat",
        Fact::Periodic { .. } => "periodic",
        Fact::PeaksBesideEachOther { .. } => "beside",
        Fact::ActivityDominates { .. } => "activity",
        Fact::Suspended { .. } => "suspended",
        Fact::TasksAlike { .. } => "alike",
        Fact::TaskUnlike { .. } => "unlike",
        Fact::TaskAmount { .. } => "amount",
        Fact::Synchronised { .. } => "synchronised",
        Fact::PeakLoad { .. } => "load",
        Fact::TooFew { .. } => "few",
        Fact::TimesUnknown { .. } => "unknown",
        Fact::ManyPeaks { .. } => "many",
        Fact::PublishedSumMisses { .. } => "published",
    };
    analysis
        .findings
        .iter()
        .map(|finding| kind(&finding.fact))
        .collect()
}

/// Figure 5: EP, faults in the compute state, constant at about 105.5 a second.
#[test]
fn ep_is_flat() {
    let mut random = StdRng::seed_from_u64(1);
    let mut made = Synthetic::new(64, 48_900_000_000);
    for task in 0..64 {
        let at = arrivals(&mut random, 105.5 / 64.0, 0.0, 48.9);
        made.counts(task, Activity::Compute, Counter::MinorFaults, at);
    }
    let analysis = analysed(&made);
    let profile = analysis
        .profile(Selection::all(Counter::MinorFaults))
        .unwrap();
    let Shape::Flat { per_second, .. } = profile.shape else {
        panic!("{:?}", profile.shape);
    };
    assert!((per_second / 105.5 - 1.0).abs() < 0.05, "{per_second}");
    assert_eq!(kinds(&analysis), ["flat"]);
}

/// Figures 10 and 11: FT, activity at the beginning.
#[test]
fn ft_is_a_burst_at_the_beginning() {
    let mut random = StdRng::seed_from_u64(2);
    let mut made = Synthetic::new(16, 21_130_000_000);
    for task in 0..16 {
        let mut at = arrivals(&mut random, 400.0, 0.1, 3.0);
        at.extend(arrivals(&mut random, 2.0, 3.0, 21.0));
        made.counts(task, Activity::Compute, Counter::MinorFaults, at);
    }
    let analysis = analysed(&made);
    let Fact::Early {
        share,
        by_ns,
        is_over,
        ..
    } = analysis.findings[0].fact
    else {
        panic!("{:?}", kinds(&analysis));
    };
    assert!(share > 0.94 && (by_ns as f64 / 3e9 - 1.0).abs() < 0.02);
    assert!(is_over);
    assert!(!kinds(&analysis).contains(&"periodic"));
    assert!(analysis.findings[0].sentence.contains("come before 3.0"));
}

/// Figures 12 and 13: IS, page-ins: a burst in the compute state, periodic all over the run
/// in the communication state.
#[test]
fn is_is_a_burst_in_compute_and_periodic_in_communication() {
    let mut random = StdRng::seed_from_u64(3);
    let mut made = Synthetic::new(32, 33_260_000_000);
    for task in 0..32 {
        let mut computing = arrivals(&mut random, 200.0, 0.05, 2.0);
        let mut communicating = Vec::new();
        for round in 0..20 {
            let at = 0.5 + 1.6 * f64::from(round) + 0.05 * random.random::<f64>();
            communicating.extend(arrivals(&mut random, 400.0, at, at + 0.2));
        }
        // One thread does one after the other.
        let mut all: Vec<_> = computing
            .drain(..)
            .map(|(at, n)| (at, n, Activity::Compute))
            .collect();
        all.extend(
            communicating
                .drain(..)
                .map(|(at, n)| (at, n, Activity::Communication)),
        );
        all.sort_unstable_by_key(|one| one.0);
        for (at, count, activity) in all {
            made.stay(task, activity, Counter::PageIns, at, count);
        }
        made.finish(task);
    }
    let analysis = analysed(&made);
    let of = |activity| {
        let states = states(activity);
        let selection = Selection {
            counter: Counter::PageIns,
            states,
        };
        analysis.profile(selection).unwrap()
    };
    assert!(matches!(of(Activity::Compute).shape, Shape::Early { .. }));
    assert_eq!(of(Activity::Compute).period, None);
    let period = of(Activity::Communication).period.unwrap();
    assert!((period.ns / 1.6e9 - 1.0).abs() < 0.02, "{period:?}");
    let kinds = kinds(&analysis);
    assert!(
        kinds.contains(&"early") && kinds.contains(&"periodic"),
        "{kinds:?}"
    );
    assert!(
        kinds.contains(&"alike") && !kinds.contains(&"flat"),
        "{kinds:?}"
    );
}

/// Figure 14: LU, page-ins in the communication state, periodic; peaks of tasks near each
/// other but not at the same times.
#[test]
fn lu_is_periodic_with_peaks_beside_each_other() {
    let mut random = StdRng::seed_from_u64(4);
    let mut made = Synthetic::new(4, 280_000_000_000);
    for task in 0..4 {
        let mut at = Vec::new();
        for round in 0..60 {
            let from =
                1.0 + 4.6 * f64::from(round) + 0.6 * task as f64 + 0.1 * random.random::<f64>();
            at.extend(arrivals(&mut random, 60.0, from, from + 0.5));
        }
        made.counts(task, Activity::Communication, Counter::PageIns, at);
    }
    let analysis = analysed(&made);
    let kinds = kinds(&analysis);
    assert!(
        kinds.contains(&"periodic") && kinds.contains(&"beside"),
        "{kinds:?}"
    );
    let profile = analysis.profile(Selection::all(Counter::PageIns)).unwrap();
    let period = profile.period.unwrap();
    assert!((period.ns / 4.6e9 - 1.0).abs() < 0.02, "{period:?}");
    assert!(profile.tasks.iter().all(|task| task.period.is_some()));
}

/// In logical time: four phases of an iteration, of which wall time sees less.
#[test]
fn phases_show_what_wall_time_hides() {
    let mut random = StdRng::seed_from_u64(5);
    let mut made = Synthetic::new(4, 10_000_000_000);
    let mut ends = Vec::new();
    let mut at = 0.0;
    while at < 9.9 {
        at += 0.01 + 0.08 * random.random::<f64>();
        ends.push((at * SECOND) as u64);
    }
    let faults = [60, 10, 25, 5];
    for task in 0..4 {
        for (phase, end) in ends.iter().enumerate() {
            let begin = if phase == 0 { 0 } else { ends[phase - 1] };
            let moment = begin + (end - begin) / 2 + random.random_range(0..(end - begin) / 4);
            made.stay(
                task,
                Activity::Compute,
                Counter::DsmFetchFaults,
                moment,
                faults[phase % 4],
            );
        }
        made.finish(task);
        made.barriers(task, ends.iter().copied());
    }
    let analysis = analysed(&made);
    let phases = analysis.phases.as_ref().unwrap();
    assert_eq!((phases.count(), phases.tasks_own), (ends.len() + 1, 4));
    let profile = analysis
        .profile(Selection::all(Counter::DsmFetchFaults))
        .unwrap();
    let period = profile.phases.as_ref().unwrap().period.unwrap();
    assert!(
        (period.steps - 4.0).abs() < 0.1 && period.r > 0.9,
        "{period:?}"
    );
    assert!((period.ns / 0.2e9 - 1.0).abs() < 0.1, "{period:?}");
    let logical = profile.correlation_in_phases.as_ref().unwrap();
    assert!(logical.signals.mean() > 0.95);
    assert!(logical.signals.mean() > profile.correlation.as_ref().unwrap().signals.mean() + 0.2);
    assert!(
        analysis
            .findings
            .iter()
            .any(|one| one.sentence.contains("every 4 phases"))
    );
}

/// Peaks of random heights at random times, of tasks that know nothing of each other.
fn noise(random: &mut StdRng, tasks: usize) -> Synthetic {
    let mut made = Synthetic::new(tasks as u32, 20_000_000_000);
    for task in 0..tasks {
        let mut at = arrivals(random, 10.0, 0.0, 20.0);
        for _ in 0..40 {
            let from = 20.0 * random.random::<f64>();
            let to = (from + 0.1 * random.random::<f64>()).min(20.0);
            at.extend(arrivals(random, 400.0, from, to));
        }
        at.sort_unstable();
        for (at, count) in at {
            let activity = Activity::ALL[random.random_range(0..3)];
            made.stay(task, activity, Counter::MinorFaults, at, count);
        }
        made.finish(task);
        let barriers = arrivals(random, 10.0, 0.0, 20.0)
            .into_iter()
            .map(|(at, _)| at);
        if task == 0 {
            made.barriers(0, barriers);
        }
    }
    made
}

#[test]
fn noise_gives_no_findings() {
    let mut random = StdRng::seed_from_u64(6);
    let mut found = Vec::new();
    for round in 0..40 {
        let made = noise(&mut random, [1, 2, 5, 12][round % 4]);
        let analysis = analysed(&made);
        // How high the highest bin is, and that there are many peaks, is no inference.
        found.extend(
            kinds(&analysis)
                .into_iter()
                .filter(|kind| !["load", "many"].contains(kind)),
        );
    }
    println!("{found:?}");
    assert!(found.len() <= 2, "{found:?}");
}

#[test]
fn few_faults_give_no_picture() {
    let mut random = StdRng::seed_from_u64(7);
    let mut made = Synthetic::new(1, 1_000_000_000);
    let at = arrivals(&mut random, 1e6, 0.0, 1.0)
        .into_iter()
        .step_by(9_000)
        .take(102);
    made.counts(0, Activity::Compute, Counter::MinorFaults, at);
    let analysis = analysed(&made);
    assert_eq!(kinds(&analysis), ["few"]);
    assert_eq!(
        analysis.findings[0].sentence,
        "No picture is drawn of 102 page faults without I/O: too few."
    );
}

#[test]
fn faults_in_long_intervals_are_not_drawn_as_flat() {
    let mut made = Synthetic::new(2, 60_000_000_000);
    for task in 0..2 {
        for part in 1..=20_u64 {
            let state = State::active(Activity::Compute);
            let (begin, end) = ((part - 1) * 3_000_000_000, part * 3_000_000_000);
            made.memory.intervals[task].push(fathomp_skyline::testing::interval(
                begin,
                end,
                state,
                Counter::MinorFaults,
                1_000,
            ));
        }
    }
    let analysis = analysed(&made);
    assert_eq!(kinds(&analysis), ["unknown"]);
}

#[test]
fn page_ins_in_io_and_the_thread_that_does_them_are_named() {
    let mut random = StdRng::seed_from_u64(8);
    let mut made = Synthetic::new(6, 10_000_000_000);
    for task in 0..6 {
        let number = if task == 2 { 300.0 } else { 20.0 };
        let at = arrivals(&mut random, number, 0.0, 10.0);
        for (at, count) in at {
            // It computes until shortly before.
            made.stay(
                task,
                Activity::Compute,
                Counter::PageIns,
                at.saturating_sub(2_000),
                0,
            );
            made.stay(task, Activity::Io, Counter::PageIns, at, count);
            made.stay(task, Activity::Compute, Counter::PageIns, at + 1_000, 0);
        }
        made.finish(task);
    }
    let analysis = analysed(&made);
    let kinds = kinds(&analysis);
    assert!(
        kinds.contains(&"activity") && kinds.contains(&"amount"),
        "{kinds:?}"
    );
    let amount = analysis
        .findings
        .iter()
        .find(|one| matches!(one.fact, Fact::TaskAmount { .. }));
    assert!(amount.unwrap().sentence.starts_with("Rank 2 has "));
}

#[test]
fn suspension_is_said_with_where() {
    let mut made = Synthetic::new(2, 1_000_000_000);
    for task in 0..2 {
        let mut at = 0;
        while at < 1_000_000_000 {
            let suspended = State {
                activity: Activity::Communication,
                suspended: true,
            };
            let compute = State::active(Activity::Compute);
            let counter = Counter::VoluntarySwitches;
            let intervals = &mut made.memory.intervals[task];
            let interval = fathomp_skyline::testing::interval;
            intervals.push(interval(at, at + 6_000_000, compute, counter, 0));
            intervals.push(interval(
                at + 6_000_000,
                at + 10_000_000,
                suspended,
                counter,
                1,
            ));
            at += 10_000_000;
        }
    }
    let analysis = analysed(&made);
    let suspended = analysis
        .findings
        .iter()
        .find(|one| matches!(one.fact, Fact::Suspended { .. }));
    let sentence = &suspended.unwrap().sentence;
    assert!(
        sentence.contains("40 %") && sentence.contains("100 % of that in communication"),
        "{sentence}"
    );
}
