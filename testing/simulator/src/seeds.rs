//! How tests run programs: which seeds they try, and what they say of a failure.

use crate::blob::Blob;
use crate::network::Network;
use crate::program::Program;
use crate::world::{Outcome, run};
use fathomp_protocols::Protocol;
use fathomp_types::NodeId;
use rand::Rng;
use std::fmt::Debug;
use std::ops::Range;

/// The seeds that `FATHOMP_SIM_SEEDS=FIRST..END` asks for, or the first `many` of them: every day
/// half of these, with `FATHOMP_ALL_TESTS` all.
///
/// # Panics
/// If what is asked for cannot be read.
#[must_use]
pub fn seeds(many: u64) -> Range<u64> {
    let Ok(asked) = std::env::var("FATHOMP_SIM_SEEDS") else {
        let all = std::env::var_os(fathomp_launch::names::ALL_TESTS.name).is_some();
        return 0..if all { many } else { many / 2 };
    };
    let range = asked.split_once("..");
    let range = range.and_then(|(first, end)| Some(first.parse().ok()?..end.parse().ok()?));
    range.unwrap_or_else(|| panic!("FATHOMP_SIM_SEEDS is FIRST..END, not {asked:?}"))
}

/// Whether `FATHOMP_SIM_TRACE` asks for what happened before a failure.
#[must_use]
pub fn traces() -> bool {
    std::env::var_os("FATHOMP_SIM_TRACE").is_some()
}

/// Runs a program that a seed made.
///
/// # Panics
/// If something is wrong, with all that is needed to find out what.
pub fn run_seed<C: Debug, P: Protocol<Blob>>(
    seed: u64,
    program: &Program,
    network: Network,
    config: &C,
    protocol: impl Fn(NodeId, &C) -> P,
    random: &mut impl Rng,
) -> Outcome {
    let network = Network {
        trace: traces(),
        ..network
    };
    let ran = run(program, |me| protocol(me, config), network, random);
    ran.unwrap_or_else(|(failure, trace)| {
        let trace = trace.join("\n");
        panic!("seed {seed}: {failure}\n{config:?}\n{network:?}\n{program:?}\n{trace}")
    })
}
