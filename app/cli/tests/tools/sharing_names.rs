//! What `fathomp sharing` calls variables and blocks, whatever compiled the program.

use crate::common::{compile_with, run};
use crate::sharing::lines;
use fathomp_requirements::{CLANG, GXX};
use libtest_mimic::Trial;

/// Counters of threads side by side in a static structure, an array of the caller's, and one
/// that lies within a function.
const SIDE_BY_SIDE: &str = r#"
#include <omp.h>
struct stat { long hits, misses; };
static struct stat stats[8];
static void count(volatile long *own)
{
    static long calls[8] __attribute__((aligned(64)));
    int me = omp_get_thread_num();
    for (int i = 0; i < 1000; i++) {
        ((volatile struct stat *)stats)[me].misses++;
        ((volatile long *)calls)[me]++;
        own[me]++;
    }
}
int main(void)
{
    long local[8] __attribute__((aligned(64))) = { 0 };
#pragma omp parallel
    count(local);
    return local[0] == 0;
}
"#;

/// Compilers write where variables are in different ways.
fn checked_side_by_side(compiler: &str, all: &[&str]) {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    for (number, options) in all.iter().enumerate() {
        let name = format!("side{number}");
        let options: Vec<_> = options.split(' ').chain(["-g", "-fopenmp"]).collect();
        compile_with(compiler, at, &name, SIDE_BY_SIDE, &options);
        let ended = run(at, &format!("sharing --json --nodes 2 -- ./{name}"));
        let found = ended.succeeded().json();
        let lines = lines(&found);
        let has = |name: &str, part: &str| {
            let mut all = lines.iter();
            all.any(|(kind, n, parts)| {
                kind == "false" && n == name && parts.iter().any(|p| p == part)
            })
        };
        let named =
            has("stats", "stats[1].misses") && has("calls", "calls[1]") && has("local", "local[1]");
        assert!(named && lines.len() == 3, "{options:?}: {lines:?}");
        for line in found["lines"].as_array().unwrap() {
            let declared = line["declared"]["line"].as_u64();
            let expected = match line["name"].as_str() {
                Some("stats") => 4,
                Some("calls") => 7,
                _ => 17,
            };
            assert_eq!(declared, Some(expected), "{options:?}: {line}");
        }
    }
}

fn gcc_names_variables_wherever_they_lie() {
    checked_side_by_side(
        "gcc",
        &["-O0", "-O2 -gsplit-dwarf", "-O3 -gdwarf-4 -gsplit-dwarf"],
    );
}

fn so_does_clang() {
    checked_side_by_side(
        "clang",
        &["-O0", "-O2", "-O2 -gdwarf-4", "-O1 -gsplit-dwarf"],
    );
}

/// What blocks are called that stand on lines with other assignments.
fn blocks_are_named_after_what_receives_them() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let source = r#"
#include <memory>
#include <omp.h>
#include <vector>
struct Item { int value; };
static long looked;
static void look(std::shared_ptr<Item> item) { looked += item->value; }
int main()
{
    std::vector<std::shared_ptr<Item>> items;
    for (int i = 0; i < 4; i++) items.push_back(std::make_shared<Item>());
    std::vector<long> sums; for (int k = 0; k < 8; k++) sums.push_back(k);
#pragma omp parallel
    for (int i = 0; i < 500; i++) {
        std::shared_ptr<Item> copy = items[0];
        ((volatile long *)sums.data())[omp_get_thread_num()] += copy->value + 1;
    }
    look(items[1]);
    return sums[0] == 0;
}
"#;
    for options in [["-O0"], ["-O2"]] {
        let options: Vec<_> = options.into_iter().chain(["-g", "-fopenmp"]).collect();
        compile_with("g++", at, "blocks", source, &options);
        let ended = run(at, "sharing --json --nodes 2 -- ./blocks");
        let found = ended.succeeded().json();
        let lines = lines(&found);
        let has = |kind: &str, name: &str| lines.iter().any(|(k, n, _)| k == kind && n == name);
        assert!(has("false", "sums"), "{options:?}: {lines:?}");
        assert!(
            has("true", "reference counts of shared_ptr"),
            "{options:?}: {lines:?}"
        );
        assert_eq!(lines.len(), 2, "{options:?}: {lines:?}");
        let mend = found["lines"].as_array().unwrap().iter();
        let mut mend = mend.map(|line| line["mend"].as_str().unwrap_or_default());
        assert!(mend.any(|said| said.contains("pass it by reference")));
    }
}

pub(crate) fn trials() -> Vec<Trial> {
    let mut all: Vec<_> = trials!["sharing_names", gcc_names_variables_wherever_they_lie].into();
    all.extend(trials!["sharing_names", &[CLANG] => so_does_clang]);
    all.extend(trials!["sharing_names", &[GXX] => blocks_are_named_after_what_receives_them]);
    all
}
