//! The main job: recording, analysing and predicting programs on one machine, which is built and
//! tested without clusters and paging.
//!
//! Its crates are those of a few wings. Where they need a crate of another wing, that is optional.

use crate::walls::{members, names_of};
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

/// The wings of the main job.
const WINGS: [&str; 6] = ["core", "binary", "records", "openmp", "model", "app"];
/// The wings that it does without.
const OTHERS: [&str; 2] = ["cluster", "paging"];

/// Runs a command of cargo, such as `test`, on the crates of the main job, without the other wings;
/// whether it ended well.
pub(crate) fn cargo(root: &Path, command: &str, arguments: &[&str]) -> io::Result<bool> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut cargo = Command::new(cargo);
    cargo
        .current_dir(root)
        .args([command, "--no-default-features"]);
    for (folder, manifest) in manifests(root)? {
        if WINGS.contains(&wing_of(&folder))
            && let Some(name) = name_of(&manifest)
        {
            cargo.args(["--package", name]);
        }
    }
    Ok(cargo.args(arguments).status()?.success())
}

/// Crates of the main job that cannot be built or tested without another wing, one sentence each.
pub(crate) fn complaints(root: &Path) -> io::Result<Vec<String>> {
    Ok(compulsory(&manifests(root)?))
}

/// The manifests of all crates, by folder.
fn manifests(root: &Path) -> io::Result<Vec<(String, String)>> {
    let read = members(root)?.into_iter().map(|folder| {
        let name = folder.strip_prefix(root).unwrap_or(&folder);
        let text = fs::read_to_string(folder.join("Cargo.toml"))?;
        Ok((name.display().to_string(), text))
    });
    read.collect()
}

fn name_of(manifest: &str) -> Option<&str> {
    let name = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name = "))?;
    Some(name.trim_matches('"'))
}

fn wing_of(folder: &str) -> &str {
    folder.split('/').next().unwrap_or_default()
}

fn compulsory(manifests: &[(String, String)]) -> Vec<String> {
    let folders: BTreeMap<&str, &String> = manifests
        .iter()
        .filter_map(|(folder, manifest)| Some((name_of(manifest)?, folder)))
        .collect();
    let of_main_job = manifests
        .iter()
        .filter(|(folder, _)| WINGS.contains(&wing_of(folder)));
    let mut complaints = Vec::new();
    for (folder, manifest) in of_main_job {
        for (line, name) in names_of(manifest) {
            let Some(other) = folders.get(name) else {
                continue;
            };
            let optional = line.contains("optional = true");
            if OTHERS.contains(&wing_of(other)) && !optional {
                complaints.push(format!(
                    "{folder}: cannot do without {other}: make the dependency optional, behind the \
                     feature of its wing"
                ));
            }
        }
    }
    complaints
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(line: &str) -> Vec<String> {
        let manifests = [
            ("cluster/hosts", "name = \"fathomp-hosts\"\n".to_owned()),
            (
                "app/cli",
                format!("name = \"fathomp\"\n[dependencies]\nserde.workspace = true\n{line}\n"),
            ),
        ];
        compulsory(&manifests.map(|(folder, text)| (folder.to_owned(), text)))
    }

    #[test]
    fn a_dependency_on_another_wing_is_optional() {
        let optional = "fathomp-hosts = { workspace = true, optional = true }";
        assert_eq!(said(optional), [""; 0]);
        assert_eq!(said("fathomp-other.workspace = true"), [""; 0]);
        let found = said("fathomp-hosts.workspace = true");
        assert!(
            found[0].starts_with("app/cli: cannot do without cluster/hosts"),
            "{found:?}"
        );
    }

    #[test]
    fn tests_are_no_excuse() {
        let found = said("[dev-dependencies]\nfathomp-hosts.workspace = true");
        assert_eq!(found.len(), 1, "{found:?}");
    }
}
