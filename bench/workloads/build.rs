//! Lists the sources under `workloads/` for embedding, so that an installed
//! fathomp needs no source tree and a new program needs no list.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let variable = |name: &str| {
        env::var_os(name)
            .map(PathBuf::from)
            .ok_or_else(|| io::Error::other(format!("cargo sets {name}")))
    };
    let root = variable("CARGO_MANIFEST_DIR")?
        .join("../../workloads")
        .canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        list.push_str(&format!(
            "    File {{ path: {:?}, text: include_str!({:?}) }},\n",
            name.display().to_string(),
            file.display().to_string()
        ));
    }
    list.push_str("]\n");
    fs::write(variable("OUT_DIR")?.join("sources.rs"), list)
}

/// C files, headers and the `uses` files of folders, and nothing else that may
/// lie around.
fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        if path.is_dir() {
            collect(&path, files)?;
        } else if matches!(kind, Some("c" | "h")) || path.ends_with("uses") {
            files.push(path);
        }
    }
    Ok(())
}
