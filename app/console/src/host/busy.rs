//! How much of the processors others used while something was measured.

use super::cpus_allowed;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use std::fs;
use std::time::Duration;

/// Readings of the kernel's accounts at one moment.
///
/// Both accounts are in the same ticks (100 a second), so short spans give
/// coarse answers.
#[derive(Debug)]
pub struct Meter {
    begin: Option<Accounts>,
    children_ns: Option<u64>,
    children_blocks: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct Accounts {
    /// Time of the usable processors spent on anything.
    busy: u64,
    /// Time of the usable processors altogether.
    all: u64,
    /// Time spent by this process and those of its descendants that have been
    /// waited for.
    own: u64,
}

impl Meter {
    /// Begins to measure.
    pub fn start() -> Self {
        Self {
            begin: now(),
            children_ns: children_ns(),
            children_blocks: children_blocks(),
        }
    }

    /// Processor time of the descendants that have been waited for since the
    /// start, to the microsecond.
    pub fn processor_ns(&self) -> Option<u64> {
        Some(children_ns()?.saturating_sub(self.children_ns?))
    }

    /// Pages of 4 KiB that were read from disks or swap for the descendants that have been
    /// waited for since the start.
    pub fn page_ins(&self) -> Option<u64> {
        const BLOCKS_PER_PAGE: u64 = 8;
        let blocks = children_blocks()?.saturating_sub(self.children_blocks?);
        Some(blocks / BLOCKS_PER_PAGE)
    }

    /// Fraction of the usable processors' time that others have used since the
    /// start; `None` if too little time has passed to tell. A helper of ours that has not
    /// been waited for is not another.
    pub fn others(&self, helper: Option<u32>) -> Option<f64> {
        /// A tenth of a second on one processor.
        const TICKS_MIN: u64 = 10;
        let (begin, end) = (self.begin?, now()?);
        let all = end
            .all
            .checked_sub(begin.all)
            .filter(|all| *all >= TICKS_MIN)?;
        let busy = end.busy.saturating_sub(begin.busy);
        let helper = helper
            .and_then(|pid| own_ticks(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?));
        let own = end.own.saturating_sub(begin.own) + helper.unwrap_or(0);
        Some(busy.saturating_sub(own) as f64 / all as f64)
    }
}

fn children_blocks() -> Option<u64> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    u64::try_from(usage.block_reads()).ok()
}

/// Processor time of all descendants that have been waited for, in user mode and in the
/// kernel, to the microsecond.
pub fn children() -> Option<[Duration; 2]> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN).ok()?;
    let time = |time: TimeVal| {
        let micros = u64::try_from(time.num_microseconds()).ok()?;
        Some(Duration::from_micros(micros))
    };
    Some([time(usage.user_time())?, time(usage.system_time())?])
}

fn children_ns() -> Option<u64> {
    let times: Duration = children()?.iter().sum();
    u64::try_from(times.as_nanos()).ok()
}

fn now() -> Option<Accounts> {
    let (busy, all) = processors(&fs::read_to_string("/proc/stat").ok()?, &cpus_allowed());
    let own = own_ticks(&fs::read_to_string("/proc/self/stat").ok()?)?;
    (all > 0).then_some(Accounts { busy, all, own })
}

/// Busy and all ticks of these processors.
fn processors(stat: &str, cpus: &[u32]) -> (u64, u64) {
    let mut sums = (0, 0);
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words
            .next()
            .and_then(|name| name.strip_prefix("cpu")?.parse::<u32>().ok());
        if number.is_none_or(|number| !cpus.contains(&number)) {
            continue;
        }
        // user nice system idle iowait irq softirq steal; guests are in user.
        for (index, ticks) in words.take(8).enumerate() {
            let ticks = ticks.parse::<u64>().unwrap_or(0);
            sums.1 += ticks;
            if !matches!(index, 3 | 4) {
                sums.0 += ticks;
            }
        }
    }
    sums
}

/// utime, stime, cutime and cstime, which follow the name in parentheses.
fn own_ticks(stat: &str) -> Option<u64> {
    let (_, rest) = stat.rsplit_once(')')?;
    let fields = rest.split_ascii_whitespace().skip(11).take(4);
    fields.map(|field| field.parse::<u64>().ok()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_usable_processors_count() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu0 1 2 3 40 5 6 7 8 0 0\ncpu1 100 0 0 100 0 0 0 0 0 0\nintr 5\n";
        assert_eq!(processors(stat, &[0]), (27, 72));
        assert_eq!(processors(stat, &[0, 1]), (127, 272));
        assert_eq!(processors("nonsense", &[0]), (0, 0));
    }

    #[test]
    fn names_with_parentheses_do_not_confuse() {
        let stat = "7 (a) b) c) R 1 2 3 4 5 6 7 8 9 10 100 20 3 4 5";
        assert_eq!(own_ticks(stat), Some(127));
        assert_eq!(own_ticks("7 (a) R"), Some(0));
        assert_eq!(own_ticks(""), None);
    }

    #[test]
    fn too_short_a_span_says_nothing() {
        assert_eq!(Meter::start().others(None), None);
    }
}
