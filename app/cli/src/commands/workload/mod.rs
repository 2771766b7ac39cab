//! `fathomp workload`: the OpenMP programs that fathomp brings.

mod build;
mod figures;
mod list;
mod memory;
mod run;
mod verify;
mod workshop;

use crate::args::Workload;
use crate::args::workload::Action;
use crate::console::Console;
use crate::failure::Outcome;

pub(super) use memory::check as fits;
pub(super) use workshop::Workshop;

pub(super) fn workload(plan: &Workload, console: Console) -> Outcome {
    match &plan.action {
        Action::List(plan) => list::list(plan, console),
        Action::Build(plan) => build::build(plan, console),
        Action::Run(plan) => run::run(plan, console),
        Action::Verify(plan) => verify::verify(plan, console),
        Action::Figures(plan) => figures::figures(plan, console),
    }
}
