//! Nonsense in every option and file: one sentence, no panic.

use crate::common::{self, fathomp, finish, run, two_regions};
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const USAGE: i32 = 2;

#[test]
fn options_that_make_no_sense() {
    let directory = tempfile::tempdir().unwrap();
    let lines = [
        "",
        "no-such-command",
        "--no-such-option",
        "run",
        "run --",
        "run --threads 0 -- true",
        "run --threads -1 -- true",
        "run --threads two -- true",
        "run --threads 99999999999999999999 -- true",
        "run --threads 1,2 -- true",
        "run --nodes 2 --dsm somehow -- true",
        "run --nodes 2 --dsm homeless --dsm-memory 0 -- true",
        "record --max-size 0 -- true",
        "record --max-size x -- true",
        "record -o",
        "study --threads 0 -- true",
        "study --threads 1,,2 -- true",
        "study --threads 4-1 -- true",
        "study --threads 1-100000 -- true",
        "study --repeat 0 -- true",
        "study --repeat 101 -- true",
        "study --nodes 2 -- true",
        "calibrate --threads none",
        "calibrate --recalibrate=maybe",
        "regions",
        "regions a b",
        "predict",
        "predict r --at 0",
        "predict r --at 1,x",
        "predict r --at NaN",
        "predict r --cores 0",
        "report",
        "doctor extra",
        "bench nonsense",
        "bench epcc --threads 0",
    ];
    for line in lines {
        let ended = run(directory.path(), line);
        assert_eq!(ended.in_words().code, Some(USAGE), "{line}: {ended:?}");
        assert!(!ended.stderr.is_empty(), "{line}");
    }
    assert_eq!(
        fs::read_dir(directory.path()).unwrap().count(),
        0,
        "nothing was written"
    );
}

#[test]
fn names_that_are_not_text() {
    let directory = tempfile::tempdir().unwrap();
    let strange = std::ffi::OsStr::from_bytes(b"\xff\xfe");
    for command in ["regions", "predict", "report"] {
        finish(fathomp(directory.path()).arg(command).arg(strange)).refused(1, "");
    }
    finish(fathomp(directory.path()).args(["run", "--"]).arg(strange)).refused(127, "");
    let ended = finish(
        fathomp(directory.path())
            .args(["record", "-o"])
            .arg(strange)
            .arg("--")
            .arg(two_regions())
            .arg(strange),
    );
    ended.succeeded();
}

#[test]
fn recordings_that_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::create_dir(here.join("empty")).unwrap();
    fs::write(here.join("file"), "x").unwrap();
    for (name, content) in [
        ("a", ""),
        ("b", "{}"),
        ("c", "[]x"),
        ("d", "{\"format\": 999}"),
        ("e", "\0\0"),
    ] {
        fs::create_dir(here.join(name)).unwrap();
        fs::write(here.join(name).join("meta.json"), content).unwrap();
    }
    for input in [
        "missing",
        "empty",
        "file",
        "a",
        "c",
        "d",
        "e",
        "/dev/null",
        "/proc",
    ] {
        for command in ["regions", "predict", "report"] {
            let ended = run(here, &format!("{command} {input}"));
            ended.refused(1, "");
        }
    }
    assert!(!here.join("report.html").exists());
}

#[test]
fn a_recording_cut_short_is_read_as_far_as_it_goes() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    run(
        here,
        &format!("record --threads 2 -- {}", two_regions().display()),
    )
    .succeeded();
    let stream = only_file(&here.join("recording/processes"));
    let whole = fs::read(&stream).unwrap();
    for part in [
        0,
        1,
        15,
        16,
        17,
        whole.len() / 3,
        whole.len() / 2,
        whole.len() - 1,
    ] {
        fs::write(&stream, &whole[..part]).unwrap();
        let ended = run(here, "regions recording");
        assert!(
            matches!(ended.in_words().code, Some(0 | 1)),
            "{part}: {ended:?}"
        );
    }
    let mut damaged = whole.clone();
    for at in (0..damaged.len()).step_by(37) {
        damaged[at] ^= 0x55;
    }
    fs::write(&stream, &damaged).unwrap();
    run(here, "regions recording").in_words();
    run(here, "predict recording").in_words();
    run(here, "report recording --force").in_words();
}

fn only_file(directory: &Path) -> std::path::PathBuf {
    let mut entries = fs::read_dir(directory).unwrap();
    entries.next().unwrap().unwrap().path()
}

#[test]
fn machine_descriptions_that_are_none() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    run(here, &format!("record -- {}", two_regions().display())).succeeded();
    run(here, "predict recording --machine missing.json").refused(1, "fathomp calibrate");
    for content in [
        "",
        "{}",
        "[]",
        "{\"schema\":\"other\"}",
        "{\"schema\":\"fathomp.machine\",\"version\":7,\"cores\":1}",
    ] {
        fs::write(here.join("m.json"), content).unwrap();
        run(here, "predict recording --machine m.json").refused(1, "fathomp calibrate");
    }
}

#[test]
fn recordings_of_different_programs_are_not_mixed() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    run(here, &format!("record -o a -- {}", two_regions().display())).succeeded();
    common::compile(
        here,
        "other",
        "int main(void) {\n#pragma omp parallel\n__asm__ volatile(\"\"); }",
        &["-fopenmp"],
    );
    run(here, "record -o b -- ./other").succeeded();
    run(here, "predict a b").refused(1, "different programs");
}

#[test]
fn calibration_can_be_kept() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let first = run(here, "calibrate --threads 1,2 -o machine.json");
    first.succeeded();
    let kept: serde_json::Value =
        serde_json::from_slice(&fs::read(here.join("machine.json")).unwrap()).unwrap();
    // What other programs have disturbed is measured again.
    if first.stderr.contains("warning") {
        assert!(first.stderr.contains("Other programs"), "{first:?}");
    } else {
        let again = run(here, "--json calibrate --threads 1,2");
        assert_eq!(again.succeeded().json(), kept);
    }
    assert_eq!(kept["schema"], "fathomp.machine");
    assert_eq!(kept["constructs"].as_array().unwrap().len(), 2);
    run(here, "calibrate -o machine.json").refused(1, "--force");
    run(here, "calibrate -o /proc/machine.json").refused(1, "/proc");
}

#[test]
fn the_doctor_speaks() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(directory.path(), "doctor");
    assert!(ended.succeeded().text().contains("main job"), "{ended:?}");
    let json = run(directory.path(), "--json doctor").json();
    assert_eq!(json["schema"], "fathomp.doctor");
    assert_eq!(json["ready"], true);
}

#[test]
fn help_and_version_succeed_everywhere() {
    let directory = tempfile::tempdir().unwrap();
    run(directory.path(), "--version").succeeded();
    for command in [
        "",
        "doctor",
        "study",
        "run",
        "record",
        "calibrate",
        "regions",
        "predict",
        "report",
    ] {
        let ended = run(directory.path(), &format!("{command} --help"));
        assert!(ended.succeeded().text().contains("Example:"), "{command}");
    }
}

#[test]
fn an_unusable_cache_is_explained() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = fathomp(directory.path());
    command
        .args(["run", "--", "true"])
        .env("XDG_CACHE_HOME", "/proc/nowhere")
        .env("HOME", "/proc/nowhere")
        .env("TMPDIR", "/proc/nowhere");
    finish(&mut command).refused(125, "XDG_CACHE_HOME");
    let mut command = fathomp(directory.path());
    command
        .args(["run", "--", "true"])
        .env("XDG_CACHE_HOME", "relative")
        .env_remove("HOME");
    finish(&mut command).succeeded();
}
