//! `fathomp bench`.

use super::{Net, OnHosts, ThreadList};
use clap::{ArgGroup, Args, ValueEnum};
use fathomp_bench::settings::{Affinity, WaitPolicy};
use fathomp_bench::suite::SuiteName;
use fathomp_cluster_commands::args::HomesName;
use fathomp_console::args::protocols;
use fathomp_launch::Protocol;
use std::path::PathBuf;

/// Length of a sample, in microseconds, if nobody says otherwise.
const TARGET_US: u32 = 200;

/// `fathomp bench`.
#[derive(Args, Debug)]
// Hosts and numbers of nodes exclude each other elsewhere; here the numbers are how many nodes
// of the hosts to use.
#[command(group = ArgGroup::new("nodes"))]
pub(crate) struct Bench {
    /// What to measure.
    #[arg(value_name = "SUITE", required = true)]
    pub(crate) suites: Vec<SuiteArg>,
    /// Compilers that build the programs [default: those of gcc, clang and
    /// gfortran that are installed].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) cc: Vec<String>,
    /// Runtimes to run them under: fathomp, libgomp, libomp or NAME=PATH of a
    /// library; home or homeless for fathomp on nodes that share memory by that
    /// protocol, each with one of the threads [default: fathomp, libgomp, and
    /// libomp if it is installed].
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) runtime: Vec<String>,
    /// Numbers of threads [default: powers of two up to the processors this
    /// process may use, and that number itself].
    #[arg(long, value_name = "LIST")]
    pub(crate) threads: Option<ThreadList>,
    /// Numbers of nodes with a thread each, instead of numbers of threads; the runtime is
    /// then home, if no other is named.
    #[arg(
        id = "node_list",
        long = "nodes",
        value_name = "LIST",
        conflicts_with = "threads"
    )]
    pub(crate) nodes: Option<ThreadList>,
    #[command(flatten)]
    pub(crate) on: OnHosts,
    /// With nodes: emulate a network between them, by its latency in us and bandwidth in
    /// MB/s, such as 62.5,103.4; or a cluster: gige_amd, gige_amd_mcbench,
    /// infiniband_ddr4x, or a JSON file.
    #[arg(long, value_name = "LAT_US,MBPS|NAME", conflicts_with_all = ["hosts", "hostfile"])]
    pub(crate) net: Option<Net>,
    /// With nodes: leave pages at their first home and fetch them one by one.
    #[arg(long)]
    pub(crate) dsm_plain: bool,
    /// With mcbench: run nothing, but calculate what it takes on nodes of these clusters:
    /// gige_amd, gige_amd_mcbench, infiniband_ddr4x, or JSON files. What the program accesses is
    /// replayed through the protocols, as `fathomp simulate` does [default of --runtime: home and
    /// homeless, of --nodes: powers of two up to all nodes of the cluster].
    #[arg(
        long,
        value_name = "CLUSTERS",
        value_delimiter = ',',
        conflicts_with_all = ["threads", "hosts", "hostfile", "net", "affinity", "wait_policy", "runs", "samples", "target_us"]
    )]
    pub(crate) simulated: Vec<String>,
    /// With --simulated: where pages are at home at first: where they are touched first
    /// (first-touch), which is a block for each node; at node 0 (first), as real nodes with
    /// --dsm-plain have them; or dealt one by one or by so many (cyclic, cyclic:8).
    #[arg(
        long,
        value_name = "HOMES",
        default_value = "first-touch",
        requires = "simulated"
    )]
    pub(crate) homes: HomesName,
    /// Where threads run (sets OMP_PROC_BIND and OMP_PLACES=cores): left alone,
    /// two threads of a team can land on one processor.
    #[arg(long, value_name = "WHERE", default_value = "close")]
    pub(crate) affinity: AffinityArg,
    /// How threads wait (sets OMP_WAIT_POLICY).
    #[arg(long, value_name = "HOW", default_value = "default")]
    pub(crate) wait_policy: WaitPolicyArg,
    /// Only these rows, such as BARRIER or "DYNAMIC n"; or cases of rows, such
    /// as "DYNAMIC 7".
    #[arg(long, value_name = "ROWS", value_delimiter = ',')]
    pub(crate) only: Vec<String>,
    /// Only these groups of rows: sync, sched, array, task, nest (epcc);
    /// consistency (mcbench); latency, order, bandwidth (access).
    #[arg(long, value_name = "GROUPS", value_delimiter = ',')]
    pub(crate) group: Vec<String>,
    /// Processes for each case, runtime and number of threads; more make the
    /// intervals narrower.
    #[arg(long, value_name = "R", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Samples in each process.
    #[arg(long, value_name = "S", default_value_t = 20, value_parser = clap::value_parser!(u32).range(3..=1000))]
    pub(crate) samples: u32,
    /// Time that one sample should fill, in microseconds.
    #[arg(long, value_name = "US", default_value_t = TARGET_US, value_parser = clap::value_parser!(u32).range(10..=1_000_000))]
    pub(crate) target_us: u32,
    /// All values of parameters, not only a few: takes several times longer.
    #[arg(long, conflicts_with = "quick")]
    pub(crate) full: bool,
    /// One run with half the samples: for a first look.
    #[arg(long, conflicts_with_all = ["runs", "samples"])]
    pub(crate) quick: bool,
    /// What the others are compared with: a runtime, or a column such as
    /// gcc+libgomp [default: fathomp].
    #[arg(long, value_name = "NAME")]
    pub(crate) baseline: Option<String>,
    /// Exit with 1 if the baseline costs more than the best of the others on
    /// the whole, or more than 1.3 times as much in one case; with dsm, if
    /// something costs more than it should.
    #[arg(long)]
    pub(crate) check: bool,
    /// With dsm: protocol by which pages get from one process to another.
    #[arg(long, value_parser = protocols(), default_value = Protocol::Home.name(), value_name = "PROTOCOL")]
    pub(crate) dsm: Protocol,
    /// What is printed: a table that compares, the same as Markdown, or the text that EPCC's own
    /// programs print, of the times of the work with the construct.
    #[arg(long, value_enum, value_name = "FORM", default_value_t = FormatArg::Table)]
    pub(crate) format: FormatArg,
    /// File for all samples, to be read by `fathomp report`.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Also write one line per case, column, number of threads and run to this
    /// CSV file.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Also write data files and a command file for gnuplot to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) gnuplot: Option<PathBuf>,
    /// Also write one offline page with tables and figures.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    pub(crate) force: bool,
}

/// What is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FormatArg {
    /// Columns beside each other.
    Table,
    /// As EPCC's programs (version 3), for scripts that read that.
    Epcc,
    /// Tables for pages in Markdown, with the ratio to each other column.
    Markdown,
}

/// A suite, or all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum SuiteArg {
    /// Overheads of OpenMP constructs.
    Epcc,
    /// Cost of keeping shared memory consistent.
    Mcbench,
    /// Cost of memory accesses.
    Access,
    /// What sharing memory between nodes costs beside the least that kernel and
    /// machine take for it; by itself, not part of all.
    Dsm,
    /// All of them but dsm.
    All,
}

impl Bench {
    /// Whether it is about nodes, and if so, what else was asked for that has no
    /// meaning there.
    pub(crate) fn dsm(&self) -> Option<Result<(), &'static str>> {
        if !self.suites.contains(&SuiteArg::Dsm) {
            return None;
        }
        let unsuitable = [
            (self.suites.len() > 1, "another suite"),
            (!self.runtime.is_empty(), "--runtime"),
            (self.threads.is_some(), "--threads"),
            (self.affinity != AffinityArg::Close, "--affinity"),
            (self.wait_policy != WaitPolicyArg::Default, "--wait-policy"),
            (!self.only.is_empty(), "--only"),
            (!self.group.is_empty(), "--group"),
            (self.target_us != TARGET_US, "--target-us"),
            (self.full, "--full"),
            (!self.simulated.is_empty(), "--simulated"),
            (self.baseline.is_some(), "--baseline"),
            (self.format != FormatArg::Table, "--format"),
            (
                self.nodes.is_some() && self.net.is_none() && !self.on.are_asked_for(),
                "--nodes without --net or --hosts",
            ),
            (self.csv.is_some(), "--csv"),
            (self.gnuplot.is_some(), "--gnuplot"),
            (self.html.is_some(), "--html"),
            (self.cc.len() > 1, "a second compiler"),
        ];
        let first = unsuitable.into_iter().find(|(given, _)| *given);
        Some(first.map_or(Ok(()), |(_, what)| Err(what)))
    }

    /// Whether anything is said that only nodes know.
    pub(crate) fn speaks_of_nodes(&self) -> bool {
        self.nodes.is_some() || self.net.is_some() || self.dsm_plain || self.on.are_asked_for()
    }

    /// The suites asked for, each once.
    pub(crate) fn suites(&self) -> Vec<SuiteName> {
        let wanted = |suite: &SuiteName| {
            self.suites.iter().any(|arg| match arg {
                SuiteArg::All => true,
                SuiteArg::Epcc => *suite == SuiteName::Epcc,
                SuiteArg::Mcbench => *suite == SuiteName::Mcbench,
                SuiteArg::Access => *suite == SuiteName::Access,
                SuiteArg::Dsm => false,
            })
        };
        SuiteName::ALL.into_iter().filter(wanted).collect()
    }
}

/// `OMP_PROC_BIND`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum AffinityArg {
    /// Wherever the kernel puts them.
    None,
    /// Next to each other.
    Close,
    /// As far apart as possible.
    Spread,
}

impl From<AffinityArg> for Affinity {
    fn from(arg: AffinityArg) -> Self {
        match arg {
            AffinityArg::None => Self::None,
            AffinityArg::Close => Self::Close,
            AffinityArg::Spread => Self::Spread,
        }
    }
}

/// `OMP_WAIT_POLICY`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum WaitPolicyArg {
    /// As the runtime decides.
    Default,
    /// Spinning.
    Active,
    /// Asleep.
    Passive,
}

impl From<WaitPolicyArg> for WaitPolicy {
    fn from(arg: WaitPolicyArg) -> Self {
        match arg {
            WaitPolicyArg::Default => Self::Default,
            WaitPolicyArg::Active => Self::Active,
            WaitPolicyArg::Passive => Self::Passive,
        }
    }
}
