//! What to do about the largest losses.

use super::summary::{NAME_CHARS, WORTH_SAYING};
use super::{regions, words};
use crate::units;
use fathomp_analyse::{Analysis, LoopKind, Region, SiteKind, State};
use fathomp_predict::{Prediction, Term};

/// Pieces of advice.
const ADVICE_MAX: usize = 3;
/// Regions named in one piece.
const REGIONS_MAX: usize = 3;
/// An execution shorter than this is short compared with forking a team.
const SHORT_NS: u64 = 50_000;

/// A loss and what is known about where it happens.
struct Loss<'a> {
    share: f64,
    term: Term,
    name: String,
    region: Option<&'a Region>,
    /// Its loops already hand out chunks on request.
    on_request: bool,
}

impl Loss<'_> {
    fn short(&self) -> bool {
        self.region
            .is_some_and(|region| (1..SHORT_NS).contains(&region.length.median_ns))
    }

    /// The same advice helps against both.
    fn like(&self, other: &Self) -> bool {
        self.term == other.term
            && match self.term {
                Term::Overhead => self.short() == other.short(),
                Term::Imbalance => self.on_request == other.on_request,
                _ => true,
            }
    }
}

/// Advice against the largest losses, predicted ones if there is a prediction.
pub(crate) fn sentences(
    analysis: Option<&Analysis>,
    prediction: Option<&Prediction>,
) -> Vec<String> {
    let (mut losses, cost) = match (prediction, analysis) {
        (Some(prediction), _) => {
            let threads = prediction.points.last().map_or(1, |point| point.threads);
            let threads = units::plural(threads.into(), "thread");
            (
                predicted(prediction, analysis),
                format!("Predicted cost with {threads}: {{}} of the time."),
            )
        }
        (None, Some(analysis)) => (
            measured(analysis),
            "This is {} of the threads' time.".to_owned(),
        ),
        (None, None) => return Vec::new(),
    };
    losses.retain(|loss| loss.share >= WORTH_SAYING);
    losses.sort_by(|a, b| b.share.total_cmp(&a.share));
    let mut groups: Vec<Vec<Loss<'_>>> = Vec::new();
    for loss in losses {
        match groups.iter_mut().find(|group| group[0].like(&loss)) {
            Some(group) => group.push(loss),
            None => groups.push(vec![loss]),
        }
    }
    groups
        .iter()
        .take(ADVICE_MAX)
        .map(|group| {
            let share: f64 = group.iter().map(|loss| loss.share).sum();
            let cost = cost.replace("{}", &units::percent(share));
            format!("{} {cost}", against(group))
        })
        .collect()
}

fn predicted<'a>(prediction: &Prediction, analysis: Option<&'a Analysis>) -> Vec<Loss<'a>> {
    let whole_ns = prediction
        .points
        .last()
        .map_or(1.0, |point| point.time_ns.max(1.0));
    let mut losses: Vec<Loss<'_>> = prediction
        .regions
        .iter()
        .filter_map(|region| {
            let worst = region
                .points
                .last()?
                .terms
                .iter()
                .filter(|one| one.term != Term::Work)
                .max_by(|a, b| a.time_ns.total_cmp(&b.time_ns))?;
            Some(Loss {
                share: worst.time_ns / whole_ns,
                term: worst.term,
                name: words::shorten(&region.name, NAME_CHARS),
                region: analysis
                    .and_then(|all| all.regions.iter().find(|known| known.key == region.key)),
                on_request: analysis.is_some_and(|all| on_request(all, &region.key)),
            })
        })
        .collect();
    losses.extend(prediction.serial.points.last().map(|point| Loss {
        share: point.time_ns / whole_ns,
        term: Term::Serial,
        name: String::new(),
        region: None,
        on_request: false,
    }));
    losses
}

fn measured(analysis: &Analysis) -> Vec<Loss<'_>> {
    let total = analysis.states.total_ns().max(1) as f64;
    let mut losses = Vec::new();
    for region in &analysis.regions {
        let serial = region.kind == SiteKind::Serial;
        for (state, ns) in region.states.iter() {
            let term = match state {
                State::Idle if serial => Term::Serial,
                _ if serial => continue,
                State::Compute | State::Idle => continue,
                State::ImplicitBarrier | State::ExplicitBarrier | State::TaskWait => {
                    Term::Imbalance
                }
                State::Critical | State::Lock => Term::Mutex,
                State::Ordered => Term::Ordered,
                State::Overhead => Term::Overhead,
                State::Io => Term::Io,
                State::Communication => Term::Communication,
            };
            losses.push(Loss {
                share: ns as f64 / total,
                term,
                name: words::shorten(&regions::name(region), NAME_CHARS),
                region: Some(region),
                on_request: on_request(analysis, &region.key),
            });
        }
    }
    losses
}

fn on_request(analysis: &Analysis, key: &str) -> bool {
    analysis.loops.iter().any(|one| {
        matches!(one.kind, LoopKind::Dynamic | LoopKind::Guided)
            && one.regions.iter().any(|region| region == key)
    })
}

/// `region a`, `regions a, b and c`, `regions a, b and 4 others`.
fn places(group: &[Loss<'_>]) -> String {
    let mut names: Vec<String> = Vec::new();
    for loss in group {
        if !names.contains(&loss.name) {
            names.push(loss.name.clone());
        }
    }
    let noun = if names.len() == 1 {
        "region"
    } else {
        "regions"
    };
    if names.len() > REGIONS_MAX {
        let others = names.len() - (REGIONS_MAX - 1);
        names.truncate(REGIONS_MAX - 1);
        names.push(format!("{others} others"));
    }
    format!("{noun} {}", words::list(&names))
}

/// What helps against losses of one kind.
fn against(group: &[Loss<'_>]) -> String {
    let place = places(group);
    let loss = &group[0];
    match loss.term {
        Term::Work => String::new(),
        Term::Serial => {
            "Put more of the serial part into parallel regions: it does not get faster with more threads."
                .to_owned()
        }
        Term::SerialInRegion => format!(
            "Shorten what a single thread does inside {place} (single, master, long tasks), or let the others go on with nowait."
        ),
        Term::Imbalance if loss.on_request => format!(
            "Divide the work of {place} into smaller pieces: chunks are handed out on request already, and still threads wait for the last."
        ),
        Term::Imbalance => format!(
            "Divide the work of {place} more evenly: schedule(dynamic) or schedule(guided), smaller chunks, or collapse of nested loops."
        ),
        Term::Mutex => format!(
            "Take critical sections and locks out of the inner loops of {place}: a reduction, atomic updates, or one lock for each part of the data."
        ),
        Term::Ordered => format!(
            "Move work of {place} out of the ordered construct: what is ordered runs one thread at a time."
        ),
        Term::Overhead if loss.short() => format!(
            "Let {place} do more at a time: an execution lasts {}. Join it with its neighbours, parallelise an outer loop, or use fewer threads for it.",
            units::duration(loss.region.map_or(0, |region| region.length.median_ns) as f64)
        ),
        Term::Overhead => format!(
            "Ask the runtime for less in {place}: larger chunks, larger tasks, fewer constructs."
        ),
        Term::Saturation => format!(
            "Move less memory in {place} (blocking, fusing loops, first touch by the thread that computes): threads slow each other down, and more of them will not help."
        ),
        Term::Io => format!("Move reading and writing of files out of {place}."),
        Term::Communication => {
            format!("Touch fewer pages that other nodes write in {place}.")
        }
        Term::Oversubscription => "Use no more threads than there are processors.".to_owned(),
    }
}
