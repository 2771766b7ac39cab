//! Processors that a program could use, and how many threads had to share them.

use super::ProgramFacts;
use fathomp_trace::model::{Machine, RunHost};

impl ProgramFacts {
    /// Processors that the program could use, on all hosts together; 0 if that is unknown.
    #[must_use]
    pub fn processors(&self) -> u32 {
        match self.hosts.as_slice() {
            [] => self.machine.processors(),
            hosts => hosts
                .iter()
                .map(|host| host.machine.processors())
                .fold(0, u32::saturating_add),
        }
    }

    /// Where processors are scarce if so many threads are spread evenly over the nodes: the host
    /// with the most threads for each processor, if these are more than it has processors.
    #[must_use]
    pub fn crowded(&self, threads: u32) -> Option<Crowded<'_>> {
        let nodes: u32 = self.hosts.iter().map(|host| u32::from(host.nodes)).sum();
        let of_node = threads.div_ceil(nodes.max(1));
        let hosts = self.hosts.iter().map(|host| Crowded {
            threads: of_node.saturating_mul(host.nodes.into()),
            processors: host.machine.processors(),
            host: Some(&host.name),
        });
        let here = self.hosts.is_empty().then(|| Crowded {
            threads,
            processors: self.machine.processors(),
            host: None,
        });
        let load = |one: &Crowded<'_>| f64::from(one.threads) / f64::from(one.processors);
        hosts
            .chain(here)
            .filter(|one| one.processors > 0 && one.threads > one.processors)
            .max_by(|a, b| load(a).total_cmp(&load(b)))
    }
}

/// More threads than processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Crowded<'a> {
    /// So many threads
    pub threads: u32,
    /// on so many processors,
    pub processors: u32,
    /// of this host, if there are several.
    pub host: Option<&'a str>,
}

/// Which of the hosts a node was on, and what that host is; the machine's number is 0.
pub(crate) fn machine_of<'a>(
    hosts: &'a [RunHost],
    machine: &'a Machine,
    node: u16,
) -> (usize, &'a Machine) {
    let mut first = 0_u32;
    for (number, host) in hosts.iter().enumerate() {
        first += u32::from(host.nodes);
        if u32::from(node) < first {
            return (number, &host.machine);
        }
    }
    (0, machine)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(processors: u32) -> Machine {
        Machine {
            cpus_allowed: (0..processors).collect(),
            ..Machine::default()
        }
    }

    fn on_hosts(hosts: &[(&str, u16, u32)]) -> ProgramFacts {
        let hosts: Vec<RunHost> = hosts
            .iter()
            .map(|&(name, nodes, processors)| RunHost {
                name: name.to_owned(),
                nodes,
                machine: machine(processors),
                ..RunHost::default()
            })
            .collect();
        ProgramFacts {
            machine: hosts[0].machine.clone(),
            hosts,
            ..ProgramFacts::default()
        }
    }

    #[test]
    fn hosts_have_the_processors_of_all_of_them() {
        let program = on_hosts(&[("a", 1, 4), ("b", 2, 8)]);
        assert_eq!(program.processors(), 12);
        assert_eq!(program.crowded(12), None);
        let crowded = program.crowded(18).unwrap();
        assert_eq!((crowded.threads, crowded.processors), (12, 8));
        // Five threads on a node are too many for both, and more so for the second.
        let crowded = program.crowded(15).unwrap();
        assert_eq!((crowded.host, crowded.threads), (Some("b"), 10));
        let small_first = on_hosts(&[("a", 1, 2), ("b", 2, 8)]);
        assert_eq!(small_first.crowded(9).unwrap().host, Some("a"));
    }

    #[test]
    fn one_machine_has_its_own() {
        let program = ProgramFacts {
            machine: machine(2),
            ..ProgramFacts::default()
        };
        assert_eq!(program.processors(), 2);
        assert_eq!(program.crowded(2), None);
        let crowded = program.crowded(3).unwrap();
        assert_eq!((crowded.threads, crowded.processors), (3, 2));
        assert_eq!(crowded.host, None);
        // What is unknown is not scarce.
        assert_eq!(ProgramFacts::default().crowded(64), None);
    }

    #[test]
    fn nodes_are_numbered_host_by_host() {
        let program = on_hosts(&[("a", 1, 4), ("b", 2, 8)]);
        let of = |node| machine_of(&program.hosts, &program.machine, node);
        let numbers: Vec<usize> = (0..4).map(|node| of(node).0).collect();
        assert_eq!(numbers, [0, 1, 1, 0]);
        assert_eq!(of(2).1.processors(), 8);
    }
}
