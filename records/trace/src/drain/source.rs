//! A ring file seen from outside. Nothing in it is believed: the program may
//! have scribbled over it.

use crate::layout::{self, Geometry, frame, header, site, slot};
use crate::model::SiteKind;
use crate::record::Instance;
use crate::stack::StackOverflow;
use crate::state::State;
use crate::stream::{ProcessNote, SiteNote, ThreadNote};
use crate::wire::ways_apart;
use crate::witness::{Lapse, Unseen, Witness};
use fathomp_ring::Ring;
use fathomp_sys::clock::{self, Pair};
use fathomp_sys::peer;
use fathomp_sys::shared_futex;
use fathomp_sys::shm::{SharedFile, WORD};
use fathomp_types::{InstanceId, NodeId, SiteId, ThreadId, Ticks};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// The ring file of a process.
#[derive(Debug)]
pub(crate) struct Source {
    file: SharedFile,
    path: PathBuf,
    geometry: Geometry,
    pid: u32,
    start_time: u64,
    /// The process number means the same to us as to the process.
    same_namespace: bool,
    began: Pair,
}

/// What a slot holds beside its ring.
#[derive(Debug, Default)]
pub(crate) struct Unfinished {
    /// The thread, if one is in the slot.
    pub(crate) thread: Option<ThreadNote>,
    /// Its open regions, the serial part included, and its carried sums, with
    /// [`Instance::end`] still to be set where it is zero.
    pub(crate) instances: Vec<Instance>,
}

/// Why a file is no ring file that we can read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SourceError {
    #[error("it cannot be opened: {0}")]
    Open(#[from] std::io::Error),
    #[error("it is not a ring file")]
    Magic,
    #[error(
        "its version {0} is not {version}: the program was run with the library of another fathomp",
        version = layout::VERSION
    )]
    Version(u64),
    #[error("its sizes make no sense")]
    Geometry,
}

impl Source {
    /// Opens a ring file.
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let file = SharedFile::open(path)?;
        let words = file.words();
        if words.len() < header::WORDS {
            return Err(SourceError::Magic);
        }
        if words[header::MAGIC].load(Ordering::Acquire) != layout::MAGIC {
            return Err(SourceError::Magic);
        }
        let read = |at: usize| words[at].load(Ordering::Relaxed);
        if read(header::VERSION) != layout::VERSION {
            return Err(SourceError::Version(read(header::VERSION)));
        }
        let size = |at: usize| usize::try_from(read(at)).unwrap_or(usize::MAX);
        let geometry = Geometry {
            slots: size(header::SLOTS),
            ring_words: size(header::RING_WORDS),
            sites: size(header::SITES),
            heap_words: size(header::HEAP_WORDS),
        };
        let geometry = geometry.checked(words.len()).ok_or(SourceError::Geometry)?;
        let namespace = read(header::PID_NAMESPACE);
        Ok(Self {
            path: path.to_owned(),
            geometry,
            pid: read(header::PROCESS) as u32,
            start_time: read(header::START_TIME),
            same_namespace: namespace != 0 && namespace == peer::pid_namespace(),
            began: Pair {
                ticks: Ticks(read(header::BEGIN)),
                monotonic_ns: read(header::MONOTONIC),
            },
            file,
        })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether the file still has the size it was mapped with. Reading beyond
    /// its end would be fatal.
    pub(crate) fn is_whole(&self) -> bool {
        std::fs::metadata(&self.path)
            .is_ok_and(|facts| facts.len() >= (self.geometry.words() * WORD) as u64)
    }

    /// Whether the process has certainly ended.
    pub(crate) fn has_ended(&self) -> bool {
        let knowable = self.same_namespace && self.start_time != 0;
        knowable && peer::start_time(self.pid) != Some(self.start_time)
    }

    /// Sleeps until a thread finds its ring half full, the process ends properly, or `longest`
    /// has passed. Says at once that it has not if the process has ended so.
    pub(crate) fn wait(&self, longest: Duration) -> bool {
        let words = self.file.words();
        if self.read(header::END) != 0 || !self.is_whole() {
            return false;
        }
        let bell = &words[header::BELL];
        let until_ns = clock::monotonic_ns().saturating_add(longest.as_nanos() as u64);
        // A thread that looked just before does not call; it looks again soon.
        bell.store(1, Ordering::Release);
        shared_futex::wait(shared_futex::low_half(bell), 1, u32::MAX, Some(until_ns));
        true
    }

    /// Thread slots that have ever been used.
    pub(crate) fn slots_used(&self) -> usize {
        // Slots are taken from the first on.
        usize::try_from(self.read(header::THREADS))
            .unwrap_or(usize::MAX)
            .min(self.geometry.slots)
    }

    /// The ring of a slot.
    pub(crate) fn ring(&self, index: usize) -> Option<Ring<'_, AtomicU64>> {
        let words = self.file.words();
        let slot = self.geometry.slot(index);
        let ring = self.geometry.ring(index);
        Ring::new(
            words.get(ring..ring + self.geometry.ring_words)?,
            words.get(slot + slot::HEAD)?,
            words.get(slot + slot::TAIL)?,
        )
    }

    /// What the header says, with the clock measured from the beginning of the
    /// process to now.
    pub(crate) fn process(&self) -> ProcessNote {
        let claimed = f64::from_bits(self.read(header::NANOS_PER_TICK));
        let claimed = (claimed.is_finite() && claimed > 0.0).then_some(claimed);
        let measured = match clock::source() {
            clock::Source::Monotonic => Some(1.0),
            clock::Source::Processor => self.measured().or(claimed),
        };
        // A measurement far from the claim means that the marks are damaged.
        let nanos_per_tick = match (measured, claimed) {
            (Some(measured), Some(claimed)) if (measured / claimed - 1.0).abs() > 0.2 => claimed,
            (measured, claimed) => measured.or(claimed).unwrap_or(1.0),
        };
        let end = self.read(header::END);
        ProcessNote {
            pid: self.pid,
            node: NodeId((self.read(header::PROCESS) >> 32) as u16),
            cluster: u32::try_from(self.read(header::CLUSTER)).unwrap_or(0),
            executable: self.string(header::EXECUTABLE, header::EXECUTABLE_WORDS),
            runtime: self.string(header::RUNTIME, header::RUNTIME_WORDS),
            zero: self.began.ticks,
            zero_unix_ns: self.read(header::UNIX),
            nanos_per_tick,
            end: (end != 0).then_some(Ticks(end)),
            hardware_counters: self.read(header::HARDWARE) == 1,
            sites_lost: self.read(header::SITES_LOST),
            threads_lost: self.read(header::THREADS_LOST),
            too_deep: self.read(header::TOO_DEEP),
            forked: self.read(header::FORKED) == 1,
            stack_overflow: StackOverflow::from_words(
                [0, 1, 2, 3].map(|word| self.read(header::STACK + word)),
            ),
            witness: self.witness(),
            ..ProcessNote::default()
        }
    }

    /// What a recorder that is not part of the runtime says of itself.
    fn witness(&self) -> Option<Witness> {
        (self.read(header::WITNESS) == 1).then(|| Witness {
            library: self.string(header::LIBRARY, header::LIBRARY_WORDS).into(),
            unseen: Unseen::of_bits(self.read(header::UNSEEN)),
            lapses: Lapse::of_words(|at| self.read(header::LAPSES + at)),
            events: self.read(header::EVENTS),
            cost: Ticks(self.read(header::COST)),
        })
    }

    /// The length of a tick, if enough time has passed to tell better than the
    /// process itself could.
    fn measured(&self) -> Option<f64> {
        const ENOUGH_NS: u64 = 2_000_000;
        let now = clock::pair();
        let elapsed = now.monotonic_ns.checked_sub(self.began.monotonic_ns)?;
        (elapsed >= ENOUGH_NS)
            .then(|| self.began.nanos_per_tick(&now))
            .flatten()
    }

    /// Sites published, the serial part included.
    pub(crate) fn site_count(&self) -> usize {
        let count = self.file.words()[header::SITE_COUNT].load(Ordering::Acquire);
        usize::try_from(count)
            .unwrap_or(usize::MAX)
            .min(self.geometry.sites)
    }

    /// A published site.
    pub(crate) fn site(&self, index: usize) -> SiteNote {
        let base = Geometry::SITES + index * site::WORDS;
        let kind = [
            SiteKind::Serial,
            SiteKind::Parallel,
            SiteKind::Loop,
            SiteKind::Sections,
            SiteKind::Mutex,
            SiteKind::Barrier,
            SiteKind::Task,
            SiteKind::Teams,
            SiteKind::Threads,
        ]
        .into_iter()
        .find(|&kind| kind as u64 == self.read(base + site::KIND))
        .unwrap_or(SiteKind::Parallel);
        let module = usize::try_from(self.read(base + site::MODULE)).unwrap_or(0);
        let module = if (1..self.geometry.heap_words).contains(&module) {
            let heap = self.geometry.heap();
            self.string(heap + module, self.geometry.heap_words - module)
        } else {
            String::new()
        };
        SiteNote {
            kind,
            module,
            call: self.read(base + site::CALL),
            function: self.read(base + site::FUNCTION),
        }
    }

    /// Whether the thread in a slot attached and did not detach.
    pub(crate) fn unfinished(&self, index: usize) -> Unfinished {
        let base = self.geometry.slot(index);
        if self.read(base + slot::STATE) != slot::ACTIVE {
            return Unfinished::default();
        }
        let identity = self.read(base + slot::THREAD);
        let depth = self.read(base + slot::DEPTH);
        let recorded = (depth as usize).min(slot::FRAME_COUNT - 1);
        let carried = (self.read(base + slot::CARRIED) as usize).min(slot::CARRY_COUNT);
        let mut instances = Vec::new();
        for carry in 0..carried {
            let at = base + slot::CARRIES + carry * frame::WORDS;
            let mut instance = self.frame(at);
            instance.end = Ticks(self.read(at + frame::END)).max(instance.begin);
            instance.merged = u32::try_from(self.read(at + frame::MERGED))
                .unwrap_or(u32::MAX)
                .max(1);
            instance.busy = Ticks(self.read(at + frame::BUSY));
            instances.push(instance);
        }
        // Innermost first, as the thread would have left them.
        for depth in (0..=recorded).rev() {
            let instance = self.frame(base + slot::FRAMES + depth * frame::WORDS);
            if depth > 0 || says_something(&instance) {
                instances.push(instance);
            }
        }
        Unfinished {
            thread: Some(ThreadNote {
                id: ThreadId(identity as u32),
                os_id: (identity >> 32) as u32,
                begin: Ticks(self.read(base + slot::BEGIN)),
                end: Ticks(self.read(base + slot::LAST)),
                dropped: self.read(base + slot::DROPPED),
                ended: false,
                open: u32::try_from(depth).unwrap_or(u32::MAX),
            }),
            instances,
        }
    }

    fn frame(&self, at: usize) -> Instance {
        let read = |word: usize| self.read(at + word);
        let (site, team) = (read(frame::SITE), read(frame::TEAM));
        let (level, decider, floats) = ways_apart((site >> 32) as u32);
        let mut instance = Instance {
            site: SiteId(site as u32),
            level,
            decider,
            floats,
            instance: InstanceId(read(frame::INSTANCE)),
            parent: InstanceId(read(frame::PARENT)),
            merged: 1,
            thread_num: team as u32,
            team_size: (team >> 32) as u32,
            fork: Ticks(read(frame::FORK)),
            begin: Ticks(read(frame::BEGIN)),
            loops: u32::try_from(read(frame::LOOPS)).unwrap_or(u32::MAX),
            chunks: read(frame::CHUNKS),
            iterations: read(frame::ITERATIONS),
            tasks_created: read(frame::TASKS_CREATED),
            tasks_run: read(frame::TASKS_RUN),
            tasks_undeferred: read(frame::TASKS_UNDEFERRED),
            mutexes: read(frame::MUTEXES),
            set: read(frame::SET),
            ..Instance::default()
        };
        if instance.site == SiteId::SERIAL {
            (instance.fork, instance.team_size) = (instance.begin, 1);
        }
        let mask = read(frame::MASK);
        for state in State::ALL.into_iter().take(State::RECORDED).skip(1) {
            if mask & 1 << state as u64 != 0 {
                instance.states[state] = Ticks(read(frame::TICKS + state as usize));
                instance.waits[state] =
                    u32::try_from(read(frame::WAITS + state as usize)).unwrap_or(u32::MAX);
            }
        }
        let mask = read(frame::DSM_MASK);
        if mask != 0 {
            let counts = instance.dsm.get_or_insert_default();
            for (number, count) in counts.0.iter_mut().enumerate() {
                if mask >> number & 1 != 0 {
                    *count = read(frame::DSM + number);
                }
            }
        }
        instance
    }

    fn read(&self, at: usize) -> u64 {
        self.file
            .words()
            .get(at)
            .map_or(0, |word| word.load(Ordering::Relaxed))
    }

    /// A string of at most `room` words, its length included.
    fn string(&self, at: usize, room: usize) -> String {
        let length = usize::try_from(self.read(at)).unwrap_or(usize::MAX);
        let length = length.min((room - 1) * 8).min(1 << 16);
        let mut bytes: Vec<u8> = (0..length.div_ceil(8))
            .flat_map(|word| self.read(at + 1 + word).to_le_bytes())
            .collect();
        bytes.truncate(length);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// Whether a serial frame holds anything but waiting for work.
fn says_something(serial: &Instance) -> bool {
    let worked = State::ALL
        .into_iter()
        .any(|state| state != State::Idle && serial.waits[state] != 0);
    worked
        || serial.dsm.is_some()
        || serial.loops != 0
        || serial.chunks | serial.tasks_created | serial.tasks_run | serial.mutexes != 0
}
