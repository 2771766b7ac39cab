//! What things are called on the page.

pub(crate) use fathomp_types::text::{list, shorten};

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

/// `text` with numbers bound to their units, so that no line breaks between.
#[must_use]
pub fn bound(text: &str) -> String {
    const UNITS: [&str; 8] = ["%", "ns", "µs", "ms", "s", "KiB", "MiB", "GiB"];
    let mut bound = String::with_capacity(text.len());
    let mut after_digit = false;
    for word in text.split(' ') {
        if !bound.is_empty() {
            let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
            let joins = after_digit && UNITS.contains(&bare);
            bound.push(if joins { '\u{a0}' } else { ' ' });
        }
        bound.push_str(word);
        after_digit = word.ends_with(|last: char| last.is_ascii_digit());
    }
    bound
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(
            bound("it took 1.2 s, 30 % more. s"),
            "it took 1.2\u{a0}s, 30\u{a0}% more. s"
        );
    }
}
