//! Runs that a study has made before, and that need not be made again when it goes on.

use super::Study;
use super::job::{Job, Runs};
use super::team::Team;
use crate::failure::Failure;
use crate::launch::{Printed, Stderr, Stdout};
use crate::load::{self, Evidence};
use crate::recording;
use fathomp_types::Ending;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

impl Study {
    /// Takes a recording out of those made before, if it is one of them.
    fn take_earlier(&mut self, name: &Path) -> bool {
        let place = self.earlier.iter().position(|earlier| earlier == name);
        place.map(|place| self.earlier.remove(place)).is_some()
    }

    /// The names of those which are left.
    fn take_all_earlier(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.earlier)
    }
}

impl Job<'_> {
    /// Takes over a run that was made before. False if there is none, or it would be another one
    /// now.
    pub(super) fn take_over(
        &self,
        study: &mut Study,
        name: &Path,
        team: Team,
        runs: &mut Runs,
    ) -> Result<bool, Failure> {
        match study.take_earlier(name) {
            true => self.adopt(study, name, team, runs),
            false => Ok(false),
        }
    }

    /// Makes a recording part of the study. False if its run would be another one now.
    fn adopt(
        &self,
        study: &mut Study,
        name: &Path,
        team: Team,
        runs: &mut Runs,
    ) -> Result<bool, Failure> {
        let directory = study.path(&name.to_string_lossy());
        let Some(earlier) = self.same(&directory, team.threads(), false)? else {
            return Ok(false);
        };
        let output = earlier.recording.meta.output.as_ref();
        // Its text was not kept.
        let printed = output.map(|output| Printed {
            bytes: output.bytes,
            hash: output.hash,
            text: Vec::new(),
        });
        study.index.recordings.push(name.to_owned());
        runs.records += 1;
        runs.printed
            .push((team.threads(), printed.unwrap_or_default()));
        runs.analyses.push(earlier.analysis);
        Ok(true)
    }

    /// Takes over all others: those which were made once more because they had been disturbed, and
    /// those with other numbers of threads. What cannot be taken over is not part of the study any
    /// more.
    pub(super) fn take_over_rest(&self, study: &mut Study, runs: &mut Runs) -> Result<(), Failure> {
        let names = study.take_all_earlier();
        let (rehearsals, others): (Vec<_>, Vec<_>) = names
            .into_iter()
            .partition(|name| name.ends_with("rehearsal"));
        for name in others {
            let said = name.file_name().unwrap_or_default().to_string_lossy();
            let threads = said.split_once("-threads").map(|(threads, _)| threads);
            if let Some(threads) = threads.and_then(|threads| threads.parse().ok()) {
                self.adopt(study, &name, Team::Here(threads), runs)?;
            }
        }
        study.earlier = rehearsals;
        Ok(())
    }

    /// Takes over the rehearsal.
    pub(super) fn take_over_rehearsal(
        &self,
        study: &mut Study,
        name: &Path,
        threads: u32,
        runs: &mut Runs,
    ) -> Result<bool, Failure> {
        let directory = study.path(&name.to_string_lossy());
        let earlier = match study.take_earlier(name) {
            true => self.same(&directory, threads, true)?,
            false => None,
        };
        let is_there = earlier.is_some();
        if let Some(earlier) = earlier {
            study.index.recordings.push(name.to_owned());
            runs.analyses.push(earlier.analysis);
        }
        Ok(is_there)
    }

    /// A recording of a run that ended well and would be the same now: of the same file, command,
    /// directory, runtime and environment.
    fn same(
        &self,
        directory: &Path,
        threads: u32,
        rehearsal: bool,
    ) -> Result<Option<Evidence>, Failure> {
        // One that cannot be read is made again.
        let Ok(earlier) = load::open(directory, self.machine) else {
            return Ok(None);
        };
        let streams = (Stdout::Discard, Stderr::Discard);
        let now = recording::circumstances(&self.request(directory, threads, false, streams))?;
        let meta = &earlier.recording.meta;
        let program = &earlier.analysis.program;
        let is_same = program.outcome == Some(Ending::Exited(0))
            && program.rehearsal == rehearsal
            && meta.command == now.command
            && meta.directory == now.directory
            && meta.environment == now.environment
            && meta.runtime == now.runtime
            && is_older(&self.program.path, meta.started_unix_ns);
        Ok(is_same.then_some(earlier))
    }
}

/// Whether a file was last changed before that moment.
fn is_older(path: &Path, unix_ns: u64) -> bool {
    let changed = path.metadata().and_then(|metadata| metadata.modified());
    let since = |changed: SystemTime| changed.duration_since(UNIX_EPOCH).unwrap_or_default();
    changed.is_ok_and(|changed| since(changed).as_nanos() <= u128::from(unix_ns))
}
