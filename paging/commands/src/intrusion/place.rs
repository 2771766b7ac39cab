//! The directory that a measurement leaves.

use super::loopback::Loopback;
use crate::args::WriterName;
use fathomp_console::failure::Failure;
use fathomp_paging::DIRECTORY;
use fathomp_paging::setup::Writer;
use fathomp_trace::model::Meta;
use fathomp_trace::writer::{self, Existing};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

/// Where the recordings of the writers lie.
const WRITERS: &str = "writers";
/// Directories to stripe over: the least that stripes anything.
const STRIPES: usize = 2;

/// A directory that is ours.
pub(super) struct Place {
    directory: PathBuf,
}

/// A writer that is ready to be used.
pub(super) struct Prepared {
    /// Its name in the table.
    pub(super) name: String,
    writer: WriterName,
    /// Its recordings.
    pub(super) directory: PathBuf,
    /// What of ours is emptied before the next recording: directories to stripe over, or that
    /// of the recording host.
    spaces: Vec<PathBuf>,
}

impl Prepared {
    /// The writer of the next recording, and what opens it; the host that it needs.
    pub(super) fn begin(&self) -> Result<(Writer, Option<String>, Option<Loopback>), Failure> {
        for space in &self.spaces {
            let emptied = match fs::remove_dir_all(space) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                removed => removed,
            };
            emptied
                .and_then(|()| fs::create_dir(space))
                .map_err(|error| Failure::unwritable(space, &error))?;
        }
        Ok(match (&self.writer, &self.spaces[..]) {
            (WriterName::Writer(writer), _) => (writer.clone(), None, None),
            (WriterName::Striped, stripes) => (Writer::Striped(stripes.to_vec()), None, None),
            (WriterName::Loopback, spaces) => {
                let host = Loopback::start(spaces.first().unwrap_or(&self.directory))?;
                (host.writer.clone(), Some(host.key.clone()), Some(host))
            }
        })
    }

    /// Where the streams of the recording are in the end.
    pub(super) fn streams(&self) -> PathBuf {
        match (&self.writer, self.spaces.first()) {
            (WriterName::Loopback, Some(kept)) => kept.clone(),
            _ => self.directory.join(DIRECTORY),
        }
    }
}

impl Place {
    /// Makes a directory that can be read as a recording from then on. What an earlier
    /// measurement left there goes, if that was asked for.
    pub(super) fn claim(directory: &Path, force: bool) -> Result<Self, Failure> {
        writer::create(directory, &Meta::default(), Existing::replaced_if(force))?;
        let unwritable = |error: io::Error| Failure::unwritable(directory, &error);
        let writers = directory.join(WRITERS);
        if writers.is_dir() && !writers.is_symlink() {
            fs::remove_dir_all(&writers).map_err(unwritable)?;
        }
        fs::create_dir(&writers).map_err(unwritable)?;
        let directory = fs::canonicalize(directory).map_err(unwritable)?;
        Ok(Self { directory })
    }

    /// Makes writers ready.
    pub(super) fn prepare(&self, writers: Vec<WriterName>) -> Vec<Prepared> {
        writers
            .into_iter()
            .map(|writer| {
                let name = writer.name();
                let spaces = match writer {
                    WriterName::Writer(_) => 0..0,
                    WriterName::Striped => 1..STRIPES + 1,
                    WriterName::Loopback => 1..2,
                };
                Prepared {
                    directory: self.of_writer(&name),
                    spaces: spaces
                        .map(|space| self.of_writer(&format!("{name}-{space}")))
                        .collect(),
                    name,
                    writer,
                }
            })
            .collect()
    }

    fn of_writer(&self, name: &str) -> PathBuf {
        self.directory.join(WRITERS).join(name)
    }

    /// Makes the recording of one writer, the default one if it was used, the directory's own.
    pub(super) fn keep(&self, writers: &[String]) -> Result<(), Failure> {
        let default = Writer::default().to_string();
        let kept = writers.iter().find(|name| **name == default);
        let Some(kept) = kept.or(writers.first()) else {
            return Ok(());
        };
        let from = self.of_writer(kept);
        self.move_up(&from)
            .map_err(|error| Failure::unwritable(&self.directory, &error))
    }

    fn move_up(&self, from: &Path) -> io::Result<()> {
        let entries = match fs::read_dir(from) {
            Ok(entries) => entries,
            // No run came so far.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in entries {
            let entry = entry?;
            fs::rename(entry.path(), self.directory.join(entry.file_name()))?;
        }
        fs::remove_dir(from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_recording_becomes_the_directorys_own() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("measured");
        let place = Place::claim(&directory, false).unwrap();
        let writers = "task,striped,shared".parse::<crate::args::WriterList>();
        let ready = place.prepare(writers.unwrap().names().to_vec());
        let (Writer::Striped(stripes), None, None) = ready[1].begin().unwrap() else {
            panic!("not striped");
        };
        assert!(stripes.len() == STRIPES && stripes.iter().all(|stripe| stripe.is_dir()));
        fs::write(stripes[0].join("old.fthp"), "x").unwrap();
        ready[1].begin().map(drop).unwrap();
        assert!(!stripes[0].join("old.fthp").exists());
        for one in &ready {
            fs::create_dir_all(one.directory.join("paging")).unwrap();
            fs::write(one.directory.join("meta.json"), &one.name).unwrap();
        }
        let names: Vec<String> = ready.iter().map(|one| one.name.clone()).collect();
        place.keep(&names).unwrap();
        let meta = |directory: &Path| fs::read_to_string(directory.join("meta.json")).unwrap();
        assert_eq!(meta(&directory), "shared");
        assert!(directory.join("paging").is_dir());
        assert_eq!(meta(&directory.join("writers/task")), "task");
        assert!(!directory.join("writers/shared").exists());
    }

    #[test]
    fn an_earlier_measurement_goes_only_if_asked() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("measured");
        drop(Place::claim(&directory, false).unwrap());
        fs::create_dir(directory.join("writers/task")).unwrap();
        assert!(Place::claim(&directory, false).is_err());
        drop(Place::claim(&directory, true).unwrap());
        assert!(!directory.join("writers/task").exists());
        let others = parent.path().join("others");
        fs::create_dir(&others).unwrap();
        fs::write(others.join("mine"), "x").unwrap();
        assert!(Place::claim(&others, true).is_err());
    }
}
