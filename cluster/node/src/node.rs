//! A node at work: what its threads ask of the cluster, and what comes in from
//! the others.
//!
//! There is no thread through which everything goes. Whoever waits for an
//! answer looks for messages meanwhile and handles what it finds; the service
//! thread handles messages when all others compute.

use crate::cells::Cells;
use crate::deadlock_detector::{DeadlockDetector, StoppedProcesses};
use crate::engine::{Engine, Host, NodeError};
use crate::fatal_report::{FAILED, say};
use crate::hosts;
use crate::idle_flusher::{self, IdleFlusher};
use crate::layout::Layout;
use crate::meeting::{Meetings, Outcomes};
use crate::observer::Observer;
use crate::profile::Profile;
use crate::slots::{Place, Slot, Slots};
use crate::waits::Waits;
use fathomp_omp::interposer;
use fathomp_sys::clock::monotonic_ns;
use fathomp_sys::cluster::pages::Pages;
use fathomp_sys::cluster::process;
use fathomp_sys::cluster::thread::{Body, Stacks};
use fathomp_sys::cluster::{deferral, image};
use fathomp_transport::{Abort, Death, Polling, Role, SendError, Spin, Transport, Wake};
use fathomp_types::{NodeId, ThreadId};
use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

mod agree;
mod asks;
mod atomics;
pub(crate) mod current;
mod ends;
mod faults;
mod frames;
mod observed;
mod posts;
mod publish;
mod state;
mod tasks;
mod turns;

use state::{Carrying, Publishing, Turn};
pub use tasks::expect_tasks;

/// Codes of reports: a node has failed, or cannot be reached and others may know why.
const FAILURE: u32 = 0;
const LOSS: u32 = 1;
/// Time between two looks whether all nodes live, which ask the kernel about each.
const LOOK_AFTER: Duration = Duration::from_millis(100);
/// How long a thread with a processor of its own looks for messages before it sleeps.
/// Other nodes come to a barrier some hundreds of microseconds apart, and waking costs
/// them and this one tens of them.
const SPIN: Duration = Duration::from_micros(500);
/// What takes longer is worth a sleep, and this long is a short one.
const NAP: Duration = Duration::from_micros(50);
/// No exit code has been asked for.
const NO_EXIT: i64 = i64::MIN;

/// What the nodes were told at the start; the same for all.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// Nodes.
    pub nodes: u16,
    /// Nodes of this machine.
    pub here: u16,
    /// Threads per node, unless the program asks for others.
    pub threads: u32,
    /// Processors of the machine.
    pub processors: u32,
    /// How many of them no agent that works all the time needs.
    pub left: u32,
}

/// What a node is put together from.
pub(crate) struct Parts {
    pub(crate) size: Size,
    pub(crate) waits: Waits,
    pub(crate) layout: Layout,
    /// Processes of the other nodes, in their order; at node 0.
    pub(crate) children: Vec<u32>,
    /// The process of node 0 on several hosts.
    pub(crate) first_process: Option<u32>,
    pub(crate) stacks: Stacks,
    pub(crate) transport: &'static dyn Transport,
    pub(crate) pages: Pages,
    pub(crate) slots: Slots,
    pub(crate) profile: Profile,
    pub(crate) engine: Engine,
    pub(crate) observer: Option<Box<Observer>>,
}

/// This process as a node.
pub struct Node {
    pub(crate) size: Size,
    waits: Waits,
    layout: Layout,
    children: Vec<u32>,
    pub(crate) first_process: Option<u32>,
    stacks: Stacks,
    stacks_used: AtomicUsize,
    /// The program's own code.
    text: Vec<Range<usize>>,
    transport: &'static dyn Transport,
    pages: Pages,
    slots: Slots,
    profile: Profile,
    /// Listeners to what threads do.
    observer: Option<Box<Observer>>,
    engine: Mutex<Engine>,
    /// Whoever holds it receives; what it received last.
    inbox: Mutex<Vec<u8>>,
    /// At node 0.
    cells: Mutex<Cells>,
    carrying: Carrying,
    /// At node 0.
    meetings: Mutex<Meetings>,
    outcomes: Mutex<Outcomes>,
    /// The order that the last barrier brought.
    order: Mutex<Option<Vec<u8>>>,
    /// Blocks of other nodes that were given back here since the last barrier.
    freed: Mutex<Vec<(NodeId, u64)>>,
    /// Barriers passed.
    epoch: AtomicU32,
    /// Operations that threads of the program have asked for.
    activity: AtomicU64,
    /// This node is in a barrier; changed under the engine's lock.
    in_barrier: AtomicBool,
    /// The program may have started threads by itself here, which take no part in
    /// barriers.
    strangers: AtomicBool,
    /// When somebody looked last whether all nodes live.
    looked_ns: AtomicU64,
    stopped_processes: Mutex<StoppedProcesses>,
    stillness: Mutex<DeadlockDetector>,
    /// How often this node has begun something.
    turn: AtomicU32,
    /// The last region that a node has cancelled, and turns that threads wait for.
    cancelled: AtomicU64,
    turns: Mutex<Vec<Turn>>,
    publishing: Publishing,
    /// Exit code that another node wants the program to end with.
    exit: AtomicI64,
    /// Node 0 has ended the program.
    leaving: AtomicBool,
    /// Held by the thread that ends this process then.
    leaver: Mutex<()>,
    /// The program has ended: pages are no longer shared.
    ended: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Node {
    pub(crate) fn new(parts: Parts) -> Self {
        let Parts {
            size,
            waits,
            layout,
            children,
            first_process,
            stacks,
            transport,
            pages,
            slots,
            profile,
            engine,
            observer,
        } = parts;
        Self {
            size,
            waits,
            layout,
            children,
            first_process,
            stacks,
            stacks_used: AtomicUsize::new(0),
            text: image::program_text(),
            transport,
            pages,
            slots,
            profile,
            observer,
            engine: Mutex::new(engine),
            inbox: Mutex::new(Vec::new()),
            cells: Mutex::new(Cells::default()),
            carrying: Carrying::default(),
            meetings: Mutex::new(Meetings::default()),
            outcomes: Mutex::new(Outcomes::default()),
            order: Mutex::new(None),
            freed: Mutex::new(Vec::new()),
            epoch: AtomicU32::new(0),
            activity: AtomicU64::new(0),
            in_barrier: AtomicBool::new(false),
            strangers: AtomicBool::new(false),
            looked_ns: AtomicU64::new(0),
            stopped_processes: Mutex::default(),
            stillness: Mutex::default(),
            turn: AtomicU32::new(0),
            cancelled: AtomicU64::new(0),
            turns: Mutex::default(),
            publishing: Publishing::default(),
            exit: AtomicI64::new(NO_EXIT),
            leaving: AtomicBool::new(false),
            leaver: Mutex::default(),
            ended: AtomicBool::new(false),
        }
    }

    /// This node's number.
    pub fn me(&self) -> NodeId {
        self.transport.me()
    }

    fn others(&self) -> impl Iterator<Item = NodeId> + use<> {
        let me = self.me();
        (0..self.size.nodes)
            .map(NodeId)
            .filter(move |node| *node != me)
    }

    fn host(&self) -> Host<'_> {
        Host {
            pages: &self.pages,
            transport: self.transport,
            slots: &self.slots,
            profile: &self.profile,
            observer: self.observer(),
            still: self.in_barrier.load(Ordering::Relaxed)
                && !self.strangers.load(Ordering::Relaxed)
                && !deferral::handlers_run(),
        }
    }

    /// Ends the cluster because of something this node met.
    pub(crate) fn fail(&self, node: NodeId, what: &str) -> ! {
        let abort = self.transport.abort(node, FAILURE, what);
        self.give_up(&abort)
    }

    fn give_up(&self, abort: &Abort) -> ! {
        if abort.by == self.me() {
            static SAID: AtomicBool = AtomicBool::new(false);
            while SAID.swap(true, Ordering::Relaxed) {
                // Another thread says it and ends the process.
                std::thread::park();
            }
            // On several hosts the launcher says what it hears first.
            if !hosts::report(abort) {
                say(&format!("node {}: {}", abort.node, abort.text));
            }
        } else {
            self.let_speak(abort.by);
        }
        process::leave(FAILED)
    }

    /// Node 0's end is the end of all: a node that has something to say comes first.
    fn let_speak(&self, node: NodeId) {
        let child = usize::from(node.0).checked_sub(1);
        let Some(child) = child.and_then(|child| self.children.get(child)) else {
            return;
        };
        let deadline = Instant::now() + LOOK_AFTER;
        while process::ended(*child).is_none() && Instant::now() < deadline {
            std::thread::sleep(NAP);
        }
    }

    /// Unwraps what must not fail; if it does, all nodes end.
    fn must<T>(&self, result: Result<T, NodeError>) -> T {
        match result {
            Ok(value) => value,
            Err(error @ NodeError::Garbage { from, .. }) => self.fail(from, &error.to_string()),
            // Noticed by a thread that was not looking for it.
            Err(NodeError::Send(SendError::Lost(node))) => {
                let death = self.transport.dead().filter(|death| death.node == node);
                self.report_death(node, death.and_then(|death| death.why).as_deref())
            }
            Err(error) => self.fail(self.me(), &error.to_string()),
        }
    }

    /// Ends this process if the cluster has failed or a node is gone.
    pub(crate) fn look_after_peers(&self) {
        if let Some(abort) = self.transport.aborted() {
            self.give_up(&abort);
        }
        let now = monotonic_ns();
        let looked = self.looked_ns.load(Ordering::Relaxed);
        if self.ended.load(Ordering::Relaxed)
            || self.is_to_leave()
            || now.saturating_sub(looked) < LOOK_AFTER.as_nanos() as u64
        {
            return;
        }
        self.looked_ns.store(now, Ordering::Relaxed);
        if let Some(Death { node, why }) = self.transport.dead() {
            self.report_death(node, why.as_deref());
        }
        self.say_who_is_stopped();
        self.say_if_all_wait();
    }

    /// A place for the calling thread to wait.
    fn place(&self) -> Place<'_> {
        match self.slots.place() {
            Some(place) => place,
            None => self.fail(self.me(), "the program uses too many threads on a node"),
        }
    }

    /// Asks something by `ask`, and stands still until it is answered.
    fn ask(&self, ask: impl FnOnce(ThreadId) -> Wake) -> u64 {
        let _inside = deferral::enter();
        let place = self.place();
        place.slot.begin();
        let wake = ask(place.thread);
        self.wait_here(wake, place.slot, Slot::is_answered);
        place.slot.answer()
    }

    /// Handles messages until `done`. It is asked again and again, for different reasons,
    /// and so says only whether there is something: who takes it away does so afterwards.
    fn wait_here(&self, wake: Wake, slot: &Slot, done: impl Fn(&Slot) -> bool) {
        let threads = u32::from(self.size.here) * self.size.threads;
        // Whoever had to be woken needs a processor first: perhaps this one.
        let crowded = wake == Wake::Woken || threads > self.size.left;
        let slow = self.transport.answers_after() > NAP;
        // Beginning to look for messages is not for nothing either.
        if done(slot) {
            self.transport.end_step();
            return;
        }
        loop {
            let polling = Polling::new(self.transport, Role::Application);
            // The question leaves only now, so that an answer that comes at once finds this thread
            // looking.
            self.transport.end_step();
            let mut spin = Spin::new(SPIN, crowded);
            loop {
                if done(slot) {
                    return;
                }
                if self.is_to_leave() {
                    self.leave_quietly();
                }
                if self.handle_one() {
                    spin.reset();
                } else if slow || !spin.again() {
                    slot.mark_parked();
                    polling.sleep(Some(LOOK_AFTER), || done(slot));
                    // Woken for a message, as a rule. Whoever leaves it behind
                    // has to wake another thread for it.
                    if !self.handle_one() {
                        break;
                    }
                    spin = Spin::new(SPIN, crowded);
                }
            }
            drop(polling);
            if done(slot) {
                return;
            }
            deferral::allow();
            self.look_after_peers();
        }
    }

    /// A signal handler of the program is about to run, perhaps in a thread that waits for
    /// others of this node, while these have come to a barrier.
    pub(crate) fn expect_handler(&self) {
        if self.in_barrier.load(Ordering::SeqCst) {
            // A step that began while no thread could run here may put off watching pages until
            // it has answered: it ends before the handler writes them.
            drop(lock(&self.engine));
        }
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.slots
    }

    /// Starts a thread of the program.
    ///
    /// # Errors
    /// If the system refuses, or the node has no stack left.
    pub fn begin(&self, run: Body) -> io::Result<()> {
        let stack = self.take_stack()?;
        self.stacks.spawn(stack, run)
    }

    /// The same for a thread that is there: the program's first one, which is to run what is
    /// returned, on that stack.
    ///
    /// # Errors
    /// As of [`Self::begin`].
    pub fn begin_first(&self, run: Body) -> io::Result<(Range<usize>, Body)> {
        Ok((self.take_stack()?, run))
    }

    fn take_stack(&self) -> io::Result<Range<usize>> {
        let number = self.stacks_used.fetch_add(1, Ordering::Relaxed);
        let stack = self.layout.stack(self.me(), number);
        let stack = stack.ok_or_else(|| {
            let reason = format!("a node has stacks for {number} threads of the program");
            io::Error::new(io::ErrorKind::OutOfMemory, reason)
        })?;
        if let Some(guard) = self.pages.page_of(stack.start - 1) {
            self.pages.guard(guard)?;
        }
        Ok(stack)
    }

    /// A thread that has not asked for anything before is that one from now on.
    pub(crate) fn introduce(&'static self, thread: ThreadId) {
        self.profile.introduce(thread);
    }

    /// The calling thread is the first that runs the program here.
    pub fn first_begins(&self) {
        if let Some((thread, _)) = self.slots.mine() {
            self.profile.answers_for_node(thread);
        }
    }

    /// Life of the service thread.
    pub fn serve_others(&self) -> ! {
        // Not before it has started the program's thread: threads of those that are ignored
        // are, too.
        interposer::ignore_this_thread();
        let _inside = deferral::enter();
        let mut quiet = IdleFlusher::new(self.waits);
        loop {
            {
                let polling = Polling::new(self.transport, Role::Service);
                while self.handle_one() {}
                if self.is_to_leave() {
                    drop(polling);
                    self.have_program_leave();
                }
                let rest = idle_flusher::REST.min(self.until_sample());
                polling.rest(Some(rest), || self.inbox.try_lock().is_err());
            }
            self.publish_if_asked();
            self.attend_to_tasks();
            self.look_after_peers();
            self.sample_when_due();
            let operations = self.activity.load(Ordering::Relaxed);
            if quiet.lasts(self.slots.at_work(), operations) {
                self.flush_for_others();
            }
            let code = self.exit.swap(NO_EXIT, Ordering::Relaxed);
            if let Ok(code) = i32::try_from(code) {
                self.exit_for_another(code);
            }
        }
    }
}
