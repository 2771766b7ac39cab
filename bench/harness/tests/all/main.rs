//! Suites that are measured, and what is concluded from what they say.

mod run;
mod summary;
