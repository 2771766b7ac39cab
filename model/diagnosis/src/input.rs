//! What there is to go by.

use fathomp_analysis::samples::Samples;
use fathomp_analysis::{Analysis, Oversubscription};
use fathomp_predict::Prediction;
use fathomp_predict::machine::Machine;
use fathomp_shared_lines::Findings;

/// What to diagnose.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// All recordings of the program.
    pub analyses: &'a [Analysis],
    /// The one to explain: the most threads that had a processor each.
    pub main: &'a Analysis,
    /// How it is predicted to scale.
    pub prediction: Option<&'a Prediction>,
    /// What things cost on the machine.
    pub machine: Option<&'a Machine>,
    /// Cache lines that threads share, if that was looked for.
    pub sharing: Option<&'a Findings>,
    /// Where threads were, if that was looked at.
    pub samples: Option<&'a Samples>,
    /// Bytes from memory in a second that one thread of a region asks for by its code, by the
    /// region's name; what functions of other modules ask for is not in it.
    pub asks: &'a [(&'a str, f64)],
}

impl Input<'_> {
    /// A quota that held threads back for longer than nothing, and for how long.
    pub(crate) fn quota(&self) -> Option<(f64, f64)> {
        let program = &self.main.program;
        let throttled = program.throttled_ns? as f64;
        let quota = program.quota_processors?;
        (throttled >= 0.02 * self.main.wall_ns as f64).then_some((quota, throttled))
    }

    /// The crowd that explains waiting for processors: threads bound to few of them first,
    /// then the program's on all of them.
    pub(crate) fn crowd(&self) -> Option<Oversubscription> {
        let crowds = &self.main.crowds;
        let bound = crowds.iter().filter(|crowd| crowd.first.is_some());
        bound
            .max_by_key(|crowd| crowd.ready_ns)
            .or_else(|| crowds.iter().find(|crowd| crowd.first.is_none()))
            .copied()
    }
}
