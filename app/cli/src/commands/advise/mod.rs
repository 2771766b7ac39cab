//! `fathomp advise`: how many threads each region deserves, and why.

mod inputs;

use crate::args::{Advise, ThreadList};
use crate::console::{Console, print};
use crate::failure::{Failure, Outcome, exit};
use crate::host;
use crate::progress::{Progress, slowly};
use crate::scored::{machine_named, weights};
use crate::{calibrate, output};
use fathomp_advise::{Advice, Choosing, Evidence, Question, SourcePatch, Target, advise};
use fathomp_analysis::Analysis;
use fathomp_predict::machine::Machine;
use fathomp_regions::Regions;
use fathomp_report::text;
use fathomp_score::Weights;
use inputs::Inputs;
use std::path::PathBuf;

pub(super) fn advise_on(plan: &Advise, console: Console) -> Outcome {
    if let Some(file) = &plan.output {
        output::check_file(file, plan.force)?;
    }
    let target = target(plan, console)?;
    let inputs = slowly(console, "looking at what regions contain", || {
        Inputs::read(&plan.inputs, &target.machine)
    })?;
    let analyses: Vec<_> = inputs.analyses.iter().collect();
    let question = Question {
        weights: weights(plan.weights.as_deref())?,
        at: plan.at.clone().map(|list| list.0).unwrap_or_default(),
        choosing: Choosing {
            worthwhile: plan.min_gain,
            ..Choosing::default()
        },
    };
    let evidence = Evidence {
        analyses: &analyses,
        regions: inputs.regions.as_ref(),
        facts: &inputs.facts,
    };
    let mut advice = slowly(console, "predicting the times of regions", || {
        advise(evidence, &target, &question)
    })?;
    advice.notes.extend(inputs.notes);
    if plan.patch {
        let patch = fathomp_advise::patch(&advice, inputs.regions.as_ref(), &mut |path| {
            std::fs::read_to_string(path).ok()
        });
        return give_patch(plan, &patch, console);
    }
    let json = advice.to_json()? + "\n";
    if let Some(file) = &plan.output {
        output::write_file(file, json.as_bytes())?;
        console.say(format!(
            "wrote {0}: follow it with `fathomp run --advice {0} -- PROG`",
            file.display()
        ));
    }
    if console.json {
        print(&json)?;
    } else {
        print(&text::advice(&advice, console.width()))?;
    }
    Ok(0)
}

/// What a report shows of scans and advice: from recordings, which were analysed, for the
/// machine that they were made on. Without a machine there is no advice; what cannot be had is said in `notes`.
pub(crate) fn for_report(
    recordings: &[PathBuf],
    analyses: &[Analysis],
    machine: Option<&Machine>,
    notes: &mut Vec<String>,
) -> (Option<Regions>, Option<Advice>) {
    let Some(machine) = machine else {
        return (None, None);
    };
    let inputs = match Inputs::beside_analyses(recordings, analyses) {
        Ok(inputs) => inputs,
        Err(failure) => {
            notes.push(format!("There is no advice: {}.", failure.sentence));
            return (None, None);
        }
    };
    let analyses: Vec<_> = analyses
        .iter()
        .filter(|one| !one.program.rehearsal)
        .collect();
    let evidence = Evidence {
        analyses: &analyses,
        regions: inputs.regions.as_ref(),
        facts: &inputs.facts,
    };
    let question = Question {
        weights: Weights::default(),
        at: Vec::new(),
        choosing: Choosing::default(),
    };
    let target = Target::measured(machine.clone(), host::packages());
    // Why not is said with what is not predicted.
    let silent = analyses.is_empty() || crate::load::disturbed(analyses.iter().copied());
    let advice = match silent {
        true => None,
        false => advise(evidence, &target, &question)
            .map_err(|error| {
                notes.push(format!(
                    "There is no advice: {}.",
                    Failure::of(&error).sentence
                ))
            })
            .ok(),
    };
    (inputs.regions, advice)
}

fn give_patch(plan: &Advise, patch: &SourcePatch, console: Console) -> Outcome {
    for sentence in &patch.left {
        console.warn(sentence);
    }
    if patch.diff.is_empty() {
        console.say("nothing in the source needs to change: all threads are worth it wherever a directive could say otherwise");
    }
    match &plan.output {
        Some(file) => {
            output::write_file(file, patch.diff.as_bytes())?;
            console.say(format!(
                "wrote {0}: {1} changed; apply it with `patch -p1 -d / < {0}`",
                file.display(),
                match patch.changed {
                    1 => "1 directive".to_owned(),
                    n => format!("{n} directives"),
                }
            ));
        }
        None => print(&patch.diff)?,
    }
    Ok(0)
}

/// The machine to advise for.
pub(crate) fn target(plan: &Advise, console: Console) -> Result<Target, Failure> {
    let target = match plan.machine.as_deref() {
        Some(name) => machine_named(name, plan.has_packages)?,
        None => here(plan.has_packages, console)?,
    };
    if let Some(packages) = plan.packages
        && packages > target.packages
    {
        return Err(Failure::new(format!(
            "{} has {} packages, not {packages}: ask for fewer with --packages, or say how many there are with --has-packages",
            target.name, target.packages
        ))
        .with_code(exit::USAGE));
    }
    Ok(match plan.packages {
        Some(packages) => target.limited(packages),
        None => target,
    })
}

/// This machine, measured before or now.
pub(crate) fn here(packages: Option<u32>, console: Console) -> Result<Target, Failure> {
    let unpacked = fathomp_runtime::unpack()?;
    let threads = ThreadList::doubling(host::usable_cpus()).0;
    let progress = Progress::start(console, threads.len());
    let calibrated = calibrate::machine(&unpacked, &threads, false, |done| {
        progress.at(done, "measuring this machine");
    });
    progress.finish();
    let calibrated = calibrated?;
    if let Some(doubt) = &calibrated.doubt {
        console.warn(doubt);
    }
    let packages = packages.unwrap_or_else(host::packages);
    Ok(Target::measured(calibrated.machine, packages))
}
