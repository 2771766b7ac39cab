//! What the runtime tells a first-party tool (OMPT, OpenMP 5.1, chapter 4): a library or a
//! part of the program that wants to hear of regions, tasks and waits while they happen.
//!
//! * `words`: what is kept for the tool in threads, teams and tasks; `states`: what threads do.
//! * `callbacks`: what the tool wants to be called for.
//! * `threads`, `regions`, `league`, `tasks`, `waits`, `work`: the events.
//! * `ask`: what the tool may ask of the runtime.
//!
//! The crate of the C symbols finds the tool ([`expect`]) and has the C functions that the tool
//! calls. Without a tool, all of this is a test of a pointer where something might be told;
//! what would be told is out of the way of the code that runs then.
//!
//! A callback runs on the thread that it is about, in the middle of the runtime. So nothing that
//! is passed by address is moved while the tool may look at it, and no lock is held, but for two:
//! that a task waits for another is told while that one cannot become complete, and whether a task's
//! event or the end of its code comes first is told while the other waits.

mod ask;
mod callbacks;
mod league;
mod regions;
mod states;
mod tasks;
mod threads;
mod waits;
mod words;
mod work;

pub use ask::{
    TaskInfo, parallel_info, place, state, task_arguments, task_info, thread_data, unique_id,
};
pub use callbacks::Callbacks;
pub(crate) use league::{call_team, league};
pub(crate) use regions::{
    call_region, end_is_due, joined, joins, leaves, look_at_end, program_calls,
};
pub(crate) use tasks::{Before, call_task, doacross_posts, doacross_waited, wait_depend, yields};
pub use tasks::{announce, piece, taskloop};
pub(crate) use threads::{adopts, thread_begins, thread_ends, thread_leaves};
pub use waits::{
    ADAPTIVE, ControlTool, cancels, control, error, flushed, lock_begins, lock_ends, masked_begins,
    masked_ends, mutex, nest_mutex, reduction_begins, reduction_ends, released, try_mutex,
    try_nest_mutex,
};
pub(crate) use waits::{group_begins, group_ends, sync_begins, sync_ends};
pub(crate) use words::{MemberWords, TaskWords, TeamWords, ThreadWords};
pub(crate) use work::hands_out;
pub use work::{begin_static, end_single, end_static, scope_begins, scope_ends, static_chunk};

use crate::observer::{Observer, Region};
use crate::runtime::runtime;
use crate::team::{Member, Team};
use crate::worker;
use crate::worksharing::Loop;
use fathomp_sys::call_site::WATCH;
use fathomp_sys::process;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

/// The tool that is told of what happens.
#[derive(Debug)]
pub struct Tool {
    /// What it wants to be called for.
    pub callbacks: Callbacks,
}

/// Tells the tool, if there is one.
pub(crate) struct Ompt;

impl Observer for Ompt {
    type Waiting = ();

    #[inline]
    fn region_begins(&self, region: &Region<'_>) {
        if let Some(tool) = tool() {
            tool.region_begins(region.fork, region.outer, region.team);
        }
    }

    #[inline]
    fn region_ends(&self, outer: &'static Member, team: &'static Team, by_program: bool) {
        if let Some(tool) = tool() {
            tool.region_ends(outer, team, by_program);
        }
    }

    #[inline]
    fn implicit_begins(&self, member: &'static Member, team: &'static Team) {
        if let Some(tool) = tool() {
            tool.implicit_begins(member, team);
        }
    }

    #[inline]
    fn loop_begins(&self, member: &'static Member, wanted: &Loop) {
        if let Some(tool) = tool() {
            tool.loop_begins(member, wanted);
        }
    }

    #[inline]
    fn loop_ends(&self, member: &'static Member) {
        if let Some(tool) = tool() {
            tool.work_ends(member);
        }
    }
}

/// A process has one tool at most.
static THE_TOOL: Tool = Tool {
    callbacks: Callbacks::none(),
};

/// On a line of its own, which all threads read and nobody writes once there are some.
#[repr(align(128))]
struct OwnLine(AtomicRef<Tool>);

static ACTIVE: OwnLine = OwnLine(AtomicRef::new(None));

/// How a tool is found and ended.
#[derive(Debug)]
pub struct Finder {
    /// Looks for a tool and lets it begin; whether there is one that wants to be told.
    pub begin: fn(&'static Tool) -> bool,
    /// Lets it end.
    pub end: fn(),
}

static FINDER: OnceLock<Finder> = OnceLock::new();

/// Held while the tool begins.
static BEGINNING: Mutex<()> = Mutex::new(());
/// The thread on which it does, 0 if it does not.
static BEGINNER: AtomicU32 = AtomicU32::new(0);
static ENDED: AtomicBool = AtomicBool::new(false);

/// The tool, if there is one.
#[inline]
pub fn tool() -> Option<&'static Tool> {
    ACTIVE.0.load(Ordering::Relaxed)
}

/// The tool, for what a program may do before anything has started the runtime. The runtime starts
/// unless it is known that there is no tool.
#[inline]
pub fn tool_from_the_start() -> Option<&'static Tool> {
    match WATCH.may_have_tool() {
        false => None,
        true => start(),
    }
}

#[cold]
#[inline(never)]
fn start() -> Option<&'static Tool> {
    runtime();
    tool()
}

/// How to find a tool once the runtime starts.
pub fn expect(finder: Finder) {
    let _ = FINDER.set(finder);
}

/// The runtime starts. `publish` lets other threads use it, and the tool, which may ask it
/// something while it begins.
pub(crate) fn begin(publish: impl FnOnce()) {
    let Some(finder) = FINDER.get() else {
        WATCH.has_no_tool();
        return publish();
    };
    let beginning = BEGINNING.lock().unwrap_or_else(PoisonError::into_inner);
    BEGINNER.store(process::thread_id(), Ordering::SeqCst);
    publish();
    if (finder.begin)(&THE_TOOL) {
        ACTIVE.0.store(Some(&THE_TOOL), Ordering::Release);
        if let Some(member) = worker::known() {
            THE_TOOL.adopts(member);
        }
    } else {
        WATCH.has_no_tool();
    }
    BEGINNER.store(0, Ordering::SeqCst);
    drop(beginning);
}

/// A thread is new to the runtime. If a tool begins on another one, it waits for that, so that
/// the tool hears of all threads.
pub(crate) fn await_begin() {
    let beginner = BEGINNER.load(Ordering::SeqCst);
    if beginner != 0 && beginner != process::thread_id() {
        drop(BEGINNING.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The tool is told nothing any more: the process ends, or the tool has asked for it.
pub fn end() {
    if tool().is_some() && !ENDED.swap(true, Ordering::SeqCst) {
        THE_TOOL.last_events();
        ACTIVE.0.store(None, Ordering::SeqCst);
        WATCH.has_no_tool();
        if let Some(finder) = FINDER.get() {
            (finder.end)();
        }
    }
}
