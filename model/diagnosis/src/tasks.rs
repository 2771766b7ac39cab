//! Tasks that leave threads without any: because a clause has their creator run them, or because
//! they wait for each other.

use crate::cause::{Basis, Cause, Kind};
use crate::region::Seen;
use crate::waited::Waited;
use fathomp_analysis::{State, ThreadShare};
use fathomp_types::units::{count, duration, plural};

/// Fewer tasks than this for each thread need not be what a thread is busy with.
const FEW_TASKS: u64 = 4;
/// Threads that compute less than this part of what the busiest does have no work.
const LITTLE: f64 = 0.1;
/// Tasks of which this part waits for others are ordered by their dependences.
const ORDERED: f64 = 0.5;
/// They are the cause where threads find nothing to run for this part of the region.
const WITHOUT: f64 = 0.1;

/// Tasks whose dependences leave threads without any that may run, and the time for which each
/// thread has none, in nanoseconds.
pub(crate) fn dependent(seen: &Seen<'_>, waited: &Waited) -> Option<Cause> {
    let region = seen.region;
    let many = region.tasks_created >= FEW_TASKS * u64::from(seen.team);
    let ordered = region.tasks_dependent as f64 >= ORDERED * region.tasks_created as f64;
    let lost = waited.computing + waited.runtime - seen.start_ns();
    if !many || !ordered || seen.team < 2 || lost < WITHOUT * region.wall_ns as f64 {
        return None;
    }
    let place = seen.place();
    Some(seen.cause(
        Kind::DependentTasks,
        Basis::Counts,
        lost,
        format!(
            "{} of {} had to wait for others by their depend clauses, and threads found none to run for {} each",
            count(region.tasks_dependent),
            plural(region.tasks_created, "task"),
            duration(lost)
        ),
        format!(
            "Let the tasks in {place} depend on less: in instead of inout for what is only read, one variable for each piece of data instead of one for all, or several chains that do not depend on each other."
        ),
    ))
}

/// Tasks that clauses have their creator run, so that no other thread finds any.
pub(crate) fn undeferred(seen: &Seen<'_>, ns: f64) -> Option<Cause> {
    let region = seen.region;
    let deferred = region.tasks_run.checked_sub(region.tasks_undeferred)?;
    // A task or two may be little of what that thread does.
    let many = region.tasks_undeferred >= FEW_TASKS * u64::from(seen.team);
    let own = |share: &ThreadShare| share.states[State::Compute];
    let busiest = region.threads.iter().max_by_key(|share| own(share))?;
    let others: u64 = region.threads.iter().map(own).sum::<u64>() - own(busiest);
    // Where others compute as well, or there are loops, it may be something else that they wait for.
    let alone = busiest.tasks_run == region.tasks_run
        && region.loops == 0
        && others as f64 <= LITTLE * own(busiest) as f64;
    if !many || !alone || deferred >= u64::from(seen.team) {
        return None;
    }
    let place = seen.place();
    let mut cause = seen.cause(
        Kind::SerialInRegion,
        Basis::Counts,
        ns,
        format!(
            "{} of {} were not deferred: the thread that met them ran them before it went on, as an if clause that is false or a final clause says, while the others waited",
            count(region.tasks_undeferred),
            plural(region.tasks_run, "task")
        ),
        format!(
            "Let the if clause of the tasks in {place} be true (or final false) where they hold as much work as here, {}: a task pays from about a microsecond.",
            duration(region.states.useful_ns() as f64 / (region.tasks_run as f64).max(1.0))
        ),
    );
    "tasks that are not deferred".clone_into(&mut cause.title);
    Some(cause)
}
