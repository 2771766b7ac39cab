//! How good advice is: predictions held against measured times, beside simpler predictors.
//!
//! A machine's cores are taken in units: single cores, or packages where there are several.
//! Measured is the time of each region with one unit and with several; predicted is which
//! units are worthwhile. Whatever is fitted is fitted to other benchmarks than the one that
//! is predicted.

mod baselines;
mod measured;
mod outcome;
mod rules;
mod statistics;

pub use fathomp_score::Change;
pub use measured::{Case, Times};
pub use outcome::{Evaluation, Fitted, Judged, PredictorResult, Published, evaluate};
pub use rules::Utilisation;
pub use statistics::{Rate, wilson};
