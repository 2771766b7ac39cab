//! What workloads print for programs to read (`workloads/common/workload.h`).

use serde::{Deserialize, Serialize};

/// The last line of a workload.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Answer {
    /// `npb`, for example.
    pub suite: String,
    /// Its name within the suite.
    pub workload: String,
    /// Class or data set.
    pub size: String,
    /// Threads of a parallel region.
    pub threads: u32,
    /// Repetitions inside the timed section.
    pub iterations: i64,
    /// Length of the timed section.
    pub seconds: Option<f64>,
    /// Millions of operations per second, if anybody counts them.
    pub mops_per_s: Option<f64>,
    /// To compare with another run's.
    pub checksum: Option<f64>,
    /// The program's own verdict.
    pub verified: Option<bool>,
}

/// The answer to `--describe`.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub(crate) struct Described {
    pub(crate) heap_bytes: u64,
}

/// There is no answer in what a program printed.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum AnswerError {
    /// Not a line.
    #[error("it printed nothing")]
    Nothing,
    /// Something else.
    #[error("its last line is not the result that a workload prints: \"{0}\"")]
    Other(String),
}

/// Reads the last line as the JSON object that is expected there.
pub(crate) fn last_line<'a, T: Deserialize<'a>>(stdout: &'a str) -> Result<T, AnswerError> {
    let line = stdout.trim_end().lines().next_back().unwrap_or("");
    if line.is_empty() {
        return Err(AnswerError::Nothing);
    }
    serde_json::from_str(line).map_err(|_| AnswerError::Other(quotable(line)))
}

/// The beginning of a line that may be anything.
pub(crate) fn quotable(line: &str) -> String {
    const LENGTH_MAX: usize = 80;
    let mut letters = line.trim().chars();
    let mut text: String = letters
        .by_ref()
        .take(LENGTH_MAX)
        .map(|letter| {
            if letter.is_control() {
                '\u{fffd}'
            } else {
                letter
            }
        })
        .collect();
    if letters.next().is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts() {
        let text = "NPB\n{\"suite\":\"npb\",\"workload\":\"cg\",\"size\":\"S\",\"threads\":2,\"iterations\":15,\"seconds\":0.5,\"mops_per_s\":null,\"checksum\":null,\"verified\":true}\n";
        let answer: Answer = last_line(text).unwrap();
        assert_eq!((answer.threads, answer.verified), (2, Some(true)));
        assert_eq!(answer.checksum, None);
    }

    #[test]
    fn garbage_is_quoted_safely() {
        assert_eq!(last_line::<Answer>("\n\n"), Err(AnswerError::Nothing));
        let error = last_line::<Answer>("x\n\u{1b}[2J{\"suite\":1").unwrap_err();
        assert!(!error.to_string().contains('\u{1b}'), "{error}");
        let error = last_line::<Described>(&"y".repeat(1000)).unwrap_err();
        assert!(error.to_string().len() < 200, "{error}");
    }
}
