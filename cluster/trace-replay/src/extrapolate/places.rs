//! Where pages are, whatever the number of threads: in memory that there is once, or
//! in memory that each thread's node has.

use fathomp_protocols::{Area, Placement};
use fathomp_types::NodeId;

/// Memory of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    pub(super) pages: u32,
    pub(super) home: Placement,
    /// Each node has such memory; `home` is that of node 0.
    pub(super) each: bool,
}

/// Whose memory it is, as seen from a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Whose {
    /// There is one, or it is node 0's.
    First,
    Own,
    Previous,
    Next,
}

/// A place of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Space {
    pub(super) kind: usize,
    pub(super) whose: Whose,
}

/// The memory of a recording, in kinds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Places {
    pub(super) kinds: Vec<Kind>,
    threads: u16,
}

impl Places {
    pub(super) fn of(areas: &[Area], threads: u16) -> Self {
        let mut kinds = Vec::new();
        let mut rest = areas;
        while let Some((first, others)) = rest.split_first() {
            let all = rest.get(..usize::from(threads));
            let each = all.is_some_and(|all| threads > 1 && is_one_each(all));
            kinds.push(Kind {
                pages: first.pages,
                home: first.home,
                each,
            });
            rest = match each {
                true => rest.get(usize::from(threads)..).unwrap_or_default(),
                false => others,
            };
        }
        Self { kinds, threads }
    }

    /// Where a page is, as thread `i` sees it, and its number there; none if it is
    /// memory of a node that has nothing to do with the thread.
    pub(super) fn find(&self, page: u32, i: u16) -> Option<(Space, u32)> {
        let mut at = page;
        for (number, kind) in self.kinds.iter().enumerate() {
            let copies = if kind.each { self.threads } else { 1 };
            let all = u64::from(kind.pages) * u64::from(copies);
            if u64::from(at) >= all {
                at = u32::try_from(u64::from(at) - all).ok()?;
                continue;
            }
            let node = u16::try_from(at / kind.pages.max(1)).ok()?;
            let whose = match node {
                0 => Whose::First,
                own if own == i => Whose::Own,
                next if next == i + 1 => Whose::Next,
                previous if previous + 1 == i => Whose::Previous,
                _ => return None,
            };
            let space = Space {
                kind: number,
                whose,
            };
            return Some((space, at % kind.pages.max(1)));
        }
        None
    }
}

/// Areas alike, one for each node in order.
fn is_one_each(areas: &[Area]) -> bool {
    let numbered = (0..).map(NodeId).zip(areas);
    let pages = areas.first().map(|area| area.pages);
    let at = |of: fn(NodeId) -> Placement| {
        numbered
            .clone()
            .all(|(node, area)| area.home == of(node) && Some(area.pages) == pages)
    };
    at(Placement::At) || at(Placement::Pinned)
}

/// The node whose memory a thread means.
pub(super) fn node_of(whose: Whose, i: u16) -> u16 {
    match whose {
        Whose::First => 0,
        Whose::Own => i,
        Whose::Previous => i.saturating_sub(1),
        Whose::Next => i.saturating_add(1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_of_each_node_is_one_kind() {
        let area = |pages, home: fn(NodeId) -> Placement, node| Area {
            pages,
            home: home(NodeId(node)),
        };
        let areas = [
            area(7, Placement::At, 0),
            area(10, Placement::At, 0),
            area(10, Placement::At, 1),
            area(10, Placement::At, 2),
            area(4, Placement::Pinned, 0),
            area(4, Placement::Pinned, 1),
            area(4, Placement::Pinned, 2),
        ];
        let places = Places::of(&areas, 3);
        let each: Vec<_> = places.kinds.iter().map(|kind| kind.each).collect();
        assert_eq!(each, [false, true, true]);
        let space = |kind, whose| Space { kind, whose };
        assert_eq!(places.find(6, 1), Some((space(0, Whose::First), 6)));
        assert_eq!(places.find(17, 1), Some((space(1, Whose::Own), 0)));
        assert_eq!(places.find(30, 1), Some((space(1, Whose::Next), 3)));
        assert_eq!(places.find(42, 2), Some((space(2, Whose::Previous), 1)));
        assert_eq!(places.find(30, 0), None);
        assert_eq!(places.find(49, 0), None);
    }
}
