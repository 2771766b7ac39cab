//! Where runtimes lie that a program was not linked with.

use super::error::WatchError;
use crate::args::Family;
use fathomp_launch::of_this_process;
use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The library of a runtime.
///
/// # Errors
/// A sentence if there is none where they usually are.
pub(super) fn library(family: Family) -> Result<PathBuf, WatchError> {
    let (files, installed): (&[&str], Option<PathBuf>) = match family {
        Family::Libgomp => (&["libgomp.so.1"], None),
        Family::Libomp => (
            &["libomp.so.5", "libomp.so"],
            fathomp_bench::runtime::find_libomp(),
        ),
        Family::Libiomp5 => (&["libiomp5.so"], None),
    };
    let in_directories = directories()
        .into_iter()
        .flat_map(|directory| files.iter().map(move |file| directory.join(file)))
        .find_map(|path| path.canonicalize().ok());
    in_directories
        .or(installed)
        .or_else(|| known_to_loader(files))
        .ok_or_else(|| missing(family))
}

fn missing(family: Family) -> WatchError {
    let (places, package, file) = match family {
        Family::Libgomp => ("by the loader", " (libgomp1)", "libgomp.so.1"),
        Family::Libomp => (
            "in LD_LIBRARY_PATH, in /usr/lib/llvm-* and by the loader",
            " (libomp-dev)",
            "libomp.so.5",
        ),
        Family::Libiomp5 => (
            "in LD_LIBRARY_PATH, beside python3 and by the loader",
            " (pip install intel-openmp)",
            "libiomp5.so",
        ),
    };
    WatchError::Missing {
        runtime: family.name(),
        places,
        package,
        file,
    }
}

/// Directories that come before those of the system: the user's, and where packages of Python
/// put libraries.
fn directories() -> Vec<PathBuf> {
    let list = |name: &str| of_this_process(name).unwrap_or_default();
    let mut found: Vec<PathBuf> = env::split_paths(&list("LD_LIBRARY_PATH"))
        .filter(|path| path.is_absolute())
        .collect();
    let prefixes = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(|name| PathBuf::from(list(name)));
    let user = PathBuf::from(list("HOME")).join(".local");
    let commands = list("PATH");
    let beside = env::split_paths(&commands)
        .filter(|directory| directory.join("python3").exists())
        .filter_map(|directory| directory.parent().map(Path::to_owned));
    let prefixes = prefixes.into_iter().chain(beside).chain([user]);
    found.extend(
        prefixes
            .filter(|prefix| prefix.is_absolute())
            .map(|prefix| prefix.join("lib")),
    );
    found
}

/// What the loader's cache has under one of these names.
fn known_to_loader(files: &[&str]) -> Option<PathBuf> {
    let listed = ["ldconfig", "/sbin/ldconfig"]
        .into_iter()
        .find_map(|ldconfig| {
            let mut command = Command::new(ldconfig);
            command.arg("-p").stdin(Stdio::null()).stderr(Stdio::null());
            command
                .output()
                .ok()
                .filter(|output| output.status.success())
        })?;
    in_cache(&String::from_utf8_lossy(&listed.stdout), files)
}

/// `libomp.so.5 (libc6,x86-64) => /usr/lib/x86_64-linux-gnu/libomp.so.5`
fn in_cache(listed: &str, files: &[&str]) -> Option<PathBuf> {
    let path = |line: &str, file: &str| {
        let rest = line.trim().strip_prefix(file)?.strip_prefix(' ')?;
        let (kind, path) = rest.split_once(" => ")?;
        kind.contains("x86-64").then(|| PathBuf::from(path))
    };
    let mut found = files
        .iter()
        .flat_map(|file| listed.lines().filter_map(move |line| path(line, file)));
    found.next()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loaders_cache_is_understood() {
        let listed = "3 libs found in cache `/etc/ld.so.cache'\n\
            \tlibomp.so.5 (libc6) => /lib32/libomp.so.5\n\
            \tlibomp.so.5 (libc6,x86-64) => /lib/libomp.so.5\n\
            \tlibomp.so (libc6,x86-64) => /lib/libomp.so\n";
        let found = |files: &[&str]| in_cache(listed, files);
        assert_eq!(found(&["libomp.so.5"]), Some("/lib/libomp.so.5".into()));
        assert_eq!(found(&["libiomp5.so"]), None);
    }

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        for family in Family::ALL {
            let said = missing(family).to_string();
            assert!(said.contains("install it ("), "{said}");
            assert!(
                said.contains(&format!("--runtime {}=/path/", family.name())),
                "{said}"
            );
        }
    }
}
