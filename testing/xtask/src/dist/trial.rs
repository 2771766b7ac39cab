//! Trials of packages in clean trees of other distributions.
//!
//! In a copy of the tree nothing is installed but the package and what it names. There `fathomp
//! doctor` and `fathomp study` have to succeed, the latter with a program that was compiled on this
//! machine and finds no OpenMP runtime in the tree; then what loads the other libraries.

use super::Dist;
use super::files::{Outcome, because, copy, done, make_dir};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run in the tree with the package, `$1`. Lines that install it come before.
const STUDY: &str = "\
fathomp --version
fathomp doctor
fathomp study --threads 1,2 -- ./basin 300 20
test -s report.html
timeout 600 fathomp sharing -- ./basin 300 5
timeout 600 fathomp record --paging -o paging -- ./basin 300 5
";

const OF_TARBALL: &str = "tar --strip-components=1 -xzf $1 -C /usr/local\n";

const OF_DEB: &str = "dpkg --install $1\n";

/// Python is what the wheel needs, and a clean tree has none.
const OF_WHEEL: &str = "\
apt-get -qq update
DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends python3-venv >/dev/null
python3 -m venv /opt/venv
export PATH=/opt/venv/bin:$PATH
pip install --quiet --no-index $1
";

/// Run after the study where the package brings a module for Python.
const READ: &str = "\
python -c \"
import fathomp
study = fathomp.Study('study')
print(len(study.runs()), 'runs,', len(study.regions()), 'rows of regions')
assert {row['threads'] for row in study.runs()} >= {1, 2}
assert any('basin' in row['region'] for row in study.regions())
\"
";

impl Dist<'_> {
    /// Tries all packages in `tree`: a folder, or a distribution of Debian that debootstrap makes.
    pub(super) fn try_in(&self, tree: &str) -> Outcome<()> {
        let clean = self.clean_tree(tree)?;
        // With the old C library, or it would not start in older trees.
        let program = self.build.join("basin");
        done(
            Command::new(self.build.join("glibc/cc"))
                .args(["-O2", "-g", "-fopenmp"])
                .arg(self.root.join("examples/basin.c"))
                .arg("-o")
                .args([&program, Path::new("-lm")]),
        )?;
        let trials = [
            (self.tarball(), OF_TARBALL, ""),
            (self.deb(), OF_DEB, ""),
            (self.wheel(), OF_WHEEL, READ),
        ];
        for (package, install, read) in trials {
            let name = package.file_name().unwrap_or_default();
            println!("{tree}: {}", name.display());
            let at = self.build.join("trial");
            remove(&at)?;
            done(Command::new("cp").arg("-a").args([&clean, &at]))?;
            copy(&program, &at.join("root/basin"))?;
            copy(&package, &at.join("root").join(name))?;
            let resolver = Path::new("/etc/resolv.conf");
            copy(resolver, &at.join("etc/resolv.conf"))?;
            let script = format!("set -e\ncd /root\n{install}{STUDY}{read}");
            inside(&at, &script, &Path::new("/root").join(name))
                .map_err(|error| format!("{tree}: {} does not work: {error}", name.display()))?;
            remove(&at)?;
            println!("{tree}: {} works", name.display());
        }
        Ok(())
    }

    /// The tree to copy, which is made if it is a distribution's name.
    fn clean_tree(&self, tree: &str) -> Outcome<PathBuf> {
        if Path::new(tree).is_dir() {
            return Ok(PathBuf::from(tree));
        }
        let made = self.build.join("trees").join(tree);
        if !made.exists() {
            let begun = made.with_extension("begun");
            remove(&begun)?;
            make_dir(&begun)?;
            let mut debootstrap = Command::new("debootstrap");
            done(debootstrap.args(["--variant=minbase", tree]).arg(&begun))?;
            fs::rename(&begun, &made).map_err(because("renamed", &begun))?;
        }
        Ok(made)
    }
}

/// Runs a script in the tree, with the kernel's file systems mounted there. Mounting them needs
/// root.
fn inside(tree: &Path, script: &str, package: &Path) -> Outcome<()> {
    const ENTER: &str = r#"mount -t proc proc "$1/proc" && mount -t sysfs sysfs "$1/sys" &&
        mount --rbind /dev "$1/dev" && exec env -i HOME=/root \
        PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin chroot "$1" sh -c "$2" sh "$3""#;
    done(
        Command::new("unshare")
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "sh",
                "-c",
                ENTER,
                "sh",
            ])
            .arg(tree)
            .arg(script)
            .arg(package),
    )
}

/// Removes a tree that a trial left.
fn remove(tree: &Path) -> Outcome<()> {
    if !tree.exists() {
        return Ok(());
    }
    fs::remove_dir_all(tree).map_err(because("removed", tree))
}
