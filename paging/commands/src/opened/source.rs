//! A paging recording as the analysis reads it.

use fathomp_analysis::TimeAlignment;
use fathomp_paging::reader::{Recording, VisitError};
use fathomp_paging::{Interval, Mark, Task, TaskId};
use fathomp_skyline::Source;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// A paging recording, and what the recording of regions beside it knows of names.
pub(super) struct Recorded {
    recording: Recording,
    /// Regions and barriers by name; none of a program without OpenMP.
    axis: Option<TimeAlignment>,
    /// What was not understood, by the place of the task.
    problems: Mutex<BTreeMap<usize, Vec<String>>>,
}

impl Recorded {
    pub(super) fn new(recording: Recording, axis: Option<TimeAlignment>) -> Self {
        Self {
            recording,
            axis,
            problems: Mutex::default(),
        }
    }

    pub(super) fn recording(&self) -> &Recording {
        &self.recording
    }

    /// What was not understood of any task, in sentences.
    pub(super) fn problems(&self) -> Vec<String> {
        let problems = self.problems.lock();
        let problems = problems.unwrap_or_else(PoisonError::into_inner);
        problems.values().flatten().cloned().collect()
    }

    fn note(&self, task: usize, problems: Vec<String>) {
        if problems.is_empty() {
            return;
        }
        let all = self.problems.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        let known = all.entry(task).or_default();
        for problem in problems {
            // Tasks are visited more than once.
            if !known.contains(&problem) {
                known.push(problem);
            }
        }
    }

    fn label(&self, task: usize) -> String {
        let task = self.recording.tasks().get(task);
        task.map_or_else(String::new, Task::label)
    }
}

/// The number of the task at a place: the reader numbers them by their places.
fn id(place: usize) -> TaskId {
    TaskId(u32::try_from(place).unwrap_or(u32::MAX))
}

impl Source for Recorded {
    type Error = VisitError;

    fn tasks(&self) -> &[Task] {
        self.recording.tasks()
    }

    fn visit<F: FnMut(&Interval)>(&self, task: usize, each: F) -> Result<(), VisitError> {
        if task >= self.recording.tasks().len() {
            return Ok(());
        }
        let visited = self.recording.visit(id(task), each)?;
        if !visited.is_sound() {
            self.note(task, visited.problems(&self.label(task)));
        }
        Ok(())
    }

    fn marks<F: FnMut(&Mark)>(&self, task: usize, mut each: F) -> Result<(), VisitError> {
        if task >= self.recording.tasks().len() {
            return Ok(());
        }
        let visited = self.recording.visit_marks(id(task), |mark| each(&mark))?;
        if !visited.is_sound() {
            self.note(task, visited.problems(&self.label(task)));
        }
        Ok(())
    }

    fn name(&self, task: usize, name: u32) -> Option<String> {
        let name = self.recording.names().get(name as usize)?;
        let process = self.recording.process_of(id(task));
        let axis = self.axis.as_ref();
        let resolved = axis.and_then(|axis| axis.resolve(process?.pid, name));
        Some(resolved.unwrap_or_else(|| name.clone()))
    }
}
