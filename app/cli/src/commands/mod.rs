//! One module per command. Each takes its plan and the voice to speak with.

mod advise;
mod bench;
mod bench_dsm;
mod bench_parts;
mod bench_simulated;
mod calibrate;
mod completions;
mod doctor;
mod evaluate;
mod forecast;
mod host_agent;
mod man;
mod measure_intrusion;
mod overheads;
mod predict;
mod predict_hosts;
mod record;
mod regions;
mod report;
mod run;
mod runtime_path;
mod scan;
mod share;
mod sharing;
mod study;
mod study_end;
mod study_hosts;
mod versus;
mod workload;

use crate::args::{Arguments, Command, unused};
use crate::failure::{Failure, Outcome, exit};
use crate::voice::Voice;
use crate::{launch, paging};
use clap::ArgMatches;

/// Carries out what the user asked for.
pub(crate) fn carry_out(arguments: Arguments, matches: &ArgMatches) -> Outcome {
    let voice = Voice {
        json: arguments.json,
        quiet: arguments.quiet,
    };
    if let Some(sentence) = arguments.command.contradiction() {
        return Err(Failure::new(sentence).with_code(exit::USAGE));
    }
    if let Some(sentence) = unused(matches) {
        return Err(Failure::new(sentence).with_code(exit::USAGE));
    }
    launch::guard_programs();
    match arguments.command {
        Command::Study(plan) => study::study(&plan, voice),
        Command::Regions(plan) => regions::regions(&plan, voice),
        Command::Advise(plan) => advise::advise_on(&plan, voice),
        Command::Predict(plan) => predict::predict(&plan, voice),
        Command::Simulate(plan) => fathomp_cluster_commands::simulate(&plan, voice),
        Command::Scan(plan) => scan::scan(&plan, voice),
        Command::Skyline(plan) => paging::skyline(&plan, voice),
        Command::Report(plan) => report::report(&plan, voice),
        Command::Bench(plan) => bench::bench(&plan, voice),
        Command::Doctor => doctor::doctor(voice),
        Command::Run(plan) => run::run(&plan, voice),
        Command::Share(plan) => share::share(&plan, voice),
        Command::Sharing(plan) => sharing::sharing(&plan, voice),
        Command::Record(plan) => record::record(&plan, voice),
        Command::Collect(plan) => paging::collect(&plan, voice),
        Command::Calibrate(plan) => calibrate::calibrate(&plan, voice),
        Command::Workload(plan) => workload::workload(&plan, voice),
        Command::Completions(plan) => completions::completions(plan, voice),
        Command::Man(plan) => man::man(&plan, voice),
        Command::HostAgent(plan) => host_agent::host_agent(plan),
        Command::ProgramGuard => {
            launch::guard();
            Ok(0)
        }
        Command::WireFloor(plan) => crate::hosts::wire_floor(&plan, voice),
        Command::RuntimePath => runtime_path::runtime_path(voice),
    }
}
