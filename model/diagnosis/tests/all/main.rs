//! Causes that are known, and sentences about any.

mod between;
mod bounds;
mod busy;
mod known;
mod library;
mod ranks;
mod sentences;
mod tasks;
