//! Several programs on one machine.

use crate::common::{alive, collect, compile, fathomp, finish, run, send, until, wait};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

const USAGE: i32 = 2;
const STRATEGIES: [&str; 4] = ["hints", "plain", "gang", "halves"];

/// Sums in parallel for so many rounds; prints the sum and the largest team it saw.
const SUMS: &str = "\
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
int main(int count, char **words) {
    int rounds = atoi(words[1]), most = 0;
    long all = 0;
    for (int round = 0; round < rounds; round++) {
        long sum = 0;
        #pragma omp parallel reduction(+:sum) reduction(max:most)
        {
            most = omp_get_num_threads();
            #pragma omp for
            for (int i = 0; i < 100000; i++)
                sum += i ^ round;
        }
        all += sum;
    }
    printf(\"%ld\\n\", all);
    fprintf(stderr, \"%d\\n\", most);
    return count > 2 ? atoi(words[2]) : 0;
}";

fn sums(directory: &Path) -> PathBuf {
    compile(directory, "sums", SUMS, &["-fopenmp", "-O1"])
}

fn output(directory: &Path, name: &str) -> String {
    fs::read_to_string(directory.join("share").join(name)).unwrap()
}

#[test]
fn what_makes_no_sense_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    run(path, "share -- true").refused(USAGE, "there is only one program to share the machine");
    run(path, "share -- true -- -- true").refused(USAGE, "there is no program between two --");
    run(path, "share -- true --").refused(USAGE, "there is no program");
    let many = "share".to_owned() + &" -- true".repeat(17);
    run(path, &many).refused(USAGE, "17 programs are too many");
    run(path, "share -- true -- ./missing").refused(127, "no such file");
    std::fs::write(path.join("cut.json"), "{\"schema\": \"fathomp.adv").unwrap();
    run(path, "share --advice cut.json -- true -- true").refused(1, "cut.json: this is no advice");
    run(path, "share --advice none.json -- true -- true").refused(1, "cannot read the advice");
    run(
        path,
        "share --advice cut.json --strategy gang -- true -- true",
    )
    .refused(USAGE, "leave --advice out");
    assert_eq!(
        run(path, "share --nodes 2 -- true -- true").code,
        Some(USAGE)
    );
    assert_eq!(run(path, "share").code, Some(USAGE));
    let mut command = fathomp(path);
    command
        .env("FATHOMP_NODES", "2")
        .args(["share", "--", "true", "--", "true"]);
    finish(&mut command).refused(USAGE, "FATHOMP_NODES");
    assert!(!path.join("share").exists());
}

#[test]
fn every_strategy_leaves_results_as_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let program = sums(path);
    let alone = run(path, &format!("run -- {} 300", program.display())).text();
    for strategy in STRATEGIES {
        let slice = if strategy == "gang" {
            "--time-slice 5 "
        } else {
            ""
        };
        let line = format!(
            "share --force {slice}--strategy {strategy} --threads 3 -o {strategy}.html -- {0} 300 -- {0} 300 -- true",
            program.display()
        );
        let ended = run(path, &line);
        ended.succeeded();
        assert!(ended.text().contains("together: "), "{ended:?}");
        assert_eq!(output(path, "1-sums.out"), alone, "{strategy}");
        assert_eq!(output(path, "2-sums.out"), alone, "{strategy}");
        let page = fs::read_to_string(path.join(format!("{strategy}.html"))).unwrap();
        assert!(
            page.contains("1-sums") && page.contains("3-true"),
            "{strategy}"
        );
        let data = page.split("id=\"data\"").nth(1).unwrap();
        // With a part of one core each, no region has a team.
        let seen = data.contains("(sums)") || data.contains("main");
        assert!(seen || strategy == "halves", "{strategy}");
        let divided = data.contains("\"segments\"");
        assert_eq!(divided, strategy == "hints", "{strategy}");
    }
}

#[test]
fn earlier_outputs_are_kept_unless_told_otherwise() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    run(path, "share -- true -- true").succeeded();
    let again = run(path, "share -- true -- true");
    assert_eq!(again.in_words().code, Some(1), "{again:?}");
    assert!(again.stderr.contains("use --force"), "{again:?}");
    run(path, "share --force -- true -- true").succeeded();
}

#[test]
fn one_that_fails_or_dies_does_not_take_the_others_down() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let program = sums(path);
    let alone = run(path, &format!("run -- {} 200", program.display())).text();
    for (other, code) in [
        ("exit 7", 7),
        ("kill -KILL $$", 137),
        ("kill -SEGV $$", 139),
    ] {
        for strategy in STRATEGIES {
            let mut command = fathomp(path);
            command.args([
                "share",
                "--force",
                "--strategy",
                strategy,
                "--",
                "sh",
                "-c",
                other,
                "--",
            ]);
            let ended = finish(command.arg(&program).arg("200"));
            assert_eq!(ended.in_words().code, Some(code), "{strategy}: {ended:?}");
            assert!(ended.stderr.contains("1-sh ended with"), "{ended:?}");
            assert_eq!(output(path, "2-sums.out"), alone);
        }
    }
}

#[test]
fn one_that_stops_for_ever_costs_nothing_but_the_gain() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let program = sums(path);
    let mut command = fathomp(path);
    command
        .args([
            "share",
            "--",
            "sh",
            "-c",
            "echo $$ > pid; kill -STOP $$; exit 4",
            "--",
        ])
        .arg(&program)
        .arg("300")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let child = command.spawn().unwrap();
    let done = path.join("share/2-sums.err");
    until("the other one has ended", || {
        fs::read(&done).is_ok_and(|text| !text.is_empty())
    });
    let pid = fs::read_to_string(path.join("pid")).unwrap();
    send("CONT", pid.trim());
    assert_eq!(collect(child).code, Some(4));
}

#[test]
fn teams_shrink_only_where_the_program_leaves_it_open() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let source = "\
#include <omp.h>
#include <stdio.h>
int main(void) {
    int clause = 99, call = 99;
    for (int round = 0; round < 2000; round++) {
        #pragma omp parallel num_threads(3) reduction(min:clause)
        clause = omp_get_num_threads();
    }
    omp_set_dynamic(0);
    omp_set_num_threads(4);
    for (int round = 0; round < 2000; round++) {
        #pragma omp parallel reduction(min:call)
        call = omp_get_num_threads();
    }
    printf(\"%d %d\\n\", clause, call);
    return 0;
}";
    let fixed = compile(path, "fixed", source, &["-fopenmp"]);
    let program = sums(path);
    let line = format!("share -- {} -- {} 500", fixed.display(), program.display());
    run(path, &line).succeeded();
    assert_eq!(output(path, "1-fixed.out"), "3 4\n");
    let line = format!(
        "share --force --keep-teams --threads 5 -- {0} 200 -- {0} 200",
        program.display()
    );
    run(path, &line).succeeded();
    assert_eq!(output(path, "1-sums.err"), "5\n");
}

#[test]
fn mixed_outputs_say_whose_they_are() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let ended = run(path, "share --mix -- echo one -- sh -c pwd>&2;echo");
    let mut lines: Vec<_> = ended
        .succeeded()
        .text()
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    assert_eq!(
        lines[0],
        "1-echo: ".to_owned() + lines[0].trim_start_matches("1-echo: ")
    );
    assert!(lines.iter().any(|line| line == "[1] one"), "{ended:?}");
    assert!(lines.iter().any(|line| line == "[2] "), "{ended:?}");
    assert!(ended.stderr.contains("[2] /"), "{ended:?}");
    assert!(!path.join("share").exists());
}

#[test]
fn a_stop_reaches_all_of_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let program = sums(path);
    for strategy in STRATEGIES {
        let mut command = fathomp(path);
        command
            .args(["share", "--force", "--strategy", strategy])
            .args(match strategy {
                "gang" => &["--time-slice", "10000", "--"][..],
                _ => &["--"],
            })
            .arg(&program)
            .args(["100000000", "--"])
            .arg(&program)
            .arg("100000000")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        until("both run", || alive(&program) == 2);
        send("INT", &child.id().to_string());
        let status = wait(&mut child);
        assert_eq!(status.code(), Some(130), "{strategy}");
        until("none is left", || alive(&program) == 0);
    }
}

#[test]
fn a_comparison_has_every_strategy_with_intervals() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let program = sums(path);
    let line = format!(
        "share --json --compare --repeat 2 -- {0} 20 -- {0} 30",
        program.display()
    );
    let answer = run(path, &line).json();
    assert_eq!(answer["schema"], "fathomp.share.compare");
    let strategies = answer["strategies"].as_array().unwrap();
    let names: Vec<_> = strategies
        .iter()
        .map(|one| one["strategy"].as_str().unwrap())
        .collect();
    assert_eq!(names, STRATEGIES);
    for one in strategies {
        let value = one["over_plain"]["value"].as_f64().unwrap();
        let low = one["over_plain"]["interval"]["low"].as_f64().unwrap();
        assert!(value > 0.0 && low > 0.0 && low <= value, "{one}");
    }
    assert_eq!(answer["samples"].as_array().unwrap().len(), 12);
    let line = format!(
        "share --compare --repeat 1 -- {0} 20 -- {0} 30 5",
        program.display()
    );
    run(path, &line).in_words();
    assert_eq!(run(path, &line).code, Some(1));
}

#[test]
fn a_board_that_is_none_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    let program = sums(path);
    let line = format!("run --threads 2 -- {} 50", program.display());
    let alone = run(path, &line).text();
    fs::write(path.join("garbage"), vec![0xa5; 70_000]).unwrap();
    fs::write(path.join("empty"), "").unwrap();
    let garbage = format!("0:{}", path.join("garbage").display());
    let empty = format!("0:{}", path.join("empty").display());
    for value in [
        "",
        ":",
        "0",
        "0:",
        "x:/dev/null",
        "0:/dev/null",
        "99999999999999999999:/",
        &garbage,
        &empty,
        "watch:0:/nowhere",
    ] {
        let mut command = fathomp(path);
        let ended = finish(command.env("FATHOMP_SHARE", value).args(line.split(' ')));
        assert_eq!(ended.succeeded().text(), alone, "{value}");
    }
}
