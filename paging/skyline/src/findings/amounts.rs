//! Which states, which task, how much at once.

use crate::correlate;
use crate::facts::{Analysis, CounterFacts, Fact, Shape};
use crate::shape::COUNTS_MIN;
use fathomp_paging::{Activity, CounterSet, State, TaskKind};
use fathomp_types::units;

/// Part of the counts in one activity, and how far it has to exceed the part of time.
const MAIN_SHARE_MIN: f64 = 0.5;
const BEYOND_TIME: f64 = 0.2;
/// Standard deviations of chance.
const DEVIATIONS: f64 = 3.0;
/// Part of the time in suspension that is worth a word.
const SUSPENDED_MIN: f64 = 0.1;
/// A task counts so many times as much as the others, or as little.
const AMOUNT_MIN: f64 = 2.0;
/// The highest load is worth a word if it is so many times the mean.
const LOAD_MIN: f64 = 2.0;

/// Time of threads by state.
fn times(analysis: &Analysis) -> [f64; State::COUNT] {
    let mut times = [0.0; State::COUNT];
    for task in analysis
        .tasks
        .iter()
        .filter(|task| task.kind == TaskKind::Thread)
    {
        for (time, ns) in times.iter_mut().zip(task.states_ns) {
            *time += ns as f64;
        }
    }
    times
}

fn of_activity<N: Copy + Into<f64>>(values: [N; State::COUNT], activity: Activity) -> f64 {
    let of = |suspended| {
        values[State {
            activity,
            suspended,
        }
        .index()]
        .into()
    };
    of(false) + of(true)
}

pub(super) fn of_counter(
    analysis: &Analysis,
    facts: &CounterFacts,
    say: &mut impl FnMut(Fact, String),
) {
    if facts.total < COUNTS_MIN {
        return;
    }
    activity(analysis, facts, say);
    task(analysis, facts, say);
}

/// More counts in an activity than its time explains. Each interval that counted is taken
/// as one draw: counts within it belong together.
fn activity(analysis: &Analysis, facts: &CounterFacts, say: &mut impl FnMut(Fact, String)) {
    let times = times(analysis);
    let time: f64 = times.iter().sum();
    let counts = facts.by_state.map(|count| count as f64);
    let draws = facts
        .intervals
        .iter()
        .fold(0.0, |sum, number| sum + *number as f64);
    let total: f64 = counts.iter().sum();
    // Faults of the shared memory are communication by themselves.
    let is_of_nodes = facts.counter.name().starts_with("dsm_");
    // What only samplers see has no state.
    let is_of_samplers = CounterSet::SAMPLED_ONLY.contains(facts.counter);
    if time <= 0.0 || draws < 1.0 || is_of_nodes || is_of_samplers {
        return;
    }
    for activity in Activity::ALL {
        let share = of_activity(counts, activity) / total;
        let time_share = of_activity(times, activity) / time;
        let by_chance = DEVIATIONS * (time_share * (1.0 - time_share) / draws).sqrt();
        if share >= MAIN_SHARE_MIN && share - time_share >= BEYOND_TIME.max(by_chance) {
            say(
                Fact::ActivityDominates {
                    counter: facts.counter,
                    activity,
                    share,
                    time_share,
                },
                format!(
                    "{} of {} counted.",
                    units::count(of_activity(counts, activity) as u64),
                    units::count(facts.total)
                ),
            );
        }
    }
}

/// One task with far more or far fewer counts than the others.
fn task(analysis: &Analysis, facts: &CounterFacts, say: &mut impl FnMut(Fact, String)) {
    let threads: Vec<_> = analysis
        .tasks
        .iter()
        .filter(|task| task.kind == TaskKind::Thread && task.recorded_ns() > 0)
        .collect();
    let count = |place: usize| {
        threads[place]
            .totals
            .get(&facts.counter)
            .copied()
            .unwrap_or(0)
    };
    let amounts: Vec<u64> = (0..threads.len()).map(count).collect();
    let logarithms: Vec<f64> = amounts
        .iter()
        .map(|count| (*count as f64 + 1.0).ln())
        .collect();
    let Some(place) = correlate::outlier(&logarithms) else {
        return;
    };
    let mut others: Vec<u64> = amounts.clone();
    others.remove(place);
    others.sort_unstable();
    let median = others[others.len() / 2];
    let (count, middle) = (amounts[place] as f64, median as f64);
    let is_far = count >= AMOUNT_MIN * middle || middle >= AMOUNT_MIN * count;
    let by_chance = DEVIATIONS * 2.0 * (count.max(middle)).sqrt();
    if is_far && (count - middle).abs() > by_chance.max(COUNTS_MIN as f64 / 2.0) {
        say(
            Fact::TaskAmount {
                counter: facts.counter,
                task: threads[place].id,
                count: amounts[place],
                others: median,
            },
            format!(
                "The others have {} to {}; Grubbs's test for one outlier, p below 0.01.",
                units::count(others[0]),
                units::count(others[others.len() - 1])
            ),
        );
    }
}

/// Time in suspension.
pub(super) fn of_states(analysis: &Analysis, say: &mut impl FnMut(Fact, String)) {
    let times = times(analysis);
    let time: f64 = times.iter().sum();
    let suspended = |activity| {
        times[State {
            activity,
            suspended: true,
        }
        .index()]
    };
    let all: f64 = Activity::ALL.into_iter().map(suspended).sum();
    let most = Activity::ALL
        .into_iter()
        .max_by(|a, b| suspended(*a).total_cmp(&suspended(*b)));
    let Some(activity) = most.filter(|_| time > 0.0 && all >= SUSPENDED_MIN * time) else {
        return;
    };
    say(
        Fact::Suspended {
            share: all / time,
            activity,
            activity_share: suspended(activity) / all,
        },
        format!(
            "{} of {} of all tasks.",
            units::duration(all),
            units::duration(time)
        ),
    );
}

/// The highest loads.
pub(super) fn of_loads(analysis: &Analysis, say: &mut impl FnMut(Fact, String)) {
    for load in &analysis.loads {
        let known = |facts: &&CounterFacts| {
            let shape = facts.profiles.first().map(|profile| profile.shape);
            !matches!(shape, None | Some(Shape::TooFew | Shape::Unknown))
        };
        let facts = analysis
            .counters
            .iter()
            .find(|facts| facts.counter == load.counter);
        if facts.filter(known).is_none()
            || load.pages_per_second < LOAD_MIN * load.mean_pages_per_second
        {
            continue;
        }
        say(
            Fact::PeakLoad { load: *load },
            format!(
                "{} counted within {}, over all tasks; {} times the mean.",
                units::count(load.count),
                units::duration((load.to_ns - load.from_ns) as f64),
                units::ratio(load.pages_per_second / load.mean_pages_per_second.max(1e-9))
            ),
        );
    }
}
