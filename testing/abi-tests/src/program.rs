//! The programs and what each says about itself.
//!
//! A line `fathomp: KEYWORD REST` in a comment near the top of a program is a
//! directive:
//!
//! | keyword    | rest | |
//! |------------|------|-|
//! | `env`      | `NAME=VALUE` | set when the program runs |
//! | `threads`  | numbers | values of `OMP_NUM_THREADS` instead of 1, 2, 3 and 8 |
//! | `variants` | options | optimisation levels instead of `-O2` |
//! | `flags`    | options | added when it is built |
//! | `timeout`  | seconds | longest run, instead of 30 |
//! | `libgomp`  | reason  | libgomp fails this program, so only ours must pass |
//! | `clang`    | reason  | clang does not compile it, or not to what it says: with gcc only |
//! | `nodes`    | `refused` words | on several nodes it ends with a sentence that has them |
//! | `nodes`    | `skipped` reason | what it checks has no meaning on several nodes |

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Directives are looked for in so many lines from the top.
const HEADER_LINES: usize = 40;

/// The compiler a program needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    /// C.
    C,
    /// C++.
    Cxx,
    /// Fortran.
    Fortran,
}

impl Language {
    fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "c" => Some(Self::C),
            "cpp" => Some(Self::Cxx),
            "f90" => Some(Self::Fortran),
            _ => None,
        }
    }
}

/// Who compiles the programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Compiler {
    /// gcc, for libgomp's interface.
    Gnu,
    /// clang, for LLVM's.
    Llvm,
}

impl Compiler {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Gnu, Self::Llvm];

    /// Its command for a language, if it has one.
    #[must_use]
    pub fn command(self, language: Language) -> Option<&'static str> {
        Some(match (self, language) {
            (Self::Gnu, Language::C) => "gcc",
            (Self::Gnu, Language::Cxx) => "g++",
            (Self::Gnu, Language::Fortran) => "gfortran",
            (Self::Llvm, Language::C) => "clang",
            (Self::Llvm, Language::Cxx) => "clang++",
            (Self::Llvm, Language::Fortran) => return None,
        })
    }

    /// Packages of Debian that bring the command.
    #[must_use]
    pub fn packages(self, command: &'static str) -> &'static str {
        match self {
            // Packages of gcc's compilers have the compilers' names.
            Self::Gnu => command,
            Self::Llvm => fathomp_requirements::CLANG.package,
        }
    }

    /// The name of the test of a program that it has compiled.
    #[must_use]
    pub fn test_name(self, program: &Program) -> String {
        match self {
            Self::Gnu => program.name.clone(),
            Self::Llvm => format!("clang/{}", program.name),
        }
    }
}

/// What becomes of a program on several nodes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum OnNodes {
    /// It passes as in one process.
    #[default]
    Passes,
    /// It is ended with a sentence that contains these words.
    Refused(String),
    /// It is not run.
    Skipped,
}

/// One test program.
#[derive(Debug, Clone)]
pub struct Program {
    /// Path below the programs' directory without extension: `loops/limits`.
    pub name: String,
    /// The source.
    pub source: PathBuf,
    /// Its language.
    pub language: Language,
    /// Variables for every run.
    pub env: Vec<(String, String)>,
    /// Values of `OMP_NUM_THREADS`.
    pub threads: Vec<usize>,
    /// Optimisation levels.
    pub variants: Vec<String>,
    /// Further compiler options.
    pub flags: Vec<String>,
    /// Sources of the libraries that it loads.
    pub loads: Vec<PathBuf>,
    /// Longest run.
    pub timeout: Duration,
    /// Why libgomp fails this program, if it does.
    pub libgomp_fails: Option<String>,
    /// Why it is not compiled by clang, if it is not.
    pub not_by_clang: Option<String>,
    /// What becomes of it on several nodes.
    pub on_nodes: OnNodes,
}

/// A program whose directives cannot be followed.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct ProgramError {
    path: String,
    reason: String,
}

impl Program {
    /// Numbers of threads that it runs with where `compiler` built it. Both compilers' entry points
    /// lead to the same runtime, so that the second is tried with the first numbers alone: one
    /// thread, which is a case of its own, and two; with `FATHOMP_ALL_TESTS=1` with all.
    #[must_use]
    pub fn threads_by(&self, compiler: Compiler) -> &[usize] {
        let most = match compiler {
            Compiler::Llvm if !fathomp_requirements::slow_wanted() => self.threads.len().min(2),
            Compiler::Gnu | Compiler::Llvm => self.threads.len(),
        };
        &self.threads[..most]
    }

    fn parse(name: String, source: PathBuf, text: &str) -> Result<Self, ProgramError> {
        let error = |reason: String| ProgramError {
            path: source.display().to_string(),
            reason,
        };
        let language = Language::of(&source).ok_or_else(|| error("unknown language".into()))?;
        let mut program = Self {
            name,
            source: source.clone(),
            language,
            env: Vec::new(),
            threads: vec![1, 2, 3, 8],
            variants: vec!["-O2".to_owned()],
            flags: Vec::new(),
            loads: Vec::new(),
            timeout: Duration::from_secs(30),
            libgomp_fails: None,
            not_by_clang: None,
            on_nodes: OnNodes::default(),
        };
        for line in text.lines().take(HEADER_LINES) {
            let Some((comment, directive)) = line.split_once("fathomp: ") else {
                continue;
            };
            if !matches!(comment.trim(), "//" | "!" | "*" | "/*") {
                continue;
            }
            // The rest is taken as it is: white space in a value matters.
            let (keyword, rest) = directive.split_once(' ').unwrap_or((directive, ""));
            let words = || rest.split_whitespace().map(str::to_owned);
            match keyword {
                "env" => {
                    let (key, value) = rest
                        .split_once('=')
                        .ok_or_else(|| error(format!("no '=' in 'env {rest}'")))?;
                    program.env.push((key.to_owned(), value.to_owned()));
                }
                "threads" => {
                    program.threads = words()
                        .map(|w| w.parse().map_err(|_| error(format!("'{w}' is no number"))))
                        .collect::<Result<_, _>>()?;
                }
                "variants" => program.variants = words().collect(),
                "flags" => program.flags = words().collect(),
                "loads" => {
                    let source = |name| source.with_file_name(format!("{name}_lib.c"));
                    program.loads = words().map(source).collect();
                }
                "timeout" => {
                    let seconds = rest
                        .trim()
                        .parse()
                        .map_err(|_| error(format!("'{rest}' is no number of seconds")))?;
                    program.timeout = Duration::from_secs(seconds);
                }
                "libgomp" => program.libgomp_fails = Some(format!("libgomp {}", rest.trim())),
                "clang" => program.not_by_clang = Some(rest.trim().to_owned()),
                "nodes" => {
                    program.on_nodes = match rest.trim().split_once(' ') {
                        Some(("refused", words)) => OnNodes::Refused(words.to_owned()),
                        Some(("skipped", _)) => OnNodes::Skipped,
                        _ => return Err(error(format!("'nodes {rest}' is not understood"))),
                    };
                }
                _ => return Err(error(format!("unknown directive '{keyword}'"))),
            }
        }
        if program.threads.is_empty() || program.variants.is_empty() {
            return Err(error(
                "nothing to run: 'threads' or 'variants' is empty".into(),
            ));
        }
        Ok(program)
    }

    /// The command by which `compiler` compiles it, if it does.
    #[must_use]
    pub fn command(&self, compiler: Compiler) -> Option<&'static str> {
        let left_out = compiler == Compiler::Llvm && self.not_by_clang.is_some();
        compiler.command(self.language).filter(|_| !left_out)
    }
}

/// Where the programs lie in the repository.
#[must_use]
pub fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/abi")
}

/// All programs under `directory`, by name. Those named `*_lib.c` are libraries that some of
/// them load.
///
/// # Errors
/// If the directory cannot be read or a program's directives make no sense.
pub fn discover(directory: &Path) -> Result<Vec<Program>, io::Error> {
    let mut programs = Vec::new();
    for group in fs::read_dir(directory)? {
        let group = group?.path();
        if !group.is_dir() {
            continue;
        }
        for file in fs::read_dir(&group)? {
            let file = file?.path();
            let (Some(_), Some(stem)) = (Language::of(&file), file.file_stem()) else {
                continue;
            };
            let stem = stem.to_string_lossy();
            if stem.ends_with("_lib") {
                continue;
            }
            let group = group.file_name().unwrap_or_default().to_string_lossy();
            let text = fs::read_to_string(&file)?;
            programs.push(
                Program::parse(format!("{group}/{stem}"), file, &text).map_err(io::Error::other)?,
            );
        }
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Program, ProgramError> {
        Program::parse("g/p".into(), "g/p.c".into(), text)
    }

    #[test]
    fn defaults_hold_without_directives() {
        let program = parse("// A program about fathomp: nothing more.\nint main;\n").unwrap();
        assert_eq!(program.threads, [1, 2, 3, 8]);
        assert_eq!(program.variants, ["-O2"]);
        assert!(program.libgomp_fails.is_none());
    }

    #[test]
    fn directives_are_followed() {
        let program = parse(
            "// fathomp: env OMP_SCHEDULE= guided , 7 \n// fathomp: threads 2 64\n\
             // fathomp: variants -O0 -O3\n// fathomp: timeout 60\n// fathomp: libgomp lacks it\n",
        )
        .unwrap();
        assert_eq!(
            program.env,
            [("OMP_SCHEDULE".to_owned(), " guided , 7 ".to_owned())]
        );
        assert_eq!(program.threads, [2, 64]);
        assert_eq!(program.variants, ["-O0", "-O3"]);
        assert_eq!(program.timeout, Duration::from_secs(60));
        assert_eq!(program.libgomp_fails.as_deref(), Some("libgomp lacks it"));
    }

    #[test]
    fn nonsense_is_refused() {
        for bad in [
            "env X",
            "threads two",
            "threads",
            "timeout soon",
            "nodes perhaps",
            "nodes refused",
            "colour blue",
        ] {
            assert!(parse(&format!("// fathomp: {bad}\n")).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_repository_has_programs_for_every_language() {
        let programs = discover(&directory()).unwrap();
        assert!(programs.len() > 80, "{}", programs.len());
        let libraries: Vec<_> = programs.iter().flat_map(|p| &p.loads).collect();
        assert!(!libraries.is_empty() && libraries.iter().all(|source| source.is_file()));
        for language in [Language::C, Language::Cxx, Language::Fortran] {
            assert!(programs.iter().any(|p| p.language == language));
        }
    }
}
