//! Constructs of which a region has so many that they cost more than its work.

use crate::cause::{Basis, Cause, Kind};
use crate::region::Seen;
use crate::teams;
use crate::waited::{Waited, too_short};
use fathomp_analysis::{State, reductions};
use fathomp_types::text;
use fathomp_types::units::{count, duration, plural};

/// Constructs in an execution on each thread from which on they are many.
const MANY: f64 = 50.0;
/// Work between two constructs below so many times their price does not pay.
const PAYS: f64 = 4.0;
/// Work for each passage of a lock or critical section, in prices of passing it on
/// between threads, below which the section bounds the region.
const BOUND: f64 = 10.0;
/// Part of a region's time in waits for a section from which on the section bounds it.
const WAITED: f64 = 0.25;
/// Less work than this for each task is not told from the runtime's.
const LITTLE_NS: u64 = 10;
/// What creating and running a task takes at least.
const TASK_NS: f64 = 300.0;

/// What bounds a region so much that all else that threads lose in it follows from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Mutex,
    Chunks,
    Tasks,
}

/// What bounds the region, if a construct does.
pub(crate) fn bound(seen: &Seen<'_>) -> Option<Bound> {
    let region = seen.region;
    let team = f64::from(seen.team);
    let each = |number: u64| number as f64 / seen.executions() / team;
    let work_for = |number: u64| region.states.useful_ns() as f64 / (number as f64).max(1.0);
    let waited = seen.mean(State::Critical) + seen.mean(State::Lock);
    let passages = region.mutexes_taken;
    let often = each(passages) >= MANY
        && work_for(passages) < BOUND * seen.prices.lock_ns.max(30.0)
        && seen.team > 1;
    if often || waited >= WAITED * region.wall_ns as f64 {
        return Some(Bound::Mutex);
    }
    if each(region.chunks) >= MANY
        && work_for(region.chunks) < PAYS * seen.prices.dynamic_chunk_ns.max(20.0)
    {
        return Some(Bound::Chunks);
    }
    (each(region.tasks_run) >= MANY && work_for(region.tasks_run) < PAYS * TASK_NS)
        .then_some(Bound::Tasks)
}

/// What the region loses against its one-thread time divided evenly, if it was seen with
/// fewer threads; 0 else.
fn lost(seen: &Seen<'_>) -> f64 {
    seen.lost().unwrap_or(0.0)
}

pub(crate) fn find(seen: &Seen<'_>, causes: &mut Vec<Cause>) {
    let bound = bound(seen);
    mutex(seen, bound == Some(Bound::Mutex), causes);
    let ordered = seen.mean(State::Ordered) + Waited::of(seen).ordered;
    if ordered > 0.0 {
        let place = seen.place();
        causes.push(seen.cause(
            Kind::Ordered,
            Basis::Times,
            ordered,
            "its threads wait for their turn".to_owned(),
            format!(
                "Move work of {place} out of the ordered construct: what is ordered runs one thread at a time."
            ),
        ));
    }
    let crowded = seen.input.crowd().is_some();
    let alone = teams::is_inner(seen.region);
    if !alone && too_short(seen).is_none() && bound != Some(Bound::Mutex) && !crowded {
        runtime_work(seen, bound, causes);
    }
}

fn mutex(seen: &Seen<'_>, bounds: bool, causes: &mut Vec<Cause>) {
    let region = seen.region;
    let (critical, lock) = (seen.mean(State::Critical), seen.mean(State::Lock));
    let waited = critical + lock + Waited::of(seen).mutex;
    // A section that bounds the region also slows what is computed between.
    let cost = if bounds {
        let least = seen.each(region.mutexes_taken as f64 * seen.prices.lock_ns.min(20.0));
        lost(seen).max(least).max(waited)
    } else {
        waited
    };
    if cost <= 0.0 {
        return;
    }
    // Locks are counted with critical sections; only contended waits tell which.
    let kind = if lock > critical {
        Kind::Lock
    } else {
        Kind::Critical
    };
    let place = seen.place();
    if kind == Kind::Critical
        && let Some(names) = reduced(seen)
    {
        causes.push(reduction(seen, &names, cost, waited));
        return;
    }
    let named = names(seen, kind);
    let work = region.states.useful_ns() as f64 / (region.mutexes_taken as f64).max(1.0);
    let mut evidence = if region.mutexes_taken > 0 {
        format!(
            "{} passages{named}, with {} of work to each, inside and between",
            count(region.mutexes_taken),
            duration(work)
        )
    } else {
        format!("its threads wait for each other{named}")
    };
    if waited > 0.0 {
        evidence.push_str(&format!("; each thread waits {}", duration(waited)));
    }
    let (what, action) = match kind {
        Kind::Lock => (
            "locks",
            "one lock for each part of the data, or atomic updates",
        ),
        _ => (
            "the critical section",
            "a reduction clause, an atomic update, or a sum of each thread's own that is added up once",
        ),
    };
    causes.push(seen.cause(
        kind,
        if bounds { Basis::Counts } else { Basis::Times },
        cost,
        evidence,
        format!("Take {what} out of the inner loop of {place}: {action}."),
    ));
}

/// What a region's threads combine at the end of loops, if that is all that they take locks
/// for.
pub(crate) fn reduced(seen: &Seen<'_>) -> Option<Vec<String>> {
    let found = reductions(seen.region.lines.as_ref()?)?;
    let each = seen.region.mutexes_taken as f64 / seen.executions() / f64::from(seen.team);
    let once = each <= found.directives as f64 + 0.01;
    (once && !found.has_mutexes).then_some(found.names)
}

pub(crate) fn reduction(seen: &Seen<'_>, names: &[String], cost: f64, waited: f64) -> Cause {
    let names: Vec<_> = names.iter().map(|name| text::shorten(name, 40)).collect();
    let (what, place) = (text::list(&names), seen.place());
    let each = seen.executions() * f64::from(seen.team);
    let waits = match waited > 0.0 {
        true => format!("; each thread waits {} for that", duration(waited)),
        false => String::new(),
    };
    let mut cause = seen.cause(
        Kind::Reduction,
        Basis::Times,
        cost,
        format!(
            "the threads' copies of {what} are added up one thread after another, {} times{waits}",
            count(each.round() as u64)
        ),
        format!(
            "Reduce less in {place}: divide the loop so that each thread writes a part of {what} of its own, join loops that reduce the same, or let each thread add up a part of all copies."
        ),
    );
    cause.title = format!("reduction of {what}");
    cause
}

/// " of solver.c:88 and ...": the sections that threads waited for longest.
fn names(seen: &Seen<'_>, kind: Kind) -> String {
    let state = match kind {
        Kind::Lock => State::Lock,
        _ => State::Critical,
    };
    let waits = seen.input.main.waits.iter();
    let names: Vec<String> = waits
        .filter(|wait| wait.state == state && wait.key != seen.region.key && !wait.name.is_empty())
        .take(2)
        .map(|wait| fathomp_types::text::shorten(&wait.name, 40))
        .collect();
    match names.as_slice() {
        [] => String::new(),
        _ => format!(" of {}", fathomp_types::text::list(&names)),
    }
}

/// Chunks, tasks, forks.
fn runtime_work(seen: &Seen<'_>, bound: Option<Bound>, causes: &mut Vec<Cause>) {
    let region = seen.region;
    let overhead = seen.overhead();
    // What bounds a region costs more with more threads, also where it was not seen to cost yet.
    if overhead <= 0.0 && !matches!(bound, Some(Bound::Chunks | Bound::Tasks)) {
        return;
    }
    let place = seen.place();
    let work_for = |number: u64| {
        let work = region.states.useful_ns() as f64 / (number as f64).max(1.0);
        duration(work)
    };
    let cause = match bound {
        Some(Bound::Chunks) => {
            let each = region.iterations.checked_div(region.chunks).unwrap_or(0).max(1);
            seen.cause(
                Kind::SmallChunks,
                Basis::Counts,
                overhead.max(lost(seen).min(region.wall_ns as f64)),
                format!(
                    "{} of {}, with {} of work each; handing one out takes {}",
                    plural(region.chunks, "chunk"),
                    plural(each, "iteration"),
                    work_for(region.chunks),
                    duration(seen.prices.dynamic_chunk_ns)
                ),
                format!("Let the loop of {place} hand out larger chunks, or make its schedule static."),
            )
        }
        Some(Bound::Tasks) => seen.cause(
            Kind::SmallTasks,
            Basis::Counts,
            overhead,
            match region.states.useful_ns() / region.tasks_run.max(1) < LITTLE_NS {
                true => format!(
                    "{} with less than {} of work each",
                    plural(region.tasks_run, "task"),
                    duration(LITTLE_NS as f64)
                ),
                false => format!(
                    "{} with {} of work each",
                    plural(region.tasks_run, "task"),
                    work_for(region.tasks_run)
                ),
            },
            format!("Let the tasks of {place} do more each: below a size that pays call a serial function, since tasks that run at once (if, final) still cost, or use taskloop with a grainsize."),
        ),
        _ => seen.cause(
            Kind::Overhead,
            Basis::Counts,
            overhead,
            format!(
                "the runtime works {} in {}",
                duration(overhead),
                plural(region.instances, "execution")
            ),
            format!("Ask the runtime for less in {place}: larger chunks, larger tasks, fewer constructs."),
        ),
    };
    // One cause for all that constructs cost a region.
    let known = causes
        .iter_mut()
        .find(|one| one.kind == cause.kind && one.region == cause.region);
    match known {
        Some(known) => known.absorb(&cause),
        None => causes.push(cause),
    }
}
