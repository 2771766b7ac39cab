//! Which hosts run a program, and how many nodes each: as lists and host files say it.

use fathomp_transport::tcp::handover;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Most nodes on all hosts, as on one machine.
pub const NODES_MAX: u16 = 256;

/// A host, and how many nodes run there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// As the user calls it: a name, or an address without brackets.
    pub name: String,
    /// At least one.
    pub nodes: u16,
}

impl Host {
    /// Whether the name means the machine on which it is said. The machine's own name in the
    /// network does not, so that `ssh` is used as for any other.
    #[must_use]
    pub fn is_here(&self) -> bool {
        self.name.eq_ignore_ascii_case("localhost")
            || matches!(self.name.as_str(), "127.0.0.1" | "::1")
    }
}

/// The hosts of a run, in their order. Nodes are numbered host by host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hosts(Vec<Host>);

/// A list of hosts, or a host file, that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum HostsError {
    /// There is nothing in it.
    #[error("no host is named: give at least one, as in --hosts a,b")]
    None,
    /// One of the entries has no name, or one that no host can have.
    #[error(
        "{0:?} names no host: write a name or an address, with [ ] around an IPv6 address, and how many nodes after a colon, as in a:2 or [::1]:2"
    )]
    Name(String),
    /// How many nodes is no number, or one too small or too large.
    #[error("{0:?} asks for no number of nodes from 1 to {NODES_MAX}: write it as in a:2")]
    Count(String),
    /// Together they have too many nodes.
    #[error("{0} nodes on all hosts are more than {NODES_MAX}: name fewer")]
    TooMany(u32),
    /// The file cannot be read.
    #[error("cannot read the host file {}: {source}: check its name", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A line of the file makes no sense.
    #[error("{}, line {line}: {source}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
        /// What is wrong.
        source: Box<HostsError>,
    },
}

impl Hosts {
    /// The hosts of a list such as `a,b:2,[::1]:2`. A host that is named again gets the nodes
    /// of both mentions, as with `mpirun --host a,a`.
    ///
    /// # Errors
    /// If it makes no sense.
    pub fn parse(list: &str) -> Result<Self, HostsError> {
        let entries = list.split(',').map(|entry| entry_of_list(entry.trim()));
        Self::gather(entries.collect::<Result<_, _>>()?)
    }

    /// The hosts of a file: one on each line as `name`, `name:2` or `name slots=2`; what
    /// comes after `#` does not count.
    ///
    /// # Errors
    /// If it cannot be read or makes no sense.
    pub fn read(path: &Path) -> Result<Self, HostsError> {
        let text = fs::read_to_string(path).map_err(|source| HostsError::Read {
            path: path.to_owned(),
            source,
        })?;
        let mut found = Vec::new();
        for (number, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default().trim();
            if !line.is_empty() {
                let entry = entry_of_file(line).map_err(|source| HostsError::Line {
                    path: path.to_owned(),
                    line: number + 1,
                    source: Box::new(source),
                })?;
                found.push(entry);
            }
        }
        Self::gather(found)
    }

    /// These hosts, though several have one name; none if there are none or too many nodes.
    pub(crate) fn of(hosts: Vec<Host>) -> Option<Self> {
        let nodes: u32 = hosts.iter().map(|host| u32::from(host.nodes)).sum();
        (1..=u32::from(NODES_MAX))
            .contains(&nodes)
            .then_some(Self(hosts))
    }

    fn gather(entries: Vec<Host>) -> Result<Self, HostsError> {
        let mut hosts: Vec<Host> = Vec::new();
        let nodes: u32 = entries.iter().map(|entry| u32::from(entry.nodes)).sum();
        if nodes > u32::from(NODES_MAX) {
            return Err(HostsError::TooMany(nodes));
        }
        for entry in entries {
            let known = hosts
                .iter_mut()
                .find(|host| host.name.eq_ignore_ascii_case(&entry.name));
            match known {
                Some(host) => host.nodes += entry.nodes,
                None => hosts.push(entry),
            }
        }
        if hosts.is_empty() {
            return Err(HostsError::None);
        }
        Ok(Self(hosts))
    }

    /// All of them, in their order.
    #[must_use]
    pub fn all(&self) -> &[Host] {
        &self.0
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u16 {
        // There are no more than nodes.
        u16::try_from(self.0.len()).unwrap_or(NODES_MAX)
    }

    /// How many nodes there are on all of them.
    #[must_use]
    pub fn nodes(&self) -> u16 {
        self.0.iter().map(|host| host.nodes).sum()
    }

    /// The nodes of a host; none at all if there is no such host.
    #[must_use]
    pub fn nodes_of(&self, host: u16) -> Range<u16> {
        let before = self.0.iter().take(usize::from(host));
        let first = before.map(|host| host.nodes).sum();
        let count = self.0.get(usize::from(host)).map_or(0, |host| host.nodes);
        first..first + count
    }

    /// The host of a node.
    #[must_use]
    pub fn host_of(&self, node: u16) -> Option<u16> {
        (0..self.count()).find(|host| self.nodes_of(*host).contains(&node))
    }

    /// How sentences call a host.
    #[must_use]
    pub fn name(&self, host: u16) -> &str {
        let host = self.0.get(usize::from(host));
        host.map_or("an unknown host", |host| &host.name)
    }

    /// As a program on host `me` is told of them.
    #[must_use]
    pub fn for_program(&self, me: u16) -> Option<handover::Hosts> {
        let host = |host: &Host| handover::Host {
            name: host.name.clone(),
            nodes: host.nodes,
        };
        handover::Hosts::new(me, self.0.iter().map(host).collect())
    }
}

/// `name`, `name:2`, `[address]` or `[address]:2`.
fn entry_of_list(entry: &str) -> Result<Host, HostsError> {
    let bad = || HostsError::Name(entry.to_owned());
    let (name, count) = match entry.strip_prefix('[') {
        Some(rest) => {
            let (name, rest) = rest.split_once(']').ok_or_else(bad)?;
            match (rest.is_empty(), rest.strip_prefix(':')) {
                (true, _) => (name, None),
                (false, Some(count)) => (name, Some(count)),
                (false, None) => return Err(bad()),
            }
        }
        // An IPv6 address is full of colons, so a count after one more needs brackets.
        None if entry.parse::<IpAddr>().is_ok() => (entry, None),
        None => match entry.split_once(':') {
            Some((name, count)) => (name, Some(count)),
            None => (entry, None),
        },
    };
    let nodes = count.map_or(Ok(1), |count| number(count, entry))?;
    host(name, nodes).ok_or_else(bad)
}

/// As a list has it, or followed by `slots=2`.
fn entry_of_file(line: &str) -> Result<Host, HostsError> {
    let mut words = line.split_whitespace();
    let mut entry = entry_of_list(words.next().unwrap_or_default())?;
    for word in words {
        let count = word.strip_prefix("slots=");
        let count = count.ok_or_else(|| HostsError::Name(line.to_owned()))?;
        entry.nodes = number(count, line)?;
    }
    Ok(entry)
}

fn number(count: &str, entry: &str) -> Result<u16, HostsError> {
    let nodes = count.parse().ok();
    nodes
        .filter(|nodes| (1..=NODES_MAX).contains(nodes))
        .ok_or_else(|| HostsError::Count(entry.to_owned()))
}

/// None for names that no host has, or that `ssh` would take for one of its options.
fn host(name: &str, nodes: u16) -> Option<Host> {
    let odd = |c: char| c.is_whitespace() || c.is_control() || "[],/'\"\\$`;&|<>()*?!".contains(c);
    let sound = !name.is_empty() && !name.starts_with('-') && !name.contains(odd);
    let is_name = !name.contains(':') || name.parse::<IpAddr>().is_ok();
    (sound && is_name).then(|| Host {
        name: name.to_owned(),
        nodes,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn hosts(list: &str) -> Vec<(String, u16)> {
        let hosts = Hosts::parse(list).unwrap_or_else(|error| panic!("{list}: {error}"));
        hosts.0.into_iter().map(|h| (h.name, h.nodes)).collect()
    }

    fn pairs(pairs: &[(&str, u16)]) -> Vec<(String, u16)> {
        let pair = |(name, nodes): &(&str, u16)| ((*name).to_owned(), *nodes);
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn lists_name_hosts_and_how_many_nodes_they_have() {
        assert_eq!(hosts("a"), pairs(&[("a", 1)]));
        assert_eq!(
            hosts("a, b:2,u@c"),
            pairs(&[("a", 1), ("b", 2), ("u@c", 1)])
        );
        assert_eq!(
            hosts("10.0.0.1:3,::1,[::1]:2,[fe80::1]"),
            pairs(&[("10.0.0.1", 3), ("::1", 3), ("fe80::1", 1)])
        );
    }

    #[test]
    fn a_host_named_twice_has_the_nodes_of_both() {
        assert_eq!(hosts("a,b,A:2"), pairs(&[("a", 3), ("b", 1)]));
        assert_eq!(
            hosts("localhost,127.0.0.1"),
            pairs(&[("localhost", 1), ("127.0.0.1", 1)])
        );
    }

    #[test]
    fn what_names_no_host_is_refused() {
        for bad in [
            "",
            "a,",
            ",a",
            "a b",
            "-oProxyCommand=x",
            "a:",
            "a:0",
            "a:257",
            "a:x",
            "[::1",
            "[::1]2",
            "[]:2",
            "a;b",
            "$(a)",
            "a:2:3",
            "a:200,b:100",
        ] {
            assert!(Hosts::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn files_have_a_host_on_each_line() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(b"# ours\na\n  b:2 # two\n\nc slots=3\na slots=2\n[::1]:2\n")
            .unwrap();
        let read = Hosts::read(file.path()).unwrap();
        let read: Vec<_> = read.0.into_iter().map(|h| (h.name, h.nodes)).collect();
        assert_eq!(read, pairs(&[("a", 3), ("b", 2), ("c", 3), ("::1", 2)]));
        file.write_all(b"d slots=no\n").unwrap();
        let error = Hosts::read(file.path()).unwrap_err().to_string();
        assert!(error.contains(", line 8: \"d slots=no\""), "{error}");
        assert!(Hosts::read(Path::new("/no/such/file")).is_err());
    }

    #[test]
    fn nodes_are_numbered_host_by_host() {
        let hosts = Hosts::parse("a:2,b,c:3").unwrap();
        assert_eq!(hosts.nodes(), 6);
        assert_eq!(hosts.nodes_of(2), 3..6);
        assert!(hosts.nodes_of(3).is_empty());
        assert_eq!(hosts.host_of(2), Some(1));
        assert_eq!(hosts.host_of(6), None);
        assert_eq!(hosts.for_program(1).unwrap().nodes_of(1), 2..3);
    }
}
