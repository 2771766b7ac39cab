//! What recording cost on the Intel Paragon in 1995.

use serde::{Deserialize, Serialize};

/// The facts of the published table, their source in the first lines.
const TABLE: &str = include_str!("published.csv");

/// A row of the published table (Wang and Marinescu 1995).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PublishedRow {
    /// Name of the NAS benchmark.
    pub benchmark: String,
    /// Its class.
    pub class: String,
    /// Nodes that ran it, one task each.
    pub nodes: u64,
    /// Nodes of them that were recorded.
    pub nodes_profiled: u64,
    /// Time without recording, in seconds.
    pub seconds_without: f64,
    /// Time with recording, in seconds.
    pub seconds_with: f64,
    /// Bytes that a node recorded.
    pub trace_bytes_per_node: u64,
}

impl PublishedRow {
    /// How much longer it took with recording, in percent.
    #[must_use]
    pub fn intrusion_percent(&self) -> f64 {
        (self.seconds_with / self.seconds_without - 1.0) * 100.0
    }

    /// A row from its line; `None` for comments, the header and what is no row.
    fn of(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split(',').collect();
        let [
            benchmark,
            class,
            nodes,
            nodes_profiled,
            without,
            with,
            bytes,
        ] = fields[..]
        else {
            return None;
        };
        Some(Self {
            benchmark: benchmark.to_owned(),
            class: class.to_owned(),
            nodes: nodes.parse().ok()?,
            nodes_profiled: nodes_profiled.parse().ok()?,
            seconds_without: without.parse().ok()?,
            seconds_with: with.parse().ok()?,
            trace_bytes_per_node: bytes.parse().ok()?,
        })
    }
}

/// The published table.
#[must_use]
pub fn published() -> Vec<PublishedRow> {
    TABLE.lines().filter_map(PublishedRow::of).collect()
}

/// The least and the most that recording cost in the published table, in percent.
#[must_use]
pub fn published_range_percent(rows: &[PublishedRow]) -> Option<(f64, f64)> {
    let percent = || rows.iter().map(PublishedRow::intrusion_percent);
    let least = percent().min_by(f64::total_cmp)?;
    let most = percent().max_by(f64::total_cmp)?;
    Some((least, most))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_a_row() {
        let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
        let rows = published();
        assert_eq!(rows.len(), lines.count() - 1);
        assert_eq!(rows.len(), 21);
        assert!(
            rows.iter()
                .all(|row| row.nodes_profiled <= row.nodes && row.seconds_with > 0.0)
        );
    }

    /// The range that the paper's text names.
    #[test]
    fn the_published_range_is_reproduced() {
        let (least, most) = published_range_percent(&published()).unwrap();
        assert!((least - 0.6).abs() < 0.05, "{least}");
        assert!((most - 184.0).abs() < 0.5, "{most}");
        assert_eq!(published_range_percent(&[]), None);
    }
}
