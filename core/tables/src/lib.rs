//! Rows and columns on a terminal, and sentences between them.

use fathomp_types::text::{NO_TERMINAL, bound, shorten};
use unicode_width::UnicodeWidthStr;

/// Narrowest width anything is laid out for.
pub const WIDTH_MIN: usize = 60;

/// Width of sentences and curves where tables may have `width`.
#[must_use]
pub fn readable(width: usize) -> usize {
    const WITHOUT_TERMINAL: usize = 100;
    match width >= NO_TERMINAL - WIDTH_MIN {
        true => WITHOUT_TERMINAL,
        false => width,
    }
}

/// A table: one column of names, which takes what width is left, and columns
/// of numbers, of which the least important go first if there is too little; a line below says
/// which.
#[derive(Debug)]
pub struct Grid {
    name: String,
    columns: Vec<Column>,
    rows: Vec<(String, Vec<String>)>,
    /// Columns go where names would have less room than this.
    name_min: usize,
}

#[derive(Debug)]
struct Column {
    title: String,
    /// 0 is never left out.
    expendable: u8,
    /// Words stand left, numbers right.
    words: bool,
}

const NAME_MIN: usize = 22;
const NAME_MAX: usize = 60;
const GAP: &str = "  ";

impl Grid {
    /// A table whose first column is called `name`.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            columns: Vec::new(),
            rows: Vec::new(),
            name_min: NAME_MIN,
        }
    }

    /// Columns go before names are cut.
    #[must_use]
    pub fn whole_names(self) -> Self {
        Self {
            name_min: NAME_MAX,
            ..self
        }
    }

    /// A column of numbers; the higher `expendable`, the sooner it goes.
    #[must_use]
    pub fn column(mut self, title: impl Into<String>, expendable: u8) -> Self {
        self.columns.push(Column {
            title: title.into(),
            expendable,
            words: false,
        });
        self
    }

    /// Columns of numbers that are never left out.
    #[must_use]
    pub fn columns<T: Into<String>>(self, titles: impl IntoIterator<Item = T>) -> Self {
        let titles = titles.into_iter();
        titles.fold(self, |grid, title| grid.column(title, 0))
    }

    /// A column of words, as one of numbers.
    #[must_use]
    pub fn words(mut self, title: impl Into<String>, expendable: u8) -> Self {
        self.columns.push(Column {
            title: title.into(),
            expendable,
            words: true,
        });
        self
    }

    /// A row: its name, and a cell for each column.
    pub fn row(&mut self, name: impl Into<String>, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push((name.into(), cells));
    }

    /// Whether it has no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The table in at most `width` columns, if its first columns fit at all. What is left out
    /// is named.
    #[must_use]
    pub fn render(&self, width: usize) -> String {
        let widths: Vec<usize> = self
            .columns
            .iter()
            .enumerate()
            .map(|(index, column)| {
                self.rows
                    .iter()
                    .filter_map(|(_, cells)| cells.get(index))
                    .map(|cell| columns(cell))
                    .chain([columns(&column.title)])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let longest = self
            .rows
            .iter()
            .map(|(name, _)| columns(name))
            .chain([columns(&self.name)])
            .max()
            .unwrap_or(0);
        let mut kept: Vec<usize> = (0..self.columns.len()).collect();
        let needs =
            |kept: &[usize]| -> usize { kept.iter().map(|index| widths[*index] + GAP.len()).sum() };
        while longest.min(self.name_min) + needs(&kept) > width {
            let least = kept
                .iter()
                .enumerate()
                .max_by_key(|(_, index)| self.columns[**index].expendable)
                .filter(|(_, index)| self.columns[**index].expendable > 0);
            let Some((position, _)) = least else { break };
            kept.remove(position);
        }
        let room = width
            .saturating_sub(needs(&kept))
            .clamp(longest.min(NAME_MIN), NAME_MAX);
        let name_width = longest.min(room);

        let mut text = String::new();
        let titles: Vec<String> = self.columns.iter().map(|one| one.title.clone()).collect();
        let head = std::iter::once((self.name.as_str(), &titles));
        let body = self.rows.iter().map(|(name, cells)| (name.as_str(), cells));
        for (name, cells) in head.chain(body) {
            let name = fit(name, name_width);
            let padding = name_width - columns(&name);
            let mut line = name + &" ".repeat(padding);
            for index in &kept {
                let cell = cells.get(*index).map_or("", String::as_str);
                let padding = " ".repeat(widths[*index].saturating_sub(columns(cell)));
                line.push_str(GAP);
                if self.columns[*index].words {
                    line.push_str(cell);
                    line.push_str(&padding);
                } else {
                    line.push_str(&padding);
                    line.push_str(cell);
                }
            }
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text + &self.left_out(&kept, width)
    }

    /// Says which columns there was no room for.
    fn left_out(&self, kept: &[usize], width: usize) -> String {
        let titles = self.columns.iter().enumerate();
        let gone: Vec<&str> = titles
            .filter(|(index, _)| !kept.contains(index))
            .map(|(_, column)| column.title.as_str())
            .collect();
        if gone.is_empty() {
            return String::new();
        }
        let line = format!(
            "(no room for {}: a wider terminal, a pipe or a file gets all columns)",
            gone.join(", ")
        );
        wrapped(&line, width, " ")
    }
}

/// `text` in lines of at most `width` columns, of which all but the first begin with `indent`.
#[must_use]
pub fn wrapped(text: &str, width: usize, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    let width = readable(width);
    let text = bound(text);
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let joined = columns(&line) + 1 + columns(word);
        if !line.is_empty() && indent.len() + joined > width {
            lines.push_str(&line);
            lines.push('\n');
            lines.push_str(indent);
            line.clear();
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push_str(&line);
    lines.push('\n');
    lines.replace('\u{a0}', " ")
}

/// Columns `text` takes on a terminal.
#[must_use]
pub fn columns(text: &str) -> usize {
    text.width()
}

/// `text` in at most `width` columns, keeping its beginning and end.
#[must_use]
pub fn fit(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut limit = width;
    // Wide letters take two columns: shorten until it fits.
    loop {
        let short = shorten(text, limit);
        if columns(&short) <= width || limit == 0 {
            return short;
        }
        limit -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_and_the_least_important_column_goes_first() {
        let mut grid = Grid::new("Region").column("Time", 0).column("Extra", 1);
        grid.row(
            "a_function_with_a_rather_long_name.c:12",
            vec!["1.24 ms".into(), "17".into()],
        );
        grid.row(
            "漢字漢字漢字漢字漢字漢字漢字漢字漢字",
            vec!["2 ns".into(), "1".into()],
        );
        let wide = grid.render(80);
        assert!(wide.contains("Extra"));
        let narrow = grid.render(34);
        assert!(!narrow.lines().next().unwrap().contains("Extra"));
        assert!(narrow.contains("(no room for Extra:"), "{narrow}");
        // A width in which names are cut, or else a column goes.
        assert!(grid.render(46).contains("Extra"));
        let whole = grid.whole_names();
        let named = whole.render(48);
        assert!(!named.lines().next().unwrap().contains("Extra"));
        assert!(named.contains("a_rather_long_name.c:12"));
        let tiny = whole.render(34);
        for (text, width) in [(wide, 80), (narrow, 34), (named, 48), (tiny, 34)] {
            assert!(text.lines().all(|line| columns(line) <= width), "{text}");
        }
    }

    #[test]
    fn lines_are_broken_at_words() {
        assert_eq!(wrapped("one two three", 9, "  "), "one two\n  three\n");
        assert_eq!(wrapped("it is 31 % now", 9, ""), "it is\n31 % now\n");
    }
}
