//! Which recordings say how a program scales although other programs ran beside them.

use super::crowded::fitting;
use super::words;
use crate::recorded::{Group, PredictError, Runs};
use fathomp_analysis::Analysis;
use fathomp_types::text;

/// Checks that [`predict`](super::predict) can say something of these recordings although other programs ran
/// beside.
///
/// # Errors
/// As [`predict`](super::predict).
pub fn in_peace(analyses: &[&Analysis]) -> Result<(), PredictError> {
    let runs = Runs::new(analyses)?;
    let processors = runs.processors().max(1);
    peaceful(fitting(&runs.groups, processors).0).map(drop)
}

/// One sentence that says how long the program took with the fewest and with the most threads, if
/// it was measured at all.
#[must_use]
pub fn measured(analyses: &[Analysis]) -> Option<String> {
    let analyses: Vec<&Analysis> = analyses.iter().collect();
    let runs = Runs::new(&analyses).ok()?;
    let (fewest, most) = (runs.groups.first()?, runs.groups.last()?);
    Some(words::measured(fewest, most))
}

/// The runs to fit to: those that other programs left in peace. Threads that could not run at the
/// same time did not hinder each other, so that what they hide is not known; nothing is said about
/// more threads from one number of threads where the runs with another were disturbed.
pub(super) fn peaceful<'a>(groups: &[Group<'a>]) -> Result<Vec<Group<'a>>, PredictError> {
    let disturbed = groups.iter().rev().find_map(|group| {
        let taken = group.taken()?;
        Some(PredictError::Disturbed {
            threads: group.threads,
            taken,
        })
    });
    let peaceful = groups.iter().filter(|group| group.taken().is_none());
    let peaceful: Vec<Group<'a>> = peaceful.cloned().collect();
    match disturbed {
        Some(error) if peaceful.len() < 2 => Err(error),
        _ => Ok(peaceful),
    }
}

/// What is said of runs that were left out because others disturbed them.
pub(super) fn left_out(all: &[Group<'_>], fitted: &[Group<'_>], recorded: u32) -> Option<String> {
    let kept = |threads: u32| fitted.iter().any(|group| group.threads == threads);
    let left_out: Vec<String> = all
        .iter()
        .filter(|group| {
            group.threads <= recorded && !kept(group.threads) && group.taken().is_some()
        })
        .map(|group| group.threads.to_string())
        .collect();
    (!left_out.is_empty()).then(|| {
        format!(
            "Runs with {} threads were left out: other programs took processors from them, so that their threads could not run at the same time.",
            text::list(&left_out)
        )
    })
}
