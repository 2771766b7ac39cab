//! Examples in documentation run as tests, or there are none: cargo takes a second for each crate
//! to find out, so crates without any say that there is nothing to run.

use std::fs;
use std::io;
use std::path::Path;

/// What a crate's Cargo.toml says if it has no examples.
const NONE: &str = "doctest = false";

/// What is wrong with a file of a crate.
pub(crate) fn complaint(file: &Path, text: &str) -> io::Result<Option<&'static str>> {
    if !has_example(text) {
        return Ok(None);
    }
    let manifests = file.ancestors().map(|folder| folder.join("Cargo.toml"));
    let Some(manifest) = manifests.into_iter().find(|path| path.is_file()) else {
        return Ok(None);
    };
    let is_run = !fs::read_to_string(manifest)?.contains(NONE);
    Ok((!is_run).then_some(
        "its documentation has an example that no test runs: take `doctest = false` out of the crate's Cargo.toml",
    ))
}

/// Whether documentation in these sources has a block of code.
fn has_example(text: &str) -> bool {
    let documentation = text.lines().filter_map(|line| {
        let line = line.trim_start();
        line.strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"))
    });
    let mut inside = false;
    let mut fences = documentation.filter_map(|line| line.trim_start().strip_prefix("```"));
    fences.any(|language| {
        inside = !inside;
        inside && !language.starts_with("text")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_example_that_no_test_runs_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let manifest = folder.path().join("Cargo.toml");
        let file = folder.path().join("src/lib.rs");
        let example = "/// Adds.\n///\n/// ```\n/// assert_eq!(1 + 1, 2);\n/// ```\nfn add() {}\n";
        let drawing = "//! ```text\n//! a -> b\n//! ```\n// ```\n";
        fs::write(&manifest, "[lib]\ndoctest = false\n").unwrap();
        assert!(complaint(&file, example).unwrap().is_some());
        assert!(complaint(&file, drawing).unwrap().is_none());
        fs::write(&manifest, "[package]\nname = \"x\"\n").unwrap();
        assert!(complaint(&file, example).unwrap().is_none());
    }
}
