//! The same accesses on pages of another size.

use crate::accesses::{Accesses, Run, Thread};
use fathomp_protocols::{Access, Area, PageRange, Placement};
use fathomp_types::PageId;
use std::collections::HashMap;

impl Accesses {
    /// What would have been recorded if `times` pages were one, as on systems with larger
    /// pages. Diffs are those of all parts together.
    #[must_use]
    pub fn with_larger_pages(&self, times: u32) -> Self {
        let times = times.max(1);
        if times == 1 {
            return self.clone();
        }
        let mut begins = Vec::new();
        let (mut old, mut new) = (0_u32, 0_u32);
        let mut areas = Vec::new();
        for area in &self.areas {
            begins.push((old, new));
            let pages = area.pages.div_ceil(times);
            areas.push(Area {
                pages,
                home: match area.home {
                    Placement::Cyclic(stretch) => Placement::Cyclic(stretch.div_ceil(times).max(1)),
                    home => home,
                },
            });
            old = old.saturating_add(area.pages);
            new = new.saturating_add(pages);
        }
        let larger = |page: PageId| {
            let at = begins.partition_point(|(old, _)| *old <= page.0);
            let (old, new) = begins.get(at.wrapping_sub(1)).copied().unwrap_or_default();
            PageId(new + (page.0 - old) / times)
        };
        let thread = |thread: &Thread| Thread {
            sets: thread
                .sets
                .iter()
                .map(|set| regrouped(set, &larger))
                .collect(),
            steps: thread.steps.clone(),
        };
        Self {
            page_bytes: self.page_bytes.saturating_mul(times),
            areas,
            loads_acquire: self.loads_acquire,
            threads: self.threads.iter().map(thread).collect(),
        }
    }
}

/// A larger page as a set touches it.
struct Touched {
    page: PageId,
    access: Access,
    /// Bytes of its parts' diffs, without what is in each.
    bytes: u32,
}

/// A set of runs on larger pages, in the order of first touch.
fn regrouped(set: &[Run], larger: &impl Fn(PageId) -> PageId) -> Vec<Run> {
    let mut touched: Vec<Touched> = Vec::new();
    let mut known: HashMap<(PageId, Access), usize> = HashMap::new();
    for run in set {
        let more = run.diff_bytes.saturating_sub(Accesses::EMPTY_DIFF_BYTES);
        for page in run.pages.iter() {
            let page = larger(page);
            // What was written can be read.
            let is_there = run.access == Access::Read && known.contains_key(&(page, Access::Write));
            if is_there {
                continue;
            }
            let at = *known.entry((page, run.access)).or_insert(touched.len());
            match touched.get_mut(at) {
                Some(touched) => touched.bytes = touched.bytes.saturating_add(more),
                None => touched.push(Touched {
                    page,
                    access: run.access,
                    bytes: more,
                }),
            }
        }
    }
    let mut runs: Vec<Run> = Vec::new();
    for Touched {
        page,
        access,
        bytes,
    } in touched
    {
        let diff_bytes = match access {
            Access::Write => bytes.saturating_add(Accesses::EMPTY_DIFF_BYTES),
            Access::Read => 0,
        };
        let next = runs.last_mut().filter(|last| {
            let end = last.pages.first().0.checked_add(last.pages.len());
            (last.access, last.diff_bytes, end) == (access, diff_bytes, Some(page.0))
        });
        let longer = next.and_then(|last| {
            let pages = PageRange::new(last.pages.first(), last.pages.len() + 1)?;
            last.pages = pages;
            Some(())
        });
        if longer.is_none() {
            runs.push(Run {
                access,
                pages: page.into(),
                diff_bytes,
            });
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accesses::{End, Step};
    use fathomp_types::NodeId;

    fn run(access: Access, first: u32, pages: u32, diff_bytes: u32) -> Run {
        Run {
            access,
            pages: PageRange::new(PageId(first), pages).unwrap(),
            diff_bytes,
        }
    }

    fn accesses(runs: Vec<Run>) -> Accesses {
        let area = |pages, home| Area { pages, home };
        let all = Accesses {
            page_bytes: Accesses::PAGE_BYTES,
            areas: vec![
                area(5, Placement::At(NodeId(0))),
                area(8, Placement::Cyclic(3)),
            ],
            loads_acquire: false,
            threads: vec![Thread {
                sets: vec![runs],
                steps: vec![Step {
                    set: 0,
                    work_ns: 7,
                    end: End::Exit,
                    order_bytes: 0,
                    region: 0,
                }],
            }],
        };
        all.check().unwrap();
        all
    }

    #[test]
    fn parts_of_a_page_are_touched_together() {
        // Areas keep apart: pages 0 to 4 become 0 to 2, pages 5 to 12 become 3 to 6.
        let before = accesses(vec![
            run(Access::Read, 0, 5, 0),
            run(Access::Write, 5, 4, 108),
            run(Access::Write, 9, 1, 58),
            run(Access::Read, 6, 1, 0),
        ]);
        let after = before.with_larger_pages(2);
        after.check().unwrap();
        let pages: Vec<u32> = after.areas.iter().map(|area| area.pages).collect();
        assert_eq!(pages, [3, 4]);
        assert_eq!(after.areas[1].home, Placement::Cyclic(2));
        assert_eq!(
            after.threads[0].sets[0],
            [
                run(Access::Read, 0, 3, 0),
                run(Access::Write, 3, 2, 208),
                run(Access::Write, 5, 1, 58),
            ]
        );
        assert_eq!(after.threads[0].steps, before.threads[0].steps);
    }

    #[test]
    fn one_page_is_a_page() {
        let before = accesses(vec![run(Access::Write, 0, 13, 4616)]);
        assert_eq!(before.with_larger_pages(1), before);
        let whole = before.with_larger_pages(512);
        whole.check().unwrap();
        let set = &whole.threads[0].sets[0];
        assert_eq!(set.len(), 2, "{set:?}");
        assert_eq!(before.with_larger_pages(0), before);
    }
}
