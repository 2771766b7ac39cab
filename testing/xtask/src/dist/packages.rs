//! The packages, all of one tree: tarball, `.deb`, wheel, and recipes for Spack, EasyBuild and
//! Docker.
//!
//! The same tree gives the same bytes: files have one age and owner, and an order.

use super::Dist;
use super::files::{
    Outcome, because, copy, done, files_below, make_dir, output, read, read_dir, write,
};
use super::old_glibc::GLIBC;
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

impl Dist<'_> {
    pub(super) fn tarball(&self) -> PathBuf {
        self.packages.join(format!("{}.tar.gz", self.name()))
    }

    pub(super) fn deb(&self) -> PathBuf {
        self.packages
            .join(format!("fathomp_{}_amd64.deb", self.version))
    }

    pub(super) fn wheel(&self) -> PathBuf {
        let name = format!("fathomp-{}-py3-none-{}.whl", self.version, wheel_tag());
        self.packages.join(name)
    }

    /// Packs the tree in each way.
    pub(super) fn pack(&self, tree: &Path) -> Outcome<()> {
        self.pack_tarball(tree)?;
        self.pack_deb(tree)?;
        self.pack_wheel(tree)?;
        let tarball = fs::read(self.tarball()).map_err(because("read", &self.tarball()))?;
        let sha256 = Sha256::digest(&tarball)
            .iter()
            .fold(String::new(), |mut hex, byte| {
                // Writing to a string does not fail.
                let _ = write!(hex, "{byte:02x}");
                hex
            });
        let recipes = [
            ("spack.py", "spack/packages/fathomp/package.py".to_owned()),
            ("easybuild.eb", format!("fathomp-{}.eb", self.version)),
            ("Dockerfile", "Dockerfile".to_owned()),
        ];
        for (recipe, name) in recipes {
            let text = self.filled(recipe)?.replace("@SHA256@", &sha256);
            let path = self.packages.join(name);
            path.parent().map_or(Ok(()), make_dir)?;
            write(&path, &text)?;
        }
        Ok(())
    }

    /// A recipe with what changes from version to version.
    fn filled(&self, recipe: &str) -> Outcome<String> {
        let text = read(&self.root.join("packaging/recipes").join(recipe))?;
        let glibc = format!("{}.{}", GLIBC.0, GLIBC.1);
        Ok(text
            .replace("@VERSION@", &self.version)
            .replace("@GLIBC@", &glibc))
    }

    fn pack_tarball(&self, tree: &Path) -> Outcome<()> {
        let plain = self.build.join("tree.tar");
        done(
            Command::new("tar")
                .args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"])
                .args(["--format=gnu", "--mode=u+rw,go+r-w,a+X"])
                .arg(format!("--mtime=@{}", self.epoch))
                .arg("-C")
                .arg(tree.parent().unwrap_or(tree))
                .arg("-cf")
                .arg(&plain)
                .arg(self.name()),
        )?;
        done(
            Command::new("gzip")
                .args(["--no-name", "--best", "--force"])
                .arg(&plain),
        )?;
        copy(&plain.with_extension("tar.gz"), &self.tarball())
    }

    fn pack_deb(&self, tree: &Path) -> Outcome<()> {
        let root = self.build.join("deb");
        let _ = fs::remove_dir_all(&root);
        for file in files_below(tree)? {
            let inside = file.strip_prefix(tree).unwrap_or(&file);
            // Debian keeps completions of zsh elsewhere.
            let inside = match inside.strip_prefix("share/zsh/site-functions") {
                Ok(name) => Path::new("share/zsh/vendor-completions").join(name),
                Err(_) => inside.to_owned(),
            };
            let to = root.join("usr").join(inside);
            to.parent().map_or(Ok(()), make_dir)?;
            copy(&file, &to)?;
        }
        let pages = read_dir(&root.join("usr/share/man/man1"))?;
        done(
            Command::new("gzip")
                .args(["--no-name", "--best"])
                .args(pages),
        )?;
        let documents = root.join("usr/share/doc/fathomp");
        let copyright = read(&self.root.join("packaging/recipes/copyright"))?;
        write(&documents.join("copyright"), &copyright)?;
        done(
            Command::new("gzip")
                .args(["--no-name", "--best"])
                .arg(documents.join("CHANGELOG.md")),
        )?;
        make_dir(&root.join("DEBIAN"))?;
        write(&root.join("DEBIAN/control"), &self.filled("control")?)?;
        done(
            Command::new("dpkg-deb")
                .args(["--build", "--root-owner-group", "-Zxz"])
                .arg(&root)
                .arg(self.deb())
                .env("SOURCE_DATE_EPOCH", &self.epoch)
                .stdout(std::process::Stdio::null()),
        )
    }

    fn pack_wheel(&self, tree: &Path) -> Outcome<()> {
        let python = self.root.join("packaging/python");
        output(
            Command::new("python3")
                .arg(python.join("wheel.py"))
                .arg(tree)
                .args([&self.version, &wheel_tag()])
                .arg(self.wheel()),
        )?;
        Ok(())
    }
}

/// What pip is told of machines that the program runs on.
fn wheel_tag() -> String {
    format!("manylinux_{}_{}_x86_64", GLIBC.0, GLIBC.1)
}
