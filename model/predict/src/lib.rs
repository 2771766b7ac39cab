//! From facts and prices to time and speedup elsewhere.
//!
//! * [`threads`]: from recordings with a few thread counts to a [`Prediction`]: how the
//!   program will scale on a machine, with intervals and in words.
//! * [`published`]: from counts of page faults to speedup on a cluster, as published.
//! * [`ranks`]: from runs with a few numbers of ranks and threads to others.
//! * [`validate`]: all of these held against what was measured.
//! * [`ask()`]: any of them, by one question.
//!
//! Below them are what things cost on a machine ([`machine`]) and on a cluster
//! ([`prices`]), what was counted ([`counts`]) and what recordings say (`recorded`).
#![forbid(unsafe_code)]

mod ask;
pub mod counts;
pub mod machine;
mod numeric;
pub mod prices;
pub mod published;
pub mod ranks;
mod recorded;
pub mod threads;
pub mod validate;

pub use ask::{AskError, Outcome, Question, ask};
pub use recorded::{ImbalanceEvidence, MOST_THREADS, PredictError, for_single};
pub use threads::{
    Baseline, Dominating, Measured, Options, Point, Prediction, RegionPrediction, SCHEMA, Term,
    TermTime, Terms, VERSION, Validation, baselines, horizon, in_peace, measured, predict,
};
