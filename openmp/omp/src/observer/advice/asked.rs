//! What the launcher asks for.

use fathomp_teams::Table;
use std::path::PathBuf;

/// What the launcher asks for.
pub(super) struct Asked {
    /// What regions are advised.
    pub(super) table: Table,
    /// Where to write what was chosen.
    pub(super) choices: Option<PathBuf>,
}
