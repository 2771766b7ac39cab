//! What a row's numbers are.

use crate::suite::{Case, Measures, Process, Row};
use serde::Serialize;

/// A quantity and its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Time with the construct minus time without, nanoseconds per construct.
    OverheadNs,
    /// Time on shared memory minus time on private memory, nanoseconds per
    /// million bytes of the array.
    OverheadNsPerMb,
    /// Nanoseconds per load or store.
    AccessNs,
    /// Nanoseconds per repetition.
    TimeNs,
    /// Thousand million bytes per second.
    BandwidthGbPerS,
}

/// The parameter that says how large mcbench's array is.
const ARRAY: &str = "array";

impl Quantity {
    /// The unit in tables.
    #[must_use]
    pub fn unit(self) -> &'static str {
        match self {
            Self::OverheadNs | Self::AccessNs | Self::TimeNs => "ns",
            Self::OverheadNsPerMb => "ns/MB",
            Self::BandwidthGbPerS => "GB/s",
        }
    }

    /// What it is, in words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::OverheadNs => "overhead",
            Self::OverheadNsPerMb => "overhead per MB",
            Self::AccessNs => "time per access",
            Self::TimeNs => "time",
            Self::BandwidthGbPerS => "bandwidth",
        }
    }

    /// Times, which can be expressed in clock cycles.
    #[must_use]
    pub fn is_time(self) -> bool {
        self != Self::BandwidthGbPerS
    }

    /// Samples are differences to a reference.
    #[must_use]
    pub fn is_overhead(self) -> bool {
        matches!(self, Self::OverheadNs | Self::OverheadNsPerMb)
    }

    /// What the samples of `process` are, for a case of `row`.
    pub fn of(row: &Row, process: &Process) -> Self {
        match row.measures {
            Measures::Overhead if array(row).is_some() => Self::OverheadNsPerMb,
            Measures::Overhead => Self::OverheadNs,
            Measures::Time if row.group == "bandwidth" && process.bytes.is_some() => {
                Self::BandwidthGbPerS
            }
            Measures::Time if process.accesses.is_some() => Self::AccessNs,
            Measures::Time => Self::TimeNs,
        }
    }

    /// One value per sample in `kept`.
    pub(crate) fn values(
        self,
        row: &Row,
        case: &Case,
        process: &Process,
        kept: &[usize],
    ) -> Vec<f64> {
        let megabytes = Self::megabytes(row, case);
        let value = |index: &usize| {
            let construct = process.construct_ns.get(*index)?;
            let difference = || Some(construct - process.reference_ns.get(*index)?);
            match self {
                Self::OverheadNs => difference(),
                Self::OverheadNsPerMb => Some(difference()? / megabytes),
                Self::AccessNs => Some(construct / process.accesses?),
                Self::TimeNs => Some(*construct),
                Self::BandwidthGbPerS => Some(process.bytes? / construct),
            }
        };
        kept.iter()
            .filter_map(value)
            .filter(|v| v.is_finite())
            .collect()
    }

    /// Size of the array that overheads are divided by, in million bytes; 1
    /// where there is none.
    pub(crate) fn megabytes(row: &Row, case: &Case) -> f64 {
        array(row)
            .and_then(|index| case.values.get(index))
            .map_or(1.0, |bytes| *bytes as f64 / 1e6)
    }

    /// What a machine without other load would give: from the fastest tenth of
    /// the samples.
    pub(crate) fn quiet(self, row: &Row, case: &Case, processes: &[&Process]) -> Option<f64> {
        use fathomp_stats::quantile;
        const FASTEST: f64 = 0.1;
        let all = |pick: fn(&Process) -> &Vec<f64>| -> Vec<f64> {
            processes
                .iter()
                .flat_map(|process| pick(process))
                .copied()
                .collect()
        };
        let construct = quantile(&all(|process| &process.construct_ns), FASTEST)?;
        let first = processes.first()?;
        let typical = Process {
            construct_ns: vec![construct],
            reference_ns: quantile(&all(|process| &process.reference_ns), FASTEST)
                .into_iter()
                .collect(),
            bytes: first.bytes,
            accesses: first.accesses,
            ..Process::default()
        };
        self.values(row, case, &typical, &[0]).first().copied()
    }
}

/// Which parameter is mcbench's array.
fn array(row: &Row) -> Option<usize> {
    row.parameters
        .iter()
        .position(|parameter| row.group == "consistency" && parameter.name == ARRAY)
}

/// A size as people read it.
#[must_use]
pub fn size(bytes: u64) -> String {
    match bytes {
        0..0x400 => format!("{bytes} B"),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        0x400..0x10_0000 => format!("{} KiB", bytes >> 10),
        _ => format!("{:.1} MiB", bytes as f64 / f64::from(1 << 20)),
    }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_have_no_needless_digits() {
        for (bytes, text) in [
            (64, "64 B"),
            (49_152, "48 KiB"),
            (256 << 20, "256 MiB"),
            (3 << 19, "1.5 MiB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
