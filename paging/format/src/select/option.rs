//! What is to be recorded, as options say it.

use crate::setup::{TaskNumber, TaskRule};
use crate::{Activity, Counter, CounterSet, State, StateSet};
use fathomp_types::nearest;
use fathomp_types::units::parse_duration;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// What is to be recorded of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Selection {
    /// Which tasks; `None`: all.
    pub tasks: Option<TaskRule>,
    /// From when on, after the start.
    pub from_ns: u64,
    /// Until when after the start; `None`: to the end.
    pub to_ns: Option<u64>,
    /// Which counters; `None`: all.
    pub counters: Option<CounterSet>,
    /// Intervals in which states; `None`: all.
    pub states: Option<StateSet>,
}

/// Why an option that selects cannot be understood.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SelectionError {
    /// Not a list of tasks.
    #[error(
        "{0:?} names no tasks; write numbers and ranges, such as 0-3,7, after rank:, node:, \
         process: or thread: if they are numbers of those"
    )]
    Tasks(String),
    /// A range that ends before it begins.
    #[error("the range {0:?} ends before it begins; write the smaller number first")]
    Backwards(String),
    /// Not a window.
    #[error(
        "{0:?} is no window of time; write its begin and end after the start, such as 1s..5s, ..2s or 500ms.."
    )]
    Window(String),
    /// A time without a unit, or with an unknown one.
    #[error("{0:?} is no time; write a number and ns, us, ms, s or min, such as 1.5s")]
    Time(String),
    /// A window without length.
    #[error("the window {0:?} ends before it begins; write the earlier time first")]
    EmptyWindow(String),
    /// No such counter.
    #[error(
        "there is no counter {name:?}{}; choose of {}",
        hint(meant),
        counters()
    )]
    Counter {
        /// What was written.
        name: String,
        /// What may have been meant.
        meant: Option<&'static str>,
    },
    /// No such state.
    #[error("there is no state {name:?}{}; choose of {}", hint(meant), states())]
    State {
        /// What was written.
        name: String,
        /// What may have been meant.
        meant: Option<&'static str>,
    },
}

fn hint(meant: &Option<&'static str>) -> String {
    meant.map_or(String::new(), |meant| format!(" (did you mean {meant}?)"))
}

fn counters() -> String {
    Counter::ALL.map(Counter::name).join(", ")
}

fn states() -> String {
    let mut names = Activity::ALL.map(Activity::name).to_vec();
    names.extend(
        State::ALL
            .iter()
            .filter(|state| state.suspended)
            .map(|state| state.name()),
    );
    names.extend(["active", "suspended"]);
    names.join(", ")
}

impl Selection {
    /// Reads tasks, such as `0-3,7` or `rank:0-3`.
    ///
    /// # Errors
    /// If the text is no such list.
    pub fn parse_tasks(text: &str) -> Result<TaskRule, SelectionError> {
        let wrong = || SelectionError::Tasks(text.to_owned());
        let (by, list) = match text.split_once(':') {
            None => (TaskNumber::Task, text),
            Some((name, list)) => {
                let by = match name.trim() {
                    "task" => TaskNumber::Task,
                    "process" => TaskNumber::Process,
                    "thread" => TaskNumber::Thread,
                    "rank" => TaskNumber::Rank,
                    "node" => TaskNumber::Node,
                    _ => return Err(wrong()),
                };
                (by, list)
            }
        };
        let number = |text: &str| {
            let text = text.trim();
            // A sign would be understood as a number, too.
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            digits.then(|| text.parse::<u32>().ok()).flatten()
        };
        let mut ranges = Vec::new();
        for range in list.split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let first = number(first).ok_or_else(wrong)?;
            let last = number(last).ok_or_else(wrong)?;
            if last < first {
                return Err(SelectionError::Backwards(range.trim().to_owned()));
            }
            ranges.push((first, last));
        }
        Ok(TaskRule { by, ranges })
    }

    /// Reads a window, such as `1s..5s`, `..2s` or `500ms..`: its begin and its
    /// end in nanoseconds after the start.
    ///
    /// # Errors
    /// If the text is none, or its end is not after its begin.
    pub fn parse_window(text: &str) -> Result<(u64, Option<u64>), SelectionError> {
        let (from, to) = text
            .split_once("..")
            .ok_or_else(|| SelectionError::Window(text.to_owned()))?;
        let (from, to) = (from.trim(), to.trim());
        if from.is_empty() && to.is_empty() {
            return Err(SelectionError::Window(text.to_owned()));
        }
        let from_ns = match from {
            "" => 0,
            from => Self::parse_time(from)?,
        };
        let to_ns = match to {
            "" => None,
            to => Some(Self::parse_time(to)?),
        };
        if to_ns.is_some_and(|to| to <= from_ns) {
            return Err(SelectionError::EmptyWindow(text.to_owned()));
        }
        Ok((from_ns, to_ns))
    }

    /// Reads a time with its unit, in nanoseconds.
    fn parse_time(text: &str) -> Result<u64, SelectionError> {
        /// A year; later times are slips.
        const LONGEST: Duration = Duration::from_secs(32_000_000);
        let time = parse_duration(text).filter(|time| *time <= LONGEST);
        let ns = time.and_then(|time| u64::try_from(time.as_nanos()).ok());
        ns.ok_or_else(|| SelectionError::Time(text.to_owned()))
    }

    /// Reads a list of counters, such as `minor_faults,page_ins`.
    ///
    /// # Errors
    /// If one of the names is not known.
    pub fn parse_counters(text: &str) -> Result<CounterSet, SelectionError> {
        let known = |name: &str| {
            Counter::from_name(name).ok_or_else(|| SelectionError::Counter {
                name: name.to_owned(),
                meant: nearest(name, Counter::ALL.map(Counter::name)),
            })
        };
        text.split(',').map(|name| known(name.trim())).collect()
    }

    /// Reads a list of states: an activity stands for it active and suspended,
    /// `suspended` and `active` for all activities so.
    ///
    /// # Errors
    /// If one of the names is not known.
    pub fn parse_states(text: &str) -> Result<StateSet, SelectionError> {
        let mut chosen = StateSet::NONE;
        for name in text.split(',').map(str::trim) {
            let is_meant = |state: &State| match name {
                "suspended" => state.suspended,
                "active" => !state.suspended,
                _ => name == state.activity.name() || name == state.name(),
            };
            let mut meant = State::ALL.into_iter().filter(is_meant).peekable();
            if meant.peek().is_none() {
                let names = State::ALL.map(State::name).into_iter();
                return Err(SelectionError::State {
                    name: name.to_owned(),
                    meant: nearest(name, names.chain(["active", "suspended"])),
                });
            }
            chosen = meant.fold(chosen, StateSet::with);
        }
        Ok(chosen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_are_numbers_and_ranges() {
        let rule = Selection::parse_tasks("0-3,7").unwrap();
        assert_eq!(rule.by, TaskNumber::Task);
        assert_eq!(rule.ranges, [(0, 3), (7, 7)]);
        let rule = Selection::parse_tasks("rank: 2, 4 - 5").unwrap();
        assert_eq!(
            (rule.by, rule.ranges),
            (TaskNumber::Rank, vec![(2, 2), (4, 5)])
        );
        for text in [
            "",
            ",",
            "0-",
            "-3",
            "+1",
            "a",
            "0..3",
            "host:1",
            "99999999999",
        ] {
            let refused = Selection::parse_tasks(text).unwrap_err();
            assert!(matches!(refused, SelectionError::Tasks(_)), "{text}");
        }
        let refused = Selection::parse_tasks("1,5-2").unwrap_err();
        assert_eq!(refused, SelectionError::Backwards("5-2".into()));
    }

    #[test]
    fn windows_have_units_and_one_end_at_least() {
        assert_eq!(
            Selection::parse_window("1s..5s"),
            Ok((1_000_000_000, Some(5_000_000_000)))
        );
        assert_eq!(Selection::parse_window("..1.5ms"), Ok((0, Some(1_500_000))));
        assert_eq!(Selection::parse_window("0 .. 20us"), Ok((0, Some(20_000))));
        assert_eq!(
            Selection::parse_window("2min.."),
            Ok((120_000_000_000, None))
        );
        for text in ["..", "5s", "", "1s-5s"] {
            let refused = Selection::parse_window(text).unwrap_err();
            assert!(matches!(refused, SelectionError::Window(_)), "{text}");
        }
        for text in ["1..5s", "1s..5x", "1s..-5s", "s..", "1.2.3s..", "1e9s.."] {
            let refused = Selection::parse_window(text).unwrap_err();
            assert!(matches!(refused, SelectionError::Time(_)), "{text}");
        }
        let refused = Selection::parse_window("5s..5000ms").unwrap_err();
        assert!(refused.to_string().contains("earlier time first"));
    }

    #[test]
    fn names_nearly_right_are_suggested() {
        let chosen = Selection::parse_counters("minor_faults, page_ins").unwrap();
        assert_eq!(
            chosen,
            CounterSet::from_iter([Counter::MinorFaults, Counter::PageIns])
        );
        let refused = Selection::parse_counters("minor_fault").unwrap_err();
        assert!(refused.to_string().contains("did you mean minor_faults?"));
        assert!(Selection::parse_counters("").is_err());

        let chosen = Selection::parse_states("io,suspended").unwrap();
        let names: Vec<_> = chosen.iter().map(State::name).collect();
        assert_eq!(
            names,
            [
                "compute_suspended",
                "io",
                "io_suspended",
                "communication_suspended"
            ]
        );
        let refused = Selection::parse_states("computing").unwrap_err();
        assert!(
            refused.to_string().contains("choose of compute, io"),
            "{refused}"
        );
        let refused = Selection::parse_states("suspendet").unwrap_err();
        assert!(refused.to_string().contains("did you mean suspended?"));
    }

    #[test]
    fn selections_come_back_from_files() {
        let selection = Selection {
            tasks: Some(Selection::parse_tasks("node:1-2").unwrap()),
            to_ns: Some(7),
            states: Some(Selection::parse_states("io").unwrap()),
            ..Selection::default()
        };
        let json = serde_json::to_string(&selection).unwrap();
        assert_eq!(serde_json::from_str::<Selection>(&json).unwrap(), selection);
        assert_eq!(
            serde_json::from_str::<Selection>("{}").unwrap(),
            Selection::default()
        );
    }
}
