//! What the one thread of a node writes and reads between barriers, noted to find the
//! cache lines that threads share
//! ([decision 0061](../../../docs/decisions/0061-sharing-from-diffs.md)).
//!
//! Bytes that were changed come from comparing pages, so that what was written is
//! known by the byte; accesses that trap and atomic instructions add the exact
//! address and the instruction.

use super::error::WatchError;
use crate::blocks;
use fathomp_access_trace::End;
use fathomp_false_sharing::log::{Header, Record, Region, Stop, Writer};
use fathomp_protocols::{Diff, PageBytes, PageRange};
use fathomp_sys::cluster::pages::Pages;
use fathomp_sys::modules::program_bias;
use fathomp_sys::unwind::Frame;
use fathomp_types::{NodeId, PAGE_BYTES, PageId};
use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::ops::Range;
use std::path::Path;

/// Name of a node's file in the directory for its notes.
fn notes_name(node: u16) -> String {
    format!("sharing.{node}.part")
}

/// A node's file has at most so many bytes.
const BYTES_MAX: u64 = 1 << 30;
/// Different accesses that are kept in a phase.
const ACCESSES_MAX: usize = 1 << 20;
/// Pages of its own stack, from where the thread stands towards the stack's beginning,
/// that are compared.
const STACK_PAGES_MAX: usize = 16;

/// A page of the node's own stack, which is not watched, as it was.
#[derive(Debug)]
struct Shot {
    page: PageId,
    /// Bytes from this one on are those of callers.
    from: usize,
    before: Box<PageBytes>,
}

/// Notes.
#[derive(Debug)]
pub(crate) struct Lines {
    out: Writer<BufWriter<File>>,
    /// Whether it wrote, the address and the instruction: how often in this phase.
    accesses: HashMap<(bool, u64, u64), u64>,
    /// Address and instruction: bytes, and how often in this phase.
    atomics: HashMap<(u64, u64), (u64, u64)>,
    region: Region,
    /// The region that the next barrier begins.
    next_region: Option<Region>,
    shots: Vec<Shot>,
    /// The program's functions where the last region began.
    frames: Vec<Frame>,
    /// Enough has been written.
    full: bool,
}

impl Lines {
    /// Begins node `me`'s notes.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(crate) fn new(directory: &Path, me: NodeId, nodes: u16) -> Result<Self, WatchError> {
        let file = File::create(directory.join(notes_name(me.0))).map_err(WatchError::Write)?;
        let header = Header {
            node: me.0.into(),
            nodes: nodes.into(),
            bias: program_bias() as u64,
        };
        let out = Writer::new(BufWriter::new(file), header).map_err(WatchError::Write)?;
        Ok(Self {
            out,
            accesses: HashMap::new(),
            atomics: HashMap::new(),
            region: Region::default(),
            next_region: None,
            shots: Vec::new(),
            frames: Vec::new(),
            full: false,
        })
    }

    /// The thread makes its first access to a page since the last synchronisation.
    pub(crate) fn saw(&mut self, write: bool, address: usize, instruction: usize) {
        let room = self.accesses.len() < ACCESSES_MAX;
        let access = (write, address as u64, instruction as u64);
        match self.accesses.get_mut(&access) {
            Some(times) => *times += 1,
            None if room => {
                self.accesses.insert(access, 1);
            }
            None => {}
        }
    }

    /// The thread executes an atomic instruction.
    pub(crate) fn updates(&mut self, address: usize, bytes: usize, instruction: usize) {
        let room = self.atomics.len() < ACCESSES_MAX;
        let atomic = (address as u64, instruction as u64);
        match self.atomics.get_mut(&atomic) {
            Some((_, times)) => *times += 1,
            None if room => {
                self.atomics.insert(atomic, (bytes as u64, 1));
            }
            None => {}
        }
    }

    /// These functions are active where a region is about to begin.
    pub(crate) fn frames(&mut self, frames: &[Frame]) -> Result<(), WatchError> {
        if frames == self.frames {
            return Ok(());
        }
        self.frames = frames.to_vec();
        let frame = |frame: &Frame| {
            [
                frame.instruction as u64,
                frame.address as u64,
                frame.stack as u64,
                frame.pointer as u64,
            ]
        };
        self.put(&Record::Frames(frames.iter().map(frame).collect()))
    }

    /// A region is about to begin.
    pub(crate) fn region_begins(&mut self, region: Region) {
        self.next_region = Some(region);
    }

    /// The region has ended, and the serial part goes on.
    pub(crate) fn region_ends(&mut self) {
        self.region = Region::default();
    }

    /// A page was written that was `before`.
    pub(crate) fn wrote(
        &mut self,
        pages: &Pages,
        page: PageId,
        before: &PageBytes,
        locked: bool,
    ) -> Result<(), WatchError> {
        self.compare(pages, page, before, 0, locked).map(drop)
    }

    /// Notes what is not as it was before, and returns what it is now.
    fn compare(
        &mut self,
        pages: &Pages,
        page: PageId,
        before: &PageBytes,
        from: usize,
        locked: bool,
    ) -> Result<Box<PageBytes>, WatchError> {
        let mut now = Box::new([0; PAGE_BYTES]);
        pages.read(page, &mut now).map_err(WatchError::Permit)?;
        let Some(address) = pages.address_of(page) else {
            return Ok(now);
        };
        let mut ranges = Vec::new();
        Diff::between(before, &now).visit(|range, _| {
            if range.end > from {
                extend(&mut ranges, range.start.max(from)..range.end);
            }
        });
        if !ranges.is_empty() {
            let page = address as u64;
            self.put(&Record::Wrote {
                page,
                ranges,
                locked,
            })?;
        }
        Ok(now)
    }

    /// Another node's changes come into a page.
    pub(crate) fn apply(&mut self, page: PageId, diff: &Diff<impl AsRef<[u8]>>) {
        for shot in self.shots.iter_mut().filter(|shot| shot.page == page) {
            diff.apply(&mut shot.before);
        }
    }

    /// Pages are taken away: what was written of the node's own stack there.
    pub(crate) fn close_stack(
        &mut self,
        pages: &Pages,
        range: PageRange,
    ) -> Result<(), WatchError> {
        let gone = |shot: &Shot| shot.page >= range.first() && u64::from(shot.page.0) < range.end();
        let (gone, kept) = std::mem::take(&mut self.shots).into_iter().partition(gone);
        self.shots = kept;
        self.compare_shots(pages, gone, false).map(drop)
    }

    /// Notes what was written of the node's own stack, and returns it as it is now.
    fn compare_shots(
        &mut self,
        pages: &Pages,
        mut shots: Vec<Shot>,
        locked: bool,
    ) -> Result<Vec<Shot>, WatchError> {
        for shot in &mut shots {
            shot.before = self.compare(pages, shot.page, &shot.before, shot.from, locked)?;
        }
        Ok(shots)
    }

    /// A phase begins: what the callers of the thread's frame at `here` have on its own
    /// `stack` may be shared.
    pub(crate) fn begin_phase(
        &mut self,
        pages: &Pages,
        stack: &Range<usize>,
        here: usize,
    ) -> Result<(), WatchError> {
        self.shots.clear();
        if !stack.contains(&here) {
            return Ok(());
        }
        let first = here - here % PAGE_BYTES;
        let addresses = (first..stack.end).step_by(PAGE_BYTES);
        for address in addresses.take(STACK_PAGES_MAX) {
            let Some(page) = pages.page_of(address) else {
                break;
            };
            let mut before = Box::new([0; PAGE_BYTES]);
            pages.read(page, &mut before).map_err(WatchError::Permit)?;
            self.shots.push(Shot {
                page,
                from: here.saturating_sub(address).min(PAGE_BYTES),
                before,
            });
        }
        Ok(())
    }

    /// The thread has synchronised.
    pub(crate) fn end(&mut self, pages: &Pages, how: End) -> Result<(), WatchError> {
        match how {
            End::Barrier => {
                self.tell_phase(pages)?;
                self.put(&Record::Phase(self.region))?;
                self.region = self.next_region.take().unwrap_or(self.region);
                self.flush()
            }
            End::Exit => {
                self.tell_phase(pages)?;
                self.put(&Record::Phase(self.region))?;
                self.put(&Record::Exit)?;
                self.flush()
            }
            // What is written under a lock counts as that.
            End::Acquire(_) | End::Release(_) => {
                let shots = std::mem::take(&mut self.shots);
                let locked = matches!(how, End::Release(_));
                self.shots = self.compare_shots(pages, shots, locked)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The time is over.
    pub(crate) fn stop(&mut self, pages: &Pages) -> Result<(), WatchError> {
        self.tell_phase(pages)?;
        self.put(&Record::Phase(self.region))?;
        self.put(&Record::Stopped(Stop::Time))?;
        self.flush()
    }

    fn tell_phase(&mut self, pages: &Pages) -> Result<(), WatchError> {
        let shots = std::mem::take(&mut self.shots);
        self.compare_shots(pages, shots, false)?;
        for ((write, address, instruction), times) in std::mem::take(&mut self.accesses) {
            self.put(&Record::Access {
                write,
                address,
                instruction,
                times,
            })?;
        }
        for ((address, instruction), (bytes, times)) in std::mem::take(&mut self.atomics) {
            self.put(&Record::Atomic {
                address,
                bytes,
                instruction,
                times,
            })?;
        }
        for block in blocks::take() {
            self.put(&Record::Block {
                address: block.address as u64,
                bytes: block.bytes as u64,
                frames: block.frames().map(|frame| frame as u64).collect(),
            })?;
        }
        Ok(())
    }

    fn put(&mut self, record: &Record) -> Result<(), WatchError> {
        if self.full {
            return Ok(());
        }
        self.full = self.out.written() >= BYTES_MAX;
        let record = match self.full {
            true => &Record::Stopped(Stop::Size),
            false => record,
        };
        self.out.put(record).map_err(WatchError::Write)
    }

    fn flush(&mut self) -> Result<(), WatchError> {
        self.out.flush().map_err(WatchError::Write)
    }
}

/// Adds a range of a page's bytes that follows the others.
fn extend(ranges: &mut Vec<Range<u16>>, range: Range<usize>) {
    // Inside a page.
    let at = |byte: usize| u16::try_from(byte).unwrap_or(u16::MAX);
    let range = at(range.start)..at(range.end);
    match ranges.last_mut().filter(|last| last.end == range.start) {
        Some(last) => last.end = range.end,
        None => ranges.push(range),
    }
}
