//! Recordings and machines that the user names, read and analysed.

use crate::args::ThreadCount;
use crate::failure::Failure;
use crate::recording::rank;
use fathomp_analysis::{Analysis, OneRank, RankSummary, Ranks};
use fathomp_diagnosis::Soundness;
use fathomp_predict::machine::Machine;
use fathomp_predict::prices::Cluster;
use fathomp_predict::validate::Priced;
use fathomp_predict::{Options, Outcome, PredictError, Question};
use fathomp_trace::model::Recording;
use fathomp_trace::reader;
use fathomp_trace::writer::META;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A recording and the facts in it.
pub(crate) struct Evidence {
    pub(crate) recording: Recording,
    pub(crate) analysis: Analysis,
}

/// The machine to predict for, if the user named one.
pub(crate) fn machine(path: Option<&Path>) -> Result<Option<Machine>, Failure> {
    path.map(|path| Machine::read(path).map_err(|error| Failure::of(&error)))
        .transpose()
}

/// Reads one recording, made on `machine` if that was measured.
pub(crate) fn open(path: &Path, machine: Option<&Machine>) -> Result<Evidence, Failure> {
    if let Some(failure) = rank::one_of_several(path) {
        return Err(failure);
    }
    let recording = reader::open(path)?;
    let measured = machine.and_then(|machine| machine.event_costs);
    let options = fathomp_analysis::Options {
        event_costs: measured.unwrap_or_default(),
        ..fathomp_analysis::Options::default()
    };
    let analysis = fathomp_analysis::analyse(&recording, &options);
    Ok(Evidence {
        recording,
        analysis,
    })
}

/// The ranks of a program of MPI, put together.
pub(crate) struct AllRanks {
    pub(crate) program: String,
    pub(crate) together: Ranks,
    /// Where each rank's recording is, by its number.
    pub(crate) directories: Vec<(u32, PathBuf)>,
}

/// The ranks whose recordings lie in a directory; nothing if it is a recording itself, or holds
/// none. Recordings are let go as soon as they are summed up: all of them together might not fit in
/// memory.
pub(crate) fn ranks(directory: &Path) -> Result<Option<AllRanks>, Failure> {
    let Some(directories) = rank::all_of(directory) else {
        return Ok(None);
    };
    let summaries = in_parallel(&directories, |(number, directory)| {
        let evidence = open(directory, None)?;
        Ok::<_, Failure>(RankSummary::of(&OneRank {
            number: *number,
            recording: &evidence.recording,
            analysis: &evidence.analysis,
        }))
    });
    let summaries: Vec<RankSummary> = summaries.into_iter().collect::<Result<_, _>>()?;
    Ok(Some(AllRanks {
        program: summaries
            .first()
            .map_or_else(String::new, |one| one.name.clone()),
        together: fathomp_analysis::ranks(summaries),
        directories,
    }))
}

/// The same; the recording of a single rank, which lies in the directory itself, is one of one rank.
pub(crate) fn ranks_or_one(directory: &Path) -> Result<Option<AllRanks>, Failure> {
    if !directory.join(META).exists() {
        return ranks(directory);
    }
    let evidence = open(directory, None)?;
    let one = RankSummary::of(&OneRank {
        number: 0,
        recording: &evidence.recording,
        analysis: &evidence.analysis,
    });
    Ok(Some(AllRanks {
        program: one.name.clone(),
        together: fathomp_analysis::ranks(vec![one]),
        directories: vec![(0, directory.to_owned())],
    }))
}

/// Does the work on all items, on as many threads as there are processors; results in order.
fn in_parallel<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    /// Each holds an item's recording in memory.
    const WORKERS_MAX: usize = 4;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let workers = workers.min(WORKERS_MAX).min(items.len());
    let next = AtomicUsize::new(0);
    let work_on_some = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else {
                return done;
            };
            done.push((index, work(item)));
        }
    };
    let mut all = std::thread::scope(|scope| {
        let others: Vec<_> = (1..workers).map(|_| scope.spawn(work_on_some)).collect();
        let mut all = work_on_some();
        for other in others {
            match other.join() {
                Ok(done) => all.extend(done),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    all.sort_by_key(|(index, _)| *index);
    all.into_iter().map(|(_, result)| result).collect()
}

/// Whether a recording can be read and has processes that used OpenMP.
pub(crate) fn has_regions(recording: &Path) -> bool {
    reader::open(recording).is_ok_and(|found| !found.processes.is_empty())
}

/// Facts of several recordings; a directory written by `fathomp study` stands
/// for the recordings in it. The records themselves are let go one by one:
/// together they might not fit in memory.
pub(crate) fn analyses(
    paths: &[PathBuf],
    machine: Option<&Machine>,
) -> Result<Vec<Analysis>, Failure> {
    let mut analyses = Vec::new();
    for path in paths {
        for recording in crate::study::recordings_in(path)? {
            analyses.push(open(&recording, machine)?.analysis);
        }
    }
    Ok(analyses)
}

/// Where a program is predicted to run.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    /// What the machine costs, if it was measured.
    pub(crate) machine: Option<Machine>,
    /// Processors it is to have; none: some more than its own.
    pub(crate) cores: Option<ThreadCount>,
}

impl Target {
    /// What to predict, with the numbers of threads in `at` or, if there are none, with
    /// sensible ones.
    fn options(&self, at: Vec<u32>) -> Options {
        Options {
            at,
            machine: self.machine.clone(),
            cores: self.cores.as_ref().map(|ThreadCount(cores)| *cores),
            ..Options::default()
        }
    }
}

/// How the recorded program will scale, at numbers of threads in `at` or, if
/// there are none, at sensible ones.
pub(crate) fn predict(
    analyses: &[Analysis],
    target: &Target,
    at: Vec<u32>,
) -> Result<Outcome, Failure> {
    let analyses: Vec<&Analysis> = analyses.iter().collect();
    ask(&Question::Threads {
        analyses: &analyses,
        options: &target.options(at),
    })
}

/// What all models say of recordings, beside what was observed.
pub(crate) fn compare(
    analyses: &[Analysis],
    target: &Target,
    priced: Option<Priced<'_>>,
) -> Result<Outcome, Failure> {
    let analyses: Vec<&Analysis> = analyses.iter().collect();
    ask(&Question::Observed {
        analyses: &analyses,
        options: &target.options(Vec::new()),
        priced,
    })
}

/// What the published models say of recordings on nodes, with these prices; a note if they cannot.
pub(crate) fn compare_or_note(
    analyses: &[Analysis],
    target: &Target,
    prices: &Cluster,
    notes: &mut Vec<String>,
) -> Option<Outcome> {
    let priced = Priced {
        cluster: prices,
        protocol: None,
        diff_bytes: None,
        counted: None,
    };
    let compared = compare(analyses, target, Some(priced));
    compared
        .map_err(|failure| {
            let why = failure.sentence;
            notes.push(format!("Nothing was predicted for nodes: {why}."));
        })
        .ok()
}

/// Whether other programs disturbed the recordings so much that nothing is said about more threads.
pub(crate) fn disturbed<'a>(analyses: impl IntoIterator<Item = &'a Analysis>) -> bool {
    let analyses: Vec<&Analysis> = analyses.into_iter().collect();
    matches!(
        fathomp_predict::in_peace(&analyses),
        Err(PredictError::Disturbed { .. })
    )
}

/// The answer, or a sentence.
pub(crate) fn ask(question: &Question<'_>) -> Result<Outcome, Failure> {
    fathomp_predict::ask(question).map_err(|error| Failure::of(&error))
}

/// [`predict`] for a report, which says so if nothing can be predicted; it says by itself
/// if the runs are broken. Of programs on
/// nodes the published models tell, not this one, which knows threads that share memory.
pub(crate) fn predict_or_note(
    analyses: &[Analysis],
    soundness: &Soundness,
    target: &Target,
    notes: &mut Vec<String>,
) -> Option<Outcome> {
    if soundness.broken.is_some() || analyses.iter().any(|one| one.program.nodes > 1) {
        return None;
    }
    predict(analyses, target, Vec::new())
        .map_err(|failure| notes.push(format!("Nothing was predicted: {}.", failure.sentence)))
        .ok()
}
