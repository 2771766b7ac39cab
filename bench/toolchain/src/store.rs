//! Programs in the cache: built once, used by everybody, never half there.
//!
//! A program lies in `<cache>/programs/<key>/<name>` with its sources beside
//! it in `src`, where debuggers find them. The key covers the compiler, the
//! options and every byte of the sources, so nothing there is ever stale; the
//! whole folder may be deleted at any time.

use crate::compiler::Compiler;
use crate::recipe::Recipe;
use fathomp_process::{self as process, Limits, RunError};
use nix::unistd::{AccessFlags, access};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

const LIMITS: Limits = Limits {
    time: Duration::from_secs(300),
    bytes: 256 << 10,
};

/// A program that can be started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Built {
    /// The program.
    pub path: PathBuf,
    /// It has been built just now, not found in the cache.
    pub fresh: bool,
}

/// There is no program.
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// The cache cannot be used.
    #[error("cannot build in {}: {source}: free some space, or set XDG_CACHE_HOME to a directory that you can write to", directory.display())]
    Cache {
        /// Where.
        directory: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The compiler did not do its work.
    #[error("{compiler} gave up on {program}: {source}")]
    Compiler {
        /// As the user called it.
        compiler: String,
        /// What it was to build.
        program: String,
        /// What happened.
        source: RunError,
    },
    /// The compiler found fault with the sources or the options.
    #[error("{compiler} cannot build {program}: {}", first_error(.words))]
    Refused {
        /// As the user called it.
        compiler: String,
        /// What it was to build.
        program: String,
        /// All it said.
        words: String,
    },
}

/// The line that matters in what a compiler said.
pub(crate) fn first_error(words: &str) -> &str {
    words
        .lines()
        .find(|line| line.contains("error:"))
        .or_else(|| words.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or("it did not say why")
        .trim()
}

/// Builds the program, or finds it in the cache. Several processes may do
/// this at the same time.
///
/// # Errors
/// See [`BuildError`].
pub fn build(compiler: &Compiler, recipe: &Recipe<'_>, cache: &Path) -> Result<Built, BuildError> {
    let programs = cache.join("programs");
    let home = programs.join(recipe.key(compiler));
    let path = home.join(&recipe.name);
    if is_program(&path) {
        return Ok(Built { path, fresh: false });
    }
    let unusable = |source| BuildError::Cache {
        directory: programs.clone(),
        source,
    };
    // Beside its final place, because only within a file system can it be put
    // there as a whole.
    fs::create_dir_all(&programs).map_err(unusable)?;
    let draft = tempfile::Builder::new()
        .prefix("new-")
        .tempdir_in(&programs)
        .map_err(unusable)?;
    let sources = draft.path().join("src");
    write_files(recipe, &sources).map_err(unusable)?;
    compile(compiler, recipe, draft.path(), &home)?;
    let draft = draft.keep();
    settle(&draft, &home, &path)
        .inspect_err(|_| {
            // The error that matters is the one being returned.
            let _ = fs::remove_dir_all(&draft);
        })
        .map_err(unusable)?;
    Ok(Built { path, fresh: true })
}

fn write_files(recipe: &Recipe<'_>, directory: &Path) -> io::Result<()> {
    for file in &recipe.files {
        let path = directory.join(file.path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        fs::write(&path, file.text)?;
    }
    Ok(())
}

fn compile(
    compiler: &Compiler,
    recipe: &Recipe<'_>,
    draft: &Path,
    home: &Path,
) -> Result<(), BuildError> {
    let output = draft.join(&recipe.name);
    // Debuggers are to look where the sources will be.
    let real = fs::canonicalize(draft).unwrap_or_else(|_| draft.to_owned());
    let moved = format!("-fdebug-prefix-map={}={}", real.display(), home.display());
    let mut command = Command::new(compiler.path());
    command
        .current_dir(draft.join("src"))
        .arg(moved)
        .args(recipe.arguments())
        .arg("-o")
        .arg(&output);
    let finished = process::run(&mut command, LIMITS).map_err(|source| BuildError::Compiler {
        compiler: compiler.name().to_owned(),
        program: recipe.name.clone(),
        source,
    })?;
    if finished.status.success() && is_program(&output) {
        return Ok(());
    }
    let words = if finished.stderr.trim().is_empty() {
        format!("it ended with {} and made no program", finished.describe())
    } else {
        finished.stderr
    };
    Err(BuildError::Refused {
        compiler: compiler.name().to_owned(),
        program: recipe.name.clone(),
        words,
    })
}

/// Gives a finished draft its name.
fn settle(draft: &Path, home: &Path, program: &Path) -> io::Result<()> {
    let Err(error) = fs::rename(draft, home) else {
        return Ok(());
    };
    if is_program(program) {
        // Another process was first; its program is the same.
        return fs::remove_dir_all(draft);
    }
    if !home.exists() {
        return Err(error);
    }
    // A folder that has lost its program.
    fs::remove_dir_all(home)?;
    fs::rename(draft, home)
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
        && access(path, AccessFlags::X_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::File;
    use std::thread;

    fn gcc() -> Compiler {
        Compiler::find("gcc").unwrap()
    }

    fn recipe(text: &str) -> Recipe<'_> {
        Recipe {
            name: "answer".to_owned(),
            files: vec![
                File {
                    path: "one/main.c",
                    text,
                },
                File {
                    path: "two/answer.h",
                    text: "enum { ANSWER = 42 };\n",
                },
            ],
            includes: vec!["two".to_owned()],
            flags: vec!["-g".to_owned()],
            libraries: vec!["-lm".to_owned()],
        }
    }

    const ANSWER: &str = "#include \"answer.h\"\nint main(void) { return ANSWER; }\n";

    #[test]
    fn the_second_time_it_is_there() {
        let cache = tempfile::tempdir().unwrap();
        let first = build(&gcc(), &recipe(ANSWER), cache.path()).unwrap();
        assert!(first.fresh);
        let status = Command::new(&first.path).status().unwrap();
        assert_eq!(status.code(), Some(42));
        let second = build(&gcc(), &recipe(ANSWER), cache.path()).unwrap();
        assert!(!second.fresh);
        assert_eq!(first.path, second.path);
        assert!(first.path.with_file_name("src/one/main.c").exists());
    }

    #[test]
    fn other_sources_and_options_are_other_programs() {
        let cache = tempfile::tempdir().unwrap();
        let first = build(&gcc(), &recipe(ANSWER), cache.path()).unwrap();
        let changed = ANSWER.replace("ANSWER;", "ANSWER + 1;");
        let second = build(&gcc(), &recipe(&changed), cache.path()).unwrap();
        let mut optimised = recipe(ANSWER);
        optimised.flags.push("-O2".to_owned());
        let third = build(&gcc(), &optimised, cache.path()).unwrap();
        assert!(second.fresh && third.fresh);
        assert_ne!(first.path, second.path);
        assert_ne!(first.path, third.path);
    }

    #[test]
    fn a_lost_program_is_built_again() {
        let cache = tempfile::tempdir().unwrap();
        let first = build(&gcc(), &recipe(ANSWER), cache.path()).unwrap();
        fs::remove_file(&first.path).unwrap();
        let second = build(&gcc(), &recipe(ANSWER), cache.path()).unwrap();
        assert!(second.fresh && second.path.exists());
    }

    #[test]
    fn many_at_once_leave_one_program_and_no_drafts() {
        let cache = tempfile::tempdir().unwrap();
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| build(&gcc(), &recipe(ANSWER), cache.path()).unwrap());
            }
        });
        let left = fs::read_dir(cache.path().join("programs")).unwrap().count();
        assert_eq!(left, 1);
    }

    #[test]
    fn the_compiler_is_quoted() {
        let cache = tempfile::tempdir().unwrap();
        let error = build(
            &gcc(),
            &recipe("int main(void) { return x; }"),
            cache.path(),
        );
        let sentence = error.unwrap_err().to_string();
        assert!(sentence.starts_with("gcc cannot build answer: one/main.c:1"));
        assert!(sentence.contains("undeclared"), "{sentence}");
        let left = fs::read_dir(cache.path().join("programs")).unwrap().count();
        assert_eq!(left, 0);
    }

    #[test]
    fn a_cache_that_is_a_file_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("file");
        fs::write(&file, "").unwrap();
        let error = build(&gcc(), &recipe(ANSWER), &file).unwrap_err();
        assert!(error.to_string().contains("XDG_CACHE_HOME"), "{error}");
    }
}
