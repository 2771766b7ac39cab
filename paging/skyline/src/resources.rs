//! Servers of pages, and loads on resources.

use crate::bins::Bins;
use crate::facts::{Load, Resource, Server, ServerKind};
use crate::peaks::{self, rate};
use crate::settings::{Selection, Settings};
use fathomp_paging::{Counter, TaskKind};
use std::collections::BTreeMap;

/// Bytes of a page.
const PAGE: f64 = 4_096.0;
/// Bytes of a block of [`Counter::BlocksOut`].
const BLOCK: f64 = 512.0;
/// Counts in a stretch from which on there is a rate to speak of.
const COUNTS_MIN: u64 = 30;

/// Where pages came from: nodes by what they sent, disks and swap by host.
pub(crate) fn servers(bins: &Bins, settings: &Settings) -> Vec<Server> {
    let mut found = Vec::new();
    let mut of_kind = |groups: BTreeMap<ServerKind, Vec<usize>>, counter: Counter| {
        let all: f64 = groups
            .values()
            .flatten()
            .map(|task| bins.total(*task, Selection::all(counter)) as f64)
            .sum();
        for (server, tasks) in groups {
            let counts = bins.of_tasks(&tasks, Selection::all(counter));
            let skyline = peaks::skyline(&counts, (0, counts.len()), &bins.window, settings);
            if skyline.total == 0 {
                continue;
            }
            found.push(Server {
                label: label(&server),
                server,
                counter,
                total: skyline.total,
                share: skyline.total as f64 / all,
                bins: counts,
                skyline,
            });
        }
    };
    let group = |of: &dyn Fn(usize) -> Option<ServerKind>| {
        let mut groups: BTreeMap<ServerKind, Vec<usize>> = BTreeMap::new();
        for task in 0..bins.tasks.len() {
            if let Some(server) = of(task) {
                groups.entry(server).or_default().push(task);
            }
        }
        groups
    };
    let nodes = group(&|task| bins.tasks[task].node.map(|node| ServerKind::Node { node }));
    of_kind(nodes, Counter::DsmPagesOut);
    let host = |task: usize| bins.tasks[task].host.clone();
    let disks = group(&|task| {
        let is_thread = bins.tasks[task].kind == TaskKind::Thread;
        is_thread.then(|| ServerKind::Disk { host: host(task) })
    });
    of_kind(disks, Counter::PageIns);
    let swaps = group(&|task| Some(ServerKind::Swap { host: host(task) }));
    of_kind(swaps, Counter::SystemSwapIns);
    found
}

fn label(server: &ServerKind) -> String {
    let of = |what: &str, host: &str| match host {
        "" => what.to_owned(),
        host => format!("{what} of {host}"),
    };
    match server {
        ServerKind::Node { node } => format!("node {node}"),
        ServerKind::Disk { host } => of("disks", host),
        ServerKind::Swap { host } => of("swap", host),
    }
}

/// The highest loads, of all tasks together.
pub(crate) fn loads(bins: &Bins) -> Vec<Load> {
    let of = [
        (Resource::Memory, Counter::MinorFaults, PAGE),
        (Resource::DiskReads, Counter::PageIns, PAGE),
        (Resource::DiskWrites, Counter::BlocksOut, BLOCK),
        (Resource::SwapReads, Counter::SystemSwapIns, PAGE),
        (Resource::SwapWrites, Counter::SystemSwapOuts, PAGE),
        (Resource::Network, Counter::DsmBytesIn, 1.0),
    ];
    of.into_iter()
        .filter_map(|(resource, counter, bytes)| load(bins, resource, counter, bytes))
        .collect()
}

/// The stretch with the highest rate: bins are joined, two by two, until the fullest holds
/// counts enough; a bin with three counts says nothing of a rate.
fn load(bins: &Bins, resource: Resource, counter: Counter, bytes: f64) -> Option<Load> {
    let mut counts = bins.of_all(Selection::all(counter));
    let total: f64 = counts.iter().map(|count| *count as f64).sum();
    let mut joined = 1_usize;
    loop {
        // The first of the fullest.
        let (place, &most) = counts
            .iter()
            .enumerate()
            .max_by(|a, b| a.1.cmp(b.1).then(b.0.cmp(&a.0)))?;
        if most >= COUNTS_MIN {
            let window = &bins.window;
            let from = place * joined;
            let to = (from + joined).min(window.bins);
            let ns = (to - from) as f64 * window.bin_ns as f64;
            let per_second = rate(most as f64, ns);
            return Some(Load {
                resource,
                counter,
                from_ns: window.bin_begin_ns(from),
                to_ns: window.bin_begin_ns(to),
                count: most,
                pages_per_second: per_second * bytes / PAGE,
                bytes_per_second: per_second * bytes,
                mean_pages_per_second: rate(total, window.ns() as f64) * bytes / PAGE,
            });
        }
        if counts.len() < 2 {
            return None;
        }
        counts = counts
            .chunks(2)
            .map(|pair| {
                pair.iter()
                    .fold(0, |sum: u64, count| sum.saturating_add(*count))
            })
            .collect();
        joined *= 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Synthetic;
    use fathomp_paging::Activity;

    #[test]
    fn loads_are_summed_over_tasks_and_said_where_there_are_counts_enough() {
        let mut made = Synthetic::new(4, 4_096_000_000);
        for task in 0..4 {
            // 25 page-ins in one bin of a millisecond, and 5 of the thread's own later.
            let at = [
                (100_500_000, 25),
                (2_000_500_000 + 9_000_000 * task as u64, 5),
            ];
            made.counts(task, Activity::Io, Counter::PageIns, at);
        }
        let bins = Bins::read(&made.memory, &Settings::default()).unwrap();
        let loads = loads(&bins);
        assert_eq!(loads.len(), 1);
        let load = loads[0];
        assert_eq!((load.resource, load.count), (Resource::DiskReads, 100));
        assert_eq!((load.from_ns, load.to_ns), (100_000_000, 101_000_000));
        assert!((load.pages_per_second - 100_000.0).abs() < 1e-6);
        assert!((load.bytes_per_second - 409_600_000.0).abs() < 1e-3);
    }

    #[test]
    fn few_counts_are_joined_until_they_are_enough_or_nothing_is_said() {
        let mut made = Synthetic::new(1, 4_096_000_000);
        made.counts(
            0,
            Activity::Io,
            Counter::PageIns,
            (1..=40).map(|at| (at * 100_000_000, 1)),
        );
        let bins = Bins::read(&made.memory, &Settings::default()).unwrap();
        let found = loads(&bins)[0];
        assert!(
            found.count >= 30 && found.pages_per_second < 11.0,
            "{found:?}"
        );
        let mut made = Synthetic::new(1, 4_096_000_000);
        made.counts(0, Activity::Io, Counter::PageIns, [(1_000_000, 5)]);
        let bins = Bins::read(&made.memory, &Settings::default()).unwrap();
        assert!(loads(&bins).is_empty());
    }

    #[test]
    fn nodes_and_disks_serve() {
        let mut made = Synthetic::new(3, 1_000_000);
        for (task, pages) in [(0, 30), (1, 10), (2, 0)] {
            made.memory.tasks[task].node = Some(task as u32);
            made.counts(
                task,
                Activity::Communication,
                Counter::DsmPagesOut,
                [(500_000, pages)],
            );
        }
        let bins = Bins::read(&made.memory, &Settings::default()).unwrap();
        let found = servers(&bins, &Settings::default());
        let seen: Vec<_> = found
            .iter()
            .map(|one| (one.label.as_str(), one.total))
            .collect();
        assert_eq!(seen, [("node 0", 30), ("node 1", 10)]);
        assert!((found[0].share - 0.75).abs() < 1e-12);
    }
}
