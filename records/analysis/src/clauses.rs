//! Reductions of a region, and constructs that one thread alone runs, as its source writes them.
//!
//! A recording does not tell a thread that is late because of a `single` construct from one
//! that has more work. What threads combine at the end of a loop goes through the same lock as critical sections
//! and atomic updates, so a recording alone does not tell which of them threads wait for.

use crate::facts::Lines;
use std::fs;

/// Larger files are no source that is looked into.
const BYTES_MAX: u64 = 16 << 20;

/// The reductions of a region.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reductions {
    /// The variables, without the sections of arrays that are meant, in order.
    pub names: Vec<String>,
    /// Directives that have some, which each thread passes once in each execution of them.
    pub directives: u64,
    /// The region also has critical sections, atomic updates or locks.
    pub has_mutexes: bool,
}

/// The reductions of the region on these lines; none if it has none or the source is not
/// there.
#[must_use]
pub fn reductions(lines: &Lines) -> Option<Reductions> {
    let text = text_of(lines)?;
    Some(of(text.lines())).filter(|found| found.directives > 0)
}

/// The first construct on these lines that one thread alone runs: `single`, `master` or
/// `masked`; none if there is none or the source is not there.
#[must_use]
pub fn serial_construct(lines: &Lines) -> Option<&'static str> {
    serial(text_of(lines)?.lines())
}

fn serial<'a>(lines: impl Iterator<Item = &'a str>) -> Option<&'static str> {
    lines.into_iter().find_map(|line| {
        let line = cased(line);
        let first = directive(&line)?.split(|c: char| !c.is_alphanumeric());
        let first = first.into_iter().find(|word| !word.is_empty())?;
        let names = ["single", "master", "masked"];
        names.into_iter().find(|name| *name == first)
    })
}

/// The source on these lines, if it can be read.
fn text_of(lines: &Lines) -> Option<String> {
    let small = fs::metadata(&lines.file).is_ok_and(|found| found.len() <= BYTES_MAX);
    let text = fs::read(&lines.file).ok().filter(|_| small)?;
    let text = String::from_utf8_lossy(&text);
    let first = usize::try_from(lines.first).ok()?.checked_sub(1)?;
    let count = usize::try_from(lines.last.checked_sub(lines.first)?).ok()? + 1;
    let lines: Vec<_> = text.lines().skip(first).take(count).collect();
    Some(lines.join("\n"))
}

fn of<'a>(lines: impl Iterator<Item = &'a str>) -> Reductions {
    let mut found = Reductions::default();
    let mut lines = lines.peekable();
    while let Some(line) = lines.next() {
        let line = cased(line);
        let Some(directive) = directive(&line) else {
            found.has_mutexes |=
                line.contains("omp_set_lock") || line.contains("omp_set_nest_lock");
            continue;
        };
        let mut all = directive.trim_end().to_owned();
        // Continued lines: `\` in C, `&` in Fortran.
        while let Some(shorter) = all.strip_suffix(['\\', '&'])
            && let Some(next) = lines.next()
        {
            let next = match line.starts_with('#') {
                true => next.to_owned(),
                false => next.to_lowercase(),
            };
            let next = next
                .trim()
                .trim_start_matches("!$omp")
                .trim_start_matches('&');
            all = format!("{} {}", shorter.trim_end(), next.trim());
        }
        let first = all.split_whitespace().next().unwrap_or_default();
        found.has_mutexes |= first.starts_with("critical") || first.starts_with("atomic");
        let names = clauses(&all);
        found.directives += u64::from(!names.is_empty());
        for name in names {
            if !found.names.contains(&name) {
                found.names.push(name);
            }
        }
    }
    found
}

/// A line as it is compared: directives of Fortran may be written in capitals.
fn cased(line: &str) -> String {
    let line = line.trim_start();
    match line.starts_with(['!', 'c', 'C', '*']) {
        true => line.to_lowercase(),
        false => line.to_owned(),
    }
}

/// What follows `#pragma omp` or `!$omp` on a line.
fn directive(line: &str) -> Option<&str> {
    let line = line.trim_start();
    if let Some(rest) = line.strip_prefix("!$omp").or(line.strip_prefix("c$omp")) {
        return Some(rest.trim_start_matches('&'));
    }
    let rest = line
        .strip_prefix('#')?
        .trim_start()
        .strip_prefix("pragma")?;
    rest.trim_start().strip_prefix("omp")
}

/// The variables in the `reduction` clauses of a directive.
fn clauses(directive: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = directive;
    while let Some(at) = rest.find("reduction") {
        let before = rest[..at].chars().next_back();
        rest = &rest[at + "reduction".len()..];
        let word = |c: char| c.is_alphanumeric() || c == '_';
        let Some(list) = rest.trim_start().strip_prefix('(') else {
            continue;
        };
        if before.is_some_and(word) {
            continue;
        }
        let mut depth = 1_usize;
        let mut name = String::new();
        for c in list.chars() {
            match c {
                '(' | '[' => depth += 1,
                ')' | ']' => depth -= 1,
                // Behind the operator.
                ':' if depth == 1 => name.clear(),
                ',' if depth == 1 => names.push(std::mem::take(&mut name)),
                _ if depth == 1 && !c.is_whitespace() => name.push(c),
                _ => {}
            }
            if depth == 0 {
                break;
            }
        }
        names.push(name);
    }
    // `reduction(inscan, +: x)`: a modifier is no variable.
    names
        .retain(|name| !name.is_empty() && !["inscan", "task", "default"].contains(&name.as_str()));
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> (Vec<String>, u64, bool) {
        let found = of(text.lines());
        (found.names, found.directives, found.has_mutexes)
    }

    #[test]
    fn clauses_of_c_and_fortran() {
        let list = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(
            names(
                "  #pragma omp parallel for reduction(+ : Hist[0:n], sum) \\\n  reduction(max:Top)\nfor (;;)"
            ),
            (list(&["Hist", "sum", "Top"]), 1, false)
        );
        assert_eq!(
            names(
                "!$OMP PARALLEL DO REDUCTION(+:amat) &\n!$OMP& REDUCTION(MAX:b) PRIVATE(j)\ndo i"
            ),
            (list(&["amat", "b"]), 1, false)
        );
        assert_eq!(
            names(
                "# pragma omp parallel\n#pragma omp for reduction(inscan, mine: x)\n#pragma omp critical (a)"
            ),
            (list(&["x"]), 1, true)
        );
        assert_eq!(
            names("#pragma omp parallel\n// reduction(+:a)"),
            (list(&[]), 0, false)
        );
        assert_eq!(names("#pragma omp task in_reduction(+:a)").1, 0);
        assert_eq!(names("#pragma omp for reduction(+:"), (list(&[]), 0, false));
    }

    #[test]
    fn constructs_of_one_thread_are_found() {
        let found = |text: &str| serial(text.lines());
        let text = "#pragma omp parallel\n{\n  # pragma omp single nowait\n";
        assert_eq!(found(text), Some("single"));
        assert_eq!(
            found("!$OMP MASTER\nx = 1\n!$OMP END MASTER"),
            Some("master")
        );
        assert_eq!(found("#pragma omp masked filter(1)"), Some("masked"));
        assert_eq!(found("#pragma omp parallel for\nint single;"), None);
        assert_eq!(found("// #pragma omp single"), None);
    }
}
