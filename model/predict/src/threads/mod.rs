//! Our model of threads on one machine.
//!
//! A program's time is the sum of its serial part and its outermost regions,
//! and a region's time the sum of [`Term`]s (the shapes are in `model`). An
//! interval holds the middle 90 % of what 200 replicates of the whole
//! procedure predict. A replicate
//!
//! 1. draws the runs again, where there are three or more with a thread count,
//!    and otherwise disturbs their times by their scatter from run to run and
//!    from execution to execution (2 % where neither is known);
//! 2. draws one of the explanations that fit, by weight, where the central
//!    prediction takes their mean: models that agree where there are
//!    measurements may differ widely beyond;
//! 3. drifts by a normal factor of 3 % for every doubling beyond the largest
//!    measured thread count;
//! 4. draws what a single thread count cannot tell: growth of the work (by the
//!    machine's bandwidth curve, if known, else up to 10 % a thread) and, from
//!    1 thread alone, imbalance (up to half of the work).
//!
//! Processors that the machine does not have are taken to be like those it
//! has, with the same memory: its bandwidth does not grow with them.

mod baselines;
mod crowded;
mod forecast;
mod held_out;
mod model;
mod options;
mod outcome;
mod peace;
mod predict;
mod program;
mod terms;
mod words;

pub use baselines::baselines;
pub use options::Options;
pub use outcome::{
    Baseline, Dominating, Measured, Point, Prediction, RegionPrediction, SCHEMA, TermTime, VERSION,
    Validation,
};
pub use peace::{in_peace, measured};
pub use predict::{horizon, predict};
pub use terms::{Term, Terms};
