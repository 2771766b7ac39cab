//! Creating tasks.

use super::block::{Task, Traits};
use super::depend::{Dependence, Node};
use super::detach::NewEvent;
use super::{pool, run, wait};
use crate::runtime::runtime;
use crate::team::{Member, Team};
use fathomp_sys::outlined::Outlined;
use fathomp_sys::task_arguments::Arguments;
use std::sync::Arc;

/// What a `task` construct asks for.
#[derive(Debug)]
pub struct NewTask<'a> {
    /// The task's code.
    pub function: Outlined,
    /// What to call it with.
    pub arguments: Arguments,
    /// Written over the first words of the task's copy of the arguments.
    pub head: &'a [u64],
    /// The `if` clause, if there is one, is true.
    pub deferrable: bool,
    /// The `final` clause, if there is one, is true.
    pub is_final: bool,
    /// `priority` clause; 0 if there is none.
    pub priority: u32,
    /// Items of the `depend` clauses.
    pub dependences: &'a [Dependence],
    /// The event of the `detach` clause.
    pub event: Option<NewEvent>,
}

/// Creates a task; runs it at once if it cannot be deferred or enough tasks
/// are queued already.
#[inline]
pub fn create(member: &'static Member, new: NewTask) {
    let team = member.team();
    let parent = member.task.current();
    if run::is_pointless(team, parent) {
        return;
    }
    if let Some(recorder) = member.worker().recorder() {
        recorder.task_created();
    }
    let included = !new.deferrable || parent.traits().has(Traits::FINAL);
    if !new.dependences.is_empty() || new.event.is_some() {
        return create_special(member, team, parent, new, included);
    }
    if included || team.size() == 1 || member.task.deque.is_full() {
        let task = begin(member, team, parent, &new, Traits::NONE);
        run_now(member, task, &new);
        return;
    }
    team.tasks.mark_used();
    let task = begin(member, team, parent, &new, Traits::COUNTED);
    task.copy_arguments(&new.arguments, new.head);
    count(member, parent, task);
    if task.priority.get() == 0 {
        member.task.deque.push(task);
    } else {
        team.tasks.commons.put(task);
    }
    team.ring_for_task();
}

/// A task with dependences or an event.
#[cold]
fn create_special(
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    new: NewTask,
    included: bool,
) {
    let alone = team.size() == 1 && !parent.children.is_outstanding();
    if included {
        // The children created before are complete for all it cares, and no
        // later one can come before it is complete itself.
        wait::wait_depend(member, new.dependences);
    }
    if (included || alone) && new.event.is_none() {
        let task = begin(member, team, parent, &new, Traits::NONE);
        run_now(member, task, &new);
        return;
    }

    team.tasks.mark_used();
    let task = begin(member, team, parent, &new, Traits::COUNTED);
    let event = new.event.as_ref().map(|new| &new.event);
    if let Some(event) = event {
        event.bind(task);
        task.set_event(Arc::clone(event));
    }
    count(member, parent, task);
    if included || new.dependences.is_empty() {
        if !included && team.size() > 1 && !member.task.deque.is_full() {
            task.copy_arguments(&new.arguments, new.head);
            pool::enqueue(Some(member), team, task);
            return;
        }
        run_now(member, task, &new);
        if let (true, Some(event)) = (included, event) {
            wait::wait_for(member, parent, || event.is_fulfilled());
        }
        return;
    }

    task.copy_arguments(&new.arguments, new.head);
    let node = Node::new(team, Some(task));
    task.set_node(Arc::clone(&node));
    parent.with_scope(|scope| scope.add(&node, new.dependences));
    if node.seal() {
        if team.size() == 1 || member.task.deque.is_full() {
            run::run(member, task);
        } else {
            pool::enqueue(Some(member), team, task);
        }
    }
}

/// A block for the task, without arguments.
#[inline]
fn begin(
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    new: &NewTask,
    traits: Traits,
) -> &'static Task {
    let task = member.task.take_block(team);
    let odd = match member.task.explicit() {
        Some(explicit) => explicit.traits().has(Traits::ODD),
        None => member.phase.get() & 1 != 0,
    };
    let traits = traits.with_if(Traits::ODD, odd).with_if(
        Traits::FINAL,
        new.is_final || parent.traits().has(Traits::FINAL),
    );
    task.begin(parent, new.function, traits);
    task.priority.set(if new.priority == 0 {
        0
    } else {
        new.priority.min(runtime().settings.max_task_priority)
    });
    if team.tasks.icvs_differ() {
        task.set_icvs(member.icvs());
    }
    task
}

/// The creator goes on before the task is complete, so somebody must wait for it.
#[inline]
fn count(member: &'static Member, parent: &'static Task, task: &'static Task) {
    member.task.counts.add_created(task.traits());
    parent.children.begin_at_home();
    if let Some(group) = task.group() {
        group.add(member);
    }
}

/// Runs the task before its creator goes on: it can use the arguments where
/// they are.
#[inline]
fn run_now(member: &'static Member, task: &'static Task, new: &NewTask) {
    if new.arguments.must_be_copied() {
        task.copy_arguments(&new.arguments, new.head);
    } else {
        new.arguments.set_head(new.head);
        task.borrow_arguments(new.arguments.original());
    }
    if let Some(recorder) = member.worker().recorder() {
        recorder.task_run();
    }
    run::run(member, task);
}

/// Whether the current task is final.
pub fn in_final(member: &'static Member) -> bool {
    member
        .task
        .explicit()
        .is_some_and(|task| task.traits().has(Traits::FINAL))
}

/// Whether the current task is an explicit one.
pub fn in_explicit(member: &'static Member) -> bool {
    member.task.explicit().is_some()
}
