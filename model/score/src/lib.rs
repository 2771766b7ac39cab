//! The published static score of parallel regions: G. Hatzopoulos, *Scalability Prediction
//! of Parallel Regions on Multicore Architectures*, diploma thesis, NTUA 2012, chapter 4.
//!
//! Of each statement, what keeps a processor busy is good (arithmetic, accesses that hit)
//! and what keeps memory busy is bad (accesses that miss). The score of a region,
//! `max(0, (good - bad) / (good + bad))`, stands for how much of a machine's packages the
//! region uses: with `k` packages, the classes of packages that are worthwhile are divided
//! at `i / k`.
//!
//! The model stays as it was published, as a baseline. What the text leaves open is a named
//! switch of [`Rules`], and the weights, which it does not print, are a file ([`Weights`])
//! whose effect on decisions can be asked for ([`sensitivity`]).
#![forbid(unsafe_code)]

mod classify;
mod decide;
mod kernel;
mod rules;
mod score;
mod sensitivity;
mod weights;

pub use classify::{Class, Judgement, judge};
pub use decide::{class, same_class, utilisation, worthwhile};
pub use kernel::{Access, Kernel, NoKernel, Operations, Statement};
pub use rules::{Averages, Ignored, Machine, Outside, Pressure, Ratio, Rules};
pub use score::{Part, Score, score, score_of};
pub use sensitivity::{Change, sensitivity};
pub use weights::{Pattern, Weights, WeightsError};
