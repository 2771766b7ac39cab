//! How many threads regions get by advice, as text between the launcher and the runtime.
//!
//! The launcher hands the runtime a [`Table`] of advice, and reads what was chosen as
//! [`Choices`].
#![forbid(unsafe_code)]

mod choices;
mod table;

pub use choices::{Choice, Choices, ChoicesError, Why};
pub use table::{Advised, Table, TableError, TableModule};
