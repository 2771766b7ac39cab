//! From made-up recordings with known properties the model recovers them.

use fathomp_analysis::testing::{Script, Work, demo};
use fathomp_analysis::{Analysis, Options as AnalyseOptions, State, analyse};
use fathomp_predict::machine::{Bandwidth, ConstructCosts, Machine};
use fathomp_predict::{Options, Point, Prediction, Term, Terms, predict};
use proptest::prelude::*;

fn facts(recording: &fathomp_trace::model::Recording) -> Analysis {
    analyse(recording, &AnalyseOptions::default())
}

/// A program whose laws are known: ten executions of one region.
#[derive(Clone, Copy, Debug)]
struct Law {
    serial_ns: f64,
    work_ns: f64,
    /// Executed by the last thread while the others wait.
    single_ns: f64,
    /// Extra of the slowest thread over the mean, falling as the iterations
    /// of a triangle do.
    triangle: bool,
    /// Growth of total application time per thread.
    growth: f64,
}

const PLAIN: Law = Law {
    serial_ns: 1e6,
    work_ns: 8e7,
    single_ns: 0.0,
    triangle: false,
    growth: 0.0,
};

impl Law {
    fn record(self, p: u32) -> Analysis {
        let k = f64::from(p);
        let mut script = Script::new(p);
        script.serial((self.serial_ns / 2.0) as u64);
        let total = self.work_ns * (1.0 + self.growth * (k - 1.0)) / 10.0;
        for _ in 0..10 {
            let work: Vec<Work> = (0..p)
                .map(|thread| {
                    let part = if self.triangle {
                        (2.0 * f64::from(thread) + 1.0) / (k * k)
                    } else {
                        1.0 / k
                    };
                    let own = if thread + 1 == p {
                        self.single_ns / 10.0
                    } else {
                        0.0
                    };
                    Work {
                        lead_ns: 0,
                        ..Work::compute((total * part + own) as u64)
                    }
                })
                .collect();
            script.region(0x100, &work);
        }
        script.serial((self.serial_ns / 2.0) as u64);
        facts(&script.build())
    }

    /// Time by the law itself.
    fn time(self, p: u32) -> f64 {
        let k = f64::from(p);
        let total = self.work_ns * (1.0 + self.growth * (k - 1.0));
        let longest = if self.triangle {
            (2.0 * k - 1.0) / (k * k)
        } else {
            1.0 / k
        };
        self.serial_ns + total * longest + self.single_ns
    }

    fn predict(self, from: &[u32], at: u32) -> Prediction {
        let analyses: Vec<Analysis> = from.iter().map(|&p| self.record(p)).collect();
        let inputs: Vec<&Analysis> = analyses.iter().collect();
        predict(&inputs, &options(at)).unwrap()
    }
}

fn options(at: u32) -> Options {
    Options {
        at: vec![at],
        cores: Some(64),
        ..Options::default()
    }
}

fn term(point: &Point, term: Term) -> f64 {
    let found = point.terms.iter().find(|t| t.term == term);
    found.map_or(0.0, |t| t.time_ns)
}

fn assert_close(prediction: &Prediction, law: Law, at: u32, tolerance: f64) {
    let point = &prediction.points[0];
    let error = point.time_ns / law.time(at) - 1.0;
    assert!(error.abs() < tolerance, "{law:?}: {error}");
    assert!(point.low_ns <= law.time(at) * 1.01 && law.time(at) <= point.high_ns * 1.01);
    let sum: f64 = point.terms.iter().map(|t| t.time_ns).sum();
    assert!((sum / point.time_ns - 1.0).abs() < 1e-9);
}

#[test]
fn serial_time_between_regions() {
    let law = Law {
        serial_ns: 2e7,
        ..PLAIN
    };
    let prediction = law.predict(&[1, 2, 4], 16);
    assert_close(&prediction, law, 16, 0.02);
    assert_eq!(prediction.dominating.unwrap().term, Term::Serial);
    assert!((term(&prediction.points[0], Term::Serial) / 2e7 - 1.0).abs() < 0.02);
}

#[test]
fn serial_time_inside_a_region() {
    let law = Law {
        single_ns: 1e7,
        ..PLAIN
    };
    let prediction = law.predict(&[1, 2, 4, 8], 16);
    assert_close(&prediction, law, 16, 0.05);
    let found = prediction.regions[0].dominating.unwrap();
    assert_eq!(found.term, Term::SerialInRegion);
}

#[test]
fn imbalance_of_a_triangle() {
    let law = Law {
        triangle: true,
        ..PLAIN
    };
    let prediction = law.predict(&[1, 2, 4, 8], 16);
    assert_close(&prediction, law, 16, 0.05);
    let found = prediction.regions[0].dominating.unwrap();
    assert_eq!(found.term, Term::Imbalance);
}

#[test]
fn work_that_grows_with_threads() {
    let law = Law {
        growth: 0.1,
        ..PLAIN
    };
    let prediction = law.predict(&[1, 2, 4, 8], 16);
    assert_close(&prediction, law, 16, 0.05);
    let found = prediction.regions[0].dominating.unwrap();
    assert_eq!(found.term, Term::Saturation);
    assert!(prediction.regions[0].stops);
}

#[test]
fn the_machine_tells_saturation_from_two_points() {
    // Bandwidth of four threads, shared by all beyond.
    let curve = |p: u32| f64::from(p.min(4)) * 5e9;
    let machine = Machine {
        bandwidth: [1, 2, 4, 8, 16]
            .map(|threads| Bandwidth {
                threads,
                bytes_per_s: curve(threads),
            })
            .to_vec(),
        ..Machine::unmeasured(16)
    };
    let record = |p: u32| {
        let mut script = Script::new(p);
        let stretch = f64::from(p) * curve(1) / curve(p);
        for _ in 0..10 {
            let each = (1e7 * stretch / f64::from(p)) as u64;
            let work = Work {
                lead_ns: 0,
                ..Work::compute(each)
            };
            script.region(0x100, &vec![work; p as usize]);
        }
        facts(&script.build())
    };
    let runs = [record(1), record(8)];
    let inputs: Vec<&Analysis> = runs.iter().collect();
    let options = Options {
        at: vec![16],
        machine: Some(machine),
        ..Options::default()
    };
    let prediction = predict(&inputs, &options).unwrap();
    let region = &prediction.regions[0];
    // The truth is 25 ms however many threads; growth without bounds explains
    // the two points as well and is worse.
    let point = &prediction.points[0];
    assert!(point.low_ns < 2.6e7 && point.high_ns > 2.4e7, "{point:?}");
    assert!(region.best_threads <= 8, "{}", region.best_threads);
    assert_eq!(region.dominating.unwrap().term, Term::Saturation);
}

/// Predicts `at` threads from runs with one and two; bandwidth was measured with the threads in
/// `curve` and no others.
fn with_curve(law: Law, curve: &[(u32, f64)], at: u32) -> Point {
    let machine = Machine {
        bandwidth: curve
            .iter()
            .map(|&(threads, bytes_per_s)| Bandwidth {
                threads,
                bytes_per_s,
            })
            .collect(),
        ..Machine::unmeasured(2)
    };
    let runs = [law.record(1), law.record(2)];
    let inputs: Vec<&Analysis> = runs.iter().collect();
    let options = Options {
        machine: Some(machine),
        ..options(at)
    };
    predict(&inputs, &options).unwrap().points[0].clone()
}

#[test]
fn bandwidth_that_all_get_in_full_explains_no_growth() {
    // Two threads get twice what one gets, but for what a measurement misses. Cache lines that
    // threads share make the work grow nevertheless, by 12 % a thread.
    let law = Law {
        growth: 0.12,
        ..PLAIN
    };
    let point = with_curve(law, &[(1, 10.806e9), (2, 21.558e9)], 8);
    assert!(point.time_ns < 1.1 * law.time(8), "{point:?}");
    assert!(point.high_ns < 1.5 * law.time(8), "{point:?}");
}

#[test]
fn a_critical_section_forms_a_line() {
    // A quarter of the work is inside: four threads are the most that help.
    let record = |p: u32| {
        let mut script = Script::new(p);
        let k = f64::from(p);
        let each = 1e7 / k;
        // Waits as the queue has them, here computed for deterministic passages.
        let wait = (each * (0.25 * k - 1.0)).max(0.02 * each * (k - 1.0));
        let work = Work {
            lead_ns: 0,
            ..Work::compute(each as u64)
        }
        .and(State::Critical, wait as u64);
        script.region(0x100, &vec![work; p as usize]);
        facts(&script.build())
    };
    let runs = [record(1), record(4), record(8)];
    let inputs: Vec<&Analysis> = runs.iter().collect();
    let prediction = predict(&inputs, &options(32)).unwrap();
    let region = &prediction.regions[0];
    assert_eq!(region.dominating.unwrap().term, Term::Mutex);
    assert!(region.best_threads <= 8, "{}", region.best_threads);
    let time = prediction.points[0].time_ns;
    assert!((time / 2.5e6 - 1.0).abs() < 0.2, "{time}");
}

#[test]
fn overhead_follows_the_machines_prices() {
    let price = |p: u32| 2_000.0 * f64::from(p);
    let machine = Machine {
        constructs: [1, 2, 4, 8, 16]
            .map(|threads| ConstructCosts {
                threads,
                fork_join_ns: price(threads),
                barrier_ns: 0.0,
                dynamic_chunk_ns: 0.0,
                lock_ns: 0.0,
            })
            .to_vec(),
        ..Machine::unmeasured(16)
    };
    let record = |p: u32| {
        let mut script = Script::new(p);
        for _ in 0..1_000 {
            let work = Work {
                lead_ns: price(p) as u64,
                ..Work::compute(u64::from(40_000 / p))
            };
            script.region(0x100, &vec![work; p as usize]);
        }
        facts(&script.build())
    };
    let runs = [record(1), record(2), record(4)];
    let inputs: Vec<&Analysis> = runs.iter().collect();
    let options = Options {
        at: vec![16],
        machine: Some(machine),
        ..Options::default()
    };
    let prediction = predict(&inputs, &options).unwrap();
    let truth = 1_000.0 * (price(16) + 2_500.0);
    let time = prediction.points[0].time_ns;
    assert!((time / truth - 1.0).abs() < 0.1, "{time} {truth}");
    assert_eq!(prediction.dominating.unwrap().term, Term::Overhead);
    // 40/k + 2k has its minimum at 4.5.
    let best = prediction.regions[0].best_threads;
    assert!((3..=5).contains(&best), "{best}");
}

/// How the runtime's own time grows one thread does not show, and without prices nobody knows.
#[test]
fn overhead_that_one_thread_shows_does_not_grow_without_prices() {
    let mut script = Script::new(1);
    for _ in 0..1_000 {
        let work = Work {
            lead_ns: 2_000,
            ..Work::compute(40_000)
        };
        script.region(0x100, &[work]);
    }
    let run = facts(&script.build());
    let prediction = predict(&[&run], &options(2)).unwrap();
    let overhead = term(&prediction.points[0], Term::Overhead);
    assert!(overhead < 1e7, "{overhead}");
}

#[test]
fn terms_can_be_switched_off() {
    let law = Law {
        growth: 0.1,
        serial_ns: 1e7,
        ..PLAIN
    };
    let runs = [law.record(1), law.record(4)];
    let inputs: Vec<&Analysis> = runs.iter().collect();
    let ideal = Options {
        terms: Terms::WORK,
        ..options(8)
    };
    let point = predict(&inputs, &ideal).unwrap().points[0].clone();
    assert_eq!(point.terms.len(), 1);
    assert!(
        (point.time_ns / 1e7 - 1.0).abs() < 0.02,
        "{}",
        point.time_ns
    );
}

#[test]
fn one_recording_alone_is_answered_with_doubt() {
    for only in [1, 4] {
        let prediction = PLAIN.predict(&[only], 16);
        let many = PLAIN.predict(&[1, 2, 4], 16);
        let width = |p: &Prediction| p.points[0].high_ns / p.points[0].low_ns;
        assert!(
            width(&prediction) > width(&many),
            "{only} {} {}",
            width(&prediction),
            width(&many)
        );
        assert!(prediction.warnings.iter().any(|w| w.starts_with("There")));
        assert!(prediction.validation.is_none());
    }
}

#[test]
fn the_interval_widens_with_distance() {
    let analyses = [demo(1), demo(2), demo(4)].map(|r| facts(&r));
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let options = Options {
        at: vec![4, 16, 64],
        cores: Some(64),
        ..Options::default()
    };
    let points = predict(&inputs, &options).unwrap().points;
    let width: Vec<f64> = points.iter().map(|p| p.high_ns / p.low_ns).collect();
    assert!(width[0] < width[1] && width[1] < width[2], "{width:?}");
    assert!(points[1].extrapolated && !points[0].extrapolated);
}

#[test]
fn the_same_seed_gives_the_same_prediction() {
    let analyses = [demo(1), demo(4)].map(|r| facts(&r));
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let once = serde_json::to_string(&predict(&inputs, &Options::default()).unwrap()).unwrap();
    let again = serde_json::to_string(&predict(&inputs, &Options::default()).unwrap()).unwrap();
    assert_eq!(once, again);
}

#[test]
fn more_threads_than_processors_do_not_help() {
    let analyses = [PLAIN.record(1), PLAIN.record(2)];
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let options = Options {
        at: vec![2, 3, 4],
        cores: Some(2),
        ..Options::default()
    };
    let prediction = predict(&inputs, &options).unwrap();
    let points = &prediction.points;
    assert!(points[1].oversubscribed && points[1].time_ns > points[0].time_ns);
    assert!(term(&points[1], Term::Oversubscription) > 0.0);
    assert!(prediction.best_threads <= 2);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_law_of_this_kind_is_predicted(
        serial_ns in 0.0..3e7_f64,
        single_ns in 0.0..2e7_f64,
        growth in 0.0..0.2_f64,
        triangle: bool,
    ) {
        let law = Law { serial_ns, single_ns, growth, triangle, ..PLAIN };
        let prediction = law.predict(&[1, 2, 3, 4, 6, 8], 16);
        let point = &prediction.points[0];
        let error = point.time_ns / law.time(16) - 1.0;
        // The triangle and the growth multiply, which no sum of terms is.
        let tolerance = if triangle { 0.15 } else { 0.06 };
        prop_assert!(error.abs() < tolerance, "{law:?}: {error}");
    }

    #[test]
    fn no_curve_makes_growth_explode(
        growth in 0.0..0.4_f64,
        two in 0.5..1.05_f64,
        four in 0.5..1.05_f64,
        measured in 2..=3_usize,
        at in 3..64_u32,
    ) {
        let law = Law { growth, ..PLAIN };
        let curve = [(1, 1e10), (2, 2e10 * two), (4, 4e10 * two * four)];
        let point = with_curve(law, &curve[..measured], at);
        // The most that two threads leave open: all was bound by memory, or the growth goes on.
        let k = f64::from(at);
        let memory = (0.25 * 4.0_f64.max(k) / (two * four)).max(1.0 + (k - 1.0) / two) / k;
        let most = law.time(1) * memory.max(1.0) + law.time(at);
        prop_assert!(point.high_ns < most, "{law:?} {curve:?}: {point:?}");
    }

    #[test]
    fn hostile_facts_never_panic(
        wall in 0..u64::MAX,
        fraction in prop::num::f64::ANY,
        threads in 0..u32::MAX,
        time in 0..u64::MAX,
        sd in prop::num::f64::ANY,
    ) {
        let mut analysis = PLAIN.record(2);
        analysis.wall_ns = wall;
        analysis.parallel_time_fraction = fraction;
        analysis.team_size = threads;
        analysis.regions[1].outermost_ns = time;
        analysis.regions[1].length.sd_ns = sd;
        let one = PLAIN.record(1);
        if let Ok(prediction) = predict(&[&analysis, &one], &options(8)) {
            prop_assert!(prediction.points[0].time_ns.is_finite());
        }
    }
}
