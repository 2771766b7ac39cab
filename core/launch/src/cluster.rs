//! What makes a program run on several nodes.

use crate::names::{DIFF_MEMORY, FAULTS, LOADS, NETWORK, NODES, PLAIN, PROTOCOL, RACES};
use crate::value::{FlagError, Lookup, Variables, flag, number, text};
use crate::{Network, NetworkError};
use serde::{Deserialize, Serialize};
use std::ffi::OsString;

/// Most nodes of a cluster, so that pages of all of them are numbered by 32 bits.
pub const NODES_MAX: u16 = 256;
/// Memory for diffs that a node of the homeless protocol keeps from one tidying to the next,
/// in MiB, if nothing else is asked for.
pub const DIFF_MEMORY_MIB: u32 = 64;
/// Most of that memory, in MiB.
pub const DIFF_MEMORY_MIB_MAX: u32 = 1 << 20;

/// How pages get from node to node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Every page has a home that writers send diffs to (SCASH).
    #[default]
    Home,
    /// Writers keep their diffs; a node that needs a page collects them (TreadMarks, Cluster
    /// OpenMP).
    Homeless,
}

/// How nodes notice accesses to pages that they do not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Faults {
    /// By userfaultfd (Linux 6.4 or later).
    Userfault,
    /// By protections of the program's mappings.
    Mprotect,
}

/// What ordinary loads of a program mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Loads {
    /// A thread that reads a value sees what was written before it.
    Acquire,
    /// It may not.
    Relaxed,
}

macro_rules! named {
    ($kind:ident { $($variant:ident = $name:literal),* }) => {
        impl $kind {
            /// All there are.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// As variables and options call it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name),*
                }
            }

            /// The one of that name.
            #[must_use]
            pub fn of_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    };
}

named!(Protocol { Home = "home", Homeless = "homeless" });
named!(Faults { Userfault = "userfault", Mprotect = "mprotect" });
named!(Loads { Acquire = "acquire", Relaxed = "relaxed" });

/// Several nodes that run one program, and how they share its memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cluster {
    /// How many, from 2 to [`NODES_MAX`].
    pub nodes: u16,
    /// How pages get from node to node.
    pub protocol: Protocol,
    /// Memory for diffs that a node of the homeless protocol keeps, in MiB, from 1 to
    /// [`DIFF_MEMORY_MIB_MAX`].
    pub diff_memory_mib: u32,
    /// How accesses are noticed, if not by the faster way that the kernel has.
    pub faults: Option<Faults>,
    /// Every write to a page traps and every page is fetched by itself, so that counts mean
    /// what the SDP papers mean.
    pub plain: bool,
    /// The network to emulate.
    pub network: Option<Network>,
    /// What ordinary loads mean, if not what the program's code needs.
    pub loads: Option<Loads>,
    /// Whether data races are reported.
    pub races: bool,
}

/// The environment asks for a cluster that there cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClusterError {
    /// The number of nodes makes no sense.
    #[error("{NODES} is {0:?}, not a number from 1 to {NODES_MAX}")]
    Nodes(OsString),
    /// No such protocol.
    #[error("{PROTOCOL} is {0:?}, not home or homeless")]
    Protocol(OsString),
    /// Too little or too much memory, or no number.
    #[error("{DIFF_MEMORY} is {0:?}, not a number of MiB from 1 to {DIFF_MEMORY_MIB_MAX}")]
    DiffMemory(OsString),
    /// There is no such way to notice accesses.
    #[error("{FAULTS} is {0:?}, not userfault or mprotect")]
    Faults(OsString),
    /// There is no such network.
    #[error("{NETWORK}: {0}")]
    Network(#[from] NetworkError),
    /// Loads cannot be made to mean that.
    #[error("{LOADS} is {0:?}, not acquire or relaxed")]
    Loads(OsString),
    /// Neither on nor off.
    #[error(transparent)]
    Flag(#[from] FlagError),
    /// Races are not looked for in that way.
    #[error("{RACES} is set, which the homeless protocol knows nothing of: unset it")]
    Races,
}

/// How many nodes the environment asks for, from 1 on.
///
/// # Errors
/// If it asks for an impossible number of them.
pub fn nodes(get: Lookup<'_>) -> Result<u16, ClusterError> {
    let Some(value) = text(get, NODES) else {
        return Ok(1);
    };
    let nodes = number(&value).and_then(|nodes| u16::try_from(nodes).ok());
    nodes
        .filter(|nodes| (1..=NODES_MAX).contains(nodes))
        .ok_or(ClusterError::Nodes(value))
}

/// Whether the environment asks for several nodes, be it for an impossible number of them.
#[must_use]
pub fn asks_for_nodes(get: Lookup<'_>) -> bool {
    nodes(get) != Ok(1)
}

impl Cluster {
    /// So many nodes as they usually are.
    #[must_use]
    pub fn of(nodes: u16) -> Self {
        Self {
            nodes,
            protocol: Protocol::default(),
            diff_memory_mib: DIFF_MEMORY_MIB,
            faults: None,
            plain: false,
            network: None,
            loads: None,
            races: false,
        }
    }

    /// The cluster that the environment asks for, if it asks for more than one node.
    ///
    /// # Errors
    /// If it asks for something impossible.
    pub fn from_env(get: Lookup<'_>) -> Result<Option<Self>, ClusterError> {
        let nodes @ 2.. = nodes(get)? else {
            return Ok(None);
        };
        let protocol = named(get, PROTOCOL, Protocol::of_name, ClusterError::Protocol)?;
        let cluster = Self {
            nodes,
            protocol: protocol.unwrap_or_default(),
            diff_memory_mib: diff_memory(get)?,
            faults: named(get, FAULTS, Faults::of_name, ClusterError::Faults)?,
            plain: flag(get, PLAIN)?,
            network: match text(get, NETWORK) {
                Some(value) => Some(value.to_string_lossy().parse()?),
                None => None,
            },
            loads: named(get, LOADS, Loads::of_name, ClusterError::Loads)?,
            races: flag(get, RACES)?,
        };
        if cluster.races && cluster.protocol != Protocol::Home {
            return Err(ClusterError::Races);
        }
        Ok(Some(cluster))
    }

    /// What asks for it.
    pub(crate) fn variables(&self, to: &mut Variables) {
        let Self {
            nodes,
            protocol,
            diff_memory_mib,
            faults,
            plain,
            network,
            loads,
            races,
        } = self;
        to.push((NODES.name, nodes.to_string().into()));
        to.push((PROTOCOL.name, protocol.name().into()));
        to.push((DIFF_MEMORY.name, diff_memory_mib.to_string().into()));
        to.extend(faults.map(|faults| (FAULTS.name, faults.name().into())));
        if *plain {
            to.push((PLAIN.name, "1".into()));
        }
        to.extend(network.map(|network| (NETWORK.name, network.to_string().into())));
        to.extend(loads.map(|loads| (LOADS.name, loads.name().into())));
        if *races {
            to.push((RACES.name, "1".into()));
        }
    }
}

fn diff_memory(get: Lookup<'_>) -> Result<u32, ClusterError> {
    let Some(value) = text(get, DIFF_MEMORY) else {
        return Ok(DIFF_MEMORY_MIB);
    };
    let mib = number(&value).and_then(|mib| u32::try_from(mib).ok());
    mib.filter(|mib| (1..=DIFF_MEMORY_MIB_MAX).contains(mib))
        .ok_or(ClusterError::DiffMemory(value))
}

fn named<T>(
    get: Lookup<'_>,
    variable: crate::Variable,
    of_name: fn(&str) -> Option<T>,
    error: fn(OsString) -> ClusterError,
) -> Result<Option<T>, ClusterError> {
    let Some(value) = text(get, variable) else {
        return Ok(None);
    };
    match value.to_str().and_then(of_name) {
        Some(found) => Ok(Some(found)),
        None => Err(error(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(crate::Variable, &str)]) -> Result<Option<Cluster>, ClusterError> {
        Cluster::from_env(&|name| {
            let found = variables.iter().find(|(known, _)| known.name == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn one_node_is_no_cluster() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[(NODES, "")]), Ok(None));
        // What else is wrong does not matter to a program by itself.
        assert_eq!(read(&[(NODES, "1"), (PROTOCOL, "nonsense")]), Ok(None));
        assert_eq!(read(&[(NODES, "2")]), Ok(Some(Cluster::of(2))));
    }

    #[test]
    fn what_there_is_not_is_refused_by_name() {
        let said = |variable, value| {
            let read = read(&[(NODES, "2"), (variable, value)]);
            read.unwrap_err().to_string()
        };
        assert_eq!(
            said(PROTOCOL, "Home"),
            "FATHOMP_DSM is \"Home\", not home or homeless"
        );
        assert_eq!(
            said(PLAIN, "yes"),
            "FATHOMP_DSM_PLAIN is \"yes\", not 0 or 1: set it to one of them or unset it"
        );
        for bad in ["0", "-1", "1.5", "64M", "1048577"] {
            assert!(said(DIFF_MEMORY, bad).contains("not a number of MiB"));
        }
        for (variable, value) in [(FAULTS, "magic"), (NETWORK, "slow"), (LOADS, "sometimes")] {
            assert!(said(variable, value).starts_with(variable.name));
        }
        for bad in ["0", "257", "two", "-2", "65538"] {
            let error = read(&[(NODES, bad)]).unwrap_err();
            assert_eq!(error, ClusterError::Nodes(bad.into()));
        }
        let races = read(&[(NODES, "2"), (PROTOCOL, "homeless"), (RACES, "1")]);
        assert_eq!(races, Err(ClusterError::Races));
    }
}
