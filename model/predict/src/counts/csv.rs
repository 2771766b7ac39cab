//! Counts from a CSV file.
//!
//! The first line names the columns, in any order; others than these are
//! ignored, so that published tables can be read as they are:
//!
//! | Column | Meaning |
//! |---|---|
//! | `threads` | p, one thread per node |
//! | `sequential_s` | time of the sequential program, T(1) |
//! | `write_faults`, `fetch_faults` | counts of a homeless protocol |
//! | `local_write_faults`, `remote_write_faults`, `fetch_faults`, `diffs_to_home` | counts of a home-based protocol |
//! | `region` | optional: name of the region |
//! | `thread` | optional: 0 to p-1, or `all` for the sum of all threads, or `critical` for the most that any thread has, which is also meant if there is no such column |
//! | `program`, `class`, `benchmark` | optional: together they name the program |
//! | `speedup_observed` | optional: what was measured |

use super::counted::{Counted, Program, Row, Run, Scope};
use crate::prices::{Counts, Protocol};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// More threads than any cluster has.
const THREADS_MAX: u32 = 1 << 20;
/// More events than any program has: their costs stay finite.
const COUNT_MAX: f64 = 1e18;
/// Seconds, or times as fast, that a run can be said to take or be.
const POSITIVE: std::ops::RangeInclusive<f64> = 1e-9..=1e12;

/// Why a file's counts cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CountsError {
    /// No line at all, or none but the names of columns.
    #[error("it holds no counts: write a line of column names and a line per region and thread")]
    Empty,
    /// A column that must be there.
    #[error("it has no column {name:?}, only {found}: name it in the first line")]
    Column {
        /// Which.
        name: &'static str,
        /// Those there are.
        found: String,
    },
    /// A column that is there twice.
    #[error("it has the column {name:?} twice: leave one out")]
    Twice {
        /// Which.
        name: String,
    },
    /// More or fewer cells than columns.
    #[error("line {line} has {cells} cells, but there are {columns} columns: mend that line")]
    Cells {
        /// Which line, from 1.
        line: usize,
        /// Its cells.
        cells: usize,
        /// Columns.
        columns: usize,
    },
    /// A quote that is never closed.
    #[error("line {line} opens a quote and never closes it: mend that line")]
    Quote {
        /// Which line, from 1.
        line: usize,
    },
    /// A cell that says something else than it should.
    #[error("line {line} says {text:?} in column {column:?}: give {wanted}")]
    Cell {
        /// Which line, from 1.
        line: usize,
        /// Which column.
        column: &'static str,
        /// What it says.
        text: String,
        /// What it should say.
        wanted: &'static str,
    },
    /// A thread that the run does not have.
    #[error("line {line} counts thread {thread} of {threads}: threads are numbered from 0")]
    Thread {
        /// Which line, from 1.
        line: usize,
        /// Which thread.
        thread: u32,
        /// How many there are.
        threads: u32,
    },
    /// Two lines for the same region and thread.
    #[error(
        "line {line} counts again what an earlier line has counted: tell lines apart by region, thread, threads and program"
    )]
    Again {
        /// Which line, from 1.
        line: usize,
    },
    /// Two values for one run.
    #[error(
        "line {line} gives another {column} than an earlier line of the same run: a run has one"
    )]
    Differs {
        /// Which line, from 1.
        line: usize,
        /// Which column.
        column: &'static str,
    },
}

/// Why a file cannot be used.
#[derive(Debug, Error)]
pub enum ReadCountsError {
    /// It cannot be read.
    #[error("cannot read {}: {source}; give a CSV file of counts", path.display())]
    Read {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What it says cannot be used.
    #[error("cannot use {}: {source}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: CountsError,
    },
}

impl Counted {
    /// Reads a file.
    ///
    /// # Errors
    /// If it cannot be read, or as [`Counted::from_csv`].
    pub fn read(path: &Path) -> Result<Self, ReadCountsError> {
        let text = std::fs::read_to_string(path).map_err(|source| ReadCountsError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::from_csv(&text).map_err(|source| ReadCountsError::Content {
            path: path.to_owned(),
            source,
        })
    }

    /// Reads CSV text.
    ///
    /// # Errors
    /// If a column or a number is missing or says what cannot be.
    pub fn from_csv(text: &str) -> Result<Self, CountsError> {
        let mut lines = records(text)?.into_iter();
        let (_, names) = lines.next().ok_or(CountsError::Empty)?;
        let columns = Columns::new(&names)?;
        let protocol = columns.protocol();
        let mut order: Vec<String> = Vec::new();
        let mut runs: BTreeMap<(String, u32), Run> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for (line, cells) in lines {
            let line = Line {
                line,
                cells: &cells,
                columns: &columns,
            };
            line.check()?;
            let program = line.program();
            let run = line.run()?;
            let row = line.row(run.threads, protocol)?;
            if !seen.insert((program.clone(), run.threads, row.region.clone(), row.scope)) {
                return Err(CountsError::Again { line: line.line });
            }
            if !order.contains(&program) {
                order.push(program.clone());
            }
            match runs.entry((program, run.threads)) {
                Entry::Vacant(place) => place.insert(run).rows.push(row),
                Entry::Occupied(known) => {
                    let known = known.into_mut();
                    line.agrees(known, &run)?;
                    known.rows.push(row);
                }
            }
        }
        if runs.is_empty() {
            return Err(CountsError::Empty);
        }
        let mut programs: Vec<Program> = order
            .into_iter()
            .map(|name| Program {
                name,
                runs: Vec::new(),
            })
            .collect();
        // In ascending order of threads.
        for ((name, _), run) in runs {
            let program = programs.iter_mut().find(|program| program.name == name);
            program
                .into_iter()
                .for_each(|one| one.runs.push(run.clone()));
        }
        Ok(Self { protocol, programs })
    }
}

/// Where each column is.
struct Columns {
    names: Vec<String>,
}

const HOMELESS: [&str; 2] = ["write_faults", "fetch_faults"];
const HOME: [&str; 4] = [
    "local_write_faults",
    "remote_write_faults",
    "fetch_faults",
    "diffs_to_home",
];

impl Columns {
    fn new(names: &[String]) -> Result<Self, CountsError> {
        let names: Vec<String> = names.iter().map(|name| name.trim().to_owned()).collect();
        let mut known = BTreeSet::new();
        if let Some(name) = names.iter().find(|name| !known.insert(*name)) {
            return Err(CountsError::Twice { name: name.clone() });
        }
        let columns = Self { names };
        let counts: &[&'static str] = match columns.protocol() {
            Protocol::Homeless => &HOMELESS,
            Protocol::Home => &HOME,
        };
        let needed = ["threads", "sequential_s"];
        match needed
            .iter()
            .chain(counts)
            .find(|name| columns.at(name).is_none())
        {
            Some(name) => Err(CountsError::Column {
                name,
                found: columns.names.join(", ").escape_debug().to_string(),
            }),
            None => Ok(columns),
        }
    }

    fn at(&self, name: &str) -> Option<usize> {
        self.names.iter().position(|known| known == name)
    }

    /// Columns that only one of them has tell which was counted.
    fn protocol(&self) -> Protocol {
        let home = ["local_write_faults", "remote_write_faults", "diffs_to_home"];
        if home.iter().any(|name| self.at(name).is_some()) {
            Protocol::Home
        } else {
            Protocol::Homeless
        }
    }
}

/// A line of numbers.
struct Line<'a> {
    line: usize,
    cells: &'a [String],
    columns: &'a Columns,
}

impl Line<'_> {
    fn check(&self) -> Result<(), CountsError> {
        let (cells, columns) = (self.cells.len(), self.columns.names.len());
        if cells == columns {
            return Ok(());
        }
        let line = self.line;
        Err(CountsError::Cells {
            line,
            cells,
            columns,
        })
    }

    /// The cell of a column; empty if there is none.
    fn cell(&self, column: &str) -> &str {
        let cell = self.columns.at(column).and_then(|at| self.cells.get(at));
        cell.map_or("", |cell| cell.trim())
    }

    fn wrong(&self, column: &'static str, wanted: &'static str) -> CountsError {
        CountsError::Cell {
            line: self.line,
            column,
            text: self.cell(column).to_owned(),
            wanted,
        }
    }

    fn count(&self, column: &'static str) -> Result<f64, CountsError> {
        let number = self.cell(column).parse().ok();
        number
            .filter(|count: &f64| (0.0..=COUNT_MAX).contains(count))
            .ok_or_else(|| self.wrong(column, "a number from 0 to 1e18"))
    }

    fn positive(&self, column: &'static str) -> Result<f64, CountsError> {
        let number = self.cell(column).parse().ok();
        number
            .filter(|value: &f64| POSITIVE.contains(value))
            .ok_or_else(|| self.wrong(column, "a number above 0, from 1e-9 to 1e12"))
    }

    fn program(&self) -> String {
        let parts = ["program", "class", "benchmark"].map(|column| self.cell(column));
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.join(" ")
    }

    /// What is the same in all lines of a run.
    fn run(&self) -> Result<Run, CountsError> {
        let threads = self.cell("threads").parse().ok();
        let threads = threads
            .filter(|threads| (1..=THREADS_MAX).contains(threads))
            .ok_or_else(|| self.wrong("threads", "a whole number from 1 to 1048576"))?;
        let speedup_observed = match self.cell("speedup_observed") {
            "" => None,
            _ => Some(self.positive("speedup_observed")?),
        };
        Ok(Run {
            threads,
            sequential_ns: self.positive("sequential_s")? * 1e9,
            rows: Vec::new(),
            speedup_observed,
        })
    }

    fn agrees(&self, known: &Run, run: &Run) -> Result<(), CountsError> {
        let column = if known.sequential_ns != run.sequential_ns {
            "sequential_s"
        } else if known.speedup_observed != run.speedup_observed {
            "speedup_observed"
        } else {
            return Ok(());
        };
        let line = self.line;
        Err(CountsError::Differs { line, column })
    }

    fn row(&self, threads: u32, protocol: Protocol) -> Result<Row, CountsError> {
        let counts = match protocol {
            Protocol::Homeless => {
                let [writes, fetches] = HOMELESS.map(|column| self.count(column));
                Counts::homeless(writes?, fetches?)
            }
            Protocol::Home => {
                let [local, remote, fetches, diffs] = HOME.map(|column| self.count(column));
                Counts::home(local?, remote?, fetches?, diffs?)
            }
        };
        let scope = match self.cell("thread") {
            "critical" => Scope::Critical,
            "" if self.columns.at("thread").is_none() => Scope::Critical,
            "all" => Scope::All,
            number => {
                let thread = number.parse().map_err(|_| {
                    self.wrong("thread", "a thread's number, \"all\" or \"critical\"")
                })?;
                if thread >= threads {
                    let line = self.line;
                    return Err(CountsError::Thread {
                        line,
                        thread,
                        threads,
                    });
                }
                Scope::Thread(thread)
            }
        };
        Ok(Row {
            region: self.cell("region").to_owned(),
            scope,
            counts,
        })
    }
}

/// Lines and their cells, as RFC 4180 separates them; empty lines and those
/// that begin with `#` are left out. Lines are numbered from 1.
fn records(text: &str) -> Result<Vec<(usize, Vec<String>)>, CountsError> {
    let mut records = Vec::new();
    let mut letters = text.trim_start_matches('\u{feff}').chars().peekable();
    let mut number = 1;
    while letters.peek().is_some() {
        let line = number;
        let comment = letters.peek() == Some(&'#');
        let mut cells = vec![String::new()];
        let mut quoted = false;
        loop {
            let Some(letter) = letters.next() else {
                if quoted {
                    return Err(CountsError::Quote { line });
                }
                break;
            };
            number += usize::from(letter == '\n');
            let Some(cell) = cells.last_mut() else { break };
            match letter {
                '"' if comment => {}
                '"' if quoted && letters.peek() == Some(&'"') => {
                    letters.next();
                    cell.push('"');
                }
                '"' if quoted => quoted = false,
                '"' if cell.trim().is_empty() => quoted = true,
                ',' if !quoted => cells.push(String::new()),
                '\n' if !quoted => break,
                '\r' if !quoted && letters.peek() == Some(&'\n') => {}
                other => cell.push(other),
            }
        }
        let empty = cells.len() == 1 && cells.iter().all(|cell| cell.trim().is_empty());
        if !comment && !empty {
            records.push((line, cells));
        }
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_may_be_quoted_and_lines_end_as_they_like() {
        let text = "\u{feff}a,b\r\n# \"open\n\n\"x, \"\"y\"\"\",2\n\"two\nlines\",3\n4,5";
        let expected: Vec<(usize, Vec<String>)> = [
            (1, ["a", "b"]),
            (4, ["x, \"y\"", "2"]),
            (5, ["two\nlines", "3"]),
            (7, ["4", "5"]),
        ]
        .into_iter()
        .map(|(line, cells)| (line, cells.map(str::to_owned).to_vec()))
        .collect();
        assert_eq!(records(text), Ok(expected));
        assert_eq!(records("a\n\"b"), Err(CountsError::Quote { line: 2 }));
    }
}
