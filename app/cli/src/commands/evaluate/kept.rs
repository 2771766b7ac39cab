//! What was measured, as files that an evaluation can be repeated from.
//!
//!     DIR/
//!       evaluation-runs.json     programs, sizes, runs
//!       machine.json             what the machine costs
//!       recordings/<N>           one recording a run

use crate::failure::Failure;
use crate::output;
use fathomp_predict::machine::Machine;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const SCHEMA: &str = "fathomp.evaluation-runs";
const VERSION: u32 = 1;
const INDEX: &str = "evaluation-runs.json";
const MACHINE: &str = "machine.json";

/// The index.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    schema: String,
    version: u32,
    /// Threads of one unit.
    pub(super) unit: u32,
    /// Units.
    pub(super) units: u32,
    /// Packages of the machine.
    pub(super) packages: u32,
    /// Programs that ran.
    pub(super) programs: Vec<Measured>,
    /// Sentences about how it was measured.
    #[serde(default)]
    pub(super) notes: Vec<String>,
}

/// A program that ran.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    pub(super) benchmark: String,
    pub(super) size: String,
    pub(super) runs: Vec<Run>,
}

/// A run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Run {
    pub(super) threads: u32,
    /// Relative to the directory.
    pub(super) recording: PathBuf,
}

impl Kept {
    pub(super) fn new(unit: u32, units: u32, packages: u32) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            version: VERSION,
            unit,
            units,
            packages,
            programs: Vec::new(),
            notes: Vec::new(),
        }
    }

    /// Reads what an earlier evaluation kept.
    pub(super) fn read(directory: &Path) -> Result<Self, Failure> {
        let path = directory.join(INDEX);
        let text = std::fs::read_to_string(&path).map_err(|error| {
            Failure::new(format!(
                "cannot read {}: {error}: give a directory that `fathomp predict --evaluate --save` filled",
                path.display()
            ))
        })?;
        let kept: Self = serde_json::from_str(&text).map_err(|error| {
            Failure::new(format!(
                "{} is damaged ({error}): evaluate anew with --evaluate --save",
                path.display()
            ))
        })?;
        let sound =
            kept.unit >= 1 && kept.units >= 2 && kept.unit <= 1 << 16 && kept.units <= 1 << 16;
        if kept.schema != SCHEMA || kept.version != VERSION || !sound {
            return Err(Failure::new(format!(
                "{} is from another version: evaluate anew with --evaluate --save",
                path.display()
            )));
        }
        Ok(kept)
    }

    /// Writes the index as it is now, so that an interrupted evaluation can be read.
    pub(super) fn save(&self, directory: &Path) -> Result<(), Failure> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        output::write_file(&directory.join(INDEX), text.as_bytes())
    }

    pub(super) fn save_machine(directory: &Path, machine: &Machine) -> Result<(), Failure> {
        output::write_file(
            &directory.join(MACHINE),
            (machine.to_json()? + "\n").as_bytes(),
        )
    }

    pub(super) fn machine(&self, directory: &Path) -> Result<Machine, Failure> {
        Machine::read(&directory.join(MACHINE)).map_err(|error| Failure::of(&error))
    }
}
