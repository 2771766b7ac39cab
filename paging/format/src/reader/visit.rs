//! Hands out the intervals and marks of a task, block by block.

use super::assemble::Content;
use super::gather::BlockAt;
use super::join::Joiner;
use super::store::{Handle, Store};
use super::{Recording, VisitError, Visited};
use crate::pack::{Unpacker, unpack_bins, unpack_marks};
use crate::{Cause, CounterSet, Interval, Mark, TaskId};
use fathomp_types::Ticks;

/// What of a task is to be handed out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct View {
    /// Counters; the counts of others stay zero.
    pub counters: CounterSet,
    /// Intervals that end later than this,
    pub from: u64,
    /// and begin earlier than this: nanoseconds of the recording's clock. They are
    /// handed out whole.
    pub to: u64,
}

impl View {
    /// Everything.
    pub const ALL: Self = Self {
        counters: CounterSet::ALL,
        from: 0,
        to: u64::MAX,
    };
}

impl Default for View {
    fn default() -> Self {
        Self::ALL
    }
}

impl Recording {
    /// Hands out the intervals of a task in order of time. An interval may not be
    /// kept without being copied. Where the task was sampled, intervals are split
    /// at the samples, and their counts shared out in the proportions that the
    /// samples show; totals stay exact. What only samples tell, in no state that anybody saw, has
    /// the cause [`Cause::UNSEEN`]. Of a task that was not to be recorded there is nothing.
    ///
    /// # Errors
    /// If there is no such task, or its streams cannot be read any more.
    pub fn visit(&self, task: TaskId, each: impl FnMut(&Interval)) -> Result<Visited, VisitError> {
        self.visit_part(task, View::ALL, each)
    }

    /// The same for a part of the task. Blocks that lie outside are not read.
    ///
    /// # Errors
    /// As [`visit`](Self::visit).
    pub fn visit_part(
        &self,
        task: TaskId,
        view: View,
        mut each: impl FnMut(&Interval),
    ) -> Result<Visited, VisitError> {
        let content = self.content(task).ok_or(VisitError::NoTask(task))?;
        let mut handed = 0;
        let count = |interval: &Interval| {
            handed += 1;
            each(interval);
        };
        let mut visited = if !content.selected {
            Visited::default()
        } else if content.samples.is_empty() && content.window == (0, u64::MAX) {
            let mut each = count;
            Blocks::new(self, content, view).intervals(&mut |interval, _| {
                each(interval);
                Ok(())
            })?
        } else {
            let mut joiner = Joiner::new(self, content, view, count);
            let mut visited = Blocks::new(self, content, view)
                .intervals(&mut |interval, is_bin| joiner.interval(interval, is_bin))?;
            visited.malformed_blocks += joiner.finish()?;
            visited
        };
        visited.intervals = handed;
        Ok(visited)
    }

    /// The marks of a task in order of time.
    ///
    /// # Errors
    /// As [`visit`](Self::visit).
    pub fn marks(&self, task: TaskId) -> Result<Vec<Mark>, VisitError> {
        let mut marks = Vec::new();
        self.visit_marks(task, |mark| marks.push(mark))?;
        Ok(marks)
    }

    /// Hands out the marks of a task in order of time.
    ///
    /// # Errors
    /// As [`visit`](Self::visit).
    pub fn visit_marks(
        &self,
        task: TaskId,
        mut each: impl FnMut(Mark),
    ) -> Result<Visited, VisitError> {
        let content = self.content(task).ok_or(VisitError::NoTask(task))?;
        let mut reader = BlockReader::new(&self.streams);
        let mut payload = Vec::new();
        let mut visited = Visited::default();
        let mut last = 0;
        for block in &content.marks {
            let payload = reader.read(block, &mut payload)?;
            let unpacked = unpack_marks(
                payload,
                |tick| content.timeline.at(tick),
                |mark| {
                    last = last.max(mark.at);
                    each(Mark {
                        at: last,
                        name: content.name(mark.name),
                        ..mark
                    });
                },
            );
            visited.unknown_marks += unpacked.unknown;
            visited.malformed_blocks += u64::from(unpacked.malformed);
        }
        Ok(visited)
    }
}

impl Content {
    /// The recording's number of a name of the process; none if it was lost.
    #[inline]
    fn name(&self, number: u32) -> u32 {
        self.names.get(number as usize).copied().unwrap_or(0)
    }
}

/// Goes through a task's blocks of intervals.
struct Blocks<'a> {
    content: &'a Content,
    view: View,
    reader: BlockReader<'a>,
    payload: Vec<u8>,
    visited: Visited,
    /// Where the last interval ended.
    last: u64,
}

impl<'a> Blocks<'a> {
    fn new(recording: &'a Recording, content: &'a Content, view: View) -> Self {
        Self {
            content,
            view,
            reader: BlockReader::new(&recording.streams),
            payload: Vec::new(),
            visited: Visited::default(),
            last: 0,
        }
    }

    /// Hands out intervals, and whether they are sums of a bin.
    fn intervals(
        mut self,
        each: &mut impl FnMut(&Interval, bool) -> Result<(), VisitError>,
    ) -> Result<Visited, VisitError> {
        let mut unpacker = Unpacker::new(self.view.counters);
        for block in &self.content.intervals {
            if self.is_within(block) {
                self.packed(block, &mut unpacker, each)?;
            }
        }
        if let Some(block) = &self.content.bins
            && self.is_within(block)
        {
            self.bins(block, each)?;
        }
        Ok(self.visited)
    }

    /// Whether a block may hold intervals that are wanted.
    fn is_within(&self, block: &BlockAt) -> bool {
        let time = |tick| self.content.timeline.at(tick);
        time(block.head.end) >= self.view.from && time(block.head.begin) < self.view.to
            || self.view == View::ALL
    }

    fn packed(
        &mut self,
        block: &BlockAt,
        unpacker: &mut Unpacker,
        each: &mut impl FnMut(&Interval, bool) -> Result<(), VisitError>,
    ) -> Result<(), VisitError> {
        let payload = self.reader.read(block, &mut self.payload)?;
        let content = self.content;
        let (timeline, floor) = (content.timeline, self.last);
        let view = self.view;
        let mut result = Ok(());
        let mut last = self.last;
        let unpacked = unpacker.unpack(
            payload,
            // Blocks that overlap those before are cut.
            |tick| timeline.at(tick).max(floor),
            |name| content.name(name),
            |interval| {
                last = interval.end;
                if view.shows(interval) && result.is_ok() {
                    result = each(interval, false);
                }
            },
        );
        self.last = last;
        self.visited.malformed_blocks += u64::from(unpacked.malformed);
        self.visited.implausible += unpacked.implausible;
        result
    }

    /// Within its bin, each state's time is put behind the one before: when
    /// exactly it was is forgotten.
    fn bins(
        &mut self,
        block: &BlockAt,
        each: &mut impl FnMut(&Interval, bool) -> Result<(), VisitError>,
    ) -> Result<(), VisitError> {
        let payload = self.reader.read(block, &mut self.payload)?;
        let timeline = self.content.timeline;
        let view = self.view;
        let (mut bin, mut at) = (None, Ticks(0));
        let mut last = self.last;
        let mut implausible = 0;
        let mut result = Ok(());
        let sound = unpack_bins(payload, |begin, _, state, cell| {
            if bin != Some(begin) {
                (bin, at) = (Some(begin), at.max(begin));
            }
            let mut counts = cell.counts;
            for (counter, count) in cell.counts.nonzero() {
                // Sums over a bin may be larger than what one reading rises by, but
                // not by much.
                if count > crate::Counts::MOST {
                    implausible += 1;
                    counts[counter] = 0;
                } else if !view.counters.contains(counter) {
                    counts[counter] = 0;
                }
            }
            let from = timeline.at(at).max(last);
            at += Ticks(cell.ticks);
            last = timeline.at(at).max(from);
            let interval = Interval {
                begin: from,
                end: last,
                state,
                cause: Cause::NONE,
                counts,
                merged: cell.stays,
            };
            if view.shows(&interval) && result.is_ok() {
                result = each(&interval, true);
            }
        });
        self.last = last;
        self.visited.malformed_blocks += u64::from(!sound);
        self.visited.implausible += implausible;
        result
    }
}

impl View {
    #[inline]
    pub(super) fn shows(&self, interval: &Interval) -> bool {
        // One without length is shown with what begins where it is.
        (interval.end > self.from || interval.begin >= self.from) && interval.begin < self.to
            || *self == Self::ALL
    }
}

/// Streams that are kept open during a visit: a task's are few.
const OPEN_MAX: usize = 16;

/// Reads blocks again that were found when the recording was opened.
pub(super) struct BlockReader<'a> {
    streams: &'a [Store],
    open: Vec<(u32, Handle<'a>)>,
}

impl<'a> BlockReader<'a> {
    pub(super) fn new(streams: &'a [Store]) -> Self {
        Self {
            streams,
            open: Vec::new(),
        }
    }

    /// The payload of a block, in `buffer`.
    pub(super) fn read<'b>(
        &mut self,
        block: &BlockAt,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b [u8], VisitError> {
        let changed = |stream: &str| VisitError::Changed {
            stream: stream.to_owned(),
        };
        let store = self.streams.get(block.stream as usize);
        let store = store.ok_or_else(|| changed("a stream"))?;
        let unreadable = |source| VisitError::Unreadable {
            stream: store.name.clone(),
            source,
        };
        let known = self.open.iter().position(|(one, _)| *one == block.stream);
        let place = match known {
            Some(place) => place,
            None => {
                if self.open.len() >= OPEN_MAX {
                    self.open.remove(0);
                }
                let handle = store.open().map_err(unreadable)?;
                self.open.push((block.stream, handle));
                self.open.len() - 1
            }
        };
        self.open[place]
            .1
            .read(block.at, block.bytes, buffer)
            .map_err(unreadable)?;
        match fathomp_blocks::read(buffer) {
            Some((found, bytes)) if bytes == block.bytes => Ok(found.payload),
            _ => Err(changed(&store.name)),
        }
    }
}
