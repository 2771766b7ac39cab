//! The directory of a study.
//!
//!     study/
//!       study.json               what was run and how it went
//!       machine.json             what this machine costs
//!       cluster.json             what nodes on the hosts cost, if it ran there
//!       samples.json             where threads were, if that had to be looked at
//!       sharing.json             which cache lines threads share, if asked for
//!       sharing.stderr           what the program complained meanwhile
//!       runtimes.json            several runtimes side by side, if they were compared
//!       result.json              analyses and prediction, for other tools
//!       stdin                    what the program was given to read, if piped
//!       recordings/<T>-threads[-run-<R>]/        one recording a run
//!       recordings/<T>-threads-again-<K>/        one that was disturbed, made once more
//!       recordings/<N>-ranks-of-<T>-threads[-run-<R>]/  one of each rank, or of a single one
//!       recordings/<N>-nodes-of-<T>-threads[-run-<R>]/  the same on hosts
//!       recordings/<T>-threads[-run-<R>].stderr  what later runs complained
//!       recordings/<T>-threads[-run-<R>].stdout  what runs wrote, if it differs

mod earlier;
pub(crate) mod job;
pub(crate) mod ranks;
pub(crate) mod runtimes;
pub(crate) mod team;
pub(crate) mod versus;
mod whereabouts;

use crate::failure::Failure;
use crate::output;
use crate::recording::rank;
use fathomp_analysis::samples::Samples;
use fathomp_predict::machine::Machine;
use fathomp_predict::prices::Cluster;
use fathomp_shared_lines::Findings;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use team::Team;

const SCHEMA: &str = "fathomp.study";
const VERSION: u32 = 1;
const INDEX: &str = "study.json";
const RECORDINGS: &str = "recordings";
/// What threads share.
pub(crate) const SHARING: &str = "sharing.json";
/// Where threads were.
pub(crate) const SAMPLES: &str = "samples.json";
/// What nodes on the hosts cost.
pub(crate) const CLUSTER: &str = "cluster.json";
/// What a study directory may hold beside its index.
const FILES: [&str; 9] = [
    "advice.json",
    CLUSTER,
    "runtimes.json",
    "machine.json",
    "result.json",
    SAMPLES,
    "sharing.json",
    "sharing.stderr",
    "stdin",
];

/// `study.json`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Index {
    schema: String,
    version: u32,
    /// Program and arguments.
    pub(crate) command: Vec<String>,
    /// Recordings, relative to the study, in the order they were made.
    pub(crate) recordings: Vec<PathBuf>,
    /// What went wrong, each as one sentence.
    pub(crate) notes: Vec<String>,
}

/// Of what kind a file is, whatever else is in it.
#[derive(Deserialize)]
struct Kind {
    schema: String,
    version: u32,
}

/// A study being made.
#[derive(Debug)]
pub(crate) struct Study {
    directory: PathBuf,
    pub(crate) index: Index,
    /// Recordings of the study that this one goes on with, which have not been looked at yet.
    earlier: Vec<PathBuf>,
}

impl Study {
    /// Says early whether a study could be made in `directory`.
    pub(crate) fn check(directory: &Path, force: bool) -> Result<(), Failure> {
        let shown = directory.display();
        match fs::read_dir(directory) {
            Ok(mut entries) => {
                let earlier = directory.join(INDEX).is_file();
                if earlier && !force {
                    return Err(Failure::new(format!(
                        "{shown} holds an earlier study: use --force to replace it, or --directory for another"
                    )));
                }
                if !earlier && entries.next().is_some() {
                    return Err(Failure::new(format!(
                        "{shown} holds something that is not a study: choose another with --directory"
                    )));
                }
                Ok(())
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Err(Failure::new(
                format!("{shown} is not a directory: choose another with --directory"),
            )),
            Err(error) => Err(Failure::unwritable(directory, &error)),
        }
    }

    /// Makes the directory; what an earlier study left there goes.
    pub(crate) fn create(directory: &Path, command: Vec<String>) -> Result<Self, Failure> {
        let unwritable = |error: io::Error| Failure::unwritable(directory, &error);
        fs::create_dir_all(directory).map_err(unwritable)?;
        if directory.join(INDEX).is_file() {
            clear(directory).map_err(unwritable)?;
        }
        fs::create_dir_all(directory.join(RECORDINGS)).map_err(unwritable)?;
        let study = Self {
            directory: directory.to_owned(),
            index: Index {
                schema: SCHEMA.to_owned(),
                version: VERSION,
                command,
                recordings: Vec::new(),
                notes: Vec::new(),
            },
            earlier: Vec::new(),
        };
        study.save()?;
        Ok(study)
    }

    /// Goes on with the study in `directory`, which is to be of the same command.
    pub(crate) fn go_on(directory: &Path, command: Vec<String>) -> Result<Self, Failure> {
        let shown = directory.display();
        let Some(mut index) = index_of(directory)? else {
            return Err(Failure::new(format!(
                "{shown} holds no study to go on with: leave --continue out to begin one"
            )));
        };
        if index.command != command {
            return Err(Failure::new(format!(
                "the study in {shown} is of `{}`: give the same command, or another --directory",
                index.command.join(" ")
            )));
        }
        index.notes.clear();
        Ok(Self {
            directory: directory.to_owned(),
            earlier: std::mem::take(&mut index.recordings),
            index,
        })
    }

    /// A file of the study.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// All recordings made so far.
    pub(crate) fn recordings(&self) -> Vec<PathBuf> {
        let names = self.index.recordings.iter();
        names.map(|name| self.directory.join(name)).collect()
    }

    /// Where the recording of a run goes, relative to the study.
    pub(crate) fn recording(team: Team, repeat: u32, repeats: u32) -> PathBuf {
        let mut name = team.name();
        if repeats > 1 {
            name.push_str(&format!("-run-{}", repeat + 1));
        }
        Path::new(RECORDINGS).join(name)
    }

    /// The same of one more run, after so many.
    pub(crate) fn recording_again(team: Team, times: usize) -> PathBuf {
        Path::new(RECORDINGS).join(format!("{}-again-{times}", team.name()))
    }

    /// Writes the index as it is now, so that an interrupted study can be read.
    pub(crate) fn save(&self) -> Result<(), Failure> {
        let mut index = self.index.clone();
        index.recordings.extend(self.earlier.iter().cloned());
        let mut text = serde_json::to_string_pretty(&index)?;
        text.push('\n');
        output::write_file(&self.directory.join(INDEX), text.as_bytes())
    }
}

/// Removes the parts of a study, and nothing else.
fn clear(directory: &Path) -> io::Result<()> {
    let gone = |result: io::Result<()>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    };
    for file in FILES {
        gone(fs::remove_file(directory.join(file)))?;
    }
    let recordings = directory.join(RECORDINGS);
    if !recordings.is_symlink() {
        gone(fs::remove_dir_all(&recordings))?;
    }
    gone(fs::remove_file(directory.join(INDEX)))
}

/// The study in a directory, if there is one.
pub(crate) fn index_of(directory: &Path) -> Result<Option<Index>, Failure> {
    let path = directory.join(INDEX);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(_) => return Ok(None),
    };
    let shown = path.display();
    let damaged = |_| {
        Failure::new(format!(
            "{shown} is damaged: name the recordings themselves"
        ))
    };
    let kind: Kind = serde_json::from_str(&text).map_err(damaged)?;
    if kind.schema != SCHEMA || kind.version != VERSION {
        return Err(Failure::new(format!(
            "{shown} is {} in version {}, this fathomp reads {SCHEMA} in version {VERSION}: use the fathomp that made it, or name the recordings themselves",
            kind.schema, kind.version
        )));
    }
    serde_json::from_str(&text).map(Some).map_err(damaged)
}

/// What a study has beside its recordings; nothing of a directory that is none.
#[derive(Default)]
pub(crate) struct Parts {
    pub(crate) notes: Vec<String>,
    pub(crate) sharing: Option<Findings>,
    pub(crate) samples: Option<Samples>,
    pub(crate) cluster: Option<Cluster>,
    /// What the machine cost that it was made on.
    pub(crate) machine: Option<Machine>,
}

impl Parts {
    /// Those of the study in a directory.
    pub(crate) fn of(directory: &Path) -> Result<Self, Failure> {
        let Some(index) = index_of(directory)? else {
            return Ok(Self::default());
        };
        let machine = directory.join("machine.json");
        Ok(Self {
            notes: index.notes,
            sharing: sharing_of(directory)?,
            samples: samples_of(directory)?,
            cluster: cluster_of(directory)?,
            machine: crate::load::machine(Some(&machine)).unwrap_or_default(),
        })
    }
}

/// What threads share, if the study in a directory says so.
fn sharing_of(directory: &Path) -> Result<Option<Findings>, Failure> {
    part_of(directory, SHARING)
}

/// Where threads were, if the study in a directory says so.
fn samples_of(directory: &Path) -> Result<Option<Samples>, Failure> {
    part_of(directory, SAMPLES)
}

fn part_of<T: DeserializeOwned>(directory: &Path, name: &str) -> Result<Option<T>, Failure> {
    let path = directory.join(name);
    let Ok(text) = fs::read_to_string(&path) else {
        return Ok(None);
    };
    let part = serde_json::from_str(&text).map_err(|error| {
        Failure::new(format!(
            "{} is damaged or from another version ({error}): remove it, and study the program again to have it anew",
            path.display()
        ))
    })?;
    Ok(Some(part))
}

/// What nodes cost on the hosts of the study in a directory, if it was made on hosts.
fn cluster_of(directory: &Path) -> Result<Option<Cluster>, Failure> {
    let path = directory.join(CLUSTER);
    match path.is_file() {
        true => Cluster::find(&path)
            .map(Some)
            .map_err(|error| Failure::of(&error)),
        false => Ok(None),
    }
}

/// The recordings a directory stands for: those of a study, or itself.
pub(crate) fn recordings_in(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    Ok(match index_of(directory)? {
        Some(index) => index
            .recordings
            .iter()
            .map(|path| directory.join(path))
            .collect(),
        None => match rank::one_of_several(directory) {
            Some(failure) => return Err(failure),
            None => vec![directory.to_owned()],
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_study_is_replaced_on_request_and_nothing_else_is() {
        let parent = tempfile::tempdir().unwrap();
        let directory = parent.path().join("study");
        Study::check(&directory, false).unwrap();
        let mut study = Study::create(&directory, vec!["prog".to_owned()]).unwrap();
        study
            .index
            .recordings
            .push(Study::recording(Team::Here(2), 0, 1));
        study.save().unwrap();
        assert_eq!(
            recordings_in(&directory).unwrap(),
            [directory.join("recordings/2-threads")]
        );
        assert!(Study::check(&directory, false).is_err());
        Study::check(&directory, true).unwrap();
        fs::write(directory.join("mine.txt"), "x").unwrap();
        Study::create(&directory, vec!["prog".to_owned()]).unwrap();
        assert!(directory.join("mine.txt").exists());
        assert!(recordings_in(&directory).unwrap().is_empty());
        // Without its index it is somebody's directory.
        fs::remove_file(directory.join(INDEX)).unwrap();
        assert!(Study::check(&directory, true).is_err());
    }

    #[test]
    fn a_damaged_index_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        for text in [
            "",
            "{}",
            r#"{"schema":"fathomp.study","version":9,"command":[],"recordings":[],"notes":[]}"#,
        ] {
            fs::write(directory.path().join(INDEX), text).unwrap();
            assert!(recordings_in(directory.path()).is_err(), "{text}");
        }
    }
}
