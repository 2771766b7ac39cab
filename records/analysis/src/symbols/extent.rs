//! The lines of a region, from the code of the function it was outlined to.
//!
//! A region begins at its directive and reaches to the last line that its own
//! code comes from. Code that was inlined into it counts as the line that calls
//! it. Tasks and regions inside it were outlined in turn, to functions named
//! after the same origin; those whose directive is before its last line belong to it.

use super::module::{Module, Symbol, frame_place};
use super::name::without_endings;
use crate::facts::Lines;

/// Bytes of a function's code that are looked at.
const CODE_BYTES_MAX: u64 = 1 << 20;
/// Rows of the line table that are looked at for a function.
const ROWS_MAX: usize = 20_000;
/// Functions outlined from the same origin that are looked at.
const RELATED_MAX: usize = 1_000;

impl Module {
    /// The lines of the region that was outlined to the function at `address`;
    /// none without its symbol or its line information.
    pub(super) fn extent(&self, address: u64) -> Option<Lines> {
        let index = self
            .symbols
            .binary_search_by_key(&address, |symbol| symbol.address)
            .ok()?;
        let (file, first) = self.declared(address)?;
        let mut last = self.last_line(index, &file, first);
        let mut inside: Vec<(u32, usize)> = self
            .outlined_like(&self.symbols[index])
            .filter(|other| *other != index)
            .take(RELATED_MAX)
            .filter_map(|other| {
                let (other_file, line) = self.declared(self.symbols[other].address)?;
                (other_file == file && line >= first).then_some((line, other))
            })
            .collect();
        // By line: each may bring the next into reach.
        inside.sort_unstable();
        for (line, other) in inside {
            if line <= last {
                last = last.max(self.last_line(other, &file, line));
            }
        }
        Some(Lines {
            last: last.min(first.saturating_add(Lines::MOST - 1)),
            file,
            first,
        })
    }

    /// Outlined functions that were cut from the same function as `symbol`.
    fn outlined_like(&self, symbol: &Symbol) -> impl Iterator<Item = usize> {
        let stem = without_endings(&symbol.name);
        self.outlined
            .iter()
            .copied()
            .filter(move |other| without_endings(&self.symbols[*other].name) == stem)
    }

    /// File and line of the directive of the outlined function at `address`.
    fn declared(&self, address: u64) -> Option<(String, u32)> {
        let known = self.declared.borrow().get(&address).cloned();
        known.unwrap_or_else(|| {
            let found = self.find_declared(address);
            self.declared.borrow_mut().insert(address, found.clone());
            found
        })
    }

    fn find_declared(&self, address: u64) -> Option<(String, u32)> {
        let (file, line) = self.own_line(address)?;
        let entries = self.entries.as_ref();
        let row = entries.and_then(|entries| entries.first_row(address));
        let declared = row.map(|(line, _)| line).filter(|line| *line > 0);
        Some((file, declared.unwrap_or(line)))
    }

    /// The last line in `file`, from `first` on, that the code of a function
    /// comes from.
    fn last_line(&self, index: usize, file: &str, first: u32) -> u32 {
        let symbol = &self.symbols[index];
        let next = self.symbols.get(index + 1).map(|next| next.address);
        let size = match (symbol.size, next) {
            (0, Some(next)) => next - symbol.address,
            (size, _) => size,
        };
        let end = symbol.address.saturating_add(size.clamp(1, CODE_BYTES_MAX));
        let rows = self
            .lines
            .as_ref()
            .and_then(|lines| lines.find_location_range(symbol.address, end).ok());
        rows.into_iter()
            .flatten()
            .take(ROWS_MAX)
            .filter_map(|(address, ..)| self.own_line(address.max(symbol.address)))
            .filter(|(of, line)| of == file && *line >= first)
            .map(|(_, line)| line)
            .fold(first, u32::max)
    }

    /// File and line of the code at `address` in the function it is in, whatever
    /// was inlined there.
    pub(super) fn own_line(&self, address: u64) -> Option<(String, u32)> {
        frame_place(self.lines.as_ref()?, address)
    }
}
