//! What other tools read.

mod csv;
mod evaluation;
mod json;
mod otf2;
mod paraver;
mod perfetto;
mod tracks;

pub use csv::{CsvError, HEADER, csv};
pub use evaluation::evaluation_csv;
pub use json::{JsonError, SCHEMA, VERSION, json};
pub use otf2::Otf2;
pub use paraver::{Paraver, ParaverLabels};
pub use perfetto::{Left, Perfetto, PerfettoError, PerfettoOptions};
pub use tracks::CommonClock;
