//! What a program can measure: rows, and cases of them.

use serde::{Deserialize, Serialize};

/// A measurement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// EPCC's name where EPCC has it; ends in one word per parameter.
    pub row: String,
    /// What it belongs to: `sync`, `sched`, ...
    pub group: String,
    /// What its samples are.
    pub measures: Measures,
    /// What can be varied.
    #[serde(default)]
    pub parameters: Vec<Parameter>,
}

/// What the samples of a row are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Measures {
    /// Pairs: with and without the construct.
    Overhead,
    /// Times without a reference.
    Time,
}

/// A parameter of a row.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parameter {
    /// What it is: `chunk`, `array`, ...
    pub name: String,
    /// The word that stands for it in the row's name.
    #[serde(default)]
    pub symbol: String,
    /// Its unit.
    pub unit: String,
    /// Sensible values.
    pub values: Vec<u64>,
    /// Fewer of them, for a short run.
    #[serde(default)]
    pub quick: Vec<u64>,
}

/// A row with values for its parameters.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Case {
    /// Name of the row.
    pub row: String,
    /// One value per parameter of the row.
    pub values: Vec<u64>,
}

/// Groups that the initial thread measures alone: the team does not matter.
const SERIAL: [&str; 2] = ["latency", "order"];

impl Row {
    /// True if only the initial thread works.
    #[must_use]
    pub fn is_serial(&self) -> bool {
        SERIAL.contains(&self.group.as_str())
    }

    /// The row's name without the words for its parameters.
    #[must_use]
    pub fn stem(&self) -> String {
        let words: Vec<&str> = self.row.split(' ').collect();
        let kept = words.len().saturating_sub(self.parameters.len());
        words[..kept].join(" ")
    }

    /// What the program calls the case with these values.
    #[must_use]
    pub fn case_name(&self, values: &[u64]) -> String {
        let mut name = if self.parameters.is_empty() {
            self.row.clone()
        } else {
            self.stem()
        };
        for value in values {
            name.push(' ');
            name.push_str(&value.to_string());
        }
        name
    }

    /// All cases with the values that the program suggests.
    #[must_use]
    pub fn cases(&self, quick: bool) -> Vec<Case> {
        let mut all = vec![Vec::new()];
        for parameter in &self.parameters {
            let values = if quick && !parameter.quick.is_empty() {
                &parameter.quick
            } else {
                &parameter.values
            };
            all = all
                .into_iter()
                .flat_map(|chosen: Vec<u64>| {
                    values.iter().map(move |value| {
                        let mut longer = chosen.clone();
                        longer.push(*value);
                        longer
                    })
                })
                .collect();
        }
        all.into_iter()
            .map(|values| Case {
                row: self.row.clone(),
                values,
            })
            .collect()
    }

    /// The cases that `name` asks for: all for the row's name with or without
    /// the words for its parameters, one for a name with values.
    #[must_use]
    pub fn named(&self, name: &str, quick: bool) -> Vec<Case> {
        let same = |other: &str| other.eq_ignore_ascii_case(name.trim());
        if same(&self.row) || same(&self.stem()) {
            return self.cases(quick);
        }
        let words: Vec<&str> = name.split_whitespace().collect();
        let Some(at) = words.len().checked_sub(self.parameters.len()) else {
            return Vec::new();
        };
        let values: Option<Vec<u64>> = words[at..]
            .iter()
            .map(|word| word.parse().ok().filter(|value| *value > 0))
            .collect();
        match values {
            Some(values) if self.stem().eq_ignore_ascii_case(&words[..at].join(" ")) => {
                vec![Case {
                    row: self.row.clone(),
                    values,
                }]
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, parameters: &[(&str, &[u64], &[u64])]) -> Row {
        Row {
            row: name.into(),
            group: "sched".into(),
            measures: Measures::Overhead,
            parameters: parameters
                .iter()
                .map(|(name, values, quick)| Parameter {
                    name: (*name).into(),
                    symbol: "n".into(),
                    unit: "iterations".into(),
                    values: values.to_vec(),
                    quick: quick.to_vec(),
                })
                .collect(),
        }
    }

    #[test]
    fn cases_are_the_product_of_the_values() {
        let row = row(
            "ROUND ROBIN c a",
            &[("chunk", &[4, 64], &[4]), ("array", &[1, 2, 3], &[])],
        );
        assert_eq!(row.cases(false).len(), 6);
        assert_eq!(row.cases(true).len(), 3);
        assert_eq!(row.case_name(&[64, 3]), "ROUND ROBIN 64 3");
        assert_eq!(row.stem(), "ROUND ROBIN");
    }

    #[test]
    fn names_ask_for_a_row_or_for_one_case() {
        let dynamic = row("DYNAMIC n", &[("chunk", &[1, 2, 4], &[1])]);
        assert_eq!(dynamic.named("dynamic", false).len(), 3);
        assert_eq!(dynamic.named("DYNAMIC n", true).len(), 1);
        assert_eq!(dynamic.named("dynamic 7", false)[0].values, [7]);
        for other in ["", "DYNAMIC 0", "DYNAMIC x", "GUIDED 1", "DYNAMIC 1 2"] {
            assert!(dynamic.named(other, false).is_empty(), "{other}");
        }
        let barrier = row("BARRIER", &[]);
        assert_eq!(barrier.named("barrier", false).len(), 1);
        assert_eq!(barrier.case_name(&[]), "BARRIER");
    }
}
