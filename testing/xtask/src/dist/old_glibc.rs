//! A C compiler whose programs run with an old C library.
//!
//! The compiler and linker are those of this machine. What they link with are stand-ins for the C
//! library of the version [`GLIBC`], which zig makes of its lists of that library's symbols.

use super::files::{Outcome, because, copy, done, make_dir, read_dir, write};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The C library that packages need at least: that of Red Hat Enterprise Linux 8.
pub(super) const GLIBC: (u32, u32) = (2, 28);

/// The parts of the C library that programs name when they are linked.
const PARTS: [&str; 6] = [
    "libm.so.6",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libutil.so.1",
    "libresolv.so.2",
];

/// What compiles and links.
pub(super) struct Compiler {
    /// Takes the arguments of gcc.
    pub(super) cc: PathBuf,
    /// Calls rustc so that it keeps no folder of this machine.
    pub(super) rustc: PathBuf,
}

/// Makes the compiler in `folder`, for sources in `root`.
pub(super) fn compiler(root: &Path, folder: &Path) -> Outcome<Compiler> {
    let library = folder.join("glibc");
    let _ = fs::remove_dir_all(&library);
    make_dir(&library)?;
    stand_ins(root, folder, &library)?;

    let cc = library.join("cc");
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home
        .or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")))
        .ok_or("neither CARGO_HOME nor HOME is set: set one")?;
    // What messages name instead of folders of this machine.
    let remapped = |option: &str| {
        let (root, home) = (root.display(), home.display());
        format!("{option}='{root}'=/fathomp {option}='{home}'=/cargo")
    };
    // Newer libraries than GLIBC, such as that of gcc itself, may lack what they need here. Packed
    // relocations need glibc 2.36.
    let gcc = format!(
        "exec gcc -B'{}' {} \"$@\" -Wl,--allow-shlib-undefined -Wl,-z,nopack-relative-relocs",
        library.display(),
        remapped("-ffile-prefix-map")
    );
    script(&cc, &gcc)?;
    let rustc = library.join("rustc");
    script(
        &rustc,
        &format!("exec \"$@\" {}", remapped("--remap-path-prefix")),
    )?;
    Ok(Compiler { cc, rustc })
}

fn script(path: &Path, command: &str) -> Outcome<()> {
    write(path, &format!("#!/bin/sh\n{command}\n"))?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))
        .map_err(because("made executable", path))
}

/// Fills `library` with what gcc looks for there first: the code that starts programs, and the
/// parts of the C library.
fn stand_ins(root: &Path, folder: &Path, library: &Path) -> Outcome<()> {
    let sources = root.join("packaging/glibc");
    let venv = folder.join("zig");
    let python = venv.join("bin/python");
    done(Command::new("python3").args(["-m", "venv"]).arg(&venv))?;
    done(
        Command::new(&python)
            .args(["-m", "pip", "install", "--quiet", "--require-hashes", "-r"])
            .arg(sources.join("requirements.txt")),
    )?;
    let cache = folder.join("zig-cache");
    let _ = fs::remove_dir_all(&cache);
    let empty = library.join("empty.c");
    write(&empty, "int main(void) { return 0; }\n")?;
    let (major, minor) = GLIBC;
    done(
        Command::new(&python)
            .args(["-m", "ziglang", "cc", "-target"])
            .arg(format!("x86_64-linux-gnu.{major}.{minor}"))
            .arg(&empty)
            .args(["-lm", "-lpthread", "-ldl", "-lrt", "-lutil", "-o"])
            .arg(library.join("empty"))
            .env("ZIG_GLOBAL_CACHE_DIR", &cache)
            .env("ZIG_LOCAL_CACHE_DIR", &cache),
    )?;

    let names = ["libc.so.6", "libld.so.2", "crt1.o", "libc_nonshared.a"];
    for name in names.into_iter().chain(PARTS) {
        let made = made_by_zig(&cache, name)?;
        copy(&made, &library.join(name))?;
    }
    copy(&library.join("crt1.o"), &library.join("Scrt1.o"))?;
    for part in PARTS {
        // Linkers look for the name without a version.
        let link = library.join(Path::new(part).with_extension(""));
        symlink(part, &link).map_err(because("made", &link))?;
    }
    let newer = library.join("newer.o");
    done(
        Command::new("gcc")
            .args(["-O2", "-fPIC", "-Wall", "-Wextra", "-c"])
            .arg(sources.join("newer.c"))
            .arg("-o")
            .arg(&newer),
    )?;
    let archive = library.join("libnewer.a");
    done(Command::new("ar").arg("rcD").arg(&archive).arg(&newer))?;
    let at = |name: &str| library.join(name).display().to_string();
    let c = format!(
        "GROUP ( {} {} {} AS_NEEDED ( {} ) )\n",
        at("libc.so.6"),
        at("libc_nonshared.a"),
        at("libnewer.a"),
        at("libld.so.2")
    );
    write(&library.join("libc.so"), &c)
}

/// The file of this name in one of the folders `o/HASH` of zig's cache.
fn made_by_zig(cache: &Path, name: &str) -> Outcome<PathBuf> {
    let made = read_dir(&cache.join("o"))?;
    made.into_iter()
        .map(|folder| folder.join(name))
        .find(|file| file.is_file())
        .ok_or_else(|| {
            format!(
                "zig made no {name}: name a version in packaging/glibc/requirements.txt that does"
            )
        })
}
