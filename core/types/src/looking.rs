//! How often a thread looks that waits for a plain variable to change on another node.
//!
//! Nodes do so, and predictions for nodes reckon with it. The time between two looks doubles
//! from the first to the longest, but does not grow beyond a multiple of what a look takes.

/// Time between the first two looks, in nanoseconds.
pub const FIRST_NS: u64 = 5_000;
/// Longest time between two, in nanoseconds.
pub const LONGEST_NS: u64 = 500_000;
/// That time is at most so many times what a look takes: while looking is cheap, threads look
/// often.
pub const SHARE: u64 = 20;
