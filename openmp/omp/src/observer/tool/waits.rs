//! Where threads wait for each other: barriers, taskwait, taskgroups, what excludes others.

use super::states::{self, Before};
use super::threads;
use super::words::code;
use super::{Tool, tool, tool_from_the_start};
use crate::observer::{Cancelled, Cancels, Mutex, Severity, Wait};
use crate::team::Member;
use crate::worker::current;
use fathomp_ompt::{self as ompt, CancelFlags, ScopeEndpoint, State, SyncRegion, WaitId, callback};
use fathomp_sys::call_site::{Call, call};
use std::ffi::{c_char, c_void};

/// The number of the one implementation of locks, and its name.
pub const ADAPTIVE: u32 = 1;

/// A region of synchronisation that the tool has been told of.
pub(crate) struct Sync {
    kind: SyncRegion,
    call: Call,
    before: Before,
}

/// `member` begins to wait for others.
pub(crate) fn sync_begins(member: &'static Member, wait: Wait) -> Option<Sync> {
    let kind = match wait {
        Wait::ExplicitBarrier => SyncRegion::BARRIER_EXPLICIT,
        Wait::Tasks => SyncRegion::TASKWAIT,
        _ => SyncRegion::BARRIER_IMPLICIT_WORKSHARE,
    };
    tool().map(|tool| tool.sync_begins(member, kind))
}

/// And has waited. The task is the one that began.
pub(crate) fn sync_ends(member: &'static Member, sync: Option<Sync>) {
    if let (Some(tool), Some(sync)) = (tool(), sync) {
        tool.sync_ends(member, sync);
    }
}

/// A taskgroup begins.
#[inline]
pub(crate) fn group_begins(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.group_begins(member);
    }
}

/// A taskgroup ends: `wait` returns when its tasks are complete.
#[inline]
pub(crate) fn group_ends(member: &'static Member, wait: impl FnOnce()) {
    match tool() {
        None => wait(),
        Some(tool) => tool.group_ends(member, wait),
    }
}

/// Takes what excludes others by `take`.
#[inline]
pub fn mutex(kind: Mutex, hint: u32, id: WaitId, take: impl FnOnce()) {
    match tool_from_the_start() {
        None => take(),
        Some(tool) => {
            tool.takes((told(kind), hint, id), || {
                take();
                true
            });
        }
    }
}

/// Tries to take what excludes others; whether it did.
#[inline]
pub fn try_mutex(kind: Mutex, id: WaitId, take: impl FnOnce() -> bool) -> bool {
    match tool_from_the_start() {
        None => take(),
        Some(tool) => tool.takes((told_if_tried(kind), 0, id), take),
    }
}

/// Takes a lock that its owner may take again; `take` says how often it is then held. It is told
/// whether anybody wants to know exactly.
#[inline]
pub fn nest_mutex(id: WaitId, take: impl FnOnce(bool) -> u32) -> u32 {
    match tool_from_the_start() {
        None => take(false),
        Some(tool) => tool.takes_again(told(Mutex::NestLock), id, || take(true)),
    }
}

/// The same, where `take` says 0 if the lock could not be taken.
#[inline]
pub fn try_nest_mutex(id: WaitId, take: impl FnOnce() -> u32) -> u32 {
    match tool_from_the_start() {
        None => take(),
        Some(tool) => tool.takes_again(told_if_tried(Mutex::NestLock), id, take),
    }
}

/// Gives back what excludes others. `give` says whether it is free now.
#[inline]
pub fn released(kind: Mutex, id: WaitId, give: impl FnOnce() -> bool) {
    match tool_from_the_start() {
        None => {
            give();
        }
        Some(tool) => tool.gives(told(kind), id, give),
    }
}

/// A lock is made, with that hint.
#[inline]
pub fn lock_begins(kind: Mutex, hint: u32, id: WaitId) {
    if let Some(tool) = tool_from_the_start() {
        tool.lock_begins(told(kind), hint, id);
    }
}

/// A lock is no longer used.
#[inline]
pub fn lock_ends(kind: Mutex, id: WaitId) {
    if let Some(tool) = tool() {
        tool.lock_ends(told(kind), id);
    }
}

/// What the tool is told that it is.
const fn told(kind: Mutex) -> ompt::Mutex {
    match kind {
        Mutex::Lock => ompt::Mutex::LOCK,
        Mutex::NestLock => ompt::Mutex::NEST_LOCK,
        Mutex::Critical => ompt::Mutex::CRITICAL,
        Mutex::Atomic => ompt::Mutex::ATOMIC,
        Mutex::Ordered => ompt::Mutex::ORDERED,
    }
}

/// The same where nobody waits for it.
const fn told_if_tried(kind: Mutex) -> ompt::Mutex {
    match kind {
        Mutex::Lock => ompt::Mutex::TEST_LOCK,
        Mutex::NestLock => ompt::Mutex::TEST_NEST_LOCK,
        other => told(other),
    }
}

/// The calling thread begins a `masked` region.
#[inline]
pub fn masked_begins(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.masked(member, ScopeEndpoint::BEGIN);
    }
}

/// It ends one.
#[inline]
pub fn masked_ends(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.masked(member, ScopeEndpoint::END);
    }
}

/// The calling thread begins to combine values of a reduction.
#[inline]
pub fn reduction_begins(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.reduces(member, ScopeEndpoint::BEGIN);
    }
}

/// It has combined them.
#[inline]
pub fn reduction_ends(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.reduces(member, ScopeEndpoint::END);
    }
}

/// The calling thread has flushed.
#[inline]
pub fn flushed() {
    if let Some(tool) = tool() {
        tool.flushed();
    }
}

/// The calling task cancels something, or finds it cancelled.
#[inline]
pub fn cancels(member: &'static Member, what: Cancelled, how: Cancels) {
    if let Some(tool) = tool() {
        tool.cancels(member, what, how);
    }
}

/// The program says that something is wrong: so many bytes at `message`, or up to a NUL.
pub fn error(severity: Severity, message: *const c_char, bytes: usize) {
    if let Some(tool) = tool()
        && let Some(told) = tool.callbacks.error.get()
    {
        let severity = match severity {
            Severity::Warning => ompt::Severity::WARNING,
            Severity::Fatal => ompt::Severity::FATAL,
        };
        told(severity, message, bytes, code(call().address));
    }
}

/// What the tool answers to a command of the program; [`ControlTool`] says why there is no answer.
///
/// # Errors
/// As said.
pub fn control(command: u64, modifier: u64, argument: *mut c_void) -> Result<i32, ControlTool> {
    let call = call();
    // The tool may be there for nothing but this.
    let member = current();
    let tool = tool().ok_or(ControlTool::NoTool)?;
    let told = tool
        .callbacks
        .control_tool
        .get()
        .ok_or(ControlTool::NoCallback)?;
    let frame = &member.task.current().tool.frame;
    frame.enters(call);
    let answer = told(command, modifier, argument, code(call.address));
    frame.returns();
    Ok(answer)
}

/// Why a command does not reach a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControlTool {
    /// There is no tool.
    NoTool,
    /// It does not want to be told.
    NoCallback,
}

impl Tool {
    fn tell_region(
        &self,
        (member, kind): (&'static Member, SyncRegion),
        end: ScopeEndpoint,
        told: Option<callback::SyncRegion>,
        call: Call,
    ) {
        if let Some(told) = told {
            let region = member.team().tool.data.pointer();
            let data = member.task.current().tool.data.pointer();
            told(kind, end, region, data, code(call.address));
        }
    }

    #[cold]
    fn sync_begins(&self, member: &'static Member, kind: SyncRegion) -> Sync {
        let call = call();
        if kind != SyncRegion::TASKWAIT {
            self.close_single(member);
        }
        member.task.current().tool.frame.enters(call);
        let told = |told| self.tell_region((member, kind), ScopeEndpoint::BEGIN, told, call);
        told(self.callbacks.sync_region.get());
        told(self.callbacks.sync_region_wait.get());
        let before = member.worker().goes_to(states::Wait::of(kind));
        Sync { kind, call, before }
    }

    #[cold]
    fn sync_ends(&self, member: &'static Member, sync: Sync) {
        let Sync { kind, call, before } = sync;
        member.worker().goes_back_to(before);
        let told = |told| self.tell_region((member, kind), ScopeEndpoint::END, told, call);
        told(self.callbacks.sync_region_wait.get());
        told(self.callbacks.sync_region.get());
        member.task.current().tool.frame.returns();
    }

    #[cold]
    fn group_begins(&self, member: &'static Member) {
        let (kind, call) = (SyncRegion::TASKGROUP, call());
        let told = self.callbacks.sync_region.get();
        self.tell_region((member, kind), ScopeEndpoint::BEGIN, told, call);
    }

    #[cold]
    fn group_ends(&self, member: &'static Member, wait: impl FnOnce()) {
        let (kind, call) = (SyncRegion::TASKGROUP, call());
        let task = member.task.current();
        task.tool.frame.enters(call);
        let told = |end, told| self.tell_region((member, kind), end, told, call);
        told(ScopeEndpoint::BEGIN, self.callbacks.sync_region_wait.get());
        member.worker().in_state(states::Wait::of(kind), wait);
        told(ScopeEndpoint::END, self.callbacks.sync_region_wait.get());
        told(ScopeEndpoint::END, self.callbacks.sync_region.get());
        task.tool.frame.returns();
    }

    fn asks_for(&self, (kind, hint, id): (ompt::Mutex, u32, WaitId), call: Call) {
        if let Some(told) = self.callbacks.mutex_acquire.get() {
            told(kind, hint, ADAPTIVE, id, code(call.address));
        }
    }

    fn has(&self, kind: ompt::Mutex, id: WaitId, call: Call) {
        if let Some(told) = self.callbacks.mutex_acquired.get() {
            told(kind, id, code(call.address));
        }
    }

    #[cold]
    fn takes(&self, asked: (ompt::Mutex, u32, WaitId), take: impl FnOnce() -> bool) -> bool {
        let call = call();
        let member = current();
        let (kind, _, id) = asked;
        let task = member.task.current();
        task.tool.frame.enters(call);
        self.asks_for(asked, call);
        let wait = states::Wait::for_mutex(kind, id);
        let taken = member.worker().in_state(wait, take);
        if taken {
            self.has(kind, id, call);
        }
        task.tool.frame.returns();
        taken
    }

    #[cold]
    fn takes_again(&self, kind: ompt::Mutex, id: WaitId, take: impl FnOnce() -> u32) -> u32 {
        let call = call();
        let member = current();
        let task = member.task.current();
        task.tool.frame.enters(call);
        self.asks_for((kind, 0, id), call);
        let wait = states::Wait::for_mutex(kind, id);
        let times = member.worker().in_state(wait, take);
        match times {
            0 => {}
            1 => self.has(kind, id, call),
            _ => self.tell_nest(ScopeEndpoint::BEGIN, id, call),
        }
        task.tool.frame.returns();
        times
    }

    fn tell_nest(&self, end: ScopeEndpoint, id: WaitId, call: Call) {
        if let Some(told) = self.callbacks.nest_lock.get() {
            told(end, id, code(call.address));
        }
    }

    #[cold]
    fn gives(&self, kind: ompt::Mutex, id: WaitId, give: impl FnOnce() -> bool) {
        let call = call();
        if !give() {
            self.tell_nest(ScopeEndpoint::END, id, call);
        } else if let Some(told) = self.callbacks.mutex_released.get() {
            told(kind, id, code(call.address));
        }
    }

    #[cold]
    fn lock_begins(&self, kind: ompt::Mutex, hint: u32, id: WaitId) {
        current();
        if let Some(told) = self.callbacks.lock_init.get() {
            told(kind, hint, ADAPTIVE, id, code(call().address));
        }
    }

    #[cold]
    fn lock_ends(&self, kind: ompt::Mutex, id: WaitId) {
        if let Some(told) = self.callbacks.lock_destroy.get() {
            told(kind, id, code(call().address));
        }
    }

    #[cold]
    fn masked(&self, member: &'static Member, end: ScopeEndpoint) {
        if let Some(told) = self.callbacks.masked.get() {
            let region = member.team().tool.data.pointer();
            let data = member.task.current().tool.data.pointer();
            told(end, region, data, code(call().address));
        }
    }

    #[cold]
    fn reduces(&self, member: &'static Member, end: ScopeEndpoint) {
        let worker = member.worker();
        if end == ScopeEndpoint::END && worker.tool.state.get() != State::WORK_REDUCTION.0 {
            // By atomic operations, of whose begin nobody was told.
            return;
        }
        let told = self.callbacks.reduction.get();
        self.tell_region((member, SyncRegion::REDUCTION), end, told, call());
        match end {
            ScopeEndpoint::BEGIN => worker.tool.state.set(State::WORK_REDUCTION.0),
            _ => worker.works(member.team().level()),
        }
    }

    #[cold]
    fn flushed(&self) {
        if let (Some(told), Some(me)) = (self.callbacks.flush.get(), threads::me()) {
            told(me.tool.data.pointer(), code(call().address));
        }
    }

    #[cold]
    fn cancels(&self, member: &'static Member, what: Cancelled, how: Cancels) {
        let what = match what {
            Cancelled::Parallel => CancelFlags::PARALLEL,
            Cancelled::Loop => CancelFlags::LOOP,
            Cancelled::Sections => CancelFlags::SECTIONS,
            Cancelled::Taskgroup => CancelFlags::TASKGROUP,
        };
        let flags = what.with(match how {
            Cancels::Activates => CancelFlags::ACTIVATED,
            Cancels::Detects => CancelFlags::DETECTED,
        });
        if let Some(told) = self.callbacks.cancel.get() {
            let data = member.task.current().tool.data.pointer();
            told(data, flags, code(call().address));
        }
    }
}
