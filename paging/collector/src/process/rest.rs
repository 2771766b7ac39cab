//! What a process leaves in its ring file when it ends, however it ends: the rest of its
//! rings, sums that found no room there, and what it was doing.

use super::{Common, Process};
use fathomp_feed::facts::End;
use fathomp_feed::file::RingFile;
use fathomp_feed::layout::{ending, slot};
use fathomp_feed::scribe::Past;
use fathomp_paging::setup::{Handover, Writer};
use fathomp_paging::stream::file_name;
use fathomp_paging::{Activity, State};
use fathomp_ring::Word;
use fathomp_types::Ticks;
use std::path::{Path, PathBuf};

impl Process {
    /// Takes what a slot holds beside what was taken before, and ends its thread.
    pub(crate) fn close_slot(
        &mut self,
        file: &RingFile,
        index: usize,
        end: &End,
        common: &Common<'_>,
    ) {
        let (Some(words), Some(ring)) = (file.slot(index), file.ring(index)) else {
            return;
        };
        let head = ring.written();
        let active = words[slot::STATE].acquire() == slot::ACTIVE;
        let current = words[slot::THREAD].get() as u32;
        if self.handover == Handover::Files {
            let tail = ring.consumed();
            if tail == head && !active {
                return;
            }
            let at_tail = words[slot::TAIL_THREAD].get().checked_sub(1);
            let number = at_tail.map_or(current, |number| number as u32);
            let past = past(
                &common.setup.writer,
                file,
                number,
                index,
                common.store.directory(),
            );
            let channel = self.channel(index);
            channel.position = tail;
            if at_tail.is_some() || past != Past::default() {
                channel.scribe.resume_after(number, past);
            }
        }
        let channel = self.channel(index);
        let mut rest = Vec::new();
        if head != channel.position {
            if ring.copy(channel.position, head, &mut rest).is_err() {
                channel.scribe.damage();
            }
            channel.position = head;
            self.take(index, &rest, common);
        }
        if !active {
            return;
        }
        let channel = self.channel(index);
        let last = Ticks(words[slot::LAST].get());
        if channel
            .scribe
            .position()
            .is_none_or(|(known, _)| known != current)
        {
            channel
                .scribe
                .resume(current, Ticks(words[slot::BEGIN].get()));
        }
        if let Some(merged) = file.merged(index)
            && !merged.are_in_ring(head)
            && !merged.is_empty()
        {
            channel.scribe.merged(merged.begin(), merged.each());
        }
        if let Some(omitted) = file.omitted(index)
            && !omitted.are_in_ring(head)
        {
            channel.scribe.omitted(omitted.each());
        }
        let ended = Ticks(words[slot::END].acquire());
        let how = ending::from_word(words[slot::ENDING].get());
        if let (true, Some(how)) = (ended != Ticks(0), how) {
            let mut out = std::mem::take(&mut self.pending);
            self.channel(index).scribe.end(ended, how, &mut out);
            self.pending = out;
            return;
        }
        let next = usize::try_from(words[slot::NEXT].get()).unwrap_or(usize::MAX);
        if let Some(&next) = Activity::ALL.get(next)
            && channel.scribe.is_selected()
            // Else its last stays were not recorded, because of the window say.
            && channel.scribe.position() == Some((current, last))
            && common.setup.activity_mask() >> next as u32 & 1 != 0
        {
            channel.scribe.stayed(last, end.at, State::active(next));
        }
        let mut out = std::mem::take(&mut self.pending);
        self.channel(index).scribe.end(end.at, end.ending, &mut out);
        self.pending = out;
    }
}

/// What the process itself wrote of a task.
fn past(writer: &Writer, file: &RingFile, number: u32, index: usize, streams: &Path) -> Past {
    let facts = file.facts();
    let name = |part: usize| file_name(facts.pid, facts.zero, Some(part as u32));
    let paths: Vec<PathBuf> = match writer {
        Writer::Striped(directories) => {
            let parts = directories.iter().enumerate();
            parts.map(|(part, one)| one.join(name(part))).collect()
        }
        _ => vec![streams.join(name(index))],
    };
    let mut past = Past::default();
    for path in paths {
        // What cannot be read is not there; it is then taken once more if it is in the ring.
        past.add(number, &std::fs::read(path).unwrap_or_default());
    }
    past
}
