//! Studies that are made in parts: a quick one, or an interrupted one, and the rest.

use crate::common::{
    self, Ended, collect, compile, fathomp, finish, run, send, two_regions, until_ready,
};
use std::fs::{self, File};
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

/// The recordings that a study lists.
fn listed(directory: &Path) -> Vec<String> {
    let text = fs::read(directory.join("study/study.json")).unwrap();
    let index: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let names = index["recordings"].as_array().unwrap().iter();
    let names = names.map(|name| name.as_str().unwrap().replace("recordings/", ""));
    names.collect()
}

/// When the run of a recording began: another one would have begun later.
fn begun(directory: &Path, recording: &str) -> u64 {
    let meta = directory
        .join("study/recordings")
        .join(recording)
        .join("meta.json");
    let meta: serde_json::Value = serde_json::from_slice(&fs::read(meta).unwrap()).unwrap();
    meta["started_unix_ns"].as_u64().unwrap()
}

fn study(directory: &Path, options: &str, program: &str) -> Ended {
    let line = format!("study --no-sharing --no-rehearsal --threads 1,2 {options} -- {program}");
    run(directory, &line)
}

#[test]
fn a_quick_study_makes_one_run_and_is_completed_later() {
    let directory = tempfile::tempdir().unwrap();
    let (here, program) = (directory.path(), two_regions());
    let program = program.to_str().unwrap();
    let quick = study(here, "--quick", program);
    assert!(quick.succeeded().stderr.contains("--continue"), "{quick:?}");
    assert_eq!(listed(here), ["2-threads"]);
    assert!(
        fs::read_to_string(here.join("report.html"))
            .unwrap()
            .contains("after one run")
    );
    let first = begun(here, "2-threads");
    let rest = study(here, "--continue", program);
    assert!(
        !rest.succeeded().stderr.contains("after one run"),
        "{rest:?}"
    );
    assert_eq!(listed(here)[..2], ["1-threads", "2-threads"]);
    assert_eq!(begun(here, "2-threads"), first);
    assert!(begun(here, "1-threads") > first);
    assert!(
        !fs::read_to_string(here.join("report.html"))
            .unwrap()
            .contains("after one run")
    );
}

#[test]
fn an_interrupted_study_goes_on_with_the_runs_that_it_has() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let source = common::TWO_REGIONS
        .replace(
            "#include <stdio.h>",
            "#include <stdio.h>\n#include <omp.h>\n#include <unistd.h>",
        )
        .replace(
            "printf(\"sum %g\\n\", sum);",
            "puts(\"ready\"); fflush(stdout);
             if (omp_get_max_threads() == 2 && access(\"wait\", F_OK) == 0) {
                 fclose(fopen(\"waits.now\", \"w\"));
                 for (;;) usleep(1000);
             }",
        );
    compile(here, "waits", &source, &["-fopenmp"]);
    File::create(here.join("wait")).unwrap();
    let mut command = fathomp(here);
    command.args("study --no-sharing --no-rehearsal --threads 1,2 -- ./waits".split(' '));
    let child = until_ready(command.process_group(0));
    let begin = Instant::now();
    while !here.join("waits.now").is_file() {
        assert!(begin.elapsed() < Duration::from_secs(60));
        std::thread::sleep(Duration::from_millis(10));
    }
    send("INT", &format!("-{}", child.id()));
    assert_eq!(collect(child).in_words().code, Some(130));
    let first = begun(here, "1-threads");
    fs::remove_file(here.join("wait")).unwrap();
    study(here, "--continue", "./waits").succeeded();
    assert_eq!(begun(here, "1-threads"), first);
    assert_eq!(listed(here)[..2], ["1-threads", "2-threads"]);
}

#[test]
fn runs_that_are_made_later_read_what_the_first_one_did() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let source = r#"
#include <stdio.h>
int main(void)
{
    int read = 0;
    while (getchar() != EOF)
        read++;
#pragma omp parallel
    __asm__ volatile("");
    return read == 12 ? 0 : 9;
}
"#;
    compile(here, "reading", source, &["-fopenmp"]);
    let line = "study --no-sharing --no-rehearsal --threads 1,2 --quick -- ./reading";
    let mut child = fathomp(here)
        .args(line.split(' '))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"twelve bytes").unwrap();
    drop(input);
    collect(child).succeeded();
    study(here, "--continue", "./reading").succeeded();
    assert_eq!(listed(here)[..2], ["1-threads", "2-threads"]);
}

#[test]
fn what_would_be_another_run_now_is_made_again() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let program = compile(here, "program", common::TWO_REGIONS, &["-fopenmp"]);
    study(here, "--quick", "./program").succeeded();
    let first = begun(here, "2-threads");
    let line = "study --no-sharing --no-rehearsal --threads 2 --continue -- ./program";
    let mut elsewhere = fathomp(here);
    elsewhere
        .env("OMP_SCHEDULE", "dynamic,7")
        .args(line.split(' '));
    finish(&mut elsewhere).succeeded();
    let second = begun(here, "2-threads");
    assert!(second > first);
    // Built anew.
    fs::copy(&program, here.join("copy")).unwrap();
    fs::rename(here.join("copy"), &program).unwrap();
    elsewhere = fathomp(here);
    elsewhere
        .env("OMP_SCHEDULE", "dynamic,7")
        .args(line.split(' '));
    finish(&mut elsewhere).succeeded();
    assert!(begun(here, "2-threads") > second);
}

#[test]
fn what_cannot_be_continued_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let (here, program) = (directory.path(), two_regions());
    let program = program.to_str().unwrap();
    study(here, "--continue", program).refused(125, "holds no study to go on with");
    study(here, "--quick", program).succeeded();
    study(here, "--continue", &format!("{program} more")).refused(125, "give the same command");
    study(here, "--quick --repeat 3", program).refused(2, "--quick makes one run");
    let twice = study(here, "--continue --runtime fathomp,libgomp", program);
    twice.refused(2, "leave --ranks, --hosts and further runtimes out");
    assert_eq!(listed(here), ["2-threads"]);
}
