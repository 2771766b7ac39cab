//! The sink of a process.

use super::choice::{Choice, LateNumber, Numbers, Orders};
use super::facts::{EndFacts, Hooks, ThreadFacts};
use super::helper::Helper;
use super::outlet::Outlet;
use super::thread::ThreadSink;
use fathomp_feed::facts::End;
use fathomp_feed::file::{self, Opening, RingFile};
use fathomp_feed::layout::{EXTENSION, Geometry, header};
use fathomp_feed::message;
use fathomp_feed::names::Names;
use fathomp_paging::setup::{Setup, SetupError, Writer};
use fathomp_ring::Word;
use fathomp_sys::clock::{self, Pair};
use fathomp_sys::process;
use fathomp_types::Ticks;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// Threads of a process that may run at a time; a sixteenth if addresses are scarce, ...
const SLOTS: usize = 1024;
/// ... each with no larger ring than this.
const MODEST_RING_WORDS: usize = 8 << 10;

/// The sink of this process, from when the interposer is loaded to the end.
#[derive(Debug)]
pub struct Process {
    setup: Setup,
    live: PathBuf,
    hooks: Hooks,
    file: &'static RingFile,
    names: Names,
    slots: Box<[Slot]>,
    pub(super) choice: Choice,
    orders: Option<Orders>,
    order: Option<u32>,
    rank: LateNumber,
    node: LateNumber,
    outlet: Outlet,
    helper: Helper,
    own_io_calls: AtomicU64,
    ticks_per_second: f64,
}

/// What the process knows of a slot beside its words.
#[derive(Debug, Default)]
struct Slot {
    claimed: AtomicBool,
    /// Held by the thread that hands on what is in the ring.
    consumer: Mutex<()>,
}

/// What became of the records in a ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Handed {
    /// They were handed on.
    On,
    /// Another thread is doing that.
    Busy,
    /// Nobody took them.
    Refused,
}

/// Why a process cannot be recorded. Nobody is told: the program goes on unrecorded.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is no usable setup.
    #[error(transparent)]
    Setup(#[from] SetupError),
    /// The process's ring file cannot be made.
    #[error("cannot make {path}: {source}; check the space and the permissions there")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The collector cannot be reached.
    #[error("cannot reach the collector at {address}: {source}; see whether it still runs")]
    Collector {
        /// Where it should listen.
        address: String,
        /// What went wrong.
        source: io::Error,
    },
}

impl Process {
    /// Opens the sink of this process. May allocate and call the kernel.
    ///
    /// # Errors
    /// If the live directory is not there, not ours, or full, or the collector that the
    /// settings name cannot be reached.
    pub fn open(live: &Path, hooks: Hooks) -> Result<&'static Self, OpenError> {
        let setup = Setup::read(live)?;
        Self::begin(live.to_owned(), setup, hooks, None)
    }

    fn begin(
        live: PathBuf,
        setup: Setup,
        hooks: Hooks,
        parent: Option<&Self>,
    ) -> Result<&'static Self, OpenError> {
        let begin = clock::pair();
        let unix_ns = clock::unix_ns();
        let (zero, nanos_per_tick) = recording_clock(&setup, &begin, unix_ns);
        let stem = file::stem(std::process::id(), begin.ticks);
        let path = live.join(&stem).with_extension(EXTENSION);
        let error = |source| OpenError::File {
            path: path.clone(),
            source,
        };
        let orders = Orders::open(&live, &setup).map_err(error)?;
        let order = orders.as_ref().map(Orders::next_process);
        let opening = Opening {
            parent: std::os::unix::process::parent_id(),
            begin,
            unix_ns,
            nanos_per_tick,
            program: program(),
            forked: parent.is_some(),
            order,
        };
        let ring_words = Outlet::ring_words(&setup);
        let make = |slots, ring_words| {
            RingFile::create(&path, Geometry::for_rings(ring_words, slots), &opening)
        };
        let file = make(SLOTS, ring_words)
            .or_else(|_| make(SLOTS / 16, ring_words.min(MODEST_RING_WORDS)))
            .map_err(error)?;
        let file: &'static RingFile = Box::leak(Box::new(file));
        let names = Names::new(file.shared());
        names.make_room().map_err(error)?;
        if let Some(parent) = parent {
            names.adopt(parent.file.shared());
        }
        let slots = file.geometry().slots;
        let outlet = Outlet::open(&live, &setup, file, &stem).inspect_err(|_| {
            // Nobody should wait for what will never come.
            let _ = std::fs::remove_file(&path);
        })?;
        let process = Self {
            choice: Choice::new(&setup, zero, nanos_per_tick),
            setup,
            live,
            hooks,
            file,
            names,
            slots: (0..slots).map(|_| Slot::default()).collect(),
            orders,
            order,
            rank: LateNumber::new(parent.and_then(|parent| parent.rank.get())),
            node: LateNumber::new(parent.and_then(|parent| parent.node.get())),
            outlet,
            helper: Helper::default(),
            own_io_calls: AtomicU64::new(0),
            ticks_per_second: 1e9 / nanos_per_tick,
        };
        Ok(Box::leak(Box::new(process)))
    }

    /// What is to be recorded.
    #[must_use]
    pub fn setup(&self) -> &Setup {
        &self.setup
    }

    /// The sink of the calling thread, which alone may use it. May allocate and call the
    /// kernel. `None` (counted) if there is no room for another thread.
    #[must_use]
    pub fn thread(&'static self, facts: &ThreadFacts) -> Option<ThreadSink> {
        let words = self.file.words();
        let number = words[header::THREADS].fetch_add(1, Ordering::Relaxed) as u32;
        let numbers = Numbers {
            task: self.orders.as_ref().map(Orders::next_task),
            process: self.order,
            thread: number,
            openmp_thread: None,
            rank: self.rank.get(),
            node: self.node.get(),
        };
        let found = (0..self.slots.len())
            .filter(|&index| self.claim(index))
            .find_map(|index| {
                let thread = ThreadSink::begin(self, index, facts, numbers);
                if thread.is_none() {
                    self.release(index);
                }
                thread
            });
        if found.is_none() {
            words[header::THREADS_LOST].fetch_add(1, Ordering::Relaxed);
        }
        found
    }

    fn claim(&self, index: usize) -> bool {
        let claimed = &self.slots[index].claimed;
        let ours = !claimed.load(Ordering::Relaxed)
            && claimed
                .compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed)
                .is_ok();
        if ours {
            let used = &self.file.words()[header::SLOTS_USED];
            used.fetch_max(index as u64 + 1, Ordering::Relaxed);
        }
        ours
    }

    /// The slot may be used by another thread.
    pub(super) fn release(&self, index: usize) {
        if let Some(slot) = self.slots.get(index) {
            slot.claimed.store(false, Ordering::Release);
        }
    }

    /// The number of a name, for causes and marks; the same for the same name, also in
    /// forked children. 0 if there is no room for more. Does not allocate.
    #[must_use]
    pub fn name(&self, text: &str) -> u32 {
        self.names.number(text.as_bytes())
    }

    /// Read and write calls of the sink itself, which the kernel counts with the program's.
    #[must_use]
    pub fn own_io_calls(&self) -> u64 {
        self.own_io_calls.load(Ordering::Relaxed)
    }

    /// In the child of a fork: a sink of its own. Neither `self` nor its threads' sinks may
    /// be used in the child any more (forget them; their `Drop` does nothing).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn after_fork_in_child(&'static self) -> Result<&'static Self, OpenError> {
        self.outlet.leave_to_parent();
        Self::begin(
            self.live.clone(),
            self.setup.clone(),
            self.hooks,
            Some(self),
        )
    }

    /// The process is about to end or to become another program: what waits in buffers of
    /// this process is written. Call it again with later facts if need be.
    pub fn end(&self, facts: &EndFacts) {
        self.file.put_end(&End {
            at: facts.at,
            ending: facts.ending,
            io_calls_seen: facts.io_calls_seen,
            io_calls_made: facts.io_calls_made,
            environment_cleared: facts.environment_cleared,
        });
        if self.outlet.is_handed_on() {
            for index in 0..self.file.slots_used() {
                self.hand_on_at_last(index);
            }
        }
        let calls = self.outlet.end(self.file);
        self.own_io_calls.fetch_add(calls, Ordering::Relaxed);
    }

    /// The process did not become another program after all (`exec` failed).
    pub fn goes_on(&self) {
        self.file.take_end_back();
        self.outlet.goes_on(self.file);
    }

    pub(super) fn file(&self) -> &'static RingFile {
        self.file
    }

    pub(super) fn outlet(&self) -> &Outlet {
        &self.outlet
    }

    pub(super) fn ticks(&self, time: Duration) -> Ticks {
        Ticks((time.as_secs_f64() * self.ticks_per_second) as u64)
    }

    pub(super) fn rank(&self) -> Option<u32> {
        self.rank.get()
    }

    pub(super) fn node(&self) -> Option<u32> {
        self.node.get()
    }

    pub(super) fn set_rank(&self, rank: u32) {
        self.rank.set(rank);
        self.file.words()[header::RANK].set(u64::from(rank) + 1);
    }

    pub(super) fn set_node(&self, node: u32) {
        self.node.set(node);
        self.file.words()[header::NODE].set(u64::from(node) + 1);
    }

    pub(super) fn hooks(&self) -> &Hooks {
        &self.hooks
    }

    /// Lets the thread of ours look that hands on in the background.
    pub(super) fn wake_helper(&'static self) {
        self.helper.wake(self);
    }

    /// Hands on what is in all rings.
    pub(super) fn hand_all_on(&self) {
        if self.outlet.is_handed_on() {
            for index in 0..self.file.slots_used() {
                self.hand_on(index);
            }
        }
    }

    /// Hands on what is in a slot's ring, after whoever does so already, if that comes to an
    /// end within a second: a signal handler may have interrupted it.
    fn hand_on_at_last(&self, index: usize) {
        let until = clock::now() + self.ticks(Duration::from_secs(1));
        while self.hand_on(index) == Handed::Busy && clock::now() < until {
            process::yield_now();
        }
    }

    /// Hands on what is in a slot's ring, if nobody else is at it.
    pub(super) fn hand_on(&self, index: usize) -> Handed {
        let Some(slot) = self.slots.get(index) else {
            return Handed::Refused;
        };
        // A lock that is held is held by a thread that does the same; a thread that comes second need
        // not wait, and must not if a signal handler brought it here.
        let Ok(_held) = slot.consumer.try_lock() else {
            return Handed::Busy;
        };
        let calls = self.outlet.hand_on(self.file, index);
        match calls {
            Ok(calls) => {
                self.own_io_calls.fetch_add(calls, Ordering::Relaxed);
                Handed::On
            }
            Err(_) => {
                self.file.words()[header::REFUSED].fetch_add(1, Ordering::Relaxed);
                Handed::Refused
            }
        }
    }
}

/// When the recording began, and the length of a tick in nanoseconds: as the launcher says, if
/// this is its host and its clock, else by a look of our own.
fn recording_clock(setup: &Setup, begin: &Pair, unix_ns: u64) -> (Ticks, f64) {
    let told = setup.clock.filter(|told| told.nanos_per_tick > 0.0);
    // Processes on other hosts than the launcher's have no other way to the recording.
    let here = || !matches!(setup.writer, Writer::Collector(_)) || setup.boot == message::boot();
    match told {
        Some(told) if here() => (told.zero, told.nanos_per_tick),
        Some(told) => {
            let nanos_per_tick = clock::measure(begin, Duration::from_micros(50));
            let since_ns = unix_ns.saturating_sub(told.zero_unix_ns);
            let since = Ticks((since_ns as f64 / nanos_per_tick) as u64);
            (begin.ticks - since, nanos_per_tick)
        }
        None => (
            begin.ticks,
            clock::measure(begin, Duration::from_micros(50)),
        ),
    }
}

/// Name of the program, without directories.
fn program() -> String {
    let path = std::env::current_exe().unwrap_or_default();
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
