//! The module for Python on what the command writes.

use crate::common::{cache, finish, run, two_regions};
use fathomp_requirements::PYTHON;
use libtest_mimic::Trial;
use std::path::Path;
use std::process::Command;

pub(crate) fn trials() -> Vec<Trial> {
    trials!["python", &[PYTHON] => the_module_reads_studies_and_recordings].into()
}

fn the_module_reads_studies_and_recordings() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    let line = "study --quiet --threads 1,2 --no-rehearsal --no-sharing --";
    run(directory.path(), &format!("{line} {}", program.display())).succeeded();
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/python/tests");
    let mut python = Command::new("python3");
    python
        .args(["-m", "unittest", "discover", "--start-directory"])
        .arg(tests)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("FATHOMP", env!("CARGO_BIN_EXE_fathomp"))
        .env("FATHOMP_STUDY", directory.path().join("study"))
        .env("XDG_CACHE_HOME", cache());
    finish(&mut python).succeeded();
}
