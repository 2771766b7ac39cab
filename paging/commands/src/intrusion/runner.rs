//! Who makes the runs.

use crate::plan::Plan;
use fathomp_console::failure::Failure;
use fathomp_console::launch::{Ended, Streams};
use std::path::Path;

/// Makes the runs that are measured, all of one program.
pub trait Runner {
    /// A run without recording, but with the same runtime.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be run.
    fn plain(&self, streams: Streams) -> Result<Ended, Failure>;

    /// A run that is recorded into a directory, in the place of what is there; what was noticed.
    ///
    /// # Errors
    ///
    /// Fails if the program cannot be run or recorded.
    fn recorded(
        &self,
        plan: &Plan,
        directory: &Path,
        streams: Streams,
    ) -> Result<(Ended, Vec<String>), Failure>;
}
