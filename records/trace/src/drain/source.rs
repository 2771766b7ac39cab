//! A ring file seen from outside. Nothing in it is believed: the program may
//! have scribbled over it.

use crate::foreign_recorder::{ForeignRecorder, Lapse, Unseen};
use crate::layout::{FORMAT, Geometry, frame, header, site, slot};
use crate::model::SiteKind;
use crate::record::Instance;
use crate::stack::StackOverflow;
use crate::state::State;
use crate::stream::{ProcessNote, SiteNote, ThreadNote};
use crate::wire::ways_apart;
use fathomp_ring::file::{RingFile, SourceError};
use fathomp_ring::{Ring, Word};
use fathomp_types::{InstanceId, NodeId, SiteId, ThreadId, Ticks};
use std::ops::Deref;
use std::path::Path;
use std::sync::atomic::AtomicU64;

/// The ring file of a process.
#[derive(Debug)]
pub(crate) struct Source {
    file: RingFile,
    geometry: Geometry,
}

impl Deref for Source {
    type Target = RingFile;

    fn deref(&self) -> &RingFile {
        &self.file
    }
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

impl Source {
    /// Opens a ring file.
    pub(crate) fn open(path: &Path) -> Result<Self, SourceError> {
        let file = RingFile::open(path, FORMAT, 0)?;
        let geometry = Geometry {
            slots: file.size(header::SLOTS),
            ring_words: file.size(header::RING_WORDS),
            sites: file.size(header::SITES),
            heap_words: file.size(header::HEAP_WORDS),
        };
        let words = file.words().len();
        let geometry = geometry.checked(words).ok_or(SourceError::Geometry)?;
        Ok(Self { file, geometry })
    }

    /// Thread slots that have ever been used.
    pub(crate) fn slots_used(&self) -> usize {
        // Slots are taken from the first on.
        self.size(header::THREADS).min(self.geometry.slots)
    }

    /// The ring of a slot.
    pub(crate) fn ring(&self, index: usize) -> Option<Ring<'_, AtomicU64>> {
        let (slot, at) = (self.geometry.slot(index), self.geometry.ring(index));
        let counters = [slot + slot::HEAD, slot + slot::TAIL];
        self.file.ring(at, self.geometry.ring_words, counters)
    }

    /// What the header says, with the clock measured from the beginning of the
    /// process to now.
    pub(crate) fn process(&self) -> ProcessNote {
        let end = self.read(header::END);
        ProcessNote {
            pid: self.pid(),
            node: NodeId((self.read(header::PROCESS) >> 32) as u16),
            cluster: u32::try_from(self.read(header::CLUSTER)).unwrap_or(0),
            executable: self.string(header::EXECUTABLE, header::EXECUTABLE_WORDS),
            runtime: self.string(header::RUNTIME, header::RUNTIME_WORDS),
            zero: Ticks(self.read(header::BEGIN)),
            zero_unix_ns: self.read(header::UNIX),
            nanos_per_tick: self.nanos_per_tick(),
            end: (end != 0).then_some(Ticks(end)),
            hardware_counters: self.read(header::HARDWARE) == 1,
            sites_lost: self.read(header::SITES_LOST),
            threads_lost: self.read(header::THREADS_LOST),
            too_deep: self.read(header::TOO_DEEP),
            forked: self.read(header::FORKED) == 1,
            stack_overflow: StackOverflow::from_words(
                [0, 1, 2, 3].map(|word| self.read(header::STACK + word)),
            ),
            foreign_recorder: self.foreign_recorder(),
            ..ProcessNote::default()
        }
    }

    /// What a recorder that is not part of the runtime says of itself.
    fn foreign_recorder(&self) -> Option<ForeignRecorder> {
        (self.read(header::FOREIGN_RECORDER) == 1).then(|| ForeignRecorder {
            library: self.string(header::LIBRARY, header::LIBRARY_WORDS).into(),
            unseen: Unseen::of_bits(self.read(header::UNSEEN)),
            lapses: Lapse::of_words(|at| self.read(header::LAPSES + at)),
            events: self.read(header::EVENTS),
            cost: Ticks(self.read(header::COST)),
        })
    }

    /// Sites published, the serial part included.
    pub(crate) fn site_count(&self) -> usize {
        let count = self.words()[header::SITE_COUNT].acquire();
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
            SiteKind::Mpi,
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
            tasks_dependent: read(frame::TASKS_DEPENDENT),
            single_wait: Ticks(read(frame::SINGLE_WAIT)),
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
