//! Whatever option is given changes something, or is refused by name: every option that the help
//! of a command shows, added to each way in which the command answers from files.

use crate::common::{ACCESSES, fathomp, finish, in_peace, is_built_in, run, two_regions};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Counts of all threads.
const COUNTS: &str = "class,benchmark,threads,sequential_s,speedup_observed,write_faults,fetch_faults,thread\n\
    A,SP,2,137,0.39,851000,838000,all\nA,SP,4,137,0.4,736000,782000,all\n\
    A,EP,2,40,2,0,0,all\nA,EP,4,40,4,0,0,all\n";
const EPCC: &str = "\t 50 thread(s)\n 5 12.3 12.1 12.8 0.2 0\nBARRIER time = 12.3 microseconds +/- 0.4\n\
    BARRIER overhead = 5.3 microseconds +/- 0.6\n";

/// More arrays than are named unasked.
const SOURCE: &str = "double a[9], b[9], c[9], d[9], e[9], f[9], g[9], h[9], i[9], j[9], k[9];\n\
    void sum(void) {\n#pragma omp parallel for\nfor (int n = 0; n < 9; n++)\n\
    a[n] = b[n] + c[n] + d[n] + e[n] + f[n] + g[n] + h[n] + i[n] + j[n] + k[n];\n}\n";

/// Options that change something only where these lines do not come: memory for diffs that is
/// full, a page that is there already.
const ELSEWHERE: [(&str, &str); 2] = [("--granularity", "--dsm-memory"), ("report", "--force")];

/// What to give an option, so that it has something to change: a name that is new, for files.
fn value(command: &str, option: &str) -> Option<String> {
    let is = |names: &[&str]| names.contains(&option);
    Some(match (command, option) {
        ("simulate", "--nodes") => "4".to_owned(),
        ("simulate", "--net") => "9,900".to_owned(),
        ("simulate", "--sequential") => "3".to_owned(),
        ("simulate", "--page-bytes") => "4096,8192".to_owned(),
        ("simulate", "--dsm-memory") => "7M".to_owned(),
        ("simulate", "--homes") => "cyclic".to_owned(),
        (_, "--fault-us") => "77".to_owned(),
        // Not what was counted.
        ("predict", "--dsm") => "home".to_owned(),
        (_, "--dsm") => "homeless".to_owned(),
        (_, "--cluster") => "infiniband_ddr4x".to_owned(),
        (_, "--counts") if command == "predict" => "other.csv".to_owned(),
        (_, "--model") => "sdp-crit".to_owned(),
        (_, "--serial-fraction") => "0.3".to_owned(),
        (_, "--diff-bytes") => "64".to_owned(),
        (_, "--at" | "--cores") => "3".to_owned(),
        (_, "--class") => "S".to_owned(),
        (_, "--size") => "mini".to_owned(),
        (_, "--programs") => "npb".to_owned(),
        (_, "--budget") => "9s".to_owned(),
        (_, "--utilisation") => "share".to_owned(),
        (_, "--label") => "clock=400 MHz".to_owned(),
        (_, "--hosts") => "a,b".to_owned(),
        (_, "--transport") => "tcp".to_owned(),
        (_, "--ports") => "40000-40100".to_owned(),
        (_, "--packages" | "--has-packages" | "--repeat" | "--start-timeout" | "--sequential") => {
            "3".to_owned()
        }
        (_, "--min-gain") => "0.5".to_owned(),
        (_, option) if is(&["--cc", "--cflags", "--ssh", "--mpicc"]) => format!("x{option}"),
        // Files and directories.
        (_, "--machine" | "--overheads" | "--weights" | "--load" | "--hostfile") => {
            "missing".to_owned()
        }
        (_, "--compile-commands") => "missing.json".to_owned(),
        (
            _,
            "--output" | "--csv" | "--counts" | "--perfetto" | "--gnuplot" | "--region-lines"
            | "--save" | "--otf2",
        ) => format!("new{option}"),
        (_, "--paraver") => "new.prv".to_owned(),
        _ => return None,
    })
}

/// Long options that a command's help shows, and whether each takes a value.
fn options(directory: &Path, command: &str) -> BTreeMap<String, bool> {
    let help = run(directory, &format!("{command} --help")).text();
    let lines = help.lines().map(str::trim_start);
    let lines = lines.filter(|line| line.starts_with('-'));
    let option = |line: &str| {
        let at = line.find("--")?;
        let word = line[at..].split([' ', '=', '[']).next()?;
        Some((word.to_owned(), line[at..].contains('<')))
    };
    let mut found: BTreeMap<String, bool> = lines.filter_map(option).collect();
    for general in ["--help", "--json", "--quiet"] {
        found.remove(general);
    }
    found
}

/// What a command says and leaves behind; the code beside it.
fn outcome(directory: &Path, words: &[String]) -> (Option<i32>, String, Vec<String>) {
    let ended = finish(fathomp(directory).args(words));
    let entries = fs::read_dir(directory).unwrap().flatten();
    let mut made: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| name.starts_with("new"))
        .collect();
    made.sort();
    for name in &mut made {
        let path = directory.join(&*name);
        *name += &fs::read_to_string(&path).unwrap_or_default();
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
    }
    (ended.code, ended.text() + &ended.stderr, made)
}

#[test]
fn each_option_changes_something_or_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    fs::write(here.join("counts.csv"), COUNTS).unwrap();
    fs::write(here.join("accesses.jsonl"), ACCESSES).unwrap();
    fs::write(here.join("epcc.txt"), EPCC).unwrap();
    fs::write(here.join("a.c"), SOURCE).unwrap();
    let program = two_regions().display().to_string();
    run(here, &format!("record --threads 2 -o r -- {program}")).succeeded();
    run(here, &format!("record --threads 1 -o one -- {program}")).succeeded();
    for recording in ["r", "one"] {
        in_peace(&here.join(recording));
    }
    let ways = [
        "predict r one",
        "predict r one --validate",
        "predict --model sdp-agg --counts counts.csv --cluster gige_amd",
        "predict --validate --counts counts.csv --cluster gige_amd",
        "regions r",
        "regions r --instances",
        "--json regions r",
        "simulate accesses.jsonl --net gige_amd",
        "simulate accesses.jsonl --net 60,100 --granularity",
        "scan a.c",
        "--json scan a.c",
        "report epcc.txt -o new-page",
    ];
    let mut silent = Vec::new();
    for way in ways.into_iter().filter(|way| is_built_in(way)) {
        let command = way.split(' ').find(|word| !word.starts_with('-')).unwrap();
        let given: Vec<String> = way.split(' ').map(str::to_owned).collect();
        let before = outcome(here, &given);
        assert_eq!(before.0, Some(0), "{way}: {}", before.1);
        for (option, takes) in options(here, command) {
            let excused = |(word, of): &(&str, &str)| way.contains(word) && option == *of;
            if ELSEWHERE.iter().any(excused)
                || given.contains(&option)
                || (option == "--output" && given.contains(&"-o".to_owned()))
            {
                continue;
            }
            let mut words = given.clone();
            words.push(option.clone());
            if takes {
                let value = value(command, &option);
                words.push(value.unwrap_or_else(|| panic!("{command} {option}: which value?")));
            }
            let after = outcome(here, &words);
            let refused = after.0 == Some(2) && !after.1.is_empty();
            if !refused && after == before {
                silent.push(words.join(" "));
            }
        }
    }
    assert!(
        silent.is_empty(),
        "accepted and ignored:\n{}",
        silent.join("\n")
    );
}
