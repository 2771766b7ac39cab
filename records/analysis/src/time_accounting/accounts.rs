//! The accounts of one process, and what its threads recorded.

use super::gaps::{Gap, Life};
use super::parts::Part;
use super::teams::Team;
use fathomp_trace::model::Process;
use fathomp_trace::record::{CounterReading, Record};
use fathomp_types::Ticks;

/// The accounts of one process.
pub(crate) struct TimeAccount<'a> {
    /// The process.
    pub(crate) process: &'a Process,
    /// Instance records of regions, by thread and begin; not of the serial
    /// part.
    pub(crate) parts: Vec<Part<'a>>,
    /// Range of `parts` per thread.
    pub(crate) by_thread: Vec<std::ops::Range<usize>>,
    /// Executions recorded one by one.
    pub(crate) teams: Vec<Team>,
    /// Life of each thread.
    pub(crate) lives: Vec<Life>,
    /// Time of each thread outside regions.
    pub(crate) gaps: Vec<Gap>,
    /// First and last moment of the process.
    pub(crate) begin: Ticks,
    /// See `begin`.
    pub(crate) end: Ticks,
}

impl<'a> TimeAccount<'a> {
    /// Parts of one thread.
    pub(crate) fn of_thread(&self, thread: usize) -> &[Part<'a>] {
        &self.parts[self.by_thread[thread].clone()]
    }

    /// The counter readings of `thread`, in the order in which they were taken.
    pub(crate) fn readings(&self, thread: usize) -> Vec<&'a CounterReading> {
        let mut readings: Vec<&CounterReading> = self.process.threads[thread]
            .records
            .iter()
            .filter_map(|record| match record {
                Record::Counters(reading) => Some(&**reading),
                _ => None,
            })
            .collect();
        readings.sort_by_key(|reading| (reading.at, reading.since));
        readings
    }
}

/// Where a thread spends time: an index into the account's parts, or none outside regions.
pub(crate) type Place = Option<usize>;

/// A value for each place of a thread.
pub(crate) struct ByPlace<T> {
    outside: T,
    /// The thread's first part.
    first: usize,
    inside: Vec<T>,
}

impl<T: Clone + Default> ByPlace<T> {
    /// Default values for all places of a thread.
    pub(crate) fn new(account: &TimeAccount<'_>, thread: usize) -> Self {
        let parts = account.by_thread[thread].clone();
        Self {
            outside: T::default(),
            first: parts.start,
            inside: vec![T::default(); parts.len()],
        }
    }

    /// The value of a place, which is one of the thread's.
    pub(crate) fn of(&self, place: Place) -> &T {
        match place {
            Some(part) => &self.inside[part - self.first],
            None => &self.outside,
        }
    }

    /// The same, to be changed.
    pub(crate) fn of_mut(&mut self, place: Place) -> &mut T {
        match place {
            Some(part) => &mut self.inside[part - self.first],
            None => &mut self.outside,
        }
    }

    /// All places.
    pub(crate) fn places(&self) -> impl Iterator<Item = Place> + use<T> {
        let parts = self.first..self.first + self.inside.len();
        std::iter::once(None).chain(parts.map(Some))
    }
}
