//! What the script draws of paging, in as few bytes as it needs.

use super::words::{class, counter_title};
use super::zeros::Zeros;
use super::{choice, words};
use crate::facts::PagingFacts;
use fathomp_paging::{Counter, State, StateSet, TaskId};
use fathomp_skyline::{
    Axis, Correlation, CounterFacts, Lane, Matrix, Measure, Profile, Selection, Skyline, Stretch,
};
use fathomp_types::text::shorten;
use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

/// Tasks with a lane and records of their own.
const TASKS_MAX: usize = 48;
/// Counters that can be chosen.
const COUNTERS_MAX: usize = 10;
/// Steps of time of all tasks together.
const STEPS_MAX: usize = 1_024;
/// Steps of time of all single tasks and counters together.
const TASK_STEPS_MAX: usize = 96_000;
/// Stretches of states that are drawn, of all tasks together.
const STRETCHES_MAX: usize = 14_000;
/// Phases that logical time is offered for: finer ones could not be drawn.
const PHASES_MAX: usize = 4_096;
/// Correlations that can be chosen.
const RELATIONS_MAX: usize = 6;
/// Tasks of a correlation.
const RELATED_MAX: usize = 64;
/// Letters of a task's name.
const LABEL_CHARS: usize = 40;

/// Everything that is drawn.
#[derive(Debug, Serialize)]
pub(crate) struct PagingData {
    /// The window: begin and end.
    span: [u64; 2],
    /// Names of colours, and of states, in their order.
    states: Vec<&'static str>,
    state_names: Vec<&'static str>,
    /// Of tasks that are shown.
    tasks: Vec<String>,
    /// Names of regions; the first is none.
    regions: Vec<String>,
    /// `[region, begin, end]`.
    region_spans: Vec<[u64; 3]>,
    /// When phases end, and the name of the barrier that ends each.
    phases: Option<PhaseData>,
    /// By task: `[begin, end, region, state, mix]`, as in the timeline.
    lanes: Vec<Vec<LaneCell>>,
    counters: Vec<CounterData>,
    relations: Vec<Relation>,
    heat: Option<super::faults::HeatData>,
}

#[derive(Debug, Serialize)]
struct PhaseData {
    ends: Vec<u64>,
    barriers: Vec<String>,
    /// For each phase the place of its barrier's name.
    names: Vec<usize>,
}

#[derive(Debug)]
struct LaneCell {
    from_ns: u64,
    to_ns: u64,
    state: usize,
    mix: Vec<usize>,
}

impl Serialize for LaneCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        list.serialize_element(&self.from_ns)?;
        list.serialize_element(&self.to_ns)?;
        list.serialize_element(&0)?;
        list.serialize_element(&self.state)?;
        if !self.mix.is_empty() {
            list.serialize_element(&self.mix)?;
        }
        list.end()
    }
}

#[derive(Debug, Serialize)]
struct CounterData {
    title: String,
    /// Whether it counts bytes.
    bytes: bool,
    /// All tasks together.
    all: Record,
    /// What it is the sum of, by state.
    layers: Vec<Layer>,
    /// Records of single tasks.
    tasks: Vec<TaskData>,
}

#[derive(Debug, Serialize)]
struct Layer {
    /// The state; none if it is all of them.
    state: Option<usize>,
    record: Record,
    /// Counts per phase.
    phases: Option<Zeros>,
}

#[derive(Debug, Serialize)]
struct TaskData {
    /// Its place among the tasks that are shown.
    task: usize,
    record: Record,
}

/// Counts over time and their skyline.
#[derive(Debug, Serialize)]
struct Record {
    /// Length of a step.
    step: u64,
    counts: Zeros,
    /// Peaks that are kept: `[begin, end, highest rate]`.
    peaks: Vec<[f64; 3]>,
    /// Rate beside them.
    background: f64,
    /// Begin and end of the part that the skyline describes.
    life: [u64; 2],
}

#[derive(Debug, Serialize)]
struct Relation {
    title: String,
    measure: &'static str,
    tasks: Vec<String>,
    /// Sizes of groups that stand together, the rest last.
    groups: Vec<usize>,
    /// In percent, row by row behind the diagonal.
    found: Vec<i32>,
    chance: Vec<i32>,
}

/// Everything that can be drawn.
pub(super) fn build(paging: &PagingFacts) -> PagingData {
    let analysis = &paging.analysis;
    let (mut chosen, _) = choice::counters(paging, None);
    chosen.truncate(COUNTERS_MAX);
    let places = shown(paging);
    let label = |place: &usize| {
        let task = analysis.tasks.get(*place);
        task.map_or_else(String::new, |task| shorten(&task.label, LABEL_CHARS))
    };
    let per_task = TASK_STEPS_MAX / (places.len() * chosen.len()).max(1);
    let counters: Vec<CounterData> = chosen
        .iter()
        .map(|one| CounterData {
            title: counter_title(one.facts.counter),
            bytes: words::is_bytes(one.facts.counter),
            layers: layers(one.facts)
                .into_iter()
                .map(|(profile, state)| Layer {
                    state: state.map(State::index),
                    record: record(paging, &profile.bins, &profile.skyline, STEPS_MAX),
                    phases: counts_per_phase(profile),
                })
                .collect(),
            all: record(paging, &one.profile.bins, &one.profile.skyline, STEPS_MAX),
            tasks: records(paging, one.facts.counter, one.profile, &places, per_task),
        })
        .collect();
    let (regions, region_spans) = regions(paging);
    PagingData {
        span: [analysis.window.from_ns, analysis.window.to_ns],
        states: State::ALL.into_iter().map(class).collect(),
        state_names: State::ALL.into_iter().map(words::state).collect(),
        tasks: places.iter().map(label).collect(),
        regions,
        region_spans,
        phases: phases(paging),
        lanes: lanes(paging, &places),
        relations: chosen
            .iter()
            .flat_map(|one| relations(paging, one.facts.counter, one.profile))
            .take(RELATIONS_MAX)
            .collect(),
        counters,
        heat: super::faults::heat(paging),
    }
}

impl PagingData {
    pub(super) fn has_lanes(&self) -> bool {
        self.lanes.iter().any(|lane| !lane.is_empty())
    }

    pub(super) fn has_counters(&self) -> bool {
        !self.counters.is_empty()
    }

    pub(super) fn has_relations(&self) -> bool {
        !self.relations.is_empty()
    }

    /// Tasks with a lane.
    pub(super) fn lanes_shown(&self) -> usize {
        self.lanes.len()
    }
}

/// Tasks that are shown, by their places: those with lanes, if there are any.
fn shown(paging: &PagingFacts) -> Vec<usize> {
    match &paging.lanes {
        Some(lanes) if !lanes.tasks.is_empty() => lanes
            .tasks
            .iter()
            .filter_map(|lane| paging.place(lane.task))
            .take(TASKS_MAX)
            .collect(),
        _ => choice::tasks(paging, TASKS_MAX),
    }
}

fn lanes(paging: &PagingFacts, places: &[usize]) -> Vec<Vec<LaneCell>> {
    let Some(lanes) = &paging.lanes else {
        return Vec::new();
    };
    let most = STRETCHES_MAX / places.len().max(1);
    places
        .iter()
        .map(|place| {
            let task = paging.analysis.tasks.get(*place).map(|task| task.id);
            let lane = lanes.tasks.iter().find(|lane| Some(lane.task) == task);
            lane.map_or_else(Vec::new, |lane| cells(lane, most))
        })
        .collect()
}

/// At most about `most` cells: neighbours are put together where there are more.
fn cells(lane: &Lane, most: usize) -> Vec<LaneCell> {
    let together = lane.stretches.len().div_ceil(most.max(1)).max(1);
    lane.stretches.chunks(together).filter_map(cell).collect()
}

fn cell(stretches: &[Stretch]) -> Option<LaneCell> {
    let (first, last) = (stretches.first()?, stretches.last()?);
    let mut weights = [0_f64; State::COUNT];
    for stretch in stretches {
        let ns = stretch.to_ns.saturating_sub(stretch.from_ns) as f64;
        for (weight, percent) in weights.iter_mut().zip(stretch.percent) {
            *weight += ns * f64::from(percent);
        }
    }
    let all: f64 = weights.iter().sum();
    let percent = weights.map(|weight| (weight * 100.0 / all.max(1.0)).round() as usize);
    let state = (0..State::COUNT).max_by(|a, b| weights[*a].total_cmp(&weights[*b]))?;
    let parts = percent.iter().enumerate().filter(|(_, share)| **share > 0);
    let mix: Vec<usize> = parts.flat_map(|(state, share)| [state, *share]).collect();
    Some(LaneCell {
        from_ns: first.from_ns,
        to_ns: last.to_ns,
        state,
        mix: if mix.len() > 2 { mix } else { Vec::new() },
    })
}

fn regions(paging: &PagingFacts) -> (Vec<String>, Vec<[u64; 3]>) {
    let Some(lanes) = &paging.lanes else {
        return (Vec::new(), Vec::new());
    };
    let names = lanes.names.iter().map(|name| shorten(name, 60)).collect();
    let spans = lanes.regions.iter();
    let spans = spans.map(|span| [span.name as u64, span.from_ns, span.to_ns]);
    (names, spans.collect())
}

fn phases(paging: &PagingFacts) -> Option<PhaseData> {
    let phases = paging.analysis.phases.as_ref()?;
    if phases.count() > PHASES_MAX || phases.count() < 2 {
        return None;
    }
    let mut barriers: Vec<String> = Vec::new();
    let mut names = Vec::new();
    for name in &phases.barriers {
        let known = barriers.iter().position(|one| one == name);
        names.push(known.unwrap_or_else(|| {
            barriers.push(name.clone());
            barriers.len() - 1
        }));
    }
    Some(PhaseData {
        ends: phases.ends_ns.clone(),
        barriers: barriers.iter().map(|name| shorten(name, 60)).collect(),
        names,
    })
}

/// Profiles that add up to all counts, each with the state that it is of. Where an activity
/// is counted in one state only, there is no profile of that state alone.
fn layers(facts: &CounterFacts) -> Vec<(&Profile, Option<State>)> {
    let counted: Vec<State> = State::ALL
        .into_iter()
        .filter(|state| facts.by_state[state.index()] > 0)
        .collect();
    let of = |state: &State| {
        let fits = |profile: &&Profile| {
            let mut counts = counted.iter().filter(|one| profile.states.contains(**one));
            counts.next() == Some(state) && counts.next().is_none()
        };
        let profile = facts.profiles.iter().find(fits)?;
        Some((profile, Some(*state)))
    };
    let layers: Option<Vec<_>> = counted.iter().map(of).collect();
    let whole = || facts.profiles.first().map(|profile| (profile, None));
    layers
        .filter(|layers| !layers.is_empty())
        .unwrap_or_else(|| whole().into_iter().collect())
}

fn counts_per_phase(profile: &Profile) -> Option<Zeros> {
    let phases = profile.phases.as_ref()?;
    (phases.counts.len() <= PHASES_MAX).then(|| Zeros::new(phases.counts.clone()))
}

fn records(
    paging: &PagingFacts,
    counter: Counter,
    profile: &Profile,
    places: &[usize],
    steps: usize,
) -> Vec<TaskData> {
    let Some(bins) = paging.bins.as_ref().filter(|_| places.len() > 1) else {
        return Vec::new();
    };
    let selection = Selection {
        counter,
        states: StateSet::ALL,
    };
    let one = |(number, place): (usize, &usize)| {
        let task = paging.analysis.tasks.get(*place)?.id;
        let skyline = profile.tasks.iter().find(|one| one.task == task)?;
        let counts = bins.of_task(*place, selection);
        Some(TaskData {
            task: number,
            record: record(paging, &counts, &skyline.skyline, steps.min(STEPS_MAX)),
        })
    };
    places.iter().enumerate().filter_map(one).collect()
}

fn record(paging: &PagingFacts, bins: &[u64], skyline: &Skyline, steps: usize) -> Record {
    let window = &paging.analysis.window;
    let together = bins.len().div_ceil(steps.max(1)).max(1);
    let sum = |bins: &[u64]| {
        bins.iter()
            .fold(0, |sum: u64, bin| sum.saturating_add(*bin))
    };
    let peaks = skyline.peaks.iter();
    let peaks = peaks.map(|peak| {
        [
            peak.from_ns as f64,
            peak.to_ns as f64,
            peak.highest_per_second,
        ]
    });
    let end = skyline.first_bin.saturating_add(skyline.bins);
    Record {
        step: window.bin_ns.saturating_mul(together as u64),
        counts: Zeros::new(bins.chunks(together).map(sum).collect()),
        peaks: peaks.collect(),
        background: skyline.background.per_second,
        life: [skyline.first_bin, end].map(|bin| {
            let after = (bin as u64).saturating_mul(window.bin_ns);
            window.from_ns.saturating_add(after)
        }),
    }
}

fn relations(paging: &PagingFacts, counter: Counter, profile: &Profile) -> Vec<Relation> {
    let both = [&profile.correlation_in_phases, &profile.correlation];
    let relation = |correlation: &Correlation| {
        let (order, groups) = order(correlation);
        let pairs = |matrix: &Matrix| {
            Matrix::pairs(order.len())
                .map(|(one, other)| {
                    let value = matrix.get(order[one], order[other]).unwrap_or(0.0);
                    (value * 100.0).round() as i32
                })
                .collect()
        };
        let (axis, measure) = (
            match correlation.axis {
                Axis::Wall => "wall time",
                Axis::Phases => "phases",
            },
            match correlation.measure {
                Measure::Times => "C, times of peaks",
                Measure::Signals => "r, counts",
            },
        );
        Relation {
            title: format!("{}, {axis}", counter_title(counter)),
            measure,
            tasks: order
                .iter()
                .filter_map(|place| correlation.tasks.get(*place))
                .map(|task| shorten(&paging.label(*task), LABEL_CHARS))
                .collect(),
            groups,
            found: pairs(correlation.similarity()),
            chance: pairs(correlation.similarity_by_chance()),
        }
    };
    both.into_iter().flatten().map(relation).collect()
}

/// Rows of a correlation's matrices, those of a cluster together, evenly thinned out where
/// there are too many; and the sizes of the groups.
fn order(correlation: &Correlation) -> (Vec<usize>, Vec<usize>) {
    let all = correlation.tasks.len();
    let row = |task: &TaskId| correlation.tasks.iter().position(|one| one == task);
    let mut groups: Vec<Vec<usize>> = correlation
        .clusters
        .iter()
        .map(|cluster| cluster.tasks.iter().filter_map(row).collect())
        .collect();
    let grouped: Vec<usize> = groups.iter().flatten().copied().collect();
    groups.push((0..all).filter(|row| !grouped.contains(row)).collect());
    let thin = all.div_ceil(RELATED_MAX).max(1);
    let mut order = Vec::new();
    let mut sizes = Vec::new();
    for group in groups {
        let kept: Vec<usize> = group.into_iter().step_by(thin).collect();
        if !kept.is_empty() {
            sizes.push(kept.len());
            order.extend(kept);
        }
    }
    order.truncate(RELATED_MAX * 2);
    (order, sizes)
}
