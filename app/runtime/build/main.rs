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
    CLUSTER_LIBRARY, FOREIGN_RECORDER_LIBRARY, MPI_LIBRARY, PAGING_LIBRARY, RUNTIME_LIBRARY,
};
use front::{Front, OF_FOREIGN_RECORDER, OF_PAGING};
use link::Edition;
use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The crate with all code of the libraries.
const CODE: &str = "libraries";

/// Features of this crate and of [`CODE`], with the crates that the latter is without if they are
/// off.
const FEATURES: [(&str, &str); 2] = [("cluster", "edition"), ("paging", "interposer")];

/// Whether the bundle is to hold what this feature stands for.
fn has(feature: &str) -> bool {
    env::var_os(format!("CARGO_FEATURE_{}", feature.to_uppercase())).is_some()
}

/// A library of the bundle.
struct Library {
    /// What the bundle calls it.
    name: &'static str,
    /// Where this script puts it.
    path: PathBuf,
    /// A library that is already linked, for packagers and cross builds.
    ready: Variable,
}

/// Variables that name libraries which are already linked.
const READY: [Variable; 5] = [
    RUNTIME_LIBRARY,
    CLUSTER_LIBRARY,
    PAGING_LIBRARY,
    FOREIGN_RECORDER_LIBRARY,
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

    let library = |name, file, ready| Library {
        name,
        path: out.join(file),
        ready,
    };
    let runtime = library("libgomp.so.1", "libgomp.so.1", RUNTIME_LIBRARY);
    let cluster =
        has("cluster").then(|| library("cluster/libgomp.so.1", "cluster.so", CLUSTER_LIBRARY));
    let interposer = has("paging").then(|| {
        library(
            "libfathomp-paging.so",
            "libfathomp-paging.so",
            PAGING_LIBRARY,
        )
    });
    let foreign_recorder = library(
        "libfathomp-foreign-recorder.so",
        "libfathomp-foreign-recorder.so",
        FOREIGN_RECORDER_LIBRARY,
    );
    let mpi = library("libfathomp-mpi.so", "libfathomp-mpi.so", MPI_LIBRARY);
    let probe = out.join("probe");
    let editions = (
        runtime.path.clone(),
        cluster.as_ref().map(|one| one.path.clone()),
    );
    let mut libraries = vec![runtime];
    libraries.extend(cluster);
    libraries.extend(interposer);
    libraries.extend([foreign_recorder, mpi]);
    if env::var_os(RUNTIME_LIBRARY.name).is_some() {
        for library in &libraries {
            let ready = env::var_os(library.ready.name).ok_or_else(|| {
                format!("with {RUNTIME_LIBRARY}, {} must be set too", library.ready)
            })?;
            let ready = PathBuf::from(ready);
            println!("cargo::rerun-if-changed={}", ready.display());
            fs::copy(&ready, &library.path)?;
        }
    } else {
        link_all(workspace, &out, &editions)?;
    }
    link::probe(&manifest.join("probe"), &editions.0, &probe)?;

    let mut bundle: Vec<(&str, PathBuf)> = libraries
        .into_iter()
        .map(|library| (library.name, library.path))
        .collect();
    bundle.push(("probe", probe));
    pack::bundle(&out, "BUNDLE", &bundle)?;
    Ok(())
}

/// Compiles all code and links the libraries of the bundle: the editions of the runtime into these
/// files, the others by their names.
fn link_all(
    workspace: &Path,
    out: &Path,
    (library, cluster): &(PathBuf, Option<PathBuf>),
) -> Result<(), Box<dyn Error>> {
    let features = FEATURES.map(|(feature, _)| feature);
    let features: Vec<&str> = features
        .into_iter()
        .filter(|feature| has(feature))
        .collect();
    // Compiled by the profile made for code inside other people's programs.
    let code = Nested {
        krate: CODE,
        features: &features.join(","),
        profile: "runtime",
        folder: "runtime",
    };
    let archive = pack::static_library(code, workspace, out)?;
    if has("paging") {
        let front = Front {
            name: "libfathomp-paging.so",
            face: "paging",
            source: Some(&workspace.join("paging/interposer/c/variadic.c")),
            own: &OF_PAGING,
        };
        front::library(&front, &archive, out)?;
    }
    let front = Front {
        name: "libfathomp-foreign-recorder.so",
        face: "foreign_recorder",
        source: None,
        own: &OF_FOREIGN_RECORDER,
    };
    front::library(&front, &archive, out)?;
    let front = Front {
        name: "libfathomp-mpi.so",
        face: "mpi",
        source: None,
        own: &[],
    };
    front::library(&front, &archive, out)?;
    let text = |name: &str| fs::read_to_string(workspace.join("openmp/abi").join(name));
    let interface = text("libgomp.map")?;
    let names = out.join("names.s");
    let missing = text("missing.map")?;
    names::write(&interface, &missing, &names)?;
    let interface = interface + &missing + &text("llvm.map")?;
    let unloading = workspace.join("openmp/abi/unloading-older.s");
    let map = out.join("plain.map");
    fs::write(&map, interface.clone() + &text("unloading.map")?)?;
    let names = [unloading, names];
    link::runtime(&archive, &map, &names, &Edition::Plain, library)?;
    if let Some(cluster) = cluster {
        let map = out.join("cluster.map");
        fs::write(
            &map,
            interface + &fs::read_to_string(workspace.join("cluster/edition/cluster.map"))?,
        )?;
        let older = workspace.join("cluster/edition/cluster-older.s");
        let tls = workspace.join("cluster/edition/cluster-tls.s");
        let edition = Edition::Cluster { older, tls };
        link::runtime(&archive, &map, &names, &edition, cluster)?;
    }
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
    let is_left_out = |name: &str| {
        FEATURES
            .iter()
            .any(|(feature, part)| *part == name && !has(feature))
    };
    let mut ahead = vec![CODE.to_owned()];
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
                .filter(|name| !found.contains_key(name) && !is_left_out(name)),
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
    let of_all = [
        "Cargo.toml",
        "openmp/abi/libgomp.map",
        "openmp/abi/llvm.map",
        "openmp/abi/missing.map",
        "openmp/abi/unloading.map",
        "openmp/abi/unloading-older.s",
        "app/runtime/probe",
        "app/runtime/build",
    ];
    let of_cluster = [
        "cluster/edition/cluster.map",
        "cluster/edition/cluster-older.s",
        "cluster/edition/cluster-tls.s",
    ];
    let of_cluster = of_cluster.into_iter().filter(|_| has("cluster"));
    let of_paging = ["paging/interposer/c"]
        .into_iter()
        .filter(|_| has("paging"));
    for input in of_all.into_iter().chain(of_cluster).chain(of_paging) {
        let path = workspace.join(input);
        println!("cargo::rerun-if-changed={}", path.display());
    }
    for variable in ["CC"].into_iter().chain(READY.map(|ready| ready.name)) {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    Ok(())
}
