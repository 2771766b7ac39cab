//! On which hosts a program runs, and how they are reached.

use clap::{ArgGroup, Args};
use std::path::PathBuf;
use std::str::FromStr;

/// Options that have a program run on several hosts.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct OnHosts {
    /// Hosts that run the program together, each with a number of nodes if it is not one, such
    /// as a,b:2,10.0.0.3:2. The first one has standard input.
    #[arg(long, value_name = "HOST[:N],...", conflicts_with_all = ["hostfile", "nodes"])]
    pub(crate) hosts: Option<String>,
    /// The same from a file: a host on each line, as HOST, HOST:N or HOST slots=N.
    #[arg(long, value_name = "FILE", conflicts_with = "nodes")]
    pub(crate) hostfile: Option<PathBuf>,
    /// Inside mpirun or srun: all that they have started run the program together, each with
    /// --nodes nodes, which are connected in this way. The first one has standard input.
    #[arg(long, value_enum, value_name = "HOW")]
    pub(crate) transport: Option<Transport>,
    /// With --transport: the C compiler of the MPI whose mpirun it is [default: the one beside
    /// that mpirun].
    #[arg(long, value_name = "CMD")]
    pub(crate) mpicc: Option<String>,
    /// With --hosts: the command that runs another on a host, as `CMD HOST COMMAND`; it must
    /// not ask anything [default: ssh].
    #[arg(long, value_name = "CMD")]
    pub(crate) ssh: Option<String>,
    /// With --hosts or --transport: ports on which hosts may be connected to by each other [default: any].
    #[arg(long, value_name = "FROM-TO")]
    pub(crate) ports: Option<Ports>,
    /// With --hosts: encrypt what nodes send each other.
    #[arg(long)]
    pub(crate) secure: bool,
    /// With --hosts or --transport: seconds that hosts, and programs on them that wait for each other, may
    /// take to be there.
    #[arg(long, value_name = "S", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) start_timeout: u64,
    /// With --hosts: how many agents one host starts.
    #[arg(long, value_name = "N", hide = true, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) fan_out: Option<u16>,
}

impl OnHosts {
    /// Whether hosts are named, or somebody else has started what is to be one program.
    pub(crate) fn are_asked_for(&self) -> bool {
        self.hosts.is_some() || self.hostfile.is_some() || self.transport.is_some()
    }

    /// An option that says something about hosts, though none are named.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        if self.mpicc.is_some() && self.transport.is_none() {
            return Some(
                "--mpicc is for runs inside of mpirun or srun: give --transport tcp or --transport mpi, or leave it out",
            );
        }
        if self.transport.is_some() && (self.hosts.is_some() || self.hostfile.is_some()) {
            return Some(
                "with --transport mpirun or srun says on which hosts the program runs: leave --hosts and --hostfile out, or --transport",
            );
        }
        if self.transport.is_some() && (self.ssh.is_some() || self.fan_out.is_some()) {
            return Some(
                "with --transport mpirun or srun starts what --ssh would: leave --ssh out",
            );
        }
        if self.transport.is_some() && self.secure {
            return Some(
                "with --transport the key of the run goes the way of mpirun or srun, which need not be secret, so --secure would promise too much: use --hosts, or leave --secure out",
            );
        }
        let about = self.ssh.is_some() || self.ports.is_some() || self.secure;
        (about && !self.are_asked_for()).then_some(
            "--ssh, --ports and --secure say how hosts are connected: name the hosts by --hosts or --hostfile",
        )
    }
}

/// How nodes are connected that mpirun or srun has started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Transport {
    /// By TCP; mpirun or srun only starts them.
    Tcp,
    /// By MPI, on whatever network it knows.
    Mpi,
}

/// `fathomp wire-floor`.
#[derive(Args, Debug)]
// Named as what --hosts cannot be given with, of which there is none here.
#[command(group = ArgGroup::new("nodes"))]
pub(crate) struct WireFloor {
    #[command(flatten)]
    pub(crate) on: OnHosts,
    /// Samples of each kind.
    #[arg(long, value_name = "S", default_value_t = 200, value_parser = clap::value_parser!(u32).range(3..=100_000))]
    pub(crate) samples: u32,
    /// Take part on this host, for the agent that has started this.
    #[arg(long)]
    pub(crate) here: bool,
}

/// `fathomp host-agent`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct HostAgent {
    /// Keep the program of an agent.
    #[arg(long)]
    pub(crate) supervisor: bool,
}

/// A range of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ports {
    pub(crate) first: u16,
    pub(crate) last: u16,
}

/// The text is no range of ports.
#[derive(Debug, thiserror::Error)]
#[error("write two ports from 1 to 65535, as in 40000-40100")]
pub(crate) struct PortsError;

impl FromStr for Ports {
    type Err = PortsError;

    fn from_str(text: &str) -> Result<Self, PortsError> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let port = |text: &str| text.trim().parse().ok().filter(|port| *port > 0);
        match (port(first), port(last)) {
            (Some(first), Some(last)) if first <= last => Ok(Self { first, last }),
            _ => Err(PortsError),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_are_a_range() {
        let ports = |text: &str| text.parse().map(|Ports { first, last }| (first, last));
        assert_eq!(ports("40000-40100").unwrap(), (40_000, 40_100));
        assert_eq!(ports("7").unwrap(), (7, 7));
        for bad in ["", "0-5", "9-3", "1-65536", "a-b", "1-2-3"] {
            assert!(ports(bad).is_err(), "{bad}");
        }
    }
}
