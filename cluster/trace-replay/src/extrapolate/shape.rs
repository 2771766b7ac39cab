//! What an interval's accesses look like: ranges of pages by kind of access and by
//! memory.

use super::places::{Places, Space};
use fathomp_access_trace::Run;
use fathomp_protocols::Access;
use std::collections::BTreeMap;

/// Pages next to each other that were accessed in the same way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Range {
    pub(super) first: u32,
    pub(super) end: u32,
    /// Bytes of the diffs of all its pages.
    pub(super) diff_bytes: u64,
    /// When it came among the runs.
    pub(super) turn: usize,
}

/// Memory and kind of access.
pub(super) type Group = (Space, Access);

/// An interval's ranges, ascending within each group.
pub(super) type Shape = BTreeMap<Group, Vec<Range>>;

/// The shape of thread `i`'s accesses; the first page of a run that is in memory of a
/// node with which it has nothing to do, if there is one.
pub(super) fn shape(runs: &[Run], i: u16, places: &Places) -> Result<Shape, u32> {
    let mut shape = Shape::new();
    for (turn, run) in runs.iter().enumerate() {
        let page = run.pages.first().0;
        let (space, first) = places.find(page, i).ok_or(page)?;
        let ranges = shape.entry((space, run.access)).or_default();
        ranges.push(Range {
            first,
            end: first.saturating_add(run.pages.len()),
            diff_bytes: u64::from(run.diff_bytes) * u64::from(run.pages.len()),
            turn,
        });
    }
    for ranges in shape.values_mut() {
        ranges.sort_unstable_by_key(|range| range.first);
        ranges.dedup_by(|next, range| {
            let touches = next.first <= range.end;
            if touches {
                range.end = range.end.max(next.end);
                range.diff_bytes += next.diff_bytes;
                range.turn = range.turn.min(next.turn);
            }
            touches
        });
    }
    Ok(shape)
}
