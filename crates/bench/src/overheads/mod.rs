//! What each OpenMP construct costs under several runtimes.
//!
//! One binary, built once by the C compiler, runs under every runtime; which
//! runtime answers its calls is decided by a preload. A round runs each
//! construct under runtime A, B, C and then goes on to the next construct, so
//! the runs that are compared lie within a fraction of a second of each other.
//! Every run is a process of its own: a construct that hangs or crashes costs
//! its own row and nothing else.

mod compare;
mod plan;
mod suite;
mod table;
mod trial;

pub use compare::{Comparison, Cost, Row, Verdict, compare};
pub use plan::{Config, Plan, Policy, Runtime, find_libomp};
pub use suite::{BuildError, Suite};
pub use table::render;
pub use trial::{Failure, Samples, Trials};

use crate::machine::Machine;
use serde::Serialize;

/// Everything one call of [`run`] found out.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// Always `fathomp.bench.overheads`.
    pub schema: &'static str,
    /// Version of the schema.
    pub version: u32,
    /// Where it was measured.
    pub machine: Machine,
    /// What was asked for.
    pub plan: Plan,
    /// Steps of the delay loop in one repetition's work.
    pub delay_steps: u64,
    /// One comparison per thread count and wait policy.
    pub comparisons: Vec<Comparison>,
    /// Sentences about what makes the numbers doubtful.
    pub warnings: Vec<String>,
}

/// One step of the work, for progress displays.
#[derive(Debug, Clone, Copy)]
pub struct Step<'a> {
    /// Steps already done.
    pub done: usize,
    /// All steps.
    pub total: usize,
    /// What runs now.
    pub construct: &'a str,
    /// Under which runtime.
    pub runtime: &'a str,
}

/// Builds the suite and runs the plan; `progress` hears of every step.
///
/// # Errors
/// When the suite cannot be built or the plan names no construct. A construct
/// that fails under a runtime is no error: its row says so.
pub fn run(plan: &Plan, mut progress: impl FnMut(Step<'_>)) -> Result<Outcome, BuildError> {
    let machine = Machine::read();
    let suite = Suite::build(&plan.compiler)?;
    let constructs = suite.select(&plan.only)?;
    let delay_steps = suite.calibrate(plan.delay_ns)?;
    let total = plan.configs().len() * plan.rounds * constructs.len() * plan.runtimes.len();
    let mut done = 0;
    let mut comparisons = Vec::new();
    for config in plan.configs() {
        let mut trials = Trials::new(&constructs, &plan.runtimes);
        for round in 0..plan.rounds {
            for construct in &constructs {
                // Who goes first changes from round to round.
                for turn in 0..plan.runtimes.len() {
                    let runtime = &plan.runtimes[(turn + round) % plan.runtimes.len()];
                    progress(Step {
                        done,
                        total,
                        construct,
                        runtime: &runtime.name,
                    });
                    done += 1;
                    if trials.worth_trying(construct, &runtime.name) {
                        let result = suite.measure(plan, config, runtime, construct, delay_steps);
                        trials.add(construct, &runtime.name, result);
                    }
                }
            }
        }
        comparisons.push(compare(plan, config, &trials));
    }
    let mut warnings = machine.warnings();
    warnings.extend(plan.warnings(&machine));
    Ok(Outcome {
        schema: "fathomp.bench.overheads",
        version: 1,
        machine,
        plan: plan.clone(),
        delay_steps,
        comparisons,
        warnings,
    })
}
