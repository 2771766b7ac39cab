//! Joining intervals with samples: totals stay exact, and times are those that the
//! samples show.

use fathomp_paging::reader::{Recording, View};
use fathomp_paging::stream::ProcessNote;
use fathomp_paging::testing::Builder;
use fathomp_paging::{
    Activity, Cause, Counter, CounterSet, Counts, Ending, Interval, Selection, State, TaskId,
};
use proptest::prelude::*;

const FAULTS: Counter = Counter::MinorFaults;
const SWAPPED: Counter = Counter::ProcessSwapIns;

fn counts(counter: Counter, number: u64) -> Counts {
    let mut counts = Counts::ZERO;
    counts[counter] = number;
    counts
}

fn visit(recording: &Recording, view: View) -> Vec<Interval> {
    let mut found = Vec::new();
    let visited = recording
        .visit_part(TaskId(0), view, |interval| found.push(*interval))
        .expect("sound blocks");
    assert!(visited.is_sound());
    assert_eq!(visited.intervals, found.len() as u64);
    found
}

fn of(found: &[Interval], counter: Counter) -> Vec<(u64, u64, u64)> {
    let of = |stay: &Interval| (stay.begin, stay.end, stay.counts[counter]);
    found.iter().map(of).collect()
}

const COMPUTE: State = State::active(Activity::Compute);

#[test]
fn counts_are_shared_out_as_samples_show() {
    let mut builder = Builder::new();
    builder
        .task()
        .stay(1_000, COMPUTE, counts(FAULTS, 100))
        .sample(250, counts(FAULTS, 30))
        .sample(500, counts(FAULTS, 0))
        .sample(750, counts(FAULTS, 10))
        .sample(1_000, counts(FAULTS, 20));
    let found = visit(&builder.build(), View::ALL);
    // Of 60 sampled, 30, 30, 40, 60: floor(100 * 30 / 60) = 50, 50, 66, 100.
    assert_eq!(
        of(&found, FAULTS),
        [
            (0, 250, 50),
            (250, 500, 0),
            (500, 750, 16),
            (750, 1_000, 34)
        ]
    );
}

#[test]
fn a_sample_that_reaches_over_an_interval_is_shared_out_by_time() {
    let mut builder = Builder::new();
    builder
        .task()
        .stay(100, COMPUTE, counts(FAULTS, 1))
        .stay(300, State::active(Activity::Io), counts(FAULTS, 60))
        .stay(400, COMPUTE, counts(FAULTS, 2))
        // Of its 40, 20 are of the time from 100 to 200, and of the next 40, 20 are
        // of that from 200 to 300.
        .sample(200, counts(FAULTS, 40))
        .sample(400, counts(FAULTS, 80));
    let found = visit(&builder.build(), View::ALL);
    assert_eq!(
        of(&found, FAULTS),
        [(0, 100, 1), (100, 200, 20), (200, 300, 40), (300, 400, 2)]
    );
}

#[test]
fn if_samples_show_nothing_counts_are_shared_out_by_time() {
    let mut builder = Builder::new();
    builder
        .task()
        .stay(1_000, COMPUTE, counts(FAULTS, 7))
        .sample(250, Counts::ZERO)
        .sample(600, Counts::ZERO);
    let found = visit(&builder.build(), View::ALL);
    // Q(250) = floor(7 / 4) = 1, Q(600) = floor(4.2) = 4.
    assert_eq!(
        of(&found, FAULTS),
        [(0, 250, 1), (250, 600, 3), (600, 1_000, 3)]
    );
}

#[test]
fn what_no_sample_covers_is_like_the_rest() {
    let mut builder = Builder::new();
    builder
        .task()
        .stay(1_000, COMPUTE, counts(FAULTS, 100))
        .sample(250, counts(FAULTS, 10))
        .sample(500, counts(FAULTS, 30));
    let found = visit(&builder.build(), View::ALL);
    // 40 were seen in the first half, so 40 more are taken for the second.
    assert_eq!(
        of(&found, FAULTS),
        [(0, 250, 12), (250, 500, 38), (500, 1_000, 50)]
    );
}

#[test]
fn an_interval_across_the_edge_of_the_part_to_record_is_cut_there() {
    let part = |samples: &[(u64, u64)]| {
        let mut builder = Builder::new();
        builder.meta().selection.from_ns = 300;
        builder.meta().selection.to_ns = Some(600);
        let task = builder.task();
        task.stay(1_000, COMPUTE, counts(FAULTS, 100));
        for (at, rise) in samples {
            task.sample(*at, counts(FAULTS, *rise));
        }
        of(&visit(&builder.build(), View::ALL), FAULTS)
    };
    let known = part(&[(300, 10), (450, 40), (600, 0), (1_000, 50)]);
    assert_eq!(known, [(300, 450, 40), (450, 600, 0)]);
    // A sample across the edge is shared out by time.
    let known = part(&[(200, 0), (400, 50), (1_000, 50)]);
    assert_eq!(known, [(300, 400, 25), (400, 600, 16)]);
    // Without samples, time is all there is.
    assert_eq!(part(&[]), [(300, 600, 30)]);
}

#[test]
fn samples_of_a_task_that_was_not_to_be_recorded_are_no_record_of_it() {
    let mut builder = Builder::new();
    let task = builder.task();
    task.note().selected = Some(false);
    task.sample(250, counts(FAULTS, 10))
        .sample(500, Counts::ZERO);
    assert_eq!(visit(&builder.build(), View::ALL), []);
}

#[test]
fn who_never_learnt_whether_it_was_chosen_recorded_nothing() {
    let mut builder = Builder::new();
    builder.meta().selection.tasks = Selection::parse_tasks("rank:1").ok();
    builder.task();
    builder.task().stay(500, COMPUTE, counts(FAULTS, 1));
    let recording = builder.build();
    let is_selected = [0, 1].map(|task| recording.is_selected(TaskId(task)));
    assert_eq!(is_selected, [false, true]);
}

#[test]
fn what_only_samples_tell_is_in_no_state_that_was_seen() {
    let mut builder = Builder::new();
    let task = builder.task();
    task.note().ending = Some(Ending::Lost);
    task.stay(200, COMPUTE, counts(FAULTS, 1))
        .sample(200, counts(FAULTS, 1))
        .sample(500, counts(FAULTS, 7));
    let found = visit(&builder.build(), View::ALL);
    let causes: Vec<_> = found.iter().map(|one| one.cause).collect();
    assert_eq!(causes, [Cause::NONE, Cause::UNSEEN]);
    assert_eq!(of(&found, FAULTS), [(0, 200, 1), (200, 500, 7)]);
}

#[test]
fn samples_of_a_small_part_say_nothing_of_the_whole() {
    let mut builder = Builder::new();
    builder
        .task()
        .stay(32_000, COMPUTE, counts(FAULTS, 100))
        .sample(500, counts(FAULTS, 10))
        .sample(1_000, Counts::ZERO);
    let found = visit(&builder.build(), View::ALL);
    // By time, as they cover less than a sixteenth: floor(100 * 500 / 32000) = 1, 3.
    assert_eq!(
        of(&found, FAULTS),
        [(0, 500, 1), (500, 1_000, 2), (1_000, 32_000, 97)]
    );
}

#[test]
fn counters_that_only_samples_know_are_handed_out_as_sampled() {
    let mut builder = Builder::new();
    builder
        .task()
        .stay(100, COMPUTE, counts(FAULTS, 1))
        .stay(200, State::active(Activity::Io), counts(FAULTS, 2))
        .gap(300)
        .stay(400, COMPUTE, counts(FAULTS, 4))
        .sample(150, counts(SWAPPED, 30))
        .sample(400, counts(SWAPPED, 50));
    let recording = builder.build();
    let found = visit(&recording, View::ALL);
    // What rose in the gap is told with the interval that follows.
    assert_eq!(
        of(&found, SWAPPED),
        [(0, 100, 20), (100, 150, 10), (150, 200, 10), (300, 400, 40)]
    );
    assert_eq!(found.iter().map(|stay| stay.counts[FAULTS]).sum::<u64>(), 7);
    let view = View {
        counters: CounterSet::NONE.with(FAULTS),
        ..View::ALL
    };
    let found = visit(&recording, view);
    assert!(found.iter().all(|stay| stay.counts[SWAPPED] == 0));
}

#[test]
fn a_task_that_is_only_sampled_has_an_interval_per_sample() {
    let mut builder = Builder::new();
    builder
        .task()
        .sampled()
        .sample(100, counts(Counter::SystemSwapOuts, 5))
        .sample(200, Counts::ZERO)
        .sample(350, counts(Counter::SystemSwapOuts, 7));
    let recording = builder.build();
    assert!(
        recording.problems().is_empty(),
        "{:?}",
        recording.problems()
    );
    let found = visit(&recording, View::ALL);
    assert_eq!(
        of(&found, Counter::SystemSwapOuts),
        [(0, 100, 5), (100, 200, 0), (200, 350, 7)]
    );
    let view = View {
        from: 120,
        to: 180,
        ..View::ALL
    };
    assert_eq!(of(&visit(&recording, view), FAULTS), [(100, 200, 0)]);
}

#[test]
fn samples_after_the_end_of_a_task_that_ended_are_not_counted_twice() {
    let mut builder = Builder::new();
    builder
        .task()
        .stay(100, COMPUTE, counts(FAULTS, 9))
        .sample(150, counts(FAULTS, 9))
        .sample(200, counts(FAULTS, 3));
    let found = visit(&builder.build(), View::ALL);
    assert_eq!(of(&found, FAULTS), [(0, 100, 9)]);
}

#[test]
fn the_interposer_may_leave_counters_to_samples() {
    let mut builder = Builder::new();
    let task = builder.task();
    *task.process() = ProcessNote {
        exact: Some(CounterSet::NONE.with(Counter::IoCalls)),
        ..task.process().clone()
    };
    task.stay(100, COMPUTE, counts(Counter::IoCalls, 1))
        .stay(200, COMPUTE, counts(Counter::IoCalls, 2))
        .sample(200, counts(FAULTS, 10));
    let found = visit(&builder.build(), View::ALL);
    assert_eq!(of(&found, FAULTS), [(0, 100, 5), (100, 200, 5)]);
}

/// What a task does: stays (or gaps) and samples, by their lengths.
#[derive(Clone, Debug)]
struct Life {
    stays: Vec<(u64, bool, u64, u64)>,
    samples: Vec<(u64, u64, u64)>,
    cuts: usize,
    is_lost: bool,
}

fn lives() -> impl Strategy<Value = Life> {
    let amount = prop_oneof![3 => 0_u64..50, 1 => any::<u64>().prop_map(|n| n >> 8)];
    let length = prop_oneof![0_u64..20, 0_u64..5_000];
    let stay = (
        length.clone(),
        prop::bool::weighted(0.9),
        amount.clone(),
        amount.clone(),
    );
    let sample = (length, amount.clone(), amount);
    (
        proptest::collection::vec(stay, 0..40),
        proptest::collection::vec(sample, 0..60),
        1_usize..20,
        any::<bool>(),
    )
        .prop_map(|(stays, samples, cuts, is_lost)| Life {
            stays,
            samples,
            cuts,
            is_lost,
        })
}

fn build(life: &Life) -> Recording {
    let mut builder = Builder::new();
    let cause = builder.name("work");
    let task = builder.task();
    if life.is_lost {
        task.process().ending = Some(Ending::Lost);
    }
    let mut at = 0;
    for &(length, is_stay, faults, reads) in &life.stays {
        at += length;
        if is_stay {
            let mut counts = counts(FAULTS, faults);
            counts[Counter::PageIns] = reads;
            task.stay_in(at, COMPUTE, cause, counts);
        } else {
            task.gap(at);
        }
    }
    let mut at = 0;
    for (number, &(length, faults, swapped)) in life.samples.iter().enumerate() {
        at += length;
        let mut rise = counts(FAULTS, faults);
        rise[SWAPPED] = swapped;
        task.sample(at, rise);
        if number % life.cuts == 0 {
            task.cut();
        }
    }
    builder.build()
}

fn sum(found: &[Interval], counter: Counter) -> u128 {
    found
        .iter()
        .map(|stay| u128::from(stay.counts[counter]))
        .sum()
}

proptest! {
    #[test]
    fn totals_are_exact_and_time_goes_on(life in lives()) {
        let found = visit(&build(&life), View::ALL);
        let mut last = 0;
        for stay in &found {
            prop_assert!(last <= stay.begin && stay.begin <= stay.end);
            last = stay.end;
        }
        let faults = life.stays.iter().filter(|stay| stay.1);
        let faults: u128 = faults.clone().map(|stay| u128::from(stay.2)).sum();
        let of_stays = |stay: &&Interval| ![Cause::NONE, Cause::UNSEEN].contains(&stay.cause);
        let told: Vec<Interval> = found.iter().filter(of_stays).copied().collect();
        prop_assert_eq!(sum(&told, FAULTS), faults);
        let reads = life.stays.iter().filter(|stay| stay.1);
        let reads: u128 = reads.map(|stay| u128::from(stay.3)).sum();
        prop_assert_eq!(sum(&found, Counter::PageIns), reads);
        let swapped: u128 = life.samples.iter().map(|sample| u128::from(sample.2)).sum();
        prop_assert_eq!(sum(&found, SWAPPED), swapped);
        // What is recorded of time is neither more nor less.
        let time: u64 = life.stays.iter().filter(|stay| stay.1).map(|stay| stay.0).sum();
        prop_assert_eq!(told.iter().map(|stay| stay.end - stay.begin).sum::<u64>(), time);
        // No interval but a merged one reaches over a sample.
        let mut at = 0;
        for sample in &life.samples {
            at += sample.0;
            prop_assert!(!told.iter().any(|stay| stay.begin < at && at < stay.end));
        }
    }

    #[test]
    fn a_part_is_what_the_whole_has_there(life in lives(), from in 0_u64..3_000, length in 1_u64..3_000) {
        let recording = build(&life);
        let view = View { from, to: from + length, ..View::ALL };
        let whole = visit(&recording, View::ALL);
        let part = visit(&recording, view);
        let inside = whole.iter().filter(|stay| {
            stay.begin < view.to && (stay.end > from || stay.begin >= from)
        });
        let exact = |stay: &Interval| (stay.begin, stay.end, stay.cause, stay.counts[FAULTS]);
        let has_length = |stay: &&Interval| stay.begin < stay.end;
        let expected: Vec<_> = inside.filter(has_length).map(exact).collect();
        let found: Vec<_> = part.iter().filter(has_length).map(exact).collect();
        prop_assert_eq!(found, expected);
    }

    #[test]
    fn merging_at_any_point_keeps_the_totals(life in lives(), at in 0_usize..40, width in 1_u64..10_000) {
        let mut builder = Builder::new();
        let task = builder.task();
        let mut end = 0;
        for (number, &(length, is_stay, faults, _)) in life.stays.iter().enumerate() {
            if number == at {
                task.merge(width);
            }
            end += length;
            if is_stay {
                task.stay(end, State::ALL[number % State::COUNT], counts(FAULTS, faults));
            } else {
                task.gap(end);
            }
        }
        let recording = builder.build();
        let found = visit(&recording, View::ALL);
        let stays = || life.stays.iter().enumerate().filter(|(_, stay)| stay.1);
        prop_assert_eq!(found.iter().map(|stay| stay.merged).sum::<u64>(), stays().count() as u64);
        for (number, state) in State::ALL.into_iter().enumerate() {
            let of = || stays().filter(|(place, _)| place % State::COUNT == number);
            let told: Vec<_> = found.iter().filter(|stay| stay.state == state).copied().collect();
            let faults: u128 = of().map(|(_, stay)| u128::from(stay.2)).sum();
            prop_assert_eq!(sum(&told, FAULTS), faults);
            let time: u64 = of().map(|(_, stay)| stay.0).sum();
            prop_assert_eq!(told.iter().map(|stay| stay.end - stay.begin).sum::<u64>(), time);
        }
    }
}
