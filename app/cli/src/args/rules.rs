//! What the tables say of options: what one needs to change anything, and which are shown late.

/// Options that only the long form of help has: of a command, or of all that have them.
pub(super) type Rare = &'static [(&'static str, &'static [&'static str])];

/// What an option needs.
#[derive(Clone, Copy, Debug)]
pub(in crate::args) enum When {
    /// One of these is given.
    With(&'static [&'static str]),
    /// None of these is given.
    Without(&'static [&'static str]),
    /// An option has one of these values, or one of the others is given.
    Is(
        &'static str,
        &'static [&'static str],
        &'static [&'static str],
    ),
}

/// Some options of some commands.
pub(in crate::args) struct Options {
    pub(in crate::args) of: &'static [&'static str],
    pub(in crate::args) ids: &'static [&'static str],
    /// All of these; nothing for options that always count.
    pub(in crate::args) when: &'static [When],
}

pub(in crate::args) const fn options(
    of: &'static [&'static str],
    ids: &'static [&'static str],
    when: &'static [When],
) -> Options {
    Options { of, ids, when }
}
