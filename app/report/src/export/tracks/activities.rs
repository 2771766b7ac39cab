//! What threads can be found doing, numbered and named as in other tools' traces.

use super::mpi::name as mpi_name;
use crate::view::words;
use fathomp_analysis::symbols::Symbols;
use fathomp_trace::model::{Site, SiteKind};
use fathomp_trace::record::LoopKind;
use fathomp_trace::state::State;
use fathomp_types::text::one_line;
use std::collections::HashMap;
use std::path::PathBuf;

/// Longer names of places are cut.
const NAME_CHARS: usize = 160;

/// What a thread does. Of two that begin and end together the lesser is around the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(in crate::export) enum Doing {
    /// It runs the program.
    Program,
    /// It is in a parallel region.
    Parallel,
    /// It was in a region several times, of which the sum was recorded.
    Several,
    /// It has a share of a worksharing loop.
    Loop(LoopKind),
    /// It waits, or the runtime works.
    Wait(State),
    /// It is in a function of MPI.
    Mpi(u16),
}

/// One thing that threads do, at one place.
#[derive(Debug)]
pub(in crate::export) struct Activity {
    /// What.
    pub(in crate::export) doing: Doing,
    /// With the place: `!$omp parallel @solve.c:12`.
    pub(in crate::export) name: String,
    /// The file and its first and last line, if they are known.
    pub(in crate::export) source: Option<(String, u32, u32)>,
}

/// All activities, numbered in order of appearance, over all processes.
#[derive(Default)]
pub(in crate::export) struct Activities {
    symbols: Symbols,
    places: Vec<Place>,
    place_numbers: HashMap<(PathBuf, u64, u64), u32>,
    rows: Vec<Activity>,
    numbers: HashMap<(Doing, u32), u32>,
}

#[derive(Debug)]
struct Place {
    short: String,
    source: Option<(String, u32, u32)>,
}

impl Activities {
    /// All, by number.
    pub(in crate::export) fn rows(&self) -> &[Activity] {
        &self.rows
    }

    /// The number of a site's place, from 1 on; 0 of the serial part.
    pub(super) fn place(&mut self, site: &Site) -> u32 {
        if site.kind == SiteKind::Serial {
            return 0;
        }
        let key = (site.module.clone(), site.call, site.function);
        *self.place_numbers.entry(key).or_insert_with(|| {
            let symbols = &mut self.symbols;
            let place = symbols.place(&site.module, site.call, site.function);
            let lines = symbols.lines(&site.module, site.function);
            let line = place.line.unwrap_or(0);
            let last = lines.map_or(line, |lines| lines.last.max(line));
            self.places.push(Place {
                short: words::shorten(&one_line(&place.short), NAME_CHARS),
                source: place.file.map(|file| (file, line, last)),
            });
            self.places.len() as u32
        })
    }

    /// The number of what a thread does at a place.
    pub(super) fn number(&mut self, doing: Doing, place: u32, program: &str) -> u32 {
        if let Some(number) = self.numbers.get(&(doing, place)) {
            return *number;
        }
        let at = self.places.get((place as usize).wrapping_sub(1));
        let what = match doing {
            Doing::Program => program.to_owned(),
            Doing::Mpi(function) => mpi_name(function).to_owned(),
            _ => in_words(doing).to_owned(),
        };
        let name = match at {
            Some(at) if doing == Doing::Several => format!("{what} @{} (several)", at.short),
            Some(at) => format!("{what} @{}", at.short),
            None => what,
        };
        self.rows.push(Activity {
            doing,
            name,
            source: at.and_then(|at| at.source.clone()),
        });
        let number = self.rows.len() as u32 - 1;
        self.numbers.insert((doing, place), number);
        number
    }
}

/// Names of constructs are those that Score-P gives.
fn in_words(doing: Doing) -> &'static str {
    match doing {
        Doing::Program | Doing::Mpi(_) => "",
        Doing::Parallel | Doing::Several => "!$omp parallel",
        Doing::Loop(LoopKind::Sections) => "!$omp sections",
        Doing::Loop(LoopKind::Taskloop) => "!$omp taskloop",
        Doing::Loop(_) => "!$omp for",
        Doing::Wait(State::ImplicitBarrier) => "!$omp implicit barrier",
        Doing::Wait(State::ExplicitBarrier) => "!$omp barrier",
        Doing::Wait(State::TaskWait) => "!$omp taskwait",
        Doing::Wait(State::Critical) => "waiting for !$omp critical",
        Doing::Wait(State::Ordered) => "waiting for !$omp ordered",
        Doing::Wait(State::Lock) => "waiting for a lock",
        Doing::Wait(state) => words::state(state),
    }
}
