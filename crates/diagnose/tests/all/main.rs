//! Causes that are known, and sentences about any.

mod known;
mod library;
mod sentences;
