//! What the whole process shares: settings, the pool of threads, the recorder.

use crate::cluster;
use crate::env::{DisplayEnv, Settings, WaitPolicy, Warning, process_variable};
use crate::event_count::SpinPolicy;
use crate::icv::{DeviceIcvs, Icvs, ProcBind};
use crate::message;
use crate::observer;
use crate::observer::core_partition;
use crate::observer::recording;
use crate::observer::tool;
use crate::pool::Pool;
use crate::task;
use fathomp_sys::affinity::CpuSet;
use fathomp_sys::private_heap::OnPrivateHeap;
use fathomp_sys::static_ref::AtomicRef;
use fathomp_sys::{affinity, clock};
use fathomp_types::NodeId;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Once, OnceLock};

/// Name and version under which recordings mention this runtime.
pub const NAME: &str = concat!("fathomp ", env!("CARGO_PKG_VERSION"));

/// Process-wide state. It is leaked, and replaced as a whole in a forked
/// child, where only the forking thread exists and locks may be held by
/// threads that do not.
pub struct Runtime {
    /// What the environment said when the runtime started.
    pub settings: Settings,
    /// ICVs of the device, which the program may change.
    pub device: DeviceIcvs,
    /// Processors that the threads of this process have for themselves.
    pub processors: u32,
    /// Threads of a region that asks for none, if the user does not either.
    pub(crate) threads: u32,
    pub(crate) pool: Pool,
    pub(crate) events: task::Events<task::Task>,
    /// Workers inside regions, to tell when there are more threads than processors.
    busy: AtomicU32,
}

static RUNTIME: AtomicRef<Runtime> = AtomicRef::new(None);
static START: Once = Once::new();
static ENVIRONMENT: OnceLock<(Settings, Vec<Warning>)> = OnceLock::new();
static ALLOWED: OnceLock<CpuSet> = OnceLock::new();
static LOADED: OnceLock<clock::Pair> = OnceLock::new();

static WATCH_STACKS: OnceLock<fn()> = OnceLock::new();

/// What is to be done about stacks that run out, now and when the runtime starts.
pub fn watch_stacks(watch: fn()) {
    watch();
    let _ = WATCH_STACKS.set(watch);
}

/// Takes note of when the library was loaded.
pub fn note_time() {
    LOADED.get_or_init(clock::pair);
}

/// Takes note of the environment, the first time: what the program changes later
/// has no effect (OpenMP 5.1, chapter 6). Nothing is said or started yet, for the
/// library is also loaded into programs that never use OpenMP.
///
/// That time is when the runtime that we stand for would look. libgomp does when
/// it is loaded. Where it is not loaded with the program, but later, as in Python,
/// we may be there before it, so the first call counts; so it does for LLVM's.
pub fn read_environment() -> &'static (Settings, Vec<Warning>) {
    // The processors count as they are at the same time: a thread that the program has bound to some
    // may be the first to use OpenMP.
    allowed();
    ENVIRONMENT.get_or_init(|| Settings::from_env(process_variable))
}

/// Processors that the program was allowed to use when it was loaded, or at the first call
/// (see [`read_environment`]).
pub(crate) fn allowed() -> &'static CpuSet {
    ALLOWED.get_or_init(|| affinity::of_this_thread().unwrap_or_default())
}

/// Takes note of the environment, and shows it if it asks for that.
pub fn show_environment() {
    static SHOWN: Once = Once::new();
    SHOWN.call_once(|| match read_environment().0.display_env {
        DisplayEnv::Off => {}
        shown => display_environment(shown == DisplayEnv::Verbose),
    });
}

/// Called when the process ends properly.
pub fn finish() {
    observer::finish();
}

/// The runtime of this process, started at the first call.
#[inline]
pub fn runtime() -> &'static Runtime {
    match RUNTIME.load(Ordering::Acquire) {
        Some(runtime) => runtime,
        None => start(),
    }
}

#[cold]
fn start() -> &'static Runtime {
    START.call_once(|| {
        // Again: the program's `main`, or its language's, may have set a handler
        // since the library was loaded.
        if let Some(watch) = WATCH_STACKS.get() {
            watch();
        }
        observer::start(node());
        show_environment();
        let (settings, warnings) = read_environment();
        for warning in warnings {
            message::warn(format_args!("{warning}"));
        }
        // Each node has a recorder of its own.
        if !cluster::is_awaited() {
            record();
        }
        let runtime = Runtime::leak(
            settings.clone(),
            settings.device_icvs(),
            cluster::sizes().unwrap_or_else(|| [processors(settings), threads(settings)]),
        );
        fathomp_sys::process::on_fork_in_child(restart_in_child);
        tool::begin(|| RUNTIME.store(Some(runtime), Ordering::Release));
        observer::settle();
    });
    RUNTIME
        .load(Ordering::Acquire)
        .expect("call_once returns after the runtime is stored")
}

/// Processors that the program's threads compete for. Threads without places run where the thread
/// runs that starts them, which the program, or MPI in it, may have bound meanwhile.
fn processors(settings: &Settings) -> u32 {
    let bound = settings.proc_bind.first() != Some(&ProcBind::False);
    match affinity::of_initial_thread() {
        Ok(now) if !bound && settings.subset.is_none() && !now.is_empty() => now.len() as u32,
        _ => threads(settings),
    }
}

/// Threads of a region that asks for none: as many as there were processors.
fn threads(settings: &Settings) -> u32 {
    match settings.subset {
        None if allowed().is_empty() => affinity::allowed_count(),
        None => allowed().len() as u32,
        Some(_) => crate::places::places().num_procs(),
    }
}

/// This process is recorded from now on, if the environment asks for that.
fn record() {
    let _heap = OnPrivateHeap::begin();
    let loaded = *LOADED.get_or_init(clock::pair);
    recording::start(NAME, loaded);
}

/// The node that this process is, if it is one.
fn node() -> Option<NodeId> {
    cluster::identity().map(|(node, _)| node)
}

/// This process has become a node. The runtime that its constructors have used, if they
/// did, gives way to one that is recorded as the node's, with threads of the node's.
pub(crate) fn become_node() {
    let Some(before) = RUNTIME.load(Ordering::Acquire) else {
        return;
    };
    record();
    let new = Runtime::leak(
        before.settings.clone(),
        before.device.for_child(&before.settings.affinity_format),
        cluster::sizes().unwrap_or([before.processors, before.threads]),
    );
    RUNTIME.store(Some(new), Ordering::Release);
    observer::become_node(node());
}

/// Idle workers tell the tool that they end. They rest on, and work again if they are needed.
pub(crate) fn end_workers() {
    if let Some(runtime) = RUNTIME.load(Ordering::Acquire) {
        crate::worker::retire_teams(runtime);
        runtime.pool.end_idle();
    }
}

/// The calling thread's teams give their workers back, which then rest for ever.
pub(crate) fn send_workers_away() {
    if let Some(runtime) = RUNTIME.load(Ordering::Acquire) {
        crate::worker::retire_teams(runtime);
        runtime.pool.await_rest();
    }
}

/// Runs in a forked child, in its only thread.
extern "C" fn restart_in_child() {
    let Some(parent) = RUNTIME.load(Ordering::Acquire) else {
        return;
    };
    recording::restart_in_child();
    let child = Runtime::leak(
        parent.settings.clone(),
        parent.device.for_child(&parent.settings.affinity_format),
        // Not counted anew: the forking thread may be bound to one of them. A child of a node is none.
        [
            parent.processors,
            cluster::sizes().map_or(parent.threads, |_| parent.processors),
        ],
    );
    RUNTIME.store(Some(child), Ordering::Release);
    cluster::leave();
    observer::restart_in_child(node());
    crate::sync::restart_in_child();
    crate::pool::restart_in_child();
    crate::worker::restart_in_child();
}

/// `omp_display_env`: writes the initial ICVs to stderr. Starts nothing.
pub fn display_environment(verbose: bool) {
    let (settings, _) = read_environment();
    let places = crate::places::places();
    let text = settings.display(places.num_procs(), &places.to_string(), verbose);
    // `eprint!` panics if stderr is closed.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

impl Runtime {
    fn leak(
        settings: Settings,
        device: DeviceIcvs,
        [processors, threads]: [u32; 2],
    ) -> &'static Self {
        Box::leak(Box::new(Self {
            device,
            processors,
            threads,
            settings,
            pool: Pool::default(),
            events: task::Events::default(),
            busy: AtomicU32::new(0),
        }))
    }

    /// ICVs of an initial task.
    pub(crate) fn initial_icvs(&self) -> Icvs {
        self.settings.initial_icvs(self.threads)
    }

    /// A team of `size` starts; returns how long its members should poll.
    #[inline]
    pub(crate) fn enter(&self, size: u32) -> SpinPolicy {
        let workers = size - 1;
        let busy = self.busy.fetch_add(workers, Ordering::Relaxed) + workers + 1;
        self.patience(busy)
    }

    /// A team of `size` has ended.
    #[inline]
    pub(crate) fn leave(&self, size: u32) {
        self.busy.fetch_sub(size - 1, Ordering::Relaxed);
    }

    /// How long to poll while `busy` threads compete for the processors. With
    /// more threads than processors a poll only keeps the thread that is
    /// waited for from running.
    fn patience(&self, busy: u32) -> SpinPolicy {
        const OFFERS: u32 = 30;
        let polls = match (self.settings.spin_count, self.settings.wait_policy) {
            (Some(spins), _) => u32::try_from(spins).unwrap_or(u32::MAX),
            (None, Some(WaitPolicy::Passive)) => 500,
            (None, None) => 200_000,
            (None, Some(WaitPolicy::Active)) => u32::MAX,
        };
        if busy > core_partition::processors(self.processors) {
            SpinPolicy::offering(polls.min(OFFERS))
        } else {
            SpinPolicy::polling(polls)
        }
    }
}
