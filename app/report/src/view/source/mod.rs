//! The source lines of a region, with what constructs cost beside them.

mod notes;
mod window;

use super::words;
use crate::{Input, Source};
use fathomp_analysis::{Analysis, Lines, Region};
use notes::{Seen, notes};
use serde::Serialize;
use window::{shown, widen};

/// A line has at most this many characters.
const LINE_CHARS: usize = 300;
/// Characters of all listings of a page together.
const PAGE_CHARS: usize = 256 << 10;
/// File names in a sentence.
const NAMES_MAX: usize = 3;
/// A file's name has at most this many characters.
const NAME_CHARS: usize = 300;

/// Lines of one region.
#[derive(Debug, Serialize)]
pub(crate) struct Listing {
    /// Which lines of which file these are.
    caption: String,
    /// A sentence if the file may not be what was compiled.
    doubt: String,
    rows: Vec<Row>,
}

/// A line, or a gap between lines.
#[derive(Debug, Serialize)]
struct Row {
    /// Line number; empty for a gap.
    number: String,
    text: String,
    notes: Vec<String>,
}

/// Makes the listings of a page, which together are bounded.
pub(crate) struct Listings<'a> {
    input: &'a Input<'a>,
    analysis: &'a Analysis,
    chars_left: usize,
}

impl<'a> Listings<'a> {
    /// None made yet.
    pub(crate) fn new(input: &'a Input<'a>, analysis: &'a Analysis) -> Self {
        Self {
            input,
            analysis,
            chars_left: PAGE_CHARS,
        }
    }

    /// The lines of `region`, if its file is there and the page has room.
    pub(crate) fn of(&mut self, region: &Region) -> Option<Listing> {
        let lines = region.lines.as_ref()?;
        let source = self.input.sources?.get(&lines.file)?;
        let listing = listing(self.input, self.analysis, region, lines, source)?;
        let chars: usize = listing.rows.iter().map(|row| row.text.len()).sum();
        self.chars_left = self.chars_left.checked_sub(chars)?;
        Some(listing)
    }
}

fn listing(
    input: &Input<'_>,
    analysis: &Analysis,
    region: &Region,
    lines: &Lines,
    source: &Source,
) -> Option<Listing> {
    let (from, to) = widen(&source.text, lines)?;
    let inside = Lines {
        file: lines.file.clone(),
        first: from,
        last: to,
    };
    let text: Vec<(u32, &str)> = (1..=to)
        .zip(source.text.lines())
        .skip(from as usize - 1)
        .collect();
    let notes = notes(&Seen {
        analysis,
        region,
        lines: &inside,
        text: &text,
        machine: input.machine,
        scanned: scanned(input, lines),
        advised: advised(input, lines),
    });
    let noted: Vec<u32> = notes.keys().copied().collect();
    let mut rows = Vec::new();
    let mut before = None;
    for number in shown(from, to, &noted) {
        if before.is_some_and(|before| number != before + 1) {
            rows.push(Row {
                number: String::new(),
                text: "…".to_owned(),
                notes: Vec::new(),
            });
        }
        before = Some(number);
        let (_, line) = text.get((number - from) as usize)?;
        let notes = notes.get(&number).into_iter().flatten();
        rows.push(Row {
            number: number.to_string(),
            text: printable(line),
            notes: notes.map(|note| words::bound(note)).collect(),
        });
    }
    let file = words::shorten(&lines.file, NAME_CHARS);
    Some(Listing {
        caption: if from == to {
            format!("Line {from} of {file}")
        } else {
            format!("Lines {from} to {to} of {file}")
        },
        doubt: if source.newer {
            "This file is newer than the program that ran: its lines may have moved.".to_owned()
        } else {
            String::new()
        },
        rows,
    })
}

/// What the scan found of the region that begins at these lines.
fn scanned<'a>(input: &Input<'a>, lines: &Lines) -> Option<&'a fathomp_regions::Region> {
    input.regions?.regions.iter().find(|region| {
        region.body.is_some()
            && region
                .place
                .as_ref()
                .is_some_and(|place| is_at(place, lines))
    })
}

/// What is advised for it.
fn advised<'a>(input: &Input<'a>, lines: &Lines) -> Option<&'a fathomp_advise::RegionAdvice> {
    input.advice?.regions.iter().find(|region| {
        region
            .place
            .as_ref()
            .is_some_and(|place| is_at(place, lines))
    })
}

fn is_at(place: &fathomp_regions::Place, lines: &Lines) -> bool {
    let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
    (lines.first..=lines.last).contains(&place.line) && file(&place.file) == file(&lines.file)
}

/// A sentence on source files that regions name and that were looked for in vain.
pub(crate) fn missing<'a>(
    input: &Input<'_>,
    regions: impl Iterator<Item = &'a Region>,
) -> Option<String> {
    let sources = input.sources?;
    let mut names: Vec<&str> = regions
        .filter_map(|region| Some(region.lines.as_ref()?.file.as_str()))
        .filter(|file| !sources.contains_key(*file))
        .collect();
    names.sort_unstable();
    names.dedup();
    let mut listed: Vec<String> = names
        .iter()
        .take(NAMES_MAX)
        .map(|name| words::shorten(name, NAME_CHARS))
        .collect();
    match names.len() {
        0 => return None,
        many if many > NAMES_MAX => listed.push(format!("{} more", many - NAMES_MAX)),
        _ => {}
    }
    Some(format!(
        "Source lines in {} are not shown: there is no such file of source text here.",
        words::list(&listed)
    ))
}

/// A line as far as it can be shown: cut, and without characters that would change
/// how what is around them looks.
fn printable(line: &str) -> String {
    let mut cut: String = line
        .chars()
        .take(LINE_CHARS)
        .map(|letter| if misleads(letter) { '\u{fffd}' } else { letter })
        .collect();
    if line.chars().nth(LINE_CHARS).is_some() {
        cut.push('…');
    }
    cut.truncate(cut.trim_end().len());
    cut
}

/// Control characters but the tabulator, and those that turn the direction of text
/// or have no width.
fn misleads(letter: char) -> bool {
    letter != '\t'
        && (letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}' | '\u{61c}' | '\u{feff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_lines_are_cut_and_cannot_mislead() {
        assert_eq!(printable("\tint x;  "), "\tint x;");
        assert_eq!(
            printable("a\u{202e}b\u{1b}[31m\0"),
            "a\u{fffd}b\u{fffd}[31m\u{fffd}"
        );
        let long = printable(&"<b>".repeat(1 << 20));
        assert_eq!(long.chars().count(), LINE_CHARS + 1);
        assert!(long.ends_with('…'));
        assert_eq!(
            printable(&"é".repeat(LINE_CHARS)).chars().count(),
            LINE_CHARS
        );
    }
}
