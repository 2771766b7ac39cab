//! The paging of a recording, analysed.

mod advice;
mod related;
mod source;

use fathomp_analysis::{AxisClock, axis};
use fathomp_paging::reader::{OpenError, Process, Recording, VisitError};
use fathomp_paging::{DIRECTORY, Task};
use fathomp_paging_pages::{Circumstances, PagingFacts, tasks_shown};
use fathomp_skyline::{Bins, Lanes, Settings, analyse};
use related::RelatedFiles;
use source::Recorded;
use std::path::{Path, PathBuf};

/// Cells of time in which states of tasks are told apart.
const CELLS: usize = 1_024;
/// Tasks whose states over time are read.
const LANES_MAX: usize = 48;

/// Why a recording's paging could not be analysed.
#[derive(Debug, thiserror::Error)]
pub enum SkylineError {
    /// It cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// It cannot be read.
    #[error(transparent)]
    Visit(#[from] VisitError),
}

/// What the paging of a recording shows.
///
/// # Errors
///
/// Fails if it cannot be read.
pub fn facts(recording: &Path) -> Result<Option<PagingFacts>, SkylineError> {
    Opened::new(recording)?
        .facts(&Settings::default())
        .map(Some)
}

/// A recording whose paging can be analysed.
pub(crate) struct Opened {
    recorded: Recorded,
    directory: PathBuf,
    meta: Option<fathomp_trace::model::Meta>,
    problems: Vec<String>,
}

/// How ticks of the recording of regions become times of that of paging.
fn clocks(recording: &Recording) -> Vec<AxisClock> {
    let of_process = |process: &Process| AxisClock {
        pid: process.pid,
        clock: process.clock,
        offset_ns: process.offset_ns,
    };
    match (recording.meta().clocks.is_empty(), recording.meta().clock) {
        // The former has made all hosts' ticks the first's.
        (false, Some(first)) => vec![AxisClock {
            pid: 0,
            clock: first,
            offset_ns: 0,
        }],
        _ => recording.processes().iter().map(of_process).collect(),
    }
}

/// Whether a recording has a part about paging.
pub fn is_there(recording: &Path) -> bool {
    recording.join(DIRECTORY).is_dir()
}

impl Opened {
    /// Opens the paging recording in `directory`, and the recording of regions beside it
    /// for the names of regions and barriers.
    pub(crate) fn new(directory: &Path) -> Result<Self, SkylineError> {
        let recording = Recording::open(directory)?;
        let mut problems = Vec::new();
        let regions = fathomp_trace::reader::open(directory)
            .map_err(|error| {
                problems.push(format!(
                    "Regions and barriers have no names, since the recording of regions cannot be read: {error}."
                ));
            })
            .ok();
        let clocks = clocks(&recording);
        let axis = regions.as_ref().and_then(|one| axis(one, &clocks));
        Ok(Self {
            recorded: Recorded::new(recording, axis),
            directory: directory.to_owned(),
            meta: regions.map(|regions| regions.meta),
            problems,
        })
    }

    /// The tasks.
    pub(crate) fn tasks(&self) -> &[Task] {
        self.recorded.recording().tasks()
    }

    /// Analyses it.
    pub(crate) fn facts(&self, settings: &Settings) -> Result<PagingFacts, SkylineError> {
        let mut beside = RelatedFiles::read(&self.directory);
        let settings = &self.of_part(settings);
        let bins = Bins::read(&self.recorded, settings)?;
        let analysis = analyse(&bins, settings);
        let mut facts = PagingFacts {
            program: self.program(),
            recording: Circumstances::default(),
            advice: Vec::new(),
            faults: beside.faults.take(),
            memory: beside.memory.take(),
            intrusion: beside.intrusion.take(),
            lanes: None,
            analysis,
            bins: Some(bins),
        };
        let window = facts.analysis.window;
        if let Some(faults) = &facts.faults {
            facts.advice = advice::of(faults, window.ns());
        }
        let places = tasks_shown(&facts, LANES_MAX);
        let origin = facts.analysis.origin_ns;
        let lanes = Lanes::read(&self.recorded, origin, &window, &places, CELLS)?;
        facts.lanes = Some(lanes);
        // Last, since reading finds problems.
        facts.recording = self.circumstances();
        facts.recording.problems.append(&mut beside.problems);
        facts
            .recording
            .problems
            .extend(self.problems.iter().cloned());
        Ok(facts)
    }

    /// The settings, for the part of the run that was recorded, unless another is asked for.
    fn of_part(&self, settings: &Settings) -> Settings {
        let meta = self.recorded.recording().meta();
        let mut settings = Settings {
            sampled: meta.sampling_ns.is_some(),
            ..settings.clone()
        };
        let origin = self.tasks().iter().map(|task| task.begin).min();
        if (settings.from_ns, settings.to_ns) == (0, None)
            && let Some(origin) = origin
        {
            let part = &meta.selection;
            let to_ns = part.to_ns.map(|to| to.saturating_sub(origin));
            // A part before the program began holds nothing.
            if to_ns != Some(0) {
                settings.from_ns = part.from_ns.saturating_sub(origin);
                settings.to_ns = to_ns;
            }
        }
        settings
    }

    /// What to call the program.
    fn program(&self) -> String {
        let command = self.meta.as_ref().and_then(|meta| meta.command.first());
        if let Some(name) = command.and_then(|first| Path::new(first).file_name()) {
            return name.to_string_lossy().into_owned();
        }
        let processes = self.recorded.recording().processes();
        let first = processes.iter().find(|one| !one.program.is_empty());
        first.map_or_else(|| "program".to_owned(), |one| one.program.clone())
    }

    fn circumstances(&self) -> Circumstances {
        let recording = self.recorded.recording();
        let meta = recording.meta();
        let ends = recording
            .tasks()
            .iter()
            .filter_map(|task| recording.end_note(task.id));
        let (mut merged, mut lost) = (0_u64, 0_u64);
        for end in ends {
            merged = merged.saturating_add(end.binned.saturating_add(end.merged_early));
            lost = lost.saturating_add(end.changes_lost);
        }
        let mut problems = recording.problems().to_vec();
        problems.extend(self.recorded.problems());
        let part = recording.part().filter(|part| !part.is_whole());
        let remarkable = recording.deviations().into_iter();
        let remarkable = remarkable.filter(fathomp_paging::Deviation::is_remarkable);
        let (_, made) = recording.io_calls();
        Circumstances {
            command: self
                .meta
                .as_ref()
                .map(|meta| meta.command.clone())
                .unwrap_or_default(),
            machine: self.meta.as_ref().map(|meta| meta.machine.clone()),
            fathomp: meta.fathomp.clone(),
            started_unix_ns: meta.started_unix_ns,
            writer: meta.writer.clone(),
            sampling_ns: meta.sampling_ns,
            hosts: meta.hosts.clone(),
            part: part.map_or_else(String::new, |part| part.to_string()),
            deviations: remarkable
                .map(|one| fathomp_types::text::sentence(&one.to_string()))
                .collect(),
            io_calls: (made > 0).then(|| recording.io_calls()),
            merged,
            lost,
            problems,
        }
    }
}
