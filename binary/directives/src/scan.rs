//! Reading a file and describing its constructs.

use crate::analyse::{self, Found};
use crate::language::language_of;
use crate::lower::{self, Lowering};
use crate::text::macros::Macros;
use crate::text::{self, Prepared};
use crate::tree::{self, ParseError};
use fathomp_regions::{Language, SourceFile};
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Larger files are not read.
const FILE_BYTES_MAX: u64 = 64 << 20;
/// Beginning of a file that is searched for what no text has.
const LOOKED_AT: usize = 8192;

/// Why a source is not scanned.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// It cannot be read.
    #[error("{}: cannot be read: {source}: check the path and its permissions", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// Not an ordinary file.
    #[error("{}: is no ordinary file: name a source file", .0.display())]
    Special(PathBuf),
    /// Its name says no language.
    #[error(
        "{}: is called like no source in C, C++ or Fortran: name a file such as x.c, x.cpp or x.f90",
        .0.display()
    )]
    Language(PathBuf),
    /// It is no text.
    #[error("{}: holds bytes that no source has: name the source, not what was made from it", .0.display())]
    Binary(PathBuf),
    /// It is too large.
    #[error("{}: is larger than {} MiB: leave it out", .0.display(), FILE_BYTES_MAX >> 20)]
    TooLarge(PathBuf),
    /// It cannot be parsed.
    #[error("{}: {source}", path.display())]
    Unparsed {
        /// The file.
        path: PathBuf,
        /// Why.
        source: ParseError,
    },
}

/// How a source is read.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Its language; none to go by its name.
    pub language: Option<Language>,
    /// Macros defined from outside: names and values.
    pub defined: Vec<(String, String)>,
    /// Columns of a line of fixed form that count; 72 if not said, all if 0.
    pub columns: Option<u32>,
}

/// What a source says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scanned {
    /// The file.
    pub file: SourceFile,
    /// Its constructs by line. What a construct with code of its own contains (a region or
    /// task inside another) is not repeated in the one around it.
    pub constructs: Vec<Found>,
    /// Sentences about what was not read.
    pub problems: Vec<String>,
}

/// Scans a file.
///
/// # Errors
/// See [`SourceError`].
pub fn scan_file(path: &Path, options: &Options) -> Result<Scanned, SourceError> {
    let unreadable = |source| SourceError::Unreadable {
        path: path.to_owned(),
        source,
    };
    let language = options.language.or_else(|| language_of(path));
    let language = language.ok_or_else(|| SourceError::Language(path.to_owned()))?;
    // Before it is opened: opening a pipe would wait for its other end.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() {
        return Err(SourceError::Special(path.to_owned()));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(FILE_BYTES_MAX + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        return Err(SourceError::TooLarge(path.to_owned()));
    }
    if bytes.iter().take(LOOKED_AT).any(|byte| *byte == 0) {
        return Err(SourceError::Binary(path.to_owned()));
    }
    let text = String::from_utf8_lossy(&bytes);
    let named = path.display().to_string();
    let unparsed = |source| SourceError::Unparsed {
        path: path.to_owned(),
        source,
    };
    let scanned = scan_text(&named, &text, language, options).map_err(unparsed)?;
    // Headers of C++ are often called like those of C.
    let is_header = path.extension().is_some_and(|extension| extension == "h");
    if is_header && options.language.is_none() && !scanned.file.unread.is_empty() {
        let other = scan_text(&named, &text, Language::Cpp, options).map_err(unparsed)?;
        if unread_lines(&other) < unread_lines(&scanned) {
            return Ok(other);
        }
    }
    Ok(scanned)
}

fn unread_lines(scanned: &Scanned) -> u64 {
    let unread = scanned.file.unread.iter();
    unread
        .map(|(first, last)| u64::from(last - first) + 1)
        .sum()
}

/// Scans a text; `path` is what places name.
///
/// # Errors
/// If it cannot be parsed.
pub fn scan_text(
    path: &str,
    text: &str,
    language: Language,
    options: &Options,
) -> Result<Scanned, ParseError> {
    let mut file = SourceFile {
        path: path.to_owned(),
        language,
        lines: text::count_lines(text),
        ..SourceFile::default()
    };
    let fortran = matches!(language, Language::FortranFree | Language::FortranFixed);
    if !mentions_openmp(text, fortran) {
        return Ok(Scanned {
            file,
            ..Scanned::default()
        });
    }
    let mut macros = Macros::default();
    for (name, value) in &options.defined {
        macros.define(&format!("{name} {value}"));
    }
    let prepared = match language {
        Language::C => text::c::prepare(path, text, macros),
        Language::Cpp => {
            macros.define("__cplusplus 201703");
            text::c::prepare(path, text, macros)
        }
        Language::FortranFree => text::fortran::prepare(path, text, macros),
        Language::FortranFixed => text::fixed::prepare(path, text, macros, options.columns),
    };
    let tree = tree::parse(language, &prepared.text)?;
    let mut lowering = Lowering::new(language, &prepared);
    let unit = if fortran {
        lower::fortran::unit(&mut lowering, &tree)
    } else {
        lower::c::unit(&mut lowering, &tree)
    };
    let constructs = analyse::constructs(path, &prepared, &lowering, &unit, fortran);
    let errors = tree::errors(&tree).into_iter();
    let deep = lowering.too_deep.iter().filter(|span| span.text == 0);
    let deep = deep.map(|span| (span.start, span.end));
    let bytes: Vec<(u32, u32)> = errors.chain(deep).collect();
    file.unread = unread(&prepared, bytes);
    file.coverage = analyse::coverage(&constructs);
    Ok(Scanned {
        file,
        constructs,
        problems: prepared.problems,
    })
}

/// Whether a directive can stand in a text at all.
fn mentions_openmp(text: &str, fortran: bool) -> bool {
    let mut words = text.as_bytes().windows(4);
    if fortran {
        words.any(|word| word.eq_ignore_ascii_case(b"$omp"))
    } else {
        text.contains("ragma") && words.any(|word| word.ends_with(b"omp"))
    }
}

/// Parts that were not read as lines, in order, those that meet as one.
fn unread(prepared: &Prepared, bytes: Vec<(u32, u32)>) -> Vec<(u32, u32)> {
    let line = |at| prepared.lines.line(at);
    let parts = bytes
        .into_iter()
        .map(|(start, end)| (line(start), line(end.saturating_sub(1).max(start))));
    let mut parts: Vec<(u32, u32)> = parts.chain(prepared.unread.iter().copied()).collect();
    parts.sort_unstable();
    let mut merged: Vec<(u32, u32)> = Vec::new();
    for (first, last) in parts {
        match merged.last_mut() {
            Some(before) if first <= before.1.saturating_add(1) => before.1 = before.1.max(last),
            _ => merged.push((first, last)),
        }
    }
    merged
}
