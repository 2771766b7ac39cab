//! What all have in common who empty the ring files of a live directory: how they learn of new
//! files and of processes that ended, and how long they sleep.

use crate::bell::{Bell, Listener};
use crate::file::RingFile;
use fathomp_sys::polling::readable;
use fathomp_sys::shm;
use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Longest sleep if calls cannot be heard.
const PAUSE_DEAF: Duration = Duration::from_millis(4);
/// How often to see whether processes are alive, ...
const CHECK_EVERY: Duration = Duration::from_millis(20);
/// ... at least so long for each: the kernel takes some 10 us to say it.
const CHECK_EACH: Duration = Duration::from_micros(500);
/// Shortest pause for each process: looking at its rings takes a microsecond.
const PAUSE_EACH: Duration = Duration::from_micros(20);
/// How often to look for new processes even if the live directory seems unchanged.
const SCAN_EVERY: Duration = Duration::from_millis(100);
/// How long after a change of the live directory another may leave its time as it is: some
/// ticks of the kernel's clock.
const SAME_TIME: Duration = Duration::from_millis(20);

/// Names of the ring files in a directory, sorted.
///
/// # Errors
/// If the directory cannot be read.
pub fn ring_files(live: &Path, extension: &str) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(live)? {
        let name = entry?.file_name();
        let found = Path::new(&name).extension();
        if found.is_some_and(|found| found == extension) {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// A live directory, as a drain sees it.
#[derive(Debug)]
pub struct LiveDirectory {
    path: PathBuf,
    extension: &'static str,
    known: HashSet<OsString>,
    scanned: Option<Instant>,
    checked: Instant,
    /// A process has ended since.
    check_is_due: bool,
    bell: Option<Listener>,
}

impl LiveDirectory {
    /// Whose ring files have that extension.
    #[must_use]
    pub fn new(path: &Path, extension: &'static str) -> Self {
        Self {
            path: path.to_owned(),
            extension,
            known: HashSet::new(),
            scanned: None,
            checked: Instant::now(),
            check_is_due: false,
            bell: Bell::open(path).and_then(Bell::listen).ok(),
        }
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Ring files that were seen so far.
    #[must_use]
    pub fn seen(&self) -> u64 {
        self.known.len() as u64
    }

    /// Whether a ring file was seen.
    #[must_use]
    pub fn knows(&self, name: &str) -> bool {
        self.known.contains(&OsString::from(name))
    }

    /// A ring file was found in another way.
    pub fn add(&mut self, name: &str) {
        self.known.insert(name.into());
    }

    /// Ring files that are new, if there may be some or if `now` they are to be looked for.
    ///
    /// # Errors
    /// If the directory cannot be read.
    pub fn arrivals(&mut self, now: bool) -> io::Result<Vec<OsString>> {
        let due = self.scanned.is_none_or(|at| at.elapsed() >= SCAN_EVERY);
        let recent = || {
            let changed = std::fs::metadata(&self.path).and_then(|live| live.modified());
            changed.is_ok_and(|at| at.elapsed().unwrap_or_default() < SAME_TIME)
        };
        if !(now || due || recent()) {
            return Ok(Vec::new());
        }
        self.scanned = Some(Instant::now());
        let mut names = ring_files(&self.path, self.extension)?;
        names.retain(|name| self.known.insert(name.clone()));
        Ok(names)
    }

    /// Whether to see now which of so many processes have ended.
    pub fn is_check_due(&mut self, processes: usize) -> bool {
        let each = CHECK_EACH * u32::try_from(processes).unwrap_or(u32::MAX);
        let due = self.check_is_due || self.checked.elapsed() >= CHECK_EVERY.max(each);
        if due {
            (self.checked, self.check_is_due) = (Instant::now(), false);
        }
        due
    }

    /// Sleeps until a process calls, one of these that have not ended ends, something `others` can
    /// be read, or `longest` has passed. Says which of these can.
    pub fn sleep<'a>(
        &mut self,
        processes: impl Iterator<Item = &'a RingFile>,
        others: &[BorrowedFd<'_>],
        longest: Duration,
    ) -> Vec<bool> {
        let (mut longest, mut all) = (longest, others.to_vec());
        match &self.bell {
            Some(bell) => all.push(bell.as_fd()),
            None => longest = longest.min(PAUSE_DEAF),
        }
        let first = all.len();
        let mut count = 0;
        for process in processes {
            count += 1;
            match process.held() {
                Some(process) => all.push(process.as_fd()),
                None => longest = longest.min(CHECK_EVERY),
            }
        }
        let mut ready = readable(&all, longest.max(PAUSE_EACH * count));
        self.check_is_due |= ready.drain(first..).any(|ended| ended);
        if let Some(bell) = &self.bell {
            // Before the look that answers.
            bell.clear();
        }
        ready.truncate(others.len());
        ready
    }
}

/// Room that is kept free by a file, for the end of a recording on a full disk.
#[derive(Debug)]
pub struct Reserve(Option<PathBuf>);

impl Reserve {
    /// So many bytes of the file system of a directory, if it has them.
    #[must_use]
    pub fn keep(directory: &Path, bytes: usize) -> Self {
        let path = directory.join("reserve");
        // Where it does not fit, trying would leave the program's own files no room meanwhile.
        let fits = shm::free_bytes(directory).is_ok_and(|free| free >= bytes as u64);
        let kept = Self(Some(path.clone()));
        match fits && std::fs::write(path, vec![0; bytes]).is_ok() {
            true => kept,
            // What found room of it would only take that from the streams.
            false => Self(None),
        }
    }

    /// Frees it.
    pub fn give_up(&mut self) {
        if let Some(path) = self.0.take() {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Drop for Reserve {
    fn drop(&mut self) {
        self.give_up();
    }
}

/// Adds a sentence to those that the user is told, if it is a new one.
pub fn note(problems: &mut Vec<String>, problem: String) {
    /// Sentences beyond this many help nobody.
    const PROBLEMS_MAX: usize = 100;
    if problems.len() < PROBLEMS_MAX && !problems.contains(&problem) {
        problems.push(problem);
    }
}
