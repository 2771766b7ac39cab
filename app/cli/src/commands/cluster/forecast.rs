//! `fathomp predict --cluster`: what recorded accesses take on the nodes of a cluster.

use crate::args::Predict;
use crate::console::Console;
use crate::failure::Failure;
use crate::load;
use fathomp_analysis::Analysis;
use fathomp_cluster_commands::{Asked, accesses};
use fathomp_predict::prices::Cluster;
use std::path::PathBuf;
use std::time::Duration;

/// The recordings that hold accesses; none if a published model is asked for.
fn with_accesses(plan: &Predict) -> Vec<PathBuf> {
    let asked = &plan.sdp;
    if asked.model.is_some() || asked.counts.is_some() || asked.diff_bytes.is_some() {
        return Vec::new();
    }
    let all = plan.recordings.iter();
    all.filter(|path| accesses::file(path).is_file())
        .cloned()
        .collect()
}

/// Replays what recordings hold of accesses, on more and more nodes of `cluster`; nothing if they
/// hold none, or a published model is asked for.
pub(in crate::commands) fn forecast(
    plan: &Predict,
    cluster: &Cluster,
    console: Console,
) -> Result<Option<u8>, Failure> {
    let accesses = &with_accesses(plan);
    if accesses.is_empty() {
        return Ok(None);
    }
    let sequential = match &plan.sdp.sequential {
        Some(time) => Some(time.0),
        None => alone(plan, accesses)?,
    };
    let asked = Asked {
        accesses,
        sequential,
        dsm: plan.sdp.dsm,
        at: plan.at.as_ref(),
    };
    fathomp_cluster_commands::forecast(&asked, cluster, console).map(Some)
}

/// The time of the recording with one thread that is given beside those of accesses, the shortest
/// if there are several.
fn alone(plan: &Predict, accesses: &[PathBuf]) -> Result<Option<Duration>, Failure> {
    let others = plan.recordings.iter().filter(|one| !accesses.contains(one));
    let others: Vec<PathBuf> = others.cloned().collect();
    let analyses = load::analyses(&others, None)?;
    let threads = |one: &Analysis| one.program.threads_asked.unwrap_or(one.team_size);
    let alone = analyses.iter().filter(|one| threads(one) == 1);
    let shortest_ns = alone.map(|one| one.wall_ns).min();
    Ok(shortest_ns.map(Duration::from_nanos))
}
