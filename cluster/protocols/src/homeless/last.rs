//! Which writers of a page are its last ones, and what nodes are asked for.

use crate::Interval;
use crate::order::Version;

/// What a node was asked for, of a page that is on its way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Asked {
    /// All of it, as its owner.
    Page,
    /// Diffs of its own.
    Own(Vec<Interval>),
    /// What it has of these; or else all of the page, if that will do.
    HandOn { wanted: Vec<Version>, whole: bool },
}

/// What the writer of an interval knew when it ended: all that barriers had told, and this.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Stamp {
    epoch: u32,
    knew: Vec<Version>,
}

impl Stamp {
    pub(super) fn new(epoch: u32, knew: Vec<Version>) -> Self {
        Self { epoch, knew }
    }
}

/// An interval, and what its writer knew.
pub(super) type Stamped<'a> = (Version, Option<&'a Stamp>);

/// Whether the writer of `last` had `before` when it wrote, as far as is known here.
pub(super) fn follows(last: Stamped, before: Stamped) -> bool {
    let ((writer, interval), (other, earlier)) = (last.0, before.0);
    if writer == other {
        return earlier <= interval;
    }
    last.1.zip(before.1).is_some_and(|(last, before)| {
        last.epoch > before.epoch
            || last.epoch == before.epoch && covers(&last.knew, (other, earlier))
    })
}

/// Divides intervals, none of which is before one that its writer knew, among the last writers.
pub(super) fn divide(mut left: Vec<Stamped>) -> Vec<Vec<Version>> {
    let mut parts = Vec::new();
    while let Some(&last) = left.last() {
        let (part, rest): (Vec<_>, _) = left.into_iter().partition(|v| follows(last, *v));
        parts.push(part.into_iter().map(|(version, _)| version).collect());
        left = rest;
    }
    parts
}

/// True if one of `versions` is of `version`'s node and at least as new.
pub(super) fn covers(versions: &[Version], version: Version) -> bool {
    versions
        .iter()
        .any(|(writer, interval)| *writer == version.0 && *interval >= version.1)
}
