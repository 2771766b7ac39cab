//! Waiting inside a task.

use super::block::Task;
use super::depend::{Awaits, Dependence, Node};
use super::giving_way::give_way;
use super::help::run_available;
use super::tally::Tally;
use crate::observer::{self, Wait};
use crate::team::Member;

/// `taskwait`: waits for the children of the current task.
#[inline]
pub fn wait(member: &'static Member) {
    let task = member.task.current();
    observer::taskwait(member, || {
        if task.children.is_outstanding() {
            wait_for_tally(member, task, &task.children);
        }
        task.forget_scope();
    });
}

/// `taskwait` with dependences: waits for the children that a task with these
/// dependences would wait for.
pub fn wait_depend(member: &'static Member, dependences: &[Dependence]) {
    observer::wait_depend(member, dependences, |awaits| {
        await_predecessors(member, dependences, awaits);
    });
}

/// Waits for the children that a task with these dependences would wait for; `awaits` is told of
/// each.
pub(super) fn await_predecessors(
    member: &'static Member,
    dependences: &[Dependence],
    awaits: Option<Awaits<'_, Task>>,
) {
    let task = member.task.current();
    if !task.children.is_outstanding() {
        return;
    }
    let node = Node::new(member.team(), None);
    task.with_scope(|scope| scope.wait_only(&node, dependences, awaits));
    if !node.seal() {
        wait_for(member, task, || node.is_ready());
    }
}

/// `taskyield`: lets another thread run a task that is ready, or runs it if no
/// other can. Whether the task seems to wait for something that others write: then memory
/// of several nodes should be flushed.
pub fn yield_now(member: &'static Member) -> bool {
    let team = member.team();
    let mut waits = false;
    if !team.is_alone() {
        observer::yields(member, || waits = give_way(member, team));
    } else if team.tasks.is_used() {
        observer::yields(member, || {
            run_available(member, Some(member.task.current()), || true);
        });
    }
    waits
}

/// Returns when nothing counted by `tally`, which belongs to `task` or a group
/// of its, is outstanding.
pub(super) fn wait_for_tally(member: &'static Member, task: &'static Task, tally: &Tally) {
    wait_and_run(member, task, || !tally.is_outstanding(), || tally.settle());
}

/// Returns when `done` says so. Whoever makes it true rings for the waiters.
pub(super) fn wait_for(member: &'static Member, task: &'static Task, done: impl Fn() -> bool) {
    wait_and_run(member, task, done, || {});
}

/// Waits for `done`, and runs tasks that descend from `task`, the one that
/// waits, meanwhile. Calls `prepare` before it sleeps.
fn wait_and_run(
    member: &'static Member,
    task: &'static Task,
    done: impl Fn() -> bool,
    prepare: impl Fn(),
) {
    let team = member.team();
    if let Some(remote) = team.remote() {
        let done = || {
            done() || {
                prepare();
                done()
            }
        };
        observer::waits(member, Wait::Tasks, 0, || {
            remote.wait_inside(member, task, &done);
        });
        return;
    }
    let waits = &member.task.gives_way.waits;
    waits.set(1);
    observer::waits(member, Wait::Tasks, 0, || {
        team.tasks.waiters.wait(team.patience(), || {
            done() || {
                run_available(member, Some(task), &done);
                done() || {
                    prepare();
                    done()
                }
            }
        });
    });
    waits.set(0);
}
