//! Fortran in fixed form before it is parsed: turned into free form, a statement a line.

use super::c::preprocessor_lines;
use super::conditions;
use super::directive::{self, Applies};
use super::fortran::{CALL, blank_left_out, without_comment};
use super::macros::Macros;
use super::{CALLED, LineMap, Marked, Prepared};

/// Columns of a line that count, unless the compiler is told otherwise.
const COLUMNS: u32 = 72;
/// Columns for labels and the sign of continuation.
const MARGIN: usize = 6;

/// Prepares a file; of each line, `columns` count (72 if not said, all if 0).
pub(crate) fn prepare(path: &str, text: &str, macros: Macros, columns: Option<u32>) -> Prepared {
    let mut prepared = Prepared {
        lines: LineMap::pieced(),
        macros,
        ..Prepared::default()
    };
    let lines = preprocessor_lines(text, false);
    let chosen = conditions::choose(&lines, text.len(), &mut prepared.macros);
    let mut bytes = text.as_bytes().to_vec();
    blank_left_out(&mut bytes, &lines, &chosen);
    let kept = String::from_utf8_lossy(&bytes);
    let columns = match columns.unwrap_or(COLUMNS) {
        0 => usize::MAX,
        columns => columns as usize,
    };
    let mut converting = Converting {
        path,
        columns,
        prepared: &mut prepared,
        out: String::with_capacity(text.len()),
        statement: None,
        directive: None,
        quote: None,
    };
    for (line, number) in kept.lines().zip(1..) {
        converting.line(line, number);
    }
    converting.end_statement();
    converting.end_directive();
    let out = converting.out;
    prepared.text = out;
    prepared
}

struct Converting<'a> {
    path: &'a str,
    columns: usize,
    prepared: &'a mut Prepared,
    out: String,
    /// Whether the last line of `out` is a statement that may go on, and whether the line
    /// that it ended on was full.
    statement: Option<bool>,
    /// A directive that may go on: first line, last line, text.
    directive: Option<(u32, u32, String)>,
    /// The quote of a string that is open at the end of a line.
    quote: Option<char>,
}

/// A line by its columns.
enum Kind<'a> {
    Comment,
    /// A directive; whether it continues one.
    Directive(bool, &'a str),
    /// A statement: label, text.
    Statement(&'a str, &'a str),
    /// Continues a statement.
    Continuation(&'a str),
}

impl Converting<'_> {
    fn line(&mut self, line: &str, number: u32) {
        let spaced;
        let line = if conditional(line) {
            spaced = format!("  {}", &line[2..]);
            &spaced
        } else {
            line
        };
        let counted = cut(line, self.columns);
        match kind(counted) {
            Kind::Comment => {}
            Kind::Directive(continues, text) => {
                // Comments behind a directive are none of its clauses.
                let text = without_comment(text).trim_end();
                match &mut self.directive {
                    Some((_, last, whole)) if continues => {
                        *last = number;
                        whole.push(' ');
                        whole.push_str(text.trim_end_matches('&'));
                    }
                    _ => {
                        self.end_statement();
                        self.end_directive();
                        self.directive = Some((number, number, text.to_owned()));
                    }
                }
            }
            Kind::Statement(label, text) => {
                self.end_statement();
                self.end_directive();
                self.prepared.lines.push(self.out.len(), number);
                self.out.push_str(label);
                self.out.push(' ');
                self.text(text, counted);
            }
            Kind::Continuation(text) => {
                // What continues no statement may stand behind a directive all the same.
                self.end_directive();
                if self.statement == Some(false) && self.quote.is_none() {
                    self.out.push(' ');
                }
                self.prepared.lines.push(self.out.len(), number);
                self.text(text, counted);
            }
        }
    }

    /// Adds the text of a line without its comment.
    fn text(&mut self, text: &str, line: &str) {
        let mut end = text.len();
        for (at, c) in text.char_indices() {
            match self.quote {
                Some(open) if c == open => self.quote = None,
                Some(_) => {}
                None if matches!(c, '\'' | '"') => self.quote = Some(c),
                None if c == '!' => {
                    end = at;
                    break;
                }
                None => {}
            }
        }
        let full = line.chars().count() >= self.columns && end == text.len();
        if self.quote.is_some() {
            self.out.push_str(&text[..end]);
            // A string that goes on contains the blanks up to the last column.
            if self.columns != usize::MAX {
                let missing = self.columns.saturating_sub(line.chars().count());
                self.out.extend(std::iter::repeat_n(' ', missing));
            }
        } else {
            self.out.push_str(text[..end].trim_end());
        }
        self.statement = Some(full && !text.ends_with(' '));
    }

    fn end_statement(&mut self) {
        if self.statement.take().is_some() {
            self.out.push('\n');
        }
        self.quote = None;
    }

    fn end_directive(&mut self) {
        let Some((first, last, text)) = self.directive.take() else {
            return;
        };
        let at = self.out.len();
        self.prepared.lines.push(at, first);
        let place = self.prepared.lines.place(self.path, at as u32);
        let directive = directive::parse(&text, place);
        let ends = directive.name.starts_with("end ");
        if ends || directive::applies(&directive) != Applies::Alone {
            self.out.push_str(CALL);
            self.out.push_str(CALLED);
        } else {
            // So that no two directives begin at the same byte.
            self.out.push(' ');
        }
        self.out.push('\n');
        self.prepared.directives.push(Marked {
            directive,
            at: at as u32,
            last_line: last,
        });
    }
}

/// The columns of a line that count.
fn cut(line: &str, columns: usize) -> &str {
    match line.char_indices().nth(columns) {
        Some((at, _)) if !line[..at].contains('\t') => &line[..at],
        _ => line,
    }
}

fn kind(line: &str) -> Kind<'_> {
    let trimmed = line.trim_start();
    if trimmed.is_empty() {
        return Kind::Comment;
    }
    if line.starts_with(['c', 'C', '*', '!', 'd', 'D']) {
        let omp = line
            .get(1..5)
            .is_some_and(|word| word.eq_ignore_ascii_case("$omp"));
        return match line.get(5..).and_then(|rest| rest.chars().next()) {
            Some(sign) if omp => {
                let text = &line[5 + sign.len_utf8()..];
                Kind::Directive(!matches!(sign, ' ' | '0' | '\t'), text)
            }
            _ => Kind::Comment,
        };
    }
    // A tab in the margin leads to column 7, or to column 6 in front of a digit.
    if let Some(tab) = line.find('\t').filter(|tab| *tab < MARGIN) {
        let (label, rest) = (&line[..tab], &line[tab + 1..]);
        return match rest.as_bytes().first() {
            Some(b'1'..=b'9') if label.trim().is_empty() => Kind::Continuation(&rest[1..]),
            _ => Kind::Statement(label.trim(), rest),
        };
    }
    let margin = line.char_indices().nth(MARGIN - 1);
    let Some((at, sign)) = margin else {
        return if trimmed.starts_with('!') {
            Kind::Comment
        } else {
            Kind::Statement("", trimmed)
        };
    };
    let label = &line[..at];
    let text = &line[at + sign.len_utf8()..];
    let is_label = label.chars().all(|c| c.is_ascii_digit() || c == ' ');
    if label.trim().is_empty() && !matches!(sign, ' ' | '0') {
        Kind::Continuation(text)
    } else if trimmed.starts_with('!') {
        Kind::Comment
    } else if is_label {
        Kind::Statement(label.trim(), text)
    } else {
        // A statement that begins in the margin, against the rules.
        Kind::Statement("", trimmed)
    }
}

/// Whether a line counts only with OpenMP: `!$`, `c$` or `*$`, then blanks and digits
/// only up to column 6.
fn conditional(line: &str) -> bool {
    let bytes = line.as_bytes();
    matches!(bytes.first(), Some(b'c' | b'C' | b'*' | b'!'))
        && bytes.get(1) == Some(&b'$')
        && bytes.len() > MARGIN
        && bytes[2..MARGIN - 1]
            .iter()
            .all(|b| b.is_ascii_digit() || *b == b' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn converted(text: &str) -> (String, Prepared) {
        let prepared = prepare("a.f", text, Macros::default(), None);
        (prepared.text.clone(), prepared)
    }

    #[test]
    fn statements_become_lines() {
        let text = "C a comment\n      program p\n\tx = 1\n      a(i) = b +\n     &       c ! why\n   10 continue\n      s = 'it''s\n     1 long'\nc$    y = 2\n";
        let (out, prepared) = converted(text);
        let lines: Vec<&str> = out.lines().map(str::trim).collect();
        assert_eq!(lines[0], "program p");
        assert_eq!(lines[1], "x = 1");
        assert_eq!(lines[2].replace(' ', ""), "a(i)=b+c");
        assert_eq!(lines[3], "10 continue");
        assert!(lines[4].starts_with("s = 'it''s") && lines[4].ends_with(" long'"));
        assert_eq!(lines[5], "y = 2");
        let at = |word: &str| prepared.lines.line(out.find(word).unwrap() as u32);
        assert_eq!(
            (at("program"), at("b +"), at("c\n"), at("10 "), at("y =")),
            (2, 4, 5, 6, 9)
        );
    }

    #[test]
    fn directives_are_found_by_every_sentinel() {
        let text = "c$omp parallel do\nC$OMP& private(j)\n      do i = 1, n\n      end do\n*$omp end parallel do\n!$OMP BARRIER\n!$omp atomic\n      x = x + 1\n      end\n";
        let (out, prepared) = converted(text);
        let found: Vec<_> = prepared
            .directives
            .iter()
            .map(|m| {
                (
                    m.directive.name.as_str(),
                    m.directive.place.line,
                    m.last_line,
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("parallel do", 1, 2),
                ("end parallel do", 5, 5),
                ("barrier", 6, 6),
                ("atomic", 7, 7)
            ]
        );
        assert_eq!(out.matches("call o_").count(), 3);
    }

    #[test]
    fn a_continuation_of_nothing_comes_behind_the_directive_above_it() {
        let (out, prepared) = converted("c$omp parallel do\n     & x\n");
        let at = |word: &str| prepared.lines.line(out.find(word).unwrap() as u32);
        assert_eq!((at("call"), at("x")), (1, 2));
        assert_eq!(prepared.directives[0].last_line, 1);
    }

    #[test]
    fn columns_beyond_the_last_are_no_text() {
        let text = format!("      x = 1{}SEQ00010\n", " ".repeat(61));
        assert_eq!(converted(&text).0.trim(), "x = 1");
        let all = prepare("a.f", &text, Macros::default(), Some(0));
        assert!(all.text.contains("SEQ"));
    }
}
