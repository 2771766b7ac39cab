//! Teams whose size does not follow what the program is given, and who decided that: clauses,
//! routines, limits, or regions inside others.

use crate::cause::{Basis, Cause, Kind};
use crate::region::Seen;
use fathomp_analysis::{Decided, Decider, Region, State};
use fathomp_types::text::list;
use fathomp_types::units::{count, duration, plural};

/// Part of a region's executions on whose team's size somebody decided, to be named for it.
const DECIDED_SHARE_MIN: f64 = 0.95;

/// Libraries whose own settings decide on the threads of their regions: part of their file's
/// path, and the setting.
const SETTINGS: [(&str, &str); 7] = [
    ("numba", "NUMBA_NUM_THREADS or numba.set_num_threads"),
    ("openblas", "OPENBLAS_NUM_THREADS"),
    ("mkl", "MKL_NUM_THREADS"),
    ("blis", "BLIS_NUM_THREADS"),
    ("torch", "torch.set_num_threads"),
    ("xgboost", "its parameter nthread"),
    ("lightgbm", "its parameter num_threads"),
];

pub(crate) fn find(seen: &Seen<'_>, causes: &mut Vec<Cause>) {
    if is_inner(seen.region) {
        causes.push(inner(seen));
        return;
    }
    match false_clause(seen.region) {
        Some(decided) => causes.extend(if_clause(seen, decided)),
        None => causes.extend(fixed(seen)),
    }
}

/// Executions that a clause left to one thread.
pub(crate) fn false_clause(region: &Region) -> Option<(Decider, Decided)> {
    [Decider::If, Decider::One]
        .into_iter()
        .find_map(|decider| Some((decider, *region.deciders.get(&decider)?)))
        .filter(|(_, decided)| decided.executions > 0)
}

/// Whether it lies in another region and always runs on one thread for that.
pub(crate) fn is_inner(region: &Region) -> bool {
    let levels = region.deciders.get(&Decider::Levels);
    region.level > 1
        && levels.is_some_and(|decided| {
            decided.executions as f64 >= DECIDED_SHARE_MIN * region.instances as f64
        })
}

/// Between these lies what it takes to begin and to end a region of one thread; the least where
/// the machine's price is not known.
const ALONE_NS: [f64; 2] = [100.0, 400.0];

/// A region that lies in another and never has a team. What is recorded of it shows what it takes
/// to begin it, and not to end it, and what the code around it would be without it.
fn inner(seen: &Seen<'_>) -> Cause {
    let region = seen.region;
    let begun = region.states[State::Overhead] as f64;
    let price = seen.input.machine.and_then(|machine| machine.costs_at(1));
    let price = price.map_or(ALONE_NS[0], |costs| costs.fork_join_ns);
    let least = price.clamp(ALONE_NS[0], ALONE_NS[1]) * region.instances as f64;
    let place = seen.place();
    let mut cause = seen.cause(
        Kind::Overhead,
        Basis::Counts,
        begun.max(least).min(region.states.total_ns() as f64),
        format!(
            "this inner region always runs on one thread: {}, with {} of work each, and at least {} to begin and end it",
            plural(region.instances, "execution"),
            duration(region.states.useful_ns() as f64 / seen.executions()),
            duration(begun.max(least) / seen.executions())
        ),
        format!(
            "Remove the directive of the inner {place}, or let it have teams (OMP_MAX_ACTIVE_LEVELS) where the outer region leaves threads idle."
        ),
    );
    "inner region always on one thread".clone_into(&mut cause.title);
    cause
}

/// Regions for which an `if` clause is false.
fn if_clause(seen: &Seen<'_>, (decider, decided): (Decider, Decided)) -> Option<Cause> {
    let region = seen.region;
    let threads = seen.input.main.threads.max(1);
    let times = decided.executions as f64;
    let time = decided.wall_ns as f64;
    // Where a team costs more than it gains, the clause is right.
    let gain = time * (1.0 - 1.0 / f64::from(threads)) - times * seen.prices.fork_join_ns;
    let pays = time / times > 4.0 * seen.prices.fork_join_ns;
    if !pays || region.level > 1 {
        return None;
    }
    let clause = match decider {
        Decider::If => "the if clause is false",
        _ => "the if clause is false, or num_threads asks for 1 thread,",
    };
    let place = seen.place();
    let mut cause = seen.cause(
        Kind::FixedTeam,
        Basis::Counts,
        gain.max(0.0),
        format!(
            "{clause} in {} of {}, which take {} each on one thread; a team takes {} to fork and join",
            count(decided.executions),
            plural(region.instances.max(decided.executions), "execution"),
            duration(time / times),
            duration(seen.prices.fork_join_ns)
        ),
        format!(
            "Let the if clause of {place} be true for work of {}: it pays from about {} an execution.",
            duration(time / times),
            duration(4.0 * seen.prices.fork_join_ns)
        ),
    );
    cause.title = match decider {
        Decider::If => "if clause is false".to_owned(),
        _ => "team is always 1".to_owned(),
    };
    Some(cause)
}

/// A team that has a size of its own.
fn fixed(seen: &Seen<'_>) -> Option<Cause> {
    let region = seen.region;
    let size = region.team_size_max;
    let mut given = Vec::new();
    for one in seen.input.analyses {
        let Some(asked) = one.program.threads_asked else {
            continue;
        };
        if let Some(there) = one.region(&region.key) {
            // Nested regions go by other rules.
            if there.level > 1 || there.team_size_min != size || there.team_size_max != size {
                return None;
            }
            given.push(asked);
        }
    }
    given.sort_unstable();
    given.dedup();
    let others: Vec<u32> = given
        .iter()
        .copied()
        .filter(|asked| *asked != size)
        .collect();
    if others.is_empty() || seen.input.main.program.nodes > 1 {
        return None;
    }
    let smaller = others.iter().all(|asked| *asked > size);
    let (because, action) = decided(seen, smaller)?;
    let list_of: Vec<String> = given.iter().map(u32::to_string).collect();
    let mut cause = seen.cause(
        Kind::FixedTeam,
        Basis::Counts,
        0.0,
        format!(
            "its team is always {size} when the program is given {}{because}",
            list(&list_of)
        ),
        action,
    );
    cause.title = format!("team is always {size}");
    Some(cause)
}

/// Who decided on a team that has a size of its own, and what to do; nothing if that is no fault of
/// the program.
fn decided(seen: &Seen<'_>, smaller: bool) -> Option<(String, String)> {
    let main = &seen.input.main.program;
    let (region, place) = (seen.region, seen.place());
    let follow = format!("to let {place} follow the threads that the program is given");
    let most = region.deciders.iter().max_by_key(|(_, one)| one.executions);
    let decider = most.map_or(Decider::Untold, |(decider, _)| *decider);
    let set = |name: &str| {
        let value = main.environment.get(name)?;
        Some(format!("{name}={value}"))
    };
    // Limits also bound what the program is given to begin with.
    let limit = ["OMP_THREAD_LIMIT", "OMP_DYNAMIC"]
        .into_iter()
        .find_map(set)
        .filter(|_| smaller);
    Some(match decider {
        Decider::Advice | Decider::Levels | Decider::If | Decider::One => return None,
        Decider::Clause => match own_setting(region) {
            Some((library, setting)) => (
                format!(": a num_threads clause in {library} says so"),
                format!("Set {setting} {follow}: {library} has a setting of its own."),
            ),
            None => (
                ": its num_threads clause says so".to_owned(),
                format!("Drop the num_threads clause of {place} {follow}."),
            ),
        },
        Decider::Routine => {
            let at = match main.sets_threads_at.as_slice() {
                [] => String::new(),
                some => format!(" at {}", list(some)),
            };
            (
                format!(": omp_set_num_threads{at} says so"),
                format!("Drop the call of omp_set_num_threads{at} {follow}."),
            )
        }
        Decider::Limit => {
            let why = set("OMP_THREAD_LIMIT").or_else(|| set("KMP_DEVICE_THREAD_LIMIT"));
            let why = why.unwrap_or_else(|| {
                // The program was not given one.
                "an OMP_THREAD_LIMIT that the program sets itself, or a thread_limit clause".to_owned()
            });
            (
                format!(": the limit of threads ({why}) allows no more"),
                format!("Remove {why} {follow}."),
            )
        }
        Decider::Dynamic => {
            let why = set("OMP_DYNAMIC").unwrap_or_else(|| "omp_set_dynamic(1)".to_owned());
            (
                format!(": {why} allows no more threads than processors"),
                format!("Remove {why} {follow}."),
            )
        }
        Decider::System => (
            ": the system gave the program no more threads".to_owned(),
            "Look at the limits of threads: ulimit -u, and those of a control group.".to_owned(),
        ),
        Decider::Environment | Decider::Untold if limit.is_some() => {
            let why = limit.unwrap_or_default();
            (
                format!(", and {why} is set"),
                format!("Remove {why} {follow}."),
            )
        }
        Decider::Environment => (
            ": a setting that the program makes before its first region, or a list in OMP_NUM_THREADS"
                .to_owned(),
            format!("Look at what sets OMP_NUM_THREADS {follow}."),
        ),
        Decider::Untold => (
            String::new(),
            format!("Look for a num_threads clause, an if clause or omp_set_num_threads {follow}."),
        ),
    })
}

/// The library that the region belongs to, if that is known to have a setting of its own.
fn own_setting(region: &Region) -> Option<(String, &'static str)> {
    let path = region.place.module.to_ascii_lowercase();
    let (_, setting) = SETTINGS.iter().find(|(part, _)| path.contains(part))?;
    let file = region.place.module.rsplit('/').next()?;
    Some((file.to_owned(), setting))
}
