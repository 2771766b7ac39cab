//! Measuring on several hosts: what is measured runs there by `fathomp run --hosts`, as a
//! user's program would.

use super::Participants;
use crate::args::ThreadCount;
use crate::args::cluster::{Cluster, OnHosts};
use crate::failure::{Failure, exit};
use crate::launch::told_alone;
use crate::program::Program;
use fathomp_hosts::{Host, Hosts};
use fathomp_launch::{Plan, Protocol};
use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Hosts to measure on, and how they are reached.
#[derive(Debug)]
pub(crate) struct Across {
    hosts: Hosts,
    /// Options about hosts, but for the hosts themselves.
    reach: Vec<OsString>,
    myself: PathBuf,
}

impl Across {
    /// The hosts asked for, if any are.
    pub(crate) fn of(on: &OnHosts) -> Result<Option<Self>, Failure> {
        if let Some(sentence) = on.contradiction() {
            return Err(Failure::new(sentence).with_code(exit::USAGE));
        }
        if !on.are_asked_for() {
            return Ok(None);
        }
        if on.transport.is_some() {
            return Err(Failure::new(
                "--transport is for `fathomp run` and `fathomp record` inside mpirun or srun: name hosts by --hosts here",
            )
            .with_code(exit::USAGE));
        }
        Ok(Some(Self {
            hosts: Participants::named(on)?.hosts,
            reach: reach(on),
            myself: std::env::current_exe().map_err(|error| {
                Failure::new(format!("cannot find fathomp's own program: {error}"))
            })?,
        }))
    }

    /// How many nodes the hosts have together.
    pub(crate) fn nodes(&self) -> u16 {
        self.hosts.nodes()
    }

    /// How many hosts there are.
    pub(crate) fn count(&self) -> u16 {
        self.hosts.count()
    }

    /// The hosts as the user calls them, such as `a, b:2`.
    pub(crate) fn names(&self) -> String {
        list(self.hosts.all().iter().map(|host| (host, host.nodes))).replace(',', ", ")
    }

    /// More nodes than the hosts have cannot be asked for.
    pub(crate) fn check(&self, nodes: u32) -> Result<(), Failure> {
        if nodes <= self.nodes().into() {
            return Ok(());
        }
        Err(Failure::new(format!(
            "{nodes} nodes were asked for, and the hosts have {}: name more hosts, or more nodes of each as in a:2",
            self.nodes()
        ))
        .with_code(exit::USAGE))
    }

    /// The words in front of a program that run it on as many nodes as `cluster` has, each
    /// with one thread, on as many different hosts as there are.
    pub(crate) fn words(&self, cluster: Cluster) -> Vec<OsString> {
        let mut words = vec![self.myself.clone().into_os_string()];
        words.extend(["--quiet", "run", "--threads", "1"].map(OsString::from));
        words.extend(self.options(cluster));
        words.push("--".into());
        words
    }

    /// The options of `fathomp run` and `fathomp record` for that.
    pub(crate) fn options(&self, cluster: Cluster) -> Vec<OsString> {
        let mut words: Vec<OsString> = ["--dsm", cluster.dsm.name()].map(OsString::from).into();
        if cluster.dsm == Protocol::Homeless {
            words.push("--dsm-memory".into());
            words.push(format!("{}M", cluster.dsm_memory.mib()).into());
        }
        if cluster.dsm_plain {
            words.push("--dsm-plain".into());
        }
        words.push("--hosts".into());
        words.push(self.spread(cluster.nodes).into());
        words.extend(self.reach.iter().cloned());
        words
    }

    /// Runs a program so, given its arguments.
    pub(crate) fn run(&self, program: &Path, cluster: Cluster) -> Command {
        let mut command = told_alone(&self.myself, &Plan::default());
        command
            .args(self.words(cluster).into_iter().skip(1))
            .arg(program);
        command
    }

    /// `fathomp record` of a program on as many nodes as `cluster` has, each with so many threads,
    /// into a directory.
    pub(crate) fn record(
        &self,
        program: &Program,
        threads: ThreadCount,
        cluster: Cluster,
        directory: &Path,
    ) -> Program {
        let ThreadCount(threads) = threads;
        let mut command = vec![self.myself.clone().into_os_string()];
        command.extend(["--quiet", "record", "--threads"].map(OsString::from));
        command.push(threads.to_string().into());
        command.extend(self.options(cluster));
        command.extend(["-o".into(), directory.as_os_str().to_owned(), "--".into()]);
        command.extend(program.command.iter().cloned());
        Program {
            path: self.myself.clone(),
            command,
            suspicion: None,
        }
    }

    /// Measures the network between the first `hosts` of the hosts.
    pub(crate) fn floor(&self, hosts: u16, samples: u32) -> Command {
        let mut command = told_alone(&self.myself, &Plan::default());
        command.args(["wire-floor", "--samples", &samples.to_string(), "--hosts"]);
        command.arg(self.spread(hosts)).args(&self.reach);
        command
    }

    /// The list of hosts for so many nodes: each host gets one, then each a second one, and
    /// so on, as long as it has them.
    fn spread(&self, nodes: u16) -> String {
        let all = self.hosts.all();
        let mut given = vec![0; all.len()];
        let mut left = nodes;
        while left > 0 {
            let before = left;
            for (given, host) in given.iter_mut().zip(all) {
                if left > 0 && *given < host.nodes {
                    *given += 1;
                    left -= 1;
                }
            }
            if left == before {
                break;
            }
        }
        list(all.iter().zip(given))
    }
}

fn list<'a>(hosts: impl Iterator<Item = (&'a Host, u16)>) -> String {
    let mut text = String::new();
    for (host, nodes) in hosts.filter(|(_, nodes)| *nodes > 0) {
        let comma = if text.is_empty() { "" } else { "," };
        let name = match host.name.contains(':') {
            true => format!("[{}]", host.name),
            false => host.name.clone(),
        };
        // Writing to a String cannot fail.
        let _ = match nodes {
            1 => write!(text, "{comma}{name}"),
            _ => write!(text, "{comma}{name}:{nodes}"),
        };
    }
    text
}

fn reach(on: &OnHosts) -> Vec<OsString> {
    let mut words: Vec<OsString> = Vec::new();
    if let Some(command) = &on.ssh {
        words.extend(["--ssh".into(), command.into()]);
    }
    if let Some(ports) = on.ports {
        words.extend([
            "--ports".into(),
            format!("{}-{}", ports.first, ports.last).into(),
        ]);
    }
    if on.secure {
        words.push("--secure".into());
    }
    words.extend([
        "--start-timeout".into(),
        on.start_timeout.to_string().into(),
    ]);
    if let Some(fan_out) = on.fan_out {
        words.extend(["--fan-out".into(), fan_out.to_string().into()]);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn across(hosts: &str) -> Across {
        let on = OnHosts {
            hosts: Some(hosts.to_owned()),
            ssh: Some("ssh -p 7".to_owned()),
            start_timeout: 30,
            ..OnHosts::default()
        };
        Across::of(&on).unwrap().unwrap()
    }

    #[test]
    fn nodes_are_spread_over_hosts() {
        let across = across("a:2,b,[::1]:3");
        let spread = [1, 2, 3, 4, 5, 6].map(|nodes| across.spread(nodes));
        assert_eq!(
            spread,
            [
                "a",
                "a,b",
                "a,b,[::1]",
                "a:2,b,[::1]",
                "a:2,b,[::1]:2",
                "a:2,b,[::1]:3"
            ]
        );
        assert_eq!((across.nodes(), across.count()), (6, 3));
        assert_eq!(across.names(), "a:2, b, [::1]:3");
        assert!(across.check(6).is_ok() && across.check(7).is_err());
    }

    #[test]
    fn options_reach_the_command() {
        let cluster = Cluster {
            nodes: 2,
            dsm_plain: true,
            ..Cluster::ONE
        };
        let words = across("a,b").words(cluster);
        let words: Vec<_> = words
            .iter()
            .skip(1)
            .filter_map(|word| word.to_str())
            .collect();
        assert_eq!(
            words.join("|"),
            "--quiet|run|--threads|1|--dsm|home|--dsm-plain|--hosts|a,b|--ssh|ssh -p 7|--start-timeout|30|--"
        );
    }

    #[test]
    fn no_hosts_are_none() {
        assert!(Across::of(&OnHosts::default()).unwrap().is_none());
    }
}
