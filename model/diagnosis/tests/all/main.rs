//! Causes that are known, and sentences about any.

mod bounds;
mod busy;
mod known;
mod library;
mod sentences;
