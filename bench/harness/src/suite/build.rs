//! Building a program of measurements, out of tree, once.

use super::rows::Row;
use super::sources::{Source, SuiteName, programs};
use crate::compiler::Compiler;
use fathomp_launch::openmp::NUM_THREADS;
use fathomp_launch::steering::PRELOAD;
use fathomp_process::{self as process, Limits};
use fathomp_toolchain as toolchain;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use toolchain::{File, Recipe, in_parallel};

/// Longest answer to a question about the program itself.
const LIMITS: Limits = Limits {
    time: Duration::from_secs(60),
    bytes: 1 << 20,
};
/// How every program is compiled. Lazy binding lets a program run under a
/// runtime that lacks a call, as long as nobody makes the call.
const FLAGS: &[&str] = &["-O2", "-fopenmp", "-Wl,-z,lazy"];

/// A suite, built by one compiler.
#[derive(Debug, Clone)]
pub struct Program {
    /// What it measures.
    pub suite: SuiteName,
    /// Who built it.
    pub compiler: Compiler,
    /// Executables, each with rows of its own.
    pub parts: Vec<Part>,
    /// Files that this compiler could not build or link.
    pub left_out: Vec<LeftOut>,
}

/// An executable.
#[derive(Debug, Clone)]
pub struct Part {
    /// Where it is.
    pub path: PathBuf,
    /// What it can measure.
    pub rows: Vec<Row>,
}

impl Program {
    /// Everything it can measure.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.parts.iter().flat_map(|part| &part.rows)
    }

    /// Adds to `rows` what it can measure and they do not have.
    pub fn add_rows_to(&self, rows: &mut Vec<Row>) {
        for row in self.rows() {
            if rows.iter().all(|known| known.row != row.row) {
                rows.push(row.clone());
            }
        }
    }

    /// The row of that name and the part that measures it.
    #[must_use]
    pub fn find(&self, name: &str) -> Option<(&Part, &Row)> {
        self.parts.iter().find_map(|part| {
            let row = part.rows.iter().find(|row| row.row == name)?;
            Some((part, row))
        })
    }

    /// Where its executables are.
    pub(crate) fn directory(&self) -> &Path {
        let first = self.parts.first().and_then(|part| part.path.parent());
        first.unwrap_or(Path::new("."))
    }

    /// What the program says to a question that concerns no runtime.
    ///
    /// # Errors
    /// Its end in words.
    pub(crate) fn ask(&self, arguments: &[&str]) -> Result<String, String> {
        let part = self.parts.first().ok_or("it has no rows")?;
        ask(&part.path, arguments)
    }
}

/// A source that is not part of the program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name.
    pub file: String,
    /// What its rows measure: its first comment.
    pub rows: String,
    /// The compiler's words.
    pub reason: String,
}

/// Why a program cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// It does not build.
    #[error(transparent)]
    Build(#[from] toolchain::BuildError),
    /// The program that was built does not run.
    #[error(
        "the {suite} benchmark built by {compiler} does not run ({reason}): try another compiler with --cc"
    )]
    Broken {
        /// Who built it.
        compiler: String,
        /// What it is.
        suite: &'static str,
        /// What it said.
        reason: String,
    },
}

/// Builds `suite` with `compiler`, or finds it built in `cache`; `None` if the
/// suite has no program in the compiler's language.
///
/// # Errors
/// See [`BuildError`].
pub fn build(
    suite: SuiteName,
    compiler: &Compiler,
    cache: &Path,
) -> Result<Option<Program>, BuildError> {
    let mut program = Program {
        suite,
        compiler: compiler.clone(),
        parts: Vec::new(),
        left_out: Vec::new(),
    };
    for files in programs(suite, compiler.fortran) {
        let (path, left_out) = compile(suite, compiler, &files, cache)?;
        let rows = rows(&path).map_err(|reason| BuildError::Broken {
            compiler: compiler.name().to_owned(),
            suite: suite.name(),
            reason,
        })?;
        program.parts.push(Part { path, rows });
        program.left_out.extend(left_out);
    }
    Ok((!program.parts.is_empty()).then_some(program))
}

/// Builds everything at once or, if that fails, finds the files to leave out.
fn compile(
    suite: SuiteName,
    compiler: &Compiler,
    files: &[Source],
    cache: &Path,
) -> Result<(PathBuf, Vec<LeftOut>), toolchain::BuildError> {
    let attempt = |chosen: &[Source]| {
        let recipe = recipe(suite, chosen);
        toolchain::build(&compiler.tool, &recipe, cache).map(|built| built.path)
    };
    match attempt(files) {
        Err(toolchain::BuildError::Refused { .. }) => {}
        done => return done.map(|path| (path, Vec::new())),
    }
    let (needed, others): (Vec<Source>, Vec<Source>) = files
        .iter()
        .partition(|file| file.needed || !file.is_compiled());
    let tried = in_parallel(&others, |file| {
        let with_needed: Vec<Source> = needed.iter().copied().chain([*file]).collect();
        attempt(&with_needed)
    });
    let mut kept = needed.clone();
    let mut left_out = Vec::new();
    for (file, result) in others.into_iter().zip(tried) {
        match result {
            Ok(_) => kept.push(file),
            Err(toolchain::BuildError::Refused { words, .. }) => left_out.push(LeftOut {
                file: file.name.to_owned(),
                rows: first_comment(file.text),
                reason: complaint(&words).to_owned(),
            }),
            Err(other) => return Err(other),
        }
    }
    attempt(&kept).map(|path| (path, left_out))
}

/// How a program is made of these files.
fn recipe(suite: SuiteName, files: &[Source]) -> Recipe<'static> {
    let strings = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let mut files: Vec<File<'static>> = files
        .iter()
        .map(|file| File {
            path: file.name,
            text: file.text,
        })
        .collect();
    files.sort_by_key(|file| file.path);
    Recipe {
        name: suite.name().to_owned(),
        files,
        includes: Vec::new(),
        flags: strings(FLAGS),
        libraries: strings(&["-ldl", "-lm"]),
    }
}

/// The line that matters among a compiler's and a linker's words.
fn complaint(words: &str) -> &str {
    let lines = || words.lines().map(str::trim).filter(|line| !line.is_empty());
    ["undefined reference", "error:"]
        .iter()
        .find_map(|mark| lines().find(|line| line.contains(mark)))
        .or_else(|| lines().next())
        .unwrap_or("it did not say why")
}

/// The words of the comment that a file begins with, up to the first full stop.
fn first_comment(text: &str) -> String {
    let first = text.lines().next().unwrap_or("");
    let words = first.trim_start_matches(['/', '*', '!', ' ']);
    let words = words.trim_end_matches(['/', '*', ' ']);
    words
        .split_once(". ")
        .map_or(words, |(start, _)| start)
        .trim_end_matches('.')
        .to_owned()
}

/// Asks a program what it can measure.
fn rows(path: &Path) -> Result<Vec<Row>, String> {
    let text = ask(path, &["rows"])?;
    let rows: Result<Vec<Row>, _> = text.lines().map(serde_json::from_str).collect();
    let rows = rows.map_err(|error| format!("it lists its rows wrongly: {error}"))?;
    if rows.is_empty() {
        return Err("it lists no rows".to_owned());
    }
    Ok(rows)
}

fn ask(path: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(path);
    command
        .args(arguments)
        .env_remove(PRELOAD)
        .env(NUM_THREADS, "1");
    match process::run(&mut command, LIMITS) {
        Ok(ended) if ended.status.success() => Ok(ended.stdout),
        Ok(ended) => Err(last_words(&ended)),
        Err(error) => Err(error.to_string()),
    }
}

/// How a child that failed explains itself: its end and its last line.
pub(crate) fn last_words(ended: &process::Finished) -> String {
    let line = ended.stderr.trim_end().lines().next_back();
    match line.map(str::trim).filter(|line| !line.is_empty()) {
        Some(line) => format!("{}, {line}", ended.describe()),
        None => format!("{}, without a word", ended.describe()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_both_languages_give_their_words() {
        assert_eq!(
            first_comment("/* Nested teams: one. Two. */\n"),
            "Nested teams: one"
        );
        assert_eq!(first_comment("! Loops\nmodule x"), "Loops");
        assert_eq!(first_comment(""), "");
    }

    #[test]
    fn the_error_is_quoted_and_not_the_noise_before_it() {
        let words = "/usr/bin/ld: a.o: in function `f':\na.c:(.text+0x1): undefined reference to `g'\nld: error: 1";
        assert!(complaint(words).ends_with("undefined reference to `g'"));
        assert_eq!(
            complaint("x.c: In function f\nx.c:1: error: no\nerror: 1"),
            "x.c:1: error: no"
        );
        assert!(complaint("x.c: undefined reference to `g'\nmore").contains("`g'"));
        assert_eq!(complaint(""), "it did not say why");
    }

    #[test]
    fn every_suite_builds_and_lists_its_rows() {
        let cache = tempfile::tempdir().unwrap();
        let compiler = Compiler::find("gcc", cache.path()).unwrap();
        for suite in SuiteName::ALL {
            let program = build(suite, &compiler, cache.path()).unwrap().unwrap();
            assert!(program.rows().count() > 0);
        }
    }
}
