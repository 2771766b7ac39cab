//! What is to be recorded of paging, from what the user typed.

use crate::args::Paging;
use fathomp_launch::names::KEY;
use fathomp_paging::setup::{TaskNumber, TaskRule, Writer};
use fathomp_paging::{Activity, CounterSet, PagingMeta, Selection, SelectionError, StateSet};
use fathomp_runtime::Unpacked;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// What to record, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Plan {
    pub(super) writer: Writer,
    /// What opens the way to another host, if that writes.
    pub(super) key: Option<String>,
    pub(super) selection: Selection,
    /// Between two looks at a thread's counters; 0 for none, nothing to leave it to the sampler.
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
    pub fn new(args: &Paging) -> Result<Option<Self>, SelectionError> {
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
            every_fault: args.record_faults,
        }))
    }

    /// The circumstances of a recording that is made so, as far as they are known before it
    /// begins.
    pub fn circumstances(&self, limit_bytes: u64, hosts: Vec<String>) -> PagingMeta {
        PagingMeta {
            fathomp: env!("CARGO_PKG_VERSION").to_owned(),
            writer: self.writer.to_string(),
            sampling_ns: self
                .sample
                .and_then(|one| u64::try_from(one.as_nanos()).ok())
                .filter(|ns| *ns > 0),
            selection: self.selection.clone(),
            counters: Some(self.counters()),
            states: Some(self.selection.states.unwrap_or(StateSet::ALL)),
            limit_bytes: Some(limit_bytes),
            hosts,
            ..PagingMeta::default()
        }
    }

    /// The library that is loaded into the program.
    #[must_use]
    pub fn interposer<'a>(&self, unpacked: &'a Unpacked) -> &'a Path {
        &unpacked.interposer
    }

    /// Says which of its options cannot be used on several hosts, if there is one.
    pub fn contradiction_on_hosts(&self) -> Option<&'static str> {
        let counts_all =
            |rule: &TaskRule| matches!(rule.by, TaskNumber::Task | TaskNumber::Process);
        if self.selection.tasks.as_ref().is_some_and(counts_all) {
            return Some(
                "tasks and processes are numbered on each host alone: choose by node, rank or thread, as --tasks node:0-3 does",
            );
        }
        let brings_it_here = matches!(self.writer, Writer::Task | Writer::Message | Writer::Shared);
        (!brings_it_here).then_some(
            "over hosts, what is recorded of paging comes to this command by itself: leave --writer out, or choose task, message or shared",
        )
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
        let plan = Plan::new(&args()).unwrap().unwrap();
        assert_eq!(plan.counters(), CounterSet::ALL);
        assert_eq!(plan.activities(), Activity::ALL);
        assert!(Plan::new(&Paging::default()).unwrap().is_none());
    }

    #[test]
    fn what_one_machine_alone_can_count_or_keep_is_refused_over_hosts() {
        let said = |set: &dyn Fn(&mut Paging)| {
            let mut args = args();
            set(&mut args);
            let plan = Plan::new(&args).unwrap().unwrap();
            plan.contradiction_on_hosts().unwrap_or_default()
        };
        assert_eq!(said(&|_| {}), "");
        for tasks in ["node:0-3", "rank:1", "thread:0"] {
            assert_eq!(said(&|args| args.tasks = Some(tasks.to_owned())), "");
        }
        for tasks in ["0-3", "process:1"] {
            let said = said(&|args| args.tasks = Some(tasks.to_owned()));
            assert!(said.contains("--tasks node:0-3"), "{said}");
        }
        for (writer, is_refused) in [
            ("task", false),
            ("message", false),
            ("shared", false),
            ("collector", true),
            ("striped:/a,/b", true),
            ("far:4000", true),
        ] {
            let said = said(&|args| args.writer = Some(writer.parse().unwrap()));
            assert_eq!(said.contains("leave --writer out"), is_refused, "{writer}");
        }
    }

    #[test]
    fn a_suspended_state_records_its_activity() {
        let mut args = args();
        args.states = Some("io".to_owned());
        args.counters = Some("major_faults,page_ins".to_owned());
        args.window = Some("1s..5s".to_owned());
        args.tasks = Some("0-3".to_owned());
        args.record_faults = true;
        let plan = Plan::new(&args).unwrap().unwrap();
        assert!(plan.every_fault);
        assert_eq!(plan.activities(), [Activity::Io]);
        assert_eq!(plan.counters().len(), 2);
        assert_eq!(plan.selection.to_ns, Some(5_000_000_000));
        args.states = Some("thinking".to_owned());
        assert!(Plan::new(&args).is_err());
    }
}
