//! What is installed: our own library, compilers, other OpenMP runtimes.

use super::{Check, Status};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub(super) fn checks() -> Vec<Check> {
    let mut checks = vec![runtime()];
    let compilers = [
        ("gcc", "apt-get install gcc"),
        ("g++", "apt-get install g++"),
        ("gfortran", "apt-get install gfortran"),
        ("clang", "apt-get install clang"),
    ];
    for (name, mend) in compilers {
        checks.push(compiler(name, mend));
    }
    checks.push(library(
        "libgomp",
        "libgomp.so.1",
        "apt-get install libgomp1",
    ));
    checks.push(library("libomp", "libomp.so.5", "apt-get install libomp5"));
    checks
}

/// Unpacks the library and starts a program on it.
fn runtime() -> Check {
    let unpacked = match fathomp_runtime::unpack() {
        Ok(unpacked) => unpacked,
        Err(error) => {
            return Check::good("runtime", error.to_string()).but(
                Status::Broken,
                "no program can be run on it",
                Some("export XDG_CACHE_HOME=/a/directory/you/can/write/to"),
            );
        }
    };
    // The probe without arguments loads the library, explains itself and ends.
    let status = Command::new(&unpacked.probe)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    const EXPLAINED_ITSELF: i32 = 2;
    match status.map(|status| status.code()) {
        Ok(Some(EXPLAINED_ITSELF)) => {
            Check::good("runtime", unpacked.library.display().to_string())
        }
        _ => Check::good("runtime", unpacked.library.display().to_string()).but(
            Status::Broken,
            "programs cannot be started with it",
            Some("rm -r the directory it is in, and try again"),
        ),
    }
}

fn compiler(name: &'static str, mend: &str) -> Check {
    let answer = Command::new(name)
        .arg("--version")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output();
    match answer {
        Ok(answer) if answer.status.success() => {
            let text = String::from_utf8_lossy(&answer.stdout);
            Check::good(name, text.lines().next().unwrap_or("found").trim())
        }
        _ => Check::good(name, "not found").but(
            Status::Missing,
            "needed only to build programs, not to study them",
            Some(mend),
        ),
    }
}

fn library(name: &'static str, file: &str, mend: &str) -> Check {
    match find(file) {
        Some(path) => Check::good(name, path.display().to_string()),
        None => Check::good(name, "not found").but(
            Status::Missing,
            "needed only to compare with; fathomp brings its own runtime",
            Some(mend),
        ),
    }
}

/// Where distributions keep libraries.
fn find(file: &str) -> Option<PathBuf> {
    let multiarch = format!("/usr/lib/{}-linux-gnu", std::env::consts::ARCH);
    let mut directories = vec![
        PathBuf::from(multiarch),
        PathBuf::from("/usr/lib64"),
        PathBuf::from("/usr/lib"),
        PathBuf::from("/usr/local/lib"),
    ];
    if let Ok(entries) = fs::read_dir("/usr/lib") {
        let mut llvm: Vec<_> = entries
            .flatten()
            .map(|entry| entry.path().join("lib"))
            .filter(|path| path.parent().is_some_and(is_llvm))
            .collect();
        llvm.sort();
        directories.extend(llvm);
    }
    directories
        .into_iter()
        .map(|d| d.join(file))
        .find(|path| path.exists())
}

fn is_llvm(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("llvm-"))
}
