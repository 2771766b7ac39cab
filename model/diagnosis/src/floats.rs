//! Threads of a team that compute with different floating-point environments: where some flush
//! denormal numbers to zero and others do not, the same work takes them different times.

use crate::cause::{Basis, Cause, Kind};
use crate::region::Seen;
use fathomp_analysis::{State, ThreadShare};
use fathomp_types::text::list;
use fathomp_types::units::ratio;

/// Bits of [`ThreadShare::floats`] that make denormal numbers cheap.
const CHEAP: u8 = 3;
/// Threads that compute so many times as long for the same work are slower for it.
const SLOWER: f64 = 1.15;

/// What this costs takes the place of other explanations of times that differ from thread to
/// thread, or that grow with the threads.
pub(crate) fn find(seen: &Seen<'_>, causes: &mut Vec<Cause>) {
    let Some(cause) = unlike(seen) else { return };
    causes.retain(|one| {
        let explained = matches!(
            one.kind,
            Kind::UnequalWork
                | Kind::SerialInRegion
                | Kind::Bandwidth
                | Kind::SharedLines
                | Kind::SharedLinesOrBandwidth
                | Kind::SlowerProcessors
                | Kind::Unexplained
        );
        !(explained && one.region == cause.region)
    });
    causes.push(cause);
}

/// Whether threads of a region take different times for the same work by that.
pub(crate) fn explain(seen: &Seen<'_>) -> bool {
    unlike(seen).is_some()
}

fn unlike(seen: &Seen<'_>) -> Option<Cause> {
    let region = seen.region;
    let (flushing, others): (Vec<&ThreadShare>, Vec<&ThreadShare>) = region
        .threads
        .iter()
        .filter(|thread| thread.thread_num.is_some())
        .partition(|thread| thread.floats & CHEAP != 0);
    // Per iteration where these are known of all, else per execution.
    let counted = region.threads.iter().all(|thread| {
        region
            .iterations_of(thread)
            .is_some_and(|number| number > 0)
    });
    let time = |threads: &[&ThreadShare]| -> f64 {
        let times = threads.iter().map(|one| one.states[State::Compute]);
        times.map(|time| time as f64).sum()
    };
    let cost = |threads: &[&ThreadShare]| {
        let work = threads
            .iter()
            .map(|one| match region.iterations_of(one) {
                Some(iterations) if counted => iterations as f64,
                _ => one.instances as f64,
            })
            .sum::<f64>();
        (work > 0.0).then(|| time(threads) / work)
    };
    let slower = cost(&others)? / cost(&flushing)?.max(1e-9);
    if slower < SLOWER {
        return None;
    }
    // The region would take as long as the threads that flush.
    let ns = time(&others) / others.len().max(1) as f64 * (1.0 - 1.0 / slower);
    let place = seen.place();
    let mut cause = seen.cause(
        Kind::UnequalWork,
        Basis::Times,
        ns,
        format!(
            "{} {} {} times as long for the same {}: flush-to-zero is set in {} only",
            names(&others),
            if others.len() == 1 { "takes" } else { "take" },
            ratio(slower),
            if counted { "iterations" } else { "work" },
            names(&flushing)
        ),
        format!(
            "Set flush-to-zero in each thread of {place} (_MM_SET_FLUSH_ZERO_MODE inside a parallel region), or before the first region: threads inherit it when they are created."
        ),
    );
    "different floating-point environments".clone_into(&mut cause.title);
    Some(cause)
}

/// "thread 1", "threads 0 and 2", "4 threads".
fn names(threads: &[&ThreadShare]) -> String {
    let mut numbers: Vec<u32> = threads.iter().filter_map(|one| one.thread_num).collect();
    numbers.sort_unstable();
    numbers.dedup();
    let texts: Vec<String> = numbers.iter().map(u32::to_string).collect();
    match texts.as_slice() {
        [one] => format!("thread {one}"),
        [_, _] | [_, _, _] => format!("threads {}", list(&texts)),
        more => format!("{} threads", more.len()),
    }
}
