//! Cancellation of regions, loops and sections.
//!
//! A cancelled loop or sections construct is remembered by its barrier phase
//! and construct number, which all its members know and which never come
//! again: nobody has to take a cancellation back. Statically scheduled loops
//! that the compiler divides itself have no number of their own; the phase
//! tells them apart.

use super::schedule;
use crate::cluster::Nodes;
use crate::runtime::runtime;
use crate::task;
use crate::team::Member;
use std::sync::atomic::{AtomicU64, Ordering};

/// What a `cancel` construct names. Bits of the argument of `GOMP_cancel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cancel {
    /// The parallel region.
    Parallel,
    /// The worksharing loop or sections construct.
    Worksharing,
    /// The taskgroup.
    Taskgroup,
}

/// The worksharing construct of a team that was cancelled last.
#[derive(Debug)]
pub(crate) struct Cancelled(AtomicU64);

impl Cancelled {
    pub(crate) const fn new() -> Self {
        // No construct: bit 31 is always clear in a key.
        Self(AtomicU64::new(u64::MAX))
    }
}

fn key(member: &Member) -> u64 {
    let construct = member.share.construct() & 0x7fff_ffff;
    u64::from(member.phase.get()) << 32 | u64::from(construct)
}

/// Cancels, if cancellation is enabled; `true` if the caller shall go to the
/// construct's end.
pub fn cancel(member: &'static Member, what: Cancel) -> bool {
    if !runtime().settings.cancellation {
        return false;
    }
    let team = member.team();
    match what {
        Cancel::Parallel => {
            team.cancel();
            if let Some(nodes) = team.nodes() {
                nodes.cancel();
            }
        }
        Cancel::Worksharing => {
            team.shares.cancelled.0.store(key(member), Ordering::SeqCst);
            schedule::give_up(member);
        }
        Cancel::Taskgroup => return task::cancel_taskgroup(member),
    }
    true
}

/// Whether what the caller is in has been cancelled.
pub fn is_cancelled(member: &'static Member, what: Cancel) -> bool {
    if !runtime().settings.cancellation {
        return false;
    }
    let team = member.team();
    match what {
        Cancel::Parallel => {
            let here = team.cancelled.load(Ordering::SeqCst);
            let elsewhere = !here && team.nodes().is_some_and(Nodes::is_cancelled);
            if elsewhere {
                team.cancel();
            }
            here || elsewhere
        }
        Cancel::Worksharing => team.shares.cancelled.0.load(Ordering::SeqCst) == key(member),
        Cancel::Taskgroup => task::taskgroup_cancelled(member),
    }
}
