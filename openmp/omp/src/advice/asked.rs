//! What the launcher asks for.

use fathomp_adapt::Table;
use fathomp_sys::clock;
use std::path::PathBuf;

/// What the launcher asks for.
pub(crate) struct Advice {
    /// What regions are advised, if there is advice.
    pub(super) table: Table,
    /// Whether teams are tried.
    pub(super) adapt: bool,
    /// Where to write what was chosen.
    pub(super) choices: Option<PathBuf>,
    /// When the runtime started.
    pub(super) began: clock::Pair,
}
