//! `taskloop` constructs.

use super::block::Traits;
use super::division::{Division, Grain, Piece};
use super::fresh::Clauses;
use super::portion::{Loot, NUMBERS_MAX};
use super::run;
use super::shared_loop::run_portion;
use super::spawn::{Work, create, lead};
use crate::cluster;
use crate::observer;
use crate::team::Member;
use fathomp_sys::outlined::Outlined;
use fathomp_sys::task_arguments::Arguments;

/// What a `taskloop` construct asks for. Iteration variables are 64 bits wide
/// and wrap, so that signed and unsigned loops are the same.
#[derive(Debug)]
pub struct TaskLoop {
    /// Code of each task.
    pub function: Outlined,
    /// The first two words of each task's copy are its first iteration and
    /// where it ends.
    pub arguments: Arguments,
    /// First value of the iteration variable.
    pub start: u64,
    /// Where the loop ends, as the program gave it.
    pub end: u64,
    /// Difference of two values that follow each other.
    pub step: u64,
    /// Number of iterations, above 0.
    pub count: u64,
    /// How to divide them.
    pub grain: Grain,
    /// Clauses of each task.
    pub clauses: Clauses,
    /// The construct waits for its tasks: it has no `nogroup` clause.
    pub is_grouped: bool,
}

/// How `member` divides a `taskloop` of `count` iterations.
fn division(member: &'static Member, grain: Grain, count: u64) -> Division {
    let team = member.team();
    let threads = match team.remote() {
        Some(_) => team.size(),
        None => team.local_size(),
    };
    grain.divide(count, threads)
}

/// The pieces into which `member` divides a `taskloop` of `count` iterations.
pub fn pieces(
    member: &'static Member,
    grain: Grain,
    count: u64,
) -> impl Iterator<Item = Piece> + use<> {
    let division = division(member, grain, count);
    (0..division.tasks()).map(move |number| division.piece(number))
}

/// Creates the tasks of a `taskloop` construct, without its taskgroup.
pub fn taskloop(member: &'static Member, asked: &TaskLoop) {
    let division = division(member, asked.grain, asked.count);
    if run_shared(member, asked, division) {
        return;
    }
    let hears_each = observer::hears_each_task();
    for number in 0..division.tasks() {
        let piece = division.piece(number);
        let (from, to) = piece.bounds(asked.start, asked.step, asked.end);
        if hears_each {
            observer::piece(member, piece.from, piece.count);
        }
        create(
            member,
            &Work {
                function: asked.function,
                arguments: asked.arguments,
                head: &[from, to],
            },
            asked.clauses,
        );
    }
}

/// Runs the tasks of the loop where they are begun (see [`shared_loop`](super::shared_loop)), but
/// for what others steal of them. `false` if they have to be created one by one.
fn run_shared(member: &'static Member, asked: &TaskLoop, division: Division) -> bool {
    let team = member.team();
    let parent = member.task.current();
    let tasks = match u32::try_from(division.tasks()) {
        Ok(tasks) if tasks > 1 && division.tasks() <= NUMBERS_MAX => tasks,
        _ => return false,
    };
    // Arguments that the program copies are copied when a task is created. Priorities order tasks
    // among those that are queued.
    let is_plain = asked.is_grouped
        && asked.clauses.deferrable
        && asked.clauses.priority == 0
        && !asked.arguments.must_be_copied();
    if !is_plain
        || parent.traits().has(Traits::FINAL)
        || team.is_alone()
        || team.nodes().is_some()
        || cluster::is_node()
        || observer::hears_each_task()
        || member.task.portions.next().is_none()
    {
        return false;
    }
    if run::is_pointless(team, parent) {
        return true;
    }
    observer::creates_tasks(member, tasks);
    let work = Work {
        function: asked.function,
        arguments: asked.arguments,
        head: &[],
    };
    let leading = lead(member, team, parent, &work, asked.clauses);
    let shared = member.task.take_loop();
    shared.begin(
        leading,
        [asked.start, asked.step, asked.end],
        division,
        tasks,
    );
    run_portion(
        member,
        Loot {
            of: shared,
            from: 0,
            to: tasks,
        },
    );
    true
}
