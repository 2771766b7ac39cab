//! Pages that nodes share only because a page is larger than what they access of it.

use crate::homes::node_of;
use fathomp_access_trace::{Accesses, End};
use fathomp_protocols::Access;
use std::collections::HashMap;

/// Pages that several nodes access in one phase, from a barrier to the next, of which one
/// writes: in all phases together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shared {
    /// In them there is something recorded by itself that one writes and another accesses.
    pub truly: u64,
    /// There is nothing such: with the smallest pages, nobody would share anything.
    pub falsely: u64,
}

/// A part that is recorded by itself, who accesses it, and whether that node writes it.
type Part = (u32, u16, bool);

/// Pages of each size that are shared on so many nodes. A size is how many of the pages
/// that were recorded make one.
#[must_use]
pub fn shared_pages(accesses: &Accesses, nodes: u16, sizes: &[u32]) -> Vec<Shared> {
    let phases = phases(accesses);
    // Loops go through the same phases again and again.
    let mut times: HashMap<&Phase, u64> = HashMap::new();
    for phase in &phases {
        *times.entry(phase).or_default() += 1;
    }
    let mut all = vec![Shared::default(); sizes.len()];
    for (phase, times) in times {
        let parts = parts(accesses, phase, nodes);
        for (sum, size) in all.iter_mut().zip(sizes) {
            let shared = count(accesses, &parts, (*size).max(1));
            sum.truly += shared.truly * times;
            sum.falsely += shared.falsely * times;
        }
    }
    all
}

/// By thread, the sets that it goes through.
type Phase = Vec<Vec<u32>>;

fn phases(accesses: &Accesses) -> Vec<Phase> {
    let mut phases: Vec<Phase> = Vec::new();
    for (thread, of) in accesses.threads.iter().enumerate() {
        let mut phase = 0;
        for step in &of.steps {
            if phases.len() <= phase {
                phases.resize_with(phase + 1, || vec![Vec::new(); accesses.threads.len()]);
            }
            phases[phase][thread].push(step.set);
            phase += usize::from(step.end == End::Barrier);
        }
    }
    for sets in phases.iter_mut().flatten() {
        sets.sort_unstable();
        sets.dedup();
    }
    phases
}

/// What each node accesses in a phase, in order, each part once.
fn parts(accesses: &Accesses, phase: &Phase, nodes: u16) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    let threads = accesses.threads.len();
    for (number, sets) in phase.iter().enumerate() {
        let node = node_of(number, threads, nodes).0;
        let known = &accesses.threads[number].sets;
        let runs = sets.iter().filter_map(|set| known.get(*set as usize));
        for run in runs.flatten() {
            let writes = run.access == Access::Write;
            parts.extend(run.pages.iter().map(|page| (page.0, node, writes)));
        }
    }
    parts.sort_unstable();
    // Of a node that reads and writes one, the write is the last.
    parts.dedup_by(|next, kept| {
        let same = (next.0, next.1) == (kept.0, kept.1);
        kept.2 |= same && next.2;
        same
    });
    parts
}

fn count(accesses: &Accesses, parts: &[Part], size: u32) -> Shared {
    let mut shared = Shared::default();
    let mut rest = parts;
    let mut first = 0;
    for area in &accesses.areas {
        let end = first + area.pages;
        let (here, behind) = rest.split_at(rest.partition_point(|part| part.0 < end));
        rest = behind;
        for page in here.chunk_by(|a, b| (a.0 - first) / size == (b.0 - first) / size) {
            if !is_shared(page) {
                continue;
            }
            let truly = page.chunk_by(|a, b| a.0 == b.0).any(is_shared);
            shared.truly += u64::from(truly);
            shared.falsely += u64::from(!truly);
        }
        first = end;
    }
    shared
}

/// Whether several nodes access these parts, and one writes.
fn is_shared(parts: &[Part]) -> bool {
    let mut nodes = parts.iter().map(|part| part.1);
    let first = nodes.next();
    nodes.any(|node| Some(node) != first) && parts.iter().any(|part| part.2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathomp_access_trace::{Run, Step, Thread};
    use fathomp_protocols::{Area, PageRange, Placement};
    use fathomp_types::{NodeId, PageId};

    fn run(access: Access, first: u32, pages: u32) -> Run {
        Run {
            access,
            pages: PageRange::new(PageId(first), pages).unwrap(),
            diff_bytes: 0,
        }
    }

    /// Two threads go so often through what each accesses, with a barrier behind it.
    fn program(first: Vec<Run>, second: Vec<Run>, times: usize) -> Accesses {
        let thread = |runs| {
            let step = |set, end| Step {
                set,
                work_ns: 0,
                end,
                order_bytes: 0,
                region: 0,
            };
            let mut steps = vec![step(0, End::Barrier); times];
            steps.push(step(1, End::Exit));
            Thread {
                sets: vec![runs, Vec::new()],
                steps,
            }
        };
        Accesses {
            page_bytes: Accesses::LINE_BYTES,
            areas: vec![
                Area {
                    pages: 6,
                    home: Placement::At(NodeId(0)),
                },
                Area {
                    pages: 64,
                    home: Placement::At(NodeId(0)),
                },
            ],
            loads_acquire: false,
            threads: vec![thread(first), thread(second)],
        }
    }

    fn shared(truly: u64, falsely: u64) -> Shared {
        Shared { truly, falsely }
    }

    #[test]
    fn neighbours_share_falsely_what_is_larger_than_their_parts() {
        // Line 5 ends an area: line 6 is never part of the same page.
        let first = vec![run(Access::Write, 5, 1), run(Access::Write, 8, 1)];
        let second = vec![run(Access::Write, 6, 1), run(Access::Read, 9, 1)];
        let program = program(first, second, 3);
        let sizes = [1, 2, 4];
        // Lines 6 to 9 are the second area's first page of four.
        let expected = [shared(0, 0), shared(0, 3), shared(0, 3)];
        assert_eq!(shared_pages(&program, 2, &sizes), expected);
        // One node shares with nobody.
        assert_eq!(shared_pages(&program, 1, &sizes), [shared(0, 0); 3]);
    }

    #[test]
    fn what_is_shared_by_itself_is_so_in_larger_pages() {
        let first = vec![run(Access::Read, 10, 2), run(Access::Write, 10, 1)];
        let second = vec![run(Access::Read, 10, 1)];
        let all = shared_pages(&program(first, second, 2), 2, &[1, 64]);
        assert_eq!(all, [shared(2, 0); 2]);
        let readers = |page| vec![run(Access::Read, page, 1)];
        let all = shared_pages(&program(readers(10), readers(10), 2), 2, &[1, 64]);
        assert_eq!(all, [shared(0, 0); 2]);
    }
}
