//! `fathomp predict`: time and speedup at other numbers of threads.

use crate::args::Predict;
use crate::evidence::{self, Target};
use crate::failure::{Failure, Outcome};
use crate::voice::{Voice, print};
use fathomp_predict::machine::Machine;
use fathomp_report::text;
use std::path::Path;

pub(super) fn predict(plan: &Predict, voice: Voice) -> Outcome {
    let target = Target {
        machine: machine(plan.machine.as_deref())?,
        cores: plan.cores,
    };
    let analyses = evidence::analyses(&plan.recordings)?;
    let at = plan.at.clone().map(|list| list.0).unwrap_or_default();
    let prediction = evidence::predict(&analyses, target, at)?;
    if voice.json {
        // It carries its own schema and version.
        print(&(serde_json::to_string_pretty(&prediction)? + "\n"))?;
    } else {
        print(&text::prediction(&prediction, voice.width()))?;
    }
    Ok(0)
}

/// The machine to predict for, if the user named one.
pub(super) fn machine(path: Option<&Path>) -> Result<Option<Machine>, Failure> {
    path.map(|path| Machine::read(path).map_err(|error| Failure::of(&error)))
        .transpose()
}
