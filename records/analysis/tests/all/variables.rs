//! Variables of compiled programs: where they lie, what they consist of, and what is
//! assigned to them.

use fathomp_analysis::symbols::{Active, Symbols, Variables};
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCE: &str = r#"
#include <stdlib.h>
struct cell { int n; double x[3]; };
struct { struct cell cells[4]; long last; } all;
static volatile unsigned char flags[300];
int main(void)
{
    static volatile long kept[2][3];
    struct cell *per = calloc(8, sizeof *per);
    volatile long own[5] = { 0 };
    kept[1][2] = flags[7] = 1;
    own[1] = all.last;
    return per == 0 || own[1] != 0 || kept[0][0] != 0;
}
"#;

fn compiled(directory: &Path, options: &[&str]) -> PathBuf {
    let (source, program) = (directory.join("prog.c"), directory.join("prog"));
    std::fs::write(&source, SOURCE).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-O1", "-o"]).arg(&program).arg(&source);
    assert!(gcc.args(options).status().unwrap().success());
    program
}

/// Address of a symbol by `nm`.
fn address(program: &Path, symbol: &str) -> u64 {
    let listed = Command::new("nm").arg(program).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    let found = listed.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (address, _, name) = (words.next()?, words.next()?, words.next()?);
        (name == symbol || name.starts_with(&format!("{symbol}."))).then(|| address.to_owned())
    });
    u64::from_str_radix(&found.unwrap(), 16).unwrap()
}

#[test]
fn with_debug_information_members_and_elements_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), &["-g"]);
    let variables = Variables::open(&program);
    let part = |address| variables.part(variables.at(address).unwrap(), address);
    let all = address(&program, "all");
    assert_eq!(part(all + 2), "all.cells[0].n");
    assert_eq!(part(all + 32 + 16), "all.cells[1].x[1]");
    assert_eq!(part(all + 128), "all.last");
    assert_eq!(variables.scalar(all + 50), Some(all + 48..all + 56));
    assert_eq!(variables.scalar(all + 4), None, "padding");
    let kept = address(&program, "kept");
    assert_eq!(part(kept + 40), "kept[1][2]");
    // Its last index does not fit a signed byte.
    let flags = address(&program, "flags");
    assert_eq!(part(flags + 299), "flags[299]");
    let (file, line) = variables.at(flags).unwrap().declared.clone().unwrap();
    assert!(file.ends_with("prog.c") && line == 5, "{file}:{line}");
    assert!(variables.at(1).is_none());
    let here = directory.path().join("prog.c");
    let text = SOURCE.lines().nth(8).unwrap();
    let assigned = variables.assigned((&here.to_string_lossy(), 9), text, None, 40);
    let assigned = assigned.unwrap();
    assert_eq!((&*assigned.name, &*assigned.part), ("per", "per[1].x[0]"));
    let active = Active {
        instruction: address(&program, "main") + 8,
        frame: 0x7fff_0000,
        stack: 0x7ffe_ff00,
        pointer: 0,
    };
    let mut down = (0..256).map(|down| active.frame - down);
    let own = down.find_map(|address| variables.local(active, address));
    let own = own.unwrap();
    assert_eq!(own.name, "own");
    assert_eq!(variables.part(&own, own.range.start + 16), "own[2]");
    let elsewhere = Active {
        instruction: 1,
        ..active
    };
    assert!(variables.local(elsewhere, own.range.start).is_none());
}

#[test]
fn without_it_the_symbol_table_names_variables() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), &[]);
    let variables = Variables::open(&program);
    let all = address(&program, "all");
    let found = variables.at(all + 8).unwrap();
    assert_eq!(variables.part(found, all + 8), "all+8");
    assert_eq!(
        variables.part(found, all + 13),
        "all+8",
        "no byte by itself"
    );
    assert_eq!(variables.scalar(all), None);
    let text = "    struct cell *per = calloc(8, sizeof *per);";
    let assigned = variables.assigned(("prog.c", 9), text, None, 40).unwrap();
    assert_eq!((&*assigned.name, &*assigned.part), ("per", "per"));
    assert!(!assigned.is_typed);
    let stripped = compiled(directory.path(), &["-s"]);
    assert!(Variables::open(&stripped).at(all).is_none());
}

#[test]
fn an_address_has_at_least_one_place() {
    let directory = tempfile::tempdir().unwrap();
    let program = compiled(directory.path(), &["-g"]);
    let main = address(&program, "main");
    let mut symbols = Symbols::new();
    let places = symbols.places(&program, main + 4);
    assert!(places[0].label.contains("main"), "{places:?}");
    assert_eq!(symbols.places(&program, 1).len(), 1);
    assert_eq!(symbols.places(Path::new("/nowhere"), main).len(), 1);
}
