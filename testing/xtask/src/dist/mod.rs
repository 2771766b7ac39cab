//! `cargo xtask dist`: packages of the command, and trials of them in other distributions.
//!
//! All packages hold the same program, which is linked with an old C library ([`old_glibc`]) and
//! looked at before it is packed ([`needs`]).

pub(crate) mod files;
mod licences;
mod needs;
mod old_glibc;
mod packages;
mod trial;

use files::{Outcome, copy, done, make_dir, output, read, read_dir, write};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Libraries and programs that fathomp carries: the runtime in two editions, three that are
/// preloaded, the probe, and a grammar for each of C, C++ and Fortran.
const CARRIED: usize = 9;

/// What `cargo xtask dist` works on.
struct Dist<'a> {
    root: &'a Path,
    /// For what is made on the way.
    build: PathBuf,
    /// For packages.
    packages: PathBuf,
    version: String,
    /// When the sources were last changed, in seconds after 1970: the age of all packed files.
    epoch: String,
}

/// Makes all packages, or tries those that were made, in a tree.
pub(crate) fn run(root: &Path, arguments: &[&str]) -> Outcome<()> {
    let dist = Dist::of(root)?;
    match arguments {
        [] => dist.make(),
        ["--try", trees @ ..] if !trees.is_empty() => {
            trees.iter().try_for_each(|tree| dist.try_in(tree))
        }
        _ => Err("give no argument, or --try and distributions or folders that hold one".into()),
    }
}

impl<'a> Dist<'a> {
    fn of(root: &'a Path) -> Outcome<Self> {
        let manifest = read(&root.join("Cargo.toml"))?;
        let version = manifest
            .lines()
            .find_map(|line| line.strip_prefix("version = \""))
            .and_then(|rest| rest.split('"').next())
            .ok_or("Cargo.toml has no version: add one below [workspace.package]")?;
        let epoch =
            match env::var("SOURCE_DATE_EPOCH") {
                Ok(epoch) => epoch,
                Err(_) => output(Command::new("git").current_dir(root).args([
                    "log",
                    "-1",
                    "--format=%ct",
                ]))?,
            };
        Ok(Dist {
            root,
            build: root.join("target/dist"),
            packages: root.join("target/packages"),
            version: version.to_owned(),
            epoch: epoch.trim().to_owned(),
        })
    }

    /// Name and version of the tarball and of the folder in it.
    fn name(&self) -> String {
        format!("fathomp-{}-x86_64-linux", self.version)
    }

    fn make(&self) -> Outcome<()> {
        let program = self.program()?;
        self.check(&program)?;
        let tree = self.build.join("tree").join(self.name());
        let _ = fs::remove_dir_all(&tree);
        self.fill(&tree, &program)?;
        let _ = fs::remove_dir_all(&self.packages);
        make_dir(&self.packages)?;
        self.pack(&tree)?;
        for package in read_dir(&self.packages)? {
            println!("{}", package.display());
        }
        Ok(())
    }

    /// Builds fathomp, to run with an old C library.
    fn program(&self) -> Outcome<PathBuf> {
        let compiler = old_glibc::compiler(self.root, &self.build)?;
        let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut build = Command::new(cargo);
        build
            .current_dir(self.root)
            .args(["build", "--release", "--locked", "--package", "fathomp"])
            .arg("--target-dir")
            .arg(&self.build)
            .env("CC", &compiler.cc)
            .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", &compiler.cc)
            .env("RUSTC_WRAPPER", &compiler.rustc)
            // Results of earlier builds make others of the same sources.
            .env("CARGO_INCREMENTAL", "0");
        for (name, _) in env::vars_os() {
            // Libraries that were linked for this machine stay out.
            let ready = name.to_str().is_some_and(|name| {
                name.starts_with("FATHOMP_") && name.ends_with("_LIBRARY") || name == "RUSTFLAGS"
            });
            if ready {
                build.env_remove(name);
            }
        }
        done(&mut build)?;
        Ok(self.build.join("release/fathomp"))
    }

    /// Looks at the program and at all that it carries.
    fn check(&self, program: &Path) -> Outcome<()> {
        let folder = self.build.join("carried");
        let _ = fs::remove_dir_all(&folder);
        make_dir(&folder)?;
        copy(program, &folder.join("fathomp"))?;
        // It unpacks the libraries, and grammars when it reads sources.
        let cache = folder.join("cache");
        output(
            Command::new(program)
                .arg("runtime-path")
                .env("XDG_CACHE_HOME", &cache),
        )?;
        let sources = [
            ("one.c", "int main(void) {\n#pragma omp parallel\n{}\n}\n"),
            ("two.cpp", "int main() {\n#pragma omp parallel\n{}\n}\n"),
            (
                "three.f90",
                "program three\n!$omp parallel\n!$omp end parallel\nend program\n",
            ),
        ];
        let mut scan = Command::new(program);
        scan.arg("scan").env("XDG_CACHE_HOME", &cache);
        for (name, text) in sources {
            let source = folder.join(name);
            write(&source, text)?;
            scan.arg(source);
        }
        output(&mut scan)?;
        let looked_at = needs::check(&folder)?;
        // The program itself, and what it carries.
        if looked_at == 1 + CARRIED {
            return Ok(());
        }
        Err(format!(
            "{looked_at} programs and libraries were unpacked below {} instead of {}: if fathomp \
             carries others now, change the number in testing/xtask/src/dist/mod.rs",
            folder.display(),
            1 + CARRIED
        ))
    }

    /// Fills the tree that all packages hold.
    fn fill(&self, tree: &Path, program: &Path) -> Outcome<()> {
        let folder = |name: &str| {
            let folder = tree.join(name);
            make_dir(&folder).map(|()| folder)
        };
        copy(program, &folder("bin")?.join("fathomp"))?;
        output(
            Command::new(program)
                .args(["--quiet", "man"])
                .arg(folder("share/man/man1")?),
        )?;
        let completions = [
            ("bash", "share/bash-completion/completions", "fathomp"),
            ("zsh", "share/zsh/site-functions", "_fathomp"),
            ("fish", "share/fish/vendor_completions.d", "fathomp.fish"),
        ];
        for (shell, place, name) in completions {
            let script = output(Command::new(program).args(["completions", shell]))?;
            write(&folder(place)?.join(name), &script)?;
        }
        let documents = folder("share/doc/fathomp")?;
        for name in [
            "LICENSE-MIT",
            "LICENSE-APACHE",
            "CHANGELOG.md",
            "CITATION.cff",
        ] {
            copy(&self.root.join(name), &documents.join(name))?;
        }
        licences::gather(self.root, &documents)
    }
}
