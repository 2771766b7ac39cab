//! How many cores each region deserves, why, and how good that advice is.
#![forbid(unsafe_code)]
