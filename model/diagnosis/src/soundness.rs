//! Whether anything may be concluded from recordings of one program: nothing is if a run
//! died, or did something else than the others.

use fathomp_analysis::{Analysis, OutputDifference};
use fathomp_types::{Ending, units};

/// What `timeout` leaves with if it has stopped a program.
const TIMED_OUT: i32 = 124;

/// Whether anything may be concluded from recordings of one program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Soundness {
    /// One sentence that says why nothing may be concluded, if that is so: speed-up,
    /// predictions, causes and advice are then left out.
    pub broken: Option<String>,
    /// One sentence that says in what the outputs differ, if they do so too little for the
    /// runs to be broken.
    pub slight_difference: Option<String>,
}

impl Soundness {
    /// Judges how the runs ended and what they printed.
    #[must_use]
    pub fn of(analyses: &[Analysis]) -> Self {
        Self {
            broken: broken(analyses),
            slight_difference: slight_difference(analyses),
        }
    }
}

fn broken(analyses: &[Analysis]) -> Option<String> {
    let several = analyses.len() > 1;
    let mut died = analyses
        .iter()
        .filter_map(|one| Some((one, death(one)?)))
        .collect::<Vec<_>>()
        .into_iter();
    let (what, more) = match died.next() {
        Some((one, how)) => (format!("{} {how}", whose(one, several)), died.count()),
        None => {
            let mut differing = analyses
                .iter()
                .filter_map(|one| Some((one, difference(one)?)));
            let (one, how) = differing.next()?;
            let with = units::plural(threads(one).into(), "thread");
            (format!("The output with {with} {how}"), differing.count())
        }
    };
    let more = match more {
        0 => String::new(),
        1 => " (and there is another such run)".to_owned(),
        more => format!(" (and there are {more} other such runs)"),
    };
    // Nothing is to be mended where somebody ended a run by hand.
    let therefore = match analyses.iter().find(|one| death(one).is_some()) {
        Some(one) if was_stopped(one) => "it did not come to its end, so",
        _ => "until that is mended,",
    };
    Some(format!(
        "{what}{more}; {therefore} no speed-up is given, nothing is predicted and nothing advised."
    ))
}

fn slight_difference(analyses: &[Analysis]) -> Option<String> {
    let mut differing = analyses.iter().filter_map(|one| Some((one, differs(one)?)));
    let (one, found) = differing.find(|(_, found)| found.slight)?;
    let with = units::plural(threads(one).into(), "thread");
    let place = place_of(found)?;
    Some(format!(
        "The output with {with} {place}: random numbers, sums in another order, or a data race \
         (`fathomp run --nodes 2 --check-races` looks for one)."
    ))
}

/// How a run ended, if not well.
fn death(analysis: &Analysis) -> Option<String> {
    let program = &analysis.program;
    let how = match program.outcome? {
        Ending::Exited(0) => return None,
        Ending::Exited(TIMED_OUT) => {
            "left with exit code 124, as of a program that `timeout` has stopped".to_owned()
        }
        left @ Ending::Exited(_) => format!("left with {left}"),
        stopped @ Ending::Signalled(number) if Ending::STOPPING.contains(&number) => {
            let still = program.still_ns.map_or_else(String::new, still);
            format!("was stopped by {stopped}{still}")
        }
        killed @ Ending::Signalled(_) => format!("was ended by {killed}"),
    };
    Some(match &program.stack_overflow {
        Some(overflow) => format!("{how}: {overflow}"),
        None => how,
    })
}

/// It may hang.
fn still(ns: u64) -> String {
    format!(
        " after {} in which no region began or ended and no thread came to a barrier: it hangs, or computes long without either",
        units::duration(ns as f64)
    )
}

fn was_stopped(analysis: &Analysis) -> bool {
    match analysis.program.outcome {
        Some(Ending::Signalled(number)) => Ending::STOPPING.contains(&number),
        Some(Ending::Exited(code)) => code == TIMED_OUT,
        None => false,
    }
}

fn differs(analysis: &Analysis) -> Option<&OutputDifference> {
    analysis.program.output.as_ref()?.differs.as_ref()
}

/// Where the output of a run differs from that of another, if it does so by much.
fn difference(analysis: &Analysis) -> Option<String> {
    let place = place_of(differs(analysis).filter(|found| !found.slight)?)?;
    Some(format!(
        "{place}; that is the first sign of a data race, or of sums in another order"
    ))
}

fn place_of(differs: &OutputDifference) -> Option<String> {
    let other = units::plural(differs.other_threads.into(), "thread");
    let line = differs.line;
    Some(match (&differs.here, &differs.there) {
        (Some(here), Some(there)) => format!(
            "differs from that with {other} in line {line}: '{}' against '{}'",
            plain(here),
            plain(there)
        ),
        (Some(here), None) => format!(
            "has a line {line} that the one with {other} has not: '{}'",
            plain(here)
        ),
        (None, Some(there)) => format!(
            "lacks line {line} of the one with {other}: '{}'",
            plain(there)
        ),
        (None, None) => return None,
    })
}

/// Without what a terminal would act on: recordings may say anything.
fn plain(text: &str) -> String {
    let clean = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(200).map(clean).collect()
}

fn whose(analysis: &Analysis, several: bool) -> String {
    if several {
        let threads = units::plural(threads(analysis).into(), "thread");
        format!("The run with {threads}")
    } else {
        "The program".to_owned()
    }
}

/// Threads that a run was to have.
fn threads(analysis: &Analysis) -> u32 {
    analysis.program.threads_asked.unwrap_or(analysis.team_size)
}
