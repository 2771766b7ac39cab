//! Worksharing constructs, and what is handed out in them.

use super::words::code;
use super::{Tool, tool};
use crate::observer::Divided;
use crate::task::Task;
use crate::team::Member;
use crate::worksharing::{Dealing, Iterations, Loop};
use fathomp_ompt::{Data, Dispatch, DispatchChunk, ScopeEndpoint, Work};
use fathomp_sys::call_site::{Call, call};

/// `member` gets a chunk of a loop with these iterations, or a section.
#[inline]
pub(crate) fn hands_out(
    member: &'static Member,
    iterations: impl FnOnce() -> Iterations,
    chunk: Option<(u64, u64)>,
) {
    if let (Some(tool), Some(chunk)) = (tool(), chunk) {
        tool.hands_out(member, &iterations(), chunk);
    }
}

/// The calling member begins a construct whose share it computes by itself.
#[inline]
pub fn begin_static(member: &'static Member, what: Divided, count: u64) {
    if let Some(tool) = tool() {
        let work = match what {
            Divided::Loop => Work::LOOP_STATIC,
            Divided::Sections => Work::SECTIONS,
            Divided::Distribute => Work::DISTRIBUTE,
        };
        tool.work_begins(member, work, count, call());
    }
}

/// Of that construct it runs the iterations with these numbers next.
#[inline]
pub fn static_chunk(member: &'static Member, from: u64, to: u64) {
    if let Some(tool) = tool()
        && from < to
    {
        tool.shares(member, || (from, to));
    }
}

/// It is through with it.
#[inline]
pub fn end_static(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.work_ends(member);
    }
}

/// The member has run the block of a `single` construct.
#[inline]
pub fn end_single(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.close_single(member);
    }
}

/// The member begins a `scope` region.
#[inline]
pub fn scope_begins(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.tell_work(member, Work::SCOPE, ScopeEndpoint::BEGIN, 1, call());
    }
}

/// It ends one.
#[inline]
pub fn scope_ends(member: &'static Member) {
    if let Some(tool) = tool() {
        tool.tell_work(member, Work::SCOPE, ScopeEndpoint::END, 1, call());
    }
}

fn kind(wanted: &Loop) -> Work {
    match wanted.dealing {
        _ if wanted.sections => Work::SECTIONS,
        Dealing::Static { .. } => Work::LOOP_STATIC,
        Dealing::Dynamic { .. } => Work::LOOP_DYNAMIC,
        Dealing::Guided { .. } | Dealing::GuidedWhole { .. } => Work::LOOP_GUIDED,
        Dealing::Trapezoidal { .. } => Work::LOOP_OTHER,
    }
}

impl Tool {
    pub(super) fn tell_work(
        &self,
        member: &'static Member,
        work: Work,
        end: ScopeEndpoint,
        count: u64,
        call: Call,
    ) {
        if let Some(told) = self.callbacks.work.get() {
            let region = member.team().tool.data.pointer();
            let data = member.task.current().tool.data.pointer();
            told(work, end, region, data, count, code(call.address));
        }
    }

    #[cold]
    pub(super) fn loop_begins(&self, member: &'static Member, wanted: &Loop) {
        let call = match wanted.call {
            0 => Call::default(),
            site => Call {
                address: site + 1,
                ..Call::default()
            },
        };
        self.work_begins(member, kind(wanted), wanted.iterations.count(), call);
    }

    #[cold]
    fn work_begins(&self, member: &'static Member, work: Work, count: u64, call: Call) {
        self.close_single(member);
        member.tool.work.set(work.0);
        member.tool.amount.set(count);
        self.tell_work(member, work, ScopeEndpoint::BEGIN, count, call);
    }

    #[cold]
    pub(super) fn work_ends(&self, member: &'static Member) {
        let work = Work(member.tool.work.get());
        if work != Work::default() {
            member.tool.work.set(0);
            let count = member.tool.amount.get();
            self.tell_work(member, work, ScopeEndpoint::END, count, call());
        }
    }

    #[cold]
    fn hands_out(&self, member: &'static Member, iterations: &Iterations, chunk: (u64, u64)) {
        self.shares(member, || iterations.numbers(chunk));
    }

    /// `member` gets these iterations of the construct that it is in, or a section of it.
    #[cold]
    fn shares(&self, member: &'static Member, numbers: impl FnOnce() -> (u64, u64)) {
        let task = member.task.current();
        let kind = match Work(member.tool.work.get()) {
            Work::SECTIONS => {
                let place = Data {
                    value: call().address as u64,
                };
                return self.tell_dispatch(member, task, Dispatch::SECTION, place);
            }
            // Of this construct the tool has not heard.
            kind if kind == Work::default() => return,
            Work::DISTRIBUTE => Dispatch::DISTRIBUTE_CHUNK,
            _ => Dispatch::WS_LOOP_CHUNK,
        };
        let (from, to) = numbers();
        let chunk = DispatchChunk {
            start: from,
            iterations: to - from,
        };
        self.tell_chunk(member, task, kind, chunk);
    }

    pub(super) fn tell_chunk(
        &self,
        member: &'static Member,
        task: &'static Task,
        kind: Dispatch,
        chunk: DispatchChunk,
    ) {
        let data = Data {
            value: std::ptr::from_ref(&chunk).expose_provenance() as u64,
        };
        self.tell_dispatch(member, task, kind, data);
    }

    fn tell_dispatch(
        &self,
        member: &'static Member,
        task: &'static Task,
        kind: Dispatch,
        what: Data,
    ) {
        if let Some(told) = self.callbacks.dispatch.get() {
            let region = member.team().tool.data.pointer();
            told(region, task.tool.data.pointer(), kind, what);
        }
    }

    #[cold]
    pub(in crate::observer) fn single(&self, member: &'static Member, runs: bool) {
        self.close_single(member);
        let call = call();
        if runs {
            member.tool.single.set(1);
            return self.tell_work(member, Work::SINGLE_EXECUTOR, ScopeEndpoint::BEGIN, 1, call);
        }
        for end in [ScopeEndpoint::BEGIN, ScopeEndpoint::END] {
            self.tell_work(member, Work::SINGLE_OTHER, end, 1, call);
        }
    }

    /// The block of a `single` construct has ended, if `member` is in one. gcc's programs make
    /// no call there, so the member's next construct of the kind tells it.
    #[cold]
    pub(super) fn close_single(&self, member: &'static Member) {
        if member.tool.single.get() != 0 {
            member.tool.single.set(0);
            self.tell_work(member, Work::SINGLE_EXECUTOR, ScopeEndpoint::END, 1, call());
        }
    }
}
