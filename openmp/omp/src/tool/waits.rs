//! Where threads wait for each other: barriers, taskwait, taskgroups, what excludes others.

use super::states::Wait;
use super::threads;
use super::words::code;
use super::{Tool, tool, tool_from_the_start};
use crate::team::Member;
use crate::worker::current;
use fathomp_ompt::{
    CancelFlags, Mutex, ScopeEndpoint, Severity, State, SyncRegion, WaitId, callback,
};
use fathomp_sys::call_site::{Call, call};
use std::ffi::{c_char, c_void};

/// The number of the one implementation of locks, and its name.
pub const ADAPTIVE: u32 = 1;

/// Runs `wait`, in which `member` waits for others as `kind` says.
#[inline]
pub(crate) fn region<R>(member: &'static Member, kind: SyncRegion, wait: impl FnOnce() -> R) -> R {
    match tool() {
        None => wait(),
        Some(tool) => tool.region(member, kind, wait),
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
            tool.takes((kind, hint, id), || {
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
        Some(tool) => tool.takes((kind, 0, id), take),
    }
}

/// Takes a lock that its owner may take again; `take` says how often it is then held, 0 if it
/// could not be taken. It is told whether anybody wants to know exactly.
#[inline]
pub fn nest_mutex(kind: Mutex, id: WaitId, take: impl FnOnce(bool) -> u32) -> u32 {
    match tool_from_the_start() {
        None => take(false),
        Some(tool) => tool.takes_again(kind, id, || take(true)),
    }
}

/// Gives back what excludes others. `give` says whether it is free now.
#[inline]
pub fn released(kind: Mutex, id: WaitId, give: impl FnOnce() -> bool) {
    match tool_from_the_start() {
        None => {
            give();
        }
        Some(tool) => tool.gives(kind, id, give),
    }
}

/// A lock is made, with that hint.
#[inline]
pub fn lock_begins(kind: Mutex, hint: u32, id: WaitId) {
    if let Some(tool) = tool_from_the_start() {
        tool.lock_begins(kind, hint, id);
    }
}

/// A lock is no longer used.
#[inline]
pub fn lock_ends(kind: Mutex, id: WaitId) {
    if let Some(tool) = tool() {
        tool.lock_ends(kind, id);
    }
}

/// The calling thread begins or ends a `masked` region.
#[inline]
pub fn masked(member: &'static Member, end: ScopeEndpoint) {
    if let Some(tool) = tool() {
        tool.masked(member, end);
    }
}

/// The calling thread begins or ends combining values of a reduction.
#[inline]
pub fn reduction(member: &'static Member, end: ScopeEndpoint) {
    if let Some(tool) = tool() {
        tool.reduces(member, end);
    }
}

/// The calling thread has flushed.
#[inline]
pub fn flushed() {
    if let Some(tool) = tool() {
        tool.flushed();
    }
}

/// The calling task cancels something, or finds it cancelled: as `flags` say.
#[inline]
pub fn cancel(member: &'static Member, flags: CancelFlags) {
    if let Some(tool) = tool() {
        tool.cancels(member, flags);
    }
}

/// The program says that something is wrong: so many bytes at `message`, or up to a NUL.
pub fn error(severity: Severity, message: *const c_char, bytes: usize) {
    if let Some(tool) = tool()
        && let Some(told) = tool.callbacks.error.get()
    {
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
    fn region<R>(&self, member: &'static Member, kind: SyncRegion, wait: impl FnOnce() -> R) -> R {
        let call = call();
        if kind != SyncRegion::TASKWAIT {
            self.close_single(member);
        }
        let task = member.task.current();
        task.tool.frame.enters(call);
        let told = |end, told| self.tell_region((member, kind), end, told, call);
        told(ScopeEndpoint::BEGIN, self.callbacks.sync_region.get());
        told(ScopeEndpoint::BEGIN, self.callbacks.sync_region_wait.get());
        let result = member.worker().in_state(Wait::of(kind), wait);
        told(ScopeEndpoint::END, self.callbacks.sync_region_wait.get());
        told(ScopeEndpoint::END, self.callbacks.sync_region.get());
        task.tool.frame.returns();
        result
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
        member.worker().in_state(Wait::of(kind), wait);
        told(ScopeEndpoint::END, self.callbacks.sync_region_wait.get());
        told(ScopeEndpoint::END, self.callbacks.sync_region.get());
        task.tool.frame.returns();
    }

    fn asks_for(&self, (kind, hint, id): (Mutex, u32, WaitId), call: Call) {
        if let Some(told) = self.callbacks.mutex_acquire.get() {
            told(kind, hint, ADAPTIVE, id, code(call.address));
        }
    }

    fn has(&self, kind: Mutex, id: WaitId, call: Call) {
        if let Some(told) = self.callbacks.mutex_acquired.get() {
            told(kind, id, code(call.address));
        }
    }

    #[cold]
    fn takes(&self, asked: (Mutex, u32, WaitId), take: impl FnOnce() -> bool) -> bool {
        let call = call();
        let member = current();
        let (kind, _, id) = asked;
        let task = member.task.current();
        task.tool.frame.enters(call);
        self.asks_for(asked, call);
        let wait = Wait::for_mutex(kind, id);
        let taken = member.worker().in_state(wait, take);
        if taken {
            self.has(kind, id, call);
        }
        task.tool.frame.returns();
        taken
    }

    #[cold]
    fn takes_again(&self, kind: Mutex, id: WaitId, take: impl FnOnce() -> u32) -> u32 {
        let call = call();
        let member = current();
        let task = member.task.current();
        task.tool.frame.enters(call);
        self.asks_for((kind, 0, id), call);
        let wait = Wait::for_mutex(kind, id);
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
    fn gives(&self, kind: Mutex, id: WaitId, give: impl FnOnce() -> bool) {
        let call = call();
        if !give() {
            self.tell_nest(ScopeEndpoint::END, id, call);
        } else if let Some(told) = self.callbacks.mutex_released.get() {
            told(kind, id, code(call.address));
        }
    }

    #[cold]
    fn lock_begins(&self, kind: Mutex, hint: u32, id: WaitId) {
        current();
        if let Some(told) = self.callbacks.lock_init.get() {
            told(kind, hint, ADAPTIVE, id, code(call().address));
        }
    }

    #[cold]
    fn lock_ends(&self, kind: Mutex, id: WaitId) {
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
    fn cancels(&self, member: &'static Member, flags: CancelFlags) {
        if let Some(told) = self.callbacks.cancel.get() {
            let data = member.task.current().tool.data.pointer();
            told(data, flags, code(call().address));
        }
    }
}
