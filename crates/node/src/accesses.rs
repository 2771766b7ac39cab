//! What the program accesses between synchronisations: for replays
//! ([decision 0040](../../../docs/decisions/0040-simulate-from-access-sets.md)), or to
//! find the cache lines that threads share
//! ([decision 0061](../../../docs/decisions/0061-sharing-from-diffs.md)).
//!
//! At every synchronisation all pages become inaccessible; the first read and the
//! first write of each trap, are noted, and permitted if the protocol permits them.
//! What a node's own stacks are is left out: they cost nothing, and the kernel
//! writes there.

use crate::layout::Shared;
use crate::lines::Lines;
use crate::watching::WatchError;
use fathomp_accesses::{End, Permit, Permits, Run, Step, Writer};
use fathomp_base::{NodeId, PAGE_BYTES, PageId};
use fathomp_dsm::{Access, Diff, PageBytes, PageRange, Protection};
use fathomp_sys::cluster::pages::{Pages, Permission};
use fathomp_sys::counters::os_thread_id;
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

/// Name of a node's file in the directory for accesses. One behind the other they are a file of accesses.
#[must_use]
pub fn part_name(node: u16) -> String {
    format!("accesses.{node}.part")
}

/// Sets of runs that are remembered, to name them again.
const SETS_MAX: usize = 1 << 16;

/// Pages of which one more access is noted at a time.
const SAMPLED_MAX: usize = 256;

/// A page that was touched since the last synchronisation.
#[derive(Debug)]
struct Touched {
    /// What has been noted, and so may be permitted.
    noted: Permit,
    /// As it was before it was written.
    before: Option<Box<PageBytes>>,
}

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
    /// The node leaves: what its thread still does, node 0 did not wait for.
    ended: bool,
    /// The one thread of the program here.
    thread: Option<u32>,
}

/// Intervals, as replays want them.
#[derive(Debug)]
pub(crate) struct Replay {
    out: Writer<BufWriter<File>>,
    /// In the order of first touch.
    order: Vec<(PageId, Access)>,
    sets: HashMap<Vec<Run>, u32>,
    /// Sets written.
    numbered: u32,
    /// The last interval, which may still be amended.
    last: Option<Step>,
}

impl Replay {
    /// Begins to write node `me`'s part of the accesses.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn new(directory: &Path, me: NodeId, shared: &Shared) -> Result<Self, WatchError> {
        let file = File::create(directory.join(part_name(me.0))).map_err(WatchError::Write)?;
        let mut out = Writer(BufWriter::new(file));
        let mut begin = || {
            if me == NodeId(0) {
                out.header(shared.nodes.into(), &shared.areas, shared.loads_acquire)?;
            }
            out.thread(me.0.into())
        };
        begin().map_err(WatchError::Write)?;
        Ok(Self {
            out,
            order: Vec::new(),
            sets: HashMap::new(),
            numbered: 0,
            last: None,
        })
    }

    /// What was touched, in runs.
    fn runs(
        &mut self,
        pages: &Pages,
        touched: &HashMap<PageId, Touched>,
    ) -> Result<Vec<Run>, WatchError> {
        let mut runs: Vec<Run> = Vec::new();
        let mut now = Box::new([0; PAGE_BYTES]);
        let mut diff = Vec::new();
        for (page, access) in std::mem::take(&mut self.order) {
            let before = touched.get(&page).and_then(|t| t.before.as_ref());
            diff.clear();
            if let (Access::Write, Some(before)) = (access, before) {
                pages.read(page, &mut now).map_err(WatchError::Permit)?;
                Diff::append_between(before, &now, &mut diff);
            }
            let run = Run {
                access,
                pages: page.into(),
                diff_bytes: u16::try_from(diff.len()).unwrap_or(u16::MAX),
            };
            let last = runs.last_mut();
            let alike = last.filter(|l| l.access == access && l.diff_bytes == run.diff_bytes);
            if !alike.is_some_and(|last| last.pages.extend(page)) {
                runs.push(run);
            }
        }
        Ok(runs)
    }

    fn put(&mut self, runs: Vec<Run>, step: Step) -> io::Result<()> {
        if let Some(last) = self.last.take() {
            self.out.step(last)?;
        }
        let set = match self.sets.get(&runs) {
            Some(set) => *set,
            None => {
                self.out.set(&runs)?;
                let set = self.numbered;
                self.numbered += 1;
                if self.sets.len() < SETS_MAX {
                    self.sets.insert(runs, set);
                }
                set
            }
        };
        let step = Step { set, ..step };
        if matches!(step.end, End::Barrier | End::Exit) {
            // So much is kept, however the program ends.
            self.out.step(step)?;
            return self.out.0.flush();
        }
        self.last = Some(step);
        Ok(())
    }
}

impl Watch {
    /// Begins to watch; `stacks` are the node's own.
    pub(crate) fn new(purpose: Purpose, stacks: Option<PageRange>) -> Self {
        Self {
            purpose,
            permits: Permits::default(),
            stacks,
            touched: HashMap::new(),
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

    /// The program touches a page that it may not: notes it. True if the protocol
    /// permits it, so that it need not be asked.
    pub(crate) fn touch(
        &mut self,
        pages: &Pages,
        page: PageId,
        access: Access,
    ) -> Result<bool, WatchError> {
        let thread = os_thread_id();
        if *self.thread.get_or_insert(thread) != thread {
            return Err(WatchError::Threads);
        }
        if self.is_stack(page) {
            return Ok(false);
        }
        let noted = match access {
            Access::Read => Permit::Read,
            Access::Write => Permit::Write,
        };
        let touched = self.touched.entry(page).or_insert(Touched {
            noted: Permit::Nothing,
            before: None,
        });
        if touched.noted < noted {
            touched.noted = noted;
            if let Purpose::Replay(replay) = &mut self.purpose {
                replay.order.push((page, access));
            }
        }
        if self.permits.of(page).allows(access) {
            self.open(pages, page)?;
            return Ok(true);
        }
        Ok(false)
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
        let mut noted: Vec<_> = self.touched.drain().map(|(page, _)| page).collect();
        noted.sort_unstable();
        if step.end == End::Exit {
            // What is left to be done is the runtime's.
            noted.clear();
            self.ended = true;
        }
        for range in fathomp_dsm::PageSet::from_sorted(&noted).ranges() {
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
        for range in fathomp_dsm::PageSet::from_sorted(&open).ranges() {
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
        if let Purpose::Replay(Replay {
            last: Some(last), ..
        }) = &mut self.purpose
        {
            last.end = end;
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
