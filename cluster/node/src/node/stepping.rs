//! Where lines are noted: pages are open for one instruction at a time
//! ([decision 0080](../../../../docs/decisions/0080-lines-by-single-steps.md)).

use super::{Node, lock};
use crate::accesses::Watch;
use crate::engine::NodeError;
use fathomp_protocols::Access;
use fathomp_sys::cluster::deferral;
use std::ops::Range;

impl Node {
    /// What notes lines, if that is what is noted.
    fn with_steps<T>(&self, use_it: impl FnOnce(&mut Watch) -> T) -> Option<T> {
        // Only what is replayed has a stopwatch.
        self.stopwatch.as_ref()?;
        let _inside = deferral::enter();
        let mut engine = lock(&self.engine);
        let watch = engine.watch().filter(|watch| watch.by_lines())?;
        Some(use_it(watch))
    }

    /// Whether it has to be known how many bytes an instruction accesses.
    #[must_use]
    pub fn notes_lines(&self) -> bool {
        self.with_steps(|_| ()).is_some()
    }

    /// Whether pages are open for the instruction that the calling thread runs next, and
    /// [`Self::stepped`] has to be called behind it.
    #[must_use]
    pub fn is_to_step(&self) -> bool {
        self.with_steps(|watch| watch.is_to_step()).unwrap_or(false)
    }

    /// The calling thread has run one instruction.
    pub fn stepped(&self) {
        if let Some(stopwatch) = &self.stopwatch {
            stopwatch.stepped();
        }
        let closed = self.with_steps(|watch| watch.stepped(&self.pages));
        self.must(closed.unwrap_or(Ok(())).map_err(NodeError::from));
        if let Some(stopwatch) = &self.stopwatch {
            stopwatch.go_on_there();
        }
    }

    /// The kernel is about to use these bytes of the program's memory.
    pub(super) fn lend(&self, bytes: Range<usize>, write: bool) {
        // The runtime, too, gives the kernel memory, perhaps while it holds the engine: its own,
        // or of its stacks, which are not watched.
        if self.is_own_stack(bytes.start) || self.pages.page_of(bytes.start).is_none() {
            return;
        }
        let access = if write { Access::Write } else { Access::Read };
        self.with_steps(|watch| watch.lend(&self.pages, bytes, access));
    }
}
