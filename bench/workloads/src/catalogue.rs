//! Which programs there are.
//!
//! A program NAME of a suite is a file `SUITE/NAME.c`, or a folder `SUITE/NAME`
//! with a file `NAME.c`, unless it is a part that others use. To it belong all
//! files of its folder and of the folders of its suite that the folder's file
//! `uses` names, and those of `SUITE/common` and `common`. What it is is said by
//! a line `.about = "..."` of `NAME.c`, or else by the first sentence of the
//! comment that it begins with, after the colon if there is one.

use crate::size::Class;
use fathomp_toolchain::{File, Recipe};
use std::fmt;

/// Everything under `workloads/` that is compiled, by path.
const FILES: &[File<'static>] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// A family of workloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    /// The NAS Parallel Benchmarks; their class is chosen when they are built.
    Npb,
    /// Loop nests of the kind that PolyBench collects.
    Polybench,
    /// One memory or scheduling behaviour each.
    Patterns,
    /// Programs made of tasks, of the kind that the Barcelona OpenMP Tasks Suite collects.
    Tasks,
}

impl Suite {
    /// All, in the order in which an ambiguous name is resolved.
    pub const ALL: [Self; 4] = [Self::Npb, Self::Polybench, Self::Patterns, Self::Tasks];

    /// Its name, which is that of its folder.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Npb => "npb",
            Self::Polybench => "polybench",
            Self::Patterns => "patterns",
            Self::Tasks => "tasks",
        }
    }

    /// The size of a program is fixed when it is built.
    #[must_use]
    pub fn sized_when_built(self) -> bool {
        self == Self::Npb
    }
}

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A program that can be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Workload {
    /// Where it belongs.
    pub suite: Suite,
    /// Its name within the suite.
    pub name: &'static str,
    /// What it is, in one sentence.
    pub about: String,
    files: Vec<File<'static>>,
    folders: Vec<String>,
}

/// How a workload is to be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The class, for suites that fix it when they are built.
    pub class: Class,
    /// Without OpenMP it is the serial program that the other is checked with.
    pub openmp: bool,
    /// Options of the compiler, such as `-O3 -g`.
    pub flags: Vec<String>,
}

/// No workload has that name.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum UnknownWorkload {
    /// But one has nearly that name.
    #[error("there is no workload \"{name}\": did you mean \"{nearest}\"?")]
    Near {
        /// What was asked for.
        name: String,
        /// What there is.
        nearest: String,
    },
    /// Nor one with a similar name.
    #[error("there is no workload \"{0}\": `fathomp workload list` shows all")]
    Far(String),
}

/// All workloads, by suite and name.
#[must_use]
pub fn catalogue() -> Vec<Workload> {
    programs(FILES)
}

/// The workload called `name`: `cg`, or `polybench/lu` where several suites
/// have the name; without the suite, the first of them in [`Suite::ALL`].
///
/// # Errors
/// If there is none; the message names the nearest.
pub fn find(name: &str) -> Result<Workload, UnknownWorkload> {
    let all = catalogue();
    let found = all.iter().find(|w| w.name == name || w.full_name() == name);
    found.cloned().ok_or_else(|| unknown(name, &all))
}

fn unknown(name: &str, all: &[Workload]) -> UnknownWorkload {
    let known = all
        .iter()
        .flat_map(|workload| [workload.name.to_owned(), workload.full_name()]);
    let name = name.to_owned();
    match fathomp_types::nearest(&name, known) {
        Some(nearest) => UnknownWorkload::Near { name, nearest },
        None => UnknownWorkload::Far(name),
    }
}

impl Workload {
    /// The name that no other workload has: `npb/cg`.
    #[must_use]
    pub fn full_name(&self) -> String {
        format!("{}/{}", self.suite, self.name)
    }

    /// How to build it.
    #[must_use]
    pub fn recipe(&self, variant: &Variant) -> Recipe<'static> {
        let mut name = self.name.to_owned();
        let mut flags = variant.flags.clone();
        if variant.openmp {
            flags.push("-fopenmp".to_owned());
        }
        if self.suite.sized_when_built() {
            flags.push(format!("-DNPB_CLASS_{}", variant.class));
            name = format!("{name}.{}", variant.class);
            // Some have more static data than the default model reaches.
            if variant.class == Class::C && cfg!(target_arch = "x86_64") {
                flags.push("-mcmodel=medium".to_owned());
            }
        }
        if !variant.openmp {
            name.push_str(".serial");
        }
        Recipe {
            name,
            files: self.files.clone(),
            includes: self.folders.clone(),
            flags,
            libraries: vec!["-lm".to_owned()],
        }
    }

    /// The size by name: the class, or the data set that `size` asks for, by
    /// default that of the class's rank.
    #[must_use]
    pub fn size(&self, class: Class, size: Option<&str>) -> String {
        if self.suite.sized_when_built() {
            class.to_string()
        } else {
            size.unwrap_or(class.data_set()).to_owned()
        }
    }

    /// The arguments that ask a program for that size.
    #[must_use]
    pub fn size_arguments(&self, class: Class, size: Option<&str>) -> Vec<String> {
        if self.suite.sized_when_built() {
            Vec::new()
        } else {
            vec!["--size".to_owned(), self.size(class, size)]
        }
    }
}

/// Folders of the same suite that `folder` (`SUITE/NAME`) uses.
fn uses(files: &'static [File<'static>], folder: &str) -> impl Iterator<Item = String> {
    let file = format!("{folder}/uses");
    let suite = folder.split('/').next().unwrap_or_default().to_owned();
    files
        .iter()
        .filter(move |one| one.path == file)
        .flat_map(|one| one.text.split_whitespace())
        .map(move |used| format!("{suite}/{used}"))
}

/// The programs among files that are sorted by path.
fn programs(files: &'static [File<'static>]) -> Vec<Workload> {
    let parts: Vec<String> = files
        .iter()
        .filter_map(|file| file.path.strip_suffix("/uses"))
        .flat_map(|folder| uses(files, folder))
        .collect();
    let mut found = Vec::new();
    for file in files {
        let levels: Vec<&str> = file.path.split('/').collect();
        let (suite, folder, name) = match levels[..] {
            [suite, name] => (suite, None, name),
            [suite, folder, name] => (suite, Some(format!("{suite}/{folder}")), name),
            _ => continue,
        };
        let Some(suite) = Suite::ALL.into_iter().find(|one| one.name() == suite) else {
            continue;
        };
        let Some(name) = name.strip_suffix(".c") else {
            continue;
        };
        // A file that is a program brings itself, a folder all it holds.
        let own = match &folder {
            None => vec![*file],
            Some(folder) if *folder == format!("{suite}/{name}") && !parts.contains(folder) => {
                Vec::new()
            }
            Some(_) => continue,
        };
        let used = folder.iter().flat_map(|folder| uses(files, folder));
        let mut folders: Vec<String> = folder.iter().cloned().chain(used).collect();
        folders.extend([format!("{suite}/common"), "common".to_owned()]);
        let of_folders = files.iter().filter(|file| {
            file.path.rsplit_once('/').is_some_and(|(folder, name)| {
                folders.iter().any(|one| one == folder) && name != "uses"
            })
        });
        found.push(Workload {
            suite,
            name,
            about: about(file.text),
            files: own.into_iter().chain(of_folders.copied()).collect(),
            folders: folders.clone(),
        });
    }
    found.sort_by_key(|workload| (workload.suite, workload.name));
    found
}

/// What a main file says about its program.
fn about(text: &str) -> String {
    let member = text.lines().find_map(|line| {
        let value = line.trim().strip_prefix(".about = \"")?;
        Some(value.trim_end_matches([',', '"']).to_owned())
    });
    member.unwrap_or_else(|| first_sentence(text))
}

/// The first sentence of the comment that a source begins with, after its
/// colon and before a semicolon.
fn first_sentence(text: &str) -> String {
    let comment = text
        .trim_start()
        .strip_prefix("/*")
        .and_then(|rest| rest.split("*/").next())
        .unwrap_or("");
    let words: Vec<&str> = comment
        .lines()
        .map(|line| line.trim().trim_start_matches('*').trim())
        .take_while(|line| !line.is_empty())
        .flat_map(str::split_whitespace)
        .collect();
    let text = words.join(" ");
    let before = |mark| move |text| str::split_once(text, mark).map_or(text, |(one, _)| one);
    let sentence = before("; ")(before(". ")(&text));
    let sentence = sentence.split_once(": ").map_or(sentence, |(_, rest)| rest);
    sentence.trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &[File<'static>] = &[
        File {
            path: "common/workload.c",
            text: "",
        },
        File {
            path: "common/workload.h",
            text: "",
        },
        File {
            path: "npb/common/npb.c",
            text: "",
        },
        File {
            path: "npb/part/part.c",
            text: "",
        },
        File {
            path: "npb/zz/more.c",
            text: "",
        },
        File {
            path: "npb/zz/uses",
            text: "part\n",
        },
        File {
            path: "npb/zz/zz.c",
            text: "/* NPB ZZ (RNR-94-007, section 9.9): sleeps well.\n *\n * More. */",
        },
        File {
            path: "polybench/aa.c",
            text: "/* Nothing at\n * all. Really. */",
        },
        File {
            path: "polybench/bb.c",
            text: "int x;\nstruct x y = {\n    .about = \"a test, C = A B\",\n};",
        },
        File {
            path: "polybench/common/polybench.h",
            text: "",
        },
    ];

    fn named(name: &str) -> Workload {
        programs(SMALL)
            .into_iter()
            .find(|w| w.name == name)
            .unwrap()
    }

    fn variant(class: Class, openmp: bool) -> Variant {
        Variant {
            class,
            openmp,
            flags: vec!["-O1".to_owned()],
        }
    }

    #[test]
    fn a_folder_brings_what_it_uses() {
        let recipe = named("zz").recipe(&variant(Class::C, true));
        let paths: Vec<_> = recipe.files.iter().map(|file| file.path).collect();
        assert_eq!(
            paths,
            [
                "common/workload.c",
                "common/workload.h",
                "npb/common/npb.c",
                "npb/part/part.c",
                "npb/zz/more.c",
                "npb/zz/zz.c",
            ]
        );
        assert_eq!(
            recipe.includes,
            ["npb/zz", "npb/part", "npb/common", "common"]
        );
        assert_eq!(recipe.name, "zz.C");
        assert_eq!(recipe.flags[..3], ["-O1", "-fopenmp", "-DNPB_CLASS_C"]);
    }

    #[test]
    fn a_file_brings_itself_alone() {
        let recipe = named("aa").recipe(&variant(Class::S, false));
        let paths: Vec<_> = recipe.files.iter().map(|file| file.path).collect();
        assert_eq!(paths[0], "polybench/aa.c");
        assert!(!paths.contains(&"polybench/bb.c"));
        assert_eq!(recipe.name, "aa.serial");
        assert_eq!(recipe.flags, ["-O1"]);
    }

    #[test]
    fn parts_are_no_programs() {
        let names: Vec<_> = programs(SMALL).iter().map(Workload::full_name).collect();
        assert_eq!(names, ["npb/zz", "polybench/aa", "polybench/bb"]);
    }

    #[test]
    fn what_it_is_comes_from_its_comment() {
        assert_eq!(named("zz").about, "sleeps well");
        assert_eq!(named("aa").about, "Nothing at all");
        assert_eq!(named("bb").about, "a test, C = A B");
    }

    #[test]
    fn every_program_says_what_it_is_and_has_what_it_uses() {
        let all = catalogue();
        assert!(!all.is_empty());
        for workload in all {
            let name = workload.full_name();
            assert!(!workload.about.is_empty(), "{name} does not say what it is");
            for folder in &workload.folders {
                let in_it = |file: &File<'_>| file.path.starts_with(&format!("{folder}/"));
                assert!(
                    FILES.iter().any(in_it),
                    "{name} uses {folder}, which is empty"
                );
            }
        }
    }

    #[test]
    fn the_nearest_name_is_proposed() {
        let all = programs(SMALL);
        let near = |name: &str| match unknown(name, &all) {
            UnknownWorkload::Near { nearest, .. } => Some(nearest),
            UnknownWorkload::Far(_) => None,
        };
        assert_eq!(near("zx").as_deref(), Some("zz"));
        assert_eq!(near("ZZ").as_deref(), Some("zz"));
        assert_eq!(near("polybemch/aa").as_deref(), Some("polybench/aa"));
        assert_eq!(near("something"), None);
        assert_eq!(near(""), None);
    }

    #[test]
    fn sizes_by_class_or_by_name() {
        assert_eq!(named("zz").size(Class::A, Some("4x")), "A");
        assert_eq!(named("aa").size(Class::A, None), "medium");
        assert_eq!(
            named("aa").size_arguments(Class::A, Some("4x")),
            ["--size", "4x"]
        );
    }
}
