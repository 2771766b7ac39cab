//! Sums of judged faults.

use crate::facts::{
    FaultCounts, FaultFacts, FirstTouches, LineRow, MappingKind, MappingRow, ThreadFaults,
    TouchRow, VariableRow,
};
use crate::names::Names;
use crate::replay::{FaultKind, InFile, Judged, PAGE, Replay};
use crate::space::MapId;
use fathomp_analysis::Place;
use std::collections::{BTreeMap, HashMap};
use std::path::Path;

/// Rows of a table that are kept; the rest is of no use to anybody.
const ROWS_MAX: usize = 1000;
/// Bytes of a huge page.
const HUGE_BYTES: u64 = 2 << 20;

/// What the faults of a recording add up to.
#[derive(Debug, Default)]
pub(super) struct Tally {
    counts: FaultCounts,
    waited_ns: u64,
    code: HashMap<Option<InFile>, FaultCounts>,
    data: HashMap<(MappingKind, Option<InFile>), FaultCounts>,
    mappings: HashMap<Option<MapId>, FaultCounts>,
    /// First touches of each mapping by each thread.
    firsts: BTreeMap<(Option<MapId>, u32), u64>,
    threads: Vec<ThreadFaults>,
    thread_rows: HashMap<(u32, u32), usize>,
    touches: BTreeMap<(u32, u32, u32), u64>,
    /// Faults in each block that a huge page may fill.
    blocks: HashMap<(MapId, u64), u32>,
}

impl Tally {
    pub(super) fn add(&mut self, judged: &Judged, replay: &Replay) {
        let mut one = FaultCounts::default();
        *match (judged.waited_ns, judged.kind) {
            (Some(_), _) => &mut one.major,
            (None, FaultKind::FirstTouch) => &mut one.first_touch,
            (None, FaultKind::Repeated) => &mut one.repeated,
            (None, FaultKind::CopyOnWrite) => &mut one.copy_on_write,
            (None, FaultKind::Refused) => &mut one.refused,
        } = 1;
        self.counts += &one;
        self.waited_ns = self.waited_ns.saturating_add(judged.waited_ns.unwrap_or(0));
        *self.code.entry(judged.code).or_default() += &one;
        *self.data.entry((judged.memory, judged.data)).or_default() += &one;
        *self.mappings.entry(judged.mapping).or_default() += &one;
        let fault = &judged.fault;
        let threads = &mut self.threads;
        let row = *self
            .thread_rows
            .entry((fault.process, fault.thread))
            .or_insert_with(|| {
                threads.push(ThreadFaults {
                    process: fault.process,
                    thread: fault.thread,
                    program: String::new(),
                    counts: FaultCounts::default(),
                });
                threads.len() - 1
            });
        if let Some(row) = self.threads.get_mut(row) {
            row.counts += &one;
            // A process may become another program; the last one is what people know.
            if row.program != replay.program(fault.process) {
                replay.program(fault.process).clone_into(&mut row.program);
            }
        }
        if one.first_touch > 0 {
            *self
                .firsts
                .entry((judged.mapping, fault.thread))
                .or_default() += 1;
        }
        if let Some(first) = judged.touched_by {
            let pair = (fault.process, first, fault.thread);
            *self.touches.entry(pair).or_default() += 1;
        }
        if let (Some(id), MappingKind::Anonymous | MappingKind::Heap) =
            (judged.mapping, judged.memory)
        {
            let block = fault.address / HUGE_BYTES;
            *self.blocks.entry((id, block)).or_default() += 1;
        }
    }

    /// The mappings with most faults first.
    pub(super) fn mapping_order(&self) -> Vec<(Option<MapId>, FaultCounts)> {
        let mut order: Vec<_> = self
            .mappings
            .iter()
            .map(|(id, counts)| (*id, *counts))
            .collect();
        order.sort_by_key(|(id, counts)| (std::cmp::Reverse(counts.total()), *id));
        order.truncate(ROWS_MAX);
        order
    }

    /// The facts, but for what the file says of itself and the heat.
    pub(super) fn facts(
        mut self,
        replay: &Replay,
        names: &mut Names,
        huge_pages: Option<u64>,
    ) -> FaultFacts {
        let mappings = self.mapping_order();
        let mappings = mappings.iter().map(|(id, counts)| MappingRow {
            first_touches: self.first_touches(*id),
            ..mapping_row(*id, *counts, replay)
        });
        let touches = self
            .touches
            .iter()
            .map(|(&(process, first, later), &faults)| TouchRow {
                process,
                first,
                later,
                faults,
            });
        let mut touches: Vec<_> = touches.collect();
        touches.sort_by_key(|row| std::cmp::Reverse(row.faults));
        touches.truncate(ROWS_MAX);
        FaultFacts {
            counts: self.counts,
            waited_ns: self.waited_ns,
            huge_pages_inferred: self.huge_pages(replay, huge_pages),
            mappings: mappings.collect(),
            lines: self.lines(replay, names),
            variables: self.variables(replay, names),
            threads: std::mem::take(&mut self.threads),
            touches,
            ..FaultFacts::default()
        }
    }

    fn first_touches(&self, id: Option<MapId>) -> Vec<FirstTouches> {
        let of_mapping = self.firsts.range((id, 0)..=(id, u32::MAX));
        of_mapping
            .map(|(&(_, thread), &faults)| FirstTouches { thread, faults })
            .collect()
    }

    /// Blocks within mappings that one fault made present as a whole. How many may be is
    /// bounded by what the kernel gave out.
    fn huge_pages(&self, replay: &Replay, given: Option<u64>) -> u64 {
        let whole = self.blocks.iter().filter(|((id, block), faults)| {
            let within = replay.mappings.get(id.0 as usize).is_some_and(|seen| {
                let begin = block * HUGE_BYTES;
                begin >= seen.start && begin + HUGE_BYTES <= seen.end
            });
            within && **faults == 1
        });
        (whole.count() as u64).min(given.unwrap_or(0))
    }

    fn lines(&self, replay: &Replay, names: &mut Names) -> Vec<LineRow> {
        // Many instructions are of one line.
        let mut rows: BTreeMap<String, LineRow> = BTreeMap::new();
        for (code, counts) in &self.code {
            let place = match code {
                Some(code) => names.line(Path::new(replay.name(code.name)), code.offset),
                None => Place {
                    label: "code that belongs to no file".to_owned(),
                    short: "no file".to_owned(),
                    ..Place::default()
                },
            };
            let row = rows.entry(place.label.clone()).or_insert_with(|| LineRow {
                place: place.clone(),
                counts: FaultCounts::default(),
            });
            // Of all instructions of a line the first stands for it, in whatever order
            // they come.
            if place.address < row.place.address {
                row.place = place;
            }
            row.counts += counts;
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.counts.total()));
        rows.truncate(ROWS_MAX);
        rows
    }

    fn variables(&self, replay: &Replay, names: &mut Names) -> Vec<VariableRow> {
        let mut rows: BTreeMap<(String, String), VariableRow> = BTreeMap::new();
        for ((kind, data), counts) in &self.data {
            let path = data.map(|data| replay.name(data.name).to_owned());
            let variable = data
                .and_then(|data| names.variable(Path::new(replay.name(data.name)), data.offset));
            let (name, module) = match (variable, path, kind) {
                (Some(name), Some(path), _) => (name, path),
                (None, Some(path), MappingKind::File) => (path, String::new()),
                _ => (unnamed(*kind).to_owned(), String::new()),
            };
            let row = rows
                .entry((name.clone(), module.clone()))
                .or_insert_with(|| VariableRow {
                    name,
                    module,
                    kind: *kind,
                    counts: FaultCounts::default(),
                });
            row.counts += counts;
            // A variable may lie partly behind the end of its file's mapping.
            row.kind = row.kind.min(*kind);
        }
        let mut rows: Vec<_> = rows.into_values().collect();
        rows.sort_by_key(|row| std::cmp::Reverse(row.counts.total()));
        rows.truncate(ROWS_MAX);
        rows
    }
}

fn mapping_row(id: Option<MapId>, counts: FaultCounts, replay: &Replay) -> MappingRow {
    match id.and_then(|id| replay.mappings.get(id.0 as usize)) {
        Some(seen) => MappingRow {
            process: seen.process,
            kind: seen.kind,
            name: seen.name.clone(),
            start: seen.start,
            end: seen.end,
            counts,
            first_touches: Vec::new(),
        },
        None => MappingRow {
            process: 0,
            kind: MappingKind::Unknown,
            name: String::new(),
            start: 0,
            end: u64::MAX / PAGE * PAGE,
            counts,
            first_touches: Vec::new(),
        },
    }
}

fn unnamed(kind: MappingKind) -> &'static str {
    match kind {
        MappingKind::Heap => "heap",
        MappingKind::Anonymous => "mapped memory",
        MappingKind::Stack => "stack",
        MappingKind::File => "files",
        MappingKind::SharedMemory => "shared memory",
        MappingKind::HugePages => "huge pages",
        MappingKind::Kernel => "the kernel's own",
        MappingKind::Unknown => "unknown memory",
    }
}
