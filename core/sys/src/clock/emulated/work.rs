//! What a node's work for shared memory takes, where time is emulated.
//!
//! Round numbers, near the medians of processor time that such work took on one machine
//! (Xeon, Linux 6.18 in a virtual machine, userfaultfd), and such that what `calibrate`
//! measures on two nodes comes out as it does there when messages are really held back
//! and each node has a processor. They are part of what a node is, as the network is:
//! not of the machine that happens to emulate it.

/// Work that a thread does for its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// The program is interrupted at an access, and goes on.
    Trap,
    /// The program asks its node for something.
    Call,
    /// The program may do more to so many pages in a row.
    Permit(usize),
    /// It may do nothing to them any more.
    Forbid(usize),
    /// Bytes are copied from or to a page, or looked at.
    Copy(usize),
    /// A page is compared with its twin.
    Compare,
    /// A message of so many bytes is sent.
    Send(usize),
    /// One is handled.
    Handle(usize),
    /// A thread that slept goes on.
    Wake,
}

impl Work {
    /// Nanoseconds.
    #[inline]
    #[must_use]
    pub const fn ns(self) -> u64 {
        match self {
            Self::Trap => 2600,
            Self::Call => 1000,
            Self::Permit(pages) => 1700 + per_page(150, pages),
            Self::Forbid(pages) => 3500 + per_page(300, pages),
            Self::Copy(bytes) => 4 + per_kib(140, bytes),
            Self::Compare => 2000,
            Self::Send(bytes) => 3000 + per_kib(500, bytes),
            Self::Handle(bytes) => 1200 + per_kib(550, bytes),
            Self::Wake => 9000,
        }
    }
}

const fn per_page(ns: u64, pages: usize) -> u64 {
    ns.saturating_mul(pages as u64)
}

const fn per_kib(ns: u64, bytes: usize) -> u64 {
    ns.saturating_mul(bytes as u64) / 1024
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_larger_takes_longer() {
        for of in [
            Work::Permit,
            Work::Forbid,
            Work::Copy,
            Work::Send,
            Work::Handle,
        ] {
            assert!(of(0).ns() < of(4096).ns());
        }
    }
}
