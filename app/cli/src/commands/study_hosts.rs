//! `fathomp study --hosts`: measure the hosts, record on more and more of them, report.

use super::study_end::{tell, words, write};
use crate::args::Study as Plan;
use crate::console::Console;
use crate::failure::Outcome;
use crate::hosts::Across;
use crate::launch::Stdin;
use crate::load::{self, Target};
use crate::program::Program;
use crate::progress::Progress;
use crate::study::Study;
use crate::study::hosts;
use crate::study::job::Job;
use crate::study::team::Team;
use crate::{output, sources};
use fathomp_diagnosis::Soundness;
use fathomp_predict::Outcome as Predicted;
use fathomp_report::Input;

pub(super) fn on_hosts(
    plan: &Plan,
    program: &Program,
    across: &Across,
    console: Console,
) -> Outcome {
    output::check_file(&plan.output, plan.force)?;
    Study::check(&plan.directory, plan.force)?;
    let unpacked = fathomp_runtime::unpack()?;
    let teams = Team::all(plan, Some(across));
    let mut study = Study::create(&plan.directory, words(program))?;

    // Steps: measuring the hosts, the runs, comparing, reporting.
    let runs = teams.len() * plan.repeat.unwrap_or(1) as usize;
    let progress = Progress::start(console, runs + 3);
    progress.at(0, "measuring the hosts");
    let prices = hosts::measure(&mut study, plan, &unpacked, across)?;
    let job = Job {
        plan,
        console,
        program,
        unpacked: &unpacked,
        runtime: None,
        teams: &teams,
        across: Some(across),
        progress: &progress,
        stdin: Stdin::for_several_runs(study.path("stdin")),
        machine: None,
    };
    let mut runs_made = job.record_all(&mut study)?;
    job.compare_outputs(&study, &mut runs_made)?;

    progress.at(runs + 1, "comparing with models");
    let target = Target {
        machine: None,
        cores: None,
    };
    let compared = prices.and_then(|prices| {
        let notes = &mut study.index.notes;
        load::compare_or_note(&runs_made.analyses, &target, &prices, notes)
    });
    let recordings = study.recordings();
    let notes = &mut study.index.notes;
    let (regions, _) = super::advise::for_report(&recordings, &[], None, notes);
    let sources = sources::read(&runs_made.analyses);

    progress.at(runs + 2, "writing the report");
    study.save()?;
    let input = Input {
        sources: Some(&sources),
        regions: regions.as_ref(),
        analyses: &runs_made.analyses,
        nodes: compared.as_ref().and_then(Predicted::observed),
        notes: &study.index.notes,
        ..Input::default()
    };
    let verdict = input.conclude(Soundness::of(&runs_made.analyses));
    write(plan, &study, &input, &verdict)?;
    progress.finish();
    for sentence in hosts::scaling(&teams, &runs_made.analyses) {
        console.say(sentence);
    }
    tell(plan, &study, &runs_made, &input, &verdict, console)
}
