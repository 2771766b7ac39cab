//! What there is to go by.

use fathomp_analyse::Analysis;
use fathomp_predict::Prediction;
use fathomp_predict::machine::Machine;
use fathomp_sharing::Findings;

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
}
