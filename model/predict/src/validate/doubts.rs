//! What makes a comparison with what was observed doubtful, in words.

use super::rows::Row;
use crate::prices::Cluster;
use fathomp_analysis::Analysis;

/// Says so if prices are of another network than that recorded on.
pub(super) fn other_network(analyses: &[&Analysis], cluster: &Cluster) -> Option<String> {
    let priced = match &cluster.measured {
        Some(measured) => measured.network_emulated,
        None => Some(cluster.network),
    };
    let priced =
        priced.map(|net| fathomp_launch::Network::new(net.latency_us, net.bandwidth_mb_per_s));
    let priced = priced.and_then(Result::ok);
    let on_nodes = analyses.iter().filter(|one| one.program.nodes > 1);
    let mut networks = on_nodes.map(|one| one.program.sharing?.network);
    let other = networks.find(|network| *network != priced)?;
    let words = |network: Option<fathomp_launch::Network>| match network {
        Some(network) => format!(
            "a network of {} us and {} MB/s",
            network.latency_us(),
            network.mb_per_s()
        ),
        None => "this machine's memory".to_owned(),
    };
    Some(format!(
        "Recorded over {} and priced for {}: the errors say nothing about the models.",
        words(other),
        words(priced)
    ))
}

/// What makes the rows doubtful.
pub(super) fn warnings(rows: &[Row]) -> Vec<String> {
    let shared = || rows.iter().filter(|row| row.oversubscribed);
    let mut warnings = Vec::new();
    if let Some(least) = shared().map(|row| row.threads).min() {
        let used = shared().filter_map(|row| row.processors_used);
        let busy = used.fold(0.0, f64::max);
        let busy = if busy > 0.0 {
            format!(
                ", which the programs themselves kept busy for up to {:.0} % of the time",
                100.0 * busy
            )
        } else {
            String::new()
        };
        warnings.push(format!(
            "Runs with {least} threads or more shared processors{busy}: what was observed holds their waiting for one another, of which no model knows."
        ));
    }
    let once = rows.iter().filter(|row| row.runs < 3).count();
    if once > 0 {
        warnings.push(format!(
            "{once} of {} observed speedups are from fewer than 3 runs: how far they scatter is not known.",
            rows.len()
        ));
    }
    warnings
}
