//! Times on nodes by our own model, in words.

use super::sdp::capital;
use super::{Grid, WIDTH_MIN, printable, wrapped};
use crate::units::{NOTHING, duration, percent, ratio};
use fathomp_predict::nodes::{NodesPredicted, NodesTerm, NodesTime};
use fathomp_predict::prices::Protocol;

/// Speedups with intervals, and what the times consist of, in at most `width`
/// columns.
#[must_use]
pub fn nodes(predicted: &NodesPredicted, width: usize) -> String {
    let width = width.max(WIDTH_MIN);
    let protocol = match predicted.protocol {
        Protocol::Home => "home-based",
        Protocol::Homeless => "homeless",
    };
    let left_out: Vec<&str> = NodesTerm::ALL
        .into_iter()
        .filter(|term| predicted.without.contains(*term))
        .map(NodesTerm::name)
        .collect();
    let mut title = format!(
        "Our model of nodes on {}, {protocol} protocol; each node has its own processors.",
        predicted.cluster
    );
    if !left_out.is_empty() {
        title += &format!(" Left out: {}.", left_out.join(", "));
    }
    let mut text = wrapped(&printable(&title), width, "  ");
    for warning in &predicted.warnings {
        let line = format!("warning: {}", printable(warning));
        text.push_str(&wrapped(&line, width, "  "));
    }
    let mut speedups = Grid::new("Program")
        .column("Threads", 0)
        .column("Time", 0)
        .column("Interval", 1)
        .column("Speedup", 0)
        .column("Interval", 2)
        .words("Largest loss", 3);
    let mut rows = Vec::new();
    for program in &predicted.programs {
        for point in &program.points {
            let between = |ends: [f64; 2], words: fn(f64) -> String| {
                format!("{} to {}", words(ends[0]), words(ends[1]))
            };
            speedups.row(
                printable(&program.program),
                vec![
                    point.threads.to_string(),
                    duration(point.time_ns),
                    between([point.interval.low_ns, point.interval.high_ns], duration),
                    ratio(point.speedup),
                    between(point.speedup_interval, ratio),
                    largest_loss(&point.terms),
                ],
            );
            rows.push((program.program.as_str(), point.threads, &point.terms));
        }
    }
    text.push('\n');
    text.push_str(&speedups.render(width));
    text.push('\n');
    text.push_str(&terms("Of which", &rows).render(width));
    text
}

fn largest_loss(time: &NodesTime) -> String {
    time.largest_loss().map_or_else(
        || NOTHING.to_owned(),
        |(term, share)| format!("{} {}", words(term), percent(share)),
    )
}

/// A term in words.
fn words(term: NodesTerm) -> String {
    term.name().replace('-', " ")
}

/// What times consist of: a row for each program and number of threads.
pub(super) fn terms(name: &'static str, rows: &[(&str, u32, &NodesTime)]) -> Grid {
    let mut grid = Grid::new(name).column("Threads", 0).column("Time", 0);
    for term in NodesTerm::ALL {
        // What usually costs least goes first.
        let expendable = match term {
            NodesTerm::Work | NodesTerm::Fetches => 1,
            NodesTerm::Barriers | NodesTerm::Locks | NodesTerm::Flushes => 2,
            NodesTerm::Diffs
            | NodesTerm::Sharing
            | NodesTerm::Writers
            | NodesTerm::Stalls
            | NodesTerm::Notices
            | NodesTerm::Waits => 3,
            NodesTerm::Contention | NodesTerm::RemoteWrites => 4,
            NodesTerm::Serial | NodesTerm::Imbalance | NodesTerm::LocalWrites => 5,
        };
        grid = grid.column(capital(&words(term)), expendable);
    }
    for (program, threads, time) in rows {
        let mut cells = vec![threads.to_string(), duration(time.time_ns())];
        cells.extend(time.terms().map(|(_, time_ns)| duration(time_ns)));
        grid.row(printable(program), cells);
    }
    grid
}
