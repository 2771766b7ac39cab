//! What the recorder in a program is to do.

use crate::Variable;
use crate::names::{INTERVAL_NS, RECORD, RING_KIB, RING_THREADS};
use crate::value::{Lookup, Variables, number, path, text};
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;

/// Where a program leaves its records, and how many it can.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorder {
    /// The live directory, where running programs and the launcher meet.
    pub directory: PathBuf,
    /// Size of a thread's ring in KiB, within [`Self::RING_KIB`].
    pub ring_kib: u32,
    /// Threads that can be recorded at a time, within [`Self::THREADS`].
    pub threads: u32,
    /// Shortest wait that gets a record of its own, in nanoseconds.
    pub interval_ns: u64,
}

/// A number of the recorder is none.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable} is {value:?}, not a number: give one as in {variable}={default}, or unset it", default = variable.default)]
pub struct RecorderError {
    variable: Variable,
    value: OsString,
}

impl Recorder {
    /// Sizes of rings that there can be, in KiB.
    pub const RING_KIB: RangeInclusive<u32> = 4..=1 << 20;
    /// Numbers of threads for which there can be room.
    pub const THREADS: RangeInclusive<u32> = 1..=1 << 12;

    /// The usual sizes: 1 MiB a thread, 256 threads, 1 us.
    #[must_use]
    pub fn new(directory: PathBuf) -> Self {
        Self {
            directory,
            ring_kib: 1024,
            threads: 256,
            interval_ns: 1000,
        }
    }

    /// Whether the environment asks that the program be recorded.
    #[must_use]
    pub fn is_asked_for(get: Lookup<'_>) -> bool {
        text(get, RECORD).is_some()
    }

    /// What the environment asks for. Sizes beyond what can be are taken for the nearest.
    ///
    /// # Errors
    /// If one of its numbers is none.
    pub fn from_env(get: Lookup<'_>) -> Result<Option<Self>, RecorderError> {
        let Some(directory) = path(get, RECORD) else {
            return Ok(None);
        };
        let usual = Self::new(directory);
        Ok(Some(Self {
            ring_kib: within(get, RING_KIB, Self::RING_KIB)?.unwrap_or(usual.ring_kib),
            threads: within(get, RING_THREADS, Self::THREADS)?.unwrap_or(usual.threads),
            interval_ns: read(get, INTERVAL_NS)?.unwrap_or(usual.interval_ns),
            ..usual
        }))
    }

    pub(crate) fn variables(&self, to: &mut Variables) {
        let Self {
            directory,
            ring_kib,
            threads,
            interval_ns,
        } = self;
        to.push((RECORD.name, directory.into()));
        // What the user has set is left, unless it is to be something unusual.
        let usual = Self::new(PathBuf::new());
        if *ring_kib != usual.ring_kib {
            to.push((RING_KIB.name, ring_kib.to_string().into()));
        }
        if *threads != usual.threads {
            to.push((RING_THREADS.name, threads.to_string().into()));
        }
        if *interval_ns != usual.interval_ns {
            to.push((INTERVAL_NS.name, interval_ns.to_string().into()));
        }
    }
}

fn read(get: Lookup<'_>, variable: Variable) -> Result<Option<u64>, RecorderError> {
    match text(get, variable) {
        None => Ok(None),
        Some(value) => match number(&value) {
            Some(number) => Ok(Some(number)),
            None => Err(RecorderError { variable, value }),
        },
    }
}

fn within(
    get: Lookup<'_>,
    variable: Variable,
    range: RangeInclusive<u32>,
) -> Result<Option<u32>, RecorderError> {
    let asked = read(get, variable)?.map(|asked| u32::try_from(asked).unwrap_or(u32::MAX));
    Ok(asked.map(|asked| asked.clamp(*range.start(), *range.end())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(Variable, &str)]) -> Result<Option<Recorder>, RecorderError> {
        Recorder::from_env(&|name| {
            let found = variables.iter().find(|(known, _)| known.name == name);
            found.map(|(_, value)| value.into())
        })
    }

    #[test]
    fn without_a_directory_nothing_is_recorded() {
        assert_eq!(read(&[]), Ok(None));
        assert_eq!(read(&[(RECORD, ""), (RING_KIB, "nonsense")]), Ok(None));
    }

    #[test]
    fn sizes_are_kept_within_reason() {
        let asked = read(&[
            (RECORD, "/live"),
            (RING_KIB, "0"),
            (RING_THREADS, "99999999999"),
        ]);
        let expected = Recorder {
            ring_kib: 4,
            threads: 4096,
            ..Recorder::new("/live".into())
        };
        assert_eq!(asked, Ok(Some(expected)));
    }

    #[test]
    fn what_is_no_number_is_said() {
        let asked = read(&[(RECORD, "/live"), (INTERVAL_NS, "1ms")]);
        assert_eq!(
            asked.unwrap_err().to_string(),
            "FATHOMP_INTERVAL_NS is \"1ms\", not a number: give one as in FATHOMP_INTERVAL_NS=1000, or unset it"
        );
    }

    #[test]
    fn defaults_are_those_that_are_documented() {
        let usual = Recorder::new(PathBuf::new());
        assert_eq!(usual.ring_kib.to_string(), RING_KIB.default);
        assert_eq!(usual.threads.to_string(), RING_THREADS.default);
        assert_eq!(usual.interval_ns.to_string(), INTERVAL_NS.default);
    }
}
