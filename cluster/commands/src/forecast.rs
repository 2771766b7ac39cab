//! What recorded accesses take on the nodes of a cluster, replayed through the protocols that nodes
//! run.

use crate::simulate::{Known, Priced, numbers};
use fathomp_access_trace::Accesses;
use fathomp_console::args::ThreadList;
use fathomp_console::console::Console;
use fathomp_console::failure::Outcome;
use fathomp_launch::DIFF_MEMORY_MIB;
use fathomp_predict::prices::{Cluster, PricesOf, Protocol};
use fathomp_report::text::{Grid, duration};
use fathomp_trace_replay::Homes;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// What to tell.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// Recordings with accesses.
    pub accesses: &'a [PathBuf],
    /// Time with one thread, if that was measured without recording accesses.
    pub sequential: Option<Duration>,
    /// The protocol, if not that of which the cluster's prices are known.
    pub dsm: Option<Protocol>,
    /// Numbers of nodes, if not sensible ones.
    pub at: Option<&'a ThreadList>,
}

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

/// Replays what recordings hold on more and more nodes of `cluster`.
///
/// # Errors
///
/// Fails if they cannot be read, or not be replayed there.
pub fn forecast(asked: &Asked<'_>, cluster: &Cluster, console: Console) -> Outcome {
    let known = Known::read(asked.accesses, asked.sequential)?;
    let homeless_alone = cluster.home.is_none() && cluster.homeless.is_some();
    let protocol = asked.dsm.unwrap_or(match homeless_alone {
        true => Protocol::Homeless,
        false => Protocol::Home,
    });
    let priced = Priced::on(cluster, protocol, false, DIFF_MEMORY_MIB)?;
    let at = asked.at.cloned().unwrap_or_else(|| {
        let ThreadList(mut nodes) = ThreadList::doubling(known.threads());
        nodes.retain(|nodes| *nodes > 1);
        ThreadList(nodes)
    });
    let mut points = Vec::new();
    for nodes in numbers(Some(&at), &known)? {
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
        alone_is_measured: asked.sequential.is_some(),
        points,
    };
    console.result("fathomp.forecast", &forecast, || {
        forecast.text(console.width())
    })?;
    Ok(0)
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
