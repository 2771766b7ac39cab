//! How much of given sources is understood: `cargo run -p fathomp-directives --example
//! understood -- [-v] FILE|DIRECTORY...`, a row for each argument and their sum. With `-v`,
//! also what is not understood.

use fathomp_directives::{Options, is_source, scan_file};
use fathomp_regions::{Construct, Share};
use std::path::{Path, PathBuf};
use std::time::Instant;

#[derive(Default)]
struct Row {
    files: u32,
    with_errors: u32,
    lines: u64,
    constructs: u64,
    /// Directives for loops that are followed by one.
    followed: Share,
    /// Heads that are canonical.
    heads: Share,
    /// Accesses whose subscripts are affine.
    affine: Share,
    calls: u64,
    seconds: f64,
}

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.first().is_some_and(|first| first == "-v");
    if verbose {
        arguments.remove(0);
    }
    println!(
        "{:32} {:>5} {:>6} {:>7} {:>10} {:>11} {:>13} {:>13} {:>6} {:>6}",
        "sources",
        "files",
        "errors",
        "lines",
        "constructs",
        "loop after",
        "canonical",
        "affine",
        "calls",
        "s"
    );
    let mut sum = Row::default();
    for argument in &arguments {
        let mut row = Row::default();
        let mut files = Vec::new();
        collect(Path::new(argument), &mut files);
        files.sort();
        let begin = Instant::now();
        for file in files {
            scan(&file, &mut row, verbose);
        }
        row.seconds = begin.elapsed().as_secs_f64();
        print(argument, &row);
        sum.files += row.files;
        sum.with_errors += row.with_errors;
        sum.lines += row.lines;
        sum.constructs += row.constructs;
        sum.followed.add(&row.followed);
        sum.heads.add(&row.heads);
        sum.affine.add(&row.affine);
        sum.calls += row.calls;
        sum.seconds += row.seconds;
    }
    print("all", &sum);
}

fn print(name: &str, row: &Row) {
    let tail: String = name.chars().rev().take(32).collect();
    let tail: String = tail.chars().rev().collect();
    let share = |share: &Share| format!("{}/{}", share.known, share.all);
    println!(
        "{tail:32} {:5} {:6} {:7} {:10} {:>11} {:>13} {:>13} {:6} {:6.2}",
        row.files,
        row.with_errors,
        row.lines,
        row.constructs,
        share(&row.followed),
        share(&row.heads),
        share(&row.affine),
        row.calls,
        row.seconds,
    );
}

fn collect(path: &Path, files: &mut Vec<PathBuf>) {
    if path.is_dir() {
        for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
            collect(&entry.path(), files);
        }
    } else if is_source(path) {
        files.push(path.to_owned());
    }
}

fn scan(path: &Path, row: &mut Row, verbose: bool) {
    let scanned = match scan_file(path, &Options::default()) {
        Ok(scanned) => scanned,
        Err(error) => {
            eprintln!("{error}");
            return;
        }
    };
    if scanned.constructs.is_empty() && scanned.file.unread.is_empty() {
        return;
    }
    let shown = path.display();
    row.files += 1;
    row.with_errors += u32::from(!scanned.file.unread.is_empty());
    row.lines += u64::from(scanned.file.lines);
    row.constructs += scanned.constructs.len() as u64;
    if verbose {
        for (first, last) in &scanned.file.unread {
            println!("{shown}:{first}-{last}: not read");
        }
    }
    for found in &scanned.constructs {
        count(&found.construct, row, verbose);
    }
}

fn count(construct: &Construct, row: &mut Row, verbose: bool) {
    let place = &construct.directive.place;
    let all = std::iter::once(&construct.directive).chain(&construct.inside);
    for directive in all {
        let divides = directive
            .name
            .split(' ')
            .any(|word| matches!(word, "for" | "do" | "taskloop" | "distribute" | "loop"));
        // Those with code of their own stand in their own construct.
        let own = directive.name.starts_with("parallel") || directive.name.starts_with("task");
        if !divides || own && directive.place != *place {
            continue;
        }
        let line = directive.place.line;
        let next = construct.loops.iter().filter(|one| one.worksharing);
        let followed = next
            .map(|one| one.place.line)
            .any(|at| at >= line && at < line + 40);
        row.followed.count(followed, 1.0);
        if verbose && !followed {
            println!("{}:{line}: no loop behind `{}`", place.file, directive.name);
        }
    }
    for one in &construct.loops {
        row.heads.count(one.variable.known().is_some(), 1.0);
        if let Some(reason) = one.variable.reason()
            && verbose
        {
            println!("{}:{}: {}", one.place.file, one.place.line, reason.detail);
        }
    }
    for statement in &construct.statements {
        row.calls += u64::from(statement.calls);
        for access in statement
            .accesses
            .iter()
            .filter(|one| !one.subscripts.is_empty())
        {
            let affine = access.subscripts.iter().all(|one| !one.irregular);
            row.affine.count(affine, 1.0);
            if verbose && !affine {
                println!(
                    "{}:{}: not affine: {}",
                    place.file, statement.line, access.text
                );
            }
        }
    }
}
