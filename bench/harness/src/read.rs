//! Result files: read, checked, joined.

use crate::epcc::{self, EpccRow};
use crate::result::Document;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

/// Why result files cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It cannot be read.
    #[error("cannot read {}: {source}: give a file written by `fathomp bench -o`", path.display())]
    Io {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// It ends too early.
    #[error("{} is truncated: it ends in the middle of a result: measure again or leave it out", path.display())]
    Truncated {
        /// Which file.
        path: PathBuf,
    },
    /// It is something else.
    #[error("{} is not a result of `fathomp bench` ({reason}): leave it out", path.display())]
    Foreign {
        /// Which file.
        path: PathBuf,
        /// What gives it away.
        reason: String,
    },
    /// There is nothing in it.
    #[error("{} is empty: give a file written by `fathomp bench -o`", path.display())]
    Empty {
        /// Which file.
        path: PathBuf,
    },
}

/// Documents, and what the user should know about them.
#[derive(Debug, Default)]
pub struct Joined {
    /// Each measurement once, in the order of the files.
    pub documents: Vec<Document>,
    /// What output of EPCC's own programs says.
    pub epcc: Vec<EpccRow>,
    /// Names of the files that this is from, each once.
    pub others: Vec<String>,
    /// Sentences, such as one about a measurement found twice.
    pub notes: Vec<String>,
}

/// Reads all documents of all files. A measurement that is there several times
/// counts once.
///
/// # Errors
/// Names the first file that cannot be used.
pub fn read(paths: &[PathBuf]) -> Result<Joined, ReadError> {
    let mut joined = Joined::default();
    let mut seen: BTreeMap<String, PathBuf> = BTreeMap::new();
    for path in paths {
        let bytes = read_bytes(path)?;
        let text = String::from_utf8_lossy(&bytes);
        if epcc::is_output(&text) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let rows = epcc::read(&text, &name).map_err(|error| ReadError::Foreign {
                path: path.clone(),
                reason: format!("nor output of EPCC's programs: {error}"),
            })?;
            rows.into_iter()
                .for_each(|row| epcc::add(&mut joined.epcc, row));
            if !joined.others.iter().any(|known| *known == name) {
                joined.others.push(name.into_owned());
            }
            continue;
        }
        for document in parse(&bytes, path)? {
            match seen.get(&document.id) {
                Some(first) => joined.notes.push(format!(
                    "The {} measurement {} in {} is also in {}; it counts once.",
                    document.suite.name(),
                    document.id,
                    path.display(),
                    first.display()
                )),
                None => {
                    seen.insert(document.id.clone(), path.clone());
                    joined.documents.push(document);
                }
            }
        }
    }
    Ok(joined)
}

/// True for a file that begins as JSON does, or is output of EPCC's programs: recordings are
/// directories.
#[must_use]
pub fn is_result(path: &Path) -> bool {
    let mut first = [0; 1];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    let is_file = path.metadata().is_ok_and(|found| found.is_file());
    let text = || fs::read(path).unwrap_or_default();
    let is_text = || is_file && epcc::is_output(&String::from_utf8_lossy(&text()));
    read.is_ok() && (first == *b"{" || is_text())
}

fn read_bytes(path: &Path) -> Result<Vec<u8>, ReadError> {
    fs::read(path).map_err(|source| ReadError::Io {
        path: path.to_owned(),
        source,
    })
}

fn parse(text: &[u8], path: &Path) -> Result<Vec<Document>, ReadError> {
    let foreign = |reason: String| ReadError::Foreign {
        path: path.to_owned(),
        reason,
    };
    let mut documents = Vec::new();
    for document in serde_json::Deserializer::from_slice(text).into_iter::<serde_json::Value>() {
        let value = document.map_err(|error| {
            if error.is_eof() {
                ReadError::Truncated {
                    path: path.to_owned(),
                }
            } else {
                foreign(error.to_string())
            }
        })?;
        // The schema is looked at first: "unknown field" would say less.
        let text_of = |key: &str| value.get(key).and_then(|v| v.as_str()).map(str::to_owned);
        match text_of("schema") {
            Some(schema) if schema == crate::result::SCHEMA => {}
            Some(schema) => return Err(foreign(format!("its schema is \"{schema}\""))),
            None => return Err(foreign("it names no schema".to_owned())),
        }
        let document: Document =
            serde_json::from_value(value).map_err(|error| foreign(error.to_string()))?;
        document
            .check()
            .map_err(|error| foreign(error.to_string()))?;
        documents.push(document);
    }
    if documents.is_empty() {
        return Err(ReadError::Empty {
            path: path.to_owned(),
        });
    }
    Ok(documents)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic;

    fn parsed(text: &str) -> Result<Vec<Document>, ReadError> {
        parse(text.as_bytes(), Path::new("file.json"))
    }

    #[test]
    fn documents_follow_each_other() {
        let one = serde_json::to_string(&synthetic::epcc()).unwrap();
        assert!(
            parsed(&one).unwrap() == [synthetic::epcc()],
            "what was written is read"
        );
        assert_eq!(parsed(&format!("{one}\n{one}\n")).unwrap().len(), 2);
    }

    #[test]
    fn a_file_cut_anywhere_is_refused_by_name() {
        let mut short = synthetic::epcc();
        short.cells.truncate(1);
        let text = serde_json::to_string(&short).unwrap();
        for end in 0..text.len() {
            let error = parsed(&text[..end]).unwrap_err();
            let expected = if end == 0 { "empty" } else { "truncated" };
            let sentence = error.to_string();
            assert!(
                sentence.contains(expected) && sentence.contains("file.json"),
                "{sentence}"
            );
        }
    }

    #[test]
    fn foreign_files_are_refused_with_the_reason() {
        for (text, word) in [
            ("hello", "expected"),
            ("{}", "no schema"),
            (
                "{\"schema\":\"fathomp.report\",\"version\":1}",
                "fathomp.report",
            ),
            ("{\"schema\":\"fathomp.bench\"}", "missing field"),
        ] {
            let sentence = parsed(text).unwrap_err().to_string();
            assert!(sentence.contains(word), "{sentence}");
        }
        let mut newer = synthetic::epcc();
        newer.version = 2;
        let sentence = parsed(&serde_json::to_string(&newer).unwrap())
            .unwrap_err()
            .to_string();
        assert!(sentence.contains("version is 2"), "{sentence}");
    }

    #[test]
    fn numbers_that_cannot_be_are_refused() {
        let mut broken = synthetic::epcc();
        broken.cells[0].column = 99;
        assert!(broken.check().is_err());
        let mut broken = synthetic::epcc();
        broken.cells[0].processes[0].construct_ns[0] = -1.0;
        assert!(broken.check().is_err());
        let mut broken = synthetic::epcc();
        broken.cells[0].processes[0].reference_ns.clear();
        assert!(broken.check().is_err());
        let mut broken = synthetic::epcc();
        broken.cells[0].threads = 0;
        assert!(broken.check().is_err());
    }

    #[test]
    fn a_measurement_counts_once() {
        let directory = tempfile::tempdir().unwrap();
        let paths = ["a.json", "b.json"].map(|name| directory.path().join(name));
        let text = serde_json::to_string(&synthetic::epcc()).unwrap();
        for path in &paths {
            fs::write(path, &text).unwrap();
        }
        let joined = read(&paths).unwrap();
        assert_eq!(joined.documents.len(), 1);
        assert!(joined.notes[0].contains("b.json") && joined.notes[0].contains("counts once"));
    }
}
