//! Builds the runtime library and the calibration probe for embedding.
//!
//! Cargo cannot depend on a static library linked by the C compiler with
//! symbol versions, so this script builds `fathomp-libraries` with a nested cargo
//! and links that itself (`docs/decisions/0001`).

mod front;
mod link;
mod names;

use fathomp_embed::pack::{self, Nested};
use fathomp_launch::Variable;
use fathomp_launch::names::{
    CLUSTER_LIBRARY, MPI_LIBRARY, RUNTIME_LIBRARY, TAP_LIBRARY, WITNESS_LIBRARY,
};
use front::{Front, OF_TAP, OF_WITNESS};
use link::Edition;
use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// All code of the libraries, compiled by the profile made for code inside other people's programs.
const CODE: Nested<'_> = Nested {
    krate: "libraries",
    feature: None,
    profile: "runtime",
    folder: "runtime",
};

/// Libraries that are already linked, for packagers and cross builds.
const READY: [Variable; 5] = [
    RUNTIME_LIBRARY,
    CLUSTER_LIBRARY,
    TAP_LIBRARY,
    WITNESS_LIBRARY,
    MPI_LIBRARY,
];

fn main() -> Result<(), Box<dyn Error>> {
    let out = PathBuf::from(env::var("OUT_DIR")?);
    let manifest = PathBuf::from(env::var("CARGO_MANIFEST_DIR")?);
    let workspace = manifest
        .parent()
        .and_then(Path::parent)
        .ok_or("app/runtime must lie two levels below the workspace")?;
    declare_inputs(workspace)?;

    let library = out.join("libgomp.so.1");
    let cluster = out.join("cluster.so");
    let tap = out.join("libfathomp-tap.so");
    let witness = out.join("libfathomp-witness.so");
    let mpi = out.join("libfathomp-mpi.so");
    if env::var_os(RUNTIME_LIBRARY.name).is_some() {
        for (variable, library) in READY.iter().zip([&library, &cluster, &tap, &witness, &mpi]) {
            let ready = env::var_os(variable.name)
                .ok_or_else(|| format!("with {RUNTIME_LIBRARY}, {variable} must be set too"))?;
            let ready = PathBuf::from(ready);
            println!("cargo::rerun-if-changed={}", ready.display());
            fs::copy(&ready, library)?;
        }
    } else {
        let archive = pack::static_library(CODE, workspace, &out)?;
        let front = Front {
            name: "libfathomp-tap.so",
            face: "tap",
            source: Some(&workspace.join("paging/interposer/c/variadic.c")),
            own: &OF_TAP,
        };
        front::library(&front, &archive, &out)?;
        let front = Front {
            name: "libfathomp-witness.so",
            face: "witness",
            source: None,
            own: &OF_WITNESS,
        };
        front::library(&front, &archive, &out)?;
        let front = Front {
            name: "libfathomp-mpi.so",
            face: "mpi",
            source: None,
            own: &[],
        };
        front::library(&front, &archive, &out)?;
        let text = |name: &str| fs::read_to_string(workspace.join("openmp/abi").join(name));
        let interface = text("libgomp.map")?;
        let names = out.join("names.s");
        names::write(&interface, &names)?;
        let interface = interface + &text("llvm.map")?;
        let unloading = workspace.join("openmp/abi/unloading-older.s");
        let map = out.join("plain.map");
        fs::write(&map, interface.clone() + &text("unloading.map")?)?;
        let names = [unloading, names];
        link::runtime(&archive, &map, &names, &Edition::Plain, &library)?;
        let map = out.join("cluster.map");
        fs::write(
            &map,
            interface + &fs::read_to_string(workspace.join("cluster/edition/cluster.map"))?,
        )?;
        let older = workspace.join("cluster/edition/cluster-older.s");
        let tls = workspace.join("cluster/edition/cluster-tls.s");
        let edition = Edition::Cluster { older, tls };
        link::runtime(&archive, &map, &names, &edition, &cluster)?;
    }
    let probe = out.join("probe");
    link::probe(&manifest.join("probe"), &library, &probe)?;

    let bundle = [
        ("libgomp.so.1", library),
        ("cluster/libgomp.so.1", cluster),
        ("libfathomp-tap.so", tap),
        ("libfathomp-witness.so", witness),
        ("libfathomp-mpi.so", mpi),
        ("probe", probe),
    ];
    pack::bundle(&out, "BUNDLE", &bundle)?;
    Ok(())
}

/// Folders of our crates whose code ends up in the libraries.
fn parts(workspace: &Path) -> io::Result<Vec<PathBuf>> {
    let members = fs::read_to_string(workspace.join("Cargo.toml"))?;
    let folder = |name: &str| {
        let entry = format!("fathomp-{name} = {{ path = \"");
        let (_, path) = members.split_once(&entry)?;
        Some(workspace.join(path.split('"').next()?))
    };
    let mut found = BTreeMap::new();
    let mut ahead = vec![CODE.krate.to_owned()];
    while let Some(part) = ahead.pop() {
        let folder = folder(&part)
            .ok_or_else(|| io::Error::other(format!("fathomp-{part} is no member")))?;
        let manifest = fs::read_to_string(folder.join("Cargo.toml"))?;
        let (_, dependencies) = manifest.split_once("[dependencies]").unwrap_or_default();
        let dependencies = dependencies
            .lines()
            .take_while(|line| !line.starts_with('['));
        let ours = dependencies.filter_map(|line| line.strip_prefix("fathomp-"));
        let names = ours.filter_map(|line| line.split(['.', ' ']).next());
        ahead.extend(
            names
                .map(str::to_owned)
                .filter(|name| !found.contains_key(name)),
        );
        found.insert(part, folder);
    }
    Ok(found.into_values().collect())
}

fn declare_inputs(workspace: &Path) -> io::Result<()> {
    for part in parts(workspace)? {
        for input in ["src", "Cargo.toml"] {
            println!("cargo::rerun-if-changed={}", part.join(input).display());
        }
    }
    for input in [
        "Cargo.toml",
        "openmp/abi/libgomp.map",
        "openmp/abi/llvm.map",
        "openmp/abi/unloading.map",
        "openmp/abi/unloading-older.s",
        "cluster/edition/cluster.map",
        "cluster/edition/cluster-older.s",
        "cluster/edition/cluster-tls.s",
        "paging/interposer/c",
        "app/runtime/probe",
        "app/runtime/build",
    ] {
        let path = workspace.join(input);
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for variable in ["CC"].into_iter().chain(READY.map(|ready| ready.name)) {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    Ok(())
}
