//! What the user may type. Values are checked here, so that the commands get
//! plain plans and no work starts on nonsense.

mod advise;
pub(crate) mod bench;
mod calibrate;
#[cfg(not(feature = "cluster"))]
#[path = "no_cluster.rs"]
pub(crate) mod cluster;
#[cfg(feature = "cluster")]
pub(crate) mod cluster;
mod compare;
mod groups;
mod install;
mod label;
mod pages;
#[cfg(not(feature = "paging"))]
#[path = "no_paging.rs"]
pub(crate) mod paging;
#[cfg(feature = "paging")]
pub(crate) mod paging;
mod predict;
mod regions;
mod rules;
mod scan;
mod share;
mod study;
mod teams;
mod uses;
pub(crate) mod workload;

use clap::{Args, Parser, Subcommand};
use cluster::{RecordOnNodes, RunOnNodes};
use fathomp_launch::Cluster;
use fathomp_types::size::Size;
use paging::Paging;
use std::path::PathBuf;

pub(crate) use advise::Advise;
pub(crate) use bench::{Bench, FormatArg};
pub(crate) use calibrate::Calibrate;
pub(crate) use compare::Compare;
pub(crate) use fathomp_console::args::{
    Family, Program, RuntimeArg, RuntimeList, ThreadCount, ThreadList, recording_size,
};
pub(crate) use groups::grouped;
pub(crate) use install::{Completions, Man};
pub(crate) use label::Label;
pub(crate) use pages::with_examples;
pub(crate) use predict::{Evaluating, Fractions, Predict, Sdp, SdpModel, UtilisationName};
pub(crate) use regions::Regions;
pub(crate) use scan::Scan;
pub(crate) use share::{Share, Strategy};
pub(crate) use study::Study;
pub(crate) use teams::Teams;
pub(crate) use uses::unused;
pub(crate) use workload::Workload;

/// Tells what an OpenMP program costs and how far it will scale, from the
/// program as it is.
#[derive(Debug, Parser)]
#[command(name = "fathomp", version, max_term_width = 100)]
#[command(after_help = "Example:\n  fathomp study -- ./solver --size 1000")]
pub(crate) struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// Print the result as JSON on stdout (a launched program's stdout then
    /// goes to stderr).
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say only what went wrong.
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Say what this machine supports, what is missing and how to mend it.
    Doctor,
    /// Calibrate, record at several thread counts, predict, and write a report.
    Study(Study),
    /// Run an OpenMP program on fathomp's runtime.
    Run(Run),
    /// Run an OpenMP program and record what its regions and threads do; with --paging,
    /// any program, and what it pages.
    Record(Record),
    /// Run two or more OpenMP programs on one machine, which they divide region by region.
    Share(Share),
    /// Measure what OpenMP constructs and memory cost on this machine, and what
    /// faults cost between nodes.
    Calibrate(Calibrate),
    /// Show the time, waiting and efficiency of each region of a recording.
    Regions(Regions),
    /// Show what parallel regions contain, without running anything: loops with their
    /// iterations, accesses by pattern, arithmetic, calls.
    Scan(Scan),
    /// Predict time and speedup at other numbers of threads, and on clusters.
    Predict(Predict),
    /// Say how many threads each parallel region deserves, what is lost otherwise, and why.
    Advise(Advise),
    /// Write one offline HTML page about recordings, or about results of
    /// `fathomp bench`.
    Report(Report),
    /// Say whether a change made a program faster, where, and what else differs: of studies,
    /// recordings, or results of `fathomp bench`.
    Compare(Compare),
    /// Measure what OpenMP constructs, consistent memory and memory accesses
    /// cost, with several compilers and runtimes side by side.
    Bench(Bench),
    /// List, build, run and verify the OpenMP programs that fathomp brings.
    Workload(Workload),
    /// Print a script by which a shell completes fathomp's commands and options.
    Completions(Completions),
    /// Write a manual page for each command into a directory.
    Man(Man),
    /// End a program whose launcher was killed.
    #[command(hide = true)]
    ProgramGuard,
    /// Print the path of the unpacked runtime library, for LD_PRELOAD.
    #[command(hide = true)]
    RuntimePath,
    /// Of clusters.
    #[command(flatten)]
    Cluster(cluster::Command),
    /// Of paging.
    #[command(flatten)]
    Paging(paging::Command),
}

impl Command {
    /// What it asks of hosts, nodes or paging that does not go together.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        match self {
            Self::Run(run) => run.contradiction(),
            Self::Record(record) => record.contradiction(),
            Self::Study(study) => study.contradiction(),
            Self::Calibrate(calibrate) => calibrate.nodes.contradiction(),
            Self::Predict(predict) => predict.contradiction(),
            Self::Bench(bench) => bench.nodes.contradiction(),
            Self::Workload(workload) => workload.contradiction(),
            Self::Cluster(command) => command.contradiction(),
            _ => None,
        }
    }
}

/// Advice is for the teams of one process on this machine.
fn teams_contradict(
    teams: &Teams,
    are_on_hosts: bool,
    cluster: Option<Cluster>,
) -> Option<&'static str> {
    if are_on_hosts && teams.is_something() {
        return Some(
            "--advice decides the teams of one process: leave --hosts and --transport out",
        );
    }
    teams.contradiction(cluster.map_or(1, |cluster| cluster.nodes))
}

/// `fathomp run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// Threads per process (sets OMP_NUM_THREADS).
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<ThreadCount>,
    #[command(flatten)]
    pub(crate) nodes: RunOnNodes,
    #[command(flatten)]
    pub(crate) teams: Teams,
    #[command(flatten)]
    pub(crate) program: Program,
}

impl Run {
    /// What does not go together.
    fn contradiction(&self) -> Option<&'static str> {
        let of_teams =
            || teams_contradict(&self.teams, self.nodes.are_on_hosts(), self.nodes.cluster());
        self.nodes.contradiction().or_else(of_teams)
    }
}

/// `fathomp record`.
#[derive(Args, Debug)]
pub(crate) struct Record {
    /// Directory for the recording; under mpirun or srun, for a recording of each rank (DIR/rank.N).
    #[arg(short, long, value_name = "DIR", default_value = "recording")]
    pub(crate) output: PathBuf,
    /// Threads per process (sets OMP_NUM_THREADS).
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<ThreadCount>,
    /// The OpenMP runtime that the program is to use: fathomp, libgomp, libomp, libiomp5, one of
    /// these and its library as in libomp=PATH, or auto for that which it would use by itself.
    #[arg(long, value_name = "RUNTIME", default_value = "fathomp")]
    pub(crate) runtime: RuntimeArg,
    /// Replace an earlier recording in that directory.
    #[arg(long)]
    pub(crate) force: bool,
    /// Size the recording may reach, such as 512M or 2G; beyond it, executions of a
    /// region are summed and details left out.
    #[arg(long, value_name = "SIZE", default_value_t = Size(128 << 20), value_parser = recording_size)]
    pub(crate) max_size: Size,
    #[command(flatten)]
    pub(crate) nodes: RecordOnNodes,
    #[command(flatten)]
    pub(crate) paging: Paging,
    #[command(flatten)]
    pub(crate) teams: Teams,
    #[command(flatten)]
    pub(crate) program: Program,
}

impl Record {
    /// What does not go together.
    fn contradiction(&self) -> Option<&'static str> {
        let are_on_hosts = self.nodes.are_on_hosts();
        if are_on_hosts && let Some(sentence) = self.paging.contradiction_on_hosts() {
            return Some(sentence);
        }
        let cluster = self.nodes.cluster();
        if let Some(sentence) = self.nodes.contradiction(self.threads) {
            return Some(sentence);
        }
        let of_teams = teams_contradict(&self.teams, are_on_hosts, cluster);
        if let Some(sentence) = of_teams.or_else(|| self.paging.contradiction()) {
            return Some(sentence);
        }
        let needs_ours = cluster.is_some() || are_on_hosts || self.teams.is_something();
        (self.runtime != RuntimeArg::Fathomp && needs_ours).then_some(
            "only fathomp's runtime runs programs on several nodes and hosts and chooses teams: leave --runtime out, or what asks for those",
        )
    }
}

/// `fathomp report`.
#[derive(Args, Debug)]
pub(crate) struct Report {
    /// Recordings, or a directory written by `fathomp study`; or results of
    /// `fathomp bench`, and output of EPCC's own programs, of any number of runs and machines.
    #[arg(value_name = "RECORDING|STUDY|RESULT", required = true)]
    pub(crate) inputs: Vec<PathBuf>,
    /// Predict as if the machine had so many processors like its own
    /// [default: twice as many as it has, at least 8].
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<ThreadCount>,
    /// The page.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Machine facts written by `fathomp calibrate`, to predict with.
    #[arg(long, value_name = "FILE")]
    pub(crate) machine: Option<PathBuf>,
    /// Cluster to predict recordings on nodes for: a name or a file, as for
    /// `fathomp predict` [default: that of the machine file, if it has one].
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) cluster: Option<PathBuf>,
    /// Of results: also write data files and a command file for gnuplot to this directory.
    #[arg(long, value_name = "DIR")]
    pub(crate) gnuplot: Option<PathBuf>,
    /// Of output of EPCC's own programs: where it was measured, which it does not say, such as
    /// `platform=Sun E10000`; also system, compiler and clock. Given several times; of several
    /// files, with the one that is meant in front, as in `a.txt:clock=400 MHz`.
    #[arg(long, value_name = "[FILE:]NAME=VALUE")]
    pub(crate) label: Vec<Label>,
    /// Replace an existing page.
    #[arg(long)]
    pub(crate) force: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_definition_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn commands_of_the_documentation_are_valid() {
        for page in [
            include_str!("../../../../docs/tutorial.md"),
            include_str!("../../../../docs/compare.md"),
        ] {
            // In indented lines; ranks are started by another program.
            let lines = page.lines().filter_map(|line| line.strip_prefix("    "));
            let calls: Vec<_> = lines
                .filter(|line| line.starts_with("fathomp ") || line.starts_with("mpirun "))
                .filter_map(|line| line.find("fathomp ").map(|at| &line[at..]))
                .collect();
            assert!(!calls.is_empty());
            for call in calls {
                let parsed = Arguments::try_parse_from(call.split_whitespace());
                assert!(parsed.is_ok(), "{call}: {parsed:?}");
            }
        }
    }

    #[test]
    fn a_program_keeps_its_own_options() {
        for line in [
            "fathomp run --threads 2 -- prog --threads 3 --json -q",
            "fathomp run --threads 2 prog --threads 3 --json -q",
        ] {
            let parsed = Arguments::try_parse_from(line.split(' ')).unwrap();
            let Command::Run(run) = parsed.command else {
                panic!("not run: {line}");
            };
            assert_eq!(run.program.command.len(), 5, "{line}");
            assert!(!parsed.json && !parsed.quiet, "{line}");
        }
    }
}
