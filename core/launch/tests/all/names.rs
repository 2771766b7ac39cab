//! Every name is written once in the sources, and the documentation says what it is.

use fathomp_launch::Variable;
use fathomp_launch::names::{ALL, DEVELOPMENT};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What all our names begin with.
const PREFIX: &str = "FATHOMP_";
/// What the compiler and its build scripts tell each other, which wants literals.
const WANT_LITERALS: [&str; 3] = ["env!(", "option_env!(", "cargo::rustc-env="];

fn workspace() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).expect("two levels up").to_owned()
}

/// Rust sources below a directory that are no tests.
fn sources(directory: &Path, found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    for entry in entries {
        let path = entry.expect("a readable entry").path();
        let name = path.file_name().unwrap_or_default();
        if path.is_dir() {
            if name != "tests" {
                sources(&path, found);
            }
        } else if path.extension().is_some_and(|end| end == "rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// Lines of code, before a file's own tests, in which a name of ours stands.
fn lines_with_names(text: &str) -> Vec<usize> {
    let code = text
        .lines()
        .take_while(|line| line.trim() != "#[cfg(test)]");
    let is_named = |line: &str| {
        let begins = line.match_indices(PREFIX).map(|(at, _)| at + PREFIX.len());
        let mut after = begins.filter_map(|at| line[at..].chars().next());
        after.any(|next| next.is_ascii_uppercase())
    };
    code.enumerate()
        .filter(|(_, line)| !line.trim_start().starts_with("//"))
        .filter(|(_, line)| !WANT_LITERALS.iter().any(|macros| line.contains(macros)))
        .filter(|(_, line)| is_named(line))
        .map(|(number, _)| number + 1)
        .collect()
}

#[test]
fn names_stand_nowhere_else() {
    let root = workspace();
    let mut files = Vec::new();
    let folders = |of: &Path| {
        let entries = fs::read_dir(of).into_iter().flatten();
        let paths = entries.map(|entry| entry.expect("a readable entry").path());
        paths.collect::<Vec<_>>()
    };
    // Crates of the wing `testing` may name them.
    let wings = folders(&root);
    let wings = wings.iter().filter(|wing| !wing.ends_with("testing"));
    let crates = wings.flat_map(|wing| folders(wing));
    for krate in crates.filter(|krate| krate.join("Cargo.toml").is_file()) {
        if krate != root.join("core/launch") {
            sources(&krate.join("src"), &mut files);
            sources(&krate.join("build"), &mut files);
        }
    }
    assert!(files.len() > 300, "only {} files were found", files.len());
    let mut complaints = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("a readable source");
        let shown = file.strip_prefix(&root).unwrap_or(&file).display();
        let lines = lines_with_names(&text).into_iter();
        complaints.extend(lines.map(|line| format!("{shown}:{line}")));
    }
    assert!(
        complaints.is_empty(),
        "names of variables belong into core/launch/src/names.rs: {complaints:#?}"
    );
}

#[test]
fn names_are_seen_in_code_alone() {
    let text = "// FATHOMP_A\nlet a = \"FATHOMP_B\";\nenv!(\"FATHOMP_C\")\n\
                let prefix = \"FATHOMP_\";\n#[cfg(test)]\nlet d = \"FATHOMP_D\";\n";
    assert_eq!(lines_with_names(text), [2]);
}

#[test]
fn each_name_is_there_once() {
    let all = ALL.iter().chain(DEVELOPMENT);
    let names: Vec<_> = all.map(|variable| variable.name).collect();
    let different: BTreeSet<_> = names.iter().collect();
    assert_eq!(different.len(), names.len());
    assert!(names.iter().all(|name| name.starts_with(PREFIX)));
}

/// A row of the documentation; `set_by_us` with who sets the variable and who reads it.
fn row(variable: &Variable, set_by_us: bool) -> String {
    let Variable {
        name,
        values,
        default,
        set_by,
        read_by,
        meaning,
    } = variable;
    match set_by_us {
        false => format!("| `{name}` | {values} | {default} | {meaning} |"),
        true => format!("| `{name}` | {values} | {default} | {set_by} | {read_by} | {meaning} |"),
    }
}

#[test]
fn the_documentation_has_a_row_for_each() {
    let path = workspace().join("docs/environment.md");
    let text = fs::read_to_string(path).expect("docs/environment.md");
    let written: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with(&format!("| `{PREFIX}")))
        .collect();
    let (users, ours): (Vec<&Variable>, _) = ALL.iter().partition(|one| one.set_by == "you");
    let users = users.into_iter().map(|variable| row(variable, false));
    let ours = ours.into_iter().map(|variable| row(variable, true));
    let development = DEVELOPMENT.iter().map(|variable| row(variable, false));
    let expected: Vec<String> = users.chain(ours).chain(development).collect();
    assert!(
        written == expected,
        "docs/environment.md is to have these rows:\n{}",
        expected.join("\n")
    );
}
