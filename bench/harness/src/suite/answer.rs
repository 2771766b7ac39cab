//! The line that a measuring process prints, and what is said where there is
//! none.

use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::Duration;

/// What one process measured. Times are nanoseconds per repetition.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Process {
    /// Which run it belongs to, from 0.
    #[serde(default)]
    pub run: u32,
    /// Repetitions in a sample.
    pub reps: u64,
    /// Bytes that a repetition passes over, where that has a meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<f64>,
    /// Loads or stores in a repetition, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accesses: Option<f64>,
    /// Wall time of the work without the construct; empty if there is no such
    /// work.
    #[serde(default)]
    pub reference_ns: Vec<f64>,
    /// Wall time with it.
    pub construct_ns: Vec<f64>,
    /// Processor time of the initial thread, without the construct.
    #[serde(default)]
    pub reference_cpu_ns: Vec<f64>,
    /// Processor time of the initial thread, with it.
    #[serde(default)]
    pub construct_cpu_ns: Vec<f64>,
    /// Processor time of all threads, with it.
    #[serde(default)]
    pub construct_team_cpu_ns: Vec<f64>,
    /// Cache misses of the initial thread without the construct, where they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_misses: Option<Vec<f64>>,
    /// The same with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub construct_misses: Option<Vec<f64>>,
}

/// The whole line.
#[derive(Deserialize)]
struct Line {
    runtime: String,
    threads: u32,
    processors: Option<u32>,
    wrong: u64,
    #[serde(flatten)]
    process: Process,
}

/// Why a case has no samples in a column.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Failure {
    /// Ran into the time limit.
    #[error("did not end within {0:?}")]
    Hung(Duration),
    /// Died, or could not be started.
    #[error("failed: {0}")]
    Crashed(String),
    /// The construct did not do what it should.
    #[error("gave {0} wrong results")]
    Wrong(u64),
    /// Another library answered the calls.
    #[error("the calls were answered by {0}, not by the runtime asked for")]
    OtherRuntime(String),
    /// The runtime formed another team than asked for.
    #[error("ran with {0} threads, not with as many as asked for")]
    OtherThreads(u32),
    /// The runtime bound the team's threads to so few processors.
    #[error("bound its threads to {0} of the processors: they wait for each other")]
    Crowded(u32),
    /// No samples could be read.
    #[error("printed no samples: {0}")]
    Unreadable(String),
    /// The program itself says that it cannot be measured.
    #[error("is not available: {0}")]
    Unavailable(String),
}

/// What was asked of the process.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    /// Size of the team.
    pub(crate) threads: u32,
    /// The library that should have answered, if one was preloaded.
    pub(crate) library: Option<&'a Path>,
    /// Processors that the team should be spread over, at least.
    pub(crate) processors: u32,
    /// Samples come in pairs.
    pub(crate) pairs: bool,
    /// Which run this is.
    pub(crate) run: u32,
}

impl Process {
    /// Reads a process's line and checks that it measured what was asked.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(line: &str, asked: Asked<'_>) -> Result<Self, Failure> {
        let line: Line =
            serde_json::from_str(line.trim()).map_err(|e| Failure::Unreadable(e.to_string()))?;
        if line.wrong > 0 {
            return Err(Failure::Wrong(line.wrong));
        }
        if line.threads != asked.threads {
            return Err(Failure::OtherThreads(line.threads));
        }
        if let Some(found) = line.processors
            && found < asked.processors
        {
            return Err(Failure::Crowded(found));
        }
        if let Some(wanted) = asked.library
            && Path::new(&line.runtime).canonicalize().ok().as_deref() != Some(wanted)
        {
            return Err(Failure::OtherRuntime(line.runtime));
        }
        let process = Self {
            run: asked.run,
            ..line.process
        };
        process
            .check(asked.pairs)
            .map_err(|reason| Failure::Unreadable(reason.to_owned()))?;
        Ok(process)
    }

    /// Says what is wrong with the numbers.
    pub(crate) fn check(&self, pairs: bool) -> Result<(), &'static str> {
        let count = self.construct_ns.len();
        let all = [
            &self.reference_ns,
            &self.construct_ns,
            &self.reference_cpu_ns,
            &self.construct_cpu_ns,
            &self.construct_team_cpu_ns,
        ];
        if all
            .iter()
            .any(|list| list.iter().any(|v| !v.is_finite() || *v < 0.0))
        {
            return Err("a sample is not a time");
        }
        if count == 0 {
            return Err("there are no samples");
        }
        if self.reference_ns.len() != if pairs { count } else { 0 } {
            return Err("the samples do not come in pairs");
        }
        let fits = |list: &[f64]| list.is_empty() || list.len() == count;
        if !all.iter().all(|list| fits(list)) {
            return Err("some samples lack their processor time");
        }
        let sensible = |value: Option<f64>| value.is_none_or(|v| v.is_finite() && v > 0.0);
        if !sensible(self.bytes) || !sensible(self.accesses) {
            return Err("the size of the work is not positive");
        }
        Ok(())
    }
}

/// The answer to `probe`.
#[derive(Debug, Deserialize)]
pub(crate) struct Probed {
    available: bool,
    #[serde(default)]
    reason: Option<String>,
}

impl Probed {
    /// Reads the line that `probe` prints.
    ///
    /// # Errors
    /// Why the case cannot be measured.
    pub(crate) fn read(line: &str) -> Result<(), Failure> {
        let probed: Self =
            serde_json::from_str(line.trim()).map_err(|e| Failure::Unreadable(e.to_string()))?;
        if probed.available {
            Ok(())
        } else {
            let reason = probed
                .reason
                .unwrap_or_else(|| "it says not why".to_owned());
            Err(Failure::Unavailable(reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ASKED: Asked<'_> = Asked {
        threads: 2,
        library: None,
        processors: 2,
        pairs: true,
        run: 3,
    };

    fn line(runtime: &str, threads: u32, wrong: u64, sample: &str) -> String {
        format!(
            "{{\"test\":\"FOR\",\"runtime\":\"{runtime}\",\"threads\":{threads},\"reps\":8,\
             \"wrong\":{wrong},\"bytes\":null,\"reference_ns\":[1.0],\"construct_ns\":[{sample}]}}\n"
        )
    }

    #[test]
    fn a_good_line_is_read() {
        let process = Process::read(&line("/x", 2, 0, "2.5"), ASKED).unwrap();
        assert_eq!(process.construct_ns, [2.5]);
        assert_eq!((process.run, process.reps, process.bytes), (3, 8, None));
    }

    #[test]
    fn what_was_not_asked_for_is_refused() {
        let read = |text: &str| Process::read(text, ASKED);
        assert_eq!(read(&line("/x", 2, 7, "1")), Err(Failure::Wrong(7)));
        assert_eq!(read(&line("/x", 1, 0, "1")), Err(Failure::OtherThreads(1)));
        let mine = Asked {
            library: Some(Path::new("/mine.so")),
            ..ASKED
        };
        let bound = line("/x", 2, 0, "1").replacen('{', "{\"processors\":1,", 1);
        assert_eq!(read(&bound), Err(Failure::Crowded(1)));
        let other = Process::read(&line("/x", 2, 0, "1"), mine);
        assert_eq!(other, Err(Failure::OtherRuntime("/x".into())));
        for bad in ["", "nonsense", "{}", "\u{0}", "[1,2]"] {
            assert!(matches!(read(bad), Err(Failure::Unreadable(_))), "{bad}");
        }
        for sample in ["", "-1", "1,2"] {
            let refused = read(&line("/x", 2, 0, sample));
            assert!(matches!(refused, Err(Failure::Unreadable(_))), "{sample}");
        }
    }

    #[test]
    fn a_probe_says_why_not() {
        assert_eq!(Probed::read("{\"test\":\"X\",\"available\":true}"), Ok(()));
        let refused = Probed::read("{\"available\":false,\"reason\":\"no memory\"}");
        assert_eq!(
            refused.unwrap_err().to_string(),
            "is not available: no memory"
        );
        assert!(Probed::read("garbage").is_err());
    }
}
