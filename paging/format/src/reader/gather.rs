//! Goes through streams once: where which block is, and what the notes say.

use super::problems::Problems;
use super::store::{Store, Window};
use crate::pack::{BlockHead, unpack_bins};
use crate::stream::{
    BY_INTERPOSER, EndNote, Kind, MAGIC, NamesNote, PROCESS, ProcessNote, TaskNote, VERSION,
};
use fathomp_blocks::{Block, Place, START_BYTES, Source, Walk};
use fathomp_types::Ticks;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::io;

/// More names than any program has calls and constructs.
const NAMES_MAX: usize = 1 << 20;

/// A note whose fields complete those of others.
pub(super) type Note = Map<String, Value>;

/// Where a block is.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockAt {
    /// Number of the stream.
    pub(super) stream: u32,
    pub(super) at: u64,
    pub(super) bytes: usize,
    pub(super) position: u64,
    pub(super) head: BlockHead,
    /// Intervals, marks or samples in it; of bins: stays.
    pub(super) entries: u64,
}

/// What the streams of one process hold.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    /// Notes of the process by samplers, then those by the interposer, with their positions.
    pub(super) notes: [Vec<(u64, Note)>; 2],
    pub(super) names: Vec<String>,
    /// By source and number.
    pub(super) tasks: BTreeMap<(u32, u32), GatheredTask>,
    /// Of the process as a whole, by source.
    pub(super) ends: BTreeMap<u32, (u64, EndNote)>,
}

/// What they hold of a task.
#[derive(Debug, Default)]
pub(super) struct GatheredTask {
    pub(super) notes: Vec<(u64, Note)>,
    pub(super) intervals: Vec<BlockAt>,
    pub(super) marks: Vec<BlockAt>,
    pub(super) samples: Vec<BlockAt>,
    /// Of which time they are, in nanoseconds of the recording, if they were taken
    /// of other tasks, too.
    pub(super) sampled: Option<(u64, u64)>,
    pub(super) bins: Option<BlockAt>,
    pub(super) end: Option<(u64, EndNote)>,
}

impl Gathered {
    /// Takes a stream in.
    ///
    /// # Errors
    /// If the system does not give its bytes.
    pub(super) fn stream(
        &mut self,
        number: u32,
        store: &Store,
        problems: &mut Problems,
    ) -> io::Result<()> {
        let mut window = Window::new(store.open()?)?;
        let start = window.at(0, START_BYTES)?;
        let start = &start[..START_BYTES.min(start.len())];
        if let Err(why) = fathomp_blocks::after_start(start, MAGIC, VERSION) {
            problems.left_out(&store.name, &why);
            return Ok(());
        }
        if window.total() <= START_BYTES as u64 {
            problems.empty(&store.name);
            return Ok(());
        }
        let mut walk = Walk::new(START_BYTES as u64);
        while let Some(place) = walk.next(&mut window)? {
            match place {
                Place::Damage(bytes) => problems.damaged(&store.name, bytes),
                Place::Cut(bytes) => problems.cut(&store.name, bytes),
                Place::Block(at, bytes) => {
                    let window = window.at(at, bytes)?;
                    if let Some((block, bytes)) = fathomp_blocks::read(window) {
                        let place = BlockAt {
                            stream: number,
                            at,
                            bytes,
                            position: block.origin.position,
                            head: BlockHead::default(),
                            entries: 0,
                        };
                        self.block(&block, place, problems);
                    }
                }
            }
        }
        Ok(())
    }

    fn block(&mut self, block: &Block<'_>, place: BlockAt, problems: &mut Problems) {
        let origin = block.origin;
        let Some(kind) = Kind::from_number(block.kind) else {
            problems.unknown_blocks += 1;
            return;
        };
        let is_of_process = origin.owner == PROCESS;
        let understood = match kind {
            Kind::Process => note::<ProcessNote>(block.payload).map(|note| {
                let by_interposer = usize::from(origin.source == BY_INTERPOSER);
                self.notes[by_interposer].push((origin.position, note));
            }),
            Kind::Names => serde_json::from_slice(block.payload)
                .ok()
                .and_then(|note| self.add_names(note)),
            Kind::End if is_of_process => end_note(block.payload).map(|note| {
                let known = self.ends.entry(origin.source).or_default();
                if origin.position >= known.0 {
                    *known = (origin.position, note);
                }
            }),
            _ if is_of_process => None,
            _ => {
                let key = (origin.source, origin.owner);
                self.tasks.entry(key).or_default().block(kind, block, place)
            }
        };
        if understood.is_none() {
            problems.malformed_blocks += 1;
        }
    }

    fn add_names(&mut self, note: NamesNote) -> Option<()> {
        for (number, name) in (note.first as usize..).zip(note.names) {
            if number >= NAMES_MAX {
                return None;
            }
            if self.names.len() <= number {
                self.names.resize(number + 1, String::new());
            }
            self.names[number] = name;
        }
        Some(())
    }
}

impl GatheredTask {
    fn block(&mut self, kind: Kind, block: &Block<'_>, place: BlockAt) -> Option<()> {
        let packed = || {
            let (head, _) = BlockHead::split(block.payload)?;
            // The end is what the writer says; whatever it is, time does not run
            // backwards.
            let head = BlockHead {
                end: head.end.max(head.begin),
                ..head
            };
            Some(BlockAt {
                head,
                entries: head.entries.into(),
                ..place
            })
        };
        match kind {
            Kind::Task => self
                .notes
                .push((place.position, note::<TaskNote>(block.payload)?)),
            Kind::Intervals => self.intervals.push(packed()?),
            Kind::Marks => self.marks.push(packed()?),
            Kind::Samples => self.samples.push(packed()?),
            Kind::Bins => {
                let bins = bins(block.payload, place)?;
                if self
                    .bins
                    .is_none_or(|known| bins.position >= known.position)
                {
                    self.bins = Some(bins);
                }
            }
            Kind::End => {
                let note = end_note(block.payload)?;
                if self.end.is_none_or(|(known, _)| place.position >= known) {
                    self.end = Some((place.position, note));
                }
            }
            Kind::Process | Kind::Names => {}
        }
        Some(())
    }
}

/// What a block of bins spans, and how many stays are in it.
fn bins(payload: &[u8], place: BlockAt) -> Option<BlockAt> {
    let mut found = BlockAt {
        head: BlockHead {
            begin: Ticks(u64::MAX),
            ..BlockHead::default()
        },
        ..place
    };
    // Bins are filled from their begin, so the last ends with what is in it.
    let (mut bin, mut filled) = (Ticks(u64::MAX), Ticks(0));
    let sound = unpack_bins(payload, |begin, end, _, cell| {
        if begin != bin {
            (bin, filled) = (begin, begin);
        }
        filled = (filled + Ticks(cell.ticks)).min(end.max(begin));
        found.head.begin = found.head.begin.min(begin);
        found.head.end = found.head.end.max(filled);
        found.entries = found.entries.saturating_add(cell.stays);
    });
    sound.then_some(found)
}

/// The fields of a note, if they are what they should be.
fn note<T: DeserializeOwned>(payload: &[u8]) -> Option<Note> {
    let note: Note = serde_json::from_slice(payload).ok()?;
    T::deserialize(&note).is_ok().then_some(note)
}

fn end_note(payload: &[u8]) -> Option<EndNote> {
    serde_json::from_slice(payload).ok()
}

/// Notes as one, later ones before earlier ones.
pub(super) fn complete(mut notes: Vec<(u64, Note)>) -> Note {
    notes.sort_by_key(|(position, _)| *position);
    let mut whole = Note::new();
    for (_, note) in notes {
        whole.extend(note.into_iter().filter(|(_, value)| !value.is_null()));
    }
    whole
}
