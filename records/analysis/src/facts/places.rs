//! Where in the source something is.

use serde::Serialize;

/// Where something is in the source, as far as that could be found out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Place {
    /// For people: `solver.c:120 (step)`, `step+0x12 (solver)` or
    /// `0x1234 (solver)`.
    pub label: String,
    /// The same, short: `solver.c:120`, `step+0x12`, `solver+0x1234`.
    pub short: String,
    /// Source file as the compiler named it.
    pub file: Option<String>,
    /// Line in it.
    pub line: Option<u32>,
    /// Column in it.
    pub column: Option<u32>,
    /// Function that contains the construct, demangled.
    pub function: Option<String>,
    /// Bytes from the start of that function, where there is no line.
    pub offset: Option<u64>,
    /// Path of the executable or shared library.
    pub module: String,
    /// Address in it that was looked up.
    pub address: u64,
}

/// Lines of a source file that belong together, at most [`Lines::MOST`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Lines {
    /// The file as the compiler named it, absolute if the compiler said where it ran.
    pub file: String,
    /// The first line; 1 is the first of the file.
    pub first: u32,
    /// The last line, itself included.
    pub last: u32,
}

impl Lines {
    /// More lines than this are cut at their end.
    pub const MOST: u32 = 200;

    /// Whether `place` is one of these lines.
    #[must_use]
    pub fn contain(&self, place: &Place) -> bool {
        let line = place.line.unwrap_or(0);
        place.file.as_ref() == Some(&self.file) && (self.first..=self.last).contains(&line)
    }
}
