//! Serial code between short regions: it takes longer with a team than with one thread, because
//! it reads what other threads wrote a moment ago. That is a price of the regions, not serial work.

use crate::cause::{Cause, Cost, Kind};
use crate::input::Input;
use fathomp_analysis::{Analysis, Region, State};
use fathomp_predict::Point;
use fathomp_types::units::{duration, plural};

/// What one execution of a region adds at most to the serial code that follows it: a dozen
/// cache lines that other threads wrote. What is beyond that has another cause.
const MOST_EACH_NS: f64 = 2_000.0;
/// Growth below this part of the serial time is what two runs differ by.
const NOTABLE: f64 = 0.25;

/// What teams of short regions add to the serial code between them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Between {
    /// Serial code in the run with the fewest threads, and their number.
    alone_ns: f64,
    alone_threads: u32,
    /// What it takes longer in the run that is explained.
    pub(crate) added_ns: f64,
    /// Executions of all short regions.
    executions: f64,
}

impl Between {
    /// What the short regions among `causes` add; nothing where no run with fewer threads says
    /// what the serial code takes without, or where other programs had a part in the times.
    pub(crate) fn of(input: &Input<'_>, causes: &[Cause]) -> Option<Self> {
        let main = input.main;
        let executions: f64 = short(causes).map(|cause| executions(input, cause)).sum();
        let quiet = |one: &&Analysis| !one.program.disturbed() && !one.program.rehearsal;
        let fewer = input.analyses.iter().filter(quiet);
        let fewest = fewer
            .clone()
            .map(|one| one.threads)
            .min()
            .filter(|threads| *threads < main.threads)?;
        let alone_ns = fewer
            .filter(|one| one.threads == fewest)
            .map(serial_computing)
            .fold(0.0, f64::max);
        let now = serial_computing(main);
        let added_ns = (now - alone_ns).min(MOST_EACH_NS * executions);
        let notable = alone_ns > 0.0 && added_ns >= NOTABLE * now;
        (quiet(&main) && notable).then_some(Self {
            alone_ns,
            alone_threads: fewest,
            added_ns,
            executions,
        })
    }

    /// Adds the measured time to the short regions, each by its executions.
    pub(crate) fn add_measured(&self, input: &Input<'_>, causes: &mut [Cause]) {
        let wall = input.main.wall_ns as f64;
        for cause in causes.iter_mut().filter(|one| is_short(one)) {
            let part = self.added_ns * executions(input, cause) / self.executions;
            cause.measured = Cost::new(input.main.threads, cause.measured.ns + part, wall);
            cause.evidence.push_str(&format!(
                "; the serial code between short regions takes {} longer than with {}",
                duration(self.added_ns),
                plural(self.alone_threads.into(), "thread")
            ));
        }
    }

    /// Moves what is predicted of the serial part, beyond what it takes by itself, to the short
    /// regions.
    pub(crate) fn move_predicted(&self, input: &Input<'_>, last: &Point, causes: &mut [Cause]) {
        let mut added = 0.0;
        for cause in causes.iter_mut().filter(|one| one.kind == Kind::SerialPart) {
            let predicted = cause.predicted.map_or(0.0, |cost| cost.ns);
            let own = predicted.min(self.alone_ns);
            added += predicted - own;
            cause.predicted = Some(Cost::new(last.threads, own, last.time_ns));
        }
        for cause in causes.iter_mut().filter(|one| is_short(one)) {
            let before = cause.predicted.map_or(0.0, |cost| cost.ns);
            let part = added * executions(input, cause) / self.executions;
            cause.predicted = Some(Cost::new(last.threads, before + part, last.time_ns));
        }
    }
}

/// Time that one thread computes outside parallel regions, in nanoseconds.
pub(crate) fn serial_computing(analysis: &Analysis) -> f64 {
    analysis
        .serial()
        .map_or(0.0, |serial| outside_in(analysis, serial, State::Compute))
}

/// The part of the time outside parallel regions that passes in a state, in nanoseconds.
pub(crate) fn outside_in(analysis: &Analysis, serial: &Region, state: State) -> f64 {
    let outside = analysis.wall_ns as f64 * (1.0 - analysis.parallel_time_fraction).clamp(0.0, 1.0);
    let counted = [
        State::Compute,
        State::Blocked,
        State::Ready,
        State::Io,
        State::Communication,
    ];
    let all: f64 = counted.iter().map(|one| serial.states[*one] as f64).sum();
    outside * serial.states[state] as f64 / all.max(1.0)
}

fn is_short(cause: &Cause) -> bool {
    cause.kind == Kind::ShortRegions
}

fn short(causes: &[Cause]) -> impl Iterator<Item = &Cause> {
    causes.iter().filter(|one| is_short(one))
}

fn executions(input: &Input<'_>, cause: &Cause) -> f64 {
    let region = cause
        .region
        .as_deref()
        .and_then(|key| input.main.region(key));
    region.map_or(0.0, |one| one.instances as f64)
}
