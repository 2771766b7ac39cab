//! `fathomp predict --evaluate`: predictions held against measurements of many programs.

mod cases;
mod kept;
mod runs;

use super::advise;
use crate::args::{Evaluating, Predict, UtilisationName};
use crate::console::{Console, print};
use crate::failure::{Failure, Outcome, exit};
use crate::output;
use fathomp_advise::evaluate::{Evaluation, Utilisation, evaluate};
use fathomp_advise::{Choosing, Target};
use fathomp_report::{evaluation_page, export, text};
use kept::Kept;
use std::path::Path;
use std::time::Instant;

pub(super) fn evaluate_on(plan: &Predict, console: Console) -> Outcome {
    let asked = &plan.evaluating;
    for file in asked.output.iter().chain(&asked.csv) {
        output::check_file(file, asked.force)?;
    }
    let mut notes = Vec::new();
    let spool;
    let (kept, directory): (Kept, &Path) = match (&asked.load, &asked.save) {
        (Some(from), _) => (Kept::read(from)?, from),
        (None, Some(save)) => {
            output::check_directory(save, asked.force)?;
            (measure(plan, save, console, &mut notes)?, save)
        }
        (None, None) => {
            spool = tempfile::tempdir()
                .map_err(|error| Failure::unwritable(&std::env::temp_dir(), &error))?;
            (
                measure(plan, spool.path(), console, &mut notes)?,
                spool.path(),
            )
        }
    };
    notes.extend(kept.notes.iter().cloned());
    let target = Target::measured(kept.machine(directory)?, kept.packages);
    let weights = crate::scored::weights(asked.weights.as_deref())?;
    let gathered = cases::gather(&kept, directory, &target, &weights, asked.include_noisy)?;
    notes.extend(gathered.notes);
    let utilisation = match asked.utilisation {
        UtilisationName::Added => Utilisation::Added,
        UtilisationName::Share => Utilisation::Share,
    };
    let mut evaluation = evaluate(
        &gathered.cases,
        &target,
        kept.unit,
        kept.units,
        utilisation,
        Choosing::default(),
    );
    if evaluation.regions == 0 {
        if gathered.cases.is_empty() {
            return Err(Failure::new(format!(
                "no region is left to judge{}: give more with --budget, or fewer programs with --programs",
                notes.iter().fold(String::new(), |all, note| all
                    + "; "
                    + note.trim_end_matches('.'))
            )));
        }
        return Err(Failure::new(format!(
            "no region has sound times with both numbers of threads ({} runs of regions were disturbed by other programs): evaluate on a quiet machine with a larger --budget, or use what there is with --include-noisy",
            evaluation.disturbed
        )));
    }
    let cache = target.machine.caches.last();
    let machine = fathomp_score::Machine {
        cache_bytes: cache.map_or(0.0, |cache| cache.bytes as f64),
        packages: kept.units,
    };
    let rules = fathomp_score::Rules::default();
    let kernels: Vec<_> = gathered.kernels.into_iter().flatten().collect();
    evaluation.sensitivity = fathomp_score::sensitivity(&kernels, &machine, &rules, &weights);
    let (runs, disturbed) = gathered.runs;
    if asked.include_noisy && disturbed > 0 {
        let doubt = format!(
            "{disturbed} of the {runs} runs of regions that this rests on were disturbed by other programs: their times, and all that follows from them, are doubtful."
        );
        console.warn(&doubt);
        notes.push(doubt);
    }
    give(asked, &evaluation, &notes, console)
}

fn give(
    asked: &Evaluating,
    evaluation: &Evaluation,
    notes: &[String],
    console: Console,
) -> Outcome {
    if let Some(file) = &asked.output {
        output::write_file(file, evaluation_page(evaluation, notes)?.as_bytes())?;
        console.say(format!("wrote {}", file.display()));
    }
    if let Some(file) = &asked.csv {
        output::write_file(file, export::evaluation_csv(evaluation).as_bytes())?;
        console.say(format!("wrote {}", file.display()));
    }
    for note in notes {
        console.say(note);
    }
    if console.json {
        print(&(serde_json::to_string_pretty(evaluation)? + "\n"))?;
    } else {
        print(&text::evaluation(evaluation, console.width()))?;
    }
    Ok(0)
}

/// Runs the programs.
fn measure(
    plan: &Predict,
    directory: &Path,
    console: Console,
    notes: &mut Vec<String>,
) -> Result<Kept, Failure> {
    let begun = Instant::now();
    let target = match &plan.machine {
        Some(file) => {
            let machine = crate::load::machine(Some(file))?;
            let machine = machine.ok_or_else(|| Failure::new("no machine was given"))?;
            Target::measured(machine, crate::host::packages())
        }
        None => advise::here(None, console)?,
    };
    if target.machine.cores < 2 {
        return Err(Failure::new(
            "there is one core only, so that no choice is left: evaluate on a machine with two or more",
        )
        .with_code(exit::FAILED));
    }
    runs::measure(
        &plan.evaluating,
        &target,
        directory,
        begun,
        (console, notes),
    )
}
