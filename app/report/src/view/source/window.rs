//! Which lines of a file are shown for a region.

use fathomp_analysis::Lines;

/// Lines shown of a region.
const SHOWN_MAX: usize = 80;
/// Lines added at an end of a region because they belong to it.
const ADDED_MAX: usize = 3;

/// First and last line of the region with what its code does not tell: earlier lines
/// of a directive that goes on, and lines that only close what was opened. None if
/// the file has no such lines.
pub(super) fn widen(text: &str, lines: &Lines) -> Option<(u32, u32)> {
    let before = lines.first.checked_sub(1)? as usize;
    let above: Vec<&str> = text.lines().take(before + 1).collect();
    let (_, above) = above.split_last().filter(|_| above.len() == before + 1)?;
    let earlier = above
        .iter()
        .rev()
        .take(ADDED_MAX)
        .take_while(|line| goes_on(line))
        .count();
    let mut below = text.lines().skip(before);
    let length = (lines.last.max(lines.first) - before as u32) as usize;
    let own: Vec<&str> = below.by_ref().take(length).collect();
    let margin = own.iter().filter_map(|line| indent(line)).min();
    let later = if own.len() == length {
        below
            .take(ADDED_MAX)
            .take_while(|line| closes(line, margin.unwrap_or(0)))
            .count()
    } else {
        0
    };
    let first = lines.first - earlier as u32;
    Some((first, (before + own.len() + later) as u32))
}

/// White space before a line that is code: neither empty nor a directive.
fn indent(line: &str) -> Option<usize> {
    let code = line.trim_start();
    let is_code = !code.is_empty() && !code.starts_with(['#', '!']);
    is_code.then(|| line.len() - code.len())
}

/// A line of a directive that the next line continues.
fn goes_on(line: &str) -> bool {
    let line = line.trim();
    let fortran = line.starts_with("!$") && line.ends_with('&');
    fortran || line.starts_with('#') && line.ends_with('\\')
}

/// A line that only ends something, and not what is around code indented by `margin`.
fn closes(line: &str, margin: usize) -> bool {
    let inside = indent(line).is_some_and(|indent| indent >= margin);
    let line = line.trim().to_ascii_lowercase();
    let braces = line.starts_with('}') && line.chars().all(|letter| "}); \t".contains(letter));
    let loops = ["end do", "enddo"].iter().any(|end| {
        line.strip_prefix(end)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '!']))
    });
    inside && (braces || loops) || line.starts_with("!$omp end")
}

/// The lines shown, ascending: all if there is room, else as many around each of
/// `noted` as fit. All of `noted` lie between `from` and `to`.
pub(super) fn shown(from: u32, to: u32, noted: &[u32]) -> Vec<u32> {
    if (to.saturating_sub(from) as usize) < SHOWN_MAX {
        return (from..=to).collect();
    }
    let noted = &noted[..noted.len().min(SHOWN_MAX)];
    let around = |reach: u32| -> Vec<u32> {
        let mut lines: Vec<u32> = noted
            .iter()
            .flat_map(|line| {
                line.saturating_sub(reach).max(from)..=line.saturating_add(reach).min(to)
            })
            .collect();
        lines.sort_unstable();
        lines.dedup();
        lines
    };
    let mut best = around(0);
    for reach in 1..SHOWN_MAX as u32 {
        let more = around(reach);
        if more.len() > SHOWN_MAX {
            break;
        }
        best = more;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    fn widened(text: &str, first: u32, last: u32) -> Option<(u32, u32)> {
        let lines = Lines {
            file: String::new(),
            first,
            last,
        };
        widen(text, &lines)
    }

    #[test]
    fn what_belongs_to_a_region_is_shown_with_it() {
        let c = "int x;\n#pragma omp parallel \\\n    private(x)\n{\n  x = 1;\n }\n}\nreturn;\n}\n";
        assert_eq!(widened(c, 3, 5), Some((2, 7)));
        assert_eq!(widened(c, 2, 5), Some((2, 7)));
        let one = "{\n  for (;;) {\n#pragma omp parallel\n#pragma omp single\n    {\n      x;\n    }\n  }\n}\n";
        assert_eq!(widened(one, 3, 6), Some((3, 7)));
        let fortran = "!$omp parallel do &\n!$omp private(k)\ndo i = 1, n\nend do\n!$omp end parallel do\nend\n";
        assert_eq!(widened(fortran, 2, 3), Some((1, 5)));
    }

    #[test]
    fn files_that_are_shorter_than_they_were() {
        assert_eq!(widened("a\nb\nc", 2, 9), Some((2, 3)));
        assert_eq!(widened("a\nb\nc", 3, 3), Some((3, 3)));
        assert_eq!(widened("a\nb\nc", 4, 9), None);
        assert_eq!(widened("", 1, 1), None);
        assert_eq!(widened("a", 0, 0), None);
        assert_eq!(widened("a\nb", 2, 1), Some((2, 2)));
        assert_eq!(widened("a\nb", u32::MAX, u32::MAX), None);
    }

    #[test]
    fn long_regions_show_what_is_around_notes() {
        assert_eq!(shown(3, 5, &[]), [3, 4, 5]);
        assert_eq!(shown(1, 80, &[1]).len(), 80);
        let lines = shown(1, 200, &[1, 150]);
        assert!(lines.len() <= 80 && lines.len() > 60, "{}", lines.len());
        assert!(lines.contains(&1) && lines.contains(&149) && lines.contains(&151));
        assert!(!lines.contains(&100));
        let all: Vec<u32> = (1..=200).collect();
        assert_eq!(shown(1, 200, &all).len(), 80);
        assert!(shown(1, 200, &[]).is_empty());
    }
}
