//! The nodes' notes, phase by phase, to what happened to each line.

use crate::LINE_BYTES;
use crate::lines::{Counts, LineFacts, LineUse, ReadFacts, judge, mask, words};
use crate::log::{Frame, LogError, Record, Region, Stop};
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;

/// Bytes of a page.
const PAGE_BYTES: u64 = 4096;
/// Lines of a page.
const LINES: usize = (PAGE_BYTES / LINE_BYTES) as usize;
/// Blocks of a loop that are so many lines long touch each other rarely.
const BLOCK_LINES: u64 = 8;
/// Regions and instructions that are kept of a line that is read.
const REGIONS_MAX: usize = 8;
const INSTRUCTIONS_MAX: usize = 16;
/// Blocks of the heap that are looked at to find the one that contains an address.
const BLOCKS_LOOKED_AT: usize = 16;
/// The longest scalar, a long double.
const SCALAR_BYTES_MAX: u64 = 16;
/// What is taken for an access whose size is unknown.
const UNKNOWN_BYTES: u64 = 1;

/// What the program's file says of its accesses and variables.
pub trait Layout {
    /// Bytes that the instruction at an address accesses in memory, if it can be told.
    fn access_bytes(&self, instruction: u64) -> Option<u64>;
    /// The scalar that contains an address: its first byte and its length.
    fn scalar(&self, address: u64) -> Option<Range<u64>>;
}

/// A block of the heap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Block {
    pub(crate) bytes: u64,
    pub(crate) frames: Vec<u64>,
    /// The phase in which it was allocated.
    pub(crate) phase: u64,
}

/// What all nodes' notes say together.
#[derive(Clone, Debug, Default)]
pub struct Gathered {
    /// Lines that nodes shared, by address.
    pub lines: BTreeMap<u64, LineFacts>,
    /// Lines that several nodes read and none wrote meanwhile, by address.
    pub reads: BTreeMap<u64, ReadFacts>,
    /// Phases that some node came through, the last one perhaps not to its end.
    pub phases: u64,
    /// Atomic instructions executed, by region and address of the instruction.
    pub atomics: BTreeMap<(Region, u64), u64>,
    /// Phases of each region.
    pub regions: BTreeMap<Region, u64>,
    /// Why a node stopped before the end, if one did.
    pub stopped: Option<Stop>,
    /// All nodes came to the program's end.
    pub complete: bool,
    /// Blocks by address, each address's in the order of time.
    pub(crate) blocks: BTreeMap<u64, Vec<Block>>,
    /// Frames of the program where a region begins, with the phase before it.
    pub(crate) frames: Vec<(u64, Vec<Frame>)>,
    /// The last phase in which each line was shared.
    pub(crate) last: HashMap<u64, u64>,
    exits: usize,
}

/// What a node did to the lines of a page in a phase.
type Lines = Box<[LineUse; LINES]>;

/// A phase of all nodes.
#[derive(Default)]
struct Phase {
    records: Vec<(u16, Record)>,
    /// Which nodes touched a page: the first, and whether there are others.
    touched: HashMap<u64, (u16, bool)>,
    /// Lines that were written of pages that one node touched, a bit for each.
    alone: HashMap<u64, (u16, u64)>,
    pages: BTreeMap<u64, BTreeMap<u16, Lines>>,
    region: Region,
}

fn page_of(address: u64) -> u64 {
    address & !(PAGE_BYTES - 1)
}

fn number_of(line: u64) -> usize {
    // At most 63.
    (line % PAGE_BYTES / LINE_BYTES) as usize
}

impl Phase {
    fn take(&mut self, node: u16, record: Record) {
        let address = match &record {
            Record::Wrote { page, .. } => *page,
            Record::Access { address, .. } | Record::Atomic { address, .. } => *address,
            _ => return,
        };
        let first = self
            .touched
            .entry(page_of(address))
            .or_insert((node, false));
        first.1 |= first.0 != node;
        self.records.push((node, record));
    }

    fn shared(&self, page: u64) -> bool {
        self.touched.get(&page).is_some_and(|(_, others)| *others)
    }

    /// Does something to each line that some bytes lie in, with their mask.
    fn each(
        &mut self,
        node: u16,
        address: u64,
        bytes: u64,
        mut act: impl FnMut(&mut LineUse, u64),
    ) {
        let end = address.saturating_add(bytes);
        let mut at = address;
        while at < end {
            let line = at & !(LINE_BYTES - 1);
            let lines = self.pages.entry(page_of(line)).or_default();
            let lines = lines
                .entry(node)
                .or_insert_with(|| Box::new([LineUse::default(); LINES]));
            act(&mut lines[number_of(line)], mask(at - line, end - at));
            let Some(next) = line.checked_add(LINE_BYTES) else {
                break;
            };
            at = next;
        }
    }

    /// Enters what was noted of pages that several nodes touched.
    fn enter(&mut self, layout: &impl Layout) {
        for (node, record) in std::mem::take(&mut self.records) {
            match record {
                Record::Wrote {
                    page,
                    ranges,
                    locked,
                } => self.enter_changes(node, page, &ranges, locked),
                Record::Access {
                    write,
                    address,
                    instruction,
                    times,
                } if self.shared(page_of(address)) => {
                    let bytes = layout.access_bytes(instruction).unwrap_or(UNKNOWN_BYTES);
                    let bytes = bytes.clamp(1, LINE_BYTES);
                    self.each(node, address, bytes, |did, mask| {
                        match write {
                            true => did.wrote |= mask,
                            false => did.read |= mask,
                        }
                        add(&mut did.traps, mask, times);
                    });
                }
                Record::Atomic {
                    address,
                    bytes,
                    times,
                    ..
                } if self.shared(page_of(address)) => {
                    self.each(node, address, bytes.min(LINE_BYTES), |did, mask| {
                        did.wrote |= mask;
                        did.atomic |= mask;
                        add(&mut did.atomics, mask, times);
                        did.atomics_most = did.atomics_most.max(times);
                    });
                }
                _ => {}
            }
        }
    }

    fn enter_changes(&mut self, node: u16, page: u64, ranges: &[Range<u16>], locked: bool) {
        if !self.shared(page) {
            let lines = &mut self.alone.entry(page).or_insert((node, 0)).1;
            for range in ranges {
                let (first, last) = (range.start / 64, (range.end - 1) / 64);
                *lines |= mask(u64::from(first), u64::from(last - first + 1));
            }
            return;
        }
        // A word is changed once, however many ranges of it are.
        let mut changed: BTreeMap<u64, u64> = BTreeMap::new();
        for range in ranges {
            let mut at = page + u64::from(range.start);
            let end = page + u64::from(range.end);
            while at < end {
                let line = at & !(LINE_BYTES - 1);
                *changed.entry(line).or_default() |= mask(at - line, end - at);
                at = line + LINE_BYTES;
            }
        }
        for (line, bytes) in changed {
            self.each(node, line, 1, |did, _| {
                did.wrote |= bytes;
                add(&mut did.changes, bytes, 1);
                did.episodes += 1;
                did.locked += u64::from(locked);
            });
        }
    }

    fn wrote(&self, node: u16, line: u64) -> bool {
        let page = page_of(line);
        if let Some((writer, lines)) = self.alone.get(&page) {
            return *writer == node && lines >> number_of(line) & 1 == 1;
        }
        let lines = self.pages.get(&page).and_then(|nodes| nodes.get(&node));
        lines.is_some_and(|lines| lines[number_of(line)].wrote != 0)
    }

    /// Whether a line is only where two blocks meet that two nodes write.
    fn is_boundary(&self, line: u64, all: &[(u16, LineUse)]) -> bool {
        let [(a, _), (b, _)] = all else {
            return false;
        };
        let steps = 1..=BLOCK_LINES;
        let before = |node: u16| {
            let mut steps = steps.clone().map(|n| line.wrapping_sub(n * LINE_BYTES));
            steps.all(|line| self.wrote(node, line))
        };
        let behind = |node: u16| {
            let mut steps = steps.clone().map(|n| line.wrapping_add(n * LINE_BYTES));
            steps.all(|line| self.wrote(node, line))
        };
        before(*a) && behind(*b) || before(*b) && behind(*a)
    }
}

/// Takes in a node's notes up to the end of a phase; false if they end before.
fn take_phase(
    node: u16,
    part: &mut impl Iterator<Item = Result<Record, LogError>>,
    phase: &mut Phase,
    gathered: &mut Gathered,
) -> Result<bool, LogError> {
    for record in part {
        match record? {
            Record::Phase(region) => {
                // Node 0 knows.
                if node == 0 {
                    phase.region = region;
                }
                return Ok(true);
            }
            Record::Block {
                address,
                bytes,
                frames,
            } => gathered.blocks.entry(address).or_default().push(Block {
                bytes,
                frames,
                phase: gathered.phases,
            }),
            Record::Frames(frames) => gathered.frames.push((gathered.phases, frames)),
            Record::Stopped(why) => gathered.stopped = Some(why),
            Record::Exit => gathered.exits += 1,
            record => phase.take(node, record),
        }
    }
    Ok(false)
}

/// Goes through the notes of all nodes, in the order of their numbers.
///
/// # Errors
/// If a node's notes make no sense.
pub fn gather<I>(mut parts: Vec<I>, layout: &impl Layout) -> Result<Gathered, LogError>
where
    I: Iterator<Item = Result<Record, LogError>>,
{
    let mut gathered = Gathered::default();
    loop {
        let mut phase = Phase::default();
        let mut came = false;
        for (node, part) in (0..).zip(&mut parts) {
            came |= take_phase(node, part, &mut phase, &mut gathered)?;
        }
        // Of a phase that was cut off, what was seen is true all the same.
        if came || !phase.records.is_empty() {
            gathered.close(phase, layout);
        }
        if !came {
            break;
        }
    }
    gathered.complete = gathered.stopped.is_none() && gathered.exits == parts.len();
    Ok(gathered)
}

impl Gathered {
    fn close(&mut self, mut phase: Phase, layout: &impl Layout) {
        let region = phase.region;
        self.phases += 1;
        *self.regions.entry(region).or_default() += 1;
        let mut instructions: HashMap<u64, Vec<(u64, u64, bool)>> = HashMap::new();
        for (_, record) in &phase.records {
            let (address, instruction, times, write) = match record {
                Record::Access {
                    address,
                    instruction,
                    times,
                    write,
                } => (address, instruction, times, *write),
                Record::Atomic {
                    address,
                    instruction,
                    times,
                    ..
                } => {
                    let known = self.atomics.entry((region, *instruction)).or_default();
                    *known = known.saturating_add(*times);
                    (address, instruction, times, true)
                }
                _ => continue,
            };
            let line = address & !(LINE_BYTES - 1);
            let of_line = instructions.entry(line).or_default();
            of_line.push((*instruction, *times, write));
        }
        phase.enter(layout);
        for (page, nodes) in &phase.pages {
            let written = nodes.values().any(|l| l.iter().any(|did| did.wrote != 0));
            for number in 0..LINES {
                let line = page + number as u64 * LINE_BYTES;
                let all = nodes.iter().map(|(node, lines)| (*node, lines[number]));
                let touched = |did: &LineUse| did.wrote | did.read != 0;
                let all: Vec<_> = all.filter(|(_, did)| touched(did)).collect();
                let of_line = instructions.get(&line).map_or(&[][..], Vec::as_slice);
                if !written && !all.is_empty() {
                    self.read(line, &all, of_line, region);
                } else if all.len() > 1 {
                    self.share(line, all, of_line, &phase, layout);
                }
            }
        }
    }

    /// A line that nobody wrote in a phase.
    fn read(
        &mut self,
        line: u64,
        all: &[(u16, LineUse)],
        instructions: &[(u64, u64, bool)],
        region: Region,
    ) {
        let facts = self.reads.entry(line).or_default();
        facts.read_phases += 1;
        if facts.regions.len() < REGIONS_MAX {
            facts.regions.insert(region);
        }
        for (node, did) in all {
            facts.readers.insert(*node);
            facts.bytes |= did.read;
            let traps = did.traps.iter().copied();
            facts.reads = traps.fold(facts.reads, u64::saturating_add);
        }
        let room = INSTRUCTIONS_MAX.saturating_sub(facts.instructions.len());
        let instructions = instructions.iter().map(|(address, ..)| *address);
        facts.instructions.extend(instructions.take(room));
    }

    /// A line that several nodes touched in a phase.
    fn share(
        &mut self,
        line: u64,
        mut all: Vec<(u16, LineUse)>,
        instructions: &[(u64, u64, bool)],
        phase: &Phase,
        layout: &impl Layout,
    ) {
        for (_, did) in &mut all {
            did.wrote = whole(line, did.wrote, layout);
            did.read = whole(line, did.read, layout);
        }
        let mut judged = judge(&all);
        if judged.combining {
            // What is left, without what is only combined.
            let same = wide(line, judged.same, layout);
            for (_, did) in &mut all {
                did.wrote &= !same;
                did.read &= !same;
                did.atomic &= !same;
                for word in words(same) {
                    (did.atomics[word], did.changes[word], did.traps[word]) = (0, 0, 0);
                }
                did.locked = 0;
            }
            judged = judge(&all);
        }
        if judged.same == 0 && !judged.apart {
            return;
        }
        let boundary = judged.same == 0 && phase.is_boundary(line, &all);
        let facts = self.lines.entry(line).or_default();
        facts.add(judged, &all, boundary, phase.region);
        for (address, times, _) in instructions {
            facts.instruction(*address, *times);
        }
        self.last.insert(line, self.phases - 1);
    }

    /// The frames of the program when an address's line was shared last.
    pub(crate) fn frames(&self, address: u64) -> &[Frame] {
        let line = address & !(LINE_BYTES - 1);
        let phase = self.last.get(&line).copied().unwrap_or(u64::MAX);
        let after = self.frames.partition_point(|(at, _)| *at < phase);
        let before = after.checked_sub(1).and_then(|at| self.frames.get(at));
        before.map_or(&[], |(_, frames)| frames)
    }

    /// The block that contains an address of a line as it was when the line was shared
    /// last.
    pub(crate) fn block(&self, address: u64) -> Option<(u64, &Block)> {
        let line = address & !(LINE_BYTES - 1);
        let phase = self.last.get(&line).copied().unwrap_or(u64::MAX);
        // Blocks that begin before may be given back and others lie there: the nearest
        // one that reaches so far.
        let before = self.blocks.range(..=address).rev().take(BLOCKS_LOOKED_AT);
        for (start, blocks) in before {
            let in_time = blocks.iter().rev().find(|block| block.phase <= phase);
            let reaches = |block: &&Block| address - start < block.bytes;
            if let Some(block) = in_time.filter(reaches) {
                return Some((*start, block));
            }
        }
        None
    }
}

fn add(counts: &mut Counts, bytes: u64, times: u64) {
    for word in words(bytes) {
        counts[word] = counts[word].saturating_add(times);
    }
}

/// Bytes of a line, completed to the longest scalars that there may be where nothing says
/// how long they are.
fn wide(line: u64, bytes: u64, layout: &impl Layout) -> u64 {
    let unknown = |byte: &u64| layout.scalar(line + byte).is_none();
    let bytes_set = (0..LINE_BYTES).filter(|byte| bytes >> byte & 1 == 1);
    bytes_set.filter(unknown).fold(bytes, |all, byte| {
        all | mask(byte / SCALAR_BYTES_MAX * SCALAR_BYTES_MAX, SCALAR_BYTES_MAX)
    })
}

/// Bytes of a line, completed to whole scalars.
fn whole(line: u64, bytes: u64, layout: &impl Layout) -> u64 {
    let (mut left, mut all) = (bytes, bytes);
    while left != 0 {
        let first = u64::from(left.trailing_zeros());
        left &= left - 1;
        if let Some(scalar) = layout.scalar(line + first) {
            let start = scalar.start.max(line);
            let scalar = mask(start - line, scalar.end.saturating_sub(start));
            all |= scalar;
            left &= !scalar;
        }
    }
    all
}

#[cfg(test)]
#[path = "gather_tests.rs"]
mod tests;
