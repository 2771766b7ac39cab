//! The state of a page at one node.

use super::message::Version;
use crate::Access;
use fathomp_base::{NodeId, ThreadId};
use std::collections::BTreeSet;

/// Threads that stand still at a page, and what they wanted.
pub(super) type Waiters = Vec<(ThreadId, Access)>;

/// A page as its node sees it. A page that has no state is
/// [`Here::exclusive`] at its home and absent everywhere else.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Page<B> {
    /// At home here, and others may have copies.
    Here(Here),
    /// At home elsewhere; asked for.
    Fetching {
        waiters: Waiters,
        /// Intervals that wrote the page and that were learned of meanwhile.
        wanted: Vec<Version>,
    },
    /// At home elsewhere; arrived, but newer than what this node knows of.
    Held {
        waiters: Waiters,
        content: B,
        versions: Vec<Version>,
    },
    /// A valid copy of a page that is at home elsewhere.
    Clean,
    /// A copy with writes that the home does not have.
    Dirty,
}

/// A page at home here that is shared.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Here {
    /// Nodes that may have a valid copy.
    pub(super) copies: BTreeSet<NodeId>,
    /// Whether threads of this node wrote it in the open interval.
    pub(super) written: bool,
    /// Others' intervals of this epoch that are part of it.
    pub(super) versions: Vec<Version>,
}

impl<B> Page<B> {
    pub(super) fn here(&mut self) -> Option<&mut Here> {
        match self {
            Self::Here(here) => Some(here),
            _ => None,
        }
    }
}

/// True if one of `versions` is of `version`'s node and at least as new.
pub(super) fn includes(versions: &[Version], version: Version) -> bool {
    versions
        .iter()
        .any(|(writer, interval)| *writer == version.0 && *interval >= version.1)
}

/// Adds a version, in place of an older one of the same node.
pub(super) fn note(versions: &mut Vec<Version>, version: Version) {
    match versions.iter_mut().find(|(writer, _)| *writer == version.0) {
        Some((_, interval)) => *interval = (*interval).max(version.1),
        None => versions.push(version),
    }
}
