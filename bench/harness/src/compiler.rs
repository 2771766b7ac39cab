//! Compilers, and which OpenMP interface their programs use.

use crate::runtime::Interface;
use fathomp_toolchain as toolchain;
use std::path::Path;
use toolchain::CompilerError;

/// A compiler that builds OpenMP programs.
#[derive(Debug, Clone)]
pub struct Compiler {
    pub(crate) tool: toolchain::Compiler,
    /// The calls its programs make.
    pub interface: Interface,
    /// It compiles Fortran.
    pub fortran: bool,
}

impl Compiler {
    /// Finds the compiler called `name` and makes sure that it knows OpenMP.
    ///
    /// # Errors
    /// If it is missing or does not build an OpenMP program.
    pub fn find(name: &str, cache: &Path) -> Result<Self, CompilerError> {
        let tool = toolchain::Compiler::find(name)?;
        tool.check_openmp(cache)?;
        let file = Path::new(name).file_name().unwrap_or_default();
        let words = format!("{} {}", file.to_string_lossy(), tool.version());
        let (interface, fortran) = classify(&words);
        Ok(Self {
            tool,
            interface,
            fortran,
        })
    }

    /// As the user called it.
    #[must_use]
    pub fn name(&self) -> &str {
        self.tool.name()
    }

    /// What it says about its version.
    #[must_use]
    pub fn version(&self) -> &str {
        self.tool.version()
    }
}

/// The interface and whether it is Fortran's, from name and version.
fn classify(words: &str) -> (Interface, bool) {
    let words = words.to_lowercase();
    let llvm = ["clang", "flang", "icx", "ifx"]
        .iter()
        .any(|name| words.contains(name));
    let fortran = ["fortran", "flang", "ifx"]
        .iter()
        .any(|name| words.contains(name));
    let interface = if llvm {
        Interface::Llvm
    } else {
        Interface::Gnu
    };
    (interface, fortran)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_are_told_apart() {
        for (words, expected) in [
            ("gcc gcc (Debian 12.2.0-14) 12.2.0", (Interface::Gnu, false)),
            ("cc Debian clang version 14.0.6", (Interface::Llvm, false)),
            ("gfortran-12 GNU Fortran 12.2.0", (Interface::Gnu, true)),
            ("flang-new flang version 18", (Interface::Llvm, true)),
        ] {
            assert_eq!(classify(words), expected, "{words}");
        }
    }
}
