//! Output of EPCC's programs (versions 3 and 4), which `report` puts beside ours.

use super::{CONFIDENCE_SDS, EpccRow, add};
use crate::moments::Moments;

/// More lines than any of these programs print.
const LINES_MAX: usize = 1_000_000;

/// A text that is no such output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EpccError {
    /// A line makes no sense.
    #[error("line {line} is cut or changed: \"{text}\"")]
    Line {
        /// Counted from 1.
        line: usize,
        /// What stands there.
        text: String,
    },
    /// There is no result in it.
    #[error("no directive has an overhead in it")]
    Nothing,
}

/// Whether a text looks like such output.
#[must_use]
pub fn is_output(text: &str) -> bool {
    text.lines()
        .take(LINES_MAX)
        .any(|line| overhead(line).is_some())
}

/// The directives of a file called `source`; one that is there several times, as after `cat`
/// of several runs, has as many runs.
///
/// # Errors
/// If it is none of these programs'.
pub fn read(text: &str, source: &str) -> Result<Vec<EpccRow>, EpccError> {
    let mut rows = Vec::new();
    let (mut threads, mut run) = (0, None);
    let mut time_pm = 0.0;
    for (number, line) in text.lines().take(LINES_MAX).enumerate() {
        let broken = || EpccError::Line {
            line: number + 1,
            text: line.chars().take(60).collect(),
        };
        if let Some(count) = line.trim().strip_suffix("thread(s)") {
            threads = count.trim().parse().map_err(|_| broken())?;
        } else if let Some(found) = samples(line) {
            run = Some(found);
        } else if let Some((_, _, pm)) = measured(line, "time") {
            time_pm = pm;
        } else if let Some((name, overhead, pm)) = overhead(line) {
            let run: Moments = run.take().ok_or_else(broken)?;
            let reference = Moments {
                count: run.count,
                mean: run.mean - overhead,
                sd: ((pm - time_pm) / CONFIDENCE_SDS).max(0.0),
                min: run.mean - overhead,
                max: run.mean - overhead,
                outliers: 0,
            };
            add(
                &mut rows,
                EpccRow {
                    source: source.to_owned(),
                    threads,
                    name: name.to_owned(),
                    runs: vec![run],
                    references: vec![reference],
                },
            );
        }
    }
    if rows.is_empty() {
        return Err(EpccError::Nothing);
    }
    Ok(rows)
}

/// The line under the heading: count, mean, least, most, deviation, outliers.
fn samples(line: &str) -> Option<Moments> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let [count, mean, min, max, sd, outliers] = words[..] else {
        return None;
    };
    let number = |text: &str| text.parse().ok().filter(|one: &f64| one.is_finite());
    Some(Moments {
        count: count.parse().ok().filter(|count| *count > 0)?,
        mean: number(mean)?,
        min: number(min)?,
        max: number(max)?,
        sd: number(sd)?,
        outliers: outliers.parse().ok()?,
    })
}

fn overhead(line: &str) -> Option<(&str, f64, f64)> {
    measured(line, "overhead")
}

/// `NAME time = X microseconds +/- Y`.
fn measured<'a>(line: &'a str, what: &str) -> Option<(&'a str, f64, f64)> {
    let (left, right) = line.split_once('=')?;
    let name = left.trim().strip_suffix(what)?.trim();
    let (value, rest) = right.trim().split_once("microseconds")?;
    let pm = rest.trim().strip_prefix("+/-")?.trim();
    let number = |text: &str| text.trim().parse().ok().filter(|one: &f64| one.is_finite());
    (!name.is_empty()).then_some((name, number(value)?, number(pm)?))
}

#[cfg(test)]
mod tests {
    use super::super::{rows, text};
    use super::*;
    use crate::synthetic;

    const OUTPUT: &str = "\
 Running OpenMP benchmark version 3.0
\t2 thread(s)
\t20 outer repetitions

--------------------------------------------------------
Computing reference time 1 using 20 reps

Sample_size       Average     Min         Max          S.D.          Outliers
 20                0.104932   0.104815   0.105240    0.000130      1

reference time 1 time     = 0.104932 microseconds +/- 0.000254

--------------------------------------------------------
Computing PARALLEL_FOR time using 20 reps

Sample_size       Average     Min         Max          S.D.          Outliers
 20                1.349000   1.300000   1.400000    0.024500      0

PARALLEL_FOR time     = 1.349000 microseconds +/- 0.048000
PARALLEL_FOR overhead = 1.244068 microseconds +/- 0.048254
";

    #[test]
    fn their_output_is_read() {
        assert!(is_output(OUTPUT));
        let both = format!("{OUTPUT}{OUTPUT}");
        let rows = read(&both, "theirs.txt").unwrap();
        assert_eq!(rows.len(), 1);
        let row = &rows[0];
        assert_eq!((row.threads, row.runs.len()), (2, 2));
        assert_eq!(row.plain_name(), "PARALLEL FOR");
        let form = row.form().unwrap();
        assert!((form.overhead - 1.244_068).abs() < 1e-9);
        assert_eq!((form.samples, form.max), (40, 1.4));
    }

    #[test]
    fn what_we_print_is_read_again() {
        let ours = rows(&[synthetic::epcc()]);
        let one: Vec<EpccRow> = ours
            .iter()
            .filter(|row| row.threads == 2)
            .cloned()
            .collect();
        let one = if one.is_empty() { ours } else { one };
        let again = read(&text(&one), "again").unwrap();
        for row in &again {
            let form = row.form().unwrap();
            let same = one.iter().filter(|known| known.name == row.name);
            let same = same.filter(|known| known.threads == row.threads);
            assert!(
                same.filter_map(EpccRow::form)
                    .any(|known| (known.time - form.time).abs() < 1e-5)
            );
        }
        assert!(!again.is_empty());
    }

    #[test]
    fn other_texts_are_none() {
        for text in [
            "",
            "overhead",
            "PARALLEL overhead = x microseconds +/- 1",
            "{}",
        ] {
            assert!(!is_output(text), "{text}");
            assert_eq!(read(text, "x"), Err(EpccError::Nothing));
        }
        let lonely = "BARRIER overhead = 1.0 microseconds +/- 0.1";
        assert!(
            read(lonely, "x")
                .unwrap_err()
                .to_string()
                .contains("line 1")
        );
        assert!(read("x thread(s)", "x").is_err());
    }
}
