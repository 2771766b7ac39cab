//! What messages and protocols speak of.

use crate::interval::Version;
use fathomp_types::PageId;

/// A lock of the program: a number that all nodes give it, say its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LockId(pub u64);

impl LockId {
    /// The lock of atomic instructions that are executed in copies. No node keeps it: nothing
    /// else would tell of what they write.
    pub const ATOMICS: Self = Self(u64::MAX);
}

/// Content that an outgoing message carries. Whoever carries out the action
/// puts it in: the protocol holds no page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Content {
    /// The page as it is now.
    Page(PageId),
    /// The same of a page that nobody else has had from here, or [nothing](crate::Body::is_blank)
    /// if it was never touched here.
    Fresh(PageId),
    /// The page's twin as it is now.
    Twin(PageId),
    /// The diff of the page since its twin was made. It is made as the message is sent, once, and
    /// the twin is forgotten.
    Diff(PageId),
    /// The diff of an interval that is kept: an [`crate::Action::StoreDiff`] made it, or it came from
    /// another node.
    Kept(PageId, Version),
}
