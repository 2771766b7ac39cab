//! Advice as the runtime reads it: lines of words.
//!
//! ```text
//! fathomp advice 1
//! module BUILD_ID PATH
//! region ADDRESS THREADS FROM:THREADS,... [THREADS:NS,...]
//! ```
//!
//! Addresses and build-ids are hexadecimal; `-` stands for no build-id. A region belongs to
//! the module above it. The last word is how long an execution is expected to take; with `r`
//! in front, in relation alone.

use std::fmt::Write as _;

const HEAD: &str = "fathomp advice 1";
/// Most threads that advice may ask for.
const MOST_THREADS: u32 = 1 << 16;

/// Advice for the regions of some modules.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// Programs and libraries.
    pub modules: Vec<TableModule>,
}

/// A program or library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TableModule {
    /// Its build-id in hexadecimal; empty if it has none.
    pub build_id: String,
    /// Its file.
    pub path: String,
    /// Regions, ascending by address.
    pub regions: Vec<Advised>,
}

/// What is advised for one region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advised {
    /// Address of its body in the module's file.
    pub address: u64,
    /// Threads for executions whose trips are not known, at least 1.
    pub threads: u32,
    /// From how many trips on which threads; ascending.
    pub steps: Vec<(u64, u32)>,
    /// Threads, ascending, and how long an execution with them is expected to take,
    /// nanoseconds.
    pub points: Vec<(u32, u64)>,
    /// Whether such times only stand in that relation to each other.
    pub relative: bool,
}

/// Why text is no table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableError {
    /// It begins otherwise.
    #[error("it does not begin with \"{HEAD}\"")]
    Head,
    /// A line says nothing known.
    #[error("line {0} cannot be read")]
    Line(usize),
}

impl Advised {
    /// Threads for an execution with so many trips, none if they are not known.
    #[must_use]
    pub fn threads(&self, trips: Option<u64>) -> u32 {
        let step = trips.and_then(|trips| self.steps.iter().rfind(|(from, _)| *from <= trips));
        step.map_or(self.threads, |(_, threads)| *threads)
    }
}

impl Table {
    /// The table as text.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = format!("{HEAD}\n");
        for module in &self.modules {
            let id = if module.build_id.is_empty() {
                "-"
            } else {
                &module.build_id
            };
            // A path with a line's end in it is not known by its path.
            let path = module.path.replace('\n', "?");
            let _ = writeln!(text, "module {id} {path}");
            for region in &module.regions {
                let steps: Vec<_> = region
                    .steps
                    .iter()
                    .map(|(from, to)| format!("{from}:{to}"))
                    .collect();
                let points: Vec<_> = region
                    .points
                    .iter()
                    .map(|(threads, ns)| format!("{threads}:{ns}"))
                    .collect();
                let points = match (points.is_empty(), region.relative) {
                    (true, _) => String::new(),
                    (_, relative) => {
                        format!(" {}{}", if relative { "r" } else { "" }, points.join(","))
                    }
                };
                let _ = writeln!(
                    text,
                    "region {:x} {} {}{points}",
                    region.address,
                    region.threads,
                    steps.join(",")
                );
            }
        }
        text
    }

    /// Reads text.
    ///
    /// # Errors
    /// See [`TableError`].
    pub fn from_text(text: &str) -> Result<Self, TableError> {
        let mut lines = (1..).zip(text.lines());
        if lines.next().is_none_or(|(_, line)| line != HEAD) {
            return Err(TableError::Head);
        }
        let mut table = Self::default();
        for (number, line) in lines {
            table.line(line).ok_or(TableError::Line(number))?;
        }
        for module in &mut table.modules {
            module.regions.sort_by_key(|region| region.address);
        }
        Ok(table)
    }

    fn line(&mut self, line: &str) -> Option<()> {
        let (kind, rest) = line.split_once(' ')?;
        match kind {
            "module" => {
                let (id, path) = rest.split_once(' ')?;
                self.modules.push(TableModule {
                    build_id: id.trim_matches('-').to_owned(),
                    path: path.to_owned(),
                    regions: Vec::new(),
                });
            }
            "region" => {
                let mut words = rest.split(' ');
                let address = u64::from_str_radix(words.next()?, 16).ok()?;
                let threads = number_of_threads(words.next()?)?;
                let steps = words.next()?.split(',').filter(|step| !step.is_empty());
                let steps = steps
                    .map(|step| {
                        let (from, to) = step.split_once(':')?;
                        Some((from.parse().ok()?, number_of_threads(to)?))
                    })
                    .collect::<Option<Vec<_>>>()?;
                let points = words.next();
                let relative = points.is_some_and(|points| points.starts_with('r'));
                let points = points.map_or(Some(Vec::new()), |points| {
                    let points = points.strip_prefix('r').unwrap_or(points).split(',');
                    let point = |point: &str| {
                        let (threads, ns) = point.split_once(':')?;
                        Some((number_of_threads(threads)?, ns.parse().ok()?))
                    };
                    points.map(point).collect::<Option<Vec<_>>>()
                })?;
                if !steps.is_sorted() || words.next().is_some() {
                    return None;
                }
                let module = self.modules.last_mut()?;
                module.regions.push(Advised {
                    address,
                    threads,
                    steps,
                    points,
                    relative,
                });
            }
            _ => return None,
        }
        Some(())
    }

    /// The module with that build-id, or, if it has none, with that path.
    #[must_use]
    pub fn module(&self, build_id: &str, path: &str) -> Option<&TableModule> {
        self.modules.iter().find(|module| {
            module.build_id == build_id && (!build_id.is_empty() || module.path == path)
        })
    }
}

impl TableModule {
    /// What is advised for the region with that body.
    #[must_use]
    pub fn region(&self, address: u64) -> Option<&Advised> {
        let found = self
            .regions
            .binary_search_by_key(&address, |region| region.address);
        found.ok().and_then(|index| self.regions.get(index))
    }
}

fn number_of_threads(word: &str) -> Option<u32> {
    word.parse()
        .ok()
        .filter(|threads| (1..=MOST_THREADS).contains(threads))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table() -> Table {
        let region = |address, threads, steps: &[(u64, u32)]| Advised {
            address,
            threads,
            steps: steps.to_vec(),
            points: vec![(1, 5000), (8, 900)],
            relative: threads == 1,
        };
        Table {
            modules: vec![
                TableModule {
                    build_id: "ab01".to_owned(),
                    path: "/a path/prog".to_owned(),
                    regions: vec![
                        region(0x1000, 4, &[(0, 1), (500, 4)]),
                        region(0x2000, 1, &[]),
                    ],
                },
                TableModule {
                    path: "/lib.so".to_owned(),
                    ..TableModule::default()
                },
            ],
        }
    }

    #[test]
    fn a_table_survives_its_text() {
        assert_eq!(Table::from_text(&table().to_text()), Ok(table()));
    }

    #[test]
    fn steps_hold_from_their_trips_on() {
        let table = table();
        let region = table
            .module("ab01", "")
            .and_then(|module| module.region(0x1000))
            .unwrap();
        let threads = [None, Some(0), Some(499), Some(500), Some(u64::MAX)]
            .map(|trips| region.threads(trips));
        assert_eq!(threads, [4, 1, 1, 4, 4]);
    }

    #[test]
    fn modules_are_told_apart_by_build_id() {
        let table = table();
        assert!(table.module("ff", "/a path/prog").is_none());
        assert!(table.module("", "/a path/prog").is_none());
        assert!(table.module("", "/lib.so").is_some());
    }

    #[test]
    fn what_is_no_table_is_refused() {
        assert_eq!(Table::from_text(""), Err(TableError::Head));
        for line in [
            "region 1 1 ",
            "module",
            "x y",
            "module - p\nregion 1 0 ",
            "module - p\nregion 1 2 9:1,3:2",
        ] {
            let text = format!("{HEAD}\n{line}\n");
            assert!(
                matches!(Table::from_text(&text), Err(TableError::Line(_))),
                "{line}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_none(text in "\\PC*", lines in "(module|region|[ 0-9a-f:,\n-])*") {
            let _ = Table::from_text(&text);
            if let Ok(table) = Table::from_text(&format!("{HEAD}\n{lines}")) {
                prop_assert_eq!(Table::from_text(&table.to_text()), Ok(table));
            }
        }
    }
}
