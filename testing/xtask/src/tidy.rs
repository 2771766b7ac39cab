//! Rules for the tree that no compiler checks. They run as a test.

use crate::circles;
use crate::decisions;
use crate::examples;
use crate::main_job;
use crate::observers;
use crate::paths;
use crate::walls;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Longer files hold more than one idea.
const LINES_MAX: usize = 600;
/// Never looked into.
const SKIPPED: [&str; 3] = [".git", "target", "snapshots"];

/// The files to look at.
struct Tree {
    files: Vec<PathBuf>,
    /// Why these are not those that git tracks, if they are not.
    untracked: Option<String>,
}

/// Everything wrong with the tree, one sentence each.
pub(crate) fn complaints(root: &Path) -> io::Result<Vec<String>> {
    let tree = tree(root)?;
    if let Some(why) = tree.untracked {
        eprintln!(
            "git does not say which files it tracks ({why}), so all files are looked at, \
             the results of programs that were run here as well"
        );
    }
    let mut complaints = Vec::new();
    for file in tree.files {
        let kind = file.extension().and_then(|e| e.to_str()).unwrap_or("");
        if !matches!(
            kind,
            "rs" | "md" | "c" | "cpp" | "f90" | "js" | "css" | "html"
        ) {
            continue;
        }
        let Ok(text) = fs::read_to_string(&file) else {
            complaints.push(format!("{}: is not text", shown(root, &file)));
            continue;
        };
        let name = shown(root, &file);
        if let Some(found) = too_long(&text) {
            complaints.push(format!("{name}: {found}"));
        }
        if kind == "rs" && !is_documented(&file, &text) {
            complaints.push(format!(
                "{name}: does not begin with module documentation (//!)"
            ));
        }
        if kind == "rs"
            && let Some(found) = observers::complaint(&name, &text)
        {
            complaints.push(format!("{name}: {found}"));
        }
        if kind == "rs"
            && let Some(found) = examples::complaint(&file, &text)?
        {
            complaints.push(format!("{name}: {found}"));
        }
        if kind == "md" {
            complaints
                .extend(dead_links(root, &file, &text).map(|found| format!("{name}: {found}")));
            let dead = paths::dead(root, &file, &text);
            complaints.extend(dead.iter().map(|found| format!("{name}: {found}")));
        }
    }
    complaints.extend(walls::complaints(root)?);
    complaints.extend(main_job::complaints(root)?);
    complaints.extend(circles::complaints(root)?);
    complaints.extend(decisions::complaints(root)?);
    Ok(complaints)
}

/// The files that git tracks, else all there are.
fn tree(root: &Path) -> io::Result<Tree> {
    let (mut files, untracked) = match tracked(root) {
        Ok(files) => (files, None),
        Err(why) => {
            let mut files = Vec::new();
            collect(root, &mut files)?;
            (files, Some(why))
        }
    };
    files.sort();
    Ok(Tree { files, untracked })
}

/// The files that git tracks and that are there; or why it does not say. What
/// programs left in the tree when they were run there is not ours to judge.
fn tracked(root: &Path) -> Result<Vec<PathBuf>, String> {
    let listed = Command::new("git")
        .current_dir(root)
        .args(["ls-files", "-z", "--cached"])
        .output()
        .map_err(|error| error.to_string())?;
    if !listed.status.success() {
        let said = String::from_utf8_lossy(&listed.stderr);
        return Err(said.lines().next().unwrap_or("no reason given").to_owned());
    }
    let files: Vec<PathBuf> = listed
        .stdout
        .split(|byte| *byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| Path::new(OsStr::from_bytes(name)))
        .filter(|name| !name.iter().any(|part| SKIPPED.iter().any(|s| part == *s)))
        .map(|name| root.join(name))
        .filter(|file| file.is_file())
        .collect();
    // A repository around an unpacked archive tracks none of its files.
    if files.is_empty() {
        return Err("it tracks none of them".to_owned());
    }
    Ok(files)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
            continue;
        }
        if kind.is_dir() {
            collect(&entry.path(), files)?;
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn shown(root: &Path, file: &Path) -> String {
    file.strip_prefix(root)
        .unwrap_or(file)
        .display()
        .to_string()
}

fn too_long(text: &str) -> Option<String> {
    let lines = text.lines().count();
    (lines > LINES_MAX).then(|| format!("has {lines} lines, more than {LINES_MAX}: split it"))
}

/// Modules say what they are; unit tests beside a module need not repeat it.
fn is_documented(file: &Path, text: &str) -> bool {
    file.file_name().is_some_and(|name| name == "tests.rs")
        || text.starts_with("//!")
        || text.starts_with("#![doc")
}

/// Relative links to files that do not exist.
fn dead_links<'a>(
    root: &'a Path,
    file: &'a Path,
    text: &'a str,
) -> impl Iterator<Item = String> + use<'a> {
    links(text).filter_map(move |link| {
        let path = link.split(['#', '?']).next().unwrap_or("");
        if path.is_empty() || link.contains("://") || link.starts_with("mailto:") {
            return None;
        }
        let base = match path.strip_prefix('/') {
            Some(absolute) => root.join(absolute),
            None => file.parent().unwrap_or(root).join(path),
        };
        (!base.exists()).then(|| format!("links to {link}, which does not exist"))
    })
}

/// Targets of `[text](target)`, code blocks left out.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    text.lines()
        .filter(move |line| {
            if line.trim_start().starts_with("```") {
                in_code = !in_code;
            }
            !in_code
        })
        .flat_map(|line| line.split("](").skip(1))
        .filter_map(|rest| rest.split(')').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tree_is_tidy() {
        let complaints = complaints(crate::workspace()).unwrap();
        assert!(complaints.is_empty(), "\n{}", complaints.join("\n"));
    }

    #[test]
    fn what_git_does_not_track_is_not_looked_at() {
        let tree = TempTree::new("untracked");
        let git = |arguments: &[&str]| {
            let status = Command::new("git")
                .current_dir(&tree.0)
                .args(arguments)
                .status();
            status.is_ok_and(|status| status.success())
        };
        let long = "x\n".repeat(LINES_MAX + 1);
        fs::write(tree.0.join("kept.md"), &long).unwrap();
        fs::write(tree.0.join("report.html"), &long).unwrap();
        // Without a repository of its own (or without git) everything counts.
        if git(&["init", "--quiet"]) && git(&["add", "kept.md"]) {
            let found = complaints(&tree.0).unwrap();
            assert!(
                matches!(&found[..], [one] if one.starts_with("kept.md")),
                "{found:?}"
            );
        }
        fs::remove_dir_all(tree.0.join(".git")).unwrap_or_default();
        assert_eq!(complaints(&tree.0).unwrap().len(), 2);
    }

    /// A directory, removed at the end of a test.
    struct TempTree(PathBuf);

    impl TempTree {
        fn new(name: &str) -> Self {
            let name = format!("fathomp-tidy-{name}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for TempTree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn links_are_found_outside_code() {
        let text = "see [a](b.md) and [c](d/e.md#part)\n```\n[x](y)\n```\n[z](https://z)";
        assert_eq!(
            links(text).collect::<Vec<_>>(),
            ["b.md", "d/e.md#part", "https://z"]
        );
    }

    #[test]
    fn a_dead_link_is_named() {
        let root = crate::workspace();
        let file = root.join("README.md");
        let found: Vec<_> =
            dead_links(root, &file, "[a](no-such-file.md) [b](Cargo.toml)").collect();
        assert_eq!(found, ["links to no-such-file.md, which does not exist"]);
    }

    #[test]
    fn a_long_file_is_named() {
        assert!(too_long(&"x\n".repeat(LINES_MAX)).is_none());
        assert!(too_long(&"x\n".repeat(LINES_MAX + 1)).is_some());
    }
}
