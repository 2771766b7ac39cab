//! What the scaling model says that each cause will cost, and the order of all.

use crate::between::Between;
use crate::cause::{Basis, Cause, Cost, Diagnosis, Kind};
use crate::constructs;
use crate::floats;
use crate::growth;
use crate::input::Input;
use crate::library;
use crate::pace::Slower;
use crate::region::Seen;
use crate::waiting;
use fathomp_analysis::SiteKind;
use fathomp_predict::{Point, Prediction, RegionPrediction, Term};
use std::collections::BTreeMap;

/// What the model predicts but nothing measured shows must cost this much to be a cause.
const PREDICTED: f64 = 0.05;
/// and so much if other programs took this part of the processors.
const DISTURBED: f64 = 0.15;
/// Computing that takes longer with more threads must be this part of its region's time: what two
/// runs on a quiet machine differ by makes less of it with four times as many.
const GROWTH: f64 = 0.2;

/// Kinds that stand for a term, in the order in which they take what is left of it if
/// none was measured.
fn kinds(term: Term) -> &'static [Kind] {
    match term {
        Term::Work => &[],
        Term::Serial => &[Kind::SerialPart, Kind::Mpi],
        Term::SerialInRegion | Term::Imbalance => &[
            Kind::ShortRegions,
            Kind::ShortLoops,
            Kind::Critical,
            Kind::Reduction,
            Kind::Lock,
            Kind::SmallChunks,
            Kind::SmallTasks,
            Kind::DependentTasks,
            Kind::SerialInRegion,
            Kind::UnequalWork,
            Kind::UnequalIterations,
            Kind::UnequalFaults,
            Kind::Overhead,
        ],
        Term::Mutex => &[Kind::Critical, Kind::Reduction, Kind::Lock],
        Term::Ordered => &[Kind::Ordered],
        Term::Overhead => &[
            Kind::ShortRegions,
            Kind::ShortLoops,
            Kind::Critical,
            Kind::Reduction,
            Kind::Lock,
            Kind::SmallChunks,
            Kind::SmallTasks,
            Kind::DependentTasks,
            Kind::Overhead,
        ],
        Term::Saturation => &[
            Kind::ShortRegions,
            Kind::ShortLoops,
            Kind::SmallChunks,
            Kind::SmallTasks,
            Kind::Critical,
            Kind::Reduction,
            Kind::Lock,
            Kind::FalseSharing,
            Kind::TrueSharing,
            Kind::SharedLines,
            Kind::SharedLinesOrBandwidth,
            Kind::Bandwidth,
            Kind::Library,
            Kind::Unexplained,
            Kind::PageFaults,
            Kind::SlowerProcessors,
        ],
        Term::Io => &[Kind::Io],
        Term::Communication => &[Kind::Communication, Kind::NodeAtomics, Kind::Mpi],
        Term::Oversubscription => &[Kind::Oversubscription],
        Term::Pieces => &[Kind::FewPieces],
        Term::Blocked => &[Kind::Blocked],
    }
}

/// What a construct that bounds a region takes of terms before other causes do.
fn bounds(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ShortRegions | Kind::ShortLoops | Kind::SmallChunks | Kind::SmallTasks
    )
}

/// What a term that nothing measured shows must cost: more where other programs had a
/// part in the times.
fn least(input: &Input<'_>) -> f64 {
    match input.analyses.iter().any(|one| one.program.disturbed()) {
        true => DISTURBED,
        false => PREDICTED,
    }
}

/// Adds predicted costs, and sorts.
pub(crate) fn rank(
    input: &Input<'_>,
    between: Option<&Between>,
    mut causes: Vec<Cause>,
) -> Diagnosis {
    if let Some(prediction) = input.prediction {
        predict(input, prediction, &mut causes);
        if let (Some(between), Some(last)) = (between, prediction.points.last()) {
            between.move_predicted(input, last, &mut causes);
        }
    }
    causes.retain(|cause| {
        let predicted = cause.predicted.is_some_and(|cost| cost.ns > 0.0);
        cause.measured.ns > 0.0 || predicted || cause.kind == Kind::FixedTeam
    });
    let score = |cause: &Cause| {
        cause.predicted.map_or(cause.measured.share, |cost| {
            // What was not seen yet weighs less than what was.
            cause.measured.share.max(0.8 * cost.share)
        })
    };
    // What several regions suffer from has one mend.
    let mut of_kind: BTreeMap<Kind, f64> = BTreeMap::new();
    for cause in &causes {
        *of_kind.entry(cause.kind).or_default() += score(cause);
    }
    causes.sort_by(|a, b| {
        (a.kind.is_circumstance().cmp(&b.kind.is_circumstance()))
            .then(of_kind[&b.kind].total_cmp(&of_kind[&a.kind]))
            .then(a.kind.cmp(&b.kind))
            .then(score(b).total_cmp(&score(a)))
            .then(a.region.cmp(&b.region))
    });
    Diagnosis { causes }
}

fn predict(input: &Input<'_>, prediction: &Prediction, causes: &mut Vec<Cause>) {
    let Some(last) = prediction.points.last() else {
        return;
    };
    for cause in causes.iter_mut() {
        cause.predicted = Some(Cost::new(last.threads, 0.0, last.time_ns));
    }
    for region in &prediction.regions {
        if let Some(point) = region.points.last() {
            divide(input, last, point, Some(region), causes);
        }
    }
    if let Some(point) = prediction.serial.points.last() {
        divide(input, last, point, None, causes);
    }
    shared_by_all(prediction, last, causes);
    fixed_teams(prediction, last, causes);
    inside_others(prediction, last, causes);
}

/// Divides each term of a region (or the serial part) among the causes it stands for.
fn divide(
    input: &Input<'_>,
    last: &Point,
    point: &Point,
    region: Option<&RegionPrediction>,
    causes: &mut Vec<Cause>,
) {
    let key = region.map(|one| one.key.as_str());
    for term in &point.terms {
        let stand_for = kinds(term.term);
        if stand_for.is_empty() || term.term == Term::Oversubscription {
            continue;
        }
        let mut meant: Vec<usize> = (0..causes.len())
            .filter(|&index| {
                let cause = &causes[index];
                cause.region.as_deref() == key
                    && stand_for.contains(&cause.kind)
                    && explains(cause, term.time_ns)
            })
            .collect();
        if let Some(&first) = meant.iter().find(|&&index| bounds(causes[index].kind)) {
            meant = vec![first];
        }
        let measured: f64 = meant.iter().map(|&index| causes[index].measured.ns).sum();
        if meant.is_empty() {
            let grows = term.term != Term::Saturation || term.time_ns >= GROWTH * point.time_ns;
            let unseen = (grows && term.time_ns >= least(input) * last.time_ns)
                .then(|| predicted_only(input, term.term, region, last.threads))
                .flatten();
            if let Some(mut cause) = unseen {
                cause.predicted = Some(Cost::new(last.threads, term.time_ns, last.time_ns));
                cause.region_share = (term.time_ns / point.time_ns.max(1.0)).clamp(0.0, 1.0);
                causes.push(cause);
            }
            continue;
        }
        let number = meant.len() as f64;
        for index in meant {
            let part = match measured > 0.0 {
                true => causes[index].measured.ns / measured,
                false => 1.0 / number,
            };
            let ns = (part * term.time_ns).min(most(&causes[index], last.threads));
            add(&mut causes[index], last, ns);
            let of_region = ns / point.time_ns.max(1.0);
            let share = &mut causes[index].region_share;
            *share = share.max(of_region.clamp(0.0, 1.0));
        }
    }
}

/// Whether a cause can stand for a term that takes so long. Page faults take longer when several
/// threads have them at once, but no more than twice as long as all that was measured of them.
fn explains(cause: &Cause, ns: f64) -> bool {
    cause.kind != Kind::PageFaults || 2.0 * cause.measured.ns >= ns
}

/// What a cause takes of one more term at most. The runtime's own work costs each thread more
/// about as much again: what is beyond that is a remainder of two runs' times that no recording
/// explains, or what its first execution took once.
fn most(cause: &Cause, threads: u32) -> f64 {
    match cause.kind {
        Kind::Overhead => {
            let more = f64::from(threads) / f64::from(cause.measured.threads.max(1));
            let taken = cause.predicted.map_or(0.0, |cost| cost.ns);
            (cause.measured.ns * more.max(1.0) - taken).max(0.0)
        }
        _ => f64::INFINITY,
    }
}

fn add(cause: &mut Cause, last: &Point, ns: f64) {
    let before = cause.predicted.map_or(0.0, |cost| cost.ns);
    cause.predicted = Some(Cost::new(last.threads, before + ns, last.time_ns));
}

/// Threads share processors in all regions.
fn shared_by_all(prediction: &Prediction, last: &Point, causes: &mut [Cause]) {
    let crowded = prediction.crowd.is_some();
    for cause in causes {
        if matches!(cause.kind, Kind::Oversubscription | Kind::Quota) {
            // Nothing changes with more threads, so it costs what it costs now.
            let stays = crowded || cause.kind == Kind::Quota;
            let share = if stays { cause.measured.share } else { 0.0 };
            cause.predicted = Some(Cost::new(last.threads, share * last.time_ns, last.time_ns));
        }
    }
}

/// Regions inside others are part of these to the model: what they cost divides among more threads
/// as the work around them does.
fn inside_others(prediction: &Prediction, last: &Point, causes: &mut [Cause]) {
    let known = |key: &str| prediction.regions.iter().any(|one| one.key == key);
    for cause in causes {
        if cause.region.as_deref().is_some_and(|key| !known(key)) {
            let divided = f64::from(cause.measured.threads) / f64::from(last.threads.max(1));
            let ns = cause.measured.ns * divided.min(1.0);
            cause.predicted = Some(Cost::new(last.threads, ns, last.time_ns));
        }
    }
}

/// A team that does not grow leaves the other threads idle.
fn fixed_teams(prediction: &Prediction, last: &Point, causes: &mut [Cause]) {
    for cause in causes {
        if cause.kind != Kind::FixedTeam {
            continue;
        }
        let region = prediction
            .regions
            .iter()
            .find(|one| cause.region.as_deref() == Some(&one.key));
        let time = region
            .and_then(|one| one.points.last())
            .map_or(0.0, |point| point.time_ns);
        let size: f64 = cause
            .title
            .rsplit(' ')
            .next()
            .and_then(|size| size.parse().ok())
            .unwrap_or(1.0);
        let idle = (1.0 - size / f64::from(last.threads.max(1))).max(0.0);
        cause.predicted = Some(Cost::new(last.threads, idle * time, last.time_ns));
        cause.region_share = idle.clamp(0.0, 1.0);
    }
}

/// A cause that only the model knows of.
fn predicted_only(
    input: &Input<'_>,
    term: Term,
    region: Option<&RegionPrediction>,
    threads: u32,
) -> Option<Cause> {
    let predicted = region?;
    let known = input.main.region(&predicted.key)?;
    if known.kind == SiteKind::Serial {
        return None;
    }
    let seen = Seen::new(input, known);
    let place = seen.place();
    let slower = Slower::of(&seen);
    let (kind, evidence, action) = match term {
        Term::Pieces => {
            let pieces = waiting::pieces_of(&seen)?;
            (
                Kind::FewPieces,
                format!("its work comes in {}", pieces.words),
                format!("Divide the work of {place} into more pieces."),
            )
        }
        Term::Overhead => (
            Kind::Overhead,
            format!("by the machine's prices of its constructs with {threads} threads"),
            format!(
                "Ask the runtime for less in {place}: larger chunks, larger tasks, fewer constructs."
            ),
        ),
        // They are a cause already.
        Term::Saturation if floats::explain(&seen) || growth::is_of_inner_regions(&seen) => {
            return None;
        }
        Term::Saturation if slower.notable() => return Some(slower.cause(&seen, 0.0)),
        Term::Saturation if library::own(&seen).is_some() => {
            if let Some(cause) = growth::predicted_in_library(&seen) {
                return Some(cause);
            }
            memory_or_lines(&seen)
        }
        Term::Saturation => memory_or_lines(&seen),
        Term::Mutex => match constructs::reduced(&seen) {
            Some(names) => return Some(constructs::reduction(&seen, &names, 0.0, 0.0)),
            None => (
                Kind::Critical,
                "threads that wait for it little so far will stand in line".to_owned(),
                format!("Take critical sections and locks out of the inner loops of {place}."),
            ),
        },
        // The rest is not predicted unless something of it was measured.
        _ => return None,
    };
    Some(seen.cause(kind, Basis::Times, 0.0, evidence, action))
}

/// What computing that took longer with more threads may be due to.
fn memory_or_lines(seen: &Seen<'_>) -> (Kind, String, String) {
    let place = seen.place();
    // A line that explains it would have been a cause of its own.
    match seen.input.sharing {
        Some(_) => (
            Kind::Bandwidth,
            "computing took longer in all with more threads, and no cache line that they share explains it"
                .to_owned(),
            format!("Move less memory in {place} (blocking, fusing loops, first touch)."),
        ),
        None => (
            Kind::SharedLinesOrBandwidth,
            "computing took longer in all with more threads".to_owned(),
            format!(
                "Move less memory in {place}, and look for shared cache lines{}.",
                if seen.can_look() { " with `fathomp sharing`" } else { "" }
            ),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cause(kind: Kind, ns: f64) -> Cause {
        Cause {
            kind,
            title: kind.title().to_owned(),
            region: None,
            place: String::new(),
            evidence: String::new(),
            basis: Basis::Counts,
            measured: Cost::new(2, ns, 1e6),
            predicted: None,
            region_share: 0.0,
            action: String::new(),
        }
    }

    #[test]
    fn the_runtimes_work_takes_no_remainder_that_it_cannot_explain() {
        let mut little = cause(Kind::Overhead, 1000.0);
        assert_eq!(most(&little, 16), 8000.0);
        assert_eq!(most(&little, 1), 1000.0);
        // All terms together.
        little.predicted = Some(Cost::new(16, 7000.0, 1e6));
        assert_eq!(most(&little, 16), 1000.0);
        let uneven = cause(Kind::UnequalWork, 1000.0);
        assert_eq!(most(&uneven, 16), f64::INFINITY);
    }
}
