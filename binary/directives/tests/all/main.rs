//! Sources in each language, and files that are none.

mod bad_input;
mod languages;
