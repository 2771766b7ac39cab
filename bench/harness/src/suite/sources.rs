//! The programs' texts, carried inside this crate.

/// Path under `suites/` and text of every source.
const ALL: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// A suite of measurements.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum SuiteName {
    /// Overheads of OpenMP constructs.
    Epcc,
    /// Cost of keeping shared memory consistent.
    Mcbench,
    /// Cost of memory accesses.
    Access,
}

impl SuiteName {
    /// All suites.
    pub const ALL: [Self; 3] = [Self::Epcc, Self::Mcbench, Self::Access];

    /// The name on the command line, and of the folder of its sources.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Epcc => "epcc",
            Self::Mcbench => "mcbench",
            Self::Access => "access",
        }
    }
}

/// A source file as the build uses it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Source {
    /// Its name; no two files of a program have the same.
    pub(crate) name: &'static str,
    /// Its text.
    pub(crate) text: &'static str,
    /// The program does not link without it.
    pub(crate) needed: bool,
}

impl Source {
    /// True for what the compiler is given; false for headers.
    pub(crate) fn is_compiled(self) -> bool {
        self.name.ends_with(".c") || self.name.ends_with(".f90")
    }
}

/// The files of each program that a compiler of one language builds for a
/// suite: one program for the suite's folder and one for each folder in it, of
/// which `fortran` is the one in Fortran.
pub(crate) fn programs(suite: SuiteName, fortran: bool) -> Vec<Vec<Source>> {
    let folder = suite.name();
    let place_of = |path: &'static str| path.rsplit_once('/').map_or("", |(place, _)| place);
    let mut places: Vec<&str> = ALL.iter().map(|(path, _)| place_of(path)).collect();
    places.dedup();
    places
        .into_iter()
        .filter(|place| {
            let below = place.strip_prefix(folder);
            below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                && place.ends_with("/fortran") == fortran
        })
        .map(|place| program(folder, place))
        .collect()
}

/// What all programs share, the suite's main file, and the files in `place`.
fn program(folder: &str, place: &str) -> Vec<Source> {
    let source = |(path, text): &(&'static str, &'static str)| {
        let (at, name) = path.rsplit_once('/')?;
        let main = at == folder && name.strip_suffix(".c") == Some(folder);
        let shared = at == "common" || main || (at == folder && name.ends_with(".h"));
        (shared || at == place).then_some(Source {
            name,
            text,
            needed: shared || name == "rows.c",
        })
    };
    ALL.iter().filter_map(source).collect()
}

/// The files whose paths under `suites/` begin in one of these ways.
pub(crate) fn beginning_with(beginnings: &[&str]) -> impl Iterator<Item = Source> {
    let wanted = |path: &str| beginnings.iter().any(|begin| path.starts_with(begin));
    ALL.iter().filter_map(move |(path, text)| {
        let (_, name) = path.rsplit_once('/')?;
        let needed = true;
        wanted(path).then_some(Source { name, text, needed })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_has_its_files_once() {
        for (suite, fortran) in SuiteName::ALL.into_iter().map(|one| (one, false)) {
            let programs = programs(suite, fortran);
            assert!(!programs.is_empty(), "{suite:?}");
            for files in programs {
                assert!(files.iter().any(|file| file.is_compiled()));
                for (index, file) in files.iter().enumerate() {
                    assert!(!file.name.ends_with(".f90"));
                    assert!(files[..index].iter().all(|other| other.name != file.name));
                }
            }
        }
    }

    #[test]
    fn only_epcc_may_have_a_fortran_program() {
        assert!(programs(SuiteName::Epcc, true).len() <= 1);
        assert!(programs(SuiteName::Mcbench, true).is_empty());
    }
}
