//! Finding a directive in the lines of a source, and adding clauses to it.

use super::Edit;
use fathomp_regions::Language;

/// Lines around the one that debugging information names in which the directive is looked
/// for.
const NEAR: usize = 4;
/// Columns of a line in fixed form, and in free form.
const FIXED_COLUMNS: usize = 72;
const FREE_COLUMNS: usize = 132;

/// A directive with its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Index of its first line.
    from: usize,
    /// Lines, continuations included.
    lines: usize,
    /// Its text without sentinels and continuation marks, in lower case.
    text: String,
    language: Language,
}

impl Found {
    /// The parallel directive at `line` (from 1 on), or right before or behind it.
    pub(super) fn near(lines: &[&str], line: usize, language: Language) -> Option<Self> {
        let at = line.checked_sub(1)?;
        let before = (0..=NEAR).filter_map(|back| at.checked_sub(back));
        let behind = (1..=2).map(|ahead| at + ahead);
        before
            .chain(behind)
            .filter_map(|from| Self::at(lines, from, language))
            .find(|found| {
                let reaches = found.from + found.lines + 2 > at;
                reaches
                    && found
                        .text
                        .split_whitespace()
                        .any(|word| word.starts_with("parallel"))
            })
    }

    fn at(lines: &[&str], from: usize, language: Language) -> Option<Self> {
        let first = rest(lines.get(from)?, language)?;
        let mut text = first.to_lowercase();
        let mut count = 1;
        while continues(lines, from + count, language) {
            let next = lines.get(from + count)?;
            let more = match fortran(language) {
                true => rest(next, language)?,
                false => next.trim(),
            };
            text.push(' ');
            text.push_str(&more.trim_start_matches('&').to_lowercase());
            count += 1;
        }
        let text = text.replace(['\\', '&'], " ");
        (!text.trim_start().starts_with("end")).then_some(Self {
            from,
            lines: count,
            text,
            language,
        })
    }

    /// Whether it has a clause of that name.
    pub(super) fn has(&self, clause: &str) -> bool {
        let text = &self.text;
        text.match_indices(clause).any(|(at, _)| {
            let before = text[..at].chars().next_back();
            let after = text[at + clause.len()..].trim_start();
            let word = |letter: char| letter.is_alphanumeric() || letter == '_';
            !before.is_some_and(word) && after.starts_with('(')
        })
    }

    /// The same with `clauses` at its end.
    pub(super) fn with(&self, lines: &[&str], clauses: &str) -> Edit {
        let last = self.from + self.lines - 1;
        let old = lines[last];
        let (code, comment) = split_comment(old, self.language);
        let with = match self.language {
            Language::C | Language::Cpp => {
                let space = if comment.is_empty() { "" } else { " " };
                vec![format!("{} {clauses}{space}{comment}", code.trim_end())]
            }
            Language::FortranFree => {
                let joined = format!("{} {clauses}", code.trim_end());
                match joined.chars().count() <= FREE_COLUMNS {
                    true => vec![match comment.is_empty() {
                        true => joined,
                        false => format!("{joined} {comment}"),
                    }],
                    false => vec![
                        format!("{} &", code.trim_end()),
                        format!("!$omp& {clauses}"),
                    ],
                }
            }
            Language::FortranFixed => {
                let joined = format!("{} {clauses}", code.trim_end());
                match joined.chars().count() <= FIXED_COLUMNS {
                    true => vec![joined],
                    false => vec![old.to_owned(), format!("!$omp& {clauses}")],
                }
            }
        };
        Edit {
            from: last,
            lines: 1,
            with,
        }
    }
}

fn fortran(language: Language) -> bool {
    matches!(language, Language::FortranFree | Language::FortranFixed)
}

/// What follows the sentinel of a directive.
fn rest(line: &str, language: Language) -> Option<&str> {
    let line = line.trim_start();
    if fortran(language) {
        let sentinel = line.get(..5)?.to_ascii_lowercase();
        return matches!(&sentinel[..], "!$omp" | "c$omp" | "*$omp").then(|| &line[5..]);
    }
    let line = line.strip_prefix('#')?.trim_start();
    let line = line.strip_prefix("pragma")?.trim_start();
    line.strip_prefix("omp")
}

/// Whether the line at `at` continues the directive before it.
fn continues(lines: &[&str], at: usize, language: Language) -> bool {
    let Some(before) = at.checked_sub(1).and_then(|before| lines.get(before)) else {
        return false;
    };
    match language {
        Language::C | Language::Cpp => before.trim_end().ends_with('\\') && at < lines.len(),
        Language::FortranFree => {
            let code = split_comment(before, language).0;
            code.trim_end().ends_with('&')
                && lines
                    .get(at)
                    .is_some_and(|line| rest(line, language).is_some())
        }
        Language::FortranFixed => lines.get(at).is_some_and(|line| {
            let mark = rest(line, language).and_then(|rest| rest.chars().next());
            mark.is_some_and(|mark| mark != ' ' && mark != '0')
        }),
    }
}

/// The line up to a comment at its end, and the comment.
fn split_comment(line: &str, language: Language) -> (&str, &str) {
    let at = match language {
        Language::C | Language::Cpp => line.find("//").or_else(|| line.find("/*")),
        // The sentinel begins with the mark of a comment.
        _ => line
            .char_indices()
            .skip(1)
            .find(|(at, letter)| *letter == '!' && !line[*at..].starts_with("!$"))
            .map(|(at, _)| at),
    };
    match at {
        Some(at) => line.split_at(at),
        None => (line, ""),
    }
}
