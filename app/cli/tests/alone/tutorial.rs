//! The tutorial is true: its programs have the causes that it shows, and its changes mend them.
//!
//! Commands and changes are those of `docs/tutorial.md`. A change is a block of lines that go and
//! lines that come, after the name of the file.

use crate::common::{compile, compile_with, run};
use crate::mpi::OF_MPICH;
use fathomp_requirements::{MPICH, plain, with_tools};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// Other programs may disturb a run; what is wrong so often is wrong.
const TRIES: usize = 3;
/// Causes below this part of the time are none.
const LEAST: f64 = 0.05;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        plain("tutorial::unequal_work_is_named_and_mended", || {
            is_mended("triangle.c", "unequal_work")
        }),
        plain("tutorial::shared_lines_are_named_and_mended", || {
            is_mended("primes.c", "false_sharing")
        }),
        with_tools(
            "tutorial::large_messages_are_named_and_mended",
            &[MPICH],
            large_messages_are_named_and_mended,
        ),
    ]
}

/// A file of the repository.
fn file(path: &str) -> String {
    fs::read_to_string(
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../..")
            .join(path),
    )
    .unwrap()
}

fn source(name: &str) -> String {
    file(&format!("examples/tutorial/{name}"))
}

fn tutorial() -> String {
    file("docs/tutorial.md")
}

/// A program with the tutorial's change.
fn changed(name: &str) -> String {
    let (tutorial, mut source) = (tutorial(), source(name));
    let block = tutorial.split_once(&format!("```diff {name}\n")).unwrap().1;
    let block = block.split_once("```").unwrap().0;
    let mut pairs: Vec<[String; 2]> = Vec::new();
    for line in block.lines() {
        let (sign, line) = line.split_at(1);
        match sign {
            // Lines that follow each other go together.
            "-" if pairs.last().is_some_and(|[_, come]| come.is_empty()) => {
                pairs.last_mut().unwrap()[0] += &format!("{line}\n");
            }
            "-" => pairs.push([format!("{line}\n"), String::new()]),
            "+" => pairs.last_mut().unwrap()[1] += &format!("{line}\n"),
            _ => panic!("a change goes or comes: {line}"),
        }
    }
    for [goes, comes] in pairs {
        assert_eq!(source.matches(&goes).count(), 1, "{name}: {goes}");
        source = source.replace(&goes, &comes);
    }
    source
}

fn is_mended(name: &str, cause: &str) {
    let mut last = String::new();
    for _ in 0..TRIES {
        match try_to_mend(name, cause) {
            Ok(()) => return,
            Err(wrong) => last = wrong,
        }
    }
    panic!("{last}");
}

fn try_to_mend(name: &str, cause: &str) -> Result<(), String> {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let stem = name.trim_end_matches(".c");
    let mut printed = Vec::new();
    for (side, source) in [("before", source(name)), ("after", changed(name))] {
        compile(here, stem, &source, &["-O2", "-g", "-fopenmp", "-lm"]);
        let line = format!("study --repeat 3 --directory {side} -o {side}.html -- ./{stem}");
        printed.push(run(here, &line).succeeded().text());
    }
    assert_eq!(printed[0], printed[1], "the change changes results");
    let compared = run(here, "compare --json before after");
    let compared: Value = serde_json::from_str(&compared.succeeded().text()).unwrap();
    let verdict = &compared["tables"][0]["program"]["verdicts"][1];
    let causes = compared["causes"].as_array().into_iter().flatten();
    let shares = causes
        .clone()
        .find(|one| one["kind"] == cause)
        .map(|one| &one["shares"]);
    let share = |side: usize| {
        shares
            .and_then(|shares| shares[side].as_f64())
            .unwrap_or(0.0)
    };
    // Where processors share their caches, lines that threads share cost little.
    let costs = name != "primes.c" || verdict == "faster";
    match (share(0) >= LEAST, share(1) >= LEAST) {
        (true, false) if verdict == "faster" => Ok(()),
        (false, false) if !costs => Ok(()),
        _ => Err(format!("{verdict}: {:?}", causes.collect::<Vec<_>>())),
    }
}

fn large_messages_are_named_and_mended() {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let mut said = Vec::new();
    for (side, source) in [("before", source("halo.c")), ("after", changed("halo.c"))] {
        let options = ["-O2", "-g", "-fopenmp"];
        compile_with(OF_MPICH.compilers[0], here, "halo", &source, &options);
        let line = format!("record --threads 1 -o {side}-ranks -- ./halo");
        OF_MPICH.run(here, 2, &line).succeeded();
        said.push(
            run(here, &format!("regions {side}-ranks"))
                .succeeded()
                .text(),
        );
    }
    assert!(
        said[0].contains("MPI_Sendrecv at halo.c:23 sends 400 messages of 7.63 MiB"),
        "{said:?}"
    );
    assert!(!said[1].contains("large messages"), "{said:?}");
    assert!(tutorial().contains("MPI_Sendrecv at halo.c:23 sends 400 messages of 7.63 MiB"));
}
