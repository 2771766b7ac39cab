//! The published static score of parallel regions.
#![forbid(unsafe_code)]
