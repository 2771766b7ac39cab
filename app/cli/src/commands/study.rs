//! `fathomp study`: calibrate, record at several thread counts, predict,
//! report.

use super::cluster;
use super::study_end::{tell, words, write};
use crate::args::{RuntimeArg, Study as Plan, ThreadList};
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::launch::{Repeatable, Stdin};
use crate::load::Target;
use crate::program::{self, Program};
use crate::progress::Progress;
use crate::runtimes::Watched;
use crate::study::Study;
use crate::study::job::{Job, rehearsal_threads};
use crate::study::team::{Team, counted};
use crate::{calibrate, host, load, output, sources};
use fathomp_diagnosis::Soundness;
use fathomp_predict::Outcome as Predicted;
use fathomp_predict::machine::Machine;
use fathomp_report::Input;
use fathomp_runtime::Unpacked;

pub(super) fn study(plan: &Plan, console: Console) -> Outcome {
    let program = program::examine(&plan.program.command)?;
    if let runtimes @ [_, _, ..] = &plan.runtime.0[..] {
        return as_launcher(super::versus::versus(plan, runtimes, &program, console));
    }
    if let Some(ranks) = &plan.ranks {
        return as_launcher(super::study_ranks::over_ranks(
            plan, ranks, &program, console,
        ));
    }
    as_launcher(match cluster::study(plan, &program, console) {
        Ok(None) => carry_out(plan, &program, console),
        Ok(Some(code)) => Ok(code),
        Err(failure) => Err(failure),
    })
}

/// Failures of fathomp itself have a code of their own.
fn as_launcher(done: Outcome) -> Outcome {
    done.map_err(|failure| match failure.code {
        exit::FAILED => failure.with_code(exit::LAUNCHER),
        _ => failure,
    })
}

fn carry_out(plan: &Plan, program: &Program, console: Console) -> Outcome {
    output::check_file(&plan.output, plan.force || plan.goes_on)?;
    Study::check(&plan.directory, plan.force || plan.goes_on)?;
    let unpacked = fathomp_runtime::unpack()?;
    let asked = plan.runtime.0.first().unwrap_or(&RuntimeArg::Fathomp);
    let runtime = Watched::prepare(asked, program, &unpacked)?;
    let teams = Team::all(plan, None);
    let mut study = match plan.goes_on {
        true => Study::go_on(&plan.directory, words(program))?,
        false => Study::create(&plan.directory, words(program))?,
    };

    // Steps: calibrating, the runs, the rehearsal, predicting and looking, reporting.
    let runs = teams.len() * plan.repeat.unwrap_or(1) as usize;
    let rehearsal = rehearsal_threads(plan, &teams);
    let rehearsed = runs + usize::from(rehearsal.is_some());
    let progress = Progress::start(console, rehearsed + 3);
    let machine = match plan.quick {
        true => known(&mut study, &unpacked)?,
        false => {
            progress.at(0, "measuring this machine");
            progress.slowly("measuring this machine", || {
                measure(&mut study, &unpacked, &teams)
            })?
        }
    };
    progress.slowly("looking at the program's code", || {
        crate::plan::keep(program);
    });

    let job = Job {
        plan,
        console,
        program,
        unpacked: &unpacked,
        runtime: runtime.as_ref(),
        teams: &teams,
        across: None,
        progress: &progress,
        stdin: input(&study),
        machine: machine.as_ref(),
    };
    let mut runs_made = job.record_all(&mut study)?;
    if plan.quick {
        study.index.notes.push(QUICK.to_owned());
    } else {
        job.record_again(&mut study, &mut runs_made)?;
        job.record_more(&mut study, &mut runs_made)?;
        job.compare_outputs(&study, &mut runs_made)?;
    }
    if let Some(threads) = rehearsal {
        progress.at(rehearsed, format!("rehearsing with {}", counted(threads)));
        job.rehearse(&mut study, threads, &mut runs_made)?;
    }
    let soundness = Soundness::of(&runs_made.analyses);
    let slight = soundness.slight_difference.clone();
    study.index.notes.extend(slight);

    progress.at(rehearsed + 1, "predicting");
    let target = Target {
        machine: machine.clone(),
        cores: plan.cores,
    };
    let mut notes = std::mem::take(&mut study.index.notes);
    let prediction = progress.slowly("predicting", || {
        load::predict_or_note(&runs_made.analyses, &soundness, &target, &mut notes)
    });
    let recordings = study.recordings();
    let (regions, advice) = progress.slowly("looking at what regions contain", || {
        super::advise::for_report(
            &recordings,
            &runs_made.analyses,
            machine.as_ref(),
            &mut notes,
        )
    });
    let advice = advice.filter(|_| soundness.broken.is_none());
    if let Some(advice) = &advice {
        let json = advice.to_json()? + "\n";
        output::write_file(&study.path("advice.json"), json.as_bytes())?;
    }
    study.index.notes = notes;
    let sources = sources::read(&runs_made.analyses);
    let seen = Input {
        sources: Some(&sources),
        regions: regions.as_ref(),
        advice: advice.as_ref(),
        analyses: &runs_made.analyses,
        prediction: prediction.as_ref().and_then(Predicted::threads),
        machine: machine.as_ref(),
        ..Input::default()
    };
    // What the causes leave open is looked at, and is evidence for them in its turn.
    let mut verdict = seen.conclude(soundness);
    let mut samples = None;
    if let Some(main) = seen.main() {
        progress.at(rehearsed + 1, "looking where threads are");
        let (looked, interrupted) =
            job.look_where_threads_are(&study, &runs_made, main, &verdict.diagnosis)?;
        samples = looked;
        runs_made.interrupted = runs_made.interrupted.or(interrupted);
    }
    let seen = Input {
        samples: samples.as_ref(),
        ..seen
    };
    if samples.is_some() {
        verdict = seen.conclude(verdict.soundness);
    }
    let step = rehearsed + 1;
    let sharing =
        cluster::look_for_sharing(&job, &mut study, (&runs_made, step), &verdict.diagnosis)?;
    let seen = Input {
        sharing: sharing.as_ref(),
        ..seen
    };
    if sharing.is_some() {
        verdict = seen.conclude(verdict.soundness);
    }

    progress.at(rehearsed + 2, "writing the report");
    study.save()?;
    let input = Input {
        notes: &study.index.notes,
        ..seen
    };
    progress.slowly("writing the report", || {
        write(plan, &study, &input, &verdict)
    })?;
    progress.finish();
    tell(plan, &study, &runs_made, &input, &verdict, console)
}

/// What the program reads: the input that the study has kept, or that of this command.
fn input(study: &Study) -> Repeatable {
    let kept = study.path("stdin");
    match kept.is_file() {
        true => Repeatable::Spooled(kept),
        false => Stdin::for_several_runs(kept),
    }
}

/// What a study lacks that was made after one run.
const QUICK: &str = "This is the answer after one run: how the program does with fewer threads was not measured. \
     The same command with --continue in place of --quick makes the rest.";

/// What this machine costs, as far as it was measured before.
fn known(study: &mut Study, unpacked: &Unpacked) -> Result<Option<Machine>, Failure> {
    let usable = ThreadList::doubling(host::usable_cpus());
    let Some(machine) = calibrate::known(unpacked, &usable.0) else {
        let unknown = "This machine has not been measured, which a quick study leaves out: \
                       `fathomp calibrate` makes predictions more certain.";
        study.index.notes.push(unknown.to_owned());
        return Ok(None);
    };
    let text = machine.to_json()? + "\n";
    output::write_file(&study.path("machine.json"), text.as_bytes())?;
    Ok(Some(machine))
}

/// What this machine costs. Without that, predictions are less certain, but
/// the study goes on.
fn measure(
    study: &mut Study,
    unpacked: &Unpacked,
    teams: &[Team],
) -> Result<Option<Machine>, Failure> {
    let usable = ThreadList::doubling(host::usable_cpus());
    // Prices beyond the processors are those of oversubscription, which the
    // model knows as a term of its own.
    let within: Vec<u32> = teams
        .iter()
        .map(|team| team.threads())
        .filter(|t| usable.0.last() >= Some(t))
        .collect();
    let at = if within.is_empty() { usable.0 } else { within };
    match calibrate::machine(unpacked, &at, false, |_| {}) {
        Ok(calibrated) => {
            let text = calibrated.machine.to_json()? + "\n";
            output::write_file(&study.path("machine.json"), text.as_bytes())?;
            study.index.notes.extend(calibrated.doubt);
            Ok(Some(calibrated.machine))
        }
        Err(error) => {
            let why = Failure::from(error).sentence;
            study
                .index
                .notes
                .push(format!("This machine was not measured: {why}."));
            Ok(None)
        }
    }
}
