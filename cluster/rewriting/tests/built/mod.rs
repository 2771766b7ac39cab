//! Test programs, built and run.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A test program as one compiler built it.
pub(crate) struct Program {
    pub(crate) path: PathBuf,
    pub(crate) name: String,
}

/// Builds a test program in every way that this machine's compilers can.
pub(crate) fn builds(
    source: &str,
    directory: &Path,
    builds: &[(&str, &[&str])],
    extra: &[&str],
) -> Vec<Program> {
    let language: &[&str] = match source.ends_with(".c") {
        true => &["-std=gnu11", "-pthread"],
        false => &["-pthread"],
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(source);
    let mut programs = vec![];
    for (number, (compiler, flags)) in builds.iter().enumerate() {
        let path = directory.join(format!("program{number}"));
        let built = Command::new(compiler)
            .args(language)
            .args(*flags)
            .args(extra)
            .arg(&source)
            .arg("-o")
            .arg(&path)
            .output();
        let name = format!("{compiler} {}", flags.join(" "));
        match built {
            Ok(output) if output.status.success() => programs.push(Program { path, name }),
            // Another compiler than ours may be missing or know less.
            _ if *compiler == "clang" => eprintln!("skipped: {name}"),
            Ok(output) => panic!("{name}: {}", text(&output.stderr)),
            Err(error) => panic!("{name}: {error}"),
        }
    }
    programs
}

/// The library that patches what it is loaded into, built beside the tests.
pub(crate) fn sections() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let profile = tests.parent().and_then(Path::parent).unwrap();
    let library = profile.join("examples/libatomic_sections.so");
    assert!(
        library.exists(),
        "{} is missing: cargo builds it for `cargo test -p fathomp-rewriting`",
        library.display()
    );
    library
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(crate) fn run(program: &Program, argument: &str, environment: &[(&str, &str)]) -> Output {
    let output = Command::new(&program.path)
        .arg(argument)
        .envs(environment.iter().copied())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{} {argument} {environment:?}: {}: {}",
        program.name,
        output.status,
        text(&output.stderr)
    );
    output
}

/// The number in the line that begins like this.
pub(crate) fn number(output: &str, prefix: &str) -> u64 {
    after(output, prefix).parse().unwrap()
}

/// What follows on the line that begins so.
pub(crate) fn after<'a>(output: &'a str, prefix: &str) -> &'a str {
    let line = output.lines().find_map(|line| line.strip_prefix(prefix));
    line.unwrap()
}
