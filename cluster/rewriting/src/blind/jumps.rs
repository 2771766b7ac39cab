//! From where a function jumps to where.

use fathomp_cfg::jump_target;
use iced_x86::{FlowControl, Instruction};
use std::collections::BTreeMap;

/// Where a function jumps.
pub(super) struct Jumps {
    /// From where it jumps to an address.
    into: BTreeMap<u64, Vec<u64>>,
    complete: bool,
}

impl Jumps {
    pub(super) fn of(function: &[Instruction]) -> Self {
        let mut into: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
        for instruction in function {
            if let Some(to) = jump_target(instruction) {
                into.entry(to).or_default().push(instruction.ip());
            }
        }
        let indirect = |i: &Instruction| i.flow_control() == FlowControl::IndirectBranch;
        Self {
            into,
            complete: !function.iter().any(indirect),
        }
    }

    /// Whether that is all, and no jump goes where only a run knows.
    pub(super) fn is_complete(&self) -> bool {
        self.complete
    }

    /// From where it jumps to an address.
    pub(super) fn to(&self, address: u64) -> &[u64] {
        self.into.get(&address).map_or(&[], Vec::as_slice)
    }
}
