//! How many threads a run of a study has, and where.

use crate::args::{Study as Plan, ThreadCount, ThreadList};
use crate::host;

/// The threads of one run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Team {
    /// So many threads of one process here.
    Here(u32),
    /// So many nodes on hosts.
    Hosts {
        /// Nodes.
        nodes: u16,
        /// Threads of each.
        threads: u32,
    },
}

impl Team {
    /// Those of the runs of a study, the smallest first. On hosts with so many nodes: one thread, so that there is
    /// something to compare with, and 1, 2, 4 and so on of the nodes, and all of them.
    pub(crate) fn all(plan: &Plan, on_hosts: Option<u16>) -> Vec<Self> {
        let Some(most) = on_hosts else {
            let doubling = || ThreadList::doubling(host::usable_cpus());
            let threads = plan.threads.clone().unwrap_or_else(doubling);
            let first = match plan.quick {
                true => threads.0.len().saturating_sub(1),
                false => 0,
            };
            return threads.0.into_iter().skip(first).map(Self::Here).collect();
        };
        let list = plan.threads.iter().flat_map(|list| &list.0);
        let threads = list.copied().max().unwrap_or(1);
        let nodes = ThreadList::doubling(most.into()).0;
        let nodes = nodes.into_iter().filter_map(|count| count.try_into().ok());
        let alone = (threads > 1).then_some(Self::Hosts {
            nodes: 1,
            threads: 1,
        });
        alone
            .into_iter()
            .chain(nodes.map(|nodes| Self::Hosts { nodes, threads }))
            .collect()
    }

    /// All threads.
    pub(crate) fn threads(self) -> u32 {
        match self {
            Self::Here(threads) => threads,
            Self::Hosts { nodes, threads } => ThreadCount(threads).times(nodes.into()).0,
        }
    }

    /// "2 threads", "2 nodes of 4 threads".
    pub(crate) fn counted(self) -> String {
        match self {
            Self::Here(threads) => counted(threads),
            Self::Hosts { nodes, threads } => {
                let nodes = match nodes {
                    1 => "1 node".to_owned(),
                    many => format!("{many} nodes"),
                };
                format!("{nodes} of {}", counted(threads))
            }
        }
    }

    /// What its recording is called.
    pub(crate) fn name(self) -> String {
        match self {
            Self::Here(threads) => format!("{threads}-threads"),
            Self::Hosts { nodes, threads } => format!("{nodes}-nodes-of-{threads}-threads"),
        }
    }
}

/// "1 thread", "2 threads".
pub(crate) fn counted(threads: u32) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        many => format!("{many} threads"),
    }
}
