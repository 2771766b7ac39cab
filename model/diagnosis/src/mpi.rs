//! Time in MPI: of the thread that calls while the others of its rank are idle, or inside regions.

use crate::between::outside_in;
use crate::cause::{Basis, Cause, Cost, Kind};
use crate::input::Input;
use crate::region::Seen;
use fathomp_analysis::{MpiFacts, State};
use fathomp_types::text;
use fathomp_types::units::{duration, percent, plural};

/// What is to be done about it. Whether a rank waits for others or moves bytes only the other ranks'
/// recordings tell.
const ACTION: &str = "Look at the other ranks' recordings: where one comes late, give ranks equal work; else send fewer and larger messages, or let nonblocking calls overlap with parallel regions, so that threads do not idle meanwhile.";

/// Time in MPI outside parallel regions, where the rank's other threads have nothing to do.
pub(crate) fn outside(input: &Input<'_>) -> Option<Cause> {
    let main = input.main;
    let facts = main.mpi.as_ref()?;
    let ns = outside_in(main, main.serial()?, State::Communication);
    (ns > 0.0).then(|| Cause {
        kind: Kind::Mpi,
        title: Kind::Mpi.title().to_owned(),
        region: None,
        place: "the program".to_owned(),
        evidence: format!(
            "{} of {} pass in MPI outside parallel regions{}",
            duration(ns),
            duration(main.wall_ns as f64),
            dearest(facts)
        ),
        basis: Basis::Times,
        measured: Cost::new(main.threads, ns, main.wall_ns as f64),
        predicted: None,
        region_share: (ns / (main.wall_ns as f64).max(1.0)).clamp(0.0, 1.0),
        action: ACTION.to_owned(),
    })
}

/// Time in MPI inside a region: `ns` of each of its threads. Nothing if the time is that of
/// fathomp's own nodes.
pub(crate) fn inside(seen: &Seen<'_>, ns: f64) -> Option<Cause> {
    let facts = seen.input.main.mpi.as_ref()?;
    let place = seen.place();
    Some(seen.cause(
        Kind::Mpi,
        Basis::Times,
        ns,
        format!("its threads are in MPI for {} each", duration(ns)) + &dearest(facts),
        format!("Call MPI outside of {place}, or by one thread while the others compute: calls at the same time take turns in most implementations."),
    ))
}

/// The place with most of the time, in words.
fn dearest(facts: &MpiFacts) -> String {
    let Some(most) = facts.calls.first() else {
        return String::new();
    };
    let part = most.time_ns as f64 / (facts.time_ns as f64).max(1.0);
    format!(
        ", of all time in MPI {} in {} at {} ({})",
        percent(part),
        most.function,
        text::shorten(&most.name, 60),
        plural(most.count, "call")
    )
}
