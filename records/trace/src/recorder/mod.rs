//! The recorder inside a running program.
//!
//! The runtime's threads say what they do through a [`ThreadRecorder`] each;
//! the words go to a ring in a file shared with the drainer, another process.
//! An event takes no lock, no allocation and no system call, and never waits:
//! what the drainer is too slow for is summed or counted instead.

mod asleep;
mod carry;
mod cells;
mod frames;
mod phases;
mod sampler;
mod sites;
mod start;
mod thread;

pub use asleep::asleep;
pub use start::Start;
pub use thread::{TaskBegin, ThreadRecorder};

use crate::foreign_recorder::{Lapse, Unseen};
use crate::layout::{FORMAT, Geometry, header};
use crate::live;
use crate::model::SiteKind;
use crate::record::Message;
use crate::stack::StackOverflow;
use cells::OwnLine;
use fathomp_launch::of_this_process;
use fathomp_ring::Word;
use fathomp_ring::file::{RingFile, put_string, stem};
use fathomp_sys::clock::{self, Pair};
use fathomp_sys::private_heap::OnPrivateHeap;
use fathomp_sys::process;
use fathomp_sys::shm::SharedFile;
use fathomp_types::mpi::{Done, NO_BYTES};
use fathomp_types::{InstanceId, NodeId, SiteId, ThreadId, Ticks};
use sites::Sites;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

/// The OpenMP runtime that is recorded.
#[derive(Clone, Debug)]
pub struct Watched {
    /// Name and version.
    pub name: String,
    /// Its library, if the recorder is not part of it.
    pub library: Option<PathBuf>,
}

impl From<&str> for Watched {
    /// That of which the recorder is a part.
    fn from(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            library: None,
        }
    }
}

/// What is asked of the recorder.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Live directory.
    pub directory: PathBuf,
    /// Size of a thread's ring in KiB.
    pub ring_kib: usize,
    /// Threads that can be recorded at a time.
    pub threads: usize,
    /// Shortest wait that gets a record of its own.
    pub interval_ns: u64,
    /// This process's node.
    pub node: NodeId,
    /// Process number of node 0, if this is a node of a cluster.
    pub cluster: Option<u32>,
}

impl From<fathomp_launch::Recorder> for Settings {
    /// Those of a process by itself.
    fn from(asked: fathomp_launch::Recorder) -> Self {
        Self {
            directory: asked.directory,
            ring_kib: asked.ring_kib as usize,
            threads: asked.threads as usize,
            interval_ns: asked.interval_ns,
            node: NodeId(0),
            cluster: None,
        }
    }
}

impl Settings {
    /// The usual ones for a live directory.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        fathomp_launch::Recorder::new(directory).into()
    }

    fn geometry(&self) -> Geometry {
        const WORDS_PER_KIB: usize = 128;
        Geometry {
            slots: self.threads,
            ring_words: (self.ring_kib * WORDS_PER_KIB).next_power_of_two(),
            sites: 4096,
            heap_words: 8192,
        }
    }
}

/// Says on standard error why this process is not recorded.
fn say_unrecorded(why: &dyn std::error::Error) {
    let sentence = format!(
        "fathomp: process {} is not recorded: {why}\n",
        std::process::id()
    );
    // Not `eprint!`, which panics if the program has closed it.
    let _ = io::stderr().write_all(sentence.as_bytes());
}

/// Why a process cannot be recorded.
#[derive(Debug, thiserror::Error)]
pub enum SetUpError {
    /// The shared file could not be made.
    #[error("cannot make {path}: {source}; check the space and the permissions of its directory")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// The recorder of this process.
///
/// It lives as long as the process: threads may be in the middle of an event
/// when the process ends.
#[derive(Debug)]
pub struct Recorder {
    file: &'static SharedFile,
    ring: &'static RingFile,
    words: &'static [AtomicU64],
    geometry: Geometry,
    settings: Settings,
    runtime: Watched,
    sites: Sites,
    instances: OwnLine<AtomicU64>,
    /// Slots in use. Kept privately, because a slot's page must not be touched
    /// before there is memory for it.
    claimed: Box<[AtomicBool]>,
    threads: Box<[OnceLock<ThreadRecorder>]>,
    ticks_per_microsecond: f64,
    hardware: AtomicBool,
    /// When the process started, until its initial thread attaches.
    started: Mutex<Option<Ticks>>,
}

impl Recorder {
    /// A recorder as the environment asks for it. `None` if it does not, or if
    /// setting up failed; then one sentence on standard error says why.
    ///
    /// Call it when the process first uses OpenMP, not when it starts: a shell
    /// that only starts other programs need not be recorded. `started` is when
    /// the process did start: what its initial thread did until now is serial
    /// time too.
    ///
    /// `node` is this process's number if it is a node of a cluster, with the
    /// process number of node 0. The program's first thread is the first that
    /// attaches there, and instances are numbered apart from other nodes'.
    #[must_use]
    pub fn from_environment(
        runtime: impl Into<Watched>,
        started: Pair,
        node: Option<(NodeId, u32)>,
    ) -> Option<&'static Self> {
        let asked = fathomp_launch::Recorder::from_env(&of_this_process);
        let mut settings = match asked {
            Ok(asked) => Settings::from(asked?),
            Err(error) => {
                say_unrecorded(&error);
                return None;
            }
        };
        if let Some((node, first)) = node {
            (settings.node, settings.cluster) = (node, Some(first));
        }
        Self::or_sentence(settings, &runtime.into(), Some(started))
    }

    fn or_sentence(
        settings: Settings,
        runtime: &Watched,
        started: Option<Pair>,
    ) -> Option<&'static Self> {
        match Self::open_since(settings, runtime, started) {
            Ok(recorder) => Some(recorder),
            Err(error) => {
                say_unrecorded(&error);
                None
            }
        }
    }

    /// A recorder with these settings.
    ///
    /// # Errors
    /// If the shared file cannot be made.
    pub fn open(settings: Settings, runtime: &str) -> Result<&'static Self, SetUpError> {
        Self::open_since(settings, &runtime.into(), None)
    }

    fn open_since(
        settings: Settings,
        runtime: &Watched,
        started: Option<Pair>,
    ) -> Result<&'static Self, SetUpError> {
        let _heap = OnPrivateHeap::begin();
        let present = clock::pair();
        let begin = started.unwrap_or(present);
        let unix = clock::unix_ns()
            .saturating_sub(present.monotonic_ns.saturating_sub(begin.monotonic_ns));
        let stem = stem(std::process::id(), begin.ticks);
        let path = settings
            .directory
            .join(stem)
            .with_extension(live::EXTENSION);
        let error = |source| SetUpError::File {
            path: path.clone(),
            source,
        };
        let nanos_per_tick = clock::measure(&begin, Duration::from_micros(50));
        let attempt = |geometry: Geometry| {
            let file = RingFile::begin(&path, FORMAT, geometry.words(), &begin)?;
            Ok((file, geometry))
        };
        // Smaller if the process may not map one of the size asked for.
        let asked = settings.geometry();
        let modest = Geometry {
            slots: asked.slots.div_ceil(8),
            ring_words: (asked.ring_words / 8).max(1024),
            ..asked
        };
        let made = attempt(asked).or_else(|_| attempt(modest));
        let (ring, geometry) = made.map_err(error)?;
        let ring: &'static RingFile = Box::leak(Box::new(ring));
        let words = ring.words();
        let head = |at: usize, value: u64| words[at].set(value);
        let process = u64::from(ring.pid()) | u64::from(settings.node.0) << 32;
        head(header::PROCESS, process);
        head(header::UNIX, unix);
        head(header::NANOS_PER_TICK, nanos_per_tick.to_bits());
        head(header::SLOTS, geometry.slots as u64);
        head(header::RING_WORDS, geometry.ring_words as u64);
        head(header::SITES, geometry.sites as u64);
        head(header::HEAP_WORDS, geometry.heap_words as u64);
        head(header::CLUSTER, settings.cluster.unwrap_or(0).into());
        let first_instance = 1 | u64::from(settings.node.0) << 48;
        let executable = std::env::current_exe().unwrap_or_default();
        head(header::FOREIGN_RECORDER, runtime.library.is_some().into());
        let library = runtime.library.as_deref().unwrap_or(Path::new(""));
        let strings = [
            (
                header::RUNTIME,
                header::RUNTIME_WORDS,
                runtime.name.as_bytes(),
            ),
            (
                header::LIBRARY,
                header::LIBRARY_WORDS,
                library.as_os_str().as_bytes(),
            ),
            (
                header::EXECUTABLE,
                header::EXECUTABLE_WORDS,
                executable.as_os_str().as_bytes(),
            ),
        ];
        for (at, length, text) in strings {
            put_string(&words[at..at + length], text);
        }
        let file = ring.shared();
        let sites = Sites::new(file, geometry);
        ring.complete().map_err(error)?;
        Ok(Box::leak(Box::new(Self {
            file,
            ring,
            words,
            geometry,
            settings,
            runtime: runtime.clone(),
            sites,
            instances: OwnLine(AtomicU64::new(first_instance)),
            claimed: (0..geometry.slots)
                .map(|_| AtomicBool::new(false))
                .collect(),
            threads: (0..geometry.slots).map(|_| OnceLock::new()).collect(),
            ticks_per_microsecond: 1000.0 / nanos_per_tick,
            hardware: AtomicBool::new(true),
            started: Mutex::new(started.map(|pair| pair.ticks)),
        })))
    }

    /// The number of a place in the code: `call` is the return address of the
    /// call that entered the construct minus one, `function` the outlined
    /// function, 0 if there is none.
    ///
    /// A known place takes a few nanoseconds. When there are more places than
    /// can be numbered, the rest share one number, and are counted.
    #[inline]
    #[must_use]
    pub fn site(&self, kind: SiteKind, call: usize, function: usize) -> SiteId {
        self.sites.number(kind, call as u64, function as u64)
    }

    /// A call of MPI from `begin` to `end`, as the interposer tells it.
    #[must_use]
    pub fn message(&self, done: &Done, begin: Ticks, end: Ticks) -> Message {
        Message {
            site: self.site(SiteKind::Mpi, done.call, 0),
            function: u16::try_from(done.function).unwrap_or(u16::MAX),
            begin,
            end,
            bytes: Some(done.bytes).filter(|bytes| *bytes != NO_BYTES),
            peer: u32::try_from(done.peer).ok(),
            communicator: done.communicator,
            waits_for_all: done.waits_for_all,
        }
    }

    /// A number for the next execution of a parallel region.
    #[inline]
    #[must_use]
    pub fn next_instance(&self) -> InstanceId {
        InstanceId(self.instances.fetch_add(1, Ordering::Relaxed))
    }

    /// A recorder for the calling thread, which must be the only one to use it
    /// and hand it back when it ends. `None`, counted, if there are more
    /// threads than slots or no memory for another.
    #[must_use]
    pub fn attach(&'static self) -> Option<&'static ThreadRecorder> {
        let attached = (0..self.geometry.slots)
            .filter(|&index| self.claim(index))
            .find_map(|index| {
                let thread = self.occupy(index);
                if thread.is_none() {
                    self.claimed[index].store(false, Ordering::Release);
                }
                thread
            });
        if attached.is_none() {
            self.words[header::THREADS_LOST].fetch_add(1, Ordering::Relaxed);
        }
        attached
    }

    fn claim(&self, index: usize) -> bool {
        let claimed = &self.claimed[index];
        !claimed.load(Ordering::Relaxed)
            && claimed
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok()
    }

    /// Begins a new thread in a claimed slot, if there is memory for the slot
    /// and room in its ring.
    /// When the calling thread, which attaches, began: the initial thread with
    /// the process, others now.
    fn begin_of_thread(&self) -> Option<Ticks> {
        let of_cluster = self.settings.cluster.is_some();
        if !of_cluster && !process::is_initial_thread() {
            return None;
        }
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        started.take()
    }

    fn occupy(&'static self, index: usize) -> Option<&'static ThreadRecorder> {
        let _heap = OnPrivateHeap::begin();
        let cell = &self.threads[index];
        if cell.get().is_none() {
            let thread = ThreadRecorder::new(self, index)?;
            // Only the claimant gets here, so the cell is empty.
            let _ = cell.set(thread);
        }
        let thread = cell.get()?;
        let next = &self.words[header::THREADS];
        thread
            .begin_thread(|| ThreadId(next.fetch_add(1, Ordering::Relaxed) as u32))
            .then_some(thread)
    }

    /// The calling thread, which attached `thread`, ends.
    pub fn detach(&self, thread: &'static ThreadRecorder) {
        let index = thread.index();
        let ours = self
            .threads
            .get(index)
            .and_then(OnceLock::get)
            .is_some_and(|known| std::ptr::eq(known, thread));
        if ours {
            thread.end_thread();
            self.claimed[index].store(false, Ordering::Release);
        }
    }

    /// In the child of a fork: a recorder of its own. The parent's rings are
    /// still mapped, but neither `self` nor its threads' recorders may be used
    /// in the child any more.
    #[must_use]
    pub fn restart_in_child(&self) -> Option<&'static Self> {
        let child = Self::or_sentence(self.settings.clone(), &self.runtime, None)?;
        child.words[header::FORKED].set(1);
        Some(child)
    }

    /// The process is about to end properly. Harmless if called twice.
    pub fn finish(&self) {
        self.words[header::END].store(clock::now().0, Ordering::Release);
        self.call_drainer();
    }

    /// Wakes the drainer, which sleeps until it is called.
    pub(super) fn call_drainer(&self) {
        self.ring.call();
    }

    /// A recorder that is not part of the runtime was told so many events, and had so many ticks
    /// of work with them.
    #[inline]
    pub fn note_foreign_events(&self, events: u64, cost: u64) {
        /// A thread that takes longer for an event has lost its processor meanwhile.
        const LONGEST_US: f64 = 10.0;
        let cost = cost.min(self.ticks(LONGEST_US).saturating_mul(events));
        self.words[header::EVENTS].fetch_add(events, Ordering::Relaxed);
        self.words[header::COST].fetch_add(cost, Ordering::Relaxed);
    }

    /// The runtime does not show this, which the program did or may have done.
    pub fn unseen(&self, what: Unseen) {
        let bit = 1 << what as u8;
        if self.words[header::UNSEEN].get() & bit == 0 {
            self.words[header::UNSEEN].fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// The runtime told something that cannot be, or failed to tell.
    #[cold]
    pub fn lapse(&self, what: Lapse) {
        self.words[header::LAPSES + what as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// A thread's stack has run out, which ends the process. May be called by a
    /// signal handler: it writes a few words and nothing else.
    pub fn stack_overflow(&self, overflow: &StackOverflow) {
        let words = overflow.to_words();
        for (at, word) in words.into_iter().enumerate() {
            self.words[header::STACK + at].store(word, Ordering::Release);
        }
    }

    /// A region nested too deep to be recorded.
    #[cold]
    fn count_too_deep(&self) {
        self.words[header::TOO_DEEP].fetch_add(1, Ordering::Relaxed);
    }

    /// Whether waits are all that is known of how long threads slept in the runtime.
    fn sleep_is_unknown(&self) -> bool {
        self.runtime.library.is_some()
    }

    /// `us` microseconds in ticks.
    fn ticks(&self, us: f64) -> u64 {
        (us * self.ticks_per_microsecond) as u64
    }

    /// Whether hardware counters may still be tried.
    fn hardware_expected(&self) -> bool {
        self.hardware.load(Ordering::Relaxed)
    }

    /// Notes whether a thread could open hardware counters.
    fn hardware_found(&self, found: bool) {
        if found {
            self.words[header::HARDWARE].set(1);
        } else {
            self.hardware.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_are_powers_of_two() {
        for ring_kib in [4, 5, 1023, 1 << 20] {
            let settings = Settings {
                ring_kib,
                ..Settings::new("/live".into())
            };
            let words = settings.geometry().ring_words;
            assert!(words.is_power_of_two() && words * 8 >= ring_kib << 10);
        }
    }

    #[test]
    fn a_missing_directory_is_an_error_with_its_name() {
        let error = Recorder::open(Settings::new("/no/such/directory".into()), "test");
        assert!(
            error
                .unwrap_err()
                .to_string()
                .contains("/no/such/directory")
        );
    }
}
