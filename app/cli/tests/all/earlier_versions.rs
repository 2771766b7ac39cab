//! What earlier versions of fathomp wrote is read, and what later ones write is refused by name.
//!
//! `tests/formats/VERSION` holds what that version made of the program `two.c` there.

use crate::common::{Ended, fathomp, finish, run};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Versions whose files are kept.
const VERSIONS: &[&str] = &["0.1"];

/// A copy of a version's files, for commands that may write beside them.
fn files_of(version: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/formats");
    copy(&kept.join(version).join("."), directory.path());
    directory
}

/// Copies a folder with all that is in it.
fn copy(from: &Path, to: &Path) {
    let status = Command::new("cp").arg("-r").args([from, to]).status();
    assert!(status.unwrap().success());
}

fn says(here: &Path, line: &str, words: &[&str]) {
    let ended: Ended = run(here, line);
    let text = ended.succeeded().text() + &ended.stderr;
    for word in words {
        assert!(text.contains(word), "{line}: {word}: {ended:?}");
    }
}

#[test]
fn what_earlier_versions_wrote_is_read() {
    for version in VERSIONS {
        let directory = files_of(version);
        let here = directory.path();
        let regions = ["with 2 threads", "two.c:6", "two.c:9"];
        says(here, "regions study/recordings/2-threads", &regions);
        says(here, "report study -o report.html", &["report.html"]);
        assert!(
            fs::read_to_string(here.join("report.html"))
                .unwrap()
                .contains("two.c:9")
        );
        says(
            here,
            "predict study --machine study/machine.json",
            &["with 2"],
        );
        says(
            here,
            "advise study/recordings/1-threads study/recordings/2-threads",
            &["two.c:6"],
        );
        copy(&here.join("study"), &here.join("again"));
        says(here, "compare study again", &["again", "single runs"]);
        fs::copy(here.join("bench.json"), here.join("again.json")).unwrap();
        says(here, "compare bench.json again.json", &["BARRIER"]);
        if cfg!(feature = "paging") {
            says(here, "skyline paging", &["two[", "page faults"]);
        }
        if cfg!(feature = "cluster") {
            says(
                here,
                "simulate accesses --net 10,800",
                &["recorded with 2 threads"],
            );
        }
    }
}

#[test]
fn what_later_versions_wrote_is_refused_by_name() {
    let directory = files_of("0.1");
    let here = directory.path();
    for (file, now, later) in [
        (
            "study/recordings/2-threads/meta.json",
            "\"format\": 1",
            "\"format\": 99",
        ),
        ("study/study.json", "\"version\": 1", "\"version\": 99"),
    ] {
        let text = fs::read_to_string(here.join(file)).unwrap();
        assert!(text.contains(now), "{file}");
        fs::write(here.join(file), text.replacen(now, later, 1)).unwrap();
    }
    let refused = |arguments: &[&str], words| {
        finish(fathomp(here).args(arguments)).refused(1, words);
    };
    refused(&["regions", "study/recordings/2-threads"], "has format 99");
    refused(
        &["report", "study", "-o", "x.html"],
        "fathomp.study in version 99",
    );
}
