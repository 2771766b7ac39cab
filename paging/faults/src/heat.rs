//! Faults by time and address.

use crate::facts::{Heat, HeatRow};
use crate::replay::{Judged, PAGE, Replay};
use crate::space::MapId;
use std::collections::HashMap;

/// Columns of the picture.
const COLUMNS: u32 = 256;
/// Mappings in it.
const MAPPINGS: usize = 12;
/// Rows of one mapping.
const ROWS: u64 = 16;

/// The picture while it is painted.
#[derive(Debug)]
pub(super) struct HeatMap {
    heat: Heat,
    /// The first row of each mapping, its first address and how much a row covers.
    begins: HashMap<MapId, (usize, u64, u64)>,
}

impl HeatMap {
    /// An empty picture of these mappings, the first of them, from `begin_ns` to `end_ns`.
    pub(super) fn new(
        order: &[Option<MapId>],
        replay: &Replay,
        begin_ns: u64,
        end_ns: u64,
    ) -> Self {
        let mut heat = Heat {
            begin_ns,
            end_ns: end_ns.max(begin_ns.saturating_add(u64::from(COLUMNS))),
            columns: COLUMNS,
            rows: Vec::new(),
        };
        let mut begins = HashMap::new();
        for (mapping, id) in order.iter().enumerate().take(MAPPINGS) {
            let Some((id, seen)) =
                id.and_then(|id| Some((id, replay.mappings.get(id.0 as usize)?)))
            else {
                continue;
            };
            let pages = (seen.end - seen.start).div_ceil(PAGE).max(1);
            let rows = pages.min(ROWS);
            let bytes = pages.div_ceil(rows) * PAGE;
            begins.insert(id, (heat.rows.len(), seen.start, bytes));
            heat.rows
                .extend((0..pages.div_ceil(bytes / PAGE)).map(|row| HeatRow {
                    mapping,
                    start: seen.start.saturating_add(row * bytes),
                    end: seen.end.min(seen.start.saturating_add((row + 1) * bytes)),
                    faults: vec![0; COLUMNS as usize],
                }));
        }
        Self { heat, begins }
    }

    pub(super) fn add(&mut self, judged: &Judged) {
        let Some(&(first, start, bytes)) = judged.mapping.and_then(|id| self.begins.get(&id))
        else {
            return;
        };
        let row = judged.fault.address.saturating_sub(start) / bytes;
        let Heat {
            begin_ns, end_ns, ..
        } = self.heat;
        let since = u128::from(judged.fault.at.clamp(begin_ns, end_ns) - begin_ns);
        let column = since * u128::from(COLUMNS) / u128::from((end_ns - begin_ns).max(1));
        let column = (column as usize).min(COLUMNS as usize - 1);
        let row = self.heat.rows.get_mut(first + row as usize);
        if let Some(cell) = row.and_then(|row| row.faults.get_mut(column)) {
            *cell = cell.saturating_add(1);
        }
    }

    pub(super) fn into_heat(self) -> Heat {
        self.heat
    }
}
