//! Licences of everything that is linked into the packages.

use super::files::{Outcome, because, copy, files_below, output, read_dir, write};
use serde_json::Value;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

/// What else is linked in, which is no package of cargo.
const OTHERS: &str = "\
Parts of GCC (libgcc, its start-up code): GPL-3.0-or-later WITH GCC-exception-3.1, which permits any use.
Parts of the GNU C library that are linked into every program (its start-up code, libc_nonshared.a):
LGPL-2.1-or-later, with the exception for such files that permits any use.
The standard library of Rust: see RUST-COPYRIGHT.html.
";

/// Writes `THIRD-PARTY.txt` into `folder`, with all texts, and beside it what the compiler says of
/// its library.
pub(super) fn gather(root: &Path, folder: &Path) -> Outcome<()> {
    let run = |program: &str, arguments: &[&str]| {
        let named = env::var_os(program.to_uppercase()).unwrap_or_else(|| program.into());
        output(Command::new(named).current_dir(root).args(arguments))
    };
    // The command, the libraries that it carries, and the grammars, without what only tests and
    // builds need.
    let tree = run(
        "cargo",
        &[
            "tree",
            "--locked",
            "--edges=normal,no-proc-macro",
            "--prefix=none",
            "--format={p}",
            "--target=x86_64-unknown-linux-gnu",
            "-p=fathomp",
            "-p=fathomp-libraries",
            "-p=fathomp-grammars",
        ],
    )?;
    let metadata = run("cargo", &["metadata", "--locked", "--format-version=1"])?;
    let metadata: Value = serde_json::from_str(&metadata)
        .map_err(|error| format!("cargo metadata wrote what is no JSON: {error}"))?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let linked = packages.filter(|package| {
        let name = format!("{} v{}", said(&package["name"]), said(&package["version"]));
        let is_linked = tree
            .lines()
            .any(|line| line.trim_end_matches(" (*)") == name);
        is_linked && !package["source"].is_null()
    });
    write(&folder.join("THIRD-PARTY.txt"), &text(linked)?)?;

    let sysroot = run("rustc", &["--print", "sysroot"])?;
    let documents = Path::new(sysroot.trim()).join("share/doc/rust");
    let mut documents = files_below(&documents)?.into_iter();
    let copyright = documents
        .find(|file| file.ends_with("COPYRIGHT-library.html"))
        .ok_or(
            "rustc has no COPYRIGHT-library.html in share/doc/rust: install a whole toolchain",
        )?;
    copy(&copyright, &folder.join("RUST-COPYRIGHT.html"))
}

/// The packages, and each text of a licence once with those that it is for.
fn text<'a>(packages: impl Iterator<Item = &'a Value>) -> Outcome<String> {
    let mut list = format!("fathomp contains these works of others.\n\n{OTHERS}\n");
    let mut texts: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut last = None;
    for package in packages {
        last = Some(package);
        let name = said(&package["name"]);
        // Writing to a string does not fail.
        let _ = write!(
            list,
            "{name} {}: {}",
            said(&package["version"]),
            said(&package["license"])
        );
        let folder = Path::new(said(&package["manifest_path"])).parent();
        let files = read_dir(folder.unwrap_or(Path::new("/")))?;
        let files: Vec<_> = files.iter().filter(|file| is_licence(file)).collect();
        if files.is_empty() {
            let _ = write!(list, ", without a text of it; by {}", package["authors"]);
        }
        list.push('\n');
        for file in files {
            let text = fs::read_to_string(file).map_err(because("read", file))?;
            texts.entry(text.trim().to_owned()).or_default().push(name);
        }
    }
    last.ok_or("cargo names no package that is linked in: is Cargo.lock whole?")?;
    for (text, names) in texts {
        let _ = write!(
            list,
            "\n{}\n{}\n\n{text}\n",
            "=".repeat(80),
            names.join(", ")
        );
    }
    Ok(list)
}

fn said(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn is_licence(file: &Path) -> bool {
    let name = file
        .file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .to_uppercase();
    let begins = [
        "LICENSE",
        "LICENCE",
        "COPYING",
        "COPYRIGHT",
        "NOTICE",
        "UNLICENSE",
    ];
    file.is_file() && begins.iter().any(|begin| name.starts_with(begin))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn each_text_stands_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("LICENSE-MIT"), "Permission is granted\n").unwrap();
        let bare = tempfile::tempdir().unwrap();
        let package = |name: &str, folder: &Path| {
            json!({"name": name, "version": "1", "license": "MIT", "authors": ["A"],
                   "manifest_path": folder.join("Cargo.toml")})
        };
        let all = [("a", &folder), ("b", &folder), ("c", &bare)];
        let all = all.map(|(name, folder)| package(name, folder.path()));
        let text = text(all.iter()).unwrap();
        assert_eq!(text.matches("Permission is granted").count(), 1);
        assert!(text.contains("\na, b\n\nPermission"), "{text}");
        assert!(
            text.contains("c 1: MIT, without a text of it; by [\"A\"]\n"),
            "{text}"
        );
    }
}
