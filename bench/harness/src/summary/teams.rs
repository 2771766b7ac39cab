//! What was calculated, over sizes of teams. It is exact, and there are many of these: a table of
//! medians and intervals for each of them would say nothing more.

use super::figures::readable_unit;
use super::{Point, Summary};
use std::collections::BTreeSet;

/// A number of a table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// This, in the table's unit.
    Of(f64),
    /// It could not be calculated.
    Failed,
    /// Nobody asked for it.
    Absent,
}

/// The table of a column.
#[derive(Clone, Debug, PartialEq)]
pub struct OverTeams {
    /// What it shows, with the unit.
    pub title: String,
    /// What of there are several in a team.
    pub members: &'static str,
    /// Names of rows with their parameters.
    pub cases: Vec<String>,
    /// Sizes of teams, and a value for each case.
    pub rows: Vec<(u32, Vec<Value>)>,
}

impl OverTeams {
    /// None of a column that was measured.
    #[must_use]
    pub fn of(summary: &Summary, column: usize) -> Option<Self> {
        let facts = summary.columns.get(column).filter(|one| one.simulated)?;
        let points = || {
            summary
                .points
                .iter()
                .filter(|p| p.entries[column].is_some())
        };
        let first = points().next()?;
        let values = points().filter_map(|point| Some(point.estimate(column)?.value));
        let (unit, ns) = readable_unit(first.quantity.unit(), values.fold(0.0, f64::max));
        let mut cases: Vec<String> = Vec::new();
        for name in points().map(Point::name) {
            if !cases.contains(&name) {
                cases.push(name);
            }
        }
        let teams: BTreeSet<u32> = points().map(|point| point.threads).collect();
        let value = |team: u32, case: &String| {
            let mut here = points().filter(|point| point.threads == team);
            match here.find(|point| point.name() == *case) {
                None => Value::Absent,
                Some(point) => match point.estimate(column) {
                    Some(estimate) => Value::Of(estimate.value / ns),
                    None => Value::Failed,
                },
            }
        };
        let row = |team| (team, cases.iter().map(|case| value(team, case)).collect());
        Some(Self {
            title: format!(
                "{}, {}: {} in {unit}",
                first.suite.name(),
                facts.name,
                first.quantity.title()
            ),
            members: summary.members(&[column]),
            rows: teams.into_iter().map(row).collect(),
            cases,
        })
    }
}

impl Summary {
    /// Whether a point was measured, by any column.
    #[must_use]
    pub fn is_measured(&self, point: &Point) -> bool {
        let mut entries = point.entries.iter().zip(&self.columns);
        entries.any(|(entry, column)| entry.is_some() && !column.simulated)
    }
}
