//! What things are called on the page.

pub(crate) use fathomp_types::text::{bound, list, shorten};

use fathomp_analysis::{LoopKind, State};
use fathomp_predict::Term;
use fathomp_types::Ending;

/// A state in words.
pub(crate) const fn state(state: State) -> &'static str {
    match state {
        State::Compute => "computing",
        State::ImplicitBarrier => "barrier at the end",
        State::ExplicitBarrier => "barrier inside",
        State::Critical => "critical section",
        State::Lock => "lock",
        State::Ordered => "ordered",
        State::TaskWait => "waiting for tasks",
        State::Overhead => "runtime overhead",
        State::Idle => "idle",
        State::Io => "input and output",
        State::Communication => "communication",
        State::Blocked => "blocked",
        State::Ready => "without a processor",
    }
}

/// What time in a state is lost to, inside a sentence.
pub(crate) const fn loss(state: State) -> &'static str {
    match state {
        State::Compute => "computing",
        State::ImplicitBarrier => "waiting in barriers at ends of regions and loops",
        State::ExplicitBarrier => "waiting in barriers inside regions",
        State::Critical => "waiting for critical sections",
        State::Lock => "waiting for locks",
        State::Ordered => "waiting in ordered constructs",
        State::TaskWait => "waiting for tasks",
        State::Overhead => "the runtime's own work",
        State::Idle => "idle threads",
        State::Io => "input and output",
        State::Communication => "communication",
        State::Blocked => "being blocked (sleep, files, sockets)",
        State::Ready => "waiting for a processor",
    }
}

/// A term of the scaling model, short enough for a table.
pub(crate) const fn term(term: Term) -> &'static str {
    match term {
        Term::Work => "divided work",
        Term::Serial => "serial time",
        Term::SerialInRegion => "serial time inside",
        Term::Imbalance => "load imbalance",
        Term::Mutex => "critical sections, locks",
        Term::Ordered => "ordered constructs",
        Term::Overhead => "construct overhead",
        Term::Saturation => "slower computing",
        Term::Io => "input and output",
        Term::Communication => "communication",
        Term::Oversubscription => "too many threads",
        Term::Pieces => "few pieces of work",
        Term::Blocked => "blocked",
    }
}

/// A schedule kind as written in a `schedule` clause.
pub(crate) const fn loop_kind(kind: LoopKind) -> &'static str {
    match kind {
        LoopKind::Static => "static",
        LoopKind::Dynamic => "dynamic",
        LoopKind::Guided => "guided",
        LoopKind::Sections => "sections",
        LoopKind::Taskloop => "taskloop",
        LoopKind::Untold => "schedule not told",
    }
}

/// How a program ended.
pub(crate) fn outcome(outcome: Option<Ending>) -> String {
    match outcome {
        Some(left @ Ending::Exited(_)) => left.to_string(),
        Some(killed @ Ending::Signalled(_)) => format!("ended by {killed}"),
        None => "unknown".to_owned(),
    }
}
