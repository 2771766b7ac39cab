//! The whole loop, and what is left of it when something goes wrong.

use crate::common::{
    self, Ended, collect, compile, fathomp, finish, run, send, two_regions, until_ready,
};
use std::fs;
use std::io::Write;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Stdio;

#[test]
fn a_study_leaves_a_report_and_everything_behind_it() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let ended = run(
        here,
        &format!("study --threads 1,2 -- {}", two_regions().display()),
    );
    assert_eq!(ended.succeeded().text().lines().count(), 1, "{ended:?}");
    // It looks further than this machine, and says what that assumes.
    let assumed = "assumes a machine with as many processors";
    assert!(ended.stderr.contains(assumed), "{ended:?}");
    let report = here.join("report.html");
    assert!(
        ended
            .stderr
            .contains(&report.canonicalize().unwrap().display().to_string()),
        "{ended:?}"
    );
    let page = fs::read_to_string(report).unwrap();
    assert!(page.contains("program.c:9"));
    assert!(page.contains(assumed));
    for file in [
        "study.json",
        "machine.json",
        "result.json",
        "recordings/1-threads",
        "recordings/2-threads",
        "recordings/rehearsal",
    ] {
        assert!(here.join("study").join(file).exists(), "{file}");
    }
    let result: serde_json::Value =
        serde_json::from_slice(&fs::read(here.join("study/result.json")).unwrap()).unwrap();
    let rehearsals = result["analyses"].as_array().unwrap().iter();
    let rehearsals: Vec<bool> = rehearsals
        .map(|one| one["program"]["rehearsal"].as_bool().unwrap())
        .collect();
    // It is so short that it gains nothing, so that it is run a few times more.
    let (last, runs) = rehearsals.split_last().unwrap();
    assert!(
        *last && runs.len() >= 2 && !runs.contains(&true),
        "{rehearsals:?}"
    );
    assert_eq!(
        result["prediction"]["measured"].as_array().unwrap().len(),
        2
    );
    assert!(result["prediction"]["points"].as_array().unwrap().len() > 1);

    // The parts can be used again.
    run(here, "report study -o again.html").succeeded();
    run(
        here,
        "predict study --machine study/machine.json --at 1,2,64",
    )
    .succeeded();
    let larger = run(here, "--json predict study --at 64 --cores 64").json();
    assert_eq!(larger["cores"], 64);
    assert_eq!(larger["points"][0]["oversubscribed"], false);
    let further = run(here, "--json predict study").json();
    let present = further["cores_present"].as_u64().unwrap();
    assert_eq!(further["cores"], (2 * present).max(8));
    let own = run(here, &format!("predict study --cores {present}"));
    assert!(!own.succeeded().text().contains(assumed));
    let prediction = run(here, "--json predict study --at 3").json();
    assert_eq!(prediction["schema"], "fathomp.prediction");
    assert_eq!(prediction["points"][0]["threads"], 3);
    run(here, "regions study/recordings/2-threads").succeeded();
}

#[test]
fn an_existing_study_or_report_is_kept_unless_forced() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let line = format!("study --threads 1 -- {}", two_regions().display());
    fs::write(here.join("report.html"), "mine").unwrap();
    run(here, &line).refused(125, "report.html");
    assert!(!here.join("study").exists());
    fs::remove_file(here.join("report.html")).unwrap();
    run(here, &line).succeeded();
    fs::remove_file(here.join("report.html")).unwrap();
    run(here, &line).refused(125, "earlier study");
    run(here, &line.replace("study ", "study --force ")).succeeded();
    run(
        here,
        &line.replace("study ", "study -o no/such/r.html --directory s2 "),
    )
    .refused(125, "make that directory");
    fs::write(here.join("file"), "mine").unwrap();
    run(
        here,
        &line.replace("study ", "study -o r3.html --directory file "),
    )
    .refused(125, "not a directory");
}

#[test]
fn with_json_the_answer_is_alone_on_stdout() {
    let directory = tempfile::tempdir().unwrap();
    let line = format!(
        "--json study --no-rehearsal --threads 1-2 --repeat 2 -- {}",
        two_regions().display()
    );
    let ended = run(directory.path(), &line);
    let answer = ended.succeeded().json();
    assert_eq!(answer["schema"], "fathomp.study");
    assert_eq!(answer["recordings"].as_array().unwrap().len(), 4);
    assert_eq!(ended.stderr.matches("sum ").count(), 1, "{ended:?}");
}

#[test]
fn a_program_that_fails_is_reported_and_its_code_passed_on() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(
        directory.path(),
        &format!("study --threads 1,2 -- {} 42", two_regions().display()),
    );
    assert_eq!(ended.in_words().code, Some(42), "{ended:?}");
    assert!(ended.stderr.contains("exit code 42"), "{ended:?}");
    assert!(
        fs::read_to_string(directory.path().join("report.html"))
            .unwrap()
            .contains("exit code 42")
    );
}

#[test]
fn a_program_that_crashes_at_two_threads_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let source = common::TWO_REGIONS
        .replace("#include <stdio.h>", "#include <stdio.h>\n#include <omp.h>")
        .replace(
            "return argc",
            "if (omp_get_max_threads() > 1) { fputs(\"oh no\\n\", stderr); abort(); } return argc",
        );
    compile(directory.path(), "crashing", &source, &["-fopenmp"]);
    let ended = run(directory.path(), "study --threads 1,2,3 -- ./crashing");
    assert_eq!(ended.in_words().code, Some(134), "{ended:?}");
    assert!(ended.stderr.contains("SIGABRT"), "{ended:?}");
    let said = directory.path().join("study/recordings/2-threads.stderr");
    assert_eq!(fs::read_to_string(said).unwrap(), "oh no\n");
    assert!(
        fs::read_to_string(directory.path().join("report.html"))
            .unwrap()
            .contains("SIGABRT")
    );
}

#[test]
fn a_program_without_openmp_is_no_study() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(directory.path(), "study --threads 1,2 -- true");
    assert_eq!(ended.in_words().code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("Nothing was recorded"), "{ended:?}");
}

#[test]
fn every_run_reads_the_same_input() {
    let directory = tempfile::tempdir().unwrap();
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
    compile(directory.path(), "reading", source, &["-fopenmp"]);
    let mut child = fathomp(directory.path())
        .args(["study", "--threads", "1,2", "--", "./reading"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child
        .stdin
        .take()
        .unwrap()
        .write_all(b"twelve bytes")
        .unwrap();
    collect(child).succeeded();
    fs::write(directory.path().join("input"), b"twelve bytes").unwrap();
    let mut command = fathomp(directory.path());
    command
        .args(["study", "--force", "--threads", "1,2", "--", "./reading"])
        .stdin(fs::File::open(directory.path().join("input")).unwrap());
    finish(&mut command).succeeded();
}

#[test]
fn an_open_pipe_that_nobody_writes_to_stops_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut child = fathomp(directory.path())
        .args(["study", "--threads", "1,2", "--"])
        .arg(two_regions())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let open = child.stdin.take();
    collect(child).succeeded();
    drop(open);
}

#[test]
fn an_interrupted_study_reports_what_there_is() {
    let directory = tempfile::tempdir().unwrap();
    let source = common::TWO_REGIONS.replace(
        "printf(\"sum %g\\n\", sum);",
        "puts(\"ready\"); fflush(stdout); for (;;) {}",
    );
    compile(directory.path(), "endless", &source, &["-fopenmp"]);
    let child = until_ready(
        fathomp(directory.path())
            .args(["study", "--threads", "1,2", "--", "./endless"])
            .process_group(0),
    );
    send("INT", &format!("-{}", child.id()));
    let ended = collect(child);
    assert_eq!(ended.in_words().code, Some(130), "{ended:?}");
    assert!(ended.stderr.contains("interrupted"), "{ended:?}");
    assert!(
        fs::read_to_string(directory.path().join("report.html"))
            .unwrap()
            .contains("interrupted")
    );
}

/// A program that prints what `statement` says about `int threads`, a number of
/// threads, and leaves by it.
fn printing(directory: &Path, statement: &str) {
    let source = common::TWO_REGIONS
        .replace(
            "#include <stdio.h>",
            "#include <stdio.h>\n#include <omp.h>\n#include <signal.h>\n#include <unistd.h>",
        )
        .replace(
            "printf(\"sum %g\\n\", sum);",
            &format!("threads = omp_get_max_threads(); printf(\"sum %g\\n\", sum); {statement}"),
        );
    compile(directory, "printing", &source, &["-fopenmp"]);
}

/// The first sentence of the summary.
fn first_sentence(page: &str) -> &str {
    let summary = page.find("id=\"summary\"").unwrap();
    let end = page[summary..]
        .find("</li>")
        .map_or(page.len(), |at| summary + at);
    &page[summary..end]
}

/// That nothing is concluded from a study, which says `words` first.
fn concludes_nothing(directory: &Path, ended: &Ended, words: &str) {
    ended.in_words();
    assert!(ended.stderr.contains(words), "{words}: {ended:?}");
    run(directory, "report --force study -o again.html").succeeded();
    for page in ["report.html", "again.html"] {
        let page = fs::read_to_string(directory.join(page)).unwrap();
        let first = first_sentence(&page);
        let words = words.replace('\'', "&#x27;");
        assert!(first.contains(&words), "{words}: {first}");
        for conclusion in ["speedup", "Predicted", "Threads worth using", ">Advice<"] {
            let body = page.split("<body").nth(1).unwrap();
            let body = body.split("<script").next().unwrap();
            assert!(!body.contains(conclusion), "{conclusion}");
        }
    }
    run(directory, "predict study").refused(1, "nothing is predicted");
    let result = fs::read(directory.join("study/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_slice(&result).unwrap();
    assert!(result["prediction"].is_null());
}

#[test]
fn nothing_is_concluded_from_runs_that_died() {
    let directory = tempfile::tempdir().unwrap();
    for (statement, words) in [
        (
            "if (threads == 2) return 3;",
            "The run with 2 threads left with exit code 3",
        ),
        (
            "if (threads == 2) abort();",
            "The run with 2 threads was ended by signal 6 (SIGABRT)",
        ),
        (
            "if (threads == 2) raise(15);",
            "The run with 2 threads was stopped by signal 15 (SIGTERM)",
        ),
        (
            "return 124;",
            "`timeout` has stopped (and there is another such run)",
        ),
    ] {
        printing(directory.path(), statement);
        let line = "study --force --threads 1,2 -- ./printing";
        let ended = run(directory.path(), line);
        assert_ne!(ended.code, Some(0), "{statement} {ended:?}");
        concludes_nothing(directory.path(), &ended, words);
    }
}

#[test]
fn nothing_is_concluded_from_runs_that_wrote_something_else() {
    let directory = tempfile::tempdir().unwrap();
    printing(
        directory.path(),
        "printf(\"result %d\\ndone\\n\", 1000000 + threads);",
    );
    let line = "study --force --threads 1,2 -- ./printing";
    let ended = run(directory.path(), line);
    let words =
        "differs from that with 1 thread in line 2: 'result 1000002' against 'result 1000001'";
    concludes_nothing(directory.path(), ended.succeeded(), words);
    assert!(
        ended
            .stderr
            .contains("first sign of a data race, or of sums in another order")
    );
    // The program's own output is the first run's, and only that.
    assert_eq!(ended.text().lines().count(), 3, "{ended:?}");
    for threads in [1, 2] {
        let name = format!("study/recordings/{threads}-threads.stdout");
        let kept = fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(kept.contains(&format!("result {}", 1_000_000 + threads)));
    }
}

#[test]
fn what_differs_by_itself_is_no_difference() {
    let directory = tempfile::tempdir().unwrap();
    // Times, threads, and what no two runs have in common. A difference would name its line.
    let statements = [
        "printf(\"time %f\\n\", omp_get_wtime());",
        "printf(\"%d threads\\n\", threads);",
        "printf(\"drawn %d\\n\", getpid());",
        "printf(\"norm %.12f\\n\", 1 + 1e-9 * threads);",
    ];
    let mut programs = vec![statements.join(" ")];
    if fathomp_requirements::slow_wanted() {
        programs.extend(statements.map(str::to_owned));
        programs.push(String::new());
    }
    for program in programs {
        printing(directory.path(), &program);
        let ended = run(
            directory.path(),
            "study --force --threads 1,2 -- ./printing",
        );
        assert!(
            !ended.succeeded().stderr.contains("differs"),
            "{program} {ended:?}"
        );
        let page = fs::read_to_string(directory.path().join("report.html")).unwrap();
        assert!(page.contains("Measured speedup"), "{program}");
    }
}
