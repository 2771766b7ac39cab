//! `fathomp predict --cluster`: what recorded accesses take on the nodes of a cluster, replayed
//! through the protocols that nodes run.

use super::simulate::{Known, Priced, numbers};
use crate::args::{Predict, ThreadList};
use crate::evidence;
use crate::failure::{Failure, Outcome};
use crate::recording;
use crate::voice::Voice;
use fathomp_access_trace::Accesses;
use fathomp_analysis::Analysis;
use fathomp_launch::DIFF_MEMORY_MIB;
use fathomp_predict::prices::{Cluster, PricesOf, Protocol};
use fathomp_report::text::{Grid, duration};
use fathomp_trace_replay::Homes;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Serialize)]
struct Forecast {
    cluster: String,
    protocol: &'static str,
    prices: PricesOf,
    /// Time of one thread alone.
    alone_s: f64,
    /// That was measured without recording accesses, which takes longer.
    alone_is_measured: bool,
    points: Vec<Point>,
}

/// A number of nodes, with a thread on each.
#[derive(Serialize)]
struct Point {
    nodes: u16,
    time_s: f64,
    speedup: f64,
    /// What so many threads access was not recorded but told from fewer.
    extrapolated: bool,
}

/// The recordings that hold accesses; none if a published model is asked for.
pub(super) fn with_accesses(plan: &Predict) -> Vec<PathBuf> {
    let asked = &plan.sdp;
    if asked.model.is_some() || asked.counts.is_some() || asked.diff_bytes.is_some() {
        return Vec::new();
    }
    let all = plan.recordings.iter();
    all.filter(|path| recording::accesses::file(path).is_file())
        .cloned()
        .collect()
}

/// Replays what the recordings among `accesses` hold on more and more nodes of `cluster`.
pub(super) fn forecast(
    plan: &Predict,
    accesses: &[PathBuf],
    cluster: &Cluster,
    voice: Voice,
) -> Outcome {
    let sequential = match &plan.sdp.sequential {
        Some(time) => Some(time.0),
        None => alone(plan, accesses)?,
    };
    let known = Known::read(accesses, sequential)?;
    let homeless_alone = cluster.home.is_none() && cluster.homeless.is_some();
    let protocol = plan.sdp.dsm.unwrap_or(match homeless_alone {
        true => Protocol::Homeless,
        false => Protocol::Home,
    });
    let priced = Priced::on(cluster, protocol, false, DIFF_MEMORY_MIB)?;
    let asked = plan.at.clone().unwrap_or_else(|| {
        let ThreadList(mut nodes) = ThreadList::doubling(known.threads());
        nodes.retain(|nodes| *nodes > 1);
        ThreadList(nodes)
    });
    let mut points = Vec::new();
    for nodes in numbers(Some(&asked), &known)? {
        let (accesses, extrapolated) = known.on(nodes, Accesses::PAGE_BYTES)?;
        let outcome = priced.replay(&accesses, nodes, Homes::Recorded)?;
        points.push(Point {
            nodes,
            time_s: outcome.time_ns as f64 * 1e-9,
            speedup: known.alone_ns() as f64 / outcome.time_ns.max(1) as f64,
            extrapolated,
        });
    }
    let forecast = Forecast {
        cluster: cluster.name.clone(),
        protocol: protocol.name(),
        prices: priced.prices,
        alone_s: known.alone_ns() as f64 * 1e-9,
        alone_is_measured: sequential.is_some(),
        points,
    };
    voice.result("fathomp.forecast", &forecast, || {
        forecast.text(voice.width())
    })?;
    Ok(0)
}

/// The time of the recording with one thread that is given beside those of accesses, the shortest
/// if there are several.
fn alone(plan: &Predict, accesses: &[PathBuf]) -> Result<Option<Duration>, Failure> {
    let others = plan.recordings.iter().filter(|one| !accesses.contains(one));
    let others: Vec<PathBuf> = others.cloned().collect();
    let analyses = evidence::analyses(&others, None)?;
    let threads = |one: &Analysis| one.program.threads_asked.unwrap_or(one.team_size);
    let alone = analyses.iter().filter(|one| threads(one) == 1);
    let shortest_ns = alone.map(|one| one.wall_ns).min();
    Ok(shortest_ns.map(Duration::from_nanos))
}

impl Forecast {
    fn text(&self, width: usize) -> String {
        let derived = if self.prices.derived {
            ", whose prices are derived"
        } else {
            ""
        };
        let mut grid = Grid::new("Nodes").column("Time", 0).column("Speedup", 0);
        for point in &self.points {
            let mark = if point.extrapolated { " *" } else { "" };
            let cells = vec![
                duration(point.time_s * 1e9),
                format!("{:.2}", point.speedup),
            ];
            grid.row(format!("{}{mark}", point.nodes), cells);
        }
        let mut text = format!(
            "Replay of recorded accesses on {}{derived}; {} protocol, {} with one thread.\n\n{}",
            self.cluster,
            self.protocol,
            duration(self.alone_s * 1e9),
            grid.render(width)
        );
        if self.points.iter().any(|point| point.extrapolated) {
            text.push_str("* What so many threads access is told from fewer.\n");
        }
        if !self.alone_is_measured {
            text.push_str(
                "The time with one thread is that of the run that recorded accesses, which is too \
                 long: give a recording with 1 thread too, or --sequential SECONDS.\n",
            );
        }
        text
    }
}
