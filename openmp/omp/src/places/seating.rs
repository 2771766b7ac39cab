//! Puts the members of a team on their places.
//!
//! The thread that forms a team works out how it is dealt
//! ([`bind_team`]); every member then moves itself ([`move_to_place`]). Both
//! run only if the user asked for binding, and members only move if the team's
//! stamp is new to them, so a region that repeats costs one compare.

use super::{Assignment, Partition, Places, TeamBinding, display};
use crate::env::Settings;
use crate::icv::{Icvs, ProcBind};
use crate::message;
use crate::own::Own;
use crate::runtime::{read_environment, runtime};
use crate::team::{Member, Team};
use std::sync::atomic::Ordering;
use std::sync::{OnceLock, PoisonError};

/// Where a member is: its place and `place-partition-var`.
#[derive(Debug, Default)]
pub(crate) struct Spot {
    place: Own,
    first: Own,
    /// 0 if the member has no place.
    len: Own,
}

impl Spot {
    pub(crate) fn get(&self) -> Option<Assignment> {
        (self.len.get() != 0).then(|| Assignment {
            place: self.place.get(),
            partition: Partition {
                first: self.first.get(),
                len: self.len.get(),
            },
        })
    }

    fn set(&self, assignment: Assignment) {
        self.place.set(assignment.place);
        self.first.set(assignment.partition.first);
        self.len.set(assignment.partition.len);
    }

    /// The member has no place any more.
    pub(crate) fn clear(&self) {
        self.len.set(0);
    }
}

/// The place list of this process, found at the first call. Warnings about it
/// go to stderr.
pub fn places() -> &'static Places {
    static PLACES: OnceLock<Places> = OnceLock::new();
    PLACES.get_or_init(|| {
        let (places, warnings) = Places::of_this_machine(&read_environment().0);
        for warning in warnings {
            message::warn(format_args!("{warning}"));
        }
        places
    })
}

/// Whether forking a team needs [`bind_team`].
pub(crate) fn wanted(settings: &Settings, icvs: &Icvs) -> bool {
    icvs.bind != ProcBind::False || settings.display_affinity
}

/// Works out where the members of `team`, `size` on all nodes, belong, and tells them if
/// that is new. Nodes share the machine, and thus its places.
#[cold]
pub(crate) fn bind_team(
    team: &'static Team,
    outer: &'static Member,
    icvs: &Icvs,
    clause: Option<ProcBind>,
    size: u32,
) {
    let binding = assignment_of(outer).map(|parent| TeamBinding {
        parent,
        policy: icvs.team_bind(clause),
        team_size: size,
    });
    let mut known = team.binding.lock().unwrap_or_else(PoisonError::into_inner);
    if *known != binding || runtime().settings.display_affinity {
        *known = binding;
        let stamp = team.dock.place_stamp.load(Ordering::Relaxed);
        team.dock
            .place_stamp
            .store(stamp.wrapping_add(1).max(1), Ordering::Relaxed);
    }
}

/// The calling thread, which plays `member`, goes where `team` wants it.
#[cold]
pub(crate) fn move_to_place(member: &'static Member, team: &'static Team) {
    let stamp = team.dock.place_stamp.load(Ordering::Relaxed);
    let binding = *team.binding.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(binding) = binding {
        settle(member, binding.thread(member.thread_num()));
    }
    member.place_stamp.set(stamp);
    if runtime().settings.display_affinity {
        display::show_if_new(member);
    }
}

/// The place of the calling thread, which plays `member`. An initial thread
/// takes its first place now. `None` if threads are not bound.
#[must_use]
pub fn assignment_of(member: &'static Member) -> Option<Assignment> {
    member.spot.get().or_else(|| {
        let first = places().initial()?;
        settle(member, first);
        Some(first)
    })
}

fn settle(member: &'static Member, assignment: Assignment) {
    member.spot.set(assignment);
    let bound = &member.worker().bound;
    // Stored as number + 1, 0 for "nowhere".
    let wanted = assignment.place + 1;
    if bound.get() != wanted {
        // A refusal leaves the thread where it was; nothing better can be done, nor by retrying.
        let _ = places().bind_this_thread(assignment.place);
        bound.set(wanted);
    }
}
