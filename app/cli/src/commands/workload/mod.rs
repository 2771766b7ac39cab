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
use crate::failure::Outcome;
use crate::voice::Voice;

pub(super) use memory::check as fits;
pub(super) use workshop::Workshop;

pub(super) fn workload(plan: &Workload, voice: Voice) -> Outcome {
    match &plan.action {
        Action::List(plan) => list::list(plan, voice),
        Action::Build(plan) => build::build(plan, voice),
        Action::Run(plan) => run::run(plan, voice),
        Action::Verify(plan) => verify::verify(plan, voice),
        Action::Figures(plan) => figures::figures(plan, voice),
    }
}
