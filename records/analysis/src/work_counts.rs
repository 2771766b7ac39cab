//! What a recorder counted of loops, tasks and `single` constructs, summed over executions and
//! threads. Counts are as large as they get, and never wrap around.

use fathomp_trace::record::Instance;

/// Sums of one thread, or of several.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct WorkCounts {
    pub(crate) loops: u64,
    pub(crate) chunks: u64,
    pub(crate) iterations: u64,
    pub(crate) tasks_created: u64,
    pub(crate) tasks_run: u64,
    pub(crate) tasks_undeferred: u64,
    pub(crate) tasks_dependent: u64,
    pub(crate) single_wait_ns: f64,
}

impl WorkCounts {
    /// What one record counted, of a process whose ticks take that long.
    pub(crate) fn of(record: &Instance, nanos_per_tick: f64) -> Self {
        Self {
            loops: u64::from(record.loops),
            chunks: record.chunks,
            iterations: record.iterations,
            tasks_created: record.tasks_created,
            tasks_run: record.tasks_run,
            tasks_undeferred: record.tasks_undeferred,
            tasks_dependent: record.tasks_dependent,
            single_wait_ns: record.single_wait.0 as f64 * nanos_per_tick,
        }
    }

    /// Adds what another has counted.
    pub(crate) fn add(&mut self, more: &Self) {
        let counts = [
            (&mut self.loops, more.loops),
            (&mut self.chunks, more.chunks),
            (&mut self.iterations, more.iterations),
            (&mut self.tasks_created, more.tasks_created),
            (&mut self.tasks_run, more.tasks_run),
            (&mut self.tasks_undeferred, more.tasks_undeferred),
            (&mut self.tasks_dependent, more.tasks_dependent),
        ];
        for (sum, count) in counts {
            *sum = sum.saturating_add(count);
        }
        self.single_wait_ns += more.single_wait_ns;
    }
}
