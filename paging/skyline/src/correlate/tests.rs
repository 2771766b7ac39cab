use super::*;
use crate::bins::Bins;
use crate::settings::Selection;
use crate::testing::Synthetic;
use fathomp_paging::{Activity, Counter, TaskId};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

const RUN: u64 = 4_096_000_000;
const COUNTER: Counter = Counter::DsmFetchFaults;

/// Peaks of 30 faults within 3 ms each, at moments of each task.
fn peaked(tasks: u32, mut moments: impl FnMut(usize) -> Vec<u64>) -> Synthetic {
    let mut made = Synthetic::new(tasks, RUN);
    for task in 0..tasks as usize {
        let counts = moments(task)
            .into_iter()
            .flat_map(|at| (0..3).map(move |ms| (at + ms * 1_000_000, 10)));
        made.counts(task, Activity::Compute, COUNTER, counts);
    }
    made
}

fn correlated(made: &Synthetic) -> Correlation {
    let settings = Settings::default();
    let bins = Bins::read(&made.memory, &settings).unwrap();
    let rows = Rows::of_bins(&bins, Selection::all(COUNTER), &settings);
    correlate(&rows, bins.window().bin_ns as f64, &settings).unwrap()
}

fn random_moments(random: &mut StdRng, number: usize) -> Vec<u64> {
    let mut at: Vec<u64> = (0..number)
        .map(|_| random.random_range(0..RUN / 10_000_000) * 10_000_000 + 2_000_000)
        .collect();
    at.sort_unstable();
    at.dedup();
    at
}

#[test]
fn tasks_with_the_same_moments_are_alike_and_the_other_is_named() {
    let mut random = StdRng::seed_from_u64(1);
    let common = random_moments(&mut random, 60);
    let own = random_moments(&mut random, 60);
    let found = correlated(&peaked(6, |task| {
        if task == 4 {
            own.clone()
        } else {
            common.clone()
        }
    }));
    assert_eq!(found.measure, Measure::Times);
    assert!(found.times.get(0, 1).unwrap() > 0.99);
    assert!(found.amplitude.get(0, 1).unwrap() > 0.99);
    assert!(found.signals.get(0, 1).unwrap() > 0.99);
    assert!(found.overlap.get(0, 1).unwrap() > 0.99);
    assert!(found.times.get(0, 4).unwrap() < 0.6);
    assert!(
        found.significance.is_significant(),
        "{:?}",
        found.significance
    );
    assert_eq!(found.clusters[0].tasks.len(), 5);
    assert_eq!(found.unlike.map(|unlike| unlike.task), Some(TaskId(4)));
}

#[test]
fn tasks_with_moments_of_their_own_are_not_alike() {
    let mut random = StdRng::seed_from_u64(2);
    let mut significant = 0;
    for _ in 0..20 {
        let made = peaked(5, |_| random_moments(&mut random, 60));
        let found = correlated(&made);
        significant += usize::from(found.significance.is_significant());
        if !found.significance.is_significant() {
            assert!(found.clusters.is_empty() && found.unlike.is_none());
        }
    }
    assert!(significant <= 1, "{significant} of 20");
}

#[test]
fn lags_are_found_with_their_sign() {
    let mut random = StdRng::seed_from_u64(3);
    let first = random_moments(&mut random, 60);
    let found = correlated(&peaked(2, |task| {
        first
            .iter()
            .map(|at| at + 4_000_000 * task as u64)
            .collect()
    }));
    let lag = found.best_lag.get(0, 1).unwrap();
    assert!((lag / 4e6 - 1.0).abs() < 0.3, "{lag}");
    assert!(found.signals_at_best_lag.get(0, 1).unwrap() > 0.9);
    assert!(found.signals.get(0, 1).unwrap() < 0.5);
}

#[test]
fn that_tasks_begin_later_makes_them_not_alike() {
    let mut random = StdRng::seed_from_u64(4);
    let mut significant = 0;
    for _ in 0..20 {
        let mut made = peaked(4, |_| {
            let moments = random_moments(&mut random, 200);
            moments.into_iter().filter(|at| *at > RUN / 3).collect()
        });
        for task in 1..4 {
            made.memory.tasks[task].begin = RUN / 3;
            made.memory.intervals[task].remove(0);
        }
        significant += usize::from(correlated(&made).significance.is_significant());
    }
    assert!(significant <= 1, "{significant} of 20");
}

#[test]
fn synchronisation_is_found_and_named_by_barriers_and_not_in_chance() {
    let settings = Settings::default();
    let mut random = StdRng::seed_from_u64(5);
    let common = random_moments(&mut random, 40);
    let mut made = peaked(8, |_| {
        let mut at = random_moments(&mut random, 60);
        at.extend(&common);
        at.sort_unstable();
        at.dedup();
        at
    });
    for task in 0..8 {
        made.barriers(task, common.iter().copied());
    }
    let synchronised = |made: &Synthetic| {
        let bins = Bins::read(&made.memory, &settings).unwrap();
        let rows = Rows::of_bins(&bins, Selection::all(COUNTER), &settings);
        synchronisation(&rows, bins.window(), bins.phases.as_ref(), &settings).unwrap()
    };
    let found = synchronised(&made);
    assert!(
        found.points.len().abs_diff(common.len()) <= 4,
        "{}",
        found.points.len()
    );
    assert!(found.p < 0.02 && found.points_by_chance < 2.0, "{found:?}");
    let named = found
        .points
        .iter()
        .filter_map(|point| point.barrier.as_ref());
    assert!(
        named
            .filter(|barrier| barrier.name == "solver.c:12")
            .count()
            >= 36
    );

    let random = synchronised(&peaked(8, |_| random_moments(&mut random, 100)));
    assert!(random.p > 0.02, "{random:?}");
}

#[test]
fn many_tasks_are_represented_by_some() {
    let mut random = StdRng::seed_from_u64(6);
    let common = random_moments(&mut random, 40);
    let found = correlated(&peaked(80, |_| common.clone()));
    assert_eq!(found.times.values().len(), 80 * 79 / 2);
    assert!(
        found
            .times_by_chance
            .values()
            .iter()
            .all(|value| *value > 0.0 && *value < 0.9)
    );
    assert_eq!(found.clusters.len(), 1);
}
