//! What `fathomp record` records of paging.

use super::writers::{WriterList, WriterName};
use clap::Args;
use fathomp_console::args::{MemoryList, SampleInterval};
use fathomp_paging::setup::Writer;

/// Options that need `--paging`.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Paging")]
pub struct Paging {
    /// Also record paging: when each thread computes, does I/O or communicates, and its
    /// page faults, page-ins and switches meanwhile. For any program, its threads and its
    /// children, with or without OpenMP; with --hosts, of all hosts in one picture.
    #[arg(long)]
    pub paging: bool,
    /// Record every page fault as well: its moment, address and instruction.
    #[arg(long)]
    pub record_faults: bool,
    /// How records get from the program to the disk [default: shared]: task (each thread
    /// writes), striped:DIR,DIR (helper threads write), message or shared (a process of
    /// its own writes), collector (one for all nodes), HOST:PORT (`fathomp collect` there).
    /// With --measure-intrusion a list of them, among which striped without directories and
    /// loopback, a recording host that is this one [default: all that can be used here].
    #[arg(long, value_name = "HOW")]
    pub writer: Option<WriterList>,
    /// With --writer HOST:PORT: the key that `fathomp collect` there shows [default:
    /// FATHOMP_KEY from the environment].
    #[arg(long, value_name = "KEY")]
    pub key: Option<String>,
    /// Look at each thread's counters so often, such as 1ms, so that what rises between
    /// changes of state has a shape; `never` does not [default: as often as costs next to
    /// nothing, every 20 ms at first].
    #[arg(long, value_name = "TIME")]
    pub sample: Option<SampleInterval>,
    /// Tasks to record, such as 0-3,7 or rank:0-3; of others only totals are kept.
    #[arg(long, value_name = "LIST")]
    pub tasks: Option<String>,
    /// Time to record, such as 1s..5s; of the rest only totals are kept.
    #[arg(long, value_name = "FROM..TO")]
    pub window: Option<String>,
    /// Counters to record, such as major_faults,page_ins [default: all].
    #[arg(long, value_name = "LIST")]
    pub counters: Option<String>,
    /// States to record, such as io,compute [default: all].
    #[arg(long, value_name = "LIST")]
    pub states: Option<String>,
    /// Run the program once without a limit, then with its memory limited to each of these
    /// sizes, such as 512M,256M: how much slower it gets.
    #[arg(long, value_name = "SIZES")]
    pub memory: Option<MemoryList>,
    /// Measure what recording costs the program: run it without and with recording, by each
    /// writer, in so many rounds of random order, and compare with the published table.
    #[arg(
        long,
        value_name = "ROUNDS",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "5",
        value_parser = clap::value_parser!(u32).range(1..=1000),
        conflicts_with_all = ["memory", "accesses"]
    )]
    pub measure_intrusion: Option<u32>,
}

impl Paging {
    /// How records get to the disk, of a single recording.
    pub fn single_writer(&self) -> Writer {
        let given = self.writer.as_ref().and_then(WriterList::single);
        given.cloned().unwrap_or_default()
    }

    /// The options that choose what is recorded, as they were given.
    pub fn shown(&self) -> Vec<String> {
        let sample = self.sample.as_ref().map(|every| format!("{:?}", every.0));
        let given = [
            ("--sample", sample.as_ref()),
            ("--tasks", self.tasks.as_ref()),
            ("--window", self.window.as_ref()),
            ("--counters", self.counters.as_ref()),
            ("--states", self.states.as_ref()),
        ];
        given
            .into_iter()
            .filter_map(|(option, value)| Some(format!("{option}={}", value?)))
            .collect()
    }

    /// Whether the program is run with less and less memory.
    pub fn limits_memory(&self) -> bool {
        self.memory.is_some()
    }

    /// Says which of these options cannot be used on several hosts, if there is one.
    pub fn contradiction_on_hosts(&self) -> Option<&'static str> {
        if self.paging && self.record_faults {
            return Some(
                "single page faults are recorded on one machine: leave --record-faults, or --hosts and --transport, out",
            );
        }
        if self.measure_intrusion.is_some() {
            return Some(
                "what recording costs is measured on one machine: leave --hosts and --transport out with --measure-intrusion",
            );
        }
        self.memory.is_some().then_some(
            "--memory limits a program on one machine: leave --hosts and --transport out with it",
        )
    }

    /// What does not go together.
    pub fn contradiction(&self) -> Option<&'static str> {
        if let Some(sentence) = self.without_paging() {
            return Some(sentence);
        }
        let names = self.writer.as_ref().map_or(&[][..], WriterList::names);
        let is_remote = |way: &WriterName| matches!(way, WriterName::Writer(Writer::Remote(_)));
        if self.measure_intrusion.is_some() && names.iter().any(is_remote) {
            return Some(
                "what another machine keeps cannot be counted here: --measure-intrusion measures loopback in the place of HOST:PORT",
            );
        }
        let several = self
            .writer
            .as_ref()
            .is_some_and(|list| list.single().is_none());
        (several && self.measure_intrusion.is_none()).then_some(
            "a recording is made by one writer, whose directories are named if it is striped: several are compared with --measure-intrusion",
        )
    }

    /// An option that was given without what it needs.
    fn without_paging(&self) -> Option<&'static str> {
        if self.paging {
            let writers = self.writer.as_ref().map_or(&[][..], WriterList::names);
            let is_remote = |way: &WriterName| matches!(way, WriterName::Writer(Writer::Remote(_)));
            let remote = writers.iter().any(is_remote);
            return (self.key.is_some() && !remote).then_some(
                "--key opens the way to `fathomp collect` on another machine: give --writer HOST:PORT with it, or leave it out",
            );
        }
        let given = [
            (
                self.key.is_some(),
                "--key opens the way to `fathomp collect` on another machine: give --paging --writer HOST:PORT with it",
            ),
            (
                self.writer.is_some(),
                "--writer chooses how paging is recorded: give --paging with it",
            ),
            (
                self.sample.is_some(),
                "--sample shapes what is recorded of paging: give --paging with it",
            ),
            (
                self.record_faults,
                "--record-faults records every page fault: give --paging with it",
            ),
            (
                self.tasks.is_some(),
                "--tasks chooses whose paging is recorded: give --paging with it",
            ),
            (
                self.window.is_some(),
                "--window chooses when paging is recorded: give --paging with it",
            ),
            (
                self.counters.is_some(),
                "--counters chooses what is recorded of paging: give --paging with it",
            ),
            (
                self.states.is_some(),
                "--states chooses what is recorded of paging: give --paging with it",
            ),
            (
                self.memory.is_some(),
                "--memory shows what less memory costs by paging: give --paging with it",
            ),
            (
                self.measure_intrusion.is_some(),
                "--measure-intrusion shows what recording of paging costs: give --paging with it",
            ),
        ];
        given
            .into_iter()
            .find_map(|(given, sentence)| given.then_some(sentence))
    }
}
