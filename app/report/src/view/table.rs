//! Tables as data.

use serde::Serialize;

/// A table of the page.
#[derive(Debug, Serialize)]
pub struct Table {
    /// Its name in links.
    pub id: String,
    /// A line above it.
    pub caption: String,
    /// Headings.
    pub columns: Vec<Column>,
    /// Rows, as first shown.
    pub rows: Vec<Row>,
    /// The reader may sort it.
    pub sortable: bool,
}

/// A heading.
#[derive(Debug, Serialize)]
pub struct Column {
    /// The words.
    pub title: String,
    /// What stands below are numbers.
    pub numeric: bool,
    /// What it means, on hovering.
    pub hint: &'static str,
}

/// A row.
#[derive(Debug, Serialize)]
pub struct Row {
    /// Its name in links.
    pub id: String,
    /// As many as there are columns.
    pub cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Default, Serialize)]
pub struct Cell {
    /// What stands there.
    pub text: String,
    /// The style's class.
    pub class: &'static str,
    /// What to sort by, where that is not the text.
    pub sort: Option<f64>,
    /// What it means, on hovering.
    pub hint: String,
    /// Name of the element to jump to.
    pub link: String,
    /// After a link, less important.
    pub note: String,
    /// A stacked bar in place of the text, in percent of the cell.
    pub bars: Vec<MeterBar>,
}

/// Part of a stacked bar in a cell.
#[derive(Debug, Serialize)]
pub struct MeterBar {
    /// The style's class.
    pub class: String,
    /// Where it begins, in percent.
    pub x: f64,
    /// How long it is.
    pub w: f64,
    /// Words on hovering.
    pub title: String,
}

impl Column {
    /// A heading of words.
    pub fn text(title: impl Into<String>, hint: &'static str) -> Self {
        Self {
            title: title.into(),
            numeric: false,
            hint,
        }
    }

    /// A heading of numbers.
    pub fn number(title: impl Into<String>, hint: &'static str) -> Self {
        Self {
            title: title.into(),
            numeric: true,
            hint,
        }
    }
}

impl Cell {
    /// The name of a row.
    pub fn name(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class: "name code",
            ..Self::default()
        }
    }

    /// Words.
    pub fn words(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class: "words",
            ..Self::default()
        }
    }

    /// `text`, sorted by `value`.
    pub fn number(value: f64, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class: "num",
            sort: Some(if value.is_finite() { value } else { -1.0 }),
            ..Self::default()
        }
    }

    /// No value: shown as a dash and sorted below every number.
    pub fn nothing() -> Self {
        Self::number(f64::NAN, crate::units::NOTHING)
    }

    /// The same, with an element to jump to.
    #[must_use]
    pub fn link(mut self, target: impl Into<String>) -> Self {
        self.link = target.into();
        self
    }

    /// The same, with less important words behind.
    #[must_use]
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    /// The same, with words on hovering.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}
