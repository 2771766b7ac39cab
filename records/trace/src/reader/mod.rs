//! Reads a recording, however it ended.
//!
//! Whatever is damaged or missing costs as little as possible of the rest, and
//! is said in [`Recording::problems`]. No content makes the reader panic.

mod check;
mod cluster;
mod hosts;
mod parse;
mod salvage;

use crate::model::{FORMAT, Meta, Recording};
use crate::stream;
use crate::writer;
use fathomp_regions::Regions;
use parse::Parser;
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

/// Name of the file with what the program's regions contain.
pub const REGIONS_FILE: &str = "regions.json";

/// Why a recording cannot be read at all.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// There is nothing there.
    #[error("{0} does not exist; make a recording with `fathomp record -o {0} -- PROGRAM`")]
    Missing(PathBuf),
    /// It is something else.
    #[error(
        "{0} is not a recording: it holds no meta.json; name the directory that `fathomp record` made"
    )]
    NotARecording(PathBuf),
    /// It was made by a later version.
    #[error(
        "{path} has format {found}, this fathomp reads up to {FORMAT}; use the fathomp that made it"
    )]
    Version {
        /// The recording.
        path: PathBuf,
        /// Its format.
        found: u32,
    },
    /// Its times are of clocks that only an earlier version had.
    #[error(
        "{0} was recorded in emulated time, which this fathomp no longer has; record it again without --emulated-time"
    )]
    EmulatedTime(PathBuf),
    /// The system refused.
    #[error("cannot read {path}: {source}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Reads the recording in `directory`.
///
/// # Errors
/// If there is none, or it is of a later version, or the system refuses.
pub fn open(directory: &Path) -> Result<Recording, OpenError> {
    let mut problems = Vec::new();
    let streams = streams(directory)?;
    let meta = meta(directory, !streams.is_empty(), &mut problems)?;
    problems.extend(meta.problems.iter().cloned());
    let mut parsers = BTreeMap::new();
    for path in streams {
        let name = path.file_stem().unwrap_or_default().to_owned();
        let bytes = std::fs::read(&path).map_err(|source| OpenError::Unreadable {
            path: path.clone(),
            source,
        })?;
        let mut parser = Parser::default();
        match fathomp_blocks::after_start(&bytes, stream::MAGIC, stream::VERSION) {
            Ok(blocks) => parser.blocks(blocks),
            Err(problem) => problems.push(format!("{} was left out: {problem}.", path.display())),
        }
        parsers.insert(name, parser);
    }
    if let Some(live) = &meta.live {
        salvage::salvage(live, &mut parsers, &mut problems);
    }
    let finished =
        |(name, parser): (OsString, Parser)| Some((hosts::host_of(&name), parser.finish()?));
    let mut parsed: Vec<_> = parsers.into_iter().filter_map(finished).collect();
    if parsed.iter().any(|(_, parsed)| parsed.says_something()) {
        // Children that a recorded process forked only to run something else.
        parsed.retain(|(_, parsed)| parsed.says_something());
    }
    let mut processes: Vec<_> = parsed
        .into_iter()
        .map(|(host, parsed)| (host, check::check(parsed, &mut problems)))
        .collect();
    let first = processes.iter().find(|(host, _)| *host == 0);
    if let Some(nanos) = first.map(|(_, process)| process.clock.nanos_per_tick) {
        for (host, process) in &mut processes {
            if let Some(host) = meta.hosts.get(*host) {
                hosts::align(process, host, nanos);
            }
        }
    }
    let mut processes: Vec<_> = processes.into_iter().map(|(_, process)| process).collect();
    processes.sort_by_key(|process| (process.clock.zero_unix_ns, process.pid));
    check::check_whole(&meta, &processes, &mut problems);
    let processes = cluster::unite(processes);
    Ok(Recording {
        meta,
        processes,
        regions: regions(directory, &mut problems),
        problems,
    })
}

/// What the program's regions contain, if it was scanned.
fn regions(directory: &Path, problems: &mut Vec<String>) -> Option<Regions> {
    let path = directory.join(REGIONS_FILE);
    let text = std::fs::read_to_string(&path).ok()?;
    match Regions::from_json(&text) {
        Ok(regions) => Some(regions),
        Err(error) => {
            problems.push(format!(
                "{} could not be read, so iterations of static loops are unknown: {error}.",
                path.display()
            ));
            None
        }
    }
}

/// The circumstances. If they are lost but there are streams, those are still
/// worth reading.
fn meta(
    directory: &Path,
    has_streams: bool,
    problems: &mut Vec<String>,
) -> Result<Meta, OpenError> {
    let path = directory.join(writer::META);
    let mut lost = |why: String| {
        if has_streams {
            problems.push(format!(
                "{} {why}, so the circumstances of the run are unknown.",
                path.display()
            ));
            Ok(Meta::default())
        } else {
            Err(OpenError::NotARecording(directory.to_owned()))
        }
    };
    let json = match std::fs::read(&path) {
        Ok(json) => json,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return lost("is missing".to_owned());
        }
        Err(source) => return Err(OpenError::Unreadable { path, source }),
    };
    // What every version has: an object that names its format.
    let object: Map<String, Value> = match serde_json::from_slice(&json) {
        Ok(object) => object,
        Err(error) => return lost(format!("is damaged ({error})")),
    };
    match object.get("format").and_then(Value::as_u64) {
        None | Some(0) => lost("does not name its format".to_owned()),
        Some(found) if found > u64::from(FORMAT) => Err(OpenError::Version {
            path: directory.to_owned(),
            found: u32::try_from(found).unwrap_or(u32::MAX),
        }),
        Some(_) if object.get("emulated_time") == Some(&Value::Bool(true)) => {
            Err(OpenError::EmulatedTime(directory.to_owned()))
        }
        Some(_) => match serde_json::from_value::<Meta>(Value::Object(object)) {
            Ok(mut meta) => {
                meta.complete();
                Ok(meta)
            }
            Err(error) => lost(format!("is damaged ({error})")),
        },
    }
}

/// The streams of a recording, in the order of their names.
fn streams(directory: &Path) -> Result<Vec<PathBuf>, OpenError> {
    let unreadable = |path: &Path, source: io::Error| OpenError::Unreadable {
        path: path.to_owned(),
        source,
    };
    match std::fs::metadata(directory) {
        Ok(facts) if facts.is_dir() => {}
        Ok(_) => return Err(OpenError::NotARecording(directory.to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(OpenError::Missing(directory.to_owned()));
        }
        Err(error) => return Err(unreadable(directory, error)),
    }
    let path = directory.join("processes");
    let entries = match std::fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
            ) =>
        {
            return Ok(Vec::new());
        }
        Err(error) => return Err(unreadable(&path, error)),
    };
    let mut streams = Vec::new();
    for entry in entries {
        let file = entry.map_err(|error| unreadable(&path, error))?.path();
        let named = file
            .extension()
            .is_some_and(|extension| extension == stream::EXTENSION);
        if named && file.is_file() {
            streams.push(file);
        }
    }
    streams.sort();
    Ok(streams)
}
