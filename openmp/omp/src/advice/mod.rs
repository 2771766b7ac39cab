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

use crate::encounter::Watched;
use crate::icv::Icvs;
use crate::message;
use crate::parallel::Fork;
use crate::team::{Member, Team};
use crate::worker::Worker;
use asked::Advice;
use fathomp_launch::{Teams, of_this_process};
use fathomp_sys::static_ref::AtomicRef;
use fathomp_teams::{Choices, Table};
use std::io::Write as _;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Larger files are no advice.
const BYTES_MAX: u64 = 64 << 20;

static ADVICE: AtomicRef<Advice> = AtomicRef::new(None);

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
    let advice = Advice {
        table,
        choices: asked.choices,
    };
    ADVICE.store(Some(Box::leak(Box::new(advice))), Ordering::Release);
}

/// Nothing is decided any more: the process has become one of several nodes.
pub(crate) fn stop() {
    ADVICE.store(None, Ordering::Release);
}

pub(crate) fn read(path: &Path) -> Result<Table, String> {
    let length = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !length.is_file() || length.len() > BYTES_MAX {
        return Err("it is too large, or no file".to_owned());
    }
    let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
    Table::from_text(&text).map_err(|error| error.to_string())
}

/// The threads that a region gets which could have `size`. Call it on the thread that
/// encounters it, and [`ended`] with the answer when it is over.
#[inline]
pub(crate) fn choose(outer: &Member, icvs: &Icvs, fork: &Fork, size: &mut u32) -> Option<Watched> {
    let advice = ADVICE.load(Ordering::Acquire)?;
    regions::choose(advice, outer, icvs, fork, size)
}

/// The region has ended; it had `threads`.
#[inline]
pub(crate) fn ended(worker: &Worker, watched: Option<Watched>, team: &'static Team) {
    if let Some(watched) = watched {
        regions::ended(worker, watched, team);
    }
}

/// The program asks how many threads the next region may have.
#[inline]
pub(crate) fn asked_for_most(worker: &Worker) {
    if ADVICE.load(Ordering::Relaxed).is_some() {
        worker.asked_for_most.set(1);
    }
}

/// The calling thread ends, or the process does: tells the launcher what it has chosen.
pub(crate) fn finish(worker: &Worker) {
    let Some(advice) = ADVICE.load(Ordering::Acquire) else {
        return;
    };
    let (Some(path), Some(regions)) = (&advice.choices, worker.regions.take()) else {
        return;
    };
    let choices = Choices {
        regions: regions.choices(),
    };
    let file = std::fs::OpenOptions::new().append(true).open(path);
    // If that fails the launcher has gone, or says that it knows nothing.
    let _ = file.and_then(|mut file| file.write_all(choices.to_text().as_bytes()));
}
