//! The processes of a cluster are one program: its threads, wherever they were,
//! worked on the same regions.

use crate::model::{NodeProcess, Process, Site};
use fathomp_types::{SiteId, ThreadId};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Makes one process of those of each cluster: node 0's, with the threads and
/// the places in the code of all. They must be of one machine, whose ticks
/// compare.
pub(super) fn unite(processes: Vec<Process>) -> Vec<Process> {
    let mut clusters: BTreeMap<u32, Vec<Process>> = BTreeMap::new();
    let mut united = Vec::new();
    for process in processes {
        match process.cluster {
            0 => united.push(process),
            cluster => clusters.entry(cluster).or_default().push(process),
        }
    }
    for mut nodes in clusters.into_values() {
        nodes.sort_by_key(|process| (process.node, process.clock.zero_unix_ns));
        let mut nodes = nodes.into_iter();
        if let Some(mut first) = nodes.next() {
            first.nodes = vec![NodeProcess {
                node: first.node,
                pid: first.pid,
                sites: first.sites.iter().map(|site| site.id).collect(),
            }];
            let mut known = (0..).zip(&first.sites).fold(
                HashMap::new(),
                |mut known: HashMap<Key, u32>, (number, site)| {
                    known.entry(key(site)).or_insert(number);
                    known
                },
            );
            for node in nodes {
                add(&mut first, &mut known, node);
            }
            united.push(first);
        }
    }
    united.sort_by_key(|process| (process.clock.zero_unix_ns, process.pid));
    united
}

/// What makes a place in the code the same on all nodes.
type Key = (u8, PathBuf, u64, u64);

fn key(site: &Site) -> Key {
    (
        site.kind as u8,
        site.module.clone(),
        site.call,
        site.function,
    )
}

fn add(to: &mut Process, known: &mut HashMap<Key, u32>, node: Process) {
    let numbers: Vec<SiteId> = node
        .sites
        .into_iter()
        .map(|site| {
            let next = to.sites.len() as u32;
            let number = *known.entry(key(&site)).or_insert(next);
            if number == next {
                let id = SiteId(next);
                to.sites.push(Site { id, ..site });
            }
            SiteId(number)
        })
        .collect();
    let renumber = |site: &mut SiteId| {
        if let Some(number) = numbers.get(site.0 as usize) {
            *site = *number;
        }
    };
    let first = to.threads.iter().map(|thread| thread.id.0 + 1).max();
    let first = first.unwrap_or(0);
    for mut thread in node.threads {
        thread.id = ThreadId(first.saturating_add(thread.id.0));
        for record in &mut thread.records {
            if let Some(site) = record.site_mut() {
                renumber(site);
            }
        }
        to.threads.push(thread);
    }
    for mut set in node.sets {
        renumber(&mut set.site);
        to.sets.push(set);
    }
    to.sets.sort_by_key(|set| set.set);
    to.nodes.push(NodeProcess {
        node: node.node,
        pid: node.pid,
        sites: numbers,
    });
    to.begin = to.begin.min(node.begin);
    to.end = match (to.end, node.end) {
        (Some(a), Some(b)) => Some(a.max(b)),
        // One that was killed leaves nothing to go by.
        (end, None) | (None, end) => end,
    };
    to.hardware_counters &= node.hardware_counters;
    to.stack_overflow = to.stack_overflow.or(node.stack_overflow);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{SiteKind, Thread};
    use crate::record::{Instance, Record};
    use fathomp_types::{Clock, NodeId, Ticks};

    fn site(id: u32, call: u64) -> Site {
        Site {
            id: SiteId(id),
            kind: SiteKind::Parallel,
            module: "a.out".into(),
            call,
            function: 0,
        }
    }

    fn process(cluster: u32, node: u16, calls: &[u64]) -> Process {
        let executed = (0..calls.len() as u32).map(|site| {
            Record::from(Instance {
                site: SiteId(site),
                ..Instance::default()
            })
        });
        Process {
            details_missing: 0,
            node: NodeId(node),
            cluster,
            pid: cluster + u32::from(node),
            executable: PathBuf::new(),
            clock: Clock {
                zero: Ticks(0),
                zero_unix_ns: 0,
                nanos_per_tick: 1.0,
            },
            begin: Ticks(0),
            end: None,
            runtime: String::new(),
            foreign_recorder: None,
            sites: (0..).zip(calls).map(|(id, call)| site(id, *call)).collect(),
            threads: vec![Thread {
                id: ThreadId(0),
                node: NodeId(node),
                os_id: 0,
                begin: Ticks(0),
                end: Ticks(0),
                records: executed.collect(),
                dropped: 0,
            }],
            hardware_counters: false,
            stack_overflow: None,
            nodes: Vec::new(),
            sets: Vec::new(),
        }
    }

    #[test]
    fn nodes_become_one_process_with_places_of_all() {
        let processes = vec![
            process(7, 1, &[10, 30, 20]),
            process(0, 0, &[5]),
            process(7, 0, &[10, 20]),
        ];
        let united = unite(processes);
        assert_eq!(united.len(), 2);
        let cluster = united.iter().find(|p| p.cluster == 7).unwrap();
        let calls: Vec<u64> = cluster.sites.iter().map(|site| site.call).collect();
        assert_eq!(calls, [10, 20, 30]);
        assert!((0..).zip(&cluster.sites).all(|(n, site)| site.id.0 == n));
        let of = |thread: usize| -> Vec<u32> {
            let records = cluster.threads[thread].records.iter();
            records
                .map(|record| match record {
                    Record::Instance(instance) => instance.site.0,
                    _ => u32::MAX,
                })
                .collect()
        };
        assert_eq!((of(0), of(1)), (vec![0, 1], vec![0, 2, 1]));
        let nodes: Vec<_> = cluster.nodes.iter().map(|n| (n.node.0, n.pid)).collect();
        assert_eq!(nodes, [(0, 7), (1, 8)]);
        let second = &cluster.nodes[1].sites;
        assert_eq!(second[..], [SiteId(0), SiteId(2), SiteId(1)]);
        let ids: Vec<(u32, u16)> = cluster.threads.iter().map(|t| (t.id.0, t.node.0)).collect();
        assert_eq!(ids, [(0, 0), (1, 1)]);
    }
}
