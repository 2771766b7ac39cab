//! One module per command. Each takes its plan and the console to speak with.

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
mod study_ranks;
mod traces;
mod versus;
mod workload;

use crate::args::{Arguments, Command, unused};
use crate::console::Console;
use crate::failure::{Failure, Outcome, exit};
use crate::{launch, paging};
use clap::ArgMatches;

/// Carries out what the user asked for.
pub(crate) fn carry_out(arguments: Arguments, matches: &ArgMatches) -> Outcome {
    let console = Console {
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
        Command::Study(plan) => study::study(&plan, console),
        Command::Regions(plan) => regions::regions(&plan, console),
        Command::Advise(plan) => advise::advise_on(&plan, console),
        Command::Predict(plan) => predict::predict(&plan, console),
        Command::Simulate(plan) => fathomp_cluster_commands::simulate(&plan, console),
        Command::Scan(plan) => scan::scan(&plan, console),
        Command::Skyline(plan) => paging::skyline(&plan, console),
        Command::Report(plan) => report::report(&plan, console),
        Command::Bench(plan) => bench::bench(&plan, console),
        Command::Doctor => doctor::doctor(console),
        Command::Run(plan) => run::run(&plan, console),
        Command::Share(plan) => share::share(&plan, console),
        Command::Sharing(plan) => sharing::sharing(&plan, console),
        Command::Record(plan) => record::record(&plan, console),
        Command::Collect(plan) => paging::collect(&plan, console),
        Command::Calibrate(plan) => calibrate::calibrate(&plan, console),
        Command::Workload(plan) => workload::workload(&plan, console),
        Command::Completions(plan) => completions::completions(plan, console),
        Command::Man(plan) => man::man(&plan, console),
        Command::HostAgent(plan) => host_agent::host_agent(plan),
        Command::ProgramGuard => {
            launch::guard();
            Ok(0)
        }
        Command::WireFloor(plan) => crate::hosts::wire_floor(&plan, console),
        Command::RuntimePath => runtime_path::runtime_path(console),
    }
}
