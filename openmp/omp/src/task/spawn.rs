//! Creating tasks.

use super::block::{Task, Traits};
use super::depend::{Awaits, Dependence, Node};
use super::deque::CAPACITY;
use super::detach::NewEvent;
use super::fresh::{Clauses, begin, count};
use super::help::run_available;
use super::included::begin_child;
use super::queue::enqueue;
use super::{run, wait};
use crate::cluster::{self, Nodes};
use crate::observer;
use crate::runtime::runtime;
use crate::team::{Member, Team};
use fathomp_sys::call_site::{call, note_again};
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_sys::task_arguments::{Arguments, address_of};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The code of a task and what to call it with.
#[derive(Clone, Copy, Debug)]
pub struct Work<'a> {
    /// The outlined function.
    pub function: Outlined,
    /// Its argument block.
    pub arguments: Arguments,
    /// Written over the first words of the task's copy of the arguments.
    pub head: &'a [u64],
}

/// A thread at a `task` construct: what is known before the task exists.
#[derive(Clone, Copy)]
pub struct Encounter {
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    at_once: bool,
    /// It is at once because a clause says so.
    by_clause: bool,
}

/// `member` encounters a `task` construct with these values of its `if` and
/// `priority` clauses. `None` if cancellation means that no task is created.
// Inline for the same reason as `begin_child`.
#[inline(always)]
pub fn encounter(member: &'static Member, deferrable: bool, priority: u32) -> Option<Encounter> {
    let team = member.team();
    let parent = member.task.current();
    if run::is_pointless(team, parent) {
        return None;
    }
    let by_clause = !deferrable || parent.traits().has(Traits::FINAL);
    let at_once = by_clause || is_crowded(member, team, parent, priority) || team.is_alone();
    Some(Encounter {
        member,
        team,
        parent,
        at_once,
        by_clause,
    })
}

/// `member` encounters a `task` construct that is not deferred, and runs its task with the
/// program's own argument block, where nobody [watches](fathomp_sys::call_site::Watch).
#[inline]
pub fn run_undeferred(member: &'static Member, function: Outlined, data: Opaque, is_final: bool) {
    let team = member.team();
    let parent = member.task.current();
    if !run::is_pointless(team, parent) {
        let included = begin_child::<false>(member, team, parent, is_final, true, &[]);
        function.call(data);
        included.end_as::<false>();
    }
}

/// Whether enough tasks are queued where one of this priority would be.
#[inline]
fn is_crowded(
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    priority: u32,
) -> bool {
    let deque = &member.task.deque;
    if team.local_size() == 1
        && let Some(nodes) = team.nodes()
        && deque.len() >= enough_for_nodes(nodes, parent)
    {
        return true;
    }
    deque.is_full() && is_throttled()
        || priority != 0 && team.tasks.commons.len() >= CAPACITY * team.local_size() as usize
}

/// Whether a full queue has tasks run at once. Otherwise they are queued where all members look.
#[cold]
fn is_throttled() -> bool {
    !runtime().settings.queues_all_tasks
}

/// How many queued tasks are enough where others are on other nodes, and take a batch from time to
/// time. What they leave is quicker run at once.
#[cold]
fn enough_for_nodes(nodes: &'static Nodes, parent: &'static Task) -> u64 {
    match parent.depth() {
        0 => ENOUGH_FOR_BATCHES,
        _ => ENOUGH_IN_TREES * u64::from(nodes.cluster.nodes()),
    }
}

/// Tasks that the only member of a node keeps for others: of many that follow each other, and of
/// a tree, for each node, where the first have most below them.
const ENOUGH_FOR_BATCHES: u64 = 64;
const ENOUGH_IN_TREES: u64 = 2;

/// Creates a task; runs it at once if it cannot be deferred or enough tasks
/// are queued already.
#[inline]
pub fn create(member: &'static Member, work: &Work, clauses: Clauses) {
    if let Some(encounter) = encounter(member, clauses.deferrable, clauses.priority) {
        encounter.create(work, clauses);
    }
}

impl Encounter {
    /// Whether the task runs before its creator goes on: because it must, or
    /// because enough tasks are queued already.
    #[inline]
    #[must_use]
    pub fn is_at_once(&self) -> bool {
        self.at_once
    }

    /// Creates the task.
    #[inline(never)]
    pub fn create(self, work: &Work, clauses: Clauses) {
        if self.at_once {
            self.run_with_arguments(work, clauses.is_final, &[]);
            return;
        }
        let Self {
            member,
            team,
            parent,
            ..
        } = self;
        let task = lead(member, team, parent, work, clauses);
        observer::creates(member, (parent, task), false, clauses.is_final, &[]);
        enqueue(Some(member), team, task);
    }

    /// Runs the task, which may use the program's own argument block.
    #[inline]
    pub fn run(self, function: Outlined, data: Opaque, is_final: bool) {
        self.run_inline(is_final, &[], |_| data, function);
    }

    fn run_with_arguments(self, work: &Work, is_final: bool, depends_on: &[Dependence]) {
        let copies = work.arguments.must_be_copied();
        if copies && cluster::is_node() && (self.team.size() == 1 || self.team.remote().is_some()) {
            return self.run_with_copy_on_stack(work, is_final, depends_on);
        }
        let arguments = |task: &Task| {
            if copies {
                task.copy_arguments(&work.arguments, work.head);
                return task.data();
            }
            work.arguments.set_head(work.head);
            work.arguments.original()
        };
        self.run_inline(is_final, depends_on, arguments, work.function);
    }

    /// The same where other nodes may run parts of the task, regions or tasks inside it: they
    /// reach the stacks of the program's threads, and not the memory of the runtime.
    #[cold]
    fn run_with_copy_on_stack(self, work: &Work, is_final: bool, depends_on: &[Dependence]) {
        match work.arguments.words_needed() {
            0..=64 => self.run_with_room::<64>(work, is_final, depends_on),
            65..=1024 => self.run_with_room::<1024>(work, is_final, depends_on),
            1025..=16_384 => self.run_with_room::<16_384>(work, is_final, depends_on),
            // 2 MiB: more than that no other node reaches.
            _ => self.run_with_room::<262_144>(work, is_final, depends_on),
        }
    }

    #[inline(never)]
    fn run_with_room<const WORDS: usize>(
        self,
        work: &Work,
        is_final: bool,
        depends_on: &[Dependence],
    ) {
        let room = [const { AtomicU64::new(0) }; WORDS];
        let arguments = |task: &Task| match work.arguments.copy_to(&room) {
            Some(first) => {
                for (word, &value) in room[first..].iter().zip(work.head) {
                    word.store(value, Ordering::Relaxed);
                }
                address_of(&room[first])
            }
            None => {
                task.copy_arguments(&work.arguments, work.head);
                task.data()
            }
        };
        self.run_inline(is_final, depends_on, arguments, work.function);
    }

    /// Runs a task before its creator goes on.
    #[inline]
    fn run_inline(
        self,
        is_final: bool,
        depends_on: &[Dependence],
        arguments: impl FnOnce(&Task) -> Opaque,
        function: Outlined,
    ) {
        let included = begin_child::<true>(
            self.member,
            self.team,
            self.parent,
            is_final,
            self.by_clause,
            depends_on,
        );
        let arguments = arguments(included.task);
        match included.before {
            None => function.call(arguments),
            Some(_) => observer::call_task(included.task, function, arguments),
        }
        included.end();
    }
}

/// Creates a task with dependences or an event.
#[cold]
pub fn create_special(
    member: &'static Member,
    work: &Work,
    clauses: Clauses,
    dependences: &[Dependence],
    event: Option<&NewEvent>,
) {
    let team = member.team();
    let parent = member.task.current();
    if run::is_pointless(team, parent) {
        work.function.abandon(work.arguments.original());
        return;
    }
    // Waiting runs other tasks, which call the runtime.
    let called = call();
    let included = !clauses.deferrable || parent.traits().has(Traits::FINAL);
    // With no brother to wait for, and none that could come before it is
    // complete, dependences mean nothing.
    let alone = team.is_alone() && !parent.children.is_outstanding();
    if included {
        wait::await_predecessors(member, dependences, None);
    }
    if (included || alone) && event.is_none() {
        note_again(called);
        let encounter = Encounter {
            member,
            team,
            parent,
            at_once: true,
            by_clause: included,
        };
        encounter.run_with_arguments(work, clauses.is_final, dependences);
        return;
    }

    let task = lead(member, team, parent, work, clauses);
    note_again(called);
    observer::creates(
        member,
        (parent, task),
        included,
        clauses.is_final,
        dependences,
    );
    if let Some(new) = event {
        new.event.bind(task);
        task.set_event(Arc::clone(&new.event));
    }
    if included {
        run_now(member, task);
        if let Some(new) = event {
            wait::wait_for(member, parent, || new.event.is_fulfilled());
        }
        observer::returns_to(parent);
        return;
    }
    if !dependences.is_empty() {
        thin_out(member, parent);
        let node = Node::new(team, Some(task));
        task.set_node(Arc::clone(&node));
        let tell = |before| observer::awaits(before, task);
        let awaits = observer::hears_each_task().then_some(&tell as Awaits<'_, Task>);
        parent.with_scope(|scope| scope.add(&node, dependences, awaits));
        if !node.seal() {
            observer::depends(member);
            return;
        }
    }
    if team.is_alone() || member.task.deque.is_full() {
        run_now(member, task);
    } else {
        enqueue(Some(member), team, task);
    }
}

/// Tasks that wait for others are not bounded by a queue. A thread that has
/// created very many of them works on them for a while before it creates more.
/// It does not wait for them: the program may first have to go on.
fn thin_out(member: &'static Member, parent: &'static Task) {
    for _ in 0..PATIENCE_WITH_CHILDREN {
        if parent.children.outstanding() < MANY_CHILDREN {
            return;
        }
        run_available(member, Some(parent), || {
            parent.children.outstanding() < MANY_CHILDREN
        });
        std::hint::spin_loop();
    }
}

/// Children a task may have created and not completed before it is slowed down.
const MANY_CHILDREN: u32 = 2048;
/// Looks for something to do before it goes on all the same.
const PATIENCE_WITH_CHILDREN: u32 = 256;

/// Runs a task that is counted although its creator waits for it.
fn run_now(member: &'static Member, task: &'static Task) {
    let taken = observer::takes_task(member);
    run::run(member, task);
    observer::leaves_task(taken);
}

/// A task that is counted, and has its arguments, but is not queued: others run its work piece by
/// piece.
pub(super) fn lead(
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    work: &Work,
    clauses: Clauses,
) -> &'static Task {
    team.tasks.mark_used();
    let task = begin(member, team, parent, clauses);
    task.set_function(work.function);
    copy_arguments(team, task, work);
    count(member, parent, task);
    task
}

/// The task gets a copy of the arguments: where other nodes reach it, if it could not be moved
/// and may leave.
#[inline]
fn copy_arguments(team: &'static Team, task: &'static Task, work: &Work) {
    if work.arguments.must_be_copied()
        && work.head.is_empty()
        && let Some(remote) = team.remote()
        && remote.copy_to_room(task, &work.arguments)
    {
        return;
    }
    task.copy_arguments(&work.arguments, work.head);
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

/// A number of the task that `member` runs, which no other task has as long as it lives.
pub fn number(member: &'static Member) -> u64 {
    std::ptr::from_ref(member.task.current()).addr() as u64
}

/// The same of the task that created it; 0 if there is none.
pub fn parent_number(member: &'static Member) -> u64 {
    let parent = member.task.current().parent();
    parent.map_or(0, |parent| std::ptr::from_ref(parent).addr() as u64)
}
