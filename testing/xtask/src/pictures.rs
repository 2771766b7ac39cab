//! `cargo xtask pictures`: makes the pictures of the documentation anew, in `docs/images`.
//!
//! Each shows a page that fathomp writes about an example, as headless Chromium draws it. Times in
//! them are of this machine, so it should be quiet. Pictures whose tools are missing are named.

use crate::changes::changed;
use crate::dist::files::{Outcome, built, copy, done, make_dir, read, write};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const BROWSER: &str = "chromium";
/// What every picture takes.
const TOOLS: [&str; 2] = [BROWSER, "gcc"];

/// What shows the page from a section on.
const FRAME: &str = "<body style='margin: 0'><iframe src='page.html#SECTION' \
                     style='display: block; width: 100vw; height: 100vh; border: 0'></iframe>";

/// A picture, and how it is made.
struct Picture {
    /// Its file, without the ending.
    name: &'static str,
    /// Its width and height in pixels.
    size: [u32; 2],
    /// The section of the page that it shows; its beginning if that is empty.
    section: &'static str,
    /// Further tools, beside [`TOOLS`].
    needs: &'static [&'static str],
    /// Writes `page.html` in an empty folder.
    make: fn(&Workshop<'_>) -> Outcome<()>,
}

const PICTURES: [Picture; 4] = [
    Picture {
        name: "compare",
        size: [1000, 960],
        section: "",
        needs: &[],
        make: compare,
    },
    Picture {
        name: "ranks",
        size: [1100, 1112],
        section: "ranks",
        needs: &["mpicc.mpich", "mpirun.mpich"],
        make: ranks,
    },
    Picture {
        name: "report",
        size: [1240, 1490],
        section: "",
        needs: &[],
        make: report,
    },
    Picture {
        name: "share",
        size: [1200, 640],
        section: "",
        needs: &[],
        make: share,
    },
];

/// A folder where a picture's commands run.
struct Workshop<'a> {
    root: &'a Path,
    folder: PathBuf,
}

impl Workshop<'_> {
    /// Takes a file of the tree.
    fn take(&self, path: &str) -> Outcome<()> {
        let from = self.root.join(path);
        copy(
            &from,
            &self.folder.join(from.file_name().unwrap_or_default()),
        )
    }

    /// Runs a line as a user types it, without quotes; `fathomp` is that of the tree.
    fn run(&self, line: &str) -> Outcome<()> {
        println!("{line}");
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words).current_dir(&self.folder);
        done(
            command
                .env("PATH", path_with(self.root))
                .stdout(Stdio::null()),
        )
    }
}

/// Where programs are looked for: first in the folder of the built command.
fn path_with(root: &Path) -> OsString {
    let before = env::var_os("PATH").unwrap_or_default();
    let folders = [root.join("target/release")];
    let folders = folders.into_iter().chain(env::split_paths(&before));
    // A folder's name with a colon cannot be in a path: then what was there has to do.
    env::join_paths(folders).unwrap_or(before)
}

fn is_installed(tool: &str) -> bool {
    let folders = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&folders).any(|folder| folder.join(tool).is_file())
}

/// The tutorial's second example, before and after its change.
fn compare(workshop: &Workshop<'_>) -> Outcome<()> {
    workshop.take("examples/tutorial/primes.c")?;
    let file = workshop.folder.join("primes.c");
    for side in ["before", "after"] {
        if side == "after" {
            let page = read(&workshop.root.join("docs/tutorial.md"))?;
            write(&file, &changed(&page, "primes.c", &read(&file)?)?)?;
        }
        workshop.run("gcc -O2 -g -fopenmp primes.c -o primes")?;
        workshop.run(&format!(
            "fathomp study --repeat 5 --directory {side} -o {side}.html -- ./primes"
        ))?;
    }
    workshop.run("fathomp compare before after -o page.html")
}

fn ranks(workshop: &Workshop<'_>) -> Outcome<()> {
    workshop.take("tests/causes/mpi/zones.c")?;
    workshop.run("mpicc.mpich -O2 -g -fopenmp zones.c -o zones -lm")?;
    workshop
        .run("mpirun.mpich -np 2 fathomp record --threads 1 -o recording -- ./zones unequal")?;
    workshop.run("fathomp report recording -o page.html")
}

fn report(workshop: &Workshop<'_>) -> Outcome<()> {
    workshop.take("examples/basin.c")?;
    workshop.run("gcc -O2 -g -fopenmp basin.c -o basin -lm")?;
    workshop.run("fathomp study --repeat 5 -o page.html -- ./basin")
}

fn share(workshop: &Workshop<'_>) -> Outcome<()> {
    workshop.run("fathomp workload build divergence_a divergence_b -o .")?;
    workshop.run(
        "fathomp share -o page.html -- ./divergence_a --size large --repeat 12 --steps 46 \
         -- ./divergence_b --size large --repeat 8 --steps 66",
    )
}

/// Makes those of the pictures that are named, or all.
pub(crate) fn run(root: &Path, names: &[&str]) -> Outcome<()> {
    let is_known = |name: &str| PICTURES.iter().any(|picture| picture.name == name);
    if let Some(unknown) = names.iter().find(|name| !is_known(name)) {
        return Err(format!("no picture is called {unknown}"));
    }
    built(root)?;
    let is_asked = |picture: &&Picture| names.is_empty() || names.contains(&picture.name);
    let mut missing = Vec::new();
    for picture in PICTURES.iter().filter(is_asked) {
        let mut needs = TOOLS.iter().chain(picture.needs);
        match needs.find(|tool| !is_installed(tool)) {
            Some(tool) => missing.push(format!("{}.png, which takes {tool}", picture.name)),
            None => picture.draw(root)?,
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!("not made: {}", missing.join("; "))),
    }
}

impl Picture {
    fn draw(&self, root: &Path) -> Outcome<()> {
        let folder = root.join("target/pictures").join(self.name);
        // What an earlier call has left.
        let _ = fs::remove_dir_all(&folder);
        make_dir(&folder)?;
        let workshop = Workshop { root, folder };
        (self.make)(&workshop)?;
        let to = root.join(format!("docs/images/{}.png", self.name));
        let [width, height] = self.size;
        // A page that is opened at a section alone is drawn empty; one in a frame is not.
        let frame = workshop.folder.join("frame.html");
        write(&frame, &FRAME.replace("SECTION", self.section))?;
        done(
            Command::new(BROWSER)
                .args(["--headless", "--no-sandbox", "--hide-scrollbars"])
                .arg(format!("--window-size={width},{height}"))
                .arg(format!("--screenshot={}", to.display()))
                .arg(format!("file://{}", frame.display()))
                .stderr(Stdio::null()),
        )?;
        println!("{}", to.display());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dist::files::read_dir;

    #[test]
    fn every_picture_of_the_documentation_is_made_here() {
        let files = read_dir(&crate::workspace().join("docs/images")).unwrap();
        let found: Vec<_> = files.iter().map(|file| file.file_stem().unwrap()).collect();
        assert_eq!(found, PICTURES.map(|picture| picture.name));
    }
}
