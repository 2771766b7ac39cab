//! What the kernel shows of threads, processes and the machine in `/proc`.

use fathomp_paging::{Counter, Counts};
use fathomp_types::size::Size;
use std::fs::{self, File};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;

/// A file of `/proc` that is read again and again, by one system call: it is kept open if there
/// are descriptors enough. What has ended cannot be read, even if another has its number.
#[derive(Debug)]
pub(super) struct ProcFile {
    path: PathBuf,
    file: Option<File>,
}

impl ProcFile {
    pub(super) fn new(path: PathBuf) -> Self {
        /// Descriptors beyond this number are for what is written.
        const KEPT_MAX: i32 = 512;
        let file = File::open(&path).ok();
        let file = file.filter(|file| file.as_raw_fd() < KEPT_MAX);
        Self { path, file }
    }

    /// Of a directory that is kept open, links to it.
    pub(super) fn links(&self) -> Option<u64> {
        Some(self.file.as_ref()?.metadata().ok()?.nlink())
    }

    /// What is made of its text.
    fn read<T>(&self, parse: impl FnOnce(&str) -> Option<T>) -> Option<T> {
        /// More than there is in any file of which the beginning is not enough.
        const BYTES: usize = 8 << 10;
        /// What ends before is whole: the kernel gives text by the page.
        const PART: usize = 2 << 10;
        let opened;
        let file = match &self.file {
            Some(file) => file,
            None => {
                opened = File::open(&self.path).ok()?;
                &opened
            }
        };
        let mut text = [0; BYTES];
        let mut length = 0;
        loop {
            let read = file.read_at(&mut text[length..], length as u64).ok()?;
            length += read;
            if read < PART || length == BYTES {
                break;
            }
        }
        parse(&String::from_utf8_lossy(&text[..length]))
    }

    /// The page faults in a thread's `stat`, since it began.
    pub(super) fn faults(&self) -> Option<Counts> {
        self.read(parse_stat)
    }

    /// The processes in a thread's `children`.
    pub(super) fn children(&self) -> Vec<u32> {
        let numbers = |text: &str| {
            let words = text.split_ascii_whitespace();
            Some(words.filter_map(|number| number.parse().ok()).collect())
        };
        self.read(numbers).unwrap_or_default()
    }

    /// Pages in swap, in a process's `status`.
    pub(super) fn swapped_pages(&self) -> Option<u64> {
        self.read(parse_swapped)
    }

    /// Pages that were read from and written to swap, in `/proc/vmstat`.
    pub(super) fn swaps(&self) -> Option<Counts> {
        self.read(parse_vmstat)
    }
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

fn parse_swapped(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("VmSwap:"))?;
    let size: Size = line.parse().ok()?;
    Some(size.0 / PAGE_BYTES)
}

/// Where the kernel says what the machine has read from and written to swap since it started.
pub(super) fn vmstat() -> ProcFile {
    ProcFile::new("/proc/vmstat".into())
}

/// Whether the machine has anywhere to swap to; if in doubt.
pub(super) fn has_swap() -> bool {
    let text = fs::read_to_string("/proc/swaps").unwrap_or_default();
    // A line of titles comes first.
    text.lines().count() != 1
}

/// What it says.
pub(crate) fn system_swaps() -> Option<Counts> {
    vmstat().swaps()
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
        let stat = ProcFile::new(format!("/proc/{process}/task/{process}/stat").into());
        let counts = stat.faults().unwrap();
        assert!(counts[Counter::MinorFaults] > 0);
        assert!(start_time(Path::new("/proc/self")).is_some_and(|start| start > 0));
        assert_eq!(start_time(Path::new("/proc/nobody")), None);
    }
}
