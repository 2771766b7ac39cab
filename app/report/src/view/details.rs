//! What is under each row of the table of regions.

use super::colours::{LegendEntry, legend, shown};
use super::regions::{self, Outlook};
use super::source::{Listing, Listings};
use super::{Fact, curves, words};
use crate::chart::{Chart, Segment, Stack, strips};
use crate::{Input, units};
use fathomp_analysis::{Analysis, Confidence, Region, SiteKind, State, ThreadShare};
use serde::Serialize;

/// A full name has at most this many: some C++ symbols are novels.
const FULL_NAME_CHARS: usize = 4000;
/// Regions with a section of their own.
const DETAILS_MAX: usize = 40;
/// Parts of bars in all sections together, which keeps the page small with
/// hundreds of threads.
const PARTS_MAX: usize = 8000;
/// Threads in a drawing.
const THREADS_MAX: usize = 128;

/// A region in full.
#[derive(Debug, Serialize)]
pub(crate) struct Detail {
    id: String,
    name: String,
    line: String,
    full_name: String,
    sentences: Vec<String>,
    legend: Vec<LegendEntry>,
    threads: Option<Chart>,
    threads_caption: String,
    speedup: Option<Chart>,
    source: Option<Listing>,
    facts: Vec<Fact>,
}

/// Name of the element with the details of region `index`.
pub(crate) fn anchor(index: usize) -> String {
    format!("region-{index}")
}

/// Regions worth a section of their own: those that take the most time, as
/// many as the page has room for, but at least one.
pub(crate) fn chosen(analysis: &Analysis) -> Vec<usize> {
    let mut parts = 0;
    (0..analysis.regions.len())
        .filter(|index| analysis.regions[*index].kind != SiteKind::Serial)
        .take(DETAILS_MAX)
        .take_while(|index| {
            let fits = parts < PARTS_MAX;
            let region = &analysis.regions[*index];
            parts += region.threads.len().min(THREADS_MAX) * shown(&region.states).count();
            fits
        })
        .collect()
}

/// The sections.
pub(crate) fn all(
    input: &Input<'_>,
    analysis: &Analysis,
    outlook: &[Option<Outlook>],
) -> Vec<Detail> {
    let prediction = input.prediction;
    let mut listings = Listings::new(input, analysis);
    chosen(analysis)
        .into_iter()
        .map(|index| {
            let region = &analysis.regions[index];
            let predicted =
                prediction.and_then(|one| one.regions.iter().find(|known| known.key == region.key));
            Detail {
                speedup: predicted.and_then(curves::region),
                source: listings.of(region),
                ..detail(
                    analysis,
                    index,
                    region,
                    outlook.get(index).and_then(Option::as_ref),
                )
            }
        })
        .collect()
}

/// A sentence on what the sections leave out.
pub(crate) fn note(analysis: &Analysis) -> String {
    let all = analysis
        .regions
        .iter()
        .filter(|region| region.kind != SiteKind::Serial)
        .count();
    let here = chosen(analysis).len();
    if here < all {
        format!(
            "The {} with the most time, of {}; the exports have all.",
            units::plural(here as u64, "region"),
            units::count(all as u64)
        )
    } else {
        String::new()
    }
}

fn detail(analysis: &Analysis, index: usize, region: &Region, outlook: Option<&Outlook>) -> Detail {
    let mut sentences = Vec::new();
    if let Some(outlook) = outlook
        && !outlook.sentence.is_empty()
    {
        sentences.push(words::bound(&outlook.sentence));
    }
    sentences.extend(losses(region));
    match region.confidence {
        Confidence::Complete => {}
        Confidence::Merged => sentences.push(
            "Its executions are so short that some were recorded as sums: lengths of single executions are averages."
                .to_owned(),
        ),
        Confidence::Incomplete => sentences.push(
            "Records of some of its threads are missing: waits were completed from what there is."
                .to_owned(),
        ),
    }
    let full_name = words::shorten(&region.place.label, FULL_NAME_CHARS);
    let name = regions::name(region);
    Detail {
        id: anchor(index),
        line: format!(
            "{} in {}, {} of the time",
            units::duration(region.wall_ns as f64),
            units::plural(region.instances, "instance"),
            units::percent(region.share)
        ),
        full_name: if full_name == name {
            String::new()
        } else {
            full_name
        },
        name,
        sentences,
        legend: legend([&region.states]),
        threads: threads(analysis, region),
        threads_caption: threads_caption(region),
        speedup: None,
        source: None,
        facts: facts(region),
    }
}

/// The threads drawn: all, or some from the least to the most computing.
fn drawn(region: &Region) -> Vec<&ThreadShare> {
    let all = region.threads.len();
    if all <= THREADS_MAX {
        return region.threads.iter().collect();
    }
    let mut sorted: Vec<&ThreadShare> = region.threads.iter().collect();
    sorted.sort_by_key(|thread| thread.states.useful_ns());
    (0..THREADS_MAX)
        .map(|step| sorted[step * (all - 1) / (THREADS_MAX - 1)])
        .collect()
}

fn threads(analysis: &Analysis, region: &Region) -> Option<Chart> {
    let several = analysis.processes.len() > 1;
    let stacks: Vec<Stack> = drawn(region)
        .into_iter()
        .map(|thread| Stack {
            name: match thread.thread_num {
                _ if several => format!("{}:{}", thread.process, thread.thread),
                Some(number) => format!("thread {number}"),
                None => format!("thread {}", thread.thread),
            },
            segments: shown(&thread.states)
                .map(|(state, ns)| Segment {
                    class: state.name().to_owned(),
                    name: words::state(state).to_owned(),
                    ns: ns as f64,
                })
                .collect(),
        })
        .collect();
    (!stacks.is_empty()).then(|| {
        let label = format!("Time per thread and state in {}", regions::name(region));
        strips(label, &stacks)
    })
}

fn threads_caption(region: &Region) -> String {
    let all = region.threads.len();
    let some = if all > THREADS_MAX {
        format!(
            " {THREADS_MAX} of {} threads, from the least to the most computing.",
            units::count(all as u64)
        )
    } else {
        String::new()
    };
    format!("Time of each thread in this region by state, nested regions not included.{some}")
}

/// Where the region's processor time goes, if much of it is not computing.
fn losses(region: &Region) -> Option<String> {
    let total = region.states.total_ns().max(1) as f64;
    let mut parts: Vec<(State, f64)> = shown(&region.states)
        .filter(|(state, _)| *state != State::Compute)
        .map(|(state, ns)| (state, ns as f64 / total))
        .filter(|(_, share)| *share >= 0.01)
        .collect();
    parts.sort_by(|a, b| b.1.total_cmp(&a.1));
    let items: Vec<String> = parts
        .iter()
        .take(3)
        .map(|(state, share)| format!("{} to {}", units::percent(*share), words::loss(*state)))
        .collect();
    (!items.is_empty())
        .then(|| words::bound(&format!("Its threads lose time: {}.", words::list(&items))))
}

fn facts(region: &Region) -> Vec<Fact> {
    let mut facts = Vec::new();
    let team = if region.team_size_min == region.team_size_max {
        units::plural(region.team_size_max.into(), "thread")
    } else {
        format!(
            "{} to {} threads",
            region.team_size_min, region.team_size_max
        )
    };
    facts.push(Fact::new("Team", team));
    let length = &region.length;
    if length.count > 1 {
        let [least, median, most] =
            [length.min_ns, length.median_ns, length.max_ns].map(|ns| units::duration(ns as f64));
        let text = if least == most {
            most
        } else {
            format!("median {median}, from {least} to {most}")
        };
        facts.push(Fact::new("Length of an execution", text));
    }
    let efficiency = &region.efficiency;
    facts.push(Fact::new(
        "Parallel efficiency",
        format!(
            "{} = load balance {} × serialisation {} × transfer {}",
            units::percent(efficiency.parallel),
            units::percent(efficiency.load_balance),
            units::percent(efficiency.serialisation),
            units::percent(efficiency.transfer)
        ),
    ));
    facts.push(Fact::new(
        "Lost to imbalance",
        format!("{} a thread", units::duration(region.imbalance_ns as f64)),
    ));
    if region.level > 1 {
        facts.push(Fact::new(
            "Nesting level",
            format!("{} (and deeper)", region.level),
        ));
    }
    if region.encountering_threads > 1 {
        let at_once = if region.concurrent {
            ", at the same time"
        } else {
            ""
        };
        facts.push(Fact::new(
            "Encountered by",
            format!(
                "{}{at_once}",
                units::plural(region.encountering_threads.into(), "thread")
            ),
        ));
    }
    if region.iterations > 0 {
        facts.push(Fact::new(
            "Loop iterations",
            format!(
                "{} in {}",
                units::count(region.iterations),
                units::plural(region.chunks, "chunk")
            ),
        ));
    }
    if let Some(trips) = &region.trips {
        let mut text = units::count(trips.iterations);
        if trips.executions < region.instances {
            text.push_str(&format!(
                ", known of {} of {} executions",
                units::count(trips.executions),
                units::count(region.instances)
            ));
        }
        if trips.fewest < trips.most {
            text.push_str(&format!(
                "; {} to {} an execution",
                units::count(trips.fewest),
                units::count(trips.most)
            ));
        }
        let shares = trips.threads.iter().map(|one| one.iterations);
        if let (Some(fewest), Some(most)) = (shares.clone().min(), shares.max())
            && trips.threads.len() > 1
        {
            text.push_str(&format!(
                "; {} to {} a thread",
                units::count(fewest),
                units::count(most)
            ));
        }
        facts.push(Fact::new("Iterations divided by the code", text));
    }
    if region.tasks_created > 0 || region.tasks_run > 0 {
        facts.push(Fact::new(
            "Explicit tasks",
            format!(
                "{} created, {} run",
                units::count(region.tasks_created),
                units::count(region.tasks_run)
            ),
        ));
    }
    let waits: Vec<String> = region
        .wait_counts
        .iter()
        .filter(|(_, number)| **number > 0)
        .map(|(state, number)| format!("{} × {}", units::count(*number), words::state(*state)))
        .collect();
    if !waits.is_empty() {
        facts.push(Fact::new("Waits", waits.join(", ")));
    }
    facts
}
