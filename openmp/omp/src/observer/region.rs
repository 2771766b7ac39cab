//! A parallel region as observers are told of it.

use super::trips::Look;
use crate::icv::Icvs;
use crate::own::Own;
use crate::parallel::Fork;
use crate::team::{Member, Team};
use fathomp_types::Ticks;

// How many threads a region gets is decided where it begins; recordings say who has.
pub(crate) use fathomp_trace::record::Decider;

/// A thread meets a parallel construct.
pub(crate) struct Encounter<'a> {
    pub(crate) fork: &'a Fork<'a>,
    pub(crate) outer: &'static Member,
    pub(crate) icvs: &'a Icvs,
    /// The threads that the region would get. Who has a say in that says less.
    pub(crate) size: &'a mut u32,
    pub(crate) met: Met,
}

/// What observers note of a region before it has a team.
#[derive(Clone, Copy, Default)]
pub(crate) struct Met {
    /// When it was asked for, if it is recorded.
    pub(crate) asked: Option<Ticks>,
    /// What it is begun with, if that is known.
    pub(crate) look: Option<Look>,
    /// Who decided how many threads it has.
    pub(crate) decider: Decider,
    /// Programs that share the machine are to be told of its end.
    pub(crate) shared: bool,
    /// What it asks is looked at.
    pub(crate) watched: Option<Watched>,
}

/// A region whose execution is looked at for what it asks.
#[derive(Clone, Copy)]
pub(crate) struct Watched {
    pub(crate) index: u32,
    pub(crate) generation: u32,
}

/// A region that is about to begin.
pub(crate) struct Region<'a> {
    pub(crate) fork: &'a Fork<'a>,
    pub(crate) outer: &'static Member,
    pub(crate) team: &'static Team,
    /// The number of this execution, if another node has given it one; else 0.
    pub(crate) instance: u64,
    pub(crate) met: Met,
}

/// What the thread that began a region has to do about it at the end.
///
/// It stands in the team, not in the frame on that thread's stack: the program's data lie
/// right beside that frame, and what is written there while the region runs would look, to
/// nodes, as if the program had written it.
#[derive(Debug, Default)]
pub(crate) struct AtEnd {
    shared: Own,
    watched: Own,
    index: Own,
    generation: Own,
}

impl AtEnd {
    pub(super) fn note(&self, met: &Met) {
        self.shared.set(met.shared.into());
        self.watched.set(met.watched.is_some().into());
        if let Some(watched) = met.watched {
            self.index.set(watched.index);
            self.generation.set(watched.generation);
        }
    }

    /// Whether programs that share the machine are to be told.
    pub(crate) fn is_shared(&self) -> bool {
        self.shared.get() != 0
    }

    /// The region whose execution is watched, if it is.
    pub(crate) fn watched(&self) -> Option<Watched> {
        (self.watched.get() != 0).then(|| Watched {
            index: self.index.get(),
            generation: self.generation.get(),
        })
    }
}
