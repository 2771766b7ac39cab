//! `fathomp study`.

use super::cluster::StudyOnHosts;
use super::{Program, RuntimeArg, RuntimeList, ThreadCount, ThreadList};
use clap::Args;
use std::path::PathBuf;

/// `fathomp study`.
#[derive(Args, Debug)]
pub(crate) struct Study {
    /// Numbers of threads to record at, e.g. 1,2,4 [default: powers of two up
    /// to the processors this process may use, and that number itself]. With --hosts: threads of
    /// each node, one number [default: 1].
    #[arg(long, value_name = "LIST")]
    pub(crate) threads: Option<ThreadList>,
    /// Numbers of ranks of a program of MPI, e.g. 1,2,4: the command says by {ranks} where the number
    /// goes, as in `-- mpirun -np {ranks} ./program`. What fits this machine is run with each number of
    /// threads, the rest is predicted, and the best split of --cores is told.
    #[arg(long, value_name = "LIST")]
    pub(crate) ranks: Option<ThreadList>,
    /// Runs at each number of threads; more make the intervals narrower [default: 1, and 5 to
    /// compare runtimes].
    #[arg(long, value_name = "R", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(crate) repeat: Option<u32>,
    /// The OpenMP runtime to study the program on, as for `fathomp record`; of several, as in
    /// fathomp,libgomp,libomp, the times of each region are compared, and nothing else is done.
    #[arg(long, value_name = "LIST", default_value = "fathomp")]
    pub(crate) runtime: RuntimeList,
    /// Predict as if the machine had so many processors like its own
    /// [default: twice as many as it has, at least 8].
    #[arg(long, value_name = "N")]
    pub(crate) cores: Option<ThreadCount>,
    /// Answer after one run, with as many threads as the processors this process may use: nothing else
    /// is run, measured or looked at. --continue makes the rest.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Go on with the study in the directory, which was quick or interrupted, or had fewer runs:
    /// what it has is kept, if the program and its circumstances are the same, and the rest is made.
    #[arg(long = "continue", conflicts_with = "force")]
    pub(crate) goes_on: bool,
    /// Leave out the rehearsal: one more run, with as many threads as are predicted for,
    /// which shows how work divides among so many even if they share processors.
    #[arg(long)]
    pub(crate) no_rehearsal: bool,
    /// Never look for shared cache lines.
    #[arg(long)]
    pub(crate) no_sharing: bool,
    #[command(flatten)]
    pub(crate) nodes: StudyOnHosts,
    /// The report.
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub(crate) output: PathBuf,
    /// Directory for recordings, machine facts and results.
    #[arg(long, value_name = "DIR", default_value = "study")]
    pub(crate) directory: PathBuf,
    /// Replace an earlier study and its report.
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) program: Program,
}

impl Study {
    /// Says which options contradict each other, if some do.
    pub(super) fn contradiction(&self) -> Option<&'static str> {
        if let Some(sentence) = self.nodes.contradiction() {
            return Some(sentence);
        }
        let sharing = self.nodes.asks_for_sharing() || self.no_sharing;
        if self.quick && (self.repeat.is_some() || sharing && !self.no_sharing) {
            return Some("--quick makes one run: leave --repeat and --sharing out");
        }
        let elsewhere = self.nodes.are_on_hosts() || self.ranks.is_some();
        if (self.quick || self.goes_on) && (elsewhere || self.runtime.0.len() > 1) {
            return Some(
                "--quick and --continue are for one runtime on this machine, without ranks: leave --ranks, --hosts and further runtimes out",
            );
        }
        let of_one = self.cores.is_some() || self.no_rehearsal || sharing;
        if self.runtime.0.len() > 1 && of_one {
            return Some(
                "several runtimes are compared by their times alone: leave --cores, --no-rehearsal, --sharing and --no-sharing out, or name one runtime",
            );
        }
        if self.ranks.is_some() {
            let of_threads = sharing || self.no_rehearsal;
            let elsewhere = self.nodes.are_on_hosts();
            if elsewhere || self.runtime.0 != [RuntimeArg::Fathomp] || of_threads {
                return Some(
                    "with --ranks the command starts the ranks, on fathomp's runtime, and nothing else is looked at: leave --hosts, --runtime, --sharing, --no-sharing and --no-rehearsal out",
                );
            }
        }
        if !self.nodes.are_on_hosts() {
            return None;
        }
        if self.runtime.0 != [RuntimeArg::Fathomp] {
            return Some(
                "only fathomp's runtime runs programs on several hosts: leave --runtime or --hosts out",
            );
        }
        if self.threads.as_ref().is_some_and(|list| list.0.len() > 1) {
            return Some(
                "with --hosts the numbers of nodes are studied, each with the same number of threads: give --threads one number",
            );
        }
        self.cores
            .is_some()
            .then_some("--sharing and --cores are about one machine: leave them or --hosts out")
    }
}
