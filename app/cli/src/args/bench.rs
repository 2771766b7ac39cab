//! `fathomp bench`.

use super::ThreadList;
use super::cluster::BenchOnNodes;
use clap::{Args, ValueEnum};
use fathomp_bench::settings::{Affinity, WaitPolicy};
use fathomp_bench::suite::SuiteName;
use std::path::PathBuf;

/// Length of a sample, in microseconds, if nobody says otherwise.
pub(crate) const TARGET_US: u32 = 200;

/// `fathomp bench`.
#[derive(Args, Debug)]
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
    #[command(flatten)]
    pub(crate) nodes: BenchOnNodes,
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
    #[cfg(feature = "cluster")]
    /// What sharing memory between nodes costs beside the least that kernel and
    /// machine take for it; by itself, not part of all.
    Dsm,
    /// All of them but dsm.
    All,
}

impl Bench {
    /// The suites asked for, each once.
    pub(crate) fn suites(&self) -> Vec<SuiteName> {
        let asked = |suite: &SuiteName| {
            let named = match suite {
                SuiteName::Epcc => SuiteArg::Epcc,
                SuiteName::Mcbench => SuiteArg::Mcbench,
                SuiteName::Access => SuiteArg::Access,
            };
            self.suites.contains(&named) || self.suites.contains(&SuiteArg::All)
        };
        SuiteName::ALL.into_iter().filter(asked).collect()
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
