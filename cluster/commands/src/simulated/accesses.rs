//! What MCBENCH accesses, by pages, without running it.

use fathomp_access_trace::{Accesses, End, Run, Step, Thread};
use fathomp_bench::pattern::Pattern;
use fathomp_protocols::{Access, Area, Diff, PageBytes, PageRange, Placement};
use fathomp_types::{NodeId, PAGE_BYTES, PageId};
use std::collections::BTreeMap;

/// The most pages that all threads together have: what a simulation has memory for.
const PAGES_MAX: u64 = 1 << 24;

/// Why a pattern cannot be simulated.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternError {
    /// The program refuses these, too.
    #[error("is not available: arrays and chunks are multiples of 4 bytes")]
    Words,
    /// It would not end.
    #[error("is too large to simulate: take a smaller array, or fewer nodes")]
    TooLarge,
}

/// What is made of a pattern: passes that bring pages to where they stay, and those whose time
/// counts, which are a region of their own, the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Passes {
    /// Before those that count.
    pub before: u32,
    /// Those that count.
    pub counted: u32,
}

/// What passes over a shared array access, the array's first writes before: by blocks, in memory
/// that the first thread has allocated. Between synchronisations nothing is computed.
///
/// # Errors
/// If there are no such arrays, or too much to simulate.
pub fn shared(pattern: Pattern, passes: Passes) -> Result<Accesses, PatternError> {
    let is_of_words = |bytes: u64| bytes.is_multiple_of(fathomp_bench::pattern::WORD_BYTES);
    if !is_of_words(pattern.array) || !pattern.chunk.is_none_or(is_of_words) {
        return Err(PatternError::Words);
    }
    let pages = pattern.array.div_ceil(PAGE_BYTES as u64);
    let is_small = pages
        .checked_mul(pattern.threads)
        .is_some_and(|all| all <= PAGES_MAX);
    let (true, Ok(area)) = (is_small && pages > 0, u32::try_from(pages)) else {
        return Err(PatternError::TooLarge);
    };
    let shares: Vec<Share> = (0..pattern.threads)
        .map(|first| Share::of(pattern, first))
        .collect::<Option<_>>()
        .ok_or(PatternError::TooLarge)?;
    let blocks = Pattern {
        chunk: None,
        ..pattern
    };
    let thread = |number: u64| {
        let mut thread = Sets::default();
        let first = Share::of(blocks, number).ok_or(PatternError::TooLarge)?;
        // What is written first is written over zeros.
        thread.step(0, What::Begins, || first.changes);
        let pass = |thread: &mut Sets, pass: u64| {
            let (mine, next) = (pattern.changed(number, pass), pattern.read(number, pass));
            let (mine, next) = (mine as usize, next as usize);
            thread.step(mine, What::Changes, || shares[mine].changes.clone());
            thread.step(next, What::Reads, || shares[next].reads.clone());
        };
        let (before, counted) = (u64::from(passes.before), u64::from(passes.counted));
        (1..=before).for_each(|number| pass(&mut thread, number));
        thread.begin_region(number == 0);
        (before + 1..=before + counted).for_each(|number| pass(&mut thread, number));
        Ok(thread.end())
    };
    Ok(Accesses {
        page_bytes: Accesses::PAGE_BYTES,
        areas: vec![Area {
            pages: area,
            home: Placement::At(NodeId(0)),
        }],
        loads_acquire: false,
        threads: (0..pattern.threads).map(thread).collect::<Result<_, _>>()?,
    })
}

/// The same synchronisations of threads that share nothing.
#[must_use]
pub fn private(threads: u64, passes: Passes) -> Accesses {
    let meet = |thread: &mut Sets, times: u32| {
        for _ in 0..times {
            thread.step(0, What::Nothing, Vec::new);
        }
    };
    let thread = |number| {
        let mut thread = Sets::default();
        meet(&mut thread, 1 + 2 * passes.before);
        thread.begin_region(number == 0);
        meet(&mut thread, 2 * passes.counted);
        thread.end()
    };
    Accesses {
        areas: vec![Area {
            pages: 1,
            home: Placement::At(NodeId(0)),
        }],
        threads: (0..threads).map(thread).collect(),
        ..Accesses::default()
    }
}

/// What is done to a share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    Begins,
    Changes,
    Reads,
    Nothing,
}

/// A thread, and which of its sets is what.
#[derive(Default)]
struct Sets {
    thread: Thread,
    known: BTreeMap<(What, usize), u32>,
}

impl Sets {
    /// Accesses, and a barrier.
    fn step(&mut self, share: usize, what: What, runs: impl FnOnce() -> Vec<Run>) {
        let sets = &mut self.thread.sets;
        let set = *self.known.entry((what, share)).or_insert_with(|| {
            sets.push(runs());
            u32::try_from(sets.len() - 1).unwrap_or(u32::MAX)
        });
        self.thread.steps.push(Step {
            set,
            work_ns: 0,
            end: End::Barrier,
            order_bytes: 0,
            region: 0,
        });
    }

    /// All threads meet once more, so that none comes late to what counts.
    fn begin_region(&mut self, gives_order: bool) {
        self.step(0, What::Nothing, Vec::new);
        if let Some(last) = self.thread.steps.last_mut().filter(|_| gives_order) {
            (last.order_bytes, last.region) = (1, 1);
        }
    }

    fn end(mut self) -> Thread {
        self.step(0, What::Nothing, Vec::new);
        if let Some(last) = self.thread.steps.last_mut() {
            last.end = End::Exit;
        }
        self.thread
    }
}

/// Accesses to a share.
struct Share {
    changes: Vec<Run>,
    reads: Vec<Run>,
}

impl Share {
    /// None of more pages than can be numbered.
    fn of(pattern: Pattern, first: u64) -> Option<Self> {
        let mut share = Self {
            changes: Vec::new(),
            reads: Vec::new(),
        };
        let mut page = Page::default();
        for bytes in pattern.share(first) {
            let mut at = bytes.start;
            while at < bytes.end {
                let number = at / PAGE_BYTES as u64;
                let end = bytes.end.min((number + 1) * PAGE_BYTES as u64);
                if number != page.number {
                    share.take(&page)?;
                    page = Page {
                        number,
                        ..Page::default()
                    };
                }
                page.change(at, end);
                at = end;
            }
        }
        share.take(&page)?;
        Some(share)
    }

    fn take(&mut self, page: &Page) -> Option<()> {
        let Some(diff_bytes) = page.diff_bytes() else {
            return Some(());
        };
        let number = u32::try_from(page.number).ok()?;
        let run = |access, diff_bytes| {
            Some(Run {
                access,
                pages: PageRange::new(PageId(number), 1)?,
                diff_bytes,
            })
        };
        join(&mut self.changes, run(Access::Write, diff_bytes)?)?;
        join(&mut self.reads, run(Access::Read, 0)?)
    }
}

/// Appends a run, to the last one if it goes on with it.
fn join(runs: &mut Vec<Run>, next: Run) -> Option<()> {
    match runs.last_mut() {
        Some(last)
            if (last.access, last.diff_bytes) == (next.access, next.diff_bytes)
                && last.pages.first().0 + last.pages.len() == next.pages.first().0 =>
        {
            let (first, pages) = (last.pages.first(), last.pages.len() + next.pages.len());
            last.pages = PageRange::new(first, pages)?;
        }
        _ => runs.push(next),
    }
    Some(())
}

/// A page before and after one is added to words of it: of each, one byte changes.
struct Page {
    number: u64,
    before: Box<PageBytes>,
    after: Box<PageBytes>,
}

impl Default for Page {
    fn default() -> Self {
        Self {
            number: 0,
            before: Box::new([0; PAGE_BYTES]),
            after: Box::new([0; PAGE_BYTES]),
        }
    }
}

impl Page {
    fn change(&mut self, from: u64, to: u64) {
        let start = self.number * PAGE_BYTES as u64;
        for at in (from..to).step_by(fathomp_bench::pattern::WORD_BYTES as usize) {
            self.after[(at - start) as usize] = 1;
        }
    }

    /// Bytes of its diff; none if nothing changed.
    fn diff_bytes(&self) -> Option<u32> {
        let diff = Diff::between(&self.before, &self.after);
        (!diff.is_empty()).then(|| diff.as_bytes().len() as u32)
    }
}
