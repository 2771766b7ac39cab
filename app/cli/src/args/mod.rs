//! What the user may type. Values are checked here, so that the commands get
//! plain plans and no work starts on nonsense.

mod advise;
mod bench;
mod calibrate;
mod cluster;
mod groups;
mod hosts;
mod install;
mod label;
mod net;
mod pages;
mod predict;
mod regions;
mod scan;
mod share;
mod study;
mod teams;
mod uses;
pub(crate) mod workload;

use clap::{Args, Parser, Subcommand};
use fathomp_cluster_commands::args::{Sharing, Simulate};
use fathomp_paging_commands::args::{Collect, Paging, Skyline};
use fathomp_types::size::Size;
use std::path::PathBuf;

pub(crate) use advise::Advise;
pub(crate) use bench::{Bench, FormatArg};
pub(crate) use calibrate::Calibrate;
pub(crate) use cluster::{Cluster, Faults};
pub(crate) use fathomp_console::args::{
    Family, Program, RuntimeArg, RuntimeList, ThreadCount, ThreadList, recording_size,
};
pub(crate) use groups::grouped;
pub(crate) use hosts::{OnHosts, Transport, WireFloor};
pub(crate) use install::{Completions, Man};
pub(crate) use label::Label;
pub(crate) use net::Net;
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
    /// Take what programs on other machines record of their paging.
    Collect(Collect),
    /// Say which variables and cache lines threads share, without hardware counters.
    Sharing(Sharing),
    /// Run two or more OpenMP programs on one machine, which they divide region by region.
    Share(Share),
    /// Measure what OpenMP constructs and memory cost on this machine, and what
    /// faults cost between nodes.
    Calibrate(Calibrate),
    /// Show the time, waiting and efficiency of each region of a recording.
    Regions(Regions),
    /// Show what a recording made with --paging says: peaks, background, correlation, period,
    /// cumulative profile.
    Skyline(Skyline),
    /// Show what parallel regions contain, without running anything: loops with their
    /// iterations, accesses by pattern, arithmetic, calls.
    Scan(Scan),
    /// Predict time and speedup at other numbers of threads, and on clusters.
    Predict(Predict),
    /// Say how many threads each parallel region deserves, what is lost otherwise, and why.
    Advise(Advise),
    /// Replay what a program accessed on clusters that are not there: more nodes,
    /// the other protocol, other homes, another network.
    Simulate(Simulate),
    /// Write one offline HTML page about recordings, or about results of
    /// `fathomp bench`.
    Report(Report),
    /// Measure what OpenMP constructs, consistent memory and memory accesses
    /// cost, with several compilers and runtimes side by side.
    Bench(Bench),
    /// List, build, run and verify the OpenMP programs that fathomp brings.
    Workload(Workload),
    /// Print a script by which a shell completes fathomp's commands and options.
    Completions(Completions),
    /// Write a manual page for each command into a directory.
    Man(Man),
    /// Serve `fathomp run --hosts` on this host.
    #[command(hide = true)]
    HostAgent(HostAgent),
    /// End a program whose launcher was killed.
    #[command(hide = true)]
    ProgramGuard,
    /// Measure the network between hosts for `fathomp bench dsm` and `fathomp calibrate`.
    #[command(hide = true)]
    WireFloor(WireFloor),
    /// Print the path of the unpacked runtime library, for LD_PRELOAD.
    #[command(hide = true)]
    RuntimePath,
}

impl Command {
    /// Where a program is to run, if the command runs one.
    fn cluster(&self) -> Option<&Cluster> {
        use workload::Action;
        match self {
            Self::Run(run) => Some(&run.cluster),
            Self::Record(record) => Some(&record.cluster),
            Self::Calibrate(calibrate) => Some(&calibrate.cluster),
            Self::Workload(workload) => match &workload.action {
                Action::Run(run) => Some(&run.cluster),
                Action::Verify(verify) => Some(&verify.cluster),
                Action::List(_) | Action::Build(_) | Action::Figures(_) => None,
            },
            _ => None,
        }
    }

    /// What it asks of hosts that does not go together.
    fn contradiction_on_hosts(&self) -> Option<&'static str> {
        use workload::Action;
        let (on, cluster, teams) = match self {
            Self::Run(run) => (&run.on, &run.cluster, &run.teams),
            Self::Record(record) => {
                if record.on.are_asked_for()
                    && let Some(sentence) = record.paging.contradiction_on_hosts()
                {
                    return Some(sentence);
                }
                (&record.on, &record.cluster, &record.teams)
            }
            Self::Study(study) => return study.contradiction(),
            Self::Sharing(sharing) => return sharing.not_on.contradiction(),
            Self::Calibrate(calibrate) => {
                let cluster = &calibrate.cluster;
                if cluster.fault_detection.is_some() && calibrate.on.are_asked_for() {
                    return Some(
                        "how hosts notice accesses is theirs to choose: leave --fault-detection or --hosts out",
                    );
                }
                return on_hosts_alone(&calibrate.on, cluster.net);
            }
            Self::Predict(predict) => {
                if predict.on.are_asked_for() && !predict.validate {
                    return Some(
                        "predictions are held against runs on hosts: give --validate with --hosts, or leave --hosts out",
                    );
                }
                if predict.sdp.cluster.is_some()
                    && !predict.validate
                    && (predict.machine.is_some() || predict.cores.is_some())
                {
                    return Some(
                        "on a cluster its own prices count: leave --machine and --cores out, or --cluster",
                    );
                }
                return predict.on.contradiction();
            }
            Self::Bench(bench) => {
                return on_hosts_alone(&bench.on, bench.net);
            }
            Self::Workload(workload) => {
                return match &workload.action {
                    Action::Run(run) => run.not_on.contradiction(),
                    Action::Verify(verify) => verify.not_on.contradiction(),
                    Action::List(_) | Action::Build(_) | Action::Figures(_) => None,
                };
            }
            _ => return None,
        };
        if let Some(sentence) = on_hosts_alone(on, cluster.net) {
            return Some(sentence);
        }
        match on.are_asked_for() {
            true if teams.is_something() => {
                Some("--advice decides the teams of one process: leave --hosts and --transport out")
            }
            _ => None,
        }
    }

    /// What it asks of hosts, nodes or paging that does not go together.
    pub(crate) fn contradiction(&self) -> Option<&'static str> {
        if let Some(sentence) = self.contradiction_on_hosts() {
            return Some(sentence);
        }
        let cluster = self.cluster()?;
        let teams = match self {
            Self::Run(run) => Some(&run.teams),
            Self::Record(record) => Some(&record.teams),
            _ => None,
        };
        let nodes = cluster.nodes;
        if let Some(sentence) = teams.and_then(|teams| teams.contradiction(nodes)) {
            return Some(sentence);
        }
        if let Self::Record(record) = self {
            if let Some(sentence) = record.paging.contradiction() {
                return Some(sentence);
            }
            let needs_ours = nodes > 1
                || record.accesses
                || record.on.are_asked_for()
                || record.teams.is_something();
            if record.runtime != RuntimeArg::Fathomp && needs_ours {
                return Some(
                    "only fathomp's runtime runs programs on several nodes and hosts and chooses teams: leave --runtime out, or what asks for those",
                );
            }
        }
        (nodes == 1 && cluster.net.is_some()).then_some(
            "--net emulates a network between nodes, and there is one node: give --nodes 2 or more, or leave --net out",
        )
    }
}

/// What does not go together of options about hosts and about an emulated network.
fn on_hosts_alone(on: &OnHosts, net: Option<Net>) -> Option<&'static str> {
    if let Some(sentence) = on.contradiction() {
        return Some(sentence);
    }
    (on.are_asked_for() && net.is_some()).then_some(
        "--net emulates a network between nodes of one machine: leave it out with --hosts and --transport",
    )
}

/// `fathomp run`.
#[derive(Args, Debug)]
pub(crate) struct Run {
    /// Threads per process (sets OMP_NUM_THREADS).
    #[arg(long, value_name = "T")]
    pub(crate) threads: Option<ThreadCount>,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    /// Name at the end, on standard error, variables of which two nodes changed the
    /// same bytes without synchronisation in between.
    #[arg(long)]
    pub(crate) check_races: bool,
    #[command(flatten)]
    pub(crate) on: OnHosts,
    #[command(flatten)]
    pub(crate) teams: Teams,
    #[command(flatten)]
    pub(crate) program: Program,
}

/// `fathomp host-agent`.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct HostAgent {
    /// Keep the program of an agent.
    #[arg(long)]
    pub(crate) supervisor: bool,
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
    /// With --nodes or --hosts: also record which pages each thread accesses between
    /// synchronisations, for `fathomp simulate`. One thread on each node; every
    /// first access traps, so that times mean little.
    #[arg(long)]
    pub(crate) accesses: bool,
    /// With --accesses: record lines of 64 bytes in place of pages, so that `fathomp simulate
    /// --granularity` can say what smaller pages would do. Nearly every access traps: the
    /// program takes hundreds of times as long, so give it a small input.
    #[arg(long, requires = "accesses")]
    pub(crate) lines: bool,
    #[command(flatten)]
    pub(crate) on: OnHosts,
    #[command(flatten)]
    pub(crate) cluster: Cluster,
    #[command(flatten)]
    pub(crate) paging: Paging,
    #[command(flatten)]
    pub(crate) teams: Teams,
    #[command(flatten)]
    pub(crate) program: Program,
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
