//! Where code refers to something, found without decoding all of it.

use super::{FunctionId, Image, Slot};
use std::collections::BTreeSet;

impl Image {
    /// Functions that perhaps call or jump to functions named so, or load their addresses: all
    /// that do, and few that do not. Of other modules as well as of this one. Decode them to
    /// know.
    #[must_use]
    pub fn users(&self, is_wanted: impl Fn(&str) -> bool) -> BTreeSet<FunctionId> {
        let is_import = |slot: &Slot| matches!(slot, Slot::Import(name) if is_wanted(name));
        let mut addresses: Vec<u64> = self
            .ids()
            .filter(|id| self.name(*id).is_some_and(&is_wanted))
            .map(|id| self.function(id).range.start)
            .collect();
        let slots = self.slots().filter(|(_, slot)| match slot {
            Slot::Local(to) => addresses.contains(to),
            slot => is_import(slot),
        });
        let slots: BTreeSet<u64> = slots.map(|(at, _)| at).collect();
        let stubs = self.stubs().filter(|(_, slot)| slots.contains(slot));
        addresses.extend(stubs.map(|(stub, _)| stub));
        addresses.extend(&slots);
        addresses.sort_unstable();
        self.referring(&addresses)
    }

    /// Functions with a distance in their code that leads from its end to one of these addresses, in
    /// ascending order.
    fn referring(&self, addresses: &[u64]) -> BTreeSet<FunctionId> {
        let mut found = BTreeSet::new();
        let (Some(first), Some(last)) = (addresses.first(), addresses.last()) else {
            return found;
        };
        for section in self.sections.iter().filter(|section| section.execute) {
            let code = self.data.get(section.data.clone()).unwrap_or_default();
            for (offset, bytes) in code.windows(4).enumerate() {
                let distance = i32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
                let end = section.range.start.wrapping_add(offset as u64 + 4);
                let to = end.wrapping_add_signed(i64::from(distance));
                if to >= *first && to <= *last && addresses.binary_search(&to).is_ok() {
                    found.extend(self.function_at(end.wrapping_sub(1)));
                }
            }
        }
        found
    }
}
