//! Tasks that their creator runs before it goes on.

use super::block::{Task, Traits};
use super::depend::Dependence;
use super::detach::NewEvent;
use super::fresh::{Clauses, counted, inherited_traits};
use super::run;
use crate::icv::Icvs;
use crate::observer::{self, Before};
use crate::team::{Member, Team};
use std::fmt;
use std::sync::Arc;

/// Begins a task whose code its creator calls before it goes on. Nobody else ever hears of
/// it, so this is [`begin`] and [`run::run`] and its end is [`run::complete`], without what
/// is only needed for others. Unless it is `WATCHED` it is known that nobody has to be told.
// A call would return what is to be ended through memory, which costs half of all this.
#[inline(always)]
pub(super) fn begin_child<const WATCHED: bool>(
    member: &'static Member,
    team: &'static Team,
    parent: &'static Task,
    is_final: bool,
    by_clause: bool,
    depends_on: &[Dependence],
) -> Included {
    let current = &member.task;
    let sample = match WATCHED {
        true => observer::includes(member, by_clause),
        false => None,
    };
    let task = current.take_inline(member, team);
    let traits = inherited_traits(member, is_final);
    task.begin(parent, traits);
    let outer = current.explicit();
    let is_final = traits.has(Traits::FINAL);
    let before = match WATCHED {
        true => observer::included_begins(member, (parent, task), outer, is_final, depends_on),
        false => None,
    };
    current.set_explicit(Some(task));
    let icvs = team.tasks.icvs_differ().then(|| member.icvs());
    if let Some(icvs) = icvs {
        task.set_icvs(icvs);
    }
    observer::included_has_begun(sample);
    Included {
        member,
        team,
        task,
        outer,
        traits,
        icvs,
        before,
    }
}

/// A task that has begun and that its creator waits for.
#[derive(Clone, Copy)]
pub struct Included {
    member: &'static Member,
    team: &'static Team,
    pub(super) task: &'static Task,
    outer: Option<&'static Task>,
    traits: Traits,
    /// Those of its creator, if tasks of the region have changed some.
    icvs: Option<Icvs>,
    /// What an observer that hears of each task keeps.
    pub(super) before: Option<Before>,
}

impl fmt::Debug for Included {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Included(..)")
    }
}

/// Begins a task that is not deferred, whatever has been cancelled; the caller then calls its
/// code.
#[must_use]
pub fn begin_included(member: &'static Member, is_final: bool) -> Included {
    let (team, parent) = (member.team(), member.task.current());
    let included = begin_child::<true>(member, team, parent, is_final, true, &[]);
    observer::program_runs(included.task);
    included
}

/// The same for a task with an event, which may be complete long after its code is through. So
/// it is one that somebody waits for; it is [ended](Included::end_detachable) accordingly.
#[cold]
#[must_use]
pub fn begin_detachable(member: &'static Member, is_final: bool, new: &NewEvent) -> Included {
    let (team, parent) = (member.team(), member.task.current());
    let sample = observer::includes(member, true);
    let clauses = Clauses {
        deferrable: false,
        is_final,
        priority: 0,
        stays: true,
    };
    let task = counted(member, team, parent, clauses);
    new.event.bind(task);
    task.set_event(Arc::clone(&new.event));
    task.set_runner(Some(member));
    let outer = member.task.explicit();
    let before = observer::included_begins(member, (parent, task), outer, is_final, &[]);
    observer::program_runs(task);
    member.task.set_explicit(Some(task));
    observer::included_has_begun(sample);
    Included {
        member,
        team,
        task,
        outer,
        traits: task.traits(),
        icvs: team.tasks.icvs_differ().then(|| member.icvs()),
        before,
    }
}

impl Included {
    /// Its code is through; the caller's thread began it.
    #[inline]
    pub fn end(self) {
        self.end_as::<true>();
    }

    #[inline(always)]
    pub(super) fn end_as<const WATCHED: bool>(self) {
        let Self {
            member,
            team,
            task,
            outer,
            traits,
            icvs,
            before,
        } = self;
        if WATCHED && let Some(before) = before {
            observer::included_ends(member, outer, task, run::end_of(team, task, None), before);
        }
        restore_icvs(member, team, icvs);
        member.task.set_explicit(outer);
        if task.traits() == traits && task.children.is_as_new() {
            member.task.give_inline(task);
        } else {
            end_used(member, task, traits);
        }
    }
}

impl Included {
    /// The same for a task that was begun with an event, and is complete when that is fulfilled.
    #[cold]
    pub fn end_detachable(self) {
        let Self {
            member,
            team,
            task,
            outer,
            icvs,
            before,
            ..
        } = self;
        let Some(event) = task.take_event() else {
            return self.end();
        };
        run::code_ends(task, &event, |end| {
            if let Some(before) = before {
                observer::included_ends(member, outer, task, end, before);
            }
            restore_icvs(member, team, icvs);
            member.task.set_explicit(outer);
        });
    }
}

/// The creator of a task that has ended has its own ICVs again.
#[inline(always)]
fn restore_icvs(member: &'static Member, team: &'static Team, icvs: Option<Icvs>) {
    if let Some(icvs) = icvs {
        member.set_icvs(icvs);
    } else if team.tasks.icvs_differ() {
        run::restore_team_icvs(member, team);
    }
}

/// The end of a task that had children, or something that not all tasks have.
#[inline(never)]
fn end_used(member: &'static Member, task: &'static Task, traits: Traits) {
    if task.traits() == traits && !task.children.is_in_use() {
        task.children.reset();
        member.task.give_inline(task);
    } else {
        run::complete(Some(member), task);
    }
}
