//! What is to be recorded of paging, from what the user typed.

use crate::args::Paging;
use fathomp_launch::names::KEY;
use fathomp_paging::setup::Writer;
use fathomp_paging::{Activity, CounterSet, Selection, SelectionError, StateSet};
use std::fs::File;
use std::io::{self, Read};
use std::time::Duration;

/// What to record, and how.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    pub(super) writer: Writer,
    /// What opens the way to another host, if that writes.
    pub(super) key: Option<String>,
    pub(super) selection: Selection,
    /// Between two looks at a thread's counters.
    pub(super) sample: Option<Duration>,
    pub(super) every_fault: bool,
}

/// The key that hosts of a recording share, if the environment has one.
pub(crate) fn key_of_environment() -> Option<String> {
    let key = std::env::var(KEY.name).ok()?;
    (!key.is_empty()).then_some(key)
}

/// A key that nobody guesses: 32 hexadecimal digits.
pub(crate) fn new_key() -> io::Result<String> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

impl Plan {
    /// The plan, if paging is to be recorded.
    pub(crate) fn new(args: &Paging, every_fault: bool) -> Result<Option<Self>, SelectionError> {
        if !args.paging {
            return Ok(None);
        }
        let mut selection = Selection::default();
        if let Some(tasks) = &args.tasks {
            selection.tasks = Some(Selection::parse_tasks(tasks)?);
        }
        if let Some(window) = &args.window {
            (selection.from_ns, selection.to_ns) = Selection::parse_window(window)?;
        }
        if let Some(counters) = &args.counters {
            selection.counters = Some(Selection::parse_counters(counters)?);
        }
        if let Some(states) = &args.states {
            selection.states = Some(Selection::parse_states(states)?);
        }
        Ok(Some(Self {
            key: args.key.clone().or_else(key_of_environment),
            writer: args.single_writer(),
            selection,
            sample: args.sample.map(|interval| interval.0),
            every_fault,
        }))
    }

    /// Counters that are recorded.
    pub(super) fn counters(&self) -> CounterSet {
        self.selection.counters.unwrap_or(CounterSet::ALL)
    }

    /// Activities whose intervals are recorded. Whether a stay was suspended is known only
    /// at its end, so both states of an activity are recorded, or none.
    pub(super) fn activities(&self) -> Vec<Activity> {
        let states = self.selection.states.unwrap_or(StateSet::ALL);
        let chosen = |activity: &Activity| states.iter().any(|state| state.activity == *activity);
        Activity::ALL.into_iter().filter(chosen).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn args() -> Paging {
        Paging {
            paging: true,
            ..Paging::default()
        }
    }

    #[test]
    fn keys_are_random_and_of_fixed_length() {
        let (one, other) = (new_key().unwrap(), new_key().unwrap());
        assert_eq!(one.len(), 32);
        assert_ne!(one, other);
    }

    #[test]
    fn without_choices_everything_is_recorded() {
        let plan = Plan::new(&args(), false).unwrap().unwrap();
        assert_eq!(plan.counters(), CounterSet::ALL);
        assert_eq!(plan.activities(), Activity::ALL);
        assert!(Plan::new(&Paging::default(), false).unwrap().is_none());
    }

    #[test]
    fn a_suspended_state_records_its_activity() {
        let mut args = args();
        args.states = Some("io".to_owned());
        args.counters = Some("major_faults,page_ins".to_owned());
        args.window = Some("1s..5s".to_owned());
        args.tasks = Some("0-3".to_owned());
        let plan = Plan::new(&args, true).unwrap().unwrap();
        assert_eq!(plan.activities(), [Activity::Io]);
        assert_eq!(plan.counters().len(), 2);
        assert_eq!(plan.selection.to_ns, Some(5_000_000_000));
        args.states = Some("thinking".to_owned());
        assert!(Plan::new(&args, false).is_err());
    }
}
