//! Trials of packages in clean trees of other distributions.
//!
//! In a copy of the tree nothing is installed but the package and what it names. There `fathomp
//! doctor` and `fathomp study` have to succeed, the latter with a program that was compiled on this
//! machine and finds no OpenMP runtime in the tree; then what loads the other libraries.

use super::Dist;
use super::files::{Outcome, because, copy, done, make_dir, output};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Run in the tree once the package is installed; `$1` is the folder with fathomp.
const STUDY: &str = "\
export PATH=$1:$PATH HOME=/root
set -e
fathomp --version
fathomp doctor
cd /root
fathomp study --threads 1,2 -- ./basin 300 20
test -s report.html
timeout 600 fathomp sharing -- ./basin 300 5
timeout 600 fathomp record --paging -o paging -- ./basin 300 5
";

/// What a study's result is read with, where the package brings a module for Python.
const READ: &str = "\
import fathomp
study = fathomp.Study('/root/study')
print(len(study.runs()), 'runs,', len(study.regions()), 'rows of regions')
assert {row['threads'] for row in study.runs()} >= {1, 2}
assert any('basin' in row['region'] for row in study.regions())
";

impl Dist<'_> {
    /// Tries all packages in `tree`: a folder, or a distribution of Debian that debootstrap makes.
    pub(super) fn try_in(&self, tree: &str) -> Outcome<()> {
        let clean = self.clean_tree(tree)?;
        let program = self.build.join("basin");
        self.compile(&program)?;
        let copy_of = |package: &str| -> Outcome<PathBuf> {
            let at = self.build.join(format!("trial-{package}"));
            remove(&at)?;
            done(
                Command::new("cp")
                    .args(["-a", "--reflink=auto"])
                    .args([&clean, &at]),
            )?;
            copy(&program, &at.join("root/basin"))?;
            Ok(at)
        };

        let at = copy_of("tarball")?;
        let local = at.join("usr/local");
        done(
            Command::new("tar")
                .args(["--strip-components=1", "-xzf"])
                .arg(self.tarball())
                .arg("-C")
                .arg(&local),
        )?;
        report(tree, "tarball", inside(&at, STUDY, "/usr/local/bin"))?;

        let at = copy_of("deb")?;
        copy(&self.deb(), &at.join("root/fathomp.deb"))?;
        let install = format!("set -e\ndpkg --install /root/fathomp.deb\n{STUDY}");
        report(tree, ".deb", inside(&at, &install, "/usr/bin"))?;

        let at = copy_of("wheel")?;
        let name = self.wheel();
        let name = name.file_name().unwrap_or_default();
        copy(&self.wheel(), &at.join("root").join(name))?;
        // Python is what the wheel needs; and the tree has none.
        let install = format!(
            "set -e\nexport DEBIAN_FRONTEND=noninteractive\napt-get -qq update\n\
             apt-get -qq install --no-install-recommends python3-venv >/dev/null\n\
             python3 -m venv /opt/venv\n/opt/venv/bin/pip install --quiet --no-index /root/{}\n\
             {STUDY}\npython - <<'END'\n{READ}END\n",
            name.display()
        );
        report(tree, "wheel", inside(&at, &install, "/opt/venv/bin"))
    }

    /// The tree to copy, which is made if it is a distribution's name.
    fn clean_tree(&self, tree: &str) -> Outcome<PathBuf> {
        if Path::new(tree).is_dir() {
            return Ok(PathBuf::from(tree));
        }
        let made = self.build.join("trees").join(tree);
        if made.exists() {
            return Ok(made);
        }
        let begun = made.with_extension("begun");
        remove(&begun)?;
        make_dir(&begun)?;
        done(
            Command::new("debootstrap")
                .args(["--variant=minbase", tree])
                .arg(&begun),
        )?;
        fs::rename(&begun, &made)
            .map_err(|error| format!("{} cannot be renamed: {error}", begun.display()))?;
        Ok(made)
    }

    /// Compiles the example with the old C library, or it would not start in older trees.
    fn compile(&self, output: &Path) -> Outcome<()> {
        done(
            Command::new(self.build.join("glibc/cc"))
                .args(["-O2", "-g", "-fopenmp"])
                .arg(self.root.join("examples/basin.c"))
                .arg("-o")
                .arg(output)
                .arg("-lm"),
        )
    }
}

/// Runs a script in the tree, where the kernel's file systems are as usual; what it wrote.
fn inside(tree: &Path, script: &str, bin: &str) -> Outcome<String> {
    let script = format!("exec 2>&1\n{script}");
    let resolver = tree.join("etc/resolv.conf");
    let _ = fs::copy("/etc/resolv.conf", resolver);
    output(
        Command::new("unshare")
            .args(["--mount", "--pid", "--fork", "sh", "-c"])
            .arg(
                "mount -t proc proc \"$1/proc\" && mount --rbind /dev \"$1/dev\" && \
                 mount -t sysfs sysfs \"$1/sys\" && \
                 exec env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot \"$1\" sh -c \"$2\" sh \"$3\"",
            )
            .arg("sh")
            .arg(tree)
            .arg(script)
            .arg(bin),
    )
    .map_err(|error| format!("{error} (trials need root, who may mount)"))
}

fn report(tree: &str, package: &str, outcome: Outcome<String>) -> Outcome<()> {
    let said = outcome.map_err(|error| format!("{tree}, {package}: {error}"))?;
    for line in said.lines() {
        println!("{tree}, {package}: {line}");
    }
    println!("{tree}, {package}: works");
    Ok(())
}

/// Removes a tree that a trial left.
fn remove(tree: &Path) -> Outcome<()> {
    if !tree.exists() {
        return Ok(());
    }
    fs::remove_dir_all(tree).map_err(because("removed", tree))
}
