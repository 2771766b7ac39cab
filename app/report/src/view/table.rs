//! Tables as data.

use serde::Serialize;

/// A table of the page.
#[derive(Debug, Serialize)]
pub(crate) struct Table {
    /// Its name in links.
    pub(crate) id: String,
    /// A line above it.
    pub(crate) caption: String,
    /// Headings.
    pub(crate) columns: Vec<Column>,
    /// Rows, as first shown.
    pub(crate) rows: Vec<Row>,
    /// The reader may sort it.
    pub(crate) sortable: bool,
}

/// A heading.
#[derive(Debug, Serialize)]
pub(crate) struct Column {
    pub(crate) title: String,
    pub(crate) numeric: bool,
    /// What it means, on hovering.
    pub(crate) hint: &'static str,
}

/// A row.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    pub(crate) id: String,
    pub(crate) cells: Vec<Cell>,
}

/// A cell.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Cell {
    pub(crate) text: String,
    pub(crate) class: &'static str,
    /// What to sort by, where that is not the text.
    pub(crate) sort: Option<f64>,
    pub(crate) hint: String,
    /// Name of the element to jump to.
    pub(crate) link: String,
    /// After a link, less important.
    pub(crate) note: String,
    /// A stacked bar in place of the text, in percent of the cell.
    pub(crate) bars: Vec<MeterBar>,
}

/// Part of a stacked bar in a cell.
#[derive(Debug, Serialize)]
pub(crate) struct MeterBar {
    pub(crate) class: String,
    pub(crate) x: f64,
    pub(crate) w: f64,
    pub(crate) title: String,
}

impl Column {
    pub(crate) fn text(title: impl Into<String>, hint: &'static str) -> Self {
        Self {
            title: title.into(),
            numeric: false,
            hint,
        }
    }

    pub(crate) fn number(title: impl Into<String>, hint: &'static str) -> Self {
        Self {
            title: title.into(),
            numeric: true,
            hint,
        }
    }
}

impl Cell {
    /// The name of a row.
    pub(crate) fn name(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class: "name code",
            ..Self::default()
        }
    }

    /// Words.
    pub(crate) fn words(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class: "words",
            ..Self::default()
        }
    }

    /// `text`, sorted by `value`.
    pub(crate) fn number(value: f64, text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            class: "num",
            sort: Some(if value.is_finite() { value } else { -1.0 }),
            ..Self::default()
        }
    }

    /// No value: shown as a dash and sorted below every number.
    pub(crate) fn nothing() -> Self {
        Self::number(f64::NAN, crate::units::NOTHING)
    }

    pub(crate) fn link(mut self, target: impl Into<String>) -> Self {
        self.link = target.into();
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = hint.into();
        self
    }
}
