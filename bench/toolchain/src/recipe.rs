//! What is compiled, and how.

use crate::compiler::Compiler;
use sha2::{Digest, Sha256};

/// A source file or a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct File<'a> {
    /// Its path below the directory that is built in, with slashes.
    pub path: &'a str,
    /// Its content.
    pub text: &'a str,
}

/// How a program is made of sources. Compiled are all files but headers (`.h`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recipe<'a> {
    /// File name of the program.
    pub name: String,
    /// Sources and headers.
    pub files: Vec<File<'a>>,
    /// Directories, as in the files' paths, where headers are looked for.
    pub includes: Vec<String>,
    /// Options that stand before the sources.
    pub flags: Vec<String>,
    /// Libraries and linker options, which stand after them: `-lm`.
    pub libraries: Vec<String>,
}

impl Recipe<'_> {
    /// The arguments of the compiler, which runs where the files are.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let includes = self
            .includes
            .iter()
            .map(|directory| format!("-I{directory}"));
        let sources = self
            .files
            .iter()
            .map(|file| file.path)
            .filter(|path| !path.ends_with(".h"))
            .map(str::to_owned);
        let mut arguments = self.flags.clone();
        arguments.extend(includes);
        arguments.extend(sources);
        arguments.extend(self.libraries.iter().cloned());
        arguments
    }

    /// Names the program among all others: same key, same bytes. Half of a
    /// SHA-256, which is short enough for a path people see.
    pub(crate) fn key(&self, compiler: &Compiler) -> String {
        const BYTES: usize = 16;
        let mut hash = Sha256::new();
        // Lengths keep "ab" + "c" apart from "a" + "bc".
        let mut add = |part: &str| {
            hash.update(part.len().to_le_bytes());
            hash.update(part);
        };
        add(compiler.identity());
        add(&self.name);
        for argument in self.arguments() {
            add(&argument);
        }
        for file in &self.files {
            add(file.path);
            add(file.text);
        }
        let digest = hash.finalize();
        digest
            .iter()
            .take(BYTES)
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}
