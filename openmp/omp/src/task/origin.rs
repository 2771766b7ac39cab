//! Where a task, or a group, comes from that another node has given away.

use crate::own::{Own, OwnWord};

/// Which node gave a task to this one, under which number; see `Traits::FOREIGN`.
#[derive(Debug)]
pub(super) struct Origin {
    node: Own,
    number: OwnWord,
    /// How long the task ran here.
    took_ns: OwnWord,
}

impl Origin {
    pub(super) const fn new() -> Self {
        Self {
            node: Own::new(0),
            number: OwnWord::new(),
            took_ns: OwnWord::new(),
        }
    }

    pub(super) fn set(&self, node: u32, number: u64) {
        self.node.set(node);
        self.number.set(number);
        self.took_ns.set(0);
    }

    pub(super) fn get(&self) -> (u32, u64) {
        (self.node.get(), self.number.get())
    }

    pub(super) fn set_took_ns(&self, took_ns: u64) {
        self.took_ns.set(took_ns);
    }

    pub(super) fn took_ns(&self) -> u64 {
        self.took_ns.get()
    }
}
