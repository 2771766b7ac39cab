//! One module per command. Each takes its plan and the console to speak with.

mod advise;
mod bench;
mod bench_parts;
mod calibrate;
#[cfg(not(feature = "cluster"))]
#[path = "no_cluster.rs"]
mod cluster;
#[cfg(feature = "cluster")]
mod cluster;
mod compare;
mod completions;
mod doctor;
mod evaluate;
mod man;
#[cfg(not(feature = "paging"))]
#[path = "no_intrusion.rs"]
mod measure_intrusion;
#[cfg(feature = "paging")]
mod measure_intrusion;
mod overheads;
mod predict;
mod record;
mod record_end;
mod record_ranks;
mod regions;
mod report;
mod run;
mod runtime_path;
mod scan;
mod share;
mod study;
mod study_end;
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
        Command::Scan(plan) => scan::scan(&plan, console),
        Command::Report(plan) => report::report(&plan, console),
        Command::Compare(plan) => compare::compare(&plan, console),
        Command::Bench(plan) => bench::bench(&plan, console),
        Command::Doctor => doctor::doctor(console),
        Command::Run(plan) => run::run(&plan, console),
        Command::Share(plan) => share::share(&plan, console),
        Command::Record(plan) => record::record(&plan, console),
        Command::Calibrate(plan) => calibrate::calibrate(&plan, console),
        Command::Workload(plan) => workload::workload(&plan, console),
        Command::Completions(plan) => completions::completions(plan, console),
        Command::Man(plan) => man::man(&plan, console),
        Command::ProgramGuard => {
            launch::guard();
            Ok(0)
        }
        Command::RuntimePath => runtime_path::runtime_path(console),
        Command::Cluster(command) => cluster::carry_out(&command, console),
        Command::Paging(command) => paging::carry_out(&command, console),
    }
}
