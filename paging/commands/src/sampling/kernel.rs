//! What the kernel shows of threads, processes and the machine in `/proc`.

use fathomp_paging::{Counter, Counts};
use std::fs;
use std::path::Path;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// Counters of a thread since it began, as `/proc/PID/task/TID/stat` has them.
pub(super) fn thread_counts(process: u32, thread: u32) -> Option<Counts> {
    let path = format!("/proc/{process}/task/{thread}/stat");
    parse_stat(&fs::read_to_string(path).ok()?)
}

/// The page faults in a line of `stat`.
fn parse_stat(text: &str) -> Option<Counts> {
    // The second field is a name in parentheses and may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    // After the name: state, parent, group, session, terminal, its group, flags.
    let minor = fields.nth(7)?;
    // Those of children that were waited for lie between.
    let major = fields.nth(1)?;
    let mut counts = Counts::ZERO;
    counts[Counter::MinorFaults] = minor.parse().ok()?;
    counts[Counter::MajorFaults] = major.parse().ok()?;
    Some(counts)
}

/// Pages of a process that are in swap.
pub(super) fn swapped_pages(process: u32) -> Option<u64> {
    parse_swapped(&fs::read_to_string(format!("/proc/{process}/status")).ok()?)
}

fn parse_swapped(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmSwap:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024 / PAGE_BYTES)
}

/// Pages that the machine has read from and written to swap since it started.
pub(crate) fn system_swaps() -> Option<Counts> {
    parse_vmstat(&fs::read_to_string("/proc/vmstat").ok()?)
}

fn parse_vmstat(text: &str) -> Option<Counts> {
    let value = |name: &str| {
        let line = text.lines().find_map(|line| {
            let (key, value) = line.split_once(' ')?;
            (key == name).then_some(value)
        })?;
        line.trim().parse::<u64>().ok()
    };
    let mut counts = Counts::ZERO;
    counts[Counter::SystemSwapIns] = value("pswpin")?;
    counts[Counter::SystemSwapOuts] = value("pswpout")?;
    Some(counts)
}

/// What tells a process or a thread from another that was given its number later: when
/// it began, in the kernel's ticks since it started. `None` if it has ended.
pub(super) fn start_time(directory: &Path) -> Option<u64> {
    let text = fs::read_to_string(directory.join("stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(19)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "17 (a) b)) S 1 17 17 0 -1 4194560 1234 99 5 6 7 8 0 0 20 0 1 0 4711 1 2 3";

    #[test]
    fn faults_are_read_whatever_the_name_is() {
        let counts = parse_stat(STAT).unwrap();
        assert_eq!(counts[Counter::MinorFaults], 1234);
        assert_eq!(counts[Counter::MajorFaults], 5);
        for cut in 0..STAT.len() - 30 {
            // Fewer fields give fewer answers, no other.
            let cut = parse_stat(&STAT[..cut]);
            assert!(cut.is_none_or(|cut| cut[Counter::MinorFaults] <= 1234));
        }
    }

    #[test]
    fn swapped_pages_are_kibibytes_by_four() {
        assert_eq!(
            parse_swapped("VmRSS:\t 8 kB\nVmSwap:\t   40 kB\n"),
            Some(10)
        );
        assert_eq!(parse_swapped("Name:\tkthreadd\n"), None);
        assert_eq!(parse_swapped("VmSwap:\t99999999999999999999 kB\n"), None);
    }

    #[test]
    fn swaps_of_the_machine_are_found_by_name() {
        let counts = parse_vmstat("pswpin 3\npswpout 4\npswpouts 9\n").unwrap();
        assert_eq!(counts[Counter::SystemSwapIns], 3);
        assert_eq!(counts[Counter::SystemSwapOuts], 4);
        assert!(parse_vmstat("pgpgin 3\n").is_none());
        assert!(system_swaps().is_some());
    }

    #[test]
    fn this_thread_has_counts_and_a_beginning() {
        let process = std::process::id();
        let counts = thread_counts(process, process).unwrap();
        assert!(counts[Counter::MinorFaults] > 0);
        assert!(start_time(Path::new("/proc/self")).is_some_and(|start| start > 0));
        assert_eq!(start_time(Path::new("/proc/nobody")), None);
    }
}
