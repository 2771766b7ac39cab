//! Causes that are known, and sentences about any.

mod known;
mod sentences;
