//! C programs run the same with all their atomics led through a lock, whatever
//! way the patcher found, and the analysis finds what a disassembler shows.

use crate::built::{self, Program, after, number, run, sections, text};
use fathomp_sys::text_patch::{Kind, Way};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, Output};

/// Compilers with the flags that change which instructions they choose.
const BUILDS: [(&str, &[&str]); 8] = [
    ("gcc", &["-O2"]),
    ("gcc", &["-O3", "-march=native"]),
    ("gcc", &["-O0"]),
    ("gcc", &["-O2", "-no-pie", "-fno-pie"]),
    ("gcc", &["-O2", "-s"]),
    ("gcc", &["-Os"]),
    ("clang", &["-O2"]),
    ("clang", &["-O3", "-no-pie", "-fno-pie", "-s"]),
];

/// Builds a test program in every way that this machine's compilers can.
fn builds(source: &str, directory: &Path, extra: &[&str]) -> Vec<Program> {
    built::builds(source, directory, &BUILDS, extra)
}

/// Whether all sites have breakpoints, and whether what can works on other memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct How {
    trap: bool,
    moved: bool,
}

const WAYS: [How; 4] = {
    const fn how(trap: bool, moved: bool) -> How {
        How { trap, moved }
    }
    [
        how(false, false),
        how(true, false),
        how(false, true),
        how(true, true),
    ]
};

fn run_patched(program: &Program, argument: &str, how: How) -> Output {
    let library = sections();
    let mut environment = vec![("LD_PRELOAD", library.to_str().unwrap())];
    if how.trap {
        environment.push(("FATHOMP_TRAP", "1"));
    }
    if how.moved {
        environment.push(("FATHOMP_MOVE", "1"));
    }
    run(program, argument, &environment)
}

/// "section ADDRESS BYTES COUNT" lines.
fn section_counts(output: &str) -> BTreeMap<String, u64> {
    let mut counts = BTreeMap::new();
    for line in output.lines() {
        if let Some(rest) = line.strip_prefix("section ") {
            let (place, count) = rest.rsplit_once(' ').unwrap();
            *counts.entry(place.to_owned()).or_default() += count.parse::<u64>().unwrap();
        }
    }
    counts
}

fn fences(output: &str) -> u64 {
    number(output, "fences ")
}

/// Lines whose contents do not depend on where things lie in memory.
fn results(output: &str) -> Vec<&str> {
    output
        .lines()
        .filter(|line| !line.starts_with("section "))
        .collect()
}

#[test]
fn one_thread_computes_the_same_and_passes_every_section() {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("atomics.c", directory.path(), &[]) {
        let plain = run(&program, "0", &[]);
        for how in WAYS {
            let patched = run_patched(&program, "0", how);
            let (said, seen) = (text(&patched.stdout), text(&patched.stderr));
            assert_eq!(
                results(&said),
                results(&text(&plain.stdout)),
                "{}",
                program.name
            );
            let (said_counts, seen_counts) = (section_counts(&said), section_counts(&seen));
            for (place, count) in &said_counts {
                assert_eq!(
                    seen_counts.get(place),
                    Some(count),
                    "{}: {place}\n{seen}",
                    program.name
                );
            }
            assert_eq!(fences(&seen), fences(&said), "{}", program.name);
            let head = seen.lines().next().unwrap_or_default();
            assert!(head.ends_with("doubtful 0"), "{}: {head}", program.name);
            let sections: u64 = seen_counts.values().sum();
            let moved = if how.moved { sections } else { 0 };
            assert_eq!(number(&seen, "moved "), moved, "{}", program.name);
            if how.trap {
                assert!(head.starts_with("patched 0 0 "), "{}: {head}", program.name);
            } else if !program.name.contains("-no-pie") {
                // Only the instruction with a branch into it needs a trap.
                assert!(head.contains(" 1 doubtful"), "{}: {head}", program.name);
            }
        }
    }
}

#[test]
fn several_threads_compute_the_same() {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("atomics.c", directory.path(), &[]) {
        for threads in ["2", "5"] {
            let plain = run(&program, threads, &[]);
            for how in WAYS {
                let patched = run_patched(&program, threads, how);
                assert_eq!(
                    text(&patched.stdout),
                    text(&plain.stdout),
                    "{}",
                    program.name
                );
            }
        }
    }
}

#[test]
fn openmp_atomics_and_flushes_pass_the_sections() {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("constructs.c", directory.path(), &["-fopenmp"]) {
        for threads in ["1", "2", "4"] {
            let size = ("OMP_NUM_THREADS", threads);
            let plain = run(&program, "", &[size]);
            let library = sections();
            let preload = ("LD_PRELOAD", library.to_str().unwrap());
            let patched = run(&program, "", &[size, preload]);
            assert_eq!(
                text(&patched.stdout),
                text(&plain.stdout),
                "{}",
                program.name
            );
            let seen = text(&patched.stderr);
            // Each of 500 rounds has at least six atomics, and a flush, which
            // clang leaves to its runtime.
            let rounds = 500 * threads.parse::<u64>().unwrap();
            let flushes = fences(&seen);
            let inline = program.name.starts_with("gcc");
            assert!(!inline || flushes >= rounds, "{}: {seen}", program.name);
            let sections: u64 = section_counts(&seen).values().sum();
            assert!(sections >= 6 * rounds, "{}: {seen}", program.name);
        }
    }
}

/// Addresses of locked instructions, exchanges with memory and fences that
/// `objdump` shows.
fn disassembled(program: &Path) -> BTreeSet<usize> {
    let output = Command::new("objdump")
        .args(["-d", "--no-show-raw-insn"])
        .arg(program)
        .output()
        .unwrap();
    assert!(output.status.success());
    let listing = text(&output.stdout);
    let mut found = BTreeSet::new();
    for line in listing.lines() {
        let Some((address, instruction)) = line.split_once(":\t") else {
            continue;
        };
        let exchange = instruction.starts_with("xchg") && instruction.contains('(');
        if instruction.starts_with("lock") || instruction.starts_with("mfence") || exchange {
            found.insert(usize::from_str_radix(address.trim(), 16).unwrap());
        }
    }
    found
}

#[test]
fn the_analysis_finds_what_the_disassembler_shows() {
    let directory = tempfile::tempdir().unwrap();
    for (source, extra) in [("atomics.c", &[][..]), ("constructs.c", &["-fopenmp"])] {
        for program in builds(source, directory.path(), extra) {
            let shown = disassembled(&program.path);
            let analysis = fathomp_rewriting::analyse(&program.path, 0).unwrap();
            let found: BTreeSet<usize> = analysis.sites.iter().map(|site| site.address).collect();
            assert_eq!(found, shown, "{}", program.name);
            assert!(found.len() >= 7, "{}: {found:x?}", program.name);
        }
    }
}

/// Functions of a program by address, as `nm` shows them; none if it is stripped.
fn functions(program: &Path) -> BTreeMap<usize, String> {
    let output = Command::new("nm").arg(program).output().unwrap();
    let listing = text(&output.stdout);
    let function = |line: &str| {
        let mut words = line.split_whitespace();
        let address = usize::from_str_radix(words.next()?, 16).ok()?;
        (words.next()? == "T").then(|| words.next().map(|name| (address, name.to_owned())))?
    };
    listing.lines().filter_map(function).collect()
}

#[test]
fn functions_that_wait_are_told_from_those_that_work() {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("waits.c", directory.path(), &["-fno-inline"]) {
        let functions = functions(&program.path);
        let names = functions.values().map(String::as_str);
        let waiting: BTreeSet<&str> = names.filter(|name| name.starts_with("waits_")).collect();
        if waiting.is_empty() {
            continue;
        }
        let analysis = fathomp_rewriting::analyse(&program.path, 0).unwrap();
        let mut found = BTreeSet::new();
        for wait in &analysis.waits {
            let (_, name) = functions.range(..=wait.address).next_back().unwrap();
            found.insert(name.as_str());
            let fences = name.ends_with("then_fences");
            assert_eq!(wait.flushes, fences, "{}: {name}", program.name);
            assert!(wait.led, "{}: {name}", program.name);
        }
        assert_eq!(found, waiting, "{}", program.name);
    }
}

/// Whoever yields in a loop now and then has said that it waits.
#[test]
fn who_yields_after_many_rounds_does_not_tell_by_branches_too() {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("waits.c", directory.path(), &["-fno-inline"]) {
        let functions = functions(&program.path);
        let analysis = fathomp_rewriting::analyse(&program.path, 0).unwrap();
        let mut tells: BTreeMap<&str, bool> = BTreeMap::new();
        for site in &analysis.branches {
            let Some((_, name)) = functions.range(..=site.address).next_back() else {
                continue;
            };
            let Kind::Branch(branch) = site.kind else {
                continue;
            };
            let waits = [branch.taken, branch.passed].contains(&Way::Waits);
            *tells.entry(name).or_default() |= waits;
        }
        for (name, expected) in [("waits_and_counts", false), ("waits_for_many", true)] {
            if let Some(tells) = tells.get(name) {
                assert_eq!(*tells, expected, "{}: {name}", program.name);
            }
        }
    }
}

/// Who has waited for two variables may have seen either change last: where the loop ends, what
/// was looked at is not known, but where the first of them is seen to have changed it may be.
#[test]
fn what_a_branch_looks_at_is_all_that_its_loop_waits_for() {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("waits.c", directory.path(), &["-fno-inline"]) {
        let functions = functions(&program.path);
        let analysis = fathomp_rewriting::analyse(&program.path, 0).unwrap();
        let mut looks: BTreeMap<&str, Vec<bool>> = BTreeMap::new();
        for site in &analysis.branches {
            let name = functions.range(..=site.address).next_back();
            if let (Some((_, name)), Kind::Branch(branch)) = (name, site.kind)
                && [branch.taken, branch.passed].contains(&Way::Came)
            {
                let known = looks.entry(name).or_default();
                known.push(branch.looks_at.is_some());
            }
        }
        if let Some(known) = looks.get("waits_for_both") {
            assert!(known.contains(&false), "{}: {known:?}", program.name);
        }
        if let Some(known) = looks.get("waits_until_set") {
            let is_plain = program.name.contains("-O0");
            assert!(is_plain || !known.contains(&false), "{}", program.name);
        }
    }
}

#[test]
fn whoever_waits_without_a_fence_tells_when_it_has_waited() {
    let directory = tempfile::tempdir().unwrap();
    for program in builds("handover.c", directory.path(), &[]) {
        let analysis = fathomp_rewriting::analyse(&program.path, 0).unwrap();
        let mut waits = analysis.waits.iter();
        assert!(waits.all(|wait| wait.led), "{}", program.name);
        for trap in [false, true] {
            let how = How { trap, moved: false };
            let patched = run_patched(&program, "", how);
            let (said, seen) = (text(&patched.stdout), text(&patched.stderr));
            let (waited, came) = (number(&said, "waited "), number(&seen, "came "));
            assert_eq!(came, waited, "{} {trap}", program.name);
            // Where it is known what they looked at, it was one of two variables. Without
            // optimisation the address is gone when the branch comes.
            let variables = ["turn ", "looked "].map(|name| after(&said, name));
            let mut known = 0;
            for line in seen.lines().filter_map(|line| line.strip_prefix("at ")) {
                let parts: Vec<_> = line.split(' ').collect();
                assert!(variables.contains(&parts[0]), "{}: {line}", program.name);
                assert_eq!(parts[1], "4", "{}: {line}", program.name);
                known += parts[2].parse::<u64>().unwrap();
            }
            let rounds = came / 6;
            let is_plain = program.name.ends_with("O0");
            let enough = known >= 4 * rounds || is_plain;
            assert!(enough, "{}: {known} of {came}\n{seen}", program.name);
        }
    }
}

#[test]
fn a_damaged_program_is_refused_or_read_but_never_a_panic() {
    let directory = tempfile::tempdir().unwrap();
    let program = builds("atomics.c", directory.path(), &[]).remove(0);
    let whole = std::fs::read(&program.path).unwrap();
    let path = directory.path().join("damaged");
    let look = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        fathomp_rewriting::analyse(&path, usize::MAX - 0x1000)
    };
    let short = look(&whole[..100]).unwrap_err().to_string();
    assert!(short.contains("is damaged or no ELF program"), "{short}");
    for length in (0..whole.len()).step_by(whole.len() / 200) {
        let _ = look(&whole[..length]);
    }
    // A small generator: the same damage each time.
    let mut state = 1_u64;
    for _ in 0..400 {
        let mut bytes = whole.clone();
        for _ in 0..4 {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            // Headers and tables more often than the rest.
            let within = if state & 1 == 0 { 1024 } else { bytes.len() };
            let at = usize::try_from(state >> 33).unwrap() % within;
            bytes[at] = (state >> 20) as u8;
        }
        let _ = look(&bytes);
    }
    let missing = fathomp_rewriting::analyse(&directory.path().join("missing"), 0);
    assert!(missing.unwrap_err().to_string().contains("cannot be read"));
}
