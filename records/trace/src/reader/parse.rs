//! From the bytes of a stream to a process.

use crate::drain::Slot;
use crate::model::{Process, Site, SiteKind, Thread};
use crate::record::{DryRun, Record, WordSet};
use crate::stream::{self, Block, Kind, ProcessNote, SitesNote, ThreadNote};
use crate::wire::{self, Entry};
use fathomp_blocks::{Blocks, Piece};
use fathomp_types::{SiteId, ThreadId, Ticks};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// More sites than any recorder numbers.
const SITES_MAX: usize = 1 << 16;

/// Collects what the blocks of a stream say.
#[derive(Debug, Default)]
pub(super) struct Parser {
    note: Option<ProcessNote>,
    sites: Vec<Site>,
    threads: BTreeMap<ThreadId, Collected>,
    sets: BTreeMap<u64, WordSet>,
    dry: Vec<DryRun>,
    /// How far each slot's ring is in the stream.
    slots: BTreeMap<u32, Slot>,
    damage: StreamDamage,
}

/// What is known of a thread.
#[derive(Debug, Default)]
struct Collected {
    note: ThreadNote,
    records: Vec<Record>,
}

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StreamDamage {
    /// Bytes that are no sound block.
    pub(super) damaged_bytes: usize,
    /// Bytes of an incomplete block at the end.
    pub(super) cut_bytes: usize,
    /// Records that could not be decoded.
    pub(super) malformed: u64,
    /// Blocks or records of a kind we do not know.
    pub(super) unknown: u64,
    /// Records that were only found in the live directory.
    pub(super) salvaged: bool,
    /// Words that were taken out of a ring and never written.
    pub(super) words_lost: u64,
}

/// A process and what the check needs to know beside it.
#[derive(Debug)]
pub(super) struct Parsed {
    pub(super) process: Process,
    pub(super) note: ProcessNote,
    pub(super) open: u64,
    pub(super) damage: StreamDamage,
}

impl Parsed {
    /// Whether any thread recorded anything.
    pub(super) fn says_something(&self) -> bool {
        let mut threads = self.process.threads.iter();
        threads.any(|thread| !thread.records.is_empty())
    }
}

impl Parser {
    /// Takes in blocks.
    pub(super) fn blocks(&mut self, bytes: &[u8]) {
        for piece in Blocks::new(bytes) {
            match piece {
                Piece::Block(block) => self.block(&block.into()),
                Piece::Damage(bytes) => self.damage.damaged_bytes += bytes,
                Piece::Cut(bytes) => self.damage.cut_bytes += bytes,
            }
        }
    }

    fn block(&mut self, block: &Block<'_>) {
        let origin = block.origin;
        if origin.position != 0 {
            let slot = self.slots.entry(origin.slot).or_default();
            slot.position = slot.position.max(origin.position);
            slot.thread = Some(origin.thread);
        }
        match block.kind {
            Some(Kind::Process) => match serde_json::from_slice(block.payload) {
                Ok(note) => self.note = Some(note),
                Err(_) => self.damage.malformed += 1,
            },
            Some(Kind::Sites) => match serde_json::from_slice(block.payload) {
                Ok(note) => self.add_sites(note),
                Err(_) => self.damage.malformed += 1,
            },
            Some(Kind::Thread) => match serde_json::from_slice(block.payload) {
                Ok(note) => self.add_thread(&note),
                Err(_) => self.damage.malformed += 1,
            },
            Some(Kind::Records) => self.add_records(origin.thread, block.payload),
            None => self.damage.unknown += 1,
        }
    }

    fn add_sites(&mut self, note: SitesNote) {
        for (number, site) in (note.first as usize..).zip(note.sites) {
            if number >= SITES_MAX {
                self.damage.malformed += 1;
                return;
            }
            self.need_site(number);
            self.sites[number] = Site {
                id: SiteId(number as u32),
                kind: site.kind,
                module: PathBuf::from(site.module),
                call: site.call,
                function: site.function,
            };
        }
    }

    /// Makes sure that there is a site of that number, unknown if need be.
    fn need_site(&mut self, number: usize) {
        while self.sites.len() <= number {
            let id = SiteId(self.sites.len() as u32);
            self.sites.push(Site {
                id,
                kind: if id == SiteId::SERIAL {
                    SiteKind::Serial
                } else {
                    SiteKind::Parallel
                },
                module: PathBuf::new(),
                call: 0,
                function: 0,
            });
        }
    }

    fn add_thread(&mut self, note: &ThreadNote) {
        let known = &mut self.threads.entry(note.id).or_default().note;
        *known = ThreadNote {
            id: note.id,
            os_id: note.os_id.max(known.os_id),
            begin: match (known.begin, note.begin) {
                (Ticks(0), other) | (other, Ticks(0)) => other,
                (a, b) => a.min(b),
            },
            end: known.end.max(note.end),
            dropped: known.dropped.max(note.dropped),
            ended: known.ended || note.ended,
            open: note.open,
        };
    }

    fn add_records(&mut self, thread: ThreadId, payload: &[u8]) {
        let words: Vec<u64> = stream::words(payload).collect();
        let mut rest = &words[..];
        let mut records = std::mem::take(&mut self.threads.entry(thread).or_default().records);
        while !rest.is_empty() {
            let Ok((entry, length)) = wire::read(rest) else {
                self.damage.malformed += 1;
                break;
            };
            rest = &rest[length..];
            match entry {
                Entry::Record(record) => {
                    let site = record.site();
                    if site.0 as usize >= SITES_MAX {
                        self.damage.malformed += 1;
                        continue;
                    }
                    self.need_site(site.0 as usize);
                    records.push(record);
                }
                Entry::Words(set) => {
                    if set.site.0 as usize >= SITES_MAX {
                        self.damage.malformed += 1;
                        continue;
                    }
                    self.need_site(set.site.0 as usize);
                    self.sets.insert(set.set, set);
                }
                Entry::Dry(dry) => self.dry.push(dry),
                Entry::ThreadBegin { .. } | Entry::ThreadEnd { .. } | Entry::Unknown => {
                    self.damage.unknown += 1;
                }
            }
        }
        self.threads.entry(thread).or_default().records = records;
    }

    /// Whether the drainer completed the stream.
    pub(super) fn is_complete(&self) -> bool {
        self.note.as_ref().is_some_and(|note| note.complete)
    }

    /// Where draining broke off: the slots and the number of sites known.
    pub(super) fn resume_at(&self) -> (Vec<Slot>, usize) {
        const SLOTS_MAX: u32 = 1 << 16;
        let last = self.slots.keys().next_back().copied().unwrap_or(0);
        let slots = (0..=last.min(SLOTS_MAX))
            .map(|index| self.slots.get(&index).copied().unwrap_or_default())
            .collect();
        (slots, self.sites.len())
    }

    /// What was found outside the stream was taken in, except for words that
    /// nobody has any more.
    pub(super) fn salvaged(&mut self, words_lost: u64) {
        self.damage.salvaged = true;
        self.damage.words_lost = words_lost;
    }

    /// The process, if the stream says which.
    pub(super) fn finish(mut self) -> Option<Parsed> {
        let note = self.note.take()?;
        self.need_site(0);
        for dry in self.dry {
            if let Some(set) = self.sets.get_mut(&dry.set) {
                set.dry.push(dry.found);
            }
        }
        let open = self
            .threads
            .values()
            .map(|thread| u64::from(thread.note.open))
            .sum();
        let threads = self.threads.into_iter().map(|(id, thread)| Thread {
            id,
            node: note.node,
            os_id: thread.note.os_id,
            begin: thread.note.begin,
            end: thread.note.end,
            records: thread.records,
            dropped: thread.note.dropped,
        });
        let threads: Vec<Thread> = threads.collect();
        let dropped = threads.iter().map(|thread| thread.dropped);
        let dropped = dropped.fold(0, u64::saturating_add);
        let process = Process {
            details_missing: dropped.saturating_add(note.details_left_out),
            node: note.node,
            cluster: note.cluster,
            pid: note.pid,
            executable: PathBuf::from(&note.executable),
            clock: note.clock(),
            begin: note.zero,
            end: note.end,
            runtime: note.runtime.clone(),
            foreign_recorder: note.foreign_recorder.clone(),
            sites: self.sites,
            threads,
            hardware_counters: note.hardware_counters,
            stack_overflow: note.stack_overflow,
            nodes: Vec::new(),
            sets: self.sets.into_values().collect(),
        };
        Some(Parsed {
            process,
            note,
            open,
            damage: self.damage,
        })
    }
}
