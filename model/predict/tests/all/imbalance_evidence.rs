//! Serial code inside a region and imbalance look alike in sums; the threads
//! tell them apart.

use fathomp_analysis::testing::{Script, Work};
use fathomp_analysis::{Analysis, Options as AnalyseOptions, State, analyse};
use fathomp_predict::{Options, Prediction, Term, predict};

const EXECUTIONS: u64 = 20;
/// Work of an execution.
const WORK_NS: u64 = 4_000_000;
/// Of it in a construct that one thread executes.
const ALONE_NS: u64 = 1_000_000;

/// A program of one region; `shares` has each thread's work in an execution:
/// (team size, execution) to times.
fn record(threads: u32, shares: &dyn Fn(u64, u64) -> Vec<Work>) -> Analysis {
    let mut script = Script::new(threads);
    for execution in 0..EXECUTIONS {
        let work: Vec<Work> = shares(u64::from(threads), execution)
            .into_iter()
            .map(|work| Work { lead_ns: 0, ..work })
            .collect();
        script.region(0x100, &work);
    }
    analyse(&script.build(), &AnalyseOptions::default())
}

fn predicted(from: &[u32], at: u32, shares: &dyn Fn(u64, u64) -> Vec<Work>) -> Prediction {
    let analyses: Vec<Analysis> = from.iter().map(|&p| record(p, shares)).collect();
    let inputs: Vec<&Analysis> = analyses.iter().collect();
    let options = Options {
        at: vec![at],
        cores: Some(16),
        ..Options::default()
    };
    predict(&inputs, &options).unwrap()
}

/// One thread, `taker`, computes alone between two divided halves while the
/// others wait in `state`.
fn alone(k: u64, taker: u64, state: State) -> Vec<Work> {
    let half = (WORK_NS - ALONE_NS) / k / 2;
    (0..k)
        .map(|thread| {
            let middle = if thread == taker {
                State::Compute
            } else {
                state
            };
            Work::compute(half)
                .and(middle, ALONE_NS)
                .and(State::Compute, half)
        })
        .collect()
}

/// Whoever comes first: an arbitrary thread, not the same as the last time.
fn single(k: u64, execution: u64) -> Vec<Work> {
    let taker = (execution * 7 + execution / 3) % k;
    alone(k, taker, State::ImplicitBarrier)
}

fn master(k: u64, _: u64) -> Vec<Work> {
    alone(k, 0, State::ExplicitBarrier)
}

/// Rows that grow longer, dealt in blocks.
fn triangle(k: u64, _: u64) -> Vec<Work> {
    let part = |thread| WORK_NS * (2 * thread + 1) / (k * k);
    (0..k).map(|thread| Work::compute(part(thread))).collect()
}

/// The same with the long rows first.
fn falling(k: u64, execution: u64) -> Vec<Work> {
    triangle(k, execution).into_iter().rev().collect()
}

/// Shares between half and one and a half of the mean, by a hash.
fn random(k: u64, execution: u64) -> Vec<Work> {
    let mut mixed = execution + 1;
    (0..k)
        .map(|_| {
            mixed = mixed
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let percent = 50 + (mixed >> 33) % 101;
            Work::compute(WORK_NS / k * percent / 100)
        })
        .collect()
}

fn cause(prediction: &Prediction) -> Term {
    prediction.regions[0].dominating.unwrap().term
}

/// Whether the time with `k` threads that `shares` has is in the interval.
fn holds(prediction: &Prediction, k: u32, shares: &dyn Fn(u64, u64) -> Vec<Work>) -> bool {
    let truth = record(k, shares).wall_ns as f64;
    let point = &prediction.points[0];
    point.low_ns <= 1.01 * truth && truth <= 1.01 * point.high_ns
}

#[test]
fn a_single_construct_is_serial_code() {
    for from in [[1, 2], [1, 4]] {
        let prediction = predicted(&from, 16, &single);
        assert_eq!(cause(&prediction), Term::SerialInRegion, "{from:?}");
        assert!(holds(&prediction, 16, &single), "{from:?}");
    }
}

#[test]
fn a_master_construct_is_serial_code_once_three_threads_show_it() {
    let prediction = predicted(&[1, 3], 16, &master);
    assert_eq!(cause(&prediction), Term::SerialInRegion);
    assert!(holds(&prediction, 16, &master));
}

#[test]
fn two_threads_of_which_the_first_is_longest_leave_both_open() {
    // The same sums, and the same thread waits for the other.
    let prediction = predicted(&[1, 2], 16, &master);
    assert!(holds(&prediction, 16, &master));
    let prediction = predicted(&[1, 2], 16, &falling);
    assert!(holds(&prediction, 16, &falling));
}

#[test]
fn a_triangle_is_imbalance() {
    for from in [[1, 2], [1, 4]] {
        let prediction = predicted(&from, 16, &triangle);
        assert_eq!(cause(&prediction), Term::Imbalance, "{from:?}");
        assert!(holds(&prediction, 16, &triangle), "{from:?}");
    }
    let prediction = predicted(&[1, 4], 16, &falling);
    assert_eq!(cause(&prediction), Term::Imbalance);
}

#[test]
fn random_shares_are_imbalance() {
    for from in [[1, 2], [1, 4]] {
        let prediction = predicted(&from, 8, &random);
        assert_eq!(cause(&prediction), Term::Imbalance, "{from:?}");
    }
}
