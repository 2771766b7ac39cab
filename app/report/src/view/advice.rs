//! What to do about the most expensive causes.

use super::disturbed::{Disturbed, disturbed};
use super::words;
use crate::Input;
use fathomp_diagnosis::{Basis, Cause, Diagnosis, costs};
use fathomp_types::text;

/// Pieces of advice.
const ADVICE_MAX: usize = 3;
/// Other regions named in one piece.
const REGIONS_MAX: usize = 3;

/// Advice, and a warning where the recordings were disturbed.
pub(crate) struct Advice {
    pub(crate) pieces: Vec<String>,
    pub(crate) doubt: String,
}

/// Against the most expensive causes. Where other programs disturbed the recordings
/// much, only what rests on counts is given.
pub(crate) fn advice(input: &Input<'_>, diagnosis: &Diagnosis) -> Advice {
    let disturbance = disturbed(input);
    let mut groups: Vec<Vec<&Cause>> = Vec::new();
    let all = diagnosis.of_program().count();
    let told: Vec<&Cause> = trusted(input, diagnosis).collect();
    let withheld = all - told.len();
    for cause in told {
        let alike = |group: &&mut Vec<&Cause>| like(group[0], cause);
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(cause),
            None => groups.push(vec![cause]),
        }
    }
    let none = groups.is_empty();
    let pieces: Vec<String> = groups
        .iter()
        .take(ADVICE_MAX)
        .map(|group| piece(group))
        .collect();
    let doubt = match disturbance {
        Disturbed::Not => String::new(),
        Disturbed::Somewhat(warning) => warning,
        Disturbed::Much(warning) if withheld > 0 || none => warning,
        Disturbed::Much(_) => String::new(),
    };
    let nothing = none && withheld == 0;
    Advice {
        doubt: if nothing { String::new() } else { doubt },
        pieces,
    }
}

/// The causes that can be believed: where other programs disturbed the recordings much,
/// those that rest on counts.
pub(crate) fn trusted<'a>(
    input: &Input<'_>,
    diagnosis: &'a Diagnosis,
) -> impl Iterator<Item = &'a Cause> {
    let much = matches!(disturbed(input), Disturbed::Much(_));
    diagnosis
        .of_program()
        .filter(move |cause| !(much && cause.basis == Basis::Times))
}

/// Whether the same thing helps against both.
fn like(a: &Cause, b: &Cause) -> bool {
    let everywhere = |cause: &Cause| cause.action.replace(&cause.place, "");
    a.kind == b.kind && everywhere(a) == everywhere(b)
}

/// One thing to do, where else it helps, and what the cause costs.
fn piece(group: &[&Cause]) -> String {
    let first = group[0];
    let mut others: Vec<String> = Vec::new();
    for cause in &group[1..] {
        if cause.place != first.place && !others.contains(&cause.place) {
            others.push(cause.place.clone());
        }
    }
    let more = others.len().saturating_sub(REGIONS_MAX);
    others.truncate(REGIONS_MAX);
    if more > 0 {
        others.push(format!("{more} others"));
    }
    let also = if others.is_empty() {
        String::new()
    } else {
        format!(" Likewise {}.", words::list(&others))
    };
    format!("{}{also} {}", text::sentence(&first.action), costs(group))
}
