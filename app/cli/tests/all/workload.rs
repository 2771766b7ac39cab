//! `fathomp workload`: the programs that fathomp brings, and what may be wrong
//! with the compiler, the memory, or a program.

use crate::common::{Ended, fathomp, finish, is_built_in, last_line, run};
use fathomp_toolchain::testing::write_executable;
use std::fs;
use std::path::{Path, PathBuf};

const USAGE: i32 = 2;
const LAUNCHER: i32 = 125;

fn here() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

#[test]
fn the_list_names_every_suite() {
    let directory = here();
    let list = run(directory.path(), "workload list");
    let text = list.succeeded().text();
    for words in [
        "npb: classes S, W, A, B, C",
        "npb/cg",
        "polybench/gemm",
        "patterns/mix",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let list = run(directory.path(), "workload list --suite npb --json").json();
    let rows = list["workloads"].as_array().unwrap();
    assert!(rows.len() >= 8, "{list}");
    assert!(rows.iter().all(|row| row["suite"] == "npb"));
}

#[test]
fn a_workload_is_built_once() {
    let directory = here();
    let build = || {
        finish(
            fathomp(directory.path())
                .args(["workload", "build", "cg", "--json"])
                .env("XDG_CACHE_HOME", directory.path().join("cache")),
        )
        .json()["programs"][0]
            .clone()
    };
    let first = build();
    assert_eq!(
        (&first["name"], &first["fresh"]),
        (&"npb/cg".into(), &true.into())
    );
    let path = Path::new(first["path"].as_str().unwrap());
    assert!(path.starts_with(directory.path()) && path.ends_with("cg.S"));
    // A debugger finds the source.
    assert!(path.with_file_name("src/npb/cg/cg.c").exists());
    assert!(first["static_bytes"].as_u64().unwrap() > 1 << 20);
    assert_eq!(first["heap_bytes"], 0);
    let second = build();
    assert_eq!(second["fresh"], false);
    assert_eq!(second["path"], first["path"]);
}

#[test]
fn copies_are_put_where_they_are_wanted() {
    let directory = here();
    let line = "workload build gemm polybench/gemm --class W -o programs";
    let built = run(directory.path(), line);
    assert_eq!(built.succeeded().text(), "programs/gemm --size small\n");
    assert!(directory.path().join("programs/gemm").exists());
    run(directory.path(), line).refused(1, "--force");
    run(directory.path(), &format!("{line} --force")).succeeded();
    fs::write(directory.path().join("file"), "").unwrap();
    run(directory.path(), "workload build gemm -o file").refused(1, "file");
}

#[test]
fn what_was_built_can_be_recorded() {
    let directory = here();
    let built = run(directory.path(), "workload build atax --class W").text();
    let recorded = run(
        directory.path(),
        &format!("record -o recording --threads 2 -- {}", built.trim()),
    );
    let last = last_line(recorded.succeeded());
    assert_eq!(last["size"], "small");
    assert_eq!(last["threads"], 2);
    let regions = run(directory.path(), "regions recording");
    assert!(
        regions.succeeded().text().contains("atax.c:"),
        "{regions:?}"
    );
}

#[test]
fn a_workload_runs_and_its_exit_code_is_passed_on() {
    let directory = here();
    for (runtime, threads) in [("fathomp", 3), ("system", 2)] {
        let line = format!("workload run is --threads {threads} --runtime {runtime}");
        let ended = run(directory.path(), &line);
        let last = last_line(ended.succeeded());
        assert_eq!(last["verified"], true);
        assert_eq!(last["threads"], threads);
    }
    let ended = run(
        directory.path(),
        "workload run gemm --size mini -- --repeat none",
    );
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.starts_with("gemm: "), "{ended:?}");
}

#[test]
fn a_suite_of_each_kind_is_verified() {
    let directory = here();
    let line = "workload verify is mvt order2d --threads 1,3";
    let ended = run(directory.path(), line);
    let text = ended.succeeded().text();
    assert!(
        text.ends_with("3 workloads are right, in 12 runs.\n"),
        "{text}"
    );
    let answer = run(directory.path(), &format!("{line} --json")).json();
    assert_eq!(answer["right"], true);
    for row in answer["workloads"].as_array().unwrap() {
        let runs = row["runs"].as_array().unwrap();
        assert_eq!(runs.len(), 4, "{row}");
        assert!(runs.iter().all(|run| run["seconds"].is_number()), "{row}");
    }
}

#[test]
fn nonsense_is_refused_before_anything_is_built() {
    let directory = here();
    let lines = [
        ("workload", ""),
        ("workload run", ""),
        ("workload run cgg", "did you mean \"cg\"?"),
        ("workload run CG", "did you mean \"cg\"?"),
        ("workload run npb", "there is no workload \"npb\""),
        ("workload verify something-else", "`fathomp workload list`"),
        ("workload run cg --class D", "S, W, A, B and C"),
        (
            "workload run cg --size 4x",
            "has classes instead of data sets",
        ),
        (
            "workload verify npb --size mini",
            "has classes instead of data sets",
        ),
        ("workload run cg --nodes 0", "1..=256"),
        ("workload run cg --nodes 257", "1..=256"),
        ("workload verify cg --nodes two", "invalid digit"),
        ("workload run cg --dsm magic", "home"),
        (
            "workload run cg --nodes 2 --runtime system",
            "leave out --runtime system",
        ),
        (
            "workload verify cg --nodes 2 --runtime fathomp,system",
            "leave out --runtime system",
        ),
        ("workload run cg --threads 0", "1 to"),
        ("workload run cg --runtime mine", "fathomp, system"),
        ("workload verify cg --threads 1,,2", ""),
        ("workload verify cg --timeout never", "no length of time"),
        (
            "workload list --suite spec",
            "npb, polybench, patterns and tasks",
        ),
    ];
    for (line, words) in lines.into_iter().filter(|(line, _)| is_built_in(line)) {
        let ended = run(directory.path(), line);
        assert_eq!(ended.in_words().code, Some(USAGE), "{line}: {ended:?}");
        assert!(ended.stderr.contains(words), "{line}: {ended:?}");
    }
}

#[test]
fn sizes_that_cannot_be_had() {
    let directory = here();
    run(directory.path(), "workload run gemm --size huge").refused(USAGE, "'huge'");
    // More than any machine has, and less than would overflow.
    let line = "workload run gemm --size 99999999x";
    run(directory.path(), line).refused(LAUNCHER, "are free: choose a smaller --size");
    let ended = run(directory.path(), "workload verify gemm --size 99999999x");
    assert_eq!(ended.in_words().code, Some(1));
    assert!(ended.text().contains("are free"), "{ended:?}");
}

#[test]
fn compilers_that_are_none() {
    let directory = here();
    for command in ["run cg", "build cg", "verify cg"] {
        let code = if command.starts_with("run") {
            LAUNCHER
        } else {
            1
        };
        let missing = format!("workload {command} --cc no-such-compiler");
        run(directory.path(), &missing).refused(code, "\"no-such-compiler\"");
        let other = format!("workload {command} --cc true");
        run(directory.path(), &other).refused(code, "cannot build OpenMP programs");
    }
    run(
        directory.path(),
        "workload build cg --cflags=-no-such-option",
    )
    .refused(1, "gcc cannot build cg.S: ");
}

#[test]
fn a_compiler_without_openmp() {
    let directory = here();
    // Ignores the option that enables OpenMP, as some compilers do.
    let cc = script(
        directory.path(),
        "for a; do shift; [ \"$a\" = -fopenmp ] || set -- \"$@\" \"$a\"; done; exec gcc \"$@\"",
    );
    run(
        directory.path(),
        &format!("workload run cg --cc {}", cc.display()),
    )
    .refused(LAUNCHER, "not enabled by -fopenmp");
}

/// A statement that prints an answer of one thread with this verdict.
pub(crate) fn answer(verified: &str) -> String {
    format!(
        "puts(\"{{\\\"suite\\\":\\\"npb\\\",\\\"workload\\\":\\\"cg\\\",\\\"size\\\":\\\"S\\\",\\\"threads\\\":1,\\\"iterations\\\":1,\\\"seconds\\\":1,\\\"mops_per_s\\\":1,\\\"checksum\\\":null,\\\"verified\\\":{verified}}}\");"
    )
}

/// What `verify` says about a compiler that builds this instead of CG.
pub(crate) fn verify_instead(statements: &str, how: &str) -> Ended {
    let directory = here();
    let body = format!(
        "#include <stdio.h>\n#include <stdlib.h>\nint main(int argc, char **argv)\n{{\n    (void)argv;\n    if (argc > 1)\n        return puts(\"{{\\\"heap_bytes\\\":0}}\") < 0;\n    {statements}\n}}\n"
    );
    fs::write(directory.path().join("body.c"), body).unwrap();
    let cc = script(
        directory.path(),
        "case \"$*\" in *--version*|*openmp.c*) exec gcc \"$@\";; esac\n\
         while [ \"$1\" != -o ]; do shift; done\n\
         exec gcc -o \"$2\" \"$(dirname \"$0\")/body.c\"",
    );
    let cc = cc.display();
    let line = format!("workload verify cg --cc {cc} --threads 1 --timeout 5 {how}");
    run(directory.path(), &line)
}

#[test]
fn programs_that_misbehave() {
    let wrong = format!("{} return 1;", answer("false"));
    let cases = [
        ("abort();", "failed", "SIGABRT"),
        ("return 7;", "failed", "exit code 7"),
        ("puts(\"hello\");", "failed", "\"hello\""),
        ("return 0;", "failed", "it printed nothing"),
        (
            "for (;;) puts(\"more\");",
            "failed",
            "still running after 5 s",
        ),
        (&wrong, "WRONG", "its own check found the result wrong"),
        (&answer("null"), "WRONG", "no finite checksum"),
    ];
    for (statements, verdict, words) in cases {
        let ended = verify_instead(statements, "--runtime system");
        let text = ended.text();
        assert_eq!(ended.in_words().code, Some(1), "{statements}: {ended:?}");
        assert!(text.contains(words), "{statements}: {text}");
        assert!(
            text.contains(&format!("  {verdict}\n")),
            "{statements}: {text}"
        );
        assert!(text.ends_with("1 of 1 workload is NOT right.\n"), "{text}");
    }
    let right = answer("true");
    assert_eq!(verify_instead(&right, "--runtime system").code, Some(0));
}

/// The last line that a workload prints.
fn script(directory: &Path, text: &str) -> PathBuf {
    let path = directory.join("cc");
    write_executable(&path, format!("#!/bin/sh\n{text}\n").as_bytes()).unwrap();
    path
}
