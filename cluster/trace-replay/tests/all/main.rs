//! Files of accesses, and what they cost when they are replayed.

mod common;
mod files;
mod more_threads;
mod replays;
