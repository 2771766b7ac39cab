//! A nested cargo, which compiles a crate of the workspace to a static library.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What is compiled, and how.
#[derive(Clone, Copy, Debug)]
pub struct Nested<'a> {
    /// The crate, without `fathomp-`.
    pub krate: &'a str,
    /// Its features, with commas between them.
    pub features: &'a str,
    /// A profile of the workspace.
    pub profile: &'a str,
    /// The folder for what is compiled, beside those of the outer build. Crates that are compiled
    /// at the same time need one each, or they wait for each other.
    pub folder: &'a str,
}

/// Compiles the static library and returns its path; `out` is the build script's `OUT_DIR`.
///
/// # Errors
/// If cargo cannot be run, or the crate does not compile.
pub fn static_library(
    nested: Nested<'_>,
    workspace: &Path,
    out: &Path,
) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = env::var_os("CARGO").ok_or("cargo did not set CARGO")?;
    let target = env::var("TARGET")?;
    let directory = target_directory(out, nested.folder);
    let krate = nested.krate;

    let mut command = Command::new(cargo);
    command
        .current_dir(workspace)
        .args(["rustc", "--package", &format!("fathomp-{krate}"), "--lib"])
        // For the outer build it is a Rust library like any other: of a crate that is both, cargo
        // would make no optimised unit here, and would link what nobody needs there.
        .args(["--crate-type", "staticlib"])
        .args(["--profile", nested.profile, "--target", &target])
        .arg("--target-dir")
        .arg(&directory);
    command.args(["--no-default-features", "--features", nested.features]);
    if workspace.join("Cargo.lock").exists() {
        // The outer cargo has just brought the lock file up to date.
        command.arg("--locked");
    }
    forget_outer_build(&mut command);
    let status = command.status()?;
    if !status.success() {
        let message = format!("fathomp-{krate} did not compile: see the messages above");
        return Err(message.into());
    }
    Ok(directory
        .join(target)
        .join(nested.profile)
        .join(format!("libfathomp_{krate}.a")))
}

/// One directory for all profiles of the outer build, so that `cargo test`,
/// `cargo run --release` and `cargo clippy` compile it once.
fn target_directory(out: &Path, folder: &str) -> PathBuf {
    // OUT_DIR is <target>/<profile>/build/<package>/out.
    out.ancestors()
        .find(|path| path.file_name().is_some_and(|name| name == "build"))
        .and_then(|build| build.parent()?.parent())
        .unwrap_or(out)
        .join(folder)
}

/// Takes away what the outer cargo says about its own compilation. Settings of
/// the user about where crates come from (`CARGO_HOME`, `CARGO_NET_*`,
/// `CARGO_HTTP_*`, `CARGO_REGISTR*`, `CARGO_SOURCE_*`) stay.
fn forget_outer_build(command: &mut Command) {
    const KEPT: [&str; 5] = [
        "CARGO_HOME",
        "CARGO_NET_",
        "CARGO_HTTP_",
        "CARGO_REGISTR",
        "CARGO_SOURCE_",
    ];
    // A lint driver or instrumented flags (coverage, sanitizers) of the outer
    // build must not reach code that is loaded into other programs.
    const OTHERS: [&str; 12] = [
        "RUSTFLAGS",
        "RUSTC",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTDOC",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
        "TARGET",
        "HOST",
        "PROFILE",
        "OPT_LEVEL",
        "DEBUG",
        "OUT_DIR",
    ];
    for (name, _) in env::vars_os() {
        let Some(name) = name.to_str() else { continue };
        let of_cargo = name.starts_with("CARGO") && !KEPT.iter().any(|kept| name.starts_with(kept));
        if of_cargo || OTHERS.contains(&name) {
            command.env_remove(name);
        }
    }
}
