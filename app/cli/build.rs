//! Has the linker pack the addresses that are set when the program is loaded, a megabyte less, and leave
//! out the table by which exceptions find their handlers where a panic aborts, a third of one.

use std::env;
use std::process::Command;

/// The first C library that reads them packed.
const GLIBC: (u32, u32) = (2, 36);

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    // A linker that does not know how to leaves them as they are.
    if env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu") && glibc() >= Some(GLIBC) {
        println!("cargo:rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
    // Panics abort in this profile; in others, with which tests are built, they unwind.
    if env::var("PROFILE").is_ok_and(|profile| profile == "release") {
        println!("cargo:rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
    }
}

/// The version of this machine's C library, on which the program will run.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    let minor = minor.split('.').next()?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
