//! Books of what the program may do to the pages of one area, and of which
//! pages the kernel has been told so.

use super::permission::Permission;
use std::collections::HashMap;
use std::ops::Range;

/// Pages in a chunk: what one page table holds.
pub(super) const CHUNK: usize = 512;

/// What is known of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct State {
    pub(super) permitted: Permission,
    /// The program's accesses go through, as far as they are permitted. If not,
    /// the page is not in the program's page table.
    pub(super) installed: bool,
}

const FORBIDDEN: State = State {
    permitted: Permission::None,
    installed: false,
};

/// Pages that share a page table.
#[derive(Clone, Debug)]
struct Chunk {
    /// The kernel itself installs pages at their first access: nothing has ever
    /// been forbidden here.
    served: bool,
    states: Box<[State; CHUNK]>,
}

/// The books. Only chunks that differ from the rest cost memory.
#[derive(Debug)]
pub(super) struct Permits {
    pages: usize,
    rest: Chunk,
    chunks: HashMap<usize, Chunk>,
}

impl Permits {
    /// Everything is permitted and served by the kernel.
    pub(super) fn new(pages: usize) -> Self {
        let everything = State {
            permitted: Permission::ReadWrite,
            installed: true,
        };
        Self {
            pages,
            rest: Chunk {
                served: true,
                states: Box::new([everything; CHUNK]),
            },
            chunks: HashMap::new(),
        }
    }

    fn chunk(&mut self, index: usize) -> &mut Chunk {
        let rest = &self.rest;
        self.chunks.entry(index).or_insert_with(|| rest.clone())
    }

    /// What is known of the pages of a chunk.
    fn states(&self, chunk: usize) -> &[State; CHUNK] {
        &self.chunks.get(&chunk).unwrap_or(&self.rest).states
    }

    /// What is known of a page.
    pub(super) fn get(&self, page: usize) -> State {
        self.states(page / CHUNK)[page % CHUNK]
    }

    /// Notes down a state for pages.
    pub(super) fn set(&mut self, pages: Range<usize>, state: State) {
        for index in chunks(&pages) {
            let here = inside(index, &pages);
            self.chunk(index).states[here].fill(state);
        }
    }

    /// Pages of the same state, from the first of a range that is not empty.
    pub(super) fn alike(&self, pages: Range<usize>) -> (Range<usize>, State) {
        let first = self.get(pages.start);
        let end = chunks(&pages).find_map(|chunk| {
            let here = inside(chunk, &pages);
            let mut states = self.states(chunk)[here.clone()].iter();
            let differs = states.position(|state| *state != first)?;
            Some(chunk * CHUNK + here.start + differs)
        });
        (pages.start..end.unwrap_or(pages.end), first)
    }

    /// Pages around one, all of its state and in the same aligned block of so
    /// many.
    pub(super) fn around(&self, page: usize, block: usize) -> Range<usize> {
        let state = self.get(page);
        let first = page / block * block;
        let last = (first + block).min(self.pages);
        let differs = |other: &usize| self.get(*other) != state;
        let start = (first..page).rev().find(differs).map_or(first, |p| p + 1);
        let end = (page..last).find(differs).unwrap_or(last);
        start..end
    }

    /// Forbids pages. What is returned must not be served by the kernel any
    /// more; it has no page installed.
    pub(super) fn forbid(&mut self, pages: Range<usize>) -> Vec<Range<usize>> {
        if pages == (0..self.pages) {
            self.rest = Chunk {
                served: false,
                states: Box::new([FORBIDDEN; CHUNK]),
            };
            self.chunks.clear();
            return vec![pages];
        }
        let mut taken: Vec<Range<usize>> = Vec::new();
        for index in chunks(&pages) {
            let whole = index * CHUNK..((index + 1) * CHUNK).min(self.pages);
            let chunk = self.chunk(index);
            if std::mem::replace(&mut chunk.served, false) {
                chunk.states.iter_mut().for_each(|s| s.installed = false);
                match taken.last_mut() {
                    Some(last) if last.end == whole.start => last.end = whole.end,
                    _ => taken.push(whole),
                }
            }
            chunk.states[inside(index, &pages)].fill(FORBIDDEN);
        }
        taken
    }
}

/// Chunks that a range has pages of.
fn chunks(pages: &Range<usize>) -> Range<usize> {
    pages.start / CHUNK..pages.end.div_ceil(CHUNK)
}

/// Pages of a range in one of its chunks, counted from the chunk's first.
fn inside(chunk: usize, pages: &Range<usize>) -> Range<usize> {
    let first = chunk * CHUNK;
    pages.start.saturating_sub(first)..(pages.end - first).min(CHUNK)
}

#[cfg(test)]
mod tests {
    use super::*;

    const READ: State = State {
        permitted: Permission::Read,
        installed: true,
    };

    #[test]
    fn runs_end_where_states_change() {
        let mut permits = Permits::new(2000);
        permits.set(500..600, READ);
        assert_eq!(permits.alike(480..700), (480..500, permits.get(0)));
        assert_eq!(permits.alike(510..700), (510..600, READ));
        assert_eq!(permits.alike(510..520), (510..520, READ));
        assert_eq!(permits.around(505, 16), 500..512);
        assert_eq!(permits.around(520, 16), 512..528);
        assert_eq!(permits.around(599, 16), 592..600);
        assert_eq!(permits.around(1999, 16), 1984..2000);
    }

    #[test]
    fn a_chunk_is_taken_from_the_kernel_once() {
        let mut permits = Permits::new(3 * CHUNK + 7);
        permits.set(5..6, READ);
        let only = std::slice::from_ref::<Range<usize>>;
        let taken = permits.forbid(CHUNK - 1..CHUNK + 1);
        assert_eq!(taken, only(&(0..2 * CHUNK)));
        assert_eq!(permits.get(CHUNK), FORBIDDEN);
        assert!(!permits.get(CHUNK + 1).installed);
        assert_eq!(permits.get(5).permitted, Permission::Read);
        assert!(!permits.get(5).installed);
        assert!(permits.get(2 * CHUNK).installed);
        assert_eq!(permits.forbid(3..4), []);
        let last = 3 * CHUNK..3 * CHUNK + 7;
        assert_eq!(permits.forbid(last.end - 1..last.end), only(&last));
    }

    #[test]
    fn forbidding_everything_costs_no_memory() {
        let mut permits = Permits::new(1 << 40);
        let all = 0..1 << 40;
        assert_eq!(permits.forbid(all.clone()), std::slice::from_ref(&all));
        assert_eq!(permits.get(12345), FORBIDDEN);
        assert!(permits.chunks.is_empty());
    }
}
