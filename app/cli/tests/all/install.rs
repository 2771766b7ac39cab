//! Completions and manual pages: made for every command, and accepted by what reads them.

use crate::common::run;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The commands that `fathomp HELP-OF --help` lists.
fn commands(directory: &Path, of: &str) -> Vec<String> {
    let help = run(directory, &format!("{of} --help"));
    help.succeeded();
    let text = help.text();
    let listed = text.split("Options:\n").next().unwrap_or_default();
    listed
        .lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn every_command_has_its_page() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(directory.path(), "man pages/man1");
    ended.succeeded();
    let pages = directory.path().join("pages/man1");
    let there: BTreeSet<_> = fs::read_dir(&pages)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    let mut expected = BTreeSet::from(["fathomp.1".to_owned()]);
    let all = commands(directory.path(), "");
    assert!(all.len() > 12, "{all:?}");
    for name in &all {
        expected.insert(format!("fathomp-{name}.1"));
        if name == "workload" {
            for below in commands(directory.path(), name) {
                expected.insert(format!("fathomp-{name}-{below}.1"));
            }
        }
    }
    assert_eq!(there, expected);
    for name in &there {
        let text = fs::read_to_string(pages.join(name)).unwrap();
        assert!(text.contains(".SH SYNOPSIS"), "{name}");
        let words = name.trim_end_matches(".1").replace('-', " ");
        assert!(
            text.replace("\\-", "-")
                .replace("\\fB", "")
                .replace("\\fR", "")
                .contains(&words),
            "{name} calls the command {words}"
        );
    }
    // Written again, they are replaced.
    run(directory.path(), "man pages/man1").succeeded();
}

#[test]
fn pages_go_where_they_can_be_written() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), "").unwrap();
    run(directory.path(), "man file/man1").refused(1, "choose another place");
}

#[test]
fn bash_accepts_and_uses_the_script() {
    let directory = tempfile::tempdir().unwrap();
    let ended = run(directory.path(), "completions bash");
    ended.succeeded();
    let script = directory.path().join("fathomp.bash");
    fs::write(&script, &ended.stdout).unwrap();
    let checked = Command::new("bash")
        .arg("-n")
        .arg(&script)
        .output()
        .unwrap();
    assert!(checked.status.success(), "{checked:?}");
    // What bash does when a user types the words and presses the tabulator key.
    let complete = |words: &[&str]| {
        let last = words.len() - 1;
        let line = format!(
            ". ./fathomp.bash; COMP_WORDS=({}); COMP_CWORD={last}; COMPREPLY=(); \
             _fathomp fathomp '{}' '{}'; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            words.join(" "),
            words[last],
            words[last - 1],
        );
        let ended = Command::new("bash")
            .args(["-c", &line])
            .current_dir(directory.path())
            .output()
            .unwrap();
        assert!(ended.status.success(), "{ended:?}");
        String::from_utf8(ended.stdout).unwrap()
    };
    assert_eq!(complete(&["fathomp", "stu"]), "study\n");
    assert_eq!(complete(&["fathomp", "run", "--thr"]), "--threads\n");
    assert_eq!(complete(&["fathomp", "workload", "veri"]), "verify\n");
    assert_eq!(
        complete(&["fathomp", "workload", "run", "--runtime", "fath"]),
        "fathomp\n"
    );
}

#[test]
fn other_shells_have_scripts_too() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["zsh", "fish", "elvish", "powershell"] {
        let ended = run(directory.path(), &format!("completions {shell}"));
        ended.succeeded();
        assert!(ended.text().contains("calibrate"), "{shell}");
    }
    let json = run(directory.path(), "completions fish --json").json();
    assert_eq!(json["shell"], "fish");
    let refused = run(directory.path(), "completions tcsh");
    assert_eq!(refused.in_words().code, Some(2));
}
