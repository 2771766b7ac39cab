//! `fathomp workload`: which programs, how large, how built.

use super::cluster::WorkloadOnNodes;
use super::{ThreadCount, ThreadList};
use clap::{Args, Subcommand, ValueEnum};
use fathomp_console::args::Seconds;
use fathomp_workloads::{Class, Suite, UnknownWorkload, catalogue, find};
use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

/// `fathomp workload`.
#[derive(Args, Debug)]
pub(crate) struct Workload {
    /// What to do with the workloads.
    #[command(subcommand)]
    pub(crate) action: Action,
}

impl Workload {
    /// What does not go together.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        match &self.action {
            Action::Run(run) => run.nodes.contradiction(),
            Action::Verify(verify) => verify.nodes.contradiction(),
            Action::List(_) | Action::Build(_) | Action::Figures(_) => None,
        }
    }
}

/// What can be done with workloads.
#[derive(Debug, Subcommand)]
pub(crate) enum Action {
    /// Show the workloads and their sizes.
    List(List),
    /// Build workloads and print how to call them: their paths and, where the
    /// size is no part of the program, the size that was asked for.
    Build(Build),
    /// Build a workload and run it.
    Run(Run),
    /// Build workloads, run them with several numbers of threads, and check
    /// their results.
    Verify(Verify),
    /// Measure the access patterns of the published static score, and write a table (CSV) and
    /// what gnuplot draws for each of its figures.
    Figures(Figures),
}

/// `fathomp workload figures`.
#[derive(Args, Debug)]
pub(crate) struct Figures {
    /// Directory of the tables.
    #[arg(value_name = "DIR")]
    pub(crate) output: PathBuf,
    /// Numbers of threads [default: 1 and all processors].
    #[arg(long, value_name = "LIST")]
    pub(crate) threads: Option<ThreadList>,
    /// Timed repetitions in a run.
    #[arg(long, value_name = "R", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) repeat: u32,
    /// Runs of each, of which the fastest counts.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) runs: u32,
    /// Replace files in that directory.
    #[arg(long)]
    pub(crate) force: bool,
}

/// `fathomp workload list`.
#[derive(Args, Debug)]
pub(crate) struct List {
    /// Only those of one suite.
    #[arg(long, value_name = "SUITE")]
    pub(crate) suite: Option<SuiteName>,
}

/// `fathomp workload build`.
#[derive(Args, Debug)]
pub(crate) struct Build {
    /// Workloads, suites, or `all`.
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<Names>,
    #[command(flatten)]
    pub(crate) sizing: Sizing,
    #[command(flatten)]
    pub(crate) making: Making,
    /// Copy the programs to this directory, and print the copies' paths.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Replace programs in that directory.
    #[arg(long)]
    pub(crate) force: bool,
}

/// `fathomp workload run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// The workload.
    #[arg(value_name = "NAME")]
    pub(crate) name: One,
    #[command(flatten)]
    pub(crate) sizing: Sizing,
    #[command(flatten)]
    pub(crate) making: Making,
    /// Threads per process (sets OMP_NUM_THREADS).
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<ThreadCount>,
    #[command(flatten)]
    pub(crate) nodes: WorkloadOnNodes,
    /// The runtime that answers the program's OpenMP calls.
    #[arg(long, value_name = "RUNTIME", value_enum, default_value_t = RuntimeName::Fathomp)]
    pub(crate) runtime: RuntimeName,
    /// Run even if there seems to be too little memory.
    #[arg(long)]
    pub(crate) force: bool,
    /// More arguments for the program, after `--`.
    #[arg(value_name = "ARG", last = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// `fathomp workload verify`.
#[derive(Args, Debug)]
pub(crate) struct Verify {
    /// Workloads, suites, or `all`.
    #[arg(value_name = "NAME", required = true)]
    pub(crate) names: Vec<Names>,
    #[command(flatten)]
    pub(crate) sizing: Sizing,
    #[command(flatten)]
    pub(crate) making: Making,
    /// Numbers of threads per process.
    #[arg(long, value_name = "LIST", default_value = "1,2,4")]
    pub(crate) threads: ThreadList,
    #[command(flatten)]
    pub(crate) nodes: WorkloadOnNodes,
    /// Runtimes that answer the programs' OpenMP calls [default: both, as far as the
    /// programs can be run on them].
    #[arg(long, value_name = "LIST", value_enum, value_delimiter = ',')]
    pub(crate) runtime: Vec<RuntimeName>,
    /// Longest time for one run, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "600")]
    pub(crate) timeout: Seconds,
    /// Run even what seems to need more memory than there is.
    #[arg(long)]
    pub(crate) force: bool,
}

/// How large the problems are.
#[derive(Args, Clone, Debug)]
pub(crate) struct Sizing {
    /// Class S, W, A, B or C; for suites with data sets the one of that rank:
    /// mini, small, medium, large, extralarge [default: S].
    #[arg(long, value_name = "CLASS")]
    class: Option<Class>,
    /// Data set, for suites that have such: mini to extralarge, or 4x for four
    /// times the last-level cache.
    #[arg(long, value_name = "SIZE")]
    size: Option<String>,
}

impl Sizing {
    /// The class that was asked for, or the smallest.
    pub(crate) fn class(&self) -> Class {
        self.class.unwrap_or(Class::S)
    }

    /// The data set that was asked for by name.
    pub(crate) fn data_set(&self) -> Option<&str> {
        self.size.as_deref()
    }

    /// Both were asked for, of which a program has one.
    pub(crate) fn is_both(&self) -> bool {
        self.class.is_some() && self.size.is_some()
    }

    /// Nothing was asked for.
    pub(crate) fn is_default(&self) -> bool {
        self.class.is_none() && self.size.is_none()
    }
}

/// How programs are built.
#[derive(Args, Clone, Debug)]
pub(crate) struct Making {
    /// The compiler: its name or path, without options.
    #[arg(long, value_name = "CC", default_value = "gcc")]
    pub(crate) cc: String,
    /// Its options, beside -fopenmp.
    #[arg(
        long,
        value_name = "FLAGS",
        default_value = "-O3 -g",
        allow_hyphen_values = true
    )]
    pub(crate) cflags: String,
}

/// A runtime that answers OpenMP calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum RuntimeName {
    /// fathomp's runtime.
    Fathomp,
    /// What the program was linked with: libgomp, libomp.
    System,
}

/// A suite by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SuiteName(pub(crate) Suite);

/// One workload.
#[derive(Clone, Debug)]
pub(crate) struct One(pub(crate) fathomp_workloads::Workload);

/// One workload, a suite, or all.
#[derive(Clone, Debug)]
pub(crate) struct Names(pub(crate) Vec<fathomp_workloads::Workload>);

/// The text stands for no such thing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NameError {
    #[error(transparent)]
    Workload(#[from] UnknownWorkload),
    #[error("there is no suite \"{0}\": the suites are npb, polybench, patterns and tasks")]
    Suite(String),
}

fn suite(text: &str) -> Option<Suite> {
    Suite::ALL.into_iter().find(|suite| suite.name() == text)
}

impl FromStr for SuiteName {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let unknown = || NameError::Suite(text.to_owned());
        suite(text).map(Self).ok_or_else(unknown)
    }
}

impl FromStr for One {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        Ok(Self(find(text)?))
    }
}

impl FromStr for Names {
    type Err = NameError;

    fn from_str(text: &str) -> Result<Self, NameError> {
        let mut all = catalogue();
        if text == "all" {
            return Ok(Self(all));
        }
        if let Some(suite) = suite(text) {
            all.retain(|workload| workload.suite == suite);
            return Ok(Self(all));
        }
        Ok(Self(vec![find(text)?]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stand_for_one_or_many() {
        let count = |text: &str| text.parse::<Names>().map(|names| names.0.len()).ok();
        assert_eq!(count("ep"), Some(1));
        assert_eq!(count("npb/ep"), Some(1));
        assert!(count("npb") > Some(1));
        assert!(count("all") > count("npb"));
        assert_eq!(count("ep "), None);
    }

    #[test]
    fn seconds_are_finite_and_positive() {
        for text in ["0", "-1", "NaN", "inf", "1e9", "", "soon"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
        assert!("0.5".parse::<Seconds>().is_ok());
    }
}
