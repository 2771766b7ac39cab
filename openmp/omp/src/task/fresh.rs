//! Tasks that exist and have neither code nor arguments yet.

use super::block::{Task, Traits};
use crate::runtime::runtime;
use crate::team::{Member, Team};

/// Clauses that any `task` construct may have.
#[derive(Clone, Copy, Debug)]
pub struct Clauses {
    /// The `if` clause, if there is one, is true.
    pub deferrable: bool,
    /// The `final` clause, if there is one, is true.
    pub is_final: bool,
    /// `priority` clause; 0 if there is none.
    pub priority: u32,
    /// What its arguments lead to must not be used on another node.
    pub stays: bool,
}

/// A block for a task that is counted, without code and arguments.
// A call costs more than it saves: all but few tasks come here from `lead`.
#[inline(always)]
pub(super) fn begin(
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    clauses: Clauses,
) -> &'static Task {
    let task = member.task.take_block(team);
    let inherited = inherited_traits(member, clauses.is_final);
    task.children.reset();
    let inherited = inherited.with_if(Traits::STAYS, clauses.stays);
    task.begin(parent, inherited.with(Traits::COUNTED));
    task.priority.set(if clauses.priority == 0 {
        0
    } else {
        clauses.priority.min(runtime().settings.max_task_priority)
    });
    if team.tasks.icvs_differ() {
        task.set_icvs(member.icvs());
    }
    task
}

/// A task that is counted, and whose code the program calls.
#[cold]
pub(super) fn counted(
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    clauses: Clauses,
) -> &'static Task {
    team.tasks.mark_used();
    let task = begin(member, team, parent, clauses);
    count(member, parent, task);
    task
}

/// What a child of the task that `member` runs has from it.
#[inline]
pub(super) fn inherited_traits(member: &'static Member, is_final: bool) -> Traits {
    let inherited = match member.task.explicit() {
        Some(explicit) => explicit.traits().inherited(),
        None => Traits::of_phase(member.phase.get()),
    };
    inherited.with_if(Traits::FINAL, is_final)
}

/// The creator goes on before the task is complete, so somebody must wait for it.
#[inline]
pub(super) fn count(member: &'static Member, parent: &'static Task, task: &'static Task) {
    member.task.counts.add_created(task.traits());
    parent.children.begin_at_home();
    if let Some(group) = task.group() {
        group.add(member);
    }
}
