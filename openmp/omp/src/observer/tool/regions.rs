//! Regions, and the implicit tasks of their members.

use super::states::{Before, Wait};
use super::words::{NOTHING, code};
use super::{Tool, tool};
use crate::parallel::Fork;
use crate::team::{Member, Order, Team};
use fathomp_ompt::{ParallelFlags, ScopeEndpoint, State, SyncRegion, TaskFlags};
use fathomp_sys::call_site::{Call, call};
use fathomp_sys::outlined::{Opaque, Outlined};
use std::ffi::c_void;
use std::sync::atomic::Ordering;

/// Calls a region's code as the implicit task of `member`.
#[inline]
pub(crate) fn call_region(member: &'static Member, function: Outlined, data: Opaque) {
    match tool() {
        None => function.call(data),
        Some(_) => call_watched(member, function, data),
    }
}

#[cold]
pub(super) fn call_watched(member: &'static Member, function: Outlined, data: Opaque) {
    let frame = &member.task.implicit().tool.frame;
    function.call_from_frame(data, frame.exit());
    frame.is_back();
}

/// A member that is through with a region looks whether the others are as well.
#[inline]
pub(crate) fn look_at_end(member: &'static Member, team: &Team) {
    if let Some(tool) = tool()
        && member.tool.at_end.get() != 0
        && team.tool.ended.load(Ordering::Acquire) == member.tool.order.get()
    {
        tool.is_over(member);
    }
}

/// The member gets another order, so the region that it was in has ended.
#[inline]
pub(crate) fn end_is_due(member: &'static Member) {
    if let Some(tool) = tool()
        && member.tool.at_end.get() != 0
    {
        tool.is_over(member);
    }
}

/// The program calls the code of the region itself that `primary` has begun.
pub(crate) fn program_calls(primary: &'static Member) {
    if let Some(tool) = tool() {
        tool.program_calls(primary);
    }
}

/// The primary member is through with its part, and waits for the others.
pub(crate) fn joins(primary: &'static Member, order: Order) -> Option<Before> {
    let tool = tool()?;
    tool.arrives(primary, order);
    let wait = Wait::of(SyncRegion::BARRIER_IMPLICIT_PARALLEL);
    Some(primary.worker().goes_to(wait))
}

/// The others have come.
pub(crate) fn joined(primary: &'static Member, order: Order, before: Option<Before>) {
    if let (Some(tool), Some(before)) = (tool(), before) {
        tool.joined(primary, order, before);
    }
}

/// A worker is through with its part, and will wait for the others.
pub(crate) fn leaves(member: &'static Member, order: Order) {
    if let Some(tool) = tool() {
        tool.arrives(member, order);
    }
}

impl Team {
    /// Where its region began in the program.
    pub(super) fn code(&self) -> *const c_void {
        code(self.tool.call.load(Ordering::Relaxed) as usize)
    }
}

/// Where the program waits at the end of the region: workers were not called by it.
fn join_code(member: &'static Member) -> *const c_void {
    match member.index() {
        0 => member.team().code(),
        _ => code(0),
    }
}

fn flags(called_by_program: bool) -> ParallelFlags {
    ParallelFlags::TEAM.with(match called_by_program {
        true => ParallelFlags::INVOKER_PROGRAM,
        false => ParallelFlags::INVOKER_RUNTIME,
    })
}

impl Tool {
    /// `outer` has formed `team`, whose members have not begun yet.
    #[cold]
    pub(super) fn region_begins(&self, fork: &Fork, outer: &'static Member, team: &'static Team) {
        let noted = call();
        let call = match fork.call {
            0 => Call::default(),
            site if noted.address == site + 1 => noted,
            // The region has come from another node.
            site => Call {
                address: site + 1,
                ..Call::default()
            },
        };
        team.tool.data.clear();
        team.tool.call.store(call.address as u64, Ordering::Relaxed);
        // A `target` region is no parallel region: its member's task is an initial one.
        let initial = team.level() == 0;
        team.tool.initial.set(initial.into());
        let task = outer.task.current();
        task.tool.frame.enters(call);
        if initial {
            return;
        }
        if let Some(begins) = self.callbacks.parallel_begin.get() {
            let requested = match fork.threads {
                0 => outer.icvs().num_threads,
                clause => clause,
            };
            begins(
                task.tool.data.pointer(),
                task.tool.frame.pointer(),
                team.tool.data.pointer(),
                requested,
                flags(fork.called_by_program),
                team.code(),
            );
        }
    }

    /// The region that `outer` formed `team` for has ended.
    #[cold]
    pub(super) fn region_ends(
        &self,
        outer: &'static Member,
        team: &'static Team,
        by_program: bool,
    ) {
        let task = outer.task.current();
        outer.worker().works(outer.team().level());
        if team.tool.initial.get() == 0
            && let Some(ends) = self.callbacks.parallel_end.get()
        {
            let (region, task) = (team.tool.data.pointer(), task.tool.data.pointer());
            ends(region, task, flags(by_program), team.code());
        }
        task.tool.frame.returns();
    }

    /// `member` begins its implicit task.
    #[cold]
    pub(super) fn implicit_begins(&self, member: &'static Member, team: &'static Team) {
        member.tool.work.set(0);
        member.tool.single.set(0);
        let worker = member.worker();
        worker.works(team.level());
        if team.tool.initial.get() != 0 {
            return self.initial_begins(member, 1, 1);
        }
        let task = member.task.implicit();
        // The task that forms a team of one thread waits for it.
        let flags = match team.size() {
            1 => TaskFlags::IMPLICIT.with(TaskFlags::UNDEFERRED),
            _ => TaskFlags::IMPLICIT,
        };
        task.tool.begin(flags.0);
        if let Some(told) = self.callbacks.implicit_task.get() {
            let (region, data) = (team.tool.data.pointer(), task.tool.data.pointer());
            let (size, number) = (team.size(), member.thread_num());
            told(
                ScopeEndpoint::BEGIN,
                region,
                data,
                size,
                number,
                TaskFlags::IMPLICIT,
            );
        }
    }

    #[cold]
    fn program_calls(&self, primary: &'static Member) {
        primary.task.implicit().tool.frame.called_by_program(call());
    }

    #[cold]
    fn joined(&self, primary: &'static Member, order: Order, before: Before) {
        primary.worker().goes_back_to(before);
        self.is_over(primary);
        if order.size() > 1 {
            let team = primary.team();
            team.tool.ended.store(order.number(), Ordering::Release);
            team.dock.bell.ring();
        }
    }

    /// `member` is through with its part, and will wait for the others.
    #[cold]
    fn arrives(&self, member: &'static Member, order: Order) {
        self.close_single(member);
        member.tool.at_end.set(1);
        member.tool.order.set(order.number());
        let task = member.task.implicit();
        task.tool.frame.is_back();
        let team = member.team();
        let (region, data) = (team.tool.data.pointer(), task.tool.data.pointer());
        let (kind, begin) = (SyncRegion::BARRIER_IMPLICIT_PARALLEL, ScopeEndpoint::BEGIN);
        let code = join_code(member);
        if let Some(told) = self.callbacks.sync_region.get() {
            told(kind, begin, region, data, code);
        }
        if let Some(told) = self.callbacks.sync_region_wait.get() {
            told(kind, begin, region, data, code);
        }
        member.worker().tool.state.set(Wait::of(kind).state.0);
    }

    /// All have come to the end of the region: `member` waits no longer. Its region's data may be
    /// another region's already.
    #[cold]
    fn is_over(&self, member: &'static Member) {
        member.tool.at_end.set(0);
        let team = member.team();
        let task = member.task.implicit();
        let data = task.tool.data.pointer();
        let (kind, end) = (SyncRegion::BARRIER_IMPLICIT_PARALLEL, ScopeEndpoint::END);
        let code = join_code(member);
        if let Some(told) = self.callbacks.sync_region_wait.get() {
            told(kind, end, NOTHING, data, code);
        }
        if let Some(told) = self.callbacks.sync_region.get() {
            told(kind, end, NOTHING, data, code);
        }
        if team.tool.initial.get() != 0 {
            self.initial_ends(member, team.tool.data.pointer(), 1);
        } else if let Some(told) = self.callbacks.implicit_task.get() {
            // The specification wants 0 for the team's size here.
            let number = member.thread_num();
            told(end, NOTHING, data, 0, number, TaskFlags::IMPLICIT);
        }
        member.worker().tool.state.set(State::IDLE.0);
    }
}
