//! Wings of the workspace, and the walls between them.
//!
//! A wing is a folder of crates. A crate may depend on crates of its own wing and of those that
//! [`WINGS`] names for it, so that whoever works in one wing need not open the others. A crate that
//! stands between wings, as the commands of one do, has a row of its own and counts as a wing.
//! Tests may use what they like.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The wings, and for each the other wings that its crates may depend on: those above it alone.
const WINGS: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("binary", &["core"]),
    ("records", &["core", "binary"]),
    ("openmp", &["core", "binary", "records"]),
    ("paging", &["core", "records"]),
    ("cluster", &["core", "binary", "records", "openmp"]),
    ("model", &["core", "binary", "records"]),
    ("bench", &["core"]),
    ("app", &["core", "binary", "records", "model", "bench"]),
    ("app/libraries", &["records", "openmp", "paging", "cluster"]),
    (
        "paging/pages",
        &["core", "records", "paging", "bench", "app"],
    ),
    (
        "paging/commands",
        &["core", "records", "paging", "bench", "app", "paging/pages"],
    ),
    (
        "cluster/commands",
        &["core", "records", "cluster", "model", "bench", "app"],
    ),
    (
        "app/cli",
        &[
            "core",
            "binary",
            "records",
            "paging",
            "openmp",
            "cluster",
            "model",
            "bench",
            "app",
            "paging/commands",
            "cluster/commands",
        ],
    ),
    (
        "testing",
        &[
            "core", "binary", "records", "paging", "openmp", "cluster", "model", "bench", "app",
        ],
    ),
];

/// The folders of all crates below `root`, sorted.
pub(crate) fn members(root: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for (wing, _) in WINGS {
        let wing = root.join(wing);
        if wing.is_dir() {
            for entry in fs::read_dir(wing)? {
                found.push(entry?.path());
            }
        }
    }
    found.retain(|folder| folder.join("Cargo.toml").is_file());
    found.sort();
    Ok(found)
}

/// The dependencies that go through a wall, one sentence each.
pub(crate) fn complaints(root: &Path) -> io::Result<Vec<String>> {
    let mut manifests = Vec::new();
    for folder in members(root)? {
        let name = folder.strip_prefix(root).unwrap_or(&folder);
        let name = name.display().to_string();
        manifests.push((name, fs::read_to_string(folder.join("Cargo.toml"))?));
    }
    Ok(through(&manifests))
}

/// The same of folders of crates and their manifests.
fn through(manifests: &[(String, String)]) -> Vec<String> {
    let names = manifests.iter().filter_map(|(folder, text)| {
        let name = text.lines().find_map(|line| line.strip_prefix("name = "))?;
        Some((name.trim_matches('"'), folder))
    });
    let folders: BTreeMap<&str, &String> = names.collect();
    let mut complaints = Vec::new();
    for (folder, text) in manifests {
        let own = wing_of(folder);
        let known = WINGS.iter().find(|(name, _)| *name == own);
        let may = known.map_or(&[][..], |(_, may)| may);
        for name in dependencies(text) {
            let Some(other) = folders.get(name) else {
                continue;
            };
            let theirs = wing_of(other);
            if theirs != own && !may.contains(&theirs) {
                complaints.push(format!(
                    "{folder}: depends on {other}, but the wing {own} may not depend on {theirs}: \
                     move what both need to a wing above, or let {other} plug in"
                ));
            }
        }
    }
    complaints
}

/// The wing of the crate in that folder.
fn wing_of(folder: &str) -> &str {
    let own_row = WINGS.iter().any(|(name, _)| *name == folder);
    let wing = folder.split('/').next().unwrap_or_default();
    if own_row { folder } else { wing }
}

/// Names of what a manifest says its crate depends on, but for its tests and its build.
fn dependencies(manifest: &str) -> impl Iterator<Item = &str> {
    let of_crate = names_of(manifest).take_while(|(line, _)| !line.starts_with('['));
    of_crate.map(|(_, name)| name)
}

/// The lines from the first dependency of a manifest on, and the name that each begins with.
pub(crate) fn names_of(manifest: &str) -> impl Iterator<Item = (&str, &str)> {
    let lines = manifest.lines();
    let lines = lines.skip_while(|line| *line != "[dependencies]").skip(1);
    lines.filter_map(|line| Some((line, line.split(['.', ' ', '=']).next()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifests(dependency: &str) -> Vec<(String, String)> {
        let scan = format!(
            "[package]\nname = \"fathomp-scan\"\n[dependencies]\n{dependency}.workspace = true\n\
             [dev-dependencies]\nfathomp-cli.workspace = true\n"
        );
        [
            ("binary/scan", scan.as_str()),
            ("app/cli", "name = \"fathomp-cli\"\n"),
            ("core/sys", "name = \"fathomp-sys\"\n"),
        ]
        .map(|(folder, text)| (folder.to_owned(), text.to_owned()))
        .to_vec()
    }

    #[test]
    fn a_dependency_on_a_wing_above_is_none_through_a_wall() {
        assert_eq!(through(&manifests("fathomp-sys")), [""; 0]);
        assert_eq!(through(&manifests("serde")), [""; 0]);
    }

    #[test]
    fn a_dependency_on_a_wing_below_is_named() {
        let found = through(&manifests("fathomp-cli"));
        assert_eq!(found.len(), 1);
        let said = "binary/scan: depends on app/cli, but the wing binary may not depend on app";
        assert!(found[0].starts_with(said), "{}", found[0]);
    }

    #[test]
    fn a_crate_with_a_row_of_its_own_is_a_wing() {
        assert_eq!(wing_of("paging/commands"), "paging/commands");
        assert_eq!(wing_of("paging/format"), "paging");
    }

    #[test]
    fn wings_depend_on_those_above_them_alone() {
        for (at, (name, may)) in WINGS.iter().enumerate() {
            for other in *may {
                let above = WINGS[..at].iter().any(|(above, _)| above == other);
                assert!(above, "{name} may depend on {other}");
            }
        }
    }
}
