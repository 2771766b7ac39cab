//! What messages, effects and protocols speak of.

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

/// Whether other nodes may [take](crate::Fetch) a page out of its home's memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Offer {
    /// They have to ask for it, as for all pages before anything happened.
    #[default]
    Closed,
    /// They may, and keep it until they learn that it was written: writes are noticed
    /// at its home.
    Open,
    /// They may borrow it: writes are not noticed at its home.
    Lent,
    /// As closed; nor may they [bring](crate::Bring) diffs of it.
    Reserved,
    /// The same, as long as its home tells by a twin whether it writes it: what others bring, or
    /// have seen, may be changed back.
    Twinned,
    /// They may borrow it, also if they would rather keep it, and [update](crate::Updates) it in
    /// its home's memory; they must not bring diffs of it. Its home notices what its own
    /// threads write, but no updates.
    Updated,
}

impl Offer {
    /// Whether diffs of such a page may be [brought](crate::Bring).
    #[must_use]
    pub fn admits_diffs(self) -> bool {
        !matches!(self, Self::Reserved | Self::Twinned | Self::Updated)
    }
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
    /// Nothing: the page stays where it is until it is installed, see [`crate::Serve`].
    Left(PageId),
    /// The page's twin as it is now.
    Twin(PageId),
    /// The diff of the page since its twin was made, see [`crate::Bring`]. It is sent once.
    Diff(PageId),
    /// The diff of an interval that is kept: an [`crate::Action::Keep`] made it, or it came from
    /// another node.
    Kept(PageId, Version),
}
