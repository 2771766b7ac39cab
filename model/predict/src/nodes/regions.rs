//! The time of a program on nodes, region by region.

use super::beside::Beside;
use super::sync::Sync;
use super::terms::NodesTime;
use super::time::time;
use fathomp_analysis::Analysis;
use serde::Serialize;

/// A region's part of a time on nodes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct NodesRegion {
    /// Its name.
    pub region: String,
    /// Its time.
    #[serde(flatten)]
    pub time: NodesTime,
}

/// The time that a program recorded on nodes takes, by region; None if it was
/// recorded in one process.
#[must_use]
pub fn nodes(analysis: &Analysis, beside: &Beside<'_>) -> Option<Vec<NodesRegion>> {
    let mut shares = analysis.regions.iter().flat_map(|region| &region.threads);
    let counted = shares.any(|share| share.dsm.is_some());
    let nodes = analysis.program.nodes;
    if !counted || nodes < 2 {
        return None;
    }
    let sync = Sync::among(beside.cluster, nodes, beside.prices, beside.protocol);
    let regions = analysis.regions.iter().map(|region| NodesRegion {
        region: region.name.clone(),
        time: time(analysis, region, beside, &sync),
    });
    Some(regions.collect())
}
