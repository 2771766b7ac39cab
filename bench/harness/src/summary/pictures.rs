//! All figures.

use super::Summary;
use super::families::families;
use super::figures::{Figure, in_readable_unit, of_rows};

/// Those of rows in the order of tables, then those of what belongs together.
#[must_use]
pub fn figures(summary: &Summary) -> Vec<Figure> {
    let mut all = of_rows(summary);
    all.extend(families(summary));
    all.into_iter().map(in_readable_unit).collect()
}
