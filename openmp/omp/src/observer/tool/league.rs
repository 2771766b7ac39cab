//! `teams` regions on the host.
//!
//! Their teams run one after the other on the encountering thread, as the member that it plays
//! anyway. So the tool's words of that member's task and region are put aside and used for the
//! league's; the task that encountered the `teams` construct cannot be asked for meanwhile.

use super::regions::call_watched;
use super::words::{NOTHING, code};
use super::{Tool, tool};
use crate::team::Member;
use fathomp_ompt::ParallelFlags;
use fathomp_sys::call_site::call;
use fathomp_sys::outlined::{Opaque, Outlined};

/// `member` encounters a `teams` region of `size` teams, which `run` runs.
#[inline]
pub(crate) fn league(member: &'static Member, size: u32, run: impl FnOnce()) {
    match tool() {
        None => run(),
        Some(tool) => tool.league(member, size, run),
    }
}

/// Runs the code of team `number` of `size` as an initial task.
#[inline]
pub(crate) fn call_team(
    member: &'static Member,
    (number, size): (u32, u32),
    function: Outlined,
    data: Opaque,
) {
    match tool() {
        None => function.call(data),
        Some(tool) => tool.team(member, (number, size), function, data),
    }
}

impl Tool {
    #[cold]
    fn league(&self, member: &'static Member, size: u32, run: impl FnOnce()) {
        let call = call();
        let (task, region) = (&member.task.current().tool, &member.team().tool.data);
        let flags = ParallelFlags::LEAGUE.with(ParallelFlags::INVOKER_RUNTIME);
        task.frame.enters(call);
        let enclosing = region.take();
        if let Some(told) = self.callbacks.parallel_begin.get() {
            let (data, frame) = (task.data.pointer(), task.frame.pointer());
            told(
                data,
                frame,
                region.pointer(),
                size,
                flags,
                code(call.address),
            );
        }
        run();
        if let Some(told) = self.callbacks.parallel_end.get() {
            told(
                region.pointer(),
                task.data.pointer(),
                flags,
                code(call.address),
            );
        }
        region.put_back(enclosing);
        task.frame.returns();
    }

    #[cold]
    fn team(
        &self,
        member: &'static Member,
        (number, size): (u32, u32),
        function: Outlined,
        data: Opaque,
    ) {
        let task = member.task.implicit();
        let encountering = task.tool.put_aside();
        self.initial_begins(member, size, number);
        call_watched(member, function, data);
        // The region goes on with the next team.
        self.initial_ends(member, NOTHING, number);
        task.tool.put_back(&encountering);
    }
}
