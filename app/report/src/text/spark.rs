//! Curves in a line of text.

/// What curves are drawn with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Glyphs {
    /// Blocks of eighths of a line.
    #[default]
    Blocks,
    /// For terminals that know no others.
    Ascii,
}

impl Glyphs {
    /// From nothing to the highest.
    const fn levels(self) -> &'static [char] {
        match self {
            Self::Blocks => &[' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'],
            Self::Ascii => &[' ', '.', ':', '-', '=', '+', '*', '%', '#'],
        }
    }
}

/// `values` as a curve of at most `columns` letters: where there are more values than
/// letters, each shows the mean of some. What is more than nothing is never blank.
#[must_use]
pub fn sparkline(values: &[f64], columns: usize, glyphs: Glyphs) -> String {
    let means = means(values, columns);
    let highest = means.iter().copied().fold(0.0, f64::max);
    let levels = glyphs.levels();
    let top = levels.len() - 1;
    let letter = |value: &f64| {
        if *value <= 0.0 || highest <= 0.0 {
            return levels[0];
        }
        let level = (value / highest * top as f64).ceil();
        levels[(level as usize).clamp(1, top)]
    };
    means.iter().map(letter).collect()
}

/// The values' means over `columns` equal stretches; the values themselves, each as wide
/// as the next, if they are fewer.
fn means(values: &[f64], columns: usize) -> Vec<f64> {
    let count = values.len();
    if count == 0 {
        return Vec::new();
    }
    (0..columns)
        .map(|column| {
            let from = column * count / columns;
            let to = ((column + 1) * count / columns).max(from + 1).min(count);
            let part = &values[from..to];
            let sum: f64 = part.iter().filter(|value| value.is_finite()).sum();
            sum / part.len() as f64
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_highest_is_full_and_nothing_is_blank() {
        let line = sparkline(&[0.0, 1.0, 4.0, 8.0], 4, Glyphs::Blocks);
        assert_eq!(line, " ▁▄█");
        assert_eq!(sparkline(&[0.0, 1e-9, 8.0], 3, Glyphs::Ascii), " .#");
    }

    #[test]
    fn curves_are_as_wide_as_asked() {
        for count in [1, 3, 50, 4_096] {
            let line = sparkline(&vec![1.0; count], 50, Glyphs::Blocks);
            assert_eq!(line, "█".repeat(50));
        }
        assert_eq!(sparkline(&[], 50, Glyphs::Blocks), "");
        assert_eq!(sparkline(&[f64::NAN, -1.0], 2, Glyphs::Ascii), "  ");
    }
}
