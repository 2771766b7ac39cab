//! Everything as JSON.

use crate::Input;
use fathomp_analysis::Analysis;
use fathomp_diagnosis::{Cause, Verdict};
use fathomp_predict::Prediction;
use fathomp_shared_lines::Findings;
use serde::Serialize;
use std::collections::BTreeMap;
use std::io::Write;
use thiserror::Error;

/// Name of the schema.
pub const SCHEMA: &str = "fathomp.report";
/// Version of the schema. Fields are only ever added; a change of meaning
/// raises it. The parts carry versions of their own.
pub const VERSION: u32 = 1;

/// Why JSON could not be written.
#[derive(Debug, Error)]
pub enum JsonError {
    /// The output failed.
    #[error("cannot write the JSON export: {0}; free some space or choose another place")]
    Write(#[source] std::io::Error),
    /// The data cannot be expressed.
    #[error("cannot express the report as JSON: {0}; please report this as a bug of fathomp")]
    Data(#[source] serde_json::Error),
}

#[derive(Serialize)]
struct Everything<'a> {
    schema: &'static str,
    version: u32,
    /// In the order given.
    analyses: &'a [Analysis],
    prediction: Option<&'a Prediction>,
    /// Why the program does not run faster, most expensive first.
    causes: &'a [Cause],
    #[serde(skip_serializing_if = "Option::is_none")]
    sharing: Option<&'a Findings>,
    /// What wings bring, each by its name.
    #[serde(flatten)]
    sections: BTreeMap<&'static str, serde_json::Value>,
    notes: &'a [String],
}

/// Writes all that the report knows as one JSON object, ending in a newline.
///
/// # Errors
/// If `out` fails.
pub fn json(input: &Input<'_>, verdict: &Verdict, mut out: impl Write) -> Result<(), JsonError> {
    let sections = input.sections.iter();
    let sections = sections.map(|one| Ok((one.id(), one.json()?)));
    let everything = Everything {
        schema: SCHEMA,
        version: VERSION,
        analyses: input.analyses,
        prediction: input.prediction,
        causes: &verdict.diagnosis.causes,
        sharing: input.sharing,
        sections: sections
            .collect::<Result<_, _>>()
            .map_err(JsonError::Data)?,
        notes: input.notes,
    };
    serde_json::to_writer(&mut out, &everything).map_err(|error| {
        if error.is_io() {
            JsonError::Write(error.into())
        } else {
            JsonError::Data(error)
        }
    })?;
    out.write_all(b"\n").map_err(JsonError::Write)?;
    out.flush().map_err(JsonError::Write)
}
