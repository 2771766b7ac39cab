//! What other tools read.

mod csv;
mod evaluation;
mod json;
mod perfetto;

pub use csv::{CsvError, HEADER, csv};
pub use evaluation::evaluation_csv;
pub use json::{JsonError, SCHEMA, VERSION, json};
pub use perfetto::{Left, PerfettoError, PerfettoOptions, perfetto};
