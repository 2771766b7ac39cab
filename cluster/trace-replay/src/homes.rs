//! Where pages are at home on the cluster replayed on.

use fathomp_access_trace::{Accesses, End};
use fathomp_protocols::{Access, Area, Placement};
use fathomp_types::NodeId;
use std::collections::BTreeMap;
use std::ops::Range;

/// Where pages that are not somebody's stack are at home at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Homes {
    /// At the nodes of the threads at whose nodes they were when recorded.
    Recorded,
    /// Each node has one stretch of the pages touched in each area.
    Block,
    /// Stretches of so many pages are dealt round-robin.
    Cyclic(u32),
    /// All at node 0.
    First,
    /// Each page at the node of the thread that touches it first: before the
    /// earliest barrier; of several, one that writes it, and the lowest of these.
    FirstTouch,
}

/// The node of a thread, if `threads` are divided among `nodes` in order.
pub(crate) fn node_of(thread: usize, threads: usize, nodes: u16) -> NodeId {
    let node = thread * usize::from(nodes) / threads.max(1);
    NodeId(u16::try_from(node).unwrap_or(u16::MAX))
}

/// The areas of a cluster of `nodes` nodes, no more than there are threads.
pub(crate) fn areas(accesses: &Accesses, homes: Homes, nodes: u16) -> Vec<Area> {
    let threads = accesses.threads.len();
    let at = |node: NodeId| node_of(usize::from(node.0), threads, nodes);
    let mut areas = Vec::new();
    let mut first = 0;
    let touch = match homes {
        Homes::Recorded => Touch::default(),
        _ => Touch::of(accesses, nodes),
    };
    for area in &accesses.areas {
        let all = first..first + area.pages;
        first = all.end;
        let recorded = match area.home {
            Placement::At(node) => Placement::At(at(node)),
            Placement::Pinned(node) => Placement::Pinned(at(node)),
            other => other,
        };
        let Some(used) = touch.span(&all) else {
            put(&mut areas, area.pages, recorded);
            continue;
        };
        if matches!(recorded, Placement::Pinned(_)) {
            put(&mut areas, area.pages, recorded);
            continue;
        }
        put(&mut areas, used.start - all.start, recorded);
        let pages = used.end - used.start;
        match homes {
            Homes::Recorded => put(&mut areas, pages, recorded),
            Homes::Block => put(&mut areas, pages, Placement::Block),
            Homes::Cyclic(stretch) => put(&mut areas, pages, Placement::Cyclic(stretch)),
            Homes::First => put(&mut areas, pages, Placement::At(NodeId(0))),
            Homes::FirstTouch => touch.put(&mut areas, &used),
        }
        put(&mut areas, all.end - used.end, recorded);
    }
    areas
}

/// Appends pages, to the last area if it is at home there too.
fn put(areas: &mut Vec<Area>, pages: u32, home: Placement) {
    match areas.last_mut() {
        _ if pages == 0 => {}
        Some(last) if last.home == home && matches!(home, Placement::At(_)) => last.pages += pages,
        _ => areas.push(Area { pages, home }),
    }
}

/// The first barrier before which a thread touches a page, whether it only reads, and
/// the thread.
type When = (u32, bool, usize);

/// Who touched each page first: runs of pages with the same node, ascending.
#[derive(Debug, Default)]
struct Touch(Vec<(Range<u32>, NodeId)>);

impl Touch {
    fn of(accesses: &Accesses, nodes: u16) -> Self {
        let threads = accesses.threads.len();
        let mut runs: Vec<(u32, u32, When)> = Vec::new();
        for (number, thread) in accesses.threads.iter().enumerate() {
            let mut seen = vec![false; thread.sets.len()];
            let mut barriers = 0;
            for step in &thread.steps {
                let set = step.set as usize;
                if let Some(new) = seen.get_mut(set).filter(|seen| !**seen) {
                    *new = true;
                    runs.extend(thread.sets[set].iter().map(|run| {
                        let first = run.pages.first().0;
                        let when = (barriers, run.access == Access::Read, number);
                        (first, first + run.pages.len(), when)
                    }));
                }
                barriers += u32::from(step.end == End::Barrier);
            }
        }
        // A sweep over all ends of runs: the earliest of the open runs counts.
        let mut edges: Vec<(u32, bool, When)> = Vec::with_capacity(2 * runs.len());
        for (first, end, when) in runs {
            edges.extend([(first, true, when), (end, false, when)]);
        }
        edges.sort_unstable();
        let mut open: BTreeMap<When, u32> = BTreeMap::new();
        let mut touched: Vec<(Range<u32>, NodeId)> = Vec::new();
        let mut at = 0;
        for (edge, begins, when) in edges {
            if let Some((_, _, thread)) = open.keys().next()
                && at < edge
            {
                let node = node_of(*thread, threads, nodes);
                match touched.last_mut() {
                    Some((last, same)) if last.end == at && *same == node => last.end = edge,
                    _ => touched.push((at..edge, node)),
                }
            }
            at = edge;
            let count = open.entry(when).or_default();
            *count = if begins {
                *count + 1
            } else {
                count.saturating_sub(1)
            };
            if *count == 0 {
                open.remove(&when);
            }
        }
        Self(touched)
    }

    /// Runs that have a page of a range.
    fn inside(&self, range: &Range<u32>) -> &[(Range<u32>, NodeId)] {
        let first = self.0.partition_point(|(run, _)| run.end <= range.start);
        let end = self.0.partition_point(|(run, _)| run.start < range.end);
        self.0.get(first..end).unwrap_or_default()
    }

    /// From the first page of a range that was touched to the last.
    fn span(&self, range: &Range<u32>) -> Option<Range<u32>> {
        let inside = self.inside(range);
        let (first, last) = (inside.first()?, inside.last()?);
        Some(first.0.start.max(range.start)..last.0.end.min(range.end))
    }

    /// Appends the pages of a range, each where it was touched first; others stay
    /// with those before.
    fn put(&self, areas: &mut Vec<Area>, range: &Range<u32>) {
        let mut at = range.start;
        let inside = self.inside(range);
        for (number, (run, node)) in inside.iter().enumerate() {
            let next = inside
                .get(number + 1)
                .map_or(range.end, |(next, _)| next.start);
            let end = next.min(range.end).max(run.end.min(range.end));
            put(areas, end.saturating_sub(at), Placement::At(*node));
            at = at.max(end);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_access_trace::{Run, Step, Thread};
    use fathomp_protocols::PageRange;
    use fathomp_types::PageId;

    fn thread(sets: &[&[(u32, u32)]]) -> Thread {
        let run = |(first, pages): &(u32, u32)| Run {
            access: Access::Read,
            pages: PageRange::new(PageId(*first), *pages).unwrap(),
            diff_bytes: 0,
        };
        let last = sets.len() - 1;
        let step = |set: usize| Step {
            set: set as u32,
            work_ns: 0,
            end: if set == last { End::Exit } else { End::Barrier },
            order_bytes: 0,
            region: 0,
        };
        Thread {
            sets: sets
                .iter()
                .map(|runs| runs.iter().map(run).collect())
                .collect(),
            steps: (0..sets.len()).map(step).collect(),
        }
    }

    fn at(pages: u32, node: u16) -> Area {
        Area {
            pages,
            home: Placement::At(NodeId(node)),
        }
    }

    #[test]
    fn who_is_first_has_the_page() {
        let pinned = Area {
            pages: 2,
            home: Placement::Pinned(NodeId(1)),
        };
        let accesses = Accesses {
            page_bytes: Accesses::PAGE_BYTES,
            areas: vec![at(20, 0), pinned],
            loads_acquire: false,
            threads: vec![
                thread(&[&[(2, 3)], &[(5, 5)]]),
                thread(&[&[(4, 4)], &[(15, 1)]]),
            ],
        };
        assert_eq!(
            areas(&accesses, Homes::FirstTouch, 2),
            [at(5, 0), at(3, 1), at(7, 0), at(1, 1), at(4, 0), pinned]
        );
        let block = |pages| Area {
            pages,
            home: Placement::Block,
        };
        assert_eq!(
            areas(&accesses, Homes::Block, 2),
            [at(2, 0), block(14), at(4, 0), pinned]
        );
        let alone = Placement::Pinned(NodeId(0));
        assert_eq!(
            areas(&accesses, Homes::Recorded, 1),
            [
                at(20, 0),
                Area {
                    home: alone,
                    ..pinned
                }
            ]
        );
    }
}
