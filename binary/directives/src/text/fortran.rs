//! Fortran in free form before it is parsed.

use super::c::preprocessor_lines;
use super::conditions::{self, Chosen, Line};
use super::directive::{self, Applies};
use super::macros::Macros;
use super::{CALLED, LineMap, Marked, Prepared, blank};

/// A call that stands in the place of a directive.
pub(super) const CALL: &str = "call ";

/// Prepares a file; `path` is what places name, `macros` what is defined from outside.
pub(crate) fn prepare(path: &str, text: &str, macros: Macros) -> Prepared {
    let mut prepared = Prepared {
        lines: LineMap::of(text),
        macros,
        ..Prepared::default()
    };
    let lines = preprocessor_lines(text, false);
    let chosen = conditions::choose(&lines, text.len(), &mut prepared.macros);
    let mut bytes = text.as_bytes().to_vec();
    blank_left_out(&mut bytes, &lines, &chosen);
    let kept = String::from_utf8_lossy(&bytes).into_owned();
    let mut bytes = kept.clone().into_bytes();
    // A directive that goes on: first byte, last line, text so far.
    let mut open: Option<(usize, u32, String)> = None;
    let mut at = 0;
    for (line, number) in kept.split_inclusive('\n').zip(1..) {
        let indent = line.len() - line.trim_start().len();
        let start = at + indent;
        let content = line.trim();
        at += line.len();
        if let Some(rest) = sentinel(content) {
            blank(&mut bytes[start..start + content.len()]);
            let rest = without_comment(rest).trim();
            let goes_on = rest.ends_with('&');
            let rest = rest.trim_end_matches('&').trim_start_matches('&');
            let (first, _, mut text) = open.take().unwrap_or((start, number, String::new()));
            text.push(' ');
            text.push_str(rest);
            if goes_on {
                open = Some((first, number, text));
            } else {
                mark(&mut prepared, &mut bytes, path, (first, number), &text);
            }
        } else if conditional(content) {
            blank(&mut bytes[start..start + 2]);
        }
    }
    if let Some((first, last, text)) = open {
        mark(&mut prepared, &mut bytes, path, (first, last), &text);
    }
    bytes.push(b'\n');
    prepared.text = String::from_utf8_lossy(&bytes).into_owned();
    prepared
}

/// Blanks preprocessor lines and what they leave out.
pub(super) fn blank_left_out(bytes: &mut [u8], lines: &[Line<'_>], chosen: &Chosen) {
    for (start, end) in &chosen.left_out {
        blank(&mut bytes[*start..*end]);
    }
    for line in lines {
        blank(&mut bytes[line.start..line.end]);
    }
}

fn mark(
    prepared: &mut Prepared,
    bytes: &mut [u8],
    path: &str,
    (start, last_line): (usize, u32),
    text: &str,
) {
    let place = prepared.lines.place(path, start as u32);
    let directive = directive::parse(text, place);
    let name = &directive.name;
    if name.starts_with("end ") || directive::applies(&directive) != Applies::Alone {
        let call = [CALL, CALLED].concat();
        if let Some(room) = bytes.get_mut(start..start + call.len()) {
            room.copy_from_slice(call.as_bytes());
        }
    }
    prepared.directives.push(Marked {
        directive,
        at: start as u32,
        last_line,
    });
}

/// What stands behind `!$omp`.
fn sentinel(content: &str) -> Option<&str> {
    let rest = content.get(5..)?;
    let is_one = content[..5].eq_ignore_ascii_case("!$omp");
    let ends = rest.starts_with(|c: char| c.is_whitespace() || c == '&');
    (is_one && ends).then_some(rest)
}

/// Whether a line counts only with OpenMP: `!$` and a blank.
fn conditional(content: &str) -> bool {
    content
        .strip_prefix("!$")
        .is_some_and(|rest| rest.starts_with([' ', '\t', '&']))
}

/// A directive without the comment behind it.
pub(super) fn without_comment(text: &str) -> &str {
    text.split('!').next().unwrap_or(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_become_calls_and_nothing_moves() {
        let text = "program p\n  !$omp parallel do &  ! why\n  !$OMP& private(j)\n  do i = 1, n\n  end do\n!$omp barrier\n!$ x = omp_get_wtime()\n!$omp end parallel do\n! $omp do\nend";
        let prepared = prepare("a.f90", text, Macros::default());
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
                ("parallel do", 2, 3),
                ("barrier", 6, 6),
                ("end parallel do", 8, 8)
            ]
        );
        assert_eq!(prepared.directives[0].directive.clauses[0].argument, "j");
        assert_eq!(prepared.text.matches("call o_").count(), 2);
        assert!(prepared.text.contains("\n   x = omp_get_wtime()"));
        assert_eq!(prepared.text.len(), text.len() + 1);
    }
}
