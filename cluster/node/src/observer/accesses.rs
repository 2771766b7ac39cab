//! What the program accesses between synchronisations: for replays
//! ([decision 0040](../../../docs/decisions/0040-simulate-from-access-sets.md)), or to
//! find the cache lines that threads share
//! ([decision 0061](../../../docs/decisions/0061-sharing-from-diffs.md)).
//!
//! At every synchronisation all pages become inaccessible; the first read and the
//! first write of each trap, are noted, and permitted if the protocol permits them.
//! What a node's own stacks are is left out: they cost nothing, and the kernel
//! writes there.

use super::error::WatchError;
use super::lines::Lines;
use super::replay::Replay;
use super::touched::Touched;
use fathomp_access_trace::{End, Permit, Permits, Step};
use fathomp_protocols::{Access, Diff, PageRange, Protection};
use fathomp_sys::cluster::pages::{Pages, Permission};
use fathomp_sys::counters::os_thread_id;
use fathomp_types::{PAGE_BYTES, PageId};
use std::collections::HashMap;
use std::ops::Range;

/// Pages of which one more access is noted at a time.
const SAMPLED_MAX: usize = 256;

/// What is watched for.
#[derive(Debug)]
pub(crate) enum Purpose {
    /// To replay it.
    Replay(Replay),
    /// To find lines that threads share.
    Lines(Box<Lines>),
}

/// Watches what the program accesses on this node.
#[derive(Debug)]
pub(crate) struct Watch {
    purpose: Purpose,
    /// What the protocol permits.
    permits: Permits,
    /// Pages that are not watched.
    stacks: Option<PageRange>,
    touched: HashMap<PageId, Touched>,
    /// Pages that are open for a single instruction.
    open: Vec<PageId>,
    /// The node leaves: what its thread still does, node 0 did not wait for.
    ended: bool,
    /// The one thread of the program here.
    thread: Option<u32>,
}

impl Watch {
    /// Begins to watch; `stacks` are the node's own.
    pub(crate) fn new(purpose: Purpose, stacks: Option<PageRange>) -> Self {
        Self {
            purpose,
            permits: Permits::default(),
            stacks,
            touched: HashMap::new(),
            open: Vec::new(),
            ended: false,
            thread: None,
        }
    }

    /// What is noted to find shared lines, if that is what is watched for and the node
    /// has not stopped.
    pub(crate) fn lines(&mut self) -> Option<&mut Lines> {
        match &mut self.purpose {
            Purpose::Lines(lines) if !self.ended => Some(lines),
            _ => None,
        }
    }

    /// Whether lines are noted for replays.
    pub(crate) fn by_lines(&self) -> bool {
        matches!(&self.purpose, Purpose::Replay(replay) if replay.by_lines()) && !self.ended
    }

    fn is_stack(&self, page: PageId) -> bool {
        let inside = |pages: PageRange| page >= pages.first() && u64::from(page.0) < pages.end();
        self.stacks.is_some_and(inside)
    }

    /// What the protocol permits before the program runs; ascending. No page has a twin then.
    pub(crate) fn start(&mut self, pages: PageRange, protection: Protection) {
        let permit = match protection {
            Protection::None => Permit::Nothing,
            Protection::Read | Protection::Watched => Permit::Read,
            Protection::ReadWrite => Permit::Write,
        };
        self.permits.start(pages, permit);
    }

    /// Makes all pages inaccessible, once the protocol has started.
    pub(crate) fn begin(&mut self, pages: &Pages) -> Result<(), WatchError> {
        let count = pages.count();
        let (first, end) = self.stacks.map_or((count, count), |stacks| {
            let end = u32::try_from(stacks.end()).unwrap_or(u32::MAX);
            (stacks.first().0, end)
        });
        let around = [(0, first), (end, count.saturating_sub(end))];
        for (first, count) in around {
            if count > 0 {
                permit(pages, PageId(first), count, Permission::None)?;
            }
        }
        Ok(())
    }

    /// The protocol permits something: as much of it as has been noted is done.
    pub(crate) fn permit(
        &mut self,
        pages: &Pages,
        range: PageRange,
        what: Permission,
    ) -> Result<(), WatchError> {
        self.permits.set(range, of(what));
        if what == Permission::None {
            permit(pages, range.first(), range.len(), what)?;
            return self.close(pages, range);
        }
        for page in range.iter() {
            if self.is_stack(page) {
                permit(pages, page, 1, what)?;
            } else {
                self.open(pages, page)?;
            }
        }
        Ok(())
    }

    /// The protocol takes pages away, and what comes there next others have written:
    /// notes what was written here before.
    fn close(&mut self, pages: &Pages, range: PageRange) -> Result<(), WatchError> {
        let Some(lines) = self.lines() else {
            return Ok(());
        };
        lines.close_stack(pages, range)?;
        let inside = |page: PageId| page >= range.first() && u64::from(page.0) < range.end();
        let gone: Vec<_> = self
            .touched
            .extract_if(|page, _| inside(*page))
            .filter_map(|(page, touched)| Some((page, touched.before?)))
            .collect();
        let Purpose::Lines(lines) = &mut self.purpose else {
            return Ok(());
        };
        let mut gone = gone.into_iter();
        gone.try_for_each(|(page, before)| lines.wrote(pages, page, &before, false))
    }

    /// Permits what was noted of a page and is permitted.
    fn open(&mut self, pages: &Pages, page: PageId) -> Result<(), WatchError> {
        let Some(touched) = self.touched.get_mut(&page) else {
            return Ok(());
        };
        match self.permits.of(page).min(touched.noted) {
            Permit::Nothing => Ok(()),
            Permit::Read => permit(pages, page, 1, Permission::Read),
            Permit::Write => {
                if touched.before.is_none() {
                    let mut before = Box::new([0; PAGE_BYTES]);
                    pages.read(page, &mut before).map_err(WatchError::Permit)?;
                    touched.before = Some(before);
                }
                permit(pages, page, 1, Permission::ReadWrite)
            }
        }
    }

    /// The program touches a page that it may not, at these bytes: notes it. True if the
    /// protocol permits it, so that it need not be asked.
    pub(crate) fn touch(
        &mut self,
        pages: &Pages,
        page: PageId,
        access: Access,
        bytes: &Range<usize>,
    ) -> Result<bool, WatchError> {
        let thread = os_thread_id();
        if *self.thread.get_or_insert(thread) != thread {
            return Err(WatchError::Threads);
        }
        if self.is_stack(page) {
            return Ok(false);
        }
        let noted = Permit::of_access(access);
        let by_lines = self.by_lines();
        let touched = self.touched.entry(page).or_default();
        match &mut self.purpose {
            Purpose::Replay(replay) if by_lines => {
                replay.note(page, touched, access, bytes);
                touched.noted = touched.noted.max(touched.for_good());
                if touched.noted < noted {
                    touched.noted = noted;
                    self.open.push(page);
                }
            }
            Purpose::Replay(replay) if touched.noted < noted => replay.note_page(page, access),
            Purpose::Replay(_) | Purpose::Lines(_) => {}
        }
        touched.noted = touched.noted.max(noted);
        if self.permits.of(page).allows(access) {
            self.open(pages, page)?;
            return Ok(true);
        }
        Ok(false)
    }

    /// Whether pages are open for the next instruction only.
    pub(crate) fn is_to_step(&self) -> bool {
        !self.open.is_empty()
    }

    /// The program has run an instruction for which pages were open: they are not any more.
    pub(crate) fn stepped(&mut self, pages: &Pages) -> Result<(), WatchError> {
        for page in std::mem::take(&mut self.open) {
            let Some(touched) = self.touched.get_mut(&page) else {
                continue;
            };
            touched.noted = touched.for_good();
            let what = match touched.noted.min(self.permits.of(page)) {
                Permit::Nothing => Permission::None,
                Permit::Read => Permission::Read,
                Permit::Write => Permission::ReadWrite,
            };
            permit(pages, page, 1, what)?;
        }
        Ok(())
    }

    /// The kernel is about to use these bytes: their pages stay open until the thread
    /// synchronises, and what the program itself accesses of them is not noted.
    pub(crate) fn lend(&mut self, pages: &Pages, bytes: Range<usize>, access: Access) {
        let mut address = bytes.start;
        while address < bytes.end
            && let Some(page) = pages.page_of(address)
        {
            let begins = address - address % PAGE_BYTES;
            let inside = address - begins..(bytes.end - begins).min(PAGE_BYTES);
            if !self.is_stack(page) {
                let touched = self.touched.entry(page).or_default();
                if let Purpose::Replay(replay) = &mut self.purpose {
                    replay.note(page, touched, access, &inside);
                }
                touched.lend(access);
            }
            address = begins + PAGE_BYTES;
        }
    }

    /// Another node's changes come into a page.
    pub(crate) fn apply(&mut self, page: PageId, diff: &Diff<impl AsRef<[u8]>>) {
        if let Some(before) = self.touched.get_mut(&page).and_then(|t| t.before.as_mut()) {
            diff.apply(before);
        }
        if let Some(lines) = self.lines() {
            lines.apply(page, diff);
        }
    }

    /// The program synchronises: an interval ends, and another begins. What was touched
    /// in it is not yet in `step`.
    pub(crate) fn end_interval(&mut self, pages: &Pages, step: Step) -> Result<(), WatchError> {
        if self.ended {
            return Ok(());
        }
        let runs = match &mut self.purpose {
            Purpose::Replay(replay) => replay.runs(pages, &self.touched)?,
            Purpose::Lines(lines) => {
                let locked = matches!(step.end, End::Release(_));
                for (page, touched) in &self.touched {
                    if let Some(before) = &touched.before {
                        lines.wrote(pages, *page, before, locked)?;
                    }
                }
                Vec::new()
            }
        };
        self.open.clear();
        let mut noted: Vec<_> = self.touched.drain().map(|(page, _)| page).collect();
        noted.sort_unstable();
        if step.end == End::Exit {
            // What is left to be done is the runtime's.
            noted.clear();
            self.ended = true;
        }
        for range in fathomp_protocols::PageSet::from_sorted(&noted).ranges() {
            permit(pages, range.first(), range.len(), Permission::None)?;
        }
        match &mut self.purpose {
            Purpose::Replay(replay) => replay.put(runs, step).map_err(WatchError::Write),
            Purpose::Lines(lines) => lines.end(pages, step.end),
        }
    }

    /// Makes pages inaccessible that were accessed since the last synchronisation, so that
    /// the next access to each is noted as well. How many.
    pub(crate) fn sample(&mut self, pages: &Pages) -> Result<usize, WatchError> {
        if self.lines().is_none() {
            return Ok(0);
        }
        let mut open = Vec::new();
        for (page, touched) in &mut self.touched {
            let noted = touched.noted.min(self.permits.of(*page));
            if noted != Permit::Nothing && open.len() < SAMPLED_MAX {
                touched.noted = Permit::Nothing;
                open.push(*page);
            }
        }
        open.sort_unstable();
        for range in fathomp_protocols::PageSet::from_sorted(&open).ranges() {
            permit(pages, range.first(), range.len(), Permission::None)?;
        }
        Ok(open.len())
    }

    /// Stops noting before the program's end because the time is over.
    pub(crate) fn stop(&mut self, pages: &Pages) -> Result<(), WatchError> {
        let Purpose::Lines(lines) = &mut self.purpose else {
            return Ok(());
        };
        if std::mem::replace(&mut self.ended, true) {
            return Ok(());
        }
        for (page, touched) in &self.touched {
            if let Some(before) = &touched.before {
                lines.wrote(pages, *page, before, false)?;
            }
        }
        lines.stop(pages)
    }

    /// The last interval has ended in another way than it seemed.
    pub(crate) fn amend(&mut self, end: End) {
        if let Purpose::Replay(replay) = &mut self.purpose {
            replay.amend(end);
        }
    }
}

fn of(permission: Permission) -> Permit {
    match permission {
        Permission::None => Permit::Nothing,
        Permission::Read => Permit::Read,
        Permission::ReadWrite => Permit::Write,
    }
}

fn permit(pages: &Pages, first: PageId, count: u32, what: Permission) -> Result<(), WatchError> {
    let permitted = pages.permit(first, count, what);
    permitted.map_err(WatchError::Permit)
}
