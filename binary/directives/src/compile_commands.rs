//! `compile_commands.json`: which files a build compiles, and how.

use crate::language::language_of;
use crate::scan::Options;
use fathomp_regions::Language;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the file in a build's directory.
const NAME: &str = "compile_commands.json";
/// Larger ones are not read.
const BYTES_MAX: u64 = 256 << 20;

/// Why a list of compilations cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum CommandsError {
    /// It cannot be read.
    #[error(
        "{}: cannot be read: {source}: give the file or the build's directory, made by `cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON` or `bear -- make`",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Too large.
    #[error("{}: is larger than {} MiB: list fewer files in it", .0.display(), BYTES_MAX >> 20)]
    TooLarge(PathBuf),
    /// Not such a list.
    #[error("{}: is no list of compilations: {source}: make it anew", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
}

/// A source that is compiled.
#[derive(Clone, Debug, Default)]
pub struct Compiled {
    /// Its path, absolute if the list says where it was compiled.
    pub path: PathBuf,
    /// How to read it.
    pub options: Options,
}

#[derive(Deserialize)]
struct Entry {
    #[serde(default)]
    directory: PathBuf,
    file: PathBuf,
    #[serde(default)]
    command: Option<String>,
    #[serde(default)]
    arguments: Option<Vec<String>>,
}

/// Reads a list of compilations; `path` is the file, or the directory that it lies in.
/// Files in languages that are not read are left out; each file comes once.
///
/// # Errors
/// See [`CommandsError`].
pub fn compile_commands(path: &Path) -> Result<Vec<Compiled>, CommandsError> {
    let file = if path.is_dir() {
        path.join(NAME)
    } else {
        path.to_owned()
    };
    let unreadable = |source| CommandsError::Unreadable {
        path: file.clone(),
        source,
    };
    let metadata = fs::metadata(&file).map_err(unreadable)?;
    if metadata.len() > BYTES_MAX {
        return Err(CommandsError::TooLarge(file));
    }
    let bytes = fs::read(&file).map_err(unreadable)?;
    let entries: Vec<Entry> =
        serde_json::from_slice(&bytes).map_err(|source| CommandsError::Parse {
            path: file.clone(),
            source,
        })?;
    // Relative directories are relative to the list.
    let base = file.parent().unwrap_or(Path::new(""));
    let mut compiled: Vec<Compiled> = Vec::new();
    let mut known = std::collections::HashSet::new();
    for entry in entries {
        let words = entry
            .arguments
            .or_else(|| entry.command.as_deref().map(words))
            .unwrap_or_default();
        let path = base.join(&entry.directory).join(&entry.file);
        let options = options(&words, &path);
        if options.language.is_some() && known.insert(path.clone()) {
            compiled.push(Compiled { path, options });
        }
    }
    Ok(compiled)
}

/// How a compiler that is called like this reads a file.
fn options(words: &[String], path: &Path) -> Options {
    let mut options = Options {
        language: by_compiler(words, path),
        ..Options::default()
    };
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        // Both `-D x` and `-Dx`.
        let mut value = |flag: &str| match word.strip_prefix(flag) {
            Some("") => words.next().cloned(),
            Some(value) => Some(value.to_owned()),
            None => None,
        };
        if let Some(defined) = value("-D") {
            let (name, content) = defined.split_once('=').unwrap_or((&defined, "1"));
            options.defined.push((name.to_owned(), content.to_owned()));
        } else if let Some(named) = value("-x") {
            options.language = by_name(&named).or(options.language);
        } else if let Some(columns) = word.strip_prefix("-ffixed-line-length-") {
            options.columns = match columns {
                "none" => Some(0),
                number => number.parse().ok(),
            };
        } else if word == "-ffixed-form" {
            options.language = Some(Language::FortranFixed);
        } else if word == "-ffree-form" {
            options.language = Some(Language::FortranFree);
        }
    }
    options
}

/// The language by the file's name, as this compiler takes it.
fn by_compiler(words: &[String], path: &Path) -> Option<Language> {
    let language = language_of(path)?;
    let compiler = words.first().map(Path::new).and_then(Path::file_name);
    let compiler = compiler.map(|name| name.to_string_lossy().into_owned());
    let compiler = compiler.unwrap_or_default();
    let for_cpp = ["g++", "c++", "clang++", "icpc", "icpx", "mpicxx", "mpic++"]
        .iter()
        .any(|name| compiler.contains(name));
    Some(match language {
        Language::C if for_cpp => Language::Cpp,
        language => language,
    })
}

/// The language that `-x` names.
fn by_name(name: &str) -> Option<Language> {
    match name {
        "c" | "c-header" | "cpp-output" => Some(Language::C),
        "c++" | "c++-header" | "c++-cpp-output" => Some(Language::Cpp),
        "f77" | "f77-cpp-input" => Some(Language::FortranFixed),
        "f95" | "f95-cpp-input" => Some(Language::FortranFree),
        _ => None,
    }
}

/// A command line as a shell takes it apart.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = None::<String>;
    let mut quote = None;
    let mut characters = command.chars();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some('\''), _) => word.get_or_insert_default().push(c),
            (_, '\\') => {
                if let Some(next) = characters.next() {
                    word.get_or_insert_default().push(next);
                }
            }
            (Some(_), _) => word.get_or_insert_default().push(c),
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, _) if c.is_whitespace() => words.extend(word.take()),
            (None, _) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<Compiled>, CommandsError> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join(NAME), text).unwrap();
        compile_commands(directory.path())
    }

    #[test]
    fn languages_and_macros_come_from_command_lines() {
        let compiled = read(
            r#"[
            {"directory": "/b", "file": "a.c", "command": "gcc -DN=10 -D 'M=\"x y\"' -O2 -c a.c"},
            {"directory": "/b", "file": "/s/b.c", "arguments": ["/usr/bin/g++", "-c", "b.c"]},
            {"directory": "/b", "file": "c.f", "command": "gfortran -ffixed-line-length-132 c.f"},
            {"directory": "/b", "file": "d.txt", "command": "gcc -x c++ d.txt"},
            {"directory": "/b", "file": "e.s", "command": "gcc e.s"},
            {"directory": "/b", "file": "a.c", "command": "gcc a.c"}
        ]"#,
        )
        .unwrap();
        let found: Vec<_> = compiled
            .iter()
            .map(|one| (one.path.to_str().unwrap(), one.options.language.unwrap()))
            .collect();
        assert_eq!(
            found,
            [
                ("/b/a.c", Language::C),
                ("/s/b.c", Language::Cpp),
                ("/b/c.f", Language::FortranFixed),
                ("/b/d.txt", Language::Cpp)
            ]
        );
        let defined = &compiled[0].options.defined;
        assert_eq!(defined[0], ("N".to_owned(), "10".to_owned()));
        assert_eq!(defined[1], ("M".to_owned(), "\"x y\"".to_owned()));
        assert_eq!(compiled[2].options.columns, Some(132));
    }

    #[test]
    fn what_is_no_list_is_refused() {
        assert!(matches!(read("{}"), Err(CommandsError::Parse { .. })));
        assert!(matches!(read("[{}]"), Err(CommandsError::Parse { .. })));
        assert!(matches!(
            compile_commands(Path::new("/nonexistent/x.json")),
            Err(CommandsError::Unreadable { .. })
        ));
        assert!(read("[]").unwrap().is_empty());
    }
}
