//! Compiles tree-sitter's grammars and links each into a library of its own, for embedding.

use fathomp_embed::pack::{self, Nested};
use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The constants of the bundles, and the functions that grammars consist of.
const GRAMMARS: [(&str, &str); 3] = [
    ("C", "tree_sitter_c"),
    ("CPP", "tree_sitter_cpp"),
    ("FORTRAN", "tree_sitter_fortran"),
];

/// This crate itself, for the sake of the grammars alone.
const CODE: Nested<'_> = Nested {
    krate: "grammars",
    features: "code",
    profile: "release",
    folder: "grammars",
};

fn main() -> Result<(), Box<dyn Error>> {
    for input in ["build", "src/code.rs", "Cargo.toml"] {
        println!("cargo::rerun-if-changed={input}");
    }
    println!("cargo::rerun-if-env-changed=CC");
    if env::var_os("CARGO_FEATURE_LOAD").is_none() {
        return Ok(());
    }
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = manifest
        .parent()
        .and_then(Path::parent)
        .ok_or("binary/grammars must lie two levels below the workspace")?;
    let archive = pack::static_library(CODE, workspace, &out)?;
    for (constant, function) in GRAMMARS {
        let name = format!("lib{function}.so");
        let library = out.join(&name);
        link(&archive, function, &library)?;
        pack::bundle(&out, constant, &[(&name, library)])?;
    }
    Ok(())
}

/// Links what the function needs, which is C alone.
fn link(archive: &Path, function: &str, library: &Path) -> Result<(), Box<dyn Error>> {
    let compiler = env::var_os("CC").unwrap_or_else(|| "cc".into());
    let mut command = Command::new(compiler);
    command
        .args(["-shared", "-s", "-Wl,--gc-sections", "-Wl,--no-undefined"])
        .args(["-Wl,-z,noexecstack", "-Wl,-z,now", "-Wl,-z,relro"])
        .arg(format!("-Wl,--undefined={function}"))
        .arg(archive)
        .arg("-o")
        .arg(library);
    let status = command.status().map_err(|error| {
        format!("no C compiler to link a grammar ({error}): install gcc, or set CC")
    })?;
    if status.success() {
        Ok(())
    } else {
        Err(format!("linking a grammar failed: {command:?}").into())
    }
}
