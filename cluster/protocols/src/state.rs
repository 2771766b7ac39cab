//! The states of a page at one node, in the home-based protocol.

/// A page as its node sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// At its home: no other node has a copy. Elsewhere: there is no copy here.
    #[default]
    Untouched,
    /// At its home: others may have copies, and it is not known to be written in the open
    /// interval. Writes are noticed.
    Shared,
    /// At its home: others may have copies, and it was written in the open interval.
    Written,
    /// At its home: others may have copies, and threads may have written it without a fault.
    /// It was opened ahead, with a twin that tells whether they did.
    Foreseen,
    /// At its home: another node has leased it, and nobody may touch it here.
    Leased,
    /// At home elsewhere: asked for.
    Pending,
    /// At home elsewhere: a valid copy, not written in the open interval.
    Clean,
    /// At home elsewhere: a valid copy that threads may have written without a fault. It was
    /// opened ahead, with a twin that tells whether they did.
    Expected,
    /// At home elsewhere: a copy with writes that the home does not have. At home: written
    /// while this node is at a barrier, with a twin, because the page may move.
    Dirty,
}
