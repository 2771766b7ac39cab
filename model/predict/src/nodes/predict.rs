//! Our model of nodes asked for times and speedups, with intervals.

use super::beside::Beside;
use super::interval::{NodesInterval, Precision, interval};
use super::regions::{NodesRegion, nodes};
use super::terms::{NodesTerms, NodesTime};
use crate::counts::{RecordingsError, protocol_of};
use crate::prices::Protocol;
use crate::prices::{Cluster, ClusterError, PricesOf};
use crate::recorded::{PredictError, Runs};
use fathomp_analysis::Analysis;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use thiserror::Error;

/// Name of the schema in JSON.
pub const SCHEMA: &str = "fathomp.nodes_prediction";
/// Version of the schema in JSON.
pub const VERSION: u32 = 1;

/// What to predict.
#[derive(Clone, Copy, Debug)]
pub struct NodesQuestion<'a> {
    /// For which cluster; each node has its own processors there.
    pub cluster: &'a Cluster,
    /// With which protocol's prices; none: those of the protocol counted.
    pub protocol: Option<Protocol>,
    /// Numbers of nodes; empty: all that were recorded.
    pub at: &'a [u32],
    /// Size of a diff to a home; none: a page.
    pub diff_bytes: Option<u32>,
    /// Terms that are not to count.
    pub without: NodesTerms,
}

/// Predicted times of programs on a cluster's nodes.
#[derive(Clone, Debug, Serialize)]
pub struct NodesPredicted {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// [`VERSION`].
    pub version: u32,
    /// Name of the cluster.
    pub cluster: String,
    /// Whose prices.
    pub protocol: Protocol,
    /// What an event costs there.
    pub prices: PricesOf,
    /// Terms that were left out.
    pub without: NodesTerms,
    /// By name.
    pub programs: Vec<NodesProgram>,
    /// What makes the prediction doubtful, in words.
    pub warnings: Vec<String>,
}

/// A program's predicted times.
#[derive(Clone, Debug, Serialize)]
pub struct NodesProgram {
    /// Its name.
    pub program: String,
    /// Ascending numbers of nodes.
    pub points: Vec<NodesPoint>,
}

/// A predicted time.
#[derive(Clone, Debug, Serialize)]
pub struct NodesPoint {
    /// Threads, one on each node.
    pub threads: u32,
    /// Median time with one thread; of emulated time the least.
    pub sequential_ns: f64,
    /// Predicted time.
    pub time_ns: f64,
    /// Where it is expected, nine times of ten.
    #[serde(flatten)]
    pub interval: NodesInterval,
    /// Sequential over predicted time.
    pub speedup: f64,
    /// Where it is expected.
    pub speedup_interval: [f64; 2],
    /// What the time consists of.
    pub terms: NodesTime,
    /// The same region by region.
    pub regions: Vec<NodesRegion>,
}

/// Why no time on nodes can be predicted.
#[derive(Debug, Error)]
pub enum NodesError {
    /// Recordings that do not belong together.
    #[error(transparent)]
    Runs(#[from] PredictError),
    /// No counts, or nothing to divide among the nodes.
    #[error(transparent)]
    Recordings(#[from] RecordingsError),
    /// No prices.
    #[error(transparent)]
    Cluster(#[from] ClusterError),
    /// A number of nodes that was not recorded.
    #[error(
        "nothing was recorded on {asked} nodes, only on {known}: counts do not follow from those on other numbers of nodes"
    )]
    Nodes {
        /// What was asked for.
        asked: u32,
        /// What there is.
        known: String,
    },
}

/// Predicts the times of recorded programs on a cluster whose nodes have their own
/// processors: work from the recordings with one thread, counts from those on as
/// many nodes as predicted for, prices from the cluster.
///
/// # Errors
/// If a program lacks a recording with 1 thread, none was made on nodes, nothing was
/// recorded on so many nodes, or the cluster has no prices.
pub fn predict_nodes(
    analyses: &[&Analysis],
    question: &NodesQuestion<'_>,
) -> Result<NodesPredicted, NodesError> {
    let counted = protocol_of(analyses)?;
    let protocol = question.protocol.unwrap_or(counted);
    let prices = question
        .cluster
        .prices_asked(protocol, question.diff_bytes)?;
    let mut named: BTreeMap<&str, Vec<&Analysis>> = BTreeMap::new();
    for analysis in analyses {
        let name = analysis.program.name.as_str();
        named.entry(name).or_default().push(analysis);
    }
    let mut programs = Vec::new();
    for (name, analyses) in named {
        programs.push(NodesProgram {
            program: name.to_owned(),
            points: points(name, &analyses, question, protocol, &prices)?,
        });
    }
    let known: BTreeSet<u32> = programs
        .iter()
        .flat_map(|program| program.points.iter().map(|point| point.threads))
        .collect();
    if let Some(&asked) = question.at.iter().find(|at| !known.contains(at)) {
        let known: Vec<String> = known.iter().map(u32::to_string).collect();
        return Err(NodesError::Nodes {
            asked,
            known: known.join(", "),
        });
    }
    for program in &mut programs {
        let asked = |point: &NodesPoint| question.at.contains(&point.threads);
        program
            .points
            .retain(|point| question.at.is_empty() || asked(point));
    }
    Ok(NodesPredicted {
        schema: SCHEMA,
        version: VERSION,
        cluster: question.cluster.name.clone(),
        protocol,
        prices,
        without: question.without,
        warnings: warnings(question.cluster, counted, protocol, &prices, &known),
        programs,
    })
}

/// A program on all numbers of nodes that it was recorded on.
fn points(
    program: &str,
    analyses: &[&Analysis],
    question: &NodesQuestion<'_>,
    protocol: Protocol,
    prices: &PricesOf,
) -> Result<Vec<NodesPoint>, NodesError> {
    let runs = Runs::new(analyses)?;
    let first = runs.groups.first().filter(|group| group.threads == 1);
    let alone = first.ok_or_else(|| RecordingsError::Sequential {
        program: program.to_owned(),
    })?;
    let sequential_ns = alone.typical();
    let precision = Precision {
        work: alone.noise,
        measured: !prices.derived,
        seen: None,
    };
    let beside = Beside {
        alone: alone.typical_run().analysis,
        others: &[],
        processors: None,
        cluster: question.cluster,
        protocol,
        prices: &prices.prices,
    };
    let mut points = Vec::new();
    for group in &runs.groups {
        let Some(mut regions) = nodes(group.typical_run().analysis, &beside) else {
            continue;
        };
        for region in &mut regions {
            region.time = region.time.without(question.without);
        }
        let terms: NodesTime = regions.iter().map(|region| &region.time).sum();
        let (time_ns, interval) = (terms.time_ns(), interval(&terms, &precision));
        points.push(NodesPoint {
            threads: group.threads,
            sequential_ns,
            time_ns,
            interval,
            speedup: sequential_ns / time_ns,
            speedup_interval: [interval.high_ns, interval.low_ns].map(|ns| sequential_ns / ns),
            terms,
            regions,
        });
    }
    Ok(points)
}

fn warnings(
    cluster: &Cluster,
    counted: Protocol,
    protocol: Protocol,
    prices: &PricesOf,
    known: &BTreeSet<u32>,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let name = &cluster.name;
    if prices.derived {
        warnings.push(format!(
            "The prices of {name} are derived from its network and the cost of a fault, not measured."
        ));
    }
    if cluster.measured.is_none() {
        warnings.push(format!(
            "What barriers, locks and flushes cost on {name} was not measured: they are derived from its latency."
        ));
    }
    if protocol != counted {
        warnings.push(
            "The counts are those of the other protocol, which makes other faults.".to_owned(),
        );
    }
    if let Some(most) = known.last().filter(|most| **most > cluster.nodes) {
        warnings.push(format!(
            "{name} has {} nodes: predictions for up to {most} assume as many like them.",
            cluster.nodes
        ));
    }
    warnings
}
