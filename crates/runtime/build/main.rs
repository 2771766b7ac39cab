//! Builds the runtime library and the calibration probe for embedding.
//!
//! Cargo cannot depend on a static library linked by the C compiler with
//! symbol versions, so this script builds `fathomp-abi` with a nested cargo
//! and links it itself (`docs/decisions/0001`).

mod cargo;
mod link;
mod tap;

use link::Edition;
use sha2::{Digest, Sha256};
use std::env;
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose code ends up in the libraries.
const PARTS: [&str; 15] = [
    "abi",
    "feed",
    "tap",
    "paging",
    "ring",
    "node",
    "dsm",
    "transport",
    "heap",
    "board",
    "omp",
    "patch",
    "trace",
    "sys",
    "base",
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = manifest
        .parent()
        .and_then(Path::parent)
        .ok_or("crates/runtime must lie two levels below the workspace")?;
    declare_inputs(workspace);

    let library = out.join("libgomp.so.1");
    let cluster = out.join("cluster.so");
    let tap = out.join("libfathomp-tap.so");
    if let Some(ready) = env::var_os("FATHOMP_RUNTIME_LIBRARY") {
        // For packagers and cross builds: a library that is already linked.
        println!(
            "cargo::rerun-if-changed={}",
            PathBuf::from(&ready).display()
        );
        fs::copy(&ready, &library)?;
        let ready = env::var_os("FATHOMP_CLUSTER_LIBRARY")
            .ok_or("with FATHOMP_RUNTIME_LIBRARY, FATHOMP_CLUSTER_LIBRARY must be set too")?;
        fs::copy(ready, &cluster)?;
        let ready = env::var_os("FATHOMP_TAP_LIBRARY")
            .ok_or("with FATHOMP_RUNTIME_LIBRARY, FATHOMP_TAP_LIBRARY must be set too")?;
        fs::copy(ready, &tap)?;
    } else {
        let archive = cargo::build_archive("tap", workspace, &out)?;
        tap::library(
            &archive,
            &workspace.join("crates/tap/c/variadic.c"),
            &out,
            &tap,
        )?;
        let archive = cargo::build_archive("abi", workspace, &out)?;
        let text = |name: &str| fs::read_to_string(workspace.join("crates/abi").join(name));
        let interface = text("libgomp.map")?;
        let unloading = workspace.join("crates/abi/unloading-older.s");
        let map = out.join("plain.map");
        fs::write(&map, interface.clone() + &text("unloading.map")?)?;
        link::library(&archive, &map, &unloading, &Edition::Plain, &library)?;
        let map = out.join("cluster.map");
        fs::write(&map, interface + &text("cluster.map")?)?;
        let older = workspace.join("crates/abi/cluster-older.s");
        let tls = workspace.join("crates/abi/cluster-tls.s");
        let edition = Edition::Cluster { older, tls };
        link::library(&archive, &map, &unloading, &edition, &cluster)?;
    }
    let probe = out.join("probe");
    link::probe(&manifest.join("probe"), &library, &probe)?;

    let mut hash = Sha256::new();
    for file in [&library, &cluster, &tap, &probe] {
        hash.update(fs::read(file)?);
    }
    let hex: String = hash.finalize().iter().map(|b| format!("{b:02x}")).collect();
    println!("cargo::rustc-env=FATHOMP_RUNTIME_SHA256={hex}");
    Ok(())
}

fn declare_inputs(workspace: &Path) {
    for part in PARTS {
        for input in ["src", "Cargo.toml"] {
            let path = workspace.join("crates").join(part).join(input);
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    for input in [
        "Cargo.toml",
        "crates/abi/libgomp.map",
        "crates/abi/unloading.map",
        "crates/abi/unloading-older.s",
        "crates/abi/cluster.map",
        "crates/abi/cluster-older.s",
        "crates/abi/cluster-tls.s",
        "crates/tap/c",
        "crates/runtime/probe",
        "crates/runtime/build",
    ] {
        let path = workspace.join(input);
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for variable in [
        "CC",
        "FATHOMP_RUNTIME_LIBRARY",
        "FATHOMP_CLUSTER_LIBRARY",
        "FATHOMP_TAP_LIBRARY",
    ] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
}
