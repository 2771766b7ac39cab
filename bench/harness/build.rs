//! Lists the programs under `suites/` for embedding, so that an installed
//! fathomp needs no source tree and a new file needs no list.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = manifest_directory().join("../../suites").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();
    let mut list = String::from("&[\n");
    for file in files {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        list.push_str(&format!(
            "    ({:?}, include_str!({:?})),\n",
            name.display().to_string(),
            file.display().to_string()
        ));
    }
    list.push_str("]\n");
    let output = env::var_os("OUT_DIR").map(PathBuf::from);
    let output = output.ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(output.join("sources.rs"), list)
}

fn manifest_directory() -> PathBuf {
    env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from)
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        let kind = path.extension().and_then(|kind| kind.to_str());
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, files)?;
        } else if matches!(kind, Some("c" | "h" | "f90")) {
            files.push(path);
        }
    }
    Ok(())
}
