//! Numbers and names in sentences.

use fathomp_paging::{Activity, Counter, State, StateSet};
use fathomp_types::units;

/// A duration of whole nanoseconds.
pub(crate) fn ns(ns: u64) -> String {
    units::duration(ns as f64)
}

/// A count.
pub(crate) fn count(count: u64) -> String {
    units::count(count)
}

/// "once", "twice", "7 times".
pub(crate) fn times(number: u64) -> String {
    match number {
        1 => "once".to_owned(),
        2 => "twice".to_owned(),
        n => format!("{} times", units::count(n)),
    }
}

/// A share that is not said to be all unless it is: "94 %", "more than 99 %".
pub(crate) fn share(share: f64) -> String {
    if share < 1.0 && share > 0.99 {
        return "more than 99 %".to_owned();
    }
    units::percent(share)
}

/// A correlation, with two digits: what is next to nothing is 0.
pub(crate) fn correlation(r: f64) -> String {
    if r.abs() < 0.005 {
        return "0".to_owned();
    }
    format!("{r:.2}")
}

/// "1 task", "4 tasks".
pub(crate) fn tasks(number: u64) -> String {
    units::plural(number, "task")
}

/// A rate: "106 a second", "0.20 a second".
pub(crate) fn per_second(rate: f64) -> String {
    if rate >= 9_999.5 {
        format!("{} a second", units::count(rate.round().min(1e18) as u64))
    } else {
        format!("{} a second", units::ratio(rate))
    }
}

/// What a counter counts, in the plural.
pub(crate) const fn noun(counter: Counter) -> &'static str {
    match counter {
        Counter::MinorFaults => "page faults without I/O",
        Counter::MajorFaults => "page faults that wait for I/O",
        Counter::PageIns => "page-ins",
        Counter::BlocksOut => "blocks made dirty",
        Counter::VoluntarySwitches => "voluntary switches",
        Counter::InvoluntarySwitches => "preemptions",
        Counter::CopiesOnWrite => "copies on write",
        Counter::BytesRead => "bytes read",
        Counter::BytesWritten => "bytes written",
        Counter::IoCalls => "I/O calls",
        Counter::DsmWriteFaults => "write faults of the shared memory",
        Counter::DsmFetchFaults => "fetch faults",
        Counter::DsmPagesIn => "pages from other nodes",
        Counter::DsmPagesOut => "pages to other nodes",
        Counter::DsmBytesIn => "bytes from other nodes",
        Counter::DsmBytesOut => "bytes to other nodes",
        Counter::SystemSwapIns => "pages read from the machine's swap",
        Counter::SystemSwapOuts => "pages written to the machine's swap",
        Counter::ProcessSwapOuts => "pages of the process that go to swap",
        Counter::ProcessSwapIns => "pages of the process that come back from swap",
    }
}

/// Activities as parts of sentences: "computing", "I/O", "communication".
pub(crate) const fn activity(activity: Activity) -> &'static str {
    match activity {
        Activity::Compute => "computing",
        Activity::Io => "I/O",
        Activity::Communication => "communication",
    }
}

/// States as a title: "all states", "compute", "io (suspended)".
pub(crate) fn states(states: StateSet) -> String {
    if states == StateSet::ALL {
        return "all states".to_owned();
    }
    let mut parts = Vec::new();
    for activity in Activity::ALL {
        let has = |suspended| {
            states.contains(State {
                activity,
                suspended,
            })
        };
        match (has(false), has(true)) {
            (true, true) => parts.push(activity.name().to_owned()),
            (true, false) => parts.push(format!("{} (active)", activity.name())),
            (false, true) => parts.push(format!("{} (suspended)", activity.name())),
            (false, false) => {}
        }
    }
    if parts.is_empty() {
        return "no state".to_owned();
    }
    parts.join(", ")
}

/// " while computing", " in I/O": nothing for all states.
pub(crate) fn within(set: StateSet) -> String {
    if set == StateSet::ALL {
        return String::new();
    }
    format!(" in {}", states(set))
}
