//! How many threads regions get if the launcher was asked to see to that, by advice
//! (`fathomp run --advice`).
//!
//! A team only ever becomes smaller, and only where the program leaves its size open: a
//! `num_threads` clause, `omp_set_num_threads` and nested regions are left alone. So are,
//! unless `dyn-var` is true (`OMP_DYNAMIC=true`, by which the user says that the program
//! copes with any team), regions that may count on the whole team: of modules that keep
//! data of each thread, those just before which the program asks `omp_get_max_threads`, and
//! those that ask how many threads they have ([`Counting`]), which shows in their first
//! execution.

mod asked;
mod counting;
mod found;
mod regions;

pub(crate) use counting::Counting;
pub(crate) use regions::Regions;

use crate::message;
use crate::observer::{Encounter, Observer};
use crate::team::{Member, Team};
use crate::worker::Worker;
use asked::Asked;
use fathomp_launch::{Teams, of_this_process};
use fathomp_sys::static_ref::AtomicRef;
use fathomp_teams::{Choices, Table};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Larger files are no advice.
const BYTES_MAX: u64 = 64 << 20;

static ASKED: AtomicRef<Asked> = AtomicRef::new(None);

/// Takes up what the environment asks for.
pub(crate) fn start() {
    let asked = Teams::from_env(&of_this_process);
    let Some(path) = asked.advice else { return };
    let table = read(&path).unwrap_or_else(|why| {
        message::warn(format_args!(
            "the advice in {} is not followed: {why}",
            path.display()
        ));
        Table::default()
    });
    let asked = Asked {
        table,
        choices: asked.choices,
    };
    ASKED.store(Some(Box::leak(Box::new(asked))), Ordering::Release);
}

/// Nothing is decided any more: the process has become one of several nodes.
pub(crate) fn stop() {
    ASKED.store(None, Ordering::Release);
}

pub(crate) fn read(path: &Path) -> Result<Table, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !length.is_file() || length.len() > BYTES_MAX {
        return Err("it is too large, or no file".to_owned());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    Table::from_text(&text).map_err(|error| error.to_string())
}

/// Whether there is advice.
pub(crate) fn is_followed() -> bool {
    ASKED.load(Ordering::Relaxed).is_some()
}

/// Has regions get the threads that the advice says.
pub(crate) struct Advice;

impl Observer for Advice {
    type Waiting = ();

    #[inline]
    fn meets(&self, encounter: &mut Encounter<'_>) {
        if let Some(asked) = ASKED.load(Ordering::Acquire) {
            encounter.met.watched = regions::choose(asked, encounter);
        }
    }

    #[inline]
    fn implicit_begins(&self, member: &'static Member, _team: &'static Team) {
        member.worker().counting.begin();
    }

    #[inline]
    fn region_ends(&self, outer: &'static Member, team: &'static Team, _by_program: bool) {
        if let Some(watched) = team.at_end.watched() {
            regions::ended(outer.worker(), watched, team);
        }
    }
}

/// The program asks how many threads the next region may have.
#[inline]
pub(crate) fn asked_for_most(worker: &Worker) {
    if is_followed() {
        worker.asked_for_most.set(1);
    }
}

/// The calling thread ends, or the process does: tells the launcher what it has chosen.
pub(crate) fn finish(worker: &Worker) {
    let Some(asked) = ASKED.load(Ordering::Acquire) else {
        return;
    };
    let (Some(path), Some(regions)) = (&asked.choices, worker.regions.take()) else {
        return;
    };
    let choices = Choices {
        regions: regions.choices(),
    };
    let file = std::fs::OpenOptions::new().append(true).open(path);
    // If that fails the launcher has gone, or says that it knows nothing.
    let _ = file.and_then(|mut file| file.write_all(choices.to_text().as_bytes()));
}
