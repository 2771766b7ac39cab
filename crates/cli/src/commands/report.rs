//! `fathomp report`: one offline page from recordings that exist.

use crate::args::Report;
use crate::evidence::Target;
use crate::failure::{Failure, Outcome};
use crate::voice::Voice;
use crate::{evidence, output, study};
use fathomp_report::Input;
use serde::Serialize;
use std::path::Path;

#[derive(Serialize)]
struct Answer<'a> {
    report: &'a Path,
    recordings: usize,
    notes: &'a [String],
}

pub(super) fn report(plan: &Report, voice: Voice) -> Outcome {
    output::check_file(&plan.output, plan.force)?;
    let mut notes = Vec::new();
    let mut machine = super::predict::machine(plan.machine.as_deref())?;
    for input in &plan.inputs {
        if let Some(index) = study::index_of(input)? {
            notes.extend(index.notes);
            if machine.is_none() {
                machine =
                    super::predict::machine(Some(&input.join("machine.json"))).unwrap_or_default();
            }
        }
    }
    let target = Target {
        machine,
        cores: plan.cores,
    };
    let analyses = evidence::analyses(&plan.inputs)?;
    let prediction = evidence::predict_or_note(&analyses, target, &mut notes);
    let page = fathomp_report::page(&Input {
        analyses: &analyses,
        prediction: prediction.as_ref(),
        notes: &notes,
    })
    .map_err(|error| Failure::of(&error))?;
    output::write_file(&plan.output, page.as_bytes())?;
    voice.say(format!("wrote {}", plan.output.display()));
    if voice.json {
        let answer = Answer {
            report: &plan.output,
            recordings: analyses.len(),
            notes: &notes,
        };
        voice.result("fathomp.report", &answer, String::new)?;
    }
    Ok(0)
}
