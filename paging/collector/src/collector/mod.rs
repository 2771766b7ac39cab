//! The collector: all processes of a recording.

mod hear;

use crate::peers::{PeerId, Peers};
use crate::process::{Common, Process};
use crate::remote::Remote;
use crate::serve::Closing;
use crate::store::Store;
use fathomp_feed::file::RingFile;
use fathomp_feed::layout::EXTENSION;
use fathomp_feed::message::{self, Hello, Role};
use fathomp_paging::setup::{Setup, SetupError, Writer};
use fathomp_ring::file;
use fathomp_sys::clock::{self, Pair, Source};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

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
/// How often to write what is packed, and to try again what could not be written.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How long after its end a process that is still connected (by a child that has its
/// descriptors) may have messages on the way.
const ON_THE_WAY: Duration = Duration::from_millis(200);

/// What is to be recorded, and where.
#[derive(Clone, Debug)]
pub struct Job {
    /// The live directory, which is there.
    pub live: PathBuf,
    /// The settings. The collector writes them to the live directory when it is ready, with
    /// the address at which it listens.
    pub setup: Setup,
}

/// Why a collector cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The directory of streams cannot be made.
    #[error("cannot make {path}: {source}; check the space and the permissions there")]
    Streams {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Nobody could reach the collector.
    #[error("cannot listen at {address}: {source}; choose another writer or another address")]
    Listen {
        /// Where.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The other host cannot be reached.
    #[error(
        "cannot record to {address}: {source}; see whether `fathomp collect --listen` runs there \
         with the same key"
    )]
    Remote {
        /// Where.
        address: String,
        /// What went wrong.
        source: io::Error,
    },
    /// The settings cannot be written.
    #[error(transparent)]
    Setup(#[from] SetupError),
}

/// What a call of [`Collector::poll`] came to.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress {
    /// Processes seen so far.
    pub processes: u64,
    /// Of these, processes not known to have ended.
    pub running: u64,
    /// Records taken so far.
    pub records: u64,
    /// Bytes written so far.
    pub bytes: u64,
    /// When to poll again, at the latest.
    pub pause: Duration,
}

/// What a recording came to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Summary {
    /// Processes.
    pub processes: u64,
    /// Records taken from them.
    pub records: u64,
    /// Changes that the threads themselves had to merge because their rings were full.
    pub merged: u64,
    /// Bytes written.
    pub bytes: u64,
    /// Length of a tick of this host in nanoseconds, if it was measured.
    pub nanos_per_tick: Option<f64>,
    /// What went wrong, each as one sentence for the user.
    pub problems: Vec<String>,
}

/// Collects what processes record.
#[derive(Debug)]
pub struct Collector {
    live: PathBuf,
    setup: Setup,
    store: Store,
    peers: Option<Peers>,
    address: Option<SocketAddr>,
    processes: BTreeMap<String, Process>,
    senders: HashMap<PeerId, String>,
    heard: HashMap<String, Instant>,
    known: HashSet<OsString>,
    began: Pair,
    merging_since: Option<Instant>,
    scanned: Option<Instant>,
    checked: Instant,
    flushed: Instant,
    sums_due: Instant,
    summary: Summary,
}

impl Collector {
    /// Makes everything ready for processes to begin, and says so by writing the settings to
    /// the live directory.
    ///
    /// # Errors
    /// If the recording cannot be written to, or processes could not reach the collector.
    pub fn start(job: Job) -> Result<Self, StartError> {
        let Job { live, mut setup } = job;
        let made = std::fs::create_dir_all(&setup.streams);
        made.map_err(|source| StartError::Streams {
            path: setup.streams.clone(),
            source,
        })?;
        let (peers, address) = hear::listen(&live, &mut setup)?;
        let remote = match &setup.writer {
            Writer::Remote(address) => Some(connect(address, &setup)?),
            _ => None,
        };
        setup.write(&live)?;
        let now = Instant::now();
        Ok(Self {
            store: Store::new(&setup.streams, remote),
            live,
            peers,
            address,
            processes: BTreeMap::new(),
            senders: HashMap::new(),
            heard: HashMap::new(),
            known: HashSet::new(),
            began: clock::pair(),
            merging_since: None,
            scanned: None,
            checked: now,
            flushed: now,
            sums_due: now,
            summary: Summary::default(),
            setup,
        })
    }

    /// Where it listens on a network, if it does.
    #[must_use]
    pub fn address(&self) -> Option<SocketAddr> {
        self.address
    }

    /// Looks once for new processes, and for what they have to say. Wait for
    /// [`Progress::pause`] before the next call, or [as long as nothing comes](Self::wait).
    pub fn poll(&mut self) -> Progress {
        self.scan(false);
        self.hear();
        let now = Instant::now();
        let mut fullest = 0.0_f64;
        self.each(|process, common| {
            fullest = fullest.max(process.drain(false, common));
        });
        let processes = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        if now.duration_since(self.checked) >= CHECK_EVERY.max(CHECK_EACH * processes) {
            self.checked = now;
            self.retire(now);
        }
        if now.duration_since(self.flushed) >= FLUSH_EVERY {
            self.flushed = now;
            self.flush(now);
        }
        let taken = self.processes.values().map(|process| process.taken());
        Progress {
            processes: self.summary.processes,
            running: self.processes.len() as u64,
            records: self.summary.records + taken.map(|taken| taken.records).sum::<u64>(),
            bytes: self.store.bytes,
            pause: pause_after(fullest).max(PAUSE_EACH * processes),
        }
    }

    /// Waits until messages come, `control` can be read, or `longest` has passed; says
    /// whether `control` can be read.
    pub fn wait(&self, longest: Duration, control: Option<BorrowedFd<'_>>) -> bool {
        let mut all: Vec<PollFd<'_>> = Vec::new();
        all.extend(control.map(|one| PollFd::new(one, PollFlags::POLLIN)));
        let peers = self.peers.iter().flat_map(Peers::descriptors);
        all.extend(peers.map(|one| PollFd::new(one, PollFlags::POLLIN)));
        // Rounded up: without a pause, this would be busy.
        let longest = longest.as_micros().div_ceil(1000);
        let longest = PollTimeout::try_from(longest).unwrap_or(PollTimeout::MAX);
        // If the kernel refuses, the caller polls all the same.
        let _ = poll(&mut all, longest);
        control.is_some() && all.first().and_then(PollFd::any).unwrap_or(false)
    }

    /// Takes everything that is there and completes all streams. Processes that still run are
    /// recorded up to now.
    pub fn finish(mut self) -> (Summary, Closing) {
        self.scan(true);
        self.hear();
        for (_, process) in std::mem::take(&mut self.processes) {
            let running = !process.has_ended();
            self.complete(process, running);
        }
        let mut summary = std::mem::take(&mut self.summary);
        summary.bytes = self.store.bytes;
        summary.nanos_per_tick = self.nanos_per_tick();
        summary.problems.extend(self.store.remote_failure.take());
        let closing = Closing::new(&mut self.store, &self.setup);
        (summary, closing)
    }

    /// Does something with every process.
    fn each(&mut self, mut action: impl FnMut(&mut Process, &mut Common<'_>)) {
        let nanos_per_tick = self.nanos_per_tick();
        let mut common = Common {
            setup: &self.setup,
            store: &mut self.store,
            nanos_per_tick,
        };
        for process in self.processes.values_mut() {
            action(process, &mut common);
        }
    }

    /// Length of a tick of this host, from when the collector began: better than processes
    /// know it that have just begun.
    fn nanos_per_tick(&self) -> Option<f64> {
        const ENOUGH: Duration = Duration::from_millis(100);
        if clock::source() != Source::Processor {
            return Some(1.0);
        }
        let now = clock::pair();
        let passed_ns = now.monotonic_ns.saturating_sub(self.began.monotonic_ns);
        let measured = (u128::from(passed_ns) >= ENOUGH.as_nanos())
            .then(|| self.began.nanos_per_tick(&now))
            .flatten();
        measured.or(self.setup.clock.map(|clock| clock.nanos_per_tick))
    }

    /// Looks for ring files of new processes.
    fn scan(&mut self, now: bool) {
        let due = self.scanned.is_none_or(|at| at.elapsed() >= SCAN_EVERY);
        // A process that has just begun may fill its rings in some 20 ms.
        let recent = || {
            let changed = std::fs::metadata(&self.live).and_then(|live| live.modified());
            changed.is_ok_and(|at| at.elapsed().unwrap_or_default() < SAME_TIME)
        };
        if !(now || due || recent()) {
            return;
        }
        self.scanned = Some(Instant::now());
        let names = match file::unknown(&self.live, EXTENSION, &self.known) {
            Ok(names) => names,
            Err(error) => {
                let live = self.live.display();
                return self.note(format!(
                    "New processes could not be looked for in {live}: {error}."
                ));
            }
        };
        for name in names {
            self.take_up(&name);
            self.known.insert(name);
        }
    }

    /// Begins to record a process.
    fn take_up(&mut self, name: &OsString) {
        let path = self.live.join(name);
        let stem = path.file_stem().unwrap_or_default();
        let stem = stem.to_string_lossy().into_owned();
        let file = match RingFile::open(&path) {
            Ok(file) => file,
            Err(error) => {
                let name = name.to_string_lossy();
                return self.note(format!("The records in {name} were not taken: {error}."));
            }
        };
        for other in self.processes.values_mut() {
            // The same process, as another program.
            let same = other.file.as_ref().is_some_and(|other| {
                other.pid() == file.pid()
                    && other.start_time() == file.start_time()
                    && other.facts().zero < file.facts().zero
            });
            other.replaced |= same;
        }
        match self.processes.get_mut(&stem) {
            Some(process) => process.file = Some(file),
            None => self.begin(&stem, Some(file)),
        }
    }

    fn begin(&mut self, stem: &str, file: Option<RingFile>) {
        let mut process = Process::new(file, self.setup.writer.handover());
        process.alive();
        self.processes.insert(stem.to_owned(), process);
        self.summary.processes += 1;
    }

    /// Completes the streams of processes that have ended.
    fn retire(&mut self, now: Instant) {
        let mut ended = Vec::new();
        for (stem, process) in &mut self.processes {
            if !process.has_ended() {
                process.alive();
                continue;
            }
            // Its messages may still be on the way.
            let heard = self.heard.entry(stem.clone()).or_insert(now);
            if !process.connected || now.duration_since(*heard) >= ON_THE_WAY {
                ended.push(stem.clone());
            }
        }
        for stem in ended {
            self.heard.remove(&stem);
            if let Some(process) = self.processes.remove(&stem) {
                self.complete(process, false);
            }
        }
    }

    fn complete(&mut self, mut process: Process, running: bool) {
        let nanos_per_tick = self.nanos_per_tick();
        let mut common = Common {
            setup: &self.setup,
            store: &mut self.store,
            nanos_per_tick,
        };
        let mut whole = process.complete(running, &mut common);
        if !whole {
            common.store.give_reserve_up();
            whole = process.retry(&mut common);
        }
        let pid = process.pid();
        if let Some(error) = process.failure() {
            let lost = match whole {
                true => "its intervals are merged from then on, and its totals are complete",
                false => "what came later is lost",
            };
            let problem = format!(
                "Process {pid} could not be recorded for want of room: {error}; {lost}. Free \
                 some space and record again."
            );
            self.note(problem);
        }
        let taken = process.taken();
        self.summary.records += taken.records;
        self.summary.merged = self.summary.merged.saturating_add(taken.merged);
        if let (false, Some(file)) = (running, &process.file) {
            // What cannot be removed now goes with the live directory.
            let _ = std::fs::remove_file(file.path());
        }
    }

    /// Writes what is packed; sums of merged intervals when an eighth of the time has passed
    /// since merging began, so that their bytes grow with the logarithm of it.
    fn flush(&mut self, now: Instant) {
        if self.merging_since.is_none() && self.store.bytes >= self.setup.limit_bytes {
            self.merging_since = Some(now);
        }
        let mut sums = false;
        if let Some(since) = self.merging_since {
            sums = now >= self.sums_due;
            if sums {
                self.sums_due = now + FLUSH_EVERY.max((now - since) / 8);
            }
        }
        self.each(|process, common| process.flush(sums, common));
        self.store.sign();
    }

    fn note(&mut self, problem: String) {
        /// Sentences beyond this many help nobody.
        const ENOUGH: usize = 100;
        let problems = &mut self.summary.problems;
        if problems.len() < ENOUGH && !problems.contains(&problem) {
            problems.push(problem);
        }
    }
}

fn connect(address: &str, setup: &Setup) -> Result<Remote, StartError> {
    let hello = Hello {
        version: message::VERSION,
        key: setup.key.clone(),
        host: message::host(),
        boot: message::boot(),
        role: Role::Node,
    };
    Remote::connect(address, &hello).map_err(|source| StartError::Remote {
        address: address.to_owned(),
        source,
    })
}

/// When to look again at rings of which the fullest was so full. A thread that changes its
/// state a million times a second fills a ring of the usual size in some 50 ms; each look costs
/// a program that has all processors more than it takes.
fn pause_after(fullest: f64) -> Duration {
    Duration::from_millis(match fullest {
        full if full > 0.4 => 1,
        full if full > 0.2 => 5,
        _ => 20,
    })
}
