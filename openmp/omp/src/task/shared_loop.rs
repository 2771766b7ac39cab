//! A `taskloop` whose tasks share one description, and are begun where they are run.
//!
//! A loop of many short tasks would cost more to queue than to run. Where nothing asks for tasks
//! that exist before they run, the thread at the construct runs them one after the other, each
//! as a task of its own, and others steal halves of what it has not begun (see
//! [`portion`](super::portion)). For those who wait, all tasks of the loop together count as one
//! child of the task that met the construct, the *leading* task, which never runs: it has the
//! arguments of all, and is complete when the last of them is.

use super::block::{Task, Traits};
use super::division::Division;
use super::portion::{Loot, Portion};
use super::queue::{invite, sleepers};
use super::run;
use crate::observer;
use crate::own::{Own, OwnWord};
use crate::team::{Member, Team};
use fathomp_sys::outlined::Outlined;
use fathomp_sys::static_ref::AtomicRef;
use std::sync::atomic::{AtomicU32, Ordering};

/// Loops inside each other that a member may have parts of. Tasks of loops further inside are
/// created and queued one by one.
const DEPTH: usize = 4;

/// See the module's documentation. Recycled by the member that completes it.
#[derive(Debug)]
pub(crate) struct SharedLoop {
    leading: AtomicRef<Task>,
    start: OwnWord,
    end: OwnWord,
    step: OwnWord,
    division: [OwnWord; 4],
    /// Tasks that are not complete.
    unfinished: AtomicU32,
    /// Next in the free list.
    pub(super) next: AtomicRef<SharedLoop>,
}

/// A member's parts of loops, and where it is among them.
#[derive(Debug)]
pub(super) struct Portions {
    slots: [Portion<&'static SharedLoop>; DEPTH],
    /// Of these, the first so many are in use.
    depth: Own,
}

impl Portions {
    pub(super) fn new() -> Self {
        Self {
            slots: std::array::from_fn(|_| Portion::new()),
            depth: Own::new(0),
        }
    }

    /// The next that is not in use; for the owner.
    pub(super) fn next(&self) -> Option<&Portion<&'static SharedLoop>> {
        self.slots.get(self.depth.get() as usize)
    }

    /// Steals from them what `wanted` says.
    fn steal(&self, wanted: impl Fn(&'static Task) -> bool) -> Option<Loot<&'static SharedLoop>> {
        let of_loop = |of: &'static SharedLoop| of.leading().is_some_and(&wanted);
        // The outermost has the most below it.
        self.slots.iter().find_map(|portion| portion.steal(of_loop))
    }
}

impl SharedLoop {
    pub(super) fn new() -> Self {
        Self {
            leading: AtomicRef::new(None),
            start: OwnWord::new(),
            end: OwnWord::new(),
            step: OwnWord::new(),
            division: [const { OwnWord::new() }; 4],
            unfinished: AtomicU32::new(0),
            next: AtomicRef::new(None),
        }
    }

    /// Begins to describe a loop from `start` to `end`, of so many tasks.
    pub(super) fn begin(
        &self,
        leading: &'static Task,
        [start, step, end]: [u64; 3],
        division: Division,
        tasks: u32,
    ) {
        self.leading.store(Some(leading), Ordering::Relaxed);
        self.start.set(start);
        self.end.set(end);
        self.step.set(step);
        for (word, value) in self.division.iter().zip(division.to_words()) {
            word.set(value);
        }
        self.unfinished.store(tasks, Ordering::Relaxed);
    }

    /// Those of its tasks.
    pub(super) fn traits(&self) -> Traits {
        let none = Traits::of_phase(0);
        self.leading()
            .map_or(none, |leading| leading.traits().inherited())
    }

    fn leading(&self) -> Option<&'static Task> {
        self.leading.load(Ordering::Relaxed)
    }

    fn division(&self) -> Division {
        let [tasks, size, longer, last] = &self.division;
        Division::from_words([tasks.get(), size.get(), longer.get(), last.get()])
    }
}

/// Tasks of loops that `member` may run: what `wanted` says of their leading tasks.
pub(super) fn steal(
    member: &'static Member,
    team: &'static Team,
    wanted: impl Fn(&'static Task) -> bool,
) -> Option<Loot<&'static SharedLoop>> {
    if team.tasks.open_portions.load(Ordering::SeqCst) == 0 {
        return None;
    }
    member.task.portions.next()?;
    let (me, size) = (member.index(), team.local_size());
    (1..size).find_map(|offset| {
        let victim = team.member((me + offset) % size);
        victim.task.portions.steal(&wanted)
    })
}

/// Runs tasks of a loop, which have become `member`'s, but for what others steal of them.
pub(super) fn run_portion(member: &'static Member, loot: Loot<&'static SharedLoop>) {
    let team = member.team();
    let mine = &member.task.portions;
    let shared = loot.of;
    // A thread that has tasks of a loop has seen to both.
    let (Some(portion), Some(leading)) = (mine.next(), shared.leading()) else {
        return;
    };
    mine.depth.set(mine.depth.get() + 1);
    // SeqCst: see `Portion::open`.
    team.tasks.open_portions.fetch_add(1, Ordering::SeqCst);
    let first = portion.open(loot);
    if loot.to - loot.from > 1 && sleepers(team) != 0 {
        invite(team);
    }
    let mut runner = Runner::new(member, team, shared, leading);
    runner.run(first);
    let mut done = 1;
    while let Some(number) = portion.take() {
        runner.run(number);
        done += 1;
    }
    runner.end();
    portion.close();
    team.tasks.open_portions.fetch_sub(1, Ordering::Relaxed);
    mine.depth.set(mine.depth.get() - 1);
    // A thread that finds that all are complete sees all that they wrote.
    if shared.unfinished.fetch_sub(done, Ordering::AcqRel) == done {
        run::complete(Some(member), leading);
        member.task.give_loop(shared);
    }
}

/// Runs tasks of a loop one after the other, in the same block as long as nobody else needs it.
struct Runner {
    member: &'static Member,
    team: &'static Team,
    leading: &'static Task,
    function: Option<Outlined>,
    division: Division,
    start: u64,
    step: u64,
    end: u64,
    /// The task that the member ran before.
    outer: Option<&'static Task>,
    /// A block that has begun and has its arguments, and its traits.
    block: Option<(&'static Task, Traits)>,
}

impl Runner {
    fn new(
        member: &'static Member,
        team: &'static Team,
        shared: &SharedLoop,
        leading: &'static Task,
    ) -> Self {
        Self {
            member,
            team,
            leading,
            function: leading.function(),
            division: shared.division(),
            start: shared.start.get(),
            step: shared.step.get(),
            end: shared.end.get(),
            outer: member.task.explicit(),
            block: None,
        }
    }

    #[inline]
    fn run(&mut self, number: u32) {
        let Self {
            member,
            team,
            leading,
            ..
        } = *self;
        if run::is_pointless(team, leading) {
            return;
        }
        let Some(function) = self.function else {
            return;
        };
        let taken = observer::takes_task(member);
        let (task, traits) = match self.block {
            Some(block) => block,
            None => self.begin(),
        };
        let piece = self.division.piece(number.into());
        let (from, to) = piece.bounds(self.start, self.step, self.end);
        task.set_head(&[from, to]);
        run::in_environment(member, team, leading, || function.call(task.data()));
        observer::leaves_task(taken);
        if task.traits() != traits || task.children.is_in_use() {
            // Its descendants need it, or there is more to be done at its end.
            self.block = None;
            member.task.set_explicit(self.outer);
            run::complete(Some(member), task);
        } else if task.children.is_touched() {
            task.children.reset();
        }
    }

    /// A block for the next tasks.
    #[cold]
    fn begin(&mut self) -> (&'static Task, Traits) {
        let task = self.member.task.take_inline(self.member, self.team);
        if let Some(parent) = self.leading.parent() {
            task.begin(parent, self.leading.traits().inherited());
        }
        task.set_group(self.leading.group());
        task.copy_arguments_of(self.leading);
        self.member.task.set_explicit(Some(task));
        let block = (task, task.traits());
        self.block = Some(block);
        block
    }

    fn end(self) {
        let current = &self.member.task;
        current.set_explicit(self.outer);
        match self.block {
            Some((task, traits)) if traits.has(Traits::LARGE) => {
                run::complete(Some(self.member), task);
            }
            Some((task, _)) => current.give_inline(task),
            None => {}
        }
    }
}
