//! C and C++ before they are parsed.

use super::conditions::{self, Line};
use super::directive::{self, Applies};
use super::macros::Macros;
use super::{LABEL, LineMap, Marked, Prepared, blank, count_lines};

/// Prepares a file; `path` is what places name, `macros` what is defined from outside.
pub(crate) fn prepare(path: &str, text: &str, macros: Macros) -> Prepared {
    let mut prepared = Prepared {
        lines: LineMap::of(text),
        macros,
        ..Prepared::default()
    };
    let lines = preprocessor_lines(text, true);
    let chosen = conditions::choose(&lines, text.len(), &mut prepared.macros);
    let mut bytes = text.as_bytes().to_vec();
    let mut inline = inline_pragmas(text, &lines);
    inline.retain(|(start, ..)| {
        let outside = |(from, to): &(usize, usize)| start < from || start >= to;
        chosen.left_out.iter().all(outside)
    });
    for (start, end) in &chosen.left_out {
        blank(&mut bytes[*start..*end]);
    }
    for (line, counts) in lines.iter().zip(&chosen.counts) {
        blank(&mut bytes[line.start..line.end]);
        let first = prepared.lines.line(line.start as u32);
        let last = first + count_lines(&text[line.start..line.end]).saturating_sub(1);
        if line.omp && !counts {
            prepared.unread.push((first, last));
        } else if line.omp {
            let text = omp(line.rest).unwrap_or("");
            mark(&mut prepared, &mut bytes, path, (line.start, last), text);
        } else if *counts && line.word == "define" && line.rest.contains("_Pragma") {
            let name = line.rest.split(['(', ' ', '\t']).find(|w| !w.is_empty());
            prepared.unread.push((first, last));
            prepared.problems.push(format!(
                "{path}:{first}: a directive in the macro `{}` is not read",
                name.unwrap_or("")
            ));
        }
    }
    for (start, end, text) in inline {
        blank(&mut bytes[start..end]);
        if let Some(text) = omp(&text) {
            let line = prepared.lines.line(start as u32);
            mark(&mut prepared, &mut bytes, path, (start, line), text);
        }
    }
    prepared.directives.sort_by_key(|marked| marked.at);
    // Only whole characters were replaced, by blanks.
    prepared.text = String::from_utf8_lossy(&bytes).into_owned();
    prepared
}

/// Puts the label for a directive into its place.
fn mark(
    prepared: &mut Prepared,
    bytes: &mut [u8],
    path: &str,
    (start, last_line): (usize, u32),
    text: &str,
) {
    let place = prepared.lines.place(path, start as u32);
    let directive = directive::parse(text, place);
    if directive::applies(&directive) != Applies::Alone
        && let Some(room) = bytes.get_mut(start..start + LABEL.len())
    {
        room.copy_from_slice(LABEL.as_bytes());
    }
    prepared.directives.push(Marked {
        directive,
        at: start as u32,
        last_line,
    });
}

/// What stands behind `omp` in a pragma.
pub(crate) fn omp(text: &str) -> Option<&str> {
    let rest = text.trim_start().strip_prefix("omp")?;
    let ends = rest.chars().next().is_none_or(char::is_whitespace);
    ends.then_some(rest)
}

/// The preprocessor lines of a text; in C, none inside comments.
pub(crate) fn preprocessor_lines(text: &str, comments: bool) -> Vec<Line<'_>> {
    let bytes = text.as_bytes();
    let mut lines = Vec::new();
    let mut in_comment = false;
    let mut at = 0;
    while at < bytes.len() {
        let mut end = line_end(bytes, at);
        let first = at + blanks(&bytes[at..end]);
        if !in_comment && bytes.get(first) == Some(&b'#') {
            while end < bytes.len() && continues(&bytes[first..end]) {
                end = line_end(bytes, end + 1);
            }
            if let Some(line) = preprocessor_line(text, first, end) {
                lines.push(line);
            }
        }
        if comments {
            in_comment = ends_in_comment(&bytes[at..end], in_comment);
        }
        at = end + 1;
    }
    lines
}

fn line_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or(&[]);
    at.min(bytes.len())
        + rest
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap_or(rest.len())
}

fn blanks(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|byte| !matches!(byte, b' ' | b'\t' | b'\r' | b'\x0c'))
        .unwrap_or(bytes.len())
}

fn continues(line: &[u8]) -> bool {
    line.strip_suffix(b"\r").unwrap_or(line).ends_with(b"\\")
}

fn preprocessor_line(text: &str, start: usize, end: usize) -> Option<Line<'_>> {
    let content = text.get(start + 1..end)?;
    let content = content.trim_start_matches([' ', '\t']);
    let length = content
        .find(|c: char| !c.is_ascii_alphabetic())
        .unwrap_or(content.len());
    let (word, rest) = content.split_at(length);
    Some(Line {
        start,
        end,
        word,
        rest,
        omp: word == "pragma" && omp(rest).is_some(),
    })
}

/// Whether a comment is open behind `line`.
fn ends_in_comment(line: &[u8], mut in_comment: bool) -> bool {
    let mut at = 0;
    let mut quote = None;
    while at < line.len() {
        let two = &line[at..line.len().min(at + 2)];
        if in_comment {
            if two == b"*/" {
                in_comment = false;
                at += 1;
            }
        } else if let Some(open) = quote {
            if line[at] == b'\\' {
                at += 1;
            } else if line[at] == open || line[at] == b'\n' {
                quote = None;
            }
        } else if two == b"//" {
            at += line[at..]
                .iter()
                .position(|b| *b == b'\n')
                .unwrap_or(line.len());
        } else if two == b"/*" {
            in_comment = true;
            at += 1;
        } else if matches!(line[at], b'"' | b'\'') {
            quote = Some(line[at]);
        }
        at += 1;
    }
    in_comment
}

/// `_Pragma("...")` outside preprocessor lines: first byte, byte behind, text.
fn inline_pragmas(text: &str, lines: &[Line<'_>]) -> Vec<(usize, usize, String)> {
    const WORD: &str = "_Pragma";
    let mut found = Vec::new();
    for (at, _) in text.match_indices(WORD) {
        let before = lines.partition_point(|line| line.start <= at);
        let inside = before.checked_sub(1).and_then(|index| lines.get(index));
        if inside.is_some_and(|line| at < line.end) {
            continue;
        }
        let rest = &text[at + WORD.len()..];
        let Some(open) = rest.trim_start().strip_prefix('(') else {
            continue;
        };
        let Some(quoted) = open.trim_start().strip_prefix('"') else {
            continue;
        };
        let Some(length) = string_end(quoted) else {
            continue;
        };
        let behind = quoted[length + 1..].trim_start();
        if let Some(behind) = behind.strip_prefix(')') {
            let end = text.len() - behind.len();
            let content = quoted[..length].replace("\\\"", "\"");
            found.push((at, end, content));
        }
    }
    found
}

fn string_end(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at),
            b'\n' => return None,
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_become_labels_and_nothing_moves() {
        let text = "#include <x.h>\nint f() {\n  if (x)\n#pragma omp parallel for \\\n    schedule(static)\n  for (;;) ;\n/*\n#pragma omp for\n*/\n#pragma omp barrier\n  _Pragma(\"omp single\") g();\n#pragma once\n}\n";
        let prepared = prepare("a.c", text, Macros::default());
        assert_eq!(prepared.text.len(), text.len());
        assert_eq!(prepared.text.matches(LABEL).count(), 2);
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
                ("parallel for", 4, 5),
                ("barrier", 10, 10),
                ("single", 11, 11)
            ]
        );
        assert!(!prepared.text.contains('#') || prepared.text.contains("/*\n#"));
    }

    #[test]
    fn what_macros_hide_is_said() {
        let text = "#define PAR _Pragma(\"omp parallel\")\nPAR { }\n";
        let prepared = prepare("a.c", text, Macros::default());
        assert_eq!(prepared.unread, [(1, 1)]);
        assert_eq!(prepared.problems.len(), 1);
    }
}
