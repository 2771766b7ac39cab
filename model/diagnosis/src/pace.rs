//! How much slower processors themselves computed in one run than in another, whatever the
//! program did: because they share cores, because many at work lower the clock frequency, or
//! because the host of a virtual machine had less time for them.

use crate::cause::{Basis, Cause, Kind};
use crate::region::Seen;
use fathomp_analysis::Analysis;
use fathomp_analysis::Pace;
use fathomp_types::units::{plural, ratio};

/// Processors that are slower by less are as fast as before.
const NOTABLE: f64 = 0.1;

/// How much slower, as a part: 0.5 is one and a half times as long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Slower {
    /// By the means of what the usual piece took before and after both runs.
    pub(crate) typical: f64,
    /// By those two measurements of any piece that differ most.
    pub(crate) most: f64,
}

impl Slower {
    /// From the run `few` to the run `many`; none at all where it was not measured.
    pub(crate) fn between(few: &Analysis, many: &Analysis) -> Self {
        let (Some(few), Some(many)) = (few.program.pace, many.program.pace) else {
            return Self::default();
        };
        let part = |longer: f64, shorter: f64| (longer / shorter - 1.0).max(0.0);
        let most = |kind: usize| {
            let ends = |pace: Pace| [pace.before, pace.after].map(|pieces| pieces.both()[kind]);
            let ([begin, end], [fewer_begin, fewer_end]) = (ends(many), ends(few));
            part(begin.max(end), fewer_begin.min(fewer_end))
        };
        let usual = |pace: Pace| pace.before.usual_ns + pace.after.usual_ns;
        Self {
            typical: part(usual(many), usual(few)),
            most: most(0).max(most(1)),
        }
    }

    /// What the explained run lost to it, compared with the one of fewest threads.
    pub(crate) fn of(seen: &Seen<'_>) -> Self {
        seen.fewest().map_or_else(Self::default, |(_, few)| {
            Self::between(few, seen.input.main)
        })
    }

    /// Whether it is worth a word.
    pub(crate) fn notable(self) -> bool {
        self.most >= NOTABLE
    }

    /// The cause, at this cost for each thread of the region.
    pub(crate) fn cause(self, seen: &Seen<'_>, ns: f64) -> Cause {
        let main = seen.input.main;
        let at_once = main.program.pace.map_or(1, |pace| pace.processors);
        let before = seen
            .fewest()
            .and_then(|(_, few)| few.program.pace)
            .map_or(1, |pace| pace.processors);
        let range = match self.most > self.typical + NOTABLE {
            true => format!(" to {}", ratio(1.0 + self.most)),
            false => String::new(),
        };
        let evidence = format!(
            "beside the runs, computing in registers took {}{range} times as long on {} at once as on {before}",
            ratio(1.0 + self.typical),
            plural(at_once.into(), "processor"),
        );
        let action = "Processors may share cores, lower their clock when many are at work, or belong to a virtual machine whose host is busy: measure again on cores of their own, or when the host is quiet.";
        seen.cause(
            Kind::SlowerProcessors,
            Basis::Times,
            ns,
            evidence,
            action.to_owned(),
        )
    }
}

/// Processors of one run that are unlike each other: threads on them that do as much as each
/// other take unlike times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Unlike {
    /// How many times as long as the mean the slowest may have computed.
    slowest: f64,
    /// The same of the threads of a region.
    longest: f64,
}

impl Unlike {
    /// If processors may have been so unlike that the thread that computed longest, so many times
    /// as long as the mean, may have done no more than the others: as unlike as they were beside
    /// the run, and each as unsteady as they were between the two measurements.
    pub(crate) fn explaining(longest: f64, run: &Analysis) -> Option<Self> {
        let pace = run.program.pace?;
        let ends = pace.before.both().into_iter().zip(pace.after.both());
        let unsteady = ends.map(|(before, after)| (before / after).max(after / before));
        let uneven = pace.before.uneven.max(pace.after.uneven);
        let slowest = uneven * unsteady.fold(1.0, f64::max);
        (slowest >= 1.0 + NOTABLE && longest <= slowest).then_some(Self { slowest, longest })
    }

    /// The cause, at this cost for each thread of the region.
    pub(crate) fn cause(self, seen: &Seen<'_>, ns: f64) -> Cause {
        let evidence = format!(
            "the thread that computes longest takes {} times as long as the mean, and beside the run processors that computed at once differed by up to {} times",
            ratio(self.longest),
            ratio(self.slowest)
        );
        let action = "Threads on slower processors may do no more than the others: bind the program to processors that are alike, or measure again when the machine, or the host of a virtual one, is quiet.";
        let kind = Kind::SlowerProcessors;
        seen.cause(kind, Basis::Times, ns, evidence, action.to_owned())
    }
}
