//! Where a recording comes from.

use fathomp_paging::{Interval, Mark, Task};
use std::convert::Infallible;

/// A paging recording that can be read task by task, by several threads at once.
pub trait Source: Sync {
    /// Why reading failed.
    type Error: Send;

    /// The tasks; everything else refers to them by their place here.
    fn tasks(&self) -> &[Task];

    /// Hands out the intervals of the task at that place, in the order of recording. A
    /// place where there is none has no intervals.
    ///
    /// # Errors
    /// If the recording cannot be read.
    fn visit<F: FnMut(&Interval)>(&self, task: usize, each: F) -> Result<(), Self::Error>;

    /// Hands out the marks of that task, in the order of recording.
    ///
    /// # Errors
    /// If the recording cannot be read.
    fn marks<F: FnMut(&Mark)>(&self, task: usize, each: F) -> Result<(), Self::Error>;

    /// The name with that number in a mark of that task; none if it has none.
    fn name(&self, task: usize, name: u32) -> Option<String>;
}

/// A recording in memory.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    /// The tasks.
    pub tasks: Vec<Task>,
    /// Their intervals, by the place of the task.
    pub intervals: Vec<Vec<Interval>>,
    /// Their marks, by the place of the task.
    pub marks: Vec<Vec<Mark>>,
    /// Names of marks, by their number.
    pub names: Vec<String>,
}

impl Source for Memory {
    type Error = Infallible;

    fn tasks(&self) -> &[Task] {
        &self.tasks
    }

    fn visit<F: FnMut(&Interval)>(&self, task: usize, each: F) -> Result<(), Infallible> {
        self.intervals
            .get(task)
            .into_iter()
            .flatten()
            .for_each(each);
        Ok(())
    }

    fn marks<F: FnMut(&Mark)>(&self, task: usize, each: F) -> Result<(), Infallible> {
        self.marks.get(task).into_iter().flatten().for_each(each);
        Ok(())
    }

    fn name(&self, _task: usize, name: u32) -> Option<String> {
        self.names.get(name as usize).cloned()
    }
}
