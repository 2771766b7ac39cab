//! The directory of a recording and its `meta.json`.

use crate::model::{FORMAT, Meta};
use crate::reader::REGIONS_FILE;
use fathomp_types::Ending;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Name of the file with the circumstances of a recording.
/// The file of a recording that says what run it is of.
pub const META: &str = "meta.json";
/// What a recording's directory may hold beside its [`META`].
const PARTS: [&str; 9] = [
    "processes",
    REGIONS_FILE,
    "reserve",
    "accesses.jsonl",
    "paging",
    "memory",
    "memory.json",
    "intrusion.json",
    "writers",
];

/// What to do with a recording that is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone.
    Keep,
    /// Replace it.
    Replace,
}

impl Existing {
    /// Replaced if the user forces that.
    #[must_use]
    pub const fn replaced_if(forced: bool) -> Self {
        match forced {
            true => Self::Replace,
            false => Self::Keep,
        }
    }
}

/// A recording being made.
#[derive(Debug)]
pub struct Writer {
    directory: PathBuf,
    meta: Meta,
}

/// Why a recording cannot be begun.
#[derive(Debug, thiserror::Error)]
pub enum CreateError {
    /// There is already one.
    #[error("{0} already holds a recording; choose another directory or replace it with --force")]
    Recording(PathBuf),
    /// There is something else.
    #[error("{0} already holds something that is not a recording; choose another directory")]
    Occupied(PathBuf),
    /// There is a file of that name.
    #[error("{0} is not a directory; choose another name")]
    NotADirectory(PathBuf),
    /// The directory cannot be made or written to.
    #[error("cannot write to {path}: {source}; check the space and the permissions there")]
    Unwritable {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Why a recording could not be completed.
#[derive(Debug, thiserror::Error)]
#[error("cannot complete {path}: {source}; what was recorded before is still there")]
pub struct FinishError {
    /// The file.
    pub path: PathBuf,
    /// What the system said.
    pub source: io::Error,
}

/// Begins a recording in `directory`, which is made if it does not exist. The
/// format version is set here whatever `meta` says.
///
/// # Errors
/// If there is something in the directory that is not to be replaced, or it
/// cannot be written to.
pub fn create(directory: &Path, meta: &Meta, existing: Existing) -> Result<Writer, CreateError> {
    let unwritable = |source| CreateError::Unwritable {
        path: directory.to_owned(),
        source,
    };
    match std::fs::read_dir(directory) {
        Ok(mut entries) => {
            let is_recording = directory.join(META).is_file();
            let is_empty = entries.next().is_none();
            match (is_recording, existing) {
                (true, Existing::Keep) => {
                    return Err(CreateError::Recording(directory.to_owned()));
                }
                (true, Existing::Replace) => clear(directory).map_err(unwritable)?,
                (false, _) if is_empty => {}
                (false, _) => return Err(CreateError::Occupied(directory.to_owned())),
            }
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            std::fs::create_dir_all(directory).map_err(unwritable)?;
        }
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => {
            return Err(CreateError::NotADirectory(directory.to_owned()));
        }
        Err(error) => return Err(unwritable(error)),
    }
    let meta = Meta {
        format: FORMAT,
        ..meta.clone()
    };
    let writer = Writer {
        directory: directory.to_owned(),
        meta,
    };
    writer.write().map_err(unwritable)?;
    Ok(writer)
}

/// Changes the circumstances of a recording that is complete, for what is known
/// only when others have been made.
///
/// # Errors
/// If they cannot be read, or not be written.
pub fn amend(directory: &Path, change: impl FnOnce(&mut Meta)) -> Result<(), FinishError> {
    let path = directory.join(META);
    let error = |source| FinishError {
        path: path.clone(),
        source,
    };
    let json = std::fs::read(&path).map_err(error)?;
    let meta = serde_json::from_slice(&json).map_err(|wrong| error(wrong.into()))?;
    let mut writer = Writer {
        directory: directory.to_owned(),
        meta,
    };
    writer.update(change)
}

/// Removes the parts of a recording, and nothing else.
fn clear(directory: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    for part in PARTS {
        let path = directory.join(part);
        if path.is_dir() && !path.is_symlink() {
            gone(std::fs::remove_dir_all(&path))?;
        } else {
            gone(std::fs::remove_file(&path))?;
        }
    }
    gone(std::fs::remove_file(directory.join(META)))
}

impl Writer {
    /// The directory.
    #[must_use]
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Changes the circumstances, for what is known only after the start, and
    /// writes them.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn update(&mut self, change: impl FnOnce(&mut Meta)) -> Result<(), FinishError> {
        change(&mut self.meta);
        self.write().map_err(|source| FinishError {
            path: self.directory.join(META),
            source,
        })
    }

    /// The program has ended.
    ///
    /// # Errors
    /// If that cannot be written; the recording is then readable as one that
    /// was interrupted.
    pub fn finish(
        mut self,
        outcome: Ending,
        wall: Duration,
        problems: Vec<String>,
    ) -> Result<(), FinishError> {
        self.update(|meta| {
            meta.outcome = Some(outcome);
            meta.wall_ns = Some(u64::try_from(wall.as_nanos()).unwrap_or(u64::MAX));
            meta.problems.extend(problems);
            meta.live = None;
        })
    }

    /// Writes `meta.json` so that there is always a whole one.
    fn write(&self) -> io::Result<()> {
        let draft = self.directory.join("meta.json.new");
        let mut json = serde_json::to_vec_pretty(&self.meta)?;
        json.push(b'\n');
        std::fs::write(&draft, json)
            .and_then(|()| std::fs::rename(&draft, self.directory.join(META)))
            .inspect_err(|_| {
                let _ = std::fs::remove_file(&draft);
            })
    }
}
