//! What a measurement leaves: a document with every sample.
//!
//! A result file is one document or several, one after the other: `cat` joins
//! the results of several suites, runs or machines. Statistics are computed
//! from documents whenever somebody looks, never stored.

use crate::machine::Machine;
use crate::settings::Settings;
use crate::suite::{Case, LeftOut, Measures, Process, Row, SuiteName};
use serde::{Deserialize, Serialize};

/// Name of the schema.
pub const SCHEMA: &str = "fathomp.bench";
/// The version written and read. It grows when a field changes its meaning or
/// goes away.
pub const VERSION: u32 = 1;

/// One measurement of one suite on one machine.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// [`SCHEMA`].
    pub schema: String,
    /// [`VERSION`].
    pub version: u32,
    /// Differs between any two measurements.
    pub id: String,
    /// When it began, nanoseconds since the Unix epoch.
    pub began_unix_ns: u64,
    /// How long it took, nanoseconds.
    pub took_ns: u64,
    /// What was measured.
    pub suite: SuiteName,
    /// Where.
    pub machine: Machine,
    /// What the clocks are worth.
    pub clocks: Clocks,
    /// How it was measured.
    pub settings: Settings,
    /// What is compared: compilers and runtimes.
    pub columns: Vec<Column>,
    /// What can be measured, in the order of tables.
    pub rows: Vec<Row>,
    /// What was measured.
    pub cells: Vec<Cell>,
    /// What could not be measured, and why.
    pub skipped: Vec<Skipped>,
    /// Sentences about what makes the numbers doubtful.
    pub warnings: Vec<String>,
}

/// A compiler's program under a runtime.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Column {
    /// The compiler as it was called.
    pub compiler: String,
    /// What it says about itself.
    pub compiler_version: String,
    /// The runtime's name.
    pub runtime: String,
    /// Its file, if it was preloaded.
    pub library: Option<String>,
    /// The protocol that shares memory, if each thread is a node of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<String>,
}

impl Column {
    /// `gcc+libgomp`.
    #[must_use]
    pub fn name(&self) -> String {
        let compiler = self.compiler.rsplit('/').next().unwrap_or(&self.compiler);
        format!("{compiler}+{}", self.runtime)
    }
}

/// One case in one column with one team size.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// What was measured.
    #[serde(flatten)]
    pub case: Case,
    /// Index of the column.
    pub column: usize,
    /// Size of the team.
    pub threads: u32,
    /// What each process measured.
    pub processes: Vec<Process>,
    /// Why one of them measured nothing, if any did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Something that was not measured.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Skipped {
    /// The row, the rows of a file, or the column.
    pub what: String,
    /// Where: the column, if only there.
    pub column: Option<String>,
    /// Why.
    pub reason: String,
}

impl Skipped {
    /// Rows that a compiler could not build.
    pub(crate) fn left_out(compiler: &str, left_out: &LeftOut) -> Self {
        let rows = if left_out.rows.is_empty() {
            "its rows".to_owned()
        } else {
            left_out.rows.clone()
        };
        Self {
            what: format!("{} ({rows})", left_out.file),
            column: Some(compiler.to_owned()),
            reason: format!("{compiler} does not build it: {}", left_out.reason),
        }
    }

    /// As a sentence without its full stop.
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.column {
            Some(column) => format!("{} with {column}: {}", self.what, self.reason),
            None => format!("{}: {}", self.what, self.reason),
        }
    }
}

/// What the clocks of a machine are worth.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Clocks {
    /// Smallest step of `CLOCK_MONOTONIC`.
    pub resolution_ns: f64,
    /// Cost of reading it.
    pub cost_ns: f64,
    /// Rate of the time stamp counter, if it is constant.
    #[serde(default)]
    pub tsc_hz: Option<f64>,
    /// Rate at which a core executed dependent additions.
    #[serde(default)]
    pub core_hz: Option<f64>,
}

impl Clocks {
    /// Clock cycles in a nanosecond and whose cycles these are.
    #[must_use]
    pub fn cycles_per_ns(&self) -> Option<(f64, &'static str)> {
        let usable = |hz: Option<f64>| hz.filter(|hz| hz.is_finite() && *hz > 0.0);
        usable(self.core_hz)
            .map(|hz| (hz * 1e-9, "core clock, measured"))
            .or_else(|| usable(self.tsc_hz).map(|hz| (hz * 1e-9, "time stamp counter")))
    }
}

/// Why a document does not hold together.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum DocumentError {
    /// Another kind of file.
    #[error("its schema is \"{0}\" instead of \"{SCHEMA}\"")]
    Schema(String),
    /// Written by another version of fathomp.
    #[error("its version is {0}, and only {VERSION} is understood")]
    Version(u32),
    /// A part refers to one that is not there, or a number cannot be.
    #[error("{0}")]
    Content(String),
}

impl Document {
    /// Looks for what statistics could not cope with.
    ///
    /// # Errors
    /// The first thing found.
    pub fn check(&self) -> Result<(), DocumentError> {
        if self.schema != SCHEMA {
            return Err(DocumentError::Schema(self.schema.clone()));
        }
        if self.version != VERSION {
            return Err(DocumentError::Version(self.version));
        }
        let content = |words: String| Err(DocumentError::Content(words));
        for cell in &self.cells {
            let name = &cell.case.row;
            let Some(row) = self.row(name) else {
                return content(format!(
                    "it has samples of \"{name}\", which it does not list"
                ));
            };
            if row.parameters.len() != cell.case.values.len() {
                return content(format!(
                    "a case of \"{name}\" has the wrong number of values"
                ));
            }
            if cell.column >= self.columns.len() {
                return content(format!("a case of \"{name}\" belongs to no column"));
            }
            if cell.threads == 0 {
                return content(format!("a case of \"{name}\" has no threads"));
            }
            for process in &cell.processes {
                if let Err(reason) = process.check(row.measures == Measures::Overhead) {
                    return content(format!("in a case of \"{name}\", {reason}"));
                }
            }
        }
        Ok(())
    }

    /// The row of that name.
    #[must_use]
    pub fn row(&self, name: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.row == name)
    }
}
