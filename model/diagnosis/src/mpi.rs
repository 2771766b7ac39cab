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

/// The same where MPI's own begin and end are most of it.
const ONCE: &str = "MPI takes that once, to begin and to end: it weighs less in a longer run.";
/// Functions that begin and end MPI.
const BEGIN_AND_END: [&str; 3] = ["MPI_Init", "MPI_Init_thread", "MPI_Finalize"];

/// Time in MPI outside parallel regions, where the rank's other threads have nothing to do.
pub(crate) fn outside(input: &Input<'_>) -> Option<Cause> {
    let main = input.main;
    let facts = main.mpi.as_ref()?;
    let ns = outside_in(main, main.serial()?, State::Communication);
    let once = once_ns(facts).min(ns);
    let action = match once > 0.5 * ns {
        true => ONCE,
        false => ACTION,
    };
    let of_once = match once >= 0.1 * ns {
        true => format!(", {} of that to begin and end MPI", duration(once)),
        false => String::new(),
    };
    (ns > 0.0).then(|| Cause {
        kind: Kind::Mpi,
        title: Kind::Mpi.title().to_owned(),
        region: None,
        place: "the program".to_owned(),
        evidence: format!(
            "{} of {} pass in MPI outside parallel regions{of_once}{}",
            duration(ns),
            duration(main.wall_ns as f64),
            dearest(facts)
        ),
        basis: Basis::Times,
        measured: Cost::new(main.threads, ns, main.wall_ns as f64),
        predicted: None,
        region_share: (ns / (main.wall_ns as f64).max(1.0)).clamp(0.0, 1.0),
        action: action.to_owned(),
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

/// Time to begin and to end MPI.
fn once_ns(facts: &MpiFacts) -> f64 {
    let once = facts.calls.iter().filter(|one| is_once(&one.function));
    once.map(|one| one.time_ns as f64).sum()
}

fn is_once(function: &str) -> bool {
    BEGIN_AND_END.contains(&function)
}

/// The place with most of the time between, in words.
fn dearest(facts: &MpiFacts) -> String {
    let mut between = facts.calls.iter().filter(|one| !is_once(&one.function));
    let Some(most) = between.next() else {
        return String::new();
    };
    let all = facts.time_ns as f64 - once_ns(facts);
    let part = most.time_ns as f64 / all.max(1.0);
    format!(
        ", of the {} {} in {} at {} ({})",
        if once_ns(facts) > 0.0 {
            "rest"
        } else {
            "time in MPI"
        },
        percent(part),
        most.function,
        text::shorten(&most.name, 60),
        plural(most.count, "call")
    )
}
