//! What recording its paging costs a program: runs without and with recording, in turn, beside
//! what the published profiling library cost on the Intel Paragon (Wang and Marinescu 1995).

mod document;
mod published;
mod table;

pub use document::{
    Counted, Document, Percent, Recorded, Round, Row, Run, SCHEMA, Subject, VERSION,
};
pub use published::{PublishedRow, published, published_range_percent};
pub use table::table;

/// Name of the file with a [`Document`] in a recording's directory.
pub const INTRUSION_FILE: &str = "intrusion.json";
