//! What the user says about tools, and where is said what becomes of that.

use fathomp_omp::env::process_variable;
use std::fs::OpenOptions;
use std::io::Write as _;

/// `OMP_TOOL_LIBRARIES` and `OMP_TOOL_VERBOSE_INIT` (OpenMP 5.1, sections 6.19 and 6.20).
/// `OMP_TOOL` is one of the runtime's settings.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Wishes {
    /// Paths of libraries, in the order in which they are tried.
    pub(super) libraries: Vec<String>,
    pub(super) report: Report,
}

/// Where is said what is looked for and found.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Report {
    Nowhere,
    Stdout,
    Stderr,
    File(String),
}

impl Wishes {
    pub(super) fn from_environment() -> Self {
        Self::read(process_variable)
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Self {
        let libraries = variable("OMP_TOOL_LIBRARIES").unwrap_or_default();
        Self {
            libraries: libraries
                .split(':')
                .filter(|path| !path.is_empty())
                .map(str::to_owned)
                .collect(),
            report: Report::read(&variable("OMP_TOOL_VERBOSE_INIT").unwrap_or_default()),
        }
    }
}

impl Report {
    fn read(text: &str) -> Self {
        match text.trim().to_ascii_lowercase().as_str() {
            "" | "disabled" => Self::Nowhere,
            "stdout" => Self::Stdout,
            "stderr" => Self::Stderr,
            _ => Self::File(text.trim().to_owned()),
        }
    }

    /// Says one thing. Somewhere that cannot be written to is no error of the program's.
    pub(super) fn say(&self, what: &str) {
        let line = format!("fathomp: {what}\n");
        let _ = match self {
            Self::Nowhere => Ok(()),
            Self::Stdout => std::io::stdout().write_all(line.as_bytes()),
            Self::Stderr => std::io::stderr().write_all(line.as_bytes()),
            Self::File(path) => OpenOptions::new()
                .create(true)
                .append(true)
                .open(path)
                .and_then(|mut file| file.write_all(line.as_bytes())),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(libraries: &str, report: &str) -> Wishes {
        Wishes::read(|name| {
            let known = [
                ("OMP_TOOL_LIBRARIES", libraries),
                ("OMP_TOOL_VERBOSE_INIT", report),
            ];
            let found = known.into_iter().find(|(known, _)| *known == name)?;
            Some(found.1.to_owned())
        })
    }

    #[test]
    fn the_variables_are_read_as_specified() {
        let wishes = read("/a/tool.so::b.so", "STDERR");
        assert_eq!(wishes.libraries, ["/a/tool.so", "b.so"]);
        assert_eq!(wishes.report, Report::Stderr);
        assert_eq!(read("", "disabled").report, Report::Nowhere);
        let file = Report::File("/tmp/report".to_owned());
        assert_eq!(read("", " /tmp/report").report, file);
    }
}
