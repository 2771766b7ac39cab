//! The nested cargo that compiles `fathomp-abi` and `fathomp-tap` to static libraries.

use std::env;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Profile of the workspace made for code inside other people's programs.
const PROFILE: &str = "runtime";

/// Compiles the archive of one of our crates and returns its path.
pub(crate) fn build_archive(
    krate: &str,
    workspace: &Path,
    out: &Path,
) -> Result<PathBuf, Box<dyn Error>> {
    let cargo = env::var_os("CARGO").ok_or("cargo did not set CARGO")?;
    let target = env::var("TARGET")?;
    let directory = target_directory(out);

    let mut command = Command::new(cargo);
    command
        .current_dir(workspace)
        .args(["rustc", "--package", &format!("fathomp-{krate}"), "--lib"])
        // Of a crate that is to be a Rust library as well cargo makes no optimised unit, whatever
        // the profile says.
        .args(["--crate-type", "staticlib"])
        .args(["--profile", PROFILE, "--target", &target])
        .arg("--target-dir")
        .arg(&directory);
    if workspace.join("Cargo.lock").exists() {
        // The outer cargo has just brought the lock file up to date.
        command.arg("--locked");
    }
    forget_outer_build(&mut command);
    let status = command.status()?;
    if !status.success() {
        return Err(format!(
            "the library (crates/{krate}) did not compile: see the messages above"
        )
        .into());
    }
    Ok(directory
        .join(target)
        .join(PROFILE)
        .join(format!("libfathomp_{krate}.a")))
}

/// One directory for all profiles of the outer build, so that `cargo test`,
/// `cargo run --release` and `cargo clippy` compile the runtime once.
fn target_directory(out: &Path) -> PathBuf {
    // OUT_DIR is <target>/<profile>/build/<package>/out.
    out.ancestors()
        .find(|path| path.file_name().is_some_and(|name| name == "build"))
        .and_then(|build| build.parent()?.parent())
        .unwrap_or(out)
        .join("runtime")
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
