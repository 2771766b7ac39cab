//! Who is told of what threads do.
//!
//! Constructs tell this module, and no one else, what happens: a region or an implicit task
//! begins or ends, a thread waits, a barrier is passed. Whoever wants to hear of it is an
//! [`Observer`]:
//!
//! * [`Ompt`]: a first-party tool (`tool`);
//! * [`Recording`]: the recorder (`recording`), which also notes what regions are begun with
//!   ([`crate::observer::trips`]);
//! * [`Paging`]: the library that records paging (`interposer`);
//! * [`Advice`] and [`Partition`], which have a say in how many threads a region gets
//!   (`advice`, [`crate::observer::core_partition`]).
//!
//! What only one of them wants to hear of, such as locks, tasks and `masked` regions, is passed on
//! to that one.
//!
//! Who is there is known once the runtime has started, and stands in one place that all
//! constructs look at ([`WATCH`]). Where nobody is, an event is one load and one branch;
//! what would be told is out of the way of the code that runs then.

pub(crate) mod advice;
pub mod core_partition;
mod event;
mod paging;
pub mod recording;
mod region;
mod tasks;
pub mod tool;
pub mod trips;
mod words;

pub use crate::wait::{Mutex, Wait};
pub(crate) use event::Observer;
pub(crate) use paging::introduce;
pub(crate) use region::{AtEnd, Decider, Encounter, Met, Region, Watched};
pub use tasks::hears_each_task;
pub(crate) use tasks::{
    awaits, creates, creates_tasks, depends, discards, fulfils, included_begins, included_ends,
    included_has_begun, includes, leaves_task, meanwhile, program_runs, returns_to, single,
    takes_task, task_begins, task_ends,
};
pub(crate) use words::TaskEnd;
pub use words::{Announced, Cancelled, Cancels, Divided, Severity};

pub(crate) use recording::{fixed_loop, mutex_taken, one_more_part};
pub use recording::{mpi_begins, mpi_ends, mpi_transfers, threads_set};
pub(crate) use tool::{
    Before, adopts, call_region, call_task, call_team, doacross_posts, doacross_waited, end_is_due,
    group_begins, group_ends, league, look_at_end as looks_for_end, program_calls,
    thread_begins as worker_begins, thread_ends as worker_ends, thread_leaves as leaves_program,
    wait_depend, yields,
};
pub use tool::{
    announce, begin_static, cancels, end_single, end_static, error, flushed, lock_begins,
    lock_ends, masked_begins, masked_ends, mutex, nest_mutex, piece, reduction_begins,
    reduction_ends, released, scope_begins, scope_ends, static_chunk, taskloop, try_mutex,
    try_nest_mutex,
};

use crate::icv::Icvs;
use crate::interposer;
use crate::parallel::Fork;
use crate::team::{Member, Order, Team};
use crate::worksharing::Loop;
use crate::{cluster, recorded, worker};
use advice::Advice;
use core_partition::Partition;
use fathomp_sys::call_site::WATCH;
use fathomp_sys::clock::now;
use fathomp_types::NodeId;
use paging::Paging;
use recording::Recording;
use tool::Ompt;

/// Tells all observers, in this order.
macro_rules! tell_all {
    ($event:ident($($argument:expr),*)) => {
        Advice.$event($($argument),*);
        Partition.$event($($argument),*);
        Ompt.$event($($argument),*);
        Recording.$event($($argument),*);
        Paging.$event($($argument),*);
    };
}

/// The runtime starts, in a process that is that node if it is one: looks for observers.
pub(crate) fn start(node: Option<NodeId>) {
    interposer::find();
    trips::start(node);
    core_partition::start();
    advice::start();
}

/// This process has become a node: its cores are not divided, nor do its teams follow advice.
pub(crate) fn become_node(node: Option<NodeId>) {
    advice::stop();
    trips::restart(node);
}

/// Runs in a forked child.
pub(crate) fn restart_in_child(node: Option<NodeId>) {
    interposer::restart_in_child();
    core_partition::restart_in_child();
    trips::restart(node);
}

/// The process ends properly.
pub(crate) fn finish() {
    tool::end();
    core_partition::finish();
    if let Some(member) = worker::known() {
        advice::finish(member.worker());
    }
    recording::finish();
}

/// The runtime runs: who is there.
pub(crate) fn settle() {
    let hears = recorded::is_recorded()
        || tool::tool().is_some()
        || interposer::interposer().is_some()
        || cluster::is_awaited()
        || cluster::installed().is_some();
    WATCH.set(
        hears,
        hears || advice::is_followed() || core_partition::is_at_board(),
    );
}

/// Whether somebody hears of more than regions.
#[inline]
pub(crate) fn is_there() -> bool {
    WATCH.is_on()
}

/// `outer` meets a parallel construct whose region would get `size` threads: who has a say in
/// that changes it. What is answered is part of the [`Region`].
#[inline]
pub(crate) fn meets(
    fork: &Fork,
    outer: &'static Member,
    icvs: &Icvs,
    size: &mut u32,
) -> Option<Met> {
    WATCH
        .is_on_for_regions()
        .then(|| meets_watched(fork, outer, icvs, size))
}

#[cold]
fn meets_watched(fork: &Fork, outer: &'static Member, icvs: &Icvs, size: &mut u32) -> Met {
    let mut encounter = Encounter {
        fork,
        outer,
        icvs,
        size,
        met: Met::default(),
    };
    // What the others take is part of what it takes to begin the region.
    Recording.meets(&mut encounter);
    Advice.meets(&mut encounter);
    Partition.meets(&mut encounter);
    encounter.met
}

/// This node hears of a region that another one has begun.
pub(crate) fn hears_of_region() -> Met {
    Met {
        asked: Some(now()),
        ..Met::default()
    }
}

/// The region is about to begin.
#[cold]
pub(crate) fn region_begins(region: &Region<'_>) {
    region.team.at_end.note(&region.met);
    tell_all!(region_begins(region));
}

/// The region is over for `outer`, which began it for `team`.
#[inline]
pub(crate) fn region_ends(outer: &'static Member, team: &'static Team, by_program: bool) {
    if WATCH.is_on_for_regions() {
        region_ends_watched(outer, team, by_program);
    }
}

#[cold]
fn region_ends_watched(outer: &'static Member, team: &'static Team, by_program: bool) {
    tell_all!(region_ends(outer, team, by_program));
}

/// `member` begins its implicit task.
#[inline]
pub(crate) fn implicit_begins(member: &'static Member, team: &'static Team) {
    if WATCH.is_on_for_regions() {
        implicit_begins_watched(member, team);
    }
}

#[cold]
fn implicit_begins_watched(member: &'static Member, team: &'static Team) {
    tell_all!(implicit_begins(member, team));
}

/// What observers keep of a wait.
pub(crate) struct Waiting {
    recording: <Recording as Observer>::Waiting,
    paging: <Paging as Observer>::Waiting,
}

#[inline(always)]
fn wait_begins(member: &'static Member, wait: Wait, call: usize) -> Waiting {
    Waiting {
        recording: Recording.wait_begins(member, wait, call),
        paging: Paging.wait_begins(member, wait, call),
    }
}

#[inline(always)]
fn wait_ends(member: &'static Member, waiting: Waiting) {
    Paging.wait_ends(member, waiting.paging);
    Recording.wait_ends(member, waiting.recording);
}

/// Runs `wait`, in which `member` waits in a construct that was called from `call`, 0 if that is
/// not known.
#[inline]
pub(crate) fn waits<R>(
    member: &'static Member,
    kind: Wait,
    call: usize,
    wait: impl FnOnce() -> R,
) -> R {
    let waiting = WATCH.is_on().then(|| wait_begins(member, kind, call));
    let result = wait();
    if let Some(waiting) = waiting {
        wait_ends(member, waiting);
    }
    result
}

/// Runs `meet`, in which `member` waits at a barrier of this kind, and which says whether it was
/// cancelled.
#[inline]
pub(crate) fn barrier(member: &'static Member, kind: Wait, meet: impl FnOnce() -> bool) -> bool {
    match WATCH.is_on() {
        false => meet(),
        true => barrier_watched(member, kind, meet),
    }
}

#[cold]
fn barrier_watched(member: &'static Member, kind: Wait, meet: impl FnOnce() -> bool) -> bool {
    let sync = tool::sync_begins(member, kind);
    let waiting = wait_begins(member, kind, 0);
    let is_cancelled = meet();
    wait_ends(member, waiting);
    if !is_cancelled {
        tell_all!(barrier_passed(member, kind));
    }
    tool::sync_ends(member, sync);
    is_cancelled
}

/// All members of `team` here have come to a barrier, which is about to be opened.
#[inline]
pub(crate) fn barrier_opens(team: &'static Team, next: u32) {
    if WATCH.is_on() {
        tell_all!(barrier_opens(team, next));
    }
}

/// Runs `wait`, in which the primary member waits for the end of the region of that order, unless
/// that `is_over` already.
#[inline]
pub(crate) fn joins(primary: &'static Member, order: Order, is_over: bool, wait: impl FnOnce()) {
    match WATCH.is_on() {
        false => wait(),
        true => joins_watched(primary, order, is_over, wait),
    }
}

#[cold]
fn joins_watched(primary: &'static Member, order: Order, is_over: bool, wait: impl FnOnce()) {
    let before = tool::joins(primary, order);
    if is_over {
        paging::implicit_ends(primary.team());
        recording::ends(primary);
    } else {
        let waiting = wait_begins(primary, Wait::ImplicitBarrier, 0);
        wait();
        Paging.wait_ends(primary, waiting.paging);
        recording::wait_and_part_end(primary, waiting.recording, || {
            paging::implicit_ends(primary.team());
        });
    }
    tool::joined(primary, order, before);
}

/// A worker is through with its part in the region of that order, and says so by `arrive`.
#[inline]
pub(crate) fn leaves(member: &'static Member, order: Order, arrive: impl FnOnce()) {
    match WATCH.is_on() {
        false => arrive(),
        true => leaves_watched(member, order, arrive),
    }
}

#[cold]
fn leaves_watched(member: &'static Member, order: Order, arrive: impl FnOnce()) {
    tool::leaves(member, order);
    paging::implicit_ends(member.team());
    recording::leaves(member, order, arrive);
}

/// Runs `wait`, in which a thread without work waits for a region.
#[inline]
pub(crate) fn idles<R>(wait: impl FnOnce() -> R) -> R {
    let waiting = interposer::idle_begins();
    let result = wait();
    interposer::idle_ends(waiting);
    result
}

/// Runs `wait`, in which `member` waits for tasks as the program asks for it.
#[inline]
pub(crate) fn taskwait(member: &'static Member, wait: impl FnOnce()) {
    match hears_each_task() {
        false => wait(),
        true => taskwait_told(member, wait),
    }
}

#[cold]
fn taskwait_told(member: &'static Member, wait: impl FnOnce()) {
    let sync = tool::sync_begins(member, Wait::Tasks);
    wait();
    tool::sync_ends(member, sync);
}

/// `member` meets a loop or sections.
#[inline]
pub(crate) fn loop_begins(member: &'static Member, wanted: &Loop) {
    if WATCH.is_on() {
        loop_begins_watched(member, wanted);
    }
}

#[cold]
fn loop_begins_watched(member: &'static Member, wanted: &Loop) {
    tell_all!(loop_begins(member, wanted));
}

/// `member` asks for its next chunk of the loop, or its next section.
#[inline]
pub(crate) fn hands_out(member: &'static Member) -> Option<(u64, u64)> {
    match WATCH.is_on() {
        false => member.share.hand_out(member),
        true => hands_out_watched(member),
    }
}

#[cold]
fn hands_out_watched(member: &'static Member) -> Option<(u64, u64)> {
    let chunk = recording::next(member);
    tool::hands_out(member, || member.share.iterations(), chunk);
    chunk
}

/// `member` is through with the loop or the sections.
#[inline]
pub(crate) fn loop_ends(member: &'static Member) {
    if WATCH.is_on() {
        loop_ends_watched(member);
    }
}

#[cold]
fn loop_ends_watched(member: &'static Member) {
    tell_all!(loop_ends(member));
}

/// `member` is through with a loop whose share it has computed by itself, if it was in one.
#[inline]
pub(crate) fn left_loop(member: &'static Member) {
    if WATCH.is_on() {
        recording::left_loop(member);
    }
}
