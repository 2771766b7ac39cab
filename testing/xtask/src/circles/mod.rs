//! Imports inside a crate run one way: no file depends on one that depends on it, and
//! neither do folders, each being one with all that lies in it.
//!
//! A file depends on the files that define the names which it takes, wherever these names
//! are handed on from: `pub use` is a door, not a dependency. Names of tests do not count.
//! What only methods of values tie together is not seen. Between crates cargo sees to it.

mod graph;
mod left;
mod names;
mod resolve;

use graph::Circle;
use left::LEFT;
use resolve::Crate;
use std::io;
use std::path::{Path, PathBuf};

/// Everything wrong with the imports of the crates under `root`, one sentence each.
pub(crate) fn complaints(root: &Path) -> io::Result<Vec<String>> {
    let mut complaints = Vec::new();
    for (name, found) in all(root)? {
        let left = LEFT.iter().find(|(of, _)| *of == name);
        let most = left.map_or(0, |(_, places)| *places);
        complaints.extend(match found {
            Ok(found) => judge(&name, &found, most),
            Err(error) => Some(format!("{name}: its imports cannot be read: {error}")),
        });
    }
    Ok(complaints)
}

/// The circles of the crates under `root` whose names contain `part`, in words.
pub(crate) fn shown(root: &Path, part: &str) -> io::Result<String> {
    let mut text = String::new();
    for (name, found) in all(root)? {
        if !name.contains(part) {
            continue;
        }
        match found {
            Ok(found) => {
                text += &format!("{name}: {} places in circles\n", places(&found));
                text.extend(found.iter().map(ToString::to_string));
            }
            Err(error) => text += &format!("{name}: {error}\n"),
        }
    }
    Ok(text)
}

/// The circles of a crate, or why its imports cannot be read.
type Found = Result<Vec<Circle>, String>;

/// The circles of every crate under `root`, by its folder.
fn all(root: &Path) -> io::Result<Vec<(String, Found)>> {
    let named = crate::walls::members(root)?.into_iter().map(|folder| {
        let name = folder.strip_prefix(root).unwrap_or(&folder);
        (name.display().to_string(), circles(&folder))
    });
    Ok(named.collect())
}

/// Circles in the crate in `folder`: in its library, and in its program.
fn circles(folder: &Path) -> Found {
    let roots: [PathBuf; 2] = ["src/lib.rs", "src/main.rs"].map(|root| folder.join(root));
    let mut all = Vec::new();
    for root in roots.iter().filter(|root| root.is_file()) {
        all.extend(graph::circles(&Crate::read(root)?));
    }
    Ok(all)
}

/// Files and folders that stand in these.
fn places(circles: &[Circle]) -> usize {
    circles.iter().map(|circle| circle.places.len()).sum()
}

/// What is wrong with the circles of a crate where `most` places may stand in some.
fn judge(name: &str, found: &[Circle], most: usize) -> Option<String> {
    let now = places(found);
    if most < now {
        let found: String = found.iter().map(ToString::to_string).collect();
        return Some(format!(
            "{name}: {now} files or folders depend on each other in circles, where {most} may: move what both ends of an arrow need to a file below them\n{found}"
        ));
    }
    (now < most).then(|| {
        format!(
            "{name}: only {now} files or folders are left in circles: write that instead of {most} in testing/xtask/src/circles/left.rs"
        )
    })
}

#[cfg(test)]
mod tests;
