//! The collector: all processes of a recording.

mod hear;

use crate::closing::Closing;
use crate::peers::{PeerId, Peers};
use crate::process::{Common, Process};
use crate::remote::Remote;
use crate::store::Store;
use fathomp_feed::file::RingFile;
use fathomp_feed::layout::EXTENSION;
use fathomp_feed::message::{self, Hello, Role};
use fathomp_paging::setup::{Setup, SetupError, Writer};
use fathomp_ring::drain::{LiveDirectory, note};
use fathomp_sys::clock::{self, Pair, Source};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How often to write what is packed, and to try again what could not be written.
const FLUSH_EVERY: Duration = Duration::from_secs(1);
/// How long after its end a process that is still connected (by a child that has its
/// descriptors) may have messages on the way.
const DELIVERY_TIME_MAX: Duration = Duration::from_millis(200);

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
    live: LiveDirectory,
    setup: Setup,
    store: Store,
    peers: Option<Peers>,
    address: Option<SocketAddr>,
    processes: BTreeMap<String, Process>,
    senders: HashMap<PeerId, String>,
    heard: HashMap<String, Instant>,
    began: Pair,
    merging_since: Option<Instant>,
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
            live: LiveDirectory::new(&live, EXTENSION),
            peers,
            address,
            processes: BTreeMap::new(),
            senders: HashMap::new(),
            heard: HashMap::new(),
            began: clock::pair(),
            merging_since: None,
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

    /// Looks once for new processes, and for what they have to say. [Wait](Self::wait) before
    /// the next call.
    pub fn poll(&mut self) -> Progress {
        self.scan(false);
        self.hear();
        let now = Instant::now();
        let all = now.duration_since(self.flushed) >= FLUSH_EVERY;
        self.each(|process, common| process.drain(all, common));
        if self.live.is_check_due(self.processes.len()) {
            self.retire(now);
        }
        if all {
            self.flushed = now;
            self.flush(now);
        }
        let taken = self.processes.values().map(|process| process.taken());
        Progress {
            processes: self.summary.processes,
            running: self.processes.len() as u64,
            records: self.summary.records + taken.map(|taken| taken.records).sum::<u64>(),
            bytes: self.store.bytes,
        }
    }

    /// Sleeps until a ring is half full, messages come, a process begins or ends, `control` can
    /// be read, or `longest` has passed; says whether `control` can be read.
    pub fn wait(&mut self, longest: Duration, control: Option<BorrowedFd<'_>>) -> bool {
        let peers = self.peers.iter().flat_map(Peers::descriptors);
        let all: Vec<_> = control.into_iter().chain(peers).collect();
        let (gone, there): (Vec<_>, Vec<_>) = self.processes.values().partition(|one| one.gone);
        let longest = match gone.is_empty() {
            true => longest,
            false => longest.min(DELIVERY_TIME_MAX / 10),
        };
        let files = there.iter().filter_map(|one| one.file.as_deref());
        let ready = self.live.sleep(files, &all, longest);
        control.is_some() && ready[0]
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
        const CLOCK_SPAN_MIN: Duration = Duration::from_millis(100);
        if clock::source() != Source::Processor {
            return Some(1.0);
        }
        let now = clock::pair();
        let passed_ns = now.monotonic_ns.saturating_sub(self.began.monotonic_ns);
        let measured = (u128::from(passed_ns) >= CLOCK_SPAN_MIN.as_nanos())
            .then(|| self.began.nanos_per_tick(&now))
            .flatten();
        measured.or(self.setup.clock.map(|clock| clock.nanos_per_tick))
    }

    /// Looks for ring files of new processes.
    fn scan(&mut self, now: bool) {
        match self.live.arrivals(now) {
            Ok(names) => names.iter().for_each(|name| self.take_up(name)),
            Err(error) => {
                let live = self.live.path().display();
                self.note(format!(
                    "New processes could not be looked for in {live}: {error}."
                ));
            }
        }
    }

    /// Begins to record a process.
    fn take_up(&mut self, name: &OsString) {
        let path = self.live.path().join(name);
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
            if !std::mem::replace(&mut process.gone, true) {
                // Its end has woken us, or came a moment ago.
                process.alive();
            }
            // Its messages may still be on the way.
            let heard = self.heard.entry(stem.clone()).or_insert(now);
            if !process.connected || now.duration_since(*heard) >= DELIVERY_TIME_MAX {
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
        let is_held = process
            .file
            .as_ref()
            .is_some_and(|file| file.held().is_some());
        if !running && is_held && !process.gone {
            // Its end has woken us.
            process.alive();
        }
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
        note(&mut self.summary.problems, problem);
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
