//! What the one thread of a node accesses between synchronisations, as replays want it
//! ([decision 0040](../../../docs/decisions/0040-simulate-from-access-sets.md)): pages, or
//! lines ([decision 0080](../../../docs/decisions/0080-lines-by-single-steps.md)).

use super::error::WatchError;
use super::touched::{LINES, Touched, line_of};
use crate::layout::Shared;
use fathomp_access_trace::{Accesses, End, Run, Step, Writer};
use fathomp_protocols::{Access, Area, Diff, Placement};
use fathomp_sys::cluster::pages::Pages;
use fathomp_types::{NodeId, PAGE_BYTES, PageId};
use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::ops::Range;
use std::path::Path;

/// Name of a node's file in the directory for accesses. One behind the other they are a file of accesses.
fn part_name(node: u16) -> String {
    format!("accesses.{node}.part")
}

/// Sets of runs that are remembered, to name them again.
const SETS_MAX: usize = 1 << 16;

/// Intervals, as replays want them.
#[derive(Debug)]
pub(crate) struct Replay {
    out: Writer<BufWriter<File>>,
    /// Lines are noted, not pages.
    lines: bool,
    /// Pages, or lines, in the order of first touch.
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
    /// If the file cannot be written, or lines cannot be numbered.
    pub(crate) fn new(
        directory: &Path,
        me: NodeId,
        shared: &Shared,
        lines: bool,
    ) -> Result<Self, WatchError> {
        let file = File::create(directory.join(part_name(me.0))).map_err(WatchError::Write)?;
        let pages = Accesses {
            areas: shared.areas.clone(),
            loads_acquire: shared.loads_acquire,
            ..Accesses::default()
        };
        let what = match lines {
            true => by_lines(pages).ok_or(WatchError::Lines {
                nodes: shared.nodes,
            })?,
            false => pages,
        };
        let mut out = Writer(BufWriter::new(file));
        let mut begin = || {
            if me == NodeId(0) {
                out.header(shared.nodes.into(), &what)?;
            }
            out.thread(me.0.into())
        };
        begin().map_err(WatchError::Write)?;
        Ok(Self {
            out,
            lines,
            order: Vec::new(),
            sets: HashMap::new(),
            numbered: 0,
            last: None,
        })
    }

    pub(crate) fn by_lines(&self) -> bool {
        self.lines
    }

    /// The thread accesses these bytes of a page: what is new of that is noted.
    pub(crate) fn note(
        &mut self,
        page: PageId,
        touched: &mut Touched,
        access: Access,
        bytes: &Range<usize>,
    ) {
        let new = touched.note(access, bytes);
        let order = &mut self.order;
        order.extend(new.map(|line| (line_of(page, line), access)));
    }

    /// The thread accesses a page so for the first time.
    pub(crate) fn note_page(&mut self, page: PageId, access: Access) {
        self.order.push((page, access));
    }

    /// What was touched, in runs.
    pub(crate) fn runs(
        &mut self,
        pages: &Pages,
        touched: &HashMap<PageId, Touched>,
    ) -> Result<Vec<Run>, WatchError> {
        let mut runs: Vec<Run> = Vec::new();
        let mut diffs = Diffs::new(pages, touched);
        for (page, access) in std::mem::take(&mut self.order) {
            let run = Run {
                access,
                pages: page.into(),
                diff_bytes: match (access, self.lines) {
                    (Access::Read, _) => 0,
                    (Access::Write, false) => diffs.of_page(page)?,
                    (Access::Write, true) => diffs.of_line(page)?,
                },
            };
            let last = runs.last_mut();
            let alike = last.filter(|l| l.access == access && l.diff_bytes == run.diff_bytes);
            if !alike.is_some_and(|last| last.pages.extend(page)) {
                runs.push(run);
            }
        }
        Ok(runs)
    }

    pub(crate) fn put(&mut self, runs: Vec<Run>, step: Step) -> io::Result<()> {
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

    /// The last interval has ended in another way than it seemed.
    pub(crate) fn amend(&mut self, end: End) {
        if let Some(last) = &mut self.last {
            last.end = end;
        }
    }
}

/// The same memory by lines; none if there are more than can be numbered.
fn by_lines(pages: Accesses) -> Option<Accesses> {
    let lines = LINES as u32;
    u32::try_from(pages.pages() * u64::from(lines)).ok()?;
    let area = |area: &Area| Area {
        pages: area.pages * lines,
        home: match area.home {
            Placement::Cyclic(pages) => Placement::Cyclic(pages.saturating_mul(lines)),
            home => home,
        },
    };
    Some(Accesses {
        page_bytes: Accesses::LINE_BYTES,
        areas: pages.areas.iter().map(area).collect(),
        ..pages
    })
}

/// How much of pages that were written has changed.
struct Diffs<'a> {
    pages: &'a Pages,
    touched: &'a HashMap<PageId, Touched>,
    /// The last page, as it is.
    now: Box<[u8; PAGE_BYTES]>,
    diff: Vec<u8>,
    /// By page, bytes for each of its lines.
    lines: HashMap<PageId, [u32; LINES]>,
}

impl<'a> Diffs<'a> {
    fn new(pages: &'a Pages, touched: &'a HashMap<PageId, Touched>) -> Self {
        Self {
            pages,
            touched,
            now: Box::new([0; PAGE_BYTES]),
            diff: Vec::new(),
            lines: HashMap::new(),
        }
    }

    fn of_page(&mut self, page: PageId) -> Result<u32, WatchError> {
        let touched = self.touched.get(&page);
        let Some(before) = touched.and_then(|t| t.before.as_ref()) else {
            return Ok(0);
        };
        let read = self.pages.read(page, &mut self.now);
        read.map_err(WatchError::Permit)?;
        self.diff.clear();
        Diff::append_between(before, &self.now, &mut self.diff);
        Ok(u32::try_from(self.diff.len()).unwrap_or(u32::MAX))
    }

    fn of_line(&mut self, line: PageId) -> Result<u32, WatchError> {
        let lines = LINES as u32;
        let (page, line) = (PageId(line.0 / lines), line.0 % lines);
        let Some(touched) = self.touched.get(&page) else {
            return Ok(0);
        };
        if !self.lines.contains_key(&page) {
            let read = self.pages.read(page, &mut self.now);
            read.map_err(WatchError::Permit)?;
            self.lines.insert(page, touched.line_diffs(&self.now));
        }
        let known = self.lines.get(&page);
        Ok(known.map_or(0, |known| known[line as usize]))
    }
}
