//! Whether what was measured is good enough to advise on: a thread whose
//! processor is taken by somebody else looks like one with too much work, and
//! those that wait for it like victims of the schedule. Counts stay what they are.

use crate::{Input, crowded, units};

/// Part of the processors used by others from which advice carries a warning.
const DOUBTFUL: f64 = 0.1;
/// And from which there is none that rests on times: with two processors, a fourth of them is half of
/// one thread's.
const USELESS: f64 = 0.25;

/// What is to be said instead of advice, or with it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Disturbed {
    /// Advice can stand by itself.
    Not,
    /// Advice may be about the disturbance: say this too.
    Somewhat(String),
    /// It would be, where it rests on times: say this instead.
    Much(String),
}

/// How much others disturbed the recordings that advice would be drawn from.
pub(crate) fn disturbed(input: &Input<'_>) -> Disturbed {
    let used = input.measured().filter_map(|one| one.program.others_used);
    let most = used.fold(0.0, f64::max);
    let share = units::percent(most);
    if most > USELESS {
        return Disturbed::Much(format!(
            "Advice that rests on times is left out: other programs used up to {share} of the processors while this was recorded, and a thread whose processor is taken looks like one with too much work. Record again when the machine is quiet."
        ));
    }
    if most > DOUBTFUL {
        return Disturbed::Somewhat(format!(
            "Other programs used up to {share} of the processors while this was recorded: what looks like imbalance or waiting may be their doing. Record again when the machine is quiet before following this advice."
        ));
    }
    if input.main().is_some_and(crowded) {
        return Disturbed::Somewhat(
            "The threads shared processors: what looks like imbalance or waiting may be time without one. Record with fewer threads before following this advice.".to_owned(),
        );
    }
    Disturbed::Not
}
