//! Counts over time for other tools: as CSV, and as data with commands for gnuplot.

mod csv;
mod gnuplot;

pub use csv::{SKYLINE_HEADER, skyline_csv};
pub use gnuplot::skyline_gnuplot;

use crate::facts::PagingFacts;
use crate::section::choice::{self, Chosen};
use fathomp_paging::StateSet;
use fathomp_skyline::{Selection, Skyline};

/// A record: of all tasks together or of one.
struct Record<'a> {
    /// Its place among the tasks; none for all together.
    place: Option<usize>,
    label: String,
    counts: Vec<u64>,
    skyline: &'a Skyline,
}

impl Record<'_> {
    /// Counts and the level of the skyline in each bin, from the first bin of its life on.
    fn levels(&self) -> impl Iterator<Item = (usize, u64, f64)> + '_ {
        let first = self.skyline.first_bin;
        let levels = self.skyline.levels(&self.counts).enumerate();
        levels.map(move |(step, level)| {
            let bin = first + step;
            (bin, self.counts.get(bin).copied().unwrap_or(0), level)
        })
    }
}

/// Counters in the order in which they are shown; also those with too few counts for a
/// picture: exports are for drawing one's own.
fn counters(paging: &PagingFacts, states: Option<StateSet>) -> Vec<Chosen<'_>> {
    let (mut chosen, few) = choice::counters(paging, states);
    chosen.extend(few.into_iter().filter_map(|facts| {
        let asked = states.and_then(|set| facts.profiles.iter().find(|one| one.states == set));
        let profile = asked.or(facts.profiles.first())?;
        Some(Chosen { facts, profile })
    }));
    chosen
}

/// The records of the tasks at `places` that counted anything.
fn records<'a>(paging: &PagingFacts, one: &Chosen<'a>, places: &[usize]) -> Vec<Record<'a>> {
    let Some(bins) = &paging.bins else {
        return Vec::new();
    };
    let selection = Selection {
        counter: one.facts.counter,
        states: one.profile.states,
    };
    let record = |place: &usize| {
        let task = paging.analysis.tasks.get(*place)?;
        let of_task = one.profile.tasks.iter().find(|of| of.task == task.id)?;
        Some(Record {
            place: Some(*place),
            label: task.label.clone(),
            counts: bins.of_task(*place, selection),
            skyline: &of_task.skyline,
        })
    };
    places.iter().filter_map(record).collect()
}

/// States as one word: `all`, or names joined by `+`.
fn states_word(states: StateSet) -> String {
    if states == StateSet::ALL {
        return "all".to_owned();
    }
    let names: Vec<&str> = states.iter().map(fathomp_paging::State::name).collect();
    names.join("+")
}
