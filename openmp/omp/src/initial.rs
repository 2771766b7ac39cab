//! Initial tasks inside a program: `target` regions, which the host runs
//! itself, and leagues of teams.
//!
//! A `target` region behaves as if it ran on a device of its own: outside of
//! all regions, with its own contention group and its own ICVs. The teams of a
//! league run one after the other on the encountering thread, which the
//! specification allows, for nothing may depend on their running together.

use crate::icv::Icvs;
use crate::observer;
use crate::parallel::{self, Fork};
use crate::runtime::runtime;
use crate::team::{Group, Team};
use crate::worker::current;
use fathomp_sys::outlined::{Opaque, Outlined};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

/// Contention groups of `target` regions that have ended. Groups live for ever
/// because teams refer to them.
static SPARE_GROUPS: Mutex<Vec<&'static Group>> = Mutex::new(Vec::new());

/// The limit a `thread_limit` clause asks for, in terms of `thread-limit-var`.
fn limit(clause: u32) -> u32 {
    if clause > i32::MAX as u32 {
        u32::MAX
    } else {
        clause
    }
}

/// Runs a `target` region on the host. `thread_limit` is that of the clause,
/// 0 if there is none; `call` the return address of the program's call.
pub fn target(function: Outlined, data: Opaque, call: usize, thread_limit: u32) {
    // A device has not heard of what the program has set here.
    let icvs = with_limit(runtime().initial_icvs(), thread_limit);
    let spare = || SPARE_GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
    let group = spare()
        .pop()
        .unwrap_or_else(|| Box::leak(Box::<Group>::default()));
    let frame = parallel::begin(&Fork {
        function,
        data,
        threads: 1,
        bind: None,
        call,
        preset: None,
        called_by_program: false,
        caller: parallel::Caller::Gnu,
        prepare: Some(&|team, _| detach(team, group)),
    });
    current().set_icvs(icvs);
    observer::call_region(current(), function, data);
    parallel::end(frame);
    set_league(group, 0, 1);
    spare().push(group);
}

/// Makes `team`, which is about to begin, an initial team.
fn detach(team: &'static Team, group: &'static Group) {
    team.parent.store(None, Ordering::Relaxed);
    team.group.store(Some(group), Ordering::Relaxed);
    team.dock.level.store(0, Ordering::Relaxed);
    team.dock.active_level.store(0, Ordering::Relaxed);
}

fn with_limit(mut icvs: Icvs, clause: u32) -> Icvs {
    if clause != 0 {
        icvs.thread_limit = limit(clause);
    }
    icvs
}

fn set_league(group: &Group, team_num: u32, num_teams: u32) {
    group.team_num.store(team_num, Ordering::Relaxed);
    group.num_teams.store(num_teams, Ordering::Relaxed);
}

/// Runs a `teams` region that is not inside a `target` region. 0 stands for an
/// absent clause, `default` is the number of teams if the user does not say either.
pub fn teams(function: Outlined, data: Opaque, num_teams: u32, thread_limit: u32, default: u32) {
    let device = &runtime().device;
    let first_of = |clause: u32, icv: i32| if clause != 0 { clause } else { icv as u32 };
    let num_teams = match first_of(num_teams, device.num_teams()) {
        0 => default,
        given => given,
    };
    let member = current();
    let Some(group) = member.team().group() else {
        return;
    };
    let outer = member.icvs();
    let inner = with_limit(outer, first_of(thread_limit, device.teams_thread_limit()));
    let run = |team_num| {
        set_league(group, team_num, num_teams);
        member.set_icvs(inner);
        observer::call_team(member, (team_num, num_teams), function, data);
    };
    observer::league(member, num_teams, || (0..num_teams).for_each(run));
    set_league(group, 0, 1);
    member.set_icvs(outer);
}

/// Goes on to the next team of a `teams` region inside a `target` region;
/// false if all have run. 0 stands for an absent clause.
pub fn next_team(num_teams: u32, thread_limit: u32, first: bool) -> bool {
    let member = current();
    let Some(group) = member.team().group() else {
        return first;
    };
    if first {
        member.set_icvs(with_limit(member.icvs(), thread_limit));
        set_league(group, 0, num_teams.max(1));
        return true;
    }
    let next = group.team_num.load(Ordering::Relaxed) + 1;
    let more = next < group.num_teams.load(Ordering::Relaxed);
    if more {
        group.team_num.store(next, Ordering::Relaxed);
    }
    more
}
