//! What less memory costs a program: the same run under several limits.

mod curve;
mod group;
mod table;

pub use curve::{Curve, Knee, MEMORY_FILE, Run};
pub use group::{Group, GroupError, Place, Usage};

use crate::args::Paging;
use crate::sampling::system_swaps;

use fathomp_console::console::Console;
use fathomp_console::failure::Failure;
use fathomp_console::launch::{Ended, Stdin, Stdout, StopSignalsBlocked};
use fathomp_console::output::write_file;
use fathomp_paging::{Counter, Counts};
use fathomp_types::Ending;
use fathomp_types::size::Size;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// `SIGKILL`.
const KILLED: i32 = nix::sys::signal::Signal::SIGKILL as i32;

/// Why the runs could not be made.
#[derive(Debug, thiserror::Error)]
pub enum MemoryError {
    /// There is no group that limits memory.
    #[error(transparent)]
    Group(#[from] GroupError),
    /// Signals cannot be held back between the runs.
    #[error("cannot prepare for signals: {0}; record again")]
    Signals(#[from] io::Error),
}

/// Runs of a program under limits of memory.
pub struct Memory {
    place: Place,
    hold: StopSignalsBlocked,
    /// Whether the machine has swap.
    pub swap: bool,
    runs: Vec<Run>,
}

impl Memory {
    /// Finds out whether memory can be limited here.
    pub fn prepare() -> Result<Self, MemoryError> {
        let place = Place::find()?;
        let hold = StopSignalsBlocked::begin()?;
        place.check()?;
        Ok(Self {
            place,
            hold,
            swap: has_swap(),
            runs: Vec::new(),
        })
    }

    /// Makes one run in a group with a limit, or without one. `seen` says of what that left how the
    /// program ended, and how many pages of 4 KiB were read for it.
    pub fn run<R, E: From<GroupError>>(
        &mut self,
        limit_bytes: Option<u64>,
        record: impl FnOnce(&Group) -> Result<R, E>,
        seen: impl FnOnce(&R) -> (Ended, Option<u64>),
    ) -> Result<R, E> {
        let group = self.place.make(limit_bytes)?;
        let before = system_swaps().unwrap_or(Counts::ZERO);
        let recorded = record(&group)?;
        let after = system_swaps().unwrap_or(Counts::ZERO);
        let usage = group.usage();
        let swaps = |counter: Counter| after[counter].saturating_sub(before[counter]);
        let (ended, page_ins) = seen(&recorded);
        let killed = ended.outcome == Ending::Signalled(KILLED) && ended.interrupted.is_none();
        self.runs.push(Run {
            limit_bytes,
            wall_ns: ended.wall_ns(),
            slow_down: None,
            major_faults: usage.major_faults,
            page_ins: page_ins.unwrap_or(0),
            swap_ins: swaps(Counter::SystemSwapIns),
            swap_outs: swaps(Counter::SystemSwapOuts),
            peak_bytes: usage.peak_bytes,
            killed: usage.killed > 0 || killed,
            exit_code: ended.exit_code(),
        });
        Ok(recorded)
    }

    /// Whether the user does not want any more.
    pub fn is_asked_to_stop(&self) -> bool {
        self.hold.is_asked_to_stop()
    }

    /// What the runs show.
    pub fn curve(self) -> Curve {
        Curve::new(self.runs, self.swap)
    }
}

/// Runs a program without a limit, then with each of those that are asked for, if any are: what the
/// first run recorded, and the curve, which lies in [`MEMORY_FILE`] beside it. `run` records into a
/// directory; `seen` says of what that left how the program ended, and how many pages of 4 KiB were
/// read for it.
///
/// # Errors
/// If memory cannot be limited here, or a run fails.
pub fn with_less_memory<R>(
    asked: &Paging,
    output: &Path,
    console: Console,
    run: impl Fn(&Path, &Group, Stdin, Stdout) -> Result<R, Failure>,
    seen: impl Fn(&R) -> (Ended, Option<u64>),
) -> Result<Option<(R, Curve)>, Failure> {
    let Some(limits) = &asked.memory else {
        return Ok(None);
    };
    let mut memory = Memory::prepare()?;
    if !memory.swap {
        console.warn("this machine has no swap, so that under a limit only pages of files can make room: a program whose own data need more is killed; `fallocate -l 4G /swapfile; chmod 600 /swapfile; mkswap /swapfile; swapon /swapfile` makes some");
    }
    // Kept outside the recording, which does not exist yet.
    let spool = tempfile::NamedTempFile::new()
        .map_err(|error| Failure::unwritable(&std::env::temp_dir(), &error))?;
    let stdin = Stdin::for_several_runs(spool.path().to_owned());
    let unlimited = |group: &Group| {
        let stdout = Stdout::for_voice(console);
        run(output, group, stdin.for_run(true), stdout)
    };
    let first = memory.run(None, unlimited, &seen)?;
    for &limit in &limits.0 {
        let interrupted = seen(&first).0.interrupted.is_some();
        if interrupted || memory.is_asked_to_stop() {
            console.warn("stopped: the remaining limits were not tried");
            break;
        }
        console.say(format!("once more, with {} of memory", Size(limit)));
        let directory = of_limit(output, limit)?;
        let again = |group: &Group| run(&directory, group, stdin.for_run(false), Stdout::Discard);
        memory.run(Some(limit), again, &seen)?;
    }
    let curve = memory.curve();
    let json = serde_json::to_vec_pretty(&curve)?;
    write_file(&output.join(MEMORY_FILE), &json)?;
    Ok(Some((first, curve)))
}

/// Where the recording with a limit goes: `RECORDING/memory/512M`.
fn of_limit(output: &Path, limit: u64) -> Result<PathBuf, Failure> {
    let parent = output.join("memory");
    fs::create_dir_all(&parent).map_err(|error| Failure::unwritable(&parent, &error))?;
    Ok(parent.join(Size(limit).to_string()))
}

/// Whether the machine has swap.
pub fn has_swap() -> bool {
    // A head, then a line for each file or partition.
    std::fs::read_to_string("/proc/swaps").is_ok_and(|text| text.lines().count() > 1)
}
