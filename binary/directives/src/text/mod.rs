//! Sources before they are parsed: what no grammar should see is blanked or rewritten, so
//! that every line stays where it is.
//!
//! Directives are preprocessor lines or comments, which grammars allow nearly anywhere and
//! attach to nothing. Here they become statements: a label in C, whose statement is what
//! the directive applies to, and a call in Fortran.

pub(crate) mod c;
pub(crate) mod conditions;
pub(crate) mod directive;
pub(crate) mod fixed;
pub(crate) mod fortran;
pub(crate) mod macros;

use fathomp_regions::{Directive, Place};
use macros::Macros;

/// The label that stands in the place of a directive in C.
pub(crate) const LABEL: &str = "omp_:";
/// The name of the subroutine that is called in the place of a directive in Fortran.
pub(crate) const CALLED: &str = "o_";

/// A source that can be parsed.
#[derive(Debug, Default)]
pub(crate) struct Prepared {
    /// The text for the grammar.
    pub(crate) text: String,
    /// Where it came from.
    pub(crate) lines: LineMap,
    /// Directives in order.
    pub(crate) directives: Vec<Marked>,
    /// Macros of the file.
    pub(crate) macros: Macros,
    /// Lines with directives that are not read.
    pub(crate) unread: Vec<(u32, u32)>,
    /// Sentences about what is not read.
    pub(crate) problems: Vec<String>,
}

/// A directive and what stands in its place.
#[derive(Clone, Debug)]
pub(crate) struct Marked {
    /// The directive, its name `end ...` if it ends another one.
    pub(crate) directive: Directive,
    /// First byte of what stands in its place, or would.
    pub(crate) at: u32,
    /// Its last line.
    pub(crate) last_line: u32,
}

/// Lines of a text, by bytes.
#[derive(Debug)]
pub(crate) struct LineMap {
    /// First byte of a part, and the line that it comes from.
    starts: Vec<(u32, u32)>,
    /// Whether columns are those of the source.
    pub(crate) exact: bool,
}

impl Default for LineMap {
    fn default() -> Self {
        Self {
            starts: vec![(0, 1)],
            exact: true,
        }
    }
}

impl LineMap {
    /// The lines of a text as it is.
    pub(crate) fn of(text: &str) -> Self {
        let mut starts = vec![(0, 1)];
        let ends = text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        starts.extend(ends.zip(2..).map(|((at, _), line)| (at as u32 + 1, line)));
        Self {
            starts,
            exact: true,
        }
    }

    /// No lines yet, columns as they come.
    pub(crate) fn pieced() -> Self {
        Self {
            starts: Vec::new(),
            exact: false,
        }
    }

    /// From this byte on, the text comes from this line.
    pub(crate) fn push(&mut self, at: usize, line: u32) {
        self.starts.push((at as u32, line));
    }

    /// The line of a byte, from 1 on.
    pub(crate) fn line(&self, at: u32) -> u32 {
        self.part(at).map_or(1, |(_, line)| line)
    }

    /// The place of a byte.
    pub(crate) fn place(&self, file: &str, at: u32) -> Place {
        let (start, line) = self.part(at).unwrap_or((0, 1));
        Place {
            file: file.to_owned(),
            line,
            column: if self.exact { at - start + 1 } else { 0 },
        }
    }

    fn part(&self, at: u32) -> Option<(u32, u32)> {
        let behind = self.starts.partition_point(|(start, _)| *start <= at);
        self.starts.get(behind.checked_sub(1)?).copied()
    }
}

/// Lines of a text; a last one without an end counts.
pub(crate) fn count_lines(text: &str) -> u32 {
    let ends = text.bytes().filter(|byte| *byte == b'\n').count();
    let open = !text.is_empty() && !text.ends_with('\n');
    u32::try_from(ends + usize::from(open)).unwrap_or(u32::MAX)
}

/// Replaces bytes by blanks, ends of lines excepted.
pub(crate) fn blank(bytes: &mut [u8]) {
    for byte in bytes {
        if *byte != b'\n' {
            *byte = b' ';
        }
    }
}
