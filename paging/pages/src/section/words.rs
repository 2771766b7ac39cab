//! What states and counters are called in titles.

use fathomp_paging::{Counter, State};
use fathomp_types::units;

/// What a counter counts, as a title.
pub(crate) const fn counter(counter: Counter) -> &'static str {
    match counter {
        Counter::MinorFaults => "minor faults",
        Counter::MajorFaults => "major faults",
        Counter::PageIns => "page-ins",
        Counter::BlocksOut => "blocks made dirty",
        Counter::VoluntarySwitches => "voluntary switches",
        Counter::InvoluntarySwitches => "preemptions",
        Counter::CopiesOnWrite => "copies on write",
        Counter::BytesRead => "bytes read",
        Counter::BytesWritten => "bytes written",
        Counter::IoCalls => "I/O calls",
        Counter::DsmWriteFaults => "DSM write faults",
        Counter::DsmFetchFaults => "DSM fetch faults",
        Counter::DsmPagesIn => "DSM pages in",
        Counter::DsmPagesOut => "DSM pages out",
        Counter::DsmBytesIn => "DSM bytes in",
        Counter::DsmBytesOut => "DSM bytes out",
        Counter::SystemSwapIns => "swap-ins of the machine",
        Counter::SystemSwapOuts => "swap-outs of the machine",
        Counter::ProcessSwapOuts => "swap-outs of the process",
        Counter::ProcessSwapIns => "swap-ins of the process",
    }
}

/// The same for a narrow column.
pub(crate) const fn column(counter: Counter) -> &'static str {
    match counter {
        Counter::MinorFaults => "Minor",
        Counter::MajorFaults => "Major",
        Counter::PageIns => "Page-in",
        Counter::BlocksOut => "Blocks",
        Counter::VoluntarySwitches => "Switches",
        Counter::InvoluntarySwitches => "Preempted",
        Counter::CopiesOnWrite => "Copies",
        Counter::BytesRead => "Read",
        Counter::BytesWritten => "Written",
        Counter::IoCalls => "I/O calls",
        Counter::DsmWriteFaults => "DSM writes",
        Counter::DsmFetchFaults => "DSM fetches",
        Counter::DsmPagesIn => "DSM in",
        Counter::DsmPagesOut => "DSM out",
        Counter::DsmBytesIn => "DSM in",
        Counter::DsmBytesOut => "DSM out",
        Counter::SystemSwapIns => "Swap in",
        Counter::SystemSwapOuts => "Swap out",
        Counter::ProcessSwapOuts => "Swapped out",
        Counter::ProcessSwapIns => "Swapped in",
    }
}

/// Counters by how much they say of paging, the most first.
pub(crate) const BY_WEIGHT: [Counter; Counter::COUNT] = [
    Counter::MajorFaults,
    Counter::PageIns,
    Counter::DsmFetchFaults,
    Counter::DsmWriteFaults,
    Counter::MinorFaults,
    Counter::CopiesOnWrite,
    Counter::ProcessSwapOuts,
    Counter::ProcessSwapIns,
    Counter::SystemSwapIns,
    Counter::SystemSwapOuts,
    Counter::DsmPagesIn,
    Counter::DsmPagesOut,
    Counter::BlocksOut,
    Counter::IoCalls,
    Counter::BytesRead,
    Counter::BytesWritten,
    Counter::DsmBytesIn,
    Counter::DsmBytesOut,
    Counter::VoluntarySwitches,
    Counter::InvoluntarySwitches,
];

/// Whether a counter counts pages that move or faults that ask for them.
pub(crate) const fn is_of_paging(counter: Counter) -> bool {
    matches!(
        counter,
        Counter::MajorFaults
            | Counter::PageIns
            | Counter::DsmFetchFaults
            | Counter::DsmWriteFaults
            | Counter::MinorFaults
            | Counter::CopiesOnWrite
            | Counter::ProcessSwapOuts
            | Counter::ProcessSwapIns
            | Counter::SystemSwapIns
            | Counter::SystemSwapOuts
    )
}

/// Whether a counter counts bytes.
pub(crate) const fn is_bytes(counter: Counter) -> bool {
    matches!(
        counter,
        Counter::BytesRead | Counter::BytesWritten | Counter::DsmBytesIn | Counter::DsmBytesOut
    )
}

/// An amount of a counter, in few columns.
pub(crate) fn amount(counter: Counter, value: u64) -> String {
    if is_bytes(counter) {
        units::bytes(value)
    } else {
        units::short_count(value)
    }
}

/// A rate of a counter.
pub(crate) fn rate(counter: Counter, per_second: f64) -> String {
    let value = if per_second.is_finite() {
        per_second.max(0.0)
    } else {
        0.0
    };
    if is_bytes(counter) {
        format!("{}/s", units::bytes(value as u64))
    } else if value < 99.5 {
        format!("{}/s", units::ratio(value))
    } else {
        format!("{}/s", units::short_count(value.round() as u64))
    }
}

/// A state, as a title.
pub(crate) const fn state(state: State) -> &'static str {
    match state.index() {
        0 => "computing",
        1 => "computing, suspended",
        2 => "I/O",
        3 => "I/O, suspended",
        4 => "communication",
        _ => "communication, suspended",
    }
}

/// The style's class of a state, and the name of its colour.
pub(super) const fn class(state: State) -> &'static str {
    match state.index() {
        0 => "p-compute",
        1 => "p-compute-suspended",
        2 => "p-io",
        3 => "p-io-suspended",
        4 => "p-communication",
        _ => "p-communication-suspended",
    }
}

/// Titles of counters for choosing.
pub(super) fn counter_title(of: Counter) -> String {
    let name = counter(of);
    let mut letters = name.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_counter_has_one_weight() {
        let mut all = BY_WEIGHT;
        all.sort_unstable();
        assert_eq!(all, Counter::ALL);
    }

    #[test]
    fn rates_have_units() {
        assert_eq!(rate(Counter::MinorFaults, 12.34), "12.3/s");
        assert_eq!(rate(Counter::PageIns, 4_321.0), "4321/s");
        assert_eq!(rate(Counter::BytesRead, 2048.0), "2.00 KiB/s");
        assert_eq!(rate(Counter::PageIns, f64::NAN), "0.00/s");
    }
}
