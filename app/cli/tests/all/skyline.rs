//! `fathomp skyline`, and reports, of recordings made with `--paging`.

use crate::common::{Ended, compile, fathomp, finish, run, two_regions};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Records a command line of the shell, with a file that is written in four bursts.
fn record(directory: &Path) {
    let mut command = fathomp(directory);
    command.args(["record", "--paging", "-o", "recording", "--", "sh", "-c"]);
    let burst = "dd if=/dev/zero of=file bs=4096 count=500 2>/dev/null";
    command.arg(format!("for i in 1 2 3 4; do {burst}; sleep 0.02; done"));
    finish(&mut command).succeeded();
}

fn skyline(directory: &Path, options: &str) -> Ended {
    run(directory, &format!("skyline recording {options}"))
}

#[test]
fn the_text_names_tasks_and_draws_in_plain_letters_where_there_are_no_others() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path());
    let ended = skyline(directory.path(), "");
    let text = ended.succeeded().text();
    assert!(text.contains("9 tasks of 9 processes"), "{text}");
    assert!(text.contains("I/O calls seen:"), "{text}");
    let draw = |locale: &str| {
        let mut command = fathomp(directory.path());
        command.args(["skyline", "recording", "--counter", "bytes_written"]);
        command.env("LC_ALL", locale).env_remove("TERM");
        finish(&mut command).succeeded().text()
    };
    let is_block = |letter: char| ('\u{2581}'..='\u{2588}').contains(&letter);
    let blocks = draw("C.UTF-8");
    assert!(blocks.contains(is_block), "{blocks}");
    let plain = draw("C");
    assert!(plain.contains('#') && !plain.contains(is_block), "{plain}");
}

#[test]
fn json_tells_what_was_counted() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path());
    let ended = skyline(directory.path(), "--json");
    let json = ended.succeeded().json();
    assert_eq!(json["schema"], "fathomp.skyline");
    assert_eq!(json["version"], 1);
    assert_eq!(json["recording"], "recording");
    let counters = json["counters"].as_array().unwrap();
    let written = counters
        .iter()
        .find(|counter| counter["counter"] == "bytes_written");
    let total = written.unwrap()["total"].as_u64().unwrap();
    assert!(total >= 4 * 500 * 4_096, "{total}");
    let bins = written.unwrap()["profiles"][0]["bins"].as_array().unwrap();
    let sum: u64 = bins.iter().filter_map(|bin| bin.as_u64()).sum();
    assert_eq!(sum, total);
    // One answer, one name.
    let text = ended.text();
    assert_eq!(text.matches("\"schema\"").count(), 1, "{text}");
}

#[test]
fn options_choose_counters_states_windows_and_tasks() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path());
    let json = |options: &str| {
        let ended = skyline(directory.path(), &format!("{options} --json"));
        ended.succeeded().json()
    };
    let one = json("--counter io_calls,bytes_written --state io --bins 100 --peaks 3");
    let counters = one["counters"].as_array().unwrap();
    let names: Vec<_> = counters.iter().map(|one| one["counter"].clone()).collect();
    assert_eq!(names, ["bytes_written", "io_calls"]);
    for counter in counters {
        let profiles = counter["profiles"].as_array().unwrap();
        assert_eq!(profiles.len(), 1);
        assert!(profiles[0]["bins"].as_array().unwrap().len() <= 100);
        assert!(profiles[0]["skyline"]["peaks"].as_array().unwrap().len() <= 3);
    }
    let part = json("--window 20ms..40ms");
    assert_eq!(part["window"]["from_ns"], 20_000_000);
    assert_eq!(part["window"]["is_whole"], false);

    for (options, words) in [
        ("--counter minor_fault", "did you mean minor_faults"),
        ("--counter nonsense", "choose of"),
        ("--state computing", "choose of compute"),
        ("--tasks x", "names no tasks"),
        ("--window 5s..1s", "ends before it begins"),
        ("--bins 0", "1..=1048576"),
        ("--factor=-1", "a number"),
        ("--axis sideways", "possible values"),
    ] {
        let ended = skyline(directory.path(), options);
        assert!(ended.stderr.contains(words), "{options}: {}", ended.stderr);
        assert_eq!(ended.code, Some(2), "{options}");
    }
    let nobody = skyline(directory.path(), "--tasks rank:7");
    nobody.refused(1, "chooses none of the");
}

#[test]
fn exports_are_written_and_never_over_others() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path());
    let options = "--csv out.csv --gnuplot plots --tasks 0-8";
    skyline(directory.path(), options).succeeded();
    let csv = fs::read_to_string(directory.path().join("out.csv")).unwrap();
    assert!(
        csv.starts_with("counter,states,task,label,from_ns,"),
        "{csv}"
    );
    assert!(
        csv.lines()
            .any(|line| line.starts_with("bytes_written,all,,all tasks,"))
    );
    skyline(directory.path(), options).refused(1, "--force");
    fs::remove_file(directory.path().join("out.csv")).unwrap();
    skyline(directory.path(), options).refused(1, "not empty");
    skyline(directory.path(), &format!("{options} --force")).succeeded();
    let plots = directory.path().join("plots");
    assert!(plots.join("bytes_written-profile.dat").is_file());
    let Ok(drawn) = Command::new("gnuplot")
        .arg("plots.gp")
        .current_dir(&plots)
        .output()
    else {
        return;
    };
    let complaints = String::from_utf8_lossy(&drawn.stderr);
    assert!(drawn.status.success(), "{complaints}");
    let svg = fs::read_to_string(plots.join("bytes_written-all.svg")).unwrap();
    assert!(svg.contains("</svg>"));
}

#[test]
fn a_program_without_openmp_has_a_page() {
    let directory = tempfile::tempdir().unwrap();
    record(directory.path());
    run(directory.path(), "report recording -o page.html").succeeded();
    let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("<section id=\"paging\""));
    assert!(page.contains("calls seen"));
    assert!(!page.contains("id=\"region-table\""), "it has no regions");
}

#[test]
fn regions_and_paging_are_on_one_page_with_names_of_places() {
    let directory = tempfile::tempdir().unwrap();
    let program = two_regions();
    let mut command = fathomp(directory.path());
    command.args([
        "record",
        "--paging",
        "--threads",
        "2",
        "-o",
        "recording",
        "--",
    ]);
    finish(command.arg(&program)).succeeded();
    run(directory.path(), "report recording -o page.html").succeeded();
    let page = fs::read_to_string(directory.path().join("page.html")).unwrap();
    assert!(page.contains("id=\"region-table\""));
    assert!(page.contains("<section id=\"paging\""));
    let ended = skyline(directory.path(), "--json");
    let json = ended.succeeded().json();
    let barriers = json["phases"]["barriers"].as_array();
    let is_named =
        |name: &serde_json::Value| name.as_str().is_some_and(|name| name.contains(".c:"));
    assert!(
        barriers.is_some_and(|all| all.iter().any(is_named)),
        "{}",
        json["phases"]
    );
}

#[test]
fn what_is_no_paging_recording_is_refused_in_a_sentence() {
    let directory = tempfile::tempdir().unwrap();
    skyline(directory.path(), "").refused(1, "record --paging");
    fs::create_dir_all(directory.path().join("recording/paging")).unwrap();
    skyline(directory.path(), "").refused(1, "holds no paging recording");
    fs::write(directory.path().join("recording/paging/meta.json"), "{").unwrap();
    skyline(directory.path(), "").refused(1, "");
    fs::write(
        directory.path().join("recording/paging/meta.json"),
        "{\"format\": 99}",
    )
    .unwrap();
    skyline(directory.path(), "").refused(1, "format 99");
}

/// Each node reads what the other has written before the barrier.
const PASSED_ON: &str = r#"
#include <omp.h>
static char words[64 << 12];
int main(void)
{
    char sum = 0;
#pragma omp parallel reduction(+ : sum)
    for (int turn = 0; turn < 20; turn++) {
        int first = (omp_get_thread_num() + turn) % 2 * 32;
        for (int page = first; page < first + 32; page++)
            words[page << 12] += turn;
#pragma omp barrier
        for (int page = 0; page < 64; page++)
            sum += words[page << 12];
#pragma omp barrier
    }
    return sum == 1;
}
"#;

#[test]
fn switching_programs_is_simulated_where_tasks_wait_for_pages() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = fathomp(directory.path());
    command.args([
        "record",
        "--paging",
        "--nodes",
        "2",
        "--dsm",
        "homeless",
        "--dsm-plain",
        "-o",
        "recording",
        "--",
    ]);
    let program = compile(directory.path(), "passed_on", PASSED_ON, &["-fopenmp"]);
    finish(command.arg(program)).succeeded();
    let ended = skyline(directory.path(), "--gang 50us");
    let text = ended.succeeded().text();
    assert!(text.contains("all switch together"), "{text}");
    let ended = skyline(directory.path(), "--gang 50us --json");
    let gang = ended.succeeded().json()["gang"].clone();
    assert!(gang["faults"].as_u64().unwrap() > 0, "{gang}");
    let outcomes = gang["outcomes"].as_array().unwrap();
    let hidden = |policy: &str| {
        let mut all = outcomes.iter();
        let one = all.find(|one| one["policy"] == policy).unwrap();
        one["hidden_share"].as_f64().unwrap()
    };
    assert_eq!(hidden("wait"), 0.0);
    assert!((0.0..=1.0).contains(&hidden("each")), "{gang}");

    let refused = skyline(directory.path(), "--gang 0");
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("such as 50us"), "{refused:?}");
    let alone = tempfile::tempdir().unwrap();
    record(alone.path());
    skyline(alone.path(), "--gang 50us").refused(1, "fewer than two tasks");
}
