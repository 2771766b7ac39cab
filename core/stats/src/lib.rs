//! Statistics that measurements and models share.
//!
//! Timing samples are bounded below by the machine and have a long tail above, put there by
//! other programs and the kernel. Hence medians instead of means, resampling instead of an
//! assumed distribution, and fences instead of standard deviations.
//!
//! | Module | Has |
//! |---|---|
//! | [`sample`] | quantiles, geometric means, the spread of a sample |
//! | [`resample`] | bootstrap intervals, also of grouped samples |
//! | [`ratio`] | the ratio of two medians, with its interval |
//! | [`random`] | random numbers that are the same for the same seed |
//! | [`linear`] | solutions of a few linear equations |
#![forbid(unsafe_code)]

pub mod linear;
pub mod random;
pub mod ratio;
pub mod resample;
pub mod sample;

pub use random::Random;
pub use ratio::Ratio;
pub use resample::{Interval, grouped_median, percentile_interval};
pub use sample::{Spread, geometric_mean, median, quantile, spread};
