//! Processes made up for tests: this one, as the interposer would tell of it.
#![allow(dead_code, reason = "not every test uses everything")]

use fathomp_collector::{Collector, Job, Summary};
use fathomp_interposer::{Change, EndFacts, Hooks, Process, ThreadFacts, ThreadSink};
use fathomp_paging::reader::Recording;
use fathomp_paging::setup::{Setup, Writer};
use fathomp_paging::{Activity, Cause, Counts, Ending, Interval, State, TaskId};
use fathomp_sys::clock;
use fathomp_types::{Clock, Ticks};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::thread::JoinHandle;
use std::time::Duration;
use tempfile::TempDir;

/// A place to record to.
pub(crate) struct Place {
    pub(crate) root: TempDir,
    pub(crate) live: PathBuf,
    pub(crate) streams: PathBuf,
}

impl Place {
    pub(crate) fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let (live, streams) = (root.path().join("live"), root.path().join("paging"));
        std::fs::create_dir(&live).unwrap();
        Self {
            root,
            live,
            streams,
        }
    }

    /// Settings for it.
    pub(crate) fn setup(&self, writer: Writer) -> Setup {
        Setup {
            writer,
            streams: self.streams.clone(),
            key: "0123456789abcdef0123456789abcdef".into(),
            boot: fathomp_feed::message::boot(),
            clock: Some(clock_now()),
            ..Setup::default()
        }
    }

    /// A writer by its name, `striped` over two directories of the place.
    pub(crate) fn writer(&self, name: &str) -> Writer {
        if name != "striped" {
            return name.parse().unwrap();
        }
        let all = ["a", "b"].map(|name| self.root.path().join(name));
        all.iter().for_each(|one| std::fs::create_dir(one).unwrap());
        Writer::Striped(all.to_vec())
    }

    /// Begins to collect, in another thread.
    pub(crate) fn start(&self, setup: Setup) -> Collecting {
        let live = self.live.clone();
        let mut collector = Collector::start(Job { live, setup }).unwrap();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            while !stopped.load(Relaxed) {
                collector.poll();
                collector.wait(Duration::from_millis(20), None);
            }
            collector
        });
        Collecting { stop, thread }
    }

    pub(crate) fn read(&self) -> Recording {
        Recording::open(&self.streams).unwrap()
    }
}

/// The clock of a recording that begins now.
pub(crate) fn clock_now() -> Clock {
    let pair = clock::pair();
    Clock {
        zero: pair.ticks,
        zero_unix_ns: clock::unix_ns(),
        nanos_per_tick: clock::measure(&pair, std::time::Duration::from_millis(2)),
    }
}

/// A collector at work.
pub(crate) struct Collecting {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<Collector>,
}

impl Collecting {
    /// Takes everything and completes the recording.
    pub(crate) fn finish(self) -> Summary {
        self.stop.store(true, Relaxed);
        let (mut summary, closing) = self.thread.join().unwrap().finish();
        summary.problems.extend(closing.close());
        summary
    }
}

/// This process as one that is recorded.
pub(crate) fn open(live: &Path) -> &'static Process {
    Process::open(live, Hooks::default()).unwrap()
}

/// A thread of it that began at `begin`.
pub(crate) fn thread(process: &'static Process, begin: Ticks) -> ThreadSink {
    let facts = ThreadFacts { os_id: 7, begin };
    process.thread(&facts).unwrap()
}

/// A stay, as tests make it up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stay {
    pub(crate) ticks: u64,
    pub(crate) state: State,
    pub(crate) cause: u32,
    pub(crate) counts: Counts,
}

/// Tells a thread's sink of stays from `begin` on; gives when they end.
pub(crate) fn tell(thread: &mut ThreadSink, begin: Ticks, stays: &[Stay]) -> Ticks {
    let mut at = begin;
    for stay in stays {
        at += Ticks(stay.ticks);
        let change = Change {
            at,
            state: stay.state,
            cause: Cause(stay.cause),
            counts: &stay.counts,
            next: Activity::Compute,
        };
        thread.change(&change, &mut Counts::default());
    }
    at
}

/// The process ends as it should.
pub(crate) fn exit(process: &Process, at: Ticks) {
    process.end(&EndFacts {
        at,
        ending: Ending::Exit,
        io_calls_seen: 99,
        io_calls_made: Some(100),
        environment_cleared: false,
    });
}

/// All intervals of a task.
pub(crate) fn intervals(recording: &Recording, task: TaskId) -> Vec<Interval> {
    let mut all = Vec::new();
    recording.visit(task, |stay| all.push(*stay)).unwrap();
    all
}
