//! The tutorial is true: its programs have the causes that it shows, its changes mend them, and what
//! it quotes has the form in which the command prints it.
//!
//! Commands and changes are those of `docs/tutorial.md`.

#[path = "../../../../testing/xtask/src/changes.rs"]
mod changes;
mod quotes;

use crate::common::{compile, compile_with, run};
use crate::mpi::OF_MPICH;
use fathomp_requirements::{MPICH, plain, with_tools};
use libtest_mimic::Trial;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::thread;

/// Other programs may disturb a run; an error in so many tries is no chance.
const TRIES: usize = 3;
/// A try does not count if the comparison says that it is unclear what became of the cause, but so
/// many do at most: if the processors of a virtual machine differ beside one of the runs, they may
/// explain its unequal work. That was so in a quarter of the tries on one.
const UNCLEAR_MAX: usize = 9;
/// Causes below this part of the time are none.
const LEAST: f64 = 0.05;

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        plain(
            "tutorial::quotes_are_compared_by_their_words",
            quotes::are_compared_by_their_words,
        ),
        plain("tutorial::unequal_work_is_named_and_mended", || {
            is_mended("triangle.c", Some("unequal_work"))
        }),
        plain("tutorial::shared_lines_are_named_and_mended", || {
            is_mended("primes.c", Some("false_sharing"))
        }),
        plain("tutorial::passes_over_memory_are_mended", || {
            is_mended("springs.c", None)
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

/// The part of the tutorial that is about a program.
fn section(name: &str) -> String {
    let tutorial = tutorial();
    let mut sections = tutorial.split("\n## ");
    let section = sections.find(|section| section.contains(&format!("[{name}]")));
    section.unwrap().to_owned()
}

/// What the page on comparisons quotes of any program, line by line: its own program was moved in its
/// file, and ran on a machine that became slower.
fn of_compare() -> String {
    let page = file("docs/compare.md");
    let others = ["(change ", "warning: ", "those of before;", "(was "];
    let lines = page.lines().filter(|line| line.starts_with("    "));
    let lines = lines.filter(|line| !others.iter().any(|words| line.contains(words)));
    lines.map(|line| format!("{line}\n\n")).collect()
}

/// As the machine that the tutorial quotes: with others a study measures more numbers of threads.
fn has_two_processors() -> bool {
    thread::available_parallelism().is_ok_and(|processors| processors.get() == 2)
}

/// A program with the tutorial's change.
fn changed(name: &str) -> String {
    changes::changed(&tutorial(), name, &source(name)).unwrap()
}

/// `cause` is named before the change and gone afterwards, if there is one.
fn is_mended(name: &str, cause: Option<&str>) {
    let (mut tries, mut unclear) = (0, 0);
    loop {
        let Err(wrong) = try_to_mend(name, cause) else {
            return;
        };
        match wrong.is_unclear {
            true => unclear += 1,
            false => tries += 1,
        }
        assert!(tries < TRIES && unclear <= UNCLEAR_MAX, "{}", wrong.text);
    }
}

/// Why a try failed.
struct Wrong {
    text: String,
    /// The comparison itself cannot tell whether the cause is gone.
    is_unclear: bool,
}

fn try_to_mend(name: &str, cause: Option<&str>) -> Result<(), Wrong> {
    let directory = tempfile::tempdir().unwrap();
    let here = directory.path();
    let stem = name.trim_end_matches(".c");
    let (mut printed, mut said) = (Vec::new(), String::new());
    for (side, source) in [("before", source(name)), ("after", changed(name))] {
        // As many as show the difference.
        let source = source.replace("#define STEPS 40", "#define STEPS 10");
        compile(here, stem, &source, &["-O2", "-g", "-fopenmp", "-lm"]);
        let line = format!("study --repeat 3 --directory {side} -o {side}.html -- ./{stem}");
        let ended = run(here, &line);
        printed.push(ended.succeeded().text());
        said += &ended.stderr;
        if side == "before" {
            said += &scanned(here, name);
        }
    }
    assert_eq!(printed[0], printed[1], "the change changes results");
    said += &run(here, "compare before after").succeeded().text();
    let compared = run(here, "compare --json before after");
    let compared = compared.succeeded().json();
    let verdict = &compared["tables"][0]["program"]["verdicts"][1];
    let causes = compared["causes"].as_array().into_iter().flatten();
    let row: Option<&Value> = causes
        .clone()
        .find(|one| Some(one["kind"].as_str().unwrap_or_default()) == cause);
    let shares = row.map(|row| &row["shares"]);
    let is_unclear = row.is_some_and(|row| row["changes"][1] == "unclear");
    let wrong = |text| Wrong { text, is_unclear };
    let share = |side: usize| {
        shares
            .and_then(|shares| shares[side].as_f64())
            .unwrap_or(0.0)
    };
    // Where processors share their caches, lines that threads share cost little.
    let costs = name != "primes.c" || verdict == "faster";
    let named = cause.is_none() || share(0) >= LEAST;
    match (named, share(1) >= LEAST) {
        (true, false) if verdict == "faster" && has_two_processors() => {
            if name == "triangle.c" {
                quotes::hold(&of_compare(), &said).map_err(wrong)?;
            }
            quotes::hold(&section(name), &in_one_order(&said)).map_err(wrong)
        }
        (true, false) if verdict == "faster" => Ok(()),
        (false, false) if !costs => Ok(()),
        _ => Err(wrong(format!(
            "{verdict}: {:?}",
            causes.collect::<Vec<_>>()
        ))),
    }
}

/// The two arrays of `primes.c` share lines alike, so either may be named first: as the tutorial does.
fn in_one_order(said: &str) -> String {
    said.replace("looked_at and found", "found and looked_at")
        .replace("looked_at[0] and looked_at[1]", "found[0] and found[1]")
}

/// What a scan of the program says, which no other program disturbs: numbers are as the tutorial has them.
fn scanned(here: &Path, name: &str) -> String {
    let stem = name.trim_end_matches(".c");
    let scanned = run(here, &format!("scan {stem}"));
    let scanned = scanned.succeeded().text();
    let page = section(name);
    for line in page.lines().filter(|line| line.starts_with("    line ")) {
        assert!(scanned.contains(line.trim()), "{line}:\n{scanned}");
    }
    scanned
}

fn large_messages_are_named_and_mended() {
    let mut last = String::new();
    for _ in 0..TRIES {
        match try_to_mend_messages() {
            Ok(()) => return,
            Err(wrong) => last = wrong,
        }
    }
    panic!("{last}");
}

fn try_to_mend_messages() -> Result<(), String> {
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
    let sends = "MPI_Sendrecv at halo.c:23 sends 400 messages of 7.63 MiB";
    assert!(said[0].contains(sends), "{said:?}");
    assert!(!said[1].contains("large messages"), "{said:?}");
    assert!(tutorial().contains(sends));
    let compared = run(here, "compare before-ranks after-ranks");
    let all = said.concat() + &compared.succeeded().text();
    quotes::hold(&section("halo.c"), &all)
}
