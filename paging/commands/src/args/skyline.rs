//! Options of `fathomp skyline`.

use clap::{Args, ValueEnum};
use fathomp_console::args::WaitTime;
use fathomp_paging::setup::TaskRule;
use fathomp_paging::{CounterSet, Selection, SelectionError, StateSet};
use fathomp_skyline::BINS_MAX;
use std::path::PathBuf;

/// Most peaks that anybody lists.
const PEAKS_MAX: i64 = 100_000;

/// `fathomp skyline`.
#[derive(Args, Debug)]
pub struct Skyline {
    /// Directory written by `fathomp record --paging`.
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// Counters to look at, such as minor_faults,page_ins; may be given several times
    /// [default: those that say most].
    #[arg(long, value_name = "NAME", value_parser = Selection::parse_counters)]
    pub counter: Vec<CounterSet>,
    /// States in which they are counted, such as io,compute [default: all, and each].
    #[arg(long, value_name = "LIST", value_parser = Selection::parse_states)]
    pub state: Option<StateSet>,
    /// Tasks to show by themselves, such as 0-3,7 or rank:0-3 [default: all, or some that
    /// stand for them].
    #[arg(long, value_name = "LIST", value_parser = Selection::parse_tasks)]
    pub tasks: Option<TaskRule>,
    /// Peaks to keep of each record; the rest is levelled.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=PEAKS_MAX))]
    pub peaks: u32,
    /// A peak is what is higher than so many times the mean.
    #[arg(long, value_name = "F", default_value_t = 1.0, value_parser = factor)]
    pub factor: f64,
    /// Steps of time at most.
    #[arg(long, value_name = "N", default_value_t = 4_096, value_parser = clap::value_parser!(u32).range(1..=BINS_MAX as i64))]
    pub bins: u32,
    /// Part of the recording to look at, more finely, such as 1s..5s.
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub window: Option<Window>,
    /// By which time curves run: wall time, or phases between barriers.
    #[arg(long, value_enum, default_value_t = Axis::Wall)]
    pub axis: Axis,
    /// Also sum up skylines instead of records, as the published cumulative profile does,
    /// and say how far that is off.
    #[arg(long)]
    pub published: bool,
    /// Also simulate a second program that runs while tasks wait for pages, where each wait
    /// takes so long, such as 50us: switching all tasks at once, each by itself, or none.
    #[arg(long, value_name = "TIME")]
    pub gang: Option<WaitTime>,
    /// Also write counts over time to this CSV file: of all tasks, and of those of --tasks.
    #[arg(long, value_name = "FILE")]
    pub csv: Option<PathBuf>,
    /// Also write data files and a command file for gnuplot to this directory.
    #[arg(long, value_name = "DIR")]
    pub gnuplot: Option<PathBuf>,
    /// Replace existing files.
    #[arg(long)]
    pub force: bool,
}

impl Skyline {
    /// The counters that were asked for; none if none were.
    pub fn counters(&self) -> Option<CounterSet> {
        let counters = self.counter.iter().flat_map(|set| set.iter());
        (!self.counter.is_empty()).then(|| counters.collect())
    }
}

/// A part of the recording, in nanoseconds after its begin.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// Its begin.
    pub from_ns: u64,
    /// Its end, if not that of the recording.
    pub to_ns: Option<u64>,
}

/// By which time curves run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Axis {
    /// Wall time.
    Wall,
    /// Phases between barriers.
    Phases,
}

fn window(text: &str) -> Result<Window, SelectionError> {
    let (from_ns, to_ns) = Selection::parse_window(text)?;
    Ok(Window { from_ns, to_ns })
}

fn factor(text: &str) -> Result<f64, String> {
    text.parse::<f64>()
        .ok()
        .filter(|factor| (0.0..=1e6).contains(factor))
        .ok_or_else(|| "give a number such as 1 or 2.5, at most 1000000".to_owned())
}
