//! From the words of a channel to blocks of a stream: whoever empties a ring, the collector
//! or the process itself, does it with this.

use crate::record::{self, Record};
use crate::sums::Sum;
use fathomp_blocks::{Block, Place, START_BYTES, Walk};
use fathomp_paging::pack::{BlockHead, MarkPacker, TaskPacker};
use fathomp_paging::stream::{self, BY_INTERPOSER, EndNote, Kind, TaskNote, Totals};
use fathomp_paging::{Cause, Counts, Ending, State};
use fathomp_types::Ticks;

/// Packs what one thread after another says on a channel.
#[derive(Debug, Default)]
pub struct Scribe {
    task: Option<Box<Task>>,
    /// From now on intervals are merged, into bins that are so wide at first.
    merging: Option<Ticks>,
    counts: Taken,
}

/// What was taken from a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// Records.
    pub records: u64,
    /// Stays that had been merged because a ring was full.
    pub merged: u64,
    /// Times that words were no records.
    pub damaged: u64,
}

/// The task whose records come now.
#[derive(Debug)]
struct Task {
    number: u32,
    packer: TaskPacker,
    marks: Option<MarkPacker>,
    totals: Totals,
    note: TaskNote,
    /// Something is packed and not sealed.
    open: bool,
    /// Records were lost before the next one.
    lost: bool,
    /// What another scribe wrote of it.
    past: Option<Past>,
}

/// What a stream holds of a task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Past {
    /// Up to when its intervals are there.
    pub until: Ticks,
    /// Up to when its marks are there.
    pub marks_until: Ticks,
    /// Blocks of intervals.
    pub blocks: u64,
    /// Blocks of marks.
    pub mark_blocks: u64,
    /// All that happened to it until then.
    pub totals: Totals,
    /// What its writer came to.
    pub end: EndNote,
    /// It has ended.
    pub ended: bool,
    /// Positions of the notes that say so.
    noted: u64,
    summed: u64,
}

impl Past {
    /// Adds what the bytes of a stream hold of the task with that number.
    pub fn add(&mut self, number: u32, mut bytes: &[u8]) {
        let stream = bytes;
        let mut walk = Walk::new(START_BYTES as u64);
        while let Ok(Some(place)) = walk.next(&mut bytes) {
            let Place::Block(at, length) = place else {
                continue;
            };
            let block = usize::try_from(at)
                .ok()
                .and_then(|at| stream.get(at..at + length))
                .and_then(fathomp_blocks::read);
            if let Some((block, _)) = block
                && block.origin.owner == number
                && block.origin.source == BY_INTERPOSER
            {
                self.block(&block);
            }
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        let position = block.origin.position;
        let head = BlockHead::split(block.payload).map(|(head, _)| head);
        match (Kind::from_number(block.kind), head) {
            (Some(Kind::Intervals), Some(head)) => {
                self.blocks = self.blocks.max(position);
                self.until = self.until.max(head.end);
            }
            (Some(Kind::Marks), Some(head)) => {
                self.mark_blocks = self.mark_blocks.max(position);
                self.marks_until = self.marks_until.max(head.end);
            }
            (Some(Kind::Task), _) => {
                if let Ok(note) = serde_json::from_slice::<TaskNote>(block.payload)
                    && position >= self.noted
                {
                    self.noted = position;
                    self.totals = note.totals.unwrap_or(self.totals);
                    self.until = self.until.max(note.begin.unwrap_or_default());
                    self.ended |= note.ending.is_some();
                }
            }
            (Some(Kind::End), _) if position >= self.summed => {
                self.summed = position;
                self.end = serde_json::from_slice(block.payload).unwrap_or(self.end);
            }
            _ => {}
        }
    }
}

impl Scribe {
    /// What was taken so far.
    #[must_use]
    pub fn taken(&self) -> Taken {
        self.counts
    }

    /// The task whose records come now, and where its clock stands.
    #[must_use]
    pub fn position(&self) -> Option<(u32, Ticks)> {
        let task = self.task.as_ref()?;
        Some((task.number, task.packer.position()))
    }

    /// The records that come next are those of a task that began before, whose last stay
    /// ended at `at`.
    pub fn resume(&mut self, number: u32, at: Ticks) {
        if self.position().is_none_or(|(known, _)| known != number) {
            let task = Task::new(number, at, TaskNote::default(), self.merging);
            self.task = Some(Box::new(task));
        }
    }

    /// The same, if another scribe wrote of the task into a stream before. What it wrote is
    /// left out if it comes again: it may have been killed before it could say how far it was.
    pub fn resume_after(&mut self, number: u32, past: Past) {
        self.task = Some(Box::new(Task::after(number, past, self.merging)));
    }

    /// From now on intervals are merged: the recording has reached its limit.
    pub fn merge(&mut self, width: Ticks) {
        self.merging.get_or_insert(width);
        if let Some(task) = &mut self.task {
            task.merge(width);
        }
    }

    /// Takes words; appends the blocks that are full to `out`. What comes after damage is
    /// left: nothing says where records begin again.
    pub fn take(&mut self, words: &[u64], out: &mut Vec<u8>) {
        let mut rest = words;
        let mut counts = Counts::ZERO;
        while !rest.is_empty() {
            if let Some(task) = self.task.as_deref_mut().filter(|task| task.is_plain())
                && let Some(stay) = record::read_stay(rest, &mut counts)
            {
                rest = &rest[stay.length..];
                self.counts.records += 1;
                task.stay(&stay, &counts);
                task.write_if_full(out);
                let mut mask = stay.mask;
                while mask != 0 {
                    counts.0[mask.trailing_zeros() as usize] = 0;
                    mask &= mask - 1;
                }
                continue;
            }
            counts = Counts::ZERO;
            let Ok((record, length)) = record::read(rest) else {
                self.damage();
                return;
            };
            rest = &rest[length..];
            self.counts.records += 1;
            self.record(&record, out);
        }
    }

    /// Words were lost.
    pub fn damage(&mut self) {
        self.counts.damaged += 1;
        if let Some(task) = &mut self.task {
            task.packer.lost(1);
            task.lost = true;
        }
    }

    #[inline]
    fn record(&mut self, record: &Record, out: &mut Vec<u8>) {
        if let Record::Begin { at, number, os_id } = *record {
            return self.begin(at, number, os_id, out);
        }
        let Some(task) = &mut self.task else {
            // The begin was lost, and nobody knew whose records these are.
            self.counts.damaged += 1;
            return;
        };
        if task.is_written(record) {
            return;
        }
        match *record {
            Record::Interval {
                at,
                state,
                cause,
                merged,
                ref counts,
            } => {
                if merged > 1 {
                    self.counts.merged = self.counts.merged.saturating_add(merged);
                }
                task.interval(at, state, cause, merged, counts);
                task.write_if_full(out);
            }
            Record::Omitted {
                ticks,
                state,
                stays,
                ref counts,
            } => task.totals.add(state, ticks.0, stays, counts),
            Record::Gap { at } => {
                task.packer.gap(at);
                task.lost = false;
            }
            Record::Mark { at, kind, name } => {
                let begin = task.note.begin.unwrap_or(at);
                let number = task.number;
                let blocks = task.past.map_or(0, |past| past.mark_blocks);
                let marks = task
                    .marks
                    .get_or_insert_with(|| MarkPacker::new(number, begin).after(blocks));
                if self.merging.is_some() {
                    marks.leave_out();
                }
                marks.mark(at, kind, name);
                task.open = true;
                if marks.is_full()
                    && let Some(block) = marks.seal()
                {
                    out.extend_from_slice(block);
                }
            }
            Record::Identity {
                rank,
                node,
                openmp_thread,
                selected,
            } => {
                let note = &mut task.note;
                note.rank = rank.or(note.rank);
                note.node = node.or(note.node);
                note.openmp_thread = openmp_thread.or(note.openmp_thread);
                note.selected = selected.or(note.selected);
                task.put_note(out);
            }
            Record::End { at, ending } => self.end(at, ending, out),
            Record::Begin { .. } => {}
        }
    }

    fn begin(&mut self, at: Ticks, number: u32, os_id: u32, out: &mut Vec<u8>) {
        // The end of the one before was lost.
        self.end(at, Ending::Lost, out);
        let note = TaskNote {
            os_id: Some(os_id),
            begin: Some(at),
            ..TaskNote::default()
        };
        let task = Task::new(number, at, note, self.merging);
        task.put_note(out);
        self.task = Some(Box::new(task));
    }

    /// Takes stays that are only known together and were not put into the ring: those merged
    /// from `begin` on, laid end to end.
    pub fn merged(&mut self, begin: Ticks, sums: impl Iterator<Item = Sum>) {
        let Some(task) = &mut self.task else { return };
        task.packer.gap(begin);
        let mut at = begin.max(task.packer.position());
        for sum in sums {
            at += sum.ticks;
            self.counts.merged = self.counts.merged.saturating_add(sum.stays);
            task.interval(at, sum.state, Cause::NONE, sum.stays, &sum.counts);
        }
    }

    /// Takes stays that are only part of the totals.
    pub fn omitted(&mut self, sums: impl Iterator<Item = Sum>) {
        let Some(task) = &mut self.task else { return };
        for sum in sums {
            task.totals
                .add(sum.state, sum.ticks.0, sum.stays, &sum.counts);
        }
    }

    /// The task was in `state` from `from` to `to` when its record stopped; nobody knows what
    /// was counted meanwhile.
    pub fn stayed(&mut self, from: Ticks, to: Ticks, state: State) {
        let Some(task) = &mut self.task else { return };
        if to > from && from >= task.packer.position() {
            task.packer.gap(from);
            task.interval(to, state, Cause::NONE, 1, &Counts::ZERO);
        }
    }

    /// Whether the task is one whose intervals are recorded, as far as known.
    #[must_use]
    pub fn is_selected(&self) -> bool {
        let selected = self.task.as_ref().and_then(|task| task.note.selected);
        selected.unwrap_or(true)
    }

    /// The task ends; appends all that is left of it.
    pub fn end(&mut self, at: Ticks, ending: Ending, out: &mut Vec<u8>) {
        let Some(mut task) = self.task.take() else {
            return;
        };
        task.seal(out);
        task.packer.put_bins(out);
        task.note.end = Some(at.max(task.packer.position()));
        task.note.ending = Some(ending);
        task.put_note(out);
        task.put_end(out);
    }

    /// Appends what is packed so far, and the totals, so that they are in the stream should
    /// the writer be killed. Sums of merged intervals take the place of those before, so they
    /// are better left for now and then (`sums`).
    pub fn flush(&mut self, sums: bool, out: &mut Vec<u8>) {
        let Some(task) = &mut self.task else { return };
        if !task.open {
            return;
        }
        task.seal(out);
        let merging = task.packer.is_merging();
        if !merging || sums {
            task.open = false;
            task.packer.put_bins(out);
            task.put_note(out);
            task.put_end(out);
        }
    }

    /// Appends what the task is, for a stream that goes on in another file.
    pub fn introduce(&self, out: &mut Vec<u8>) {
        if let Some(task) = &self.task {
            task.put_note(out);
        }
    }
}

impl Task {
    fn new(number: u32, at: Ticks, note: TaskNote, merging: Option<Ticks>) -> Self {
        let mut packer = TaskPacker::new(number, at);
        if let Some(width) = merging {
            packer.merge(width);
        }
        Self {
            number,
            packer,
            marks: None,
            totals: Totals::default(),
            note,
            open: false,
            lost: false,
            past: None,
        }
    }

    fn after(number: u32, past: Past, merging: Option<Ticks>) -> Self {
        let mut task = Self::new(number, past.until, TaskNote::default(), None);
        task.packer = TaskPacker::new(number, past.until).after(past.blocks, past.end);
        if let Some(width) = merging {
            task.packer.merge(width);
        }
        task.totals = past.totals;
        task.past = Some(past);
        task
    }

    /// Whether another scribe wrote that already.
    #[inline]
    fn is_written(&self, record: &Record) -> bool {
        let Some(past) = &self.past else { return false };
        match *record {
            _ if past.ended => true,
            Record::Interval { at, .. } | Record::Gap { at } => at <= past.until,
            Record::Mark { at, .. } => at <= past.marks_until,
            _ => false,
        }
    }

    #[inline]
    fn interval(&mut self, at: Ticks, state: State, cause: Cause, merged: u64, counts: &Counts) {
        if std::mem::take(&mut self.lost) {
            // Where the stay began is not known. Better a gap than a stay too long.
            self.packer.gap(at);
        }
        let ticks = at.since(self.packer.position());
        self.totals.add(state, ticks.0, merged, counts);
        match merged {
            1 => self.packer.change(at, state, cause, counts),
            _ => self.packer.merged(at, state, cause, counts, merged),
        }
        self.open = true;
    }

    /// Nothing came before that the next stay has to be compared with.
    #[inline]
    fn is_plain(&self) -> bool {
        !self.lost && self.past.is_none()
    }

    /// What [`interval`](Self::interval) does for a single stay, looking only at what rose.
    #[inline]
    fn stay(&mut self, stay: &record::Stay, counts: &Counts) {
        let ticks = stay.at.since(self.packer.position());
        let totals = &mut self.totals;
        let sum = &mut totals.ticks[stay.state.index()];
        *sum = sum.saturating_add(ticks.0);
        totals.stays = totals.stays.saturating_add(1);
        let mut mask = stay.mask;
        while mask != 0 {
            let number = mask.trailing_zeros() as usize;
            let sum = &mut totals.counts.0[number];
            *sum = sum.saturating_add(counts.0[number]);
            mask &= mask - 1;
        }
        self.packer.change(stay.at, stay.state, stay.cause, counts);
        self.open = true;
    }

    #[inline]
    fn write_if_full(&mut self, out: &mut Vec<u8>) {
        if self.packer.is_full()
            && let Some(block) = self.packer.seal()
        {
            out.extend_from_slice(block);
        }
    }

    fn merge(&mut self, width: Ticks) {
        self.packer.merge(width);
        if let Some(marks) = &mut self.marks {
            marks.leave_out();
        }
    }

    fn seal(&mut self, out: &mut Vec<u8>) {
        if let Some(block) = self.packer.seal() {
            out.extend_from_slice(block);
        }
        if let Some(block) = self.marks.as_mut().and_then(MarkPacker::seal) {
            out.extend_from_slice(block);
        }
    }

    fn put_note(&self, out: &mut Vec<u8>) {
        let note = TaskNote {
            totals: Some(self.totals),
            ..self.note.clone()
        };
        let position = self.packer.position().0;
        stream::put_note(out, Kind::Task, BY_INTERPOSER, self.number, position, &note);
    }

    fn put_end(&self, out: &mut Vec<u8>) {
        let marks = self.marks.as_ref().map(MarkPacker::end_note);
        let note = self.packer.end_note().and(&marks.unwrap_or_default());
        let position = self.packer.position().0;
        stream::put_note(out, Kind::End, BY_INTERPOSER, self.number, position, &note);
    }
}
