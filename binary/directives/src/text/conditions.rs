//! Preprocessor lines: which parts of a file count, and what it defines.
//!
//! Nothing is included and no macro is expanded. Of the branches of a condition one is
//! chosen, so that a grammar sees whole statements: the one whose condition is true; if
//! that depends on what the file does not say, the first one with an OpenMP directive; the
//! one that remains if names that the file does not define are not defined.

use super::macros::Macros;

/// A preprocessor line with those that continue it.
#[derive(Clone, Debug)]
pub(crate) struct Line<'a> {
    /// First byte, at `#`.
    pub(crate) start: usize,
    /// Byte behind the last, without the end of the line.
    pub(crate) end: usize,
    /// Its word, such as `define`.
    pub(crate) word: &'a str,
    /// What stands behind that.
    pub(crate) rest: &'a str,
    /// Whether it is an OpenMP directive.
    pub(crate) omp: bool,
}

/// Names that are defined whatever a file says.
const DEFINED: [(&str, i64); 7] = [
    ("_OPENMP", 201_511),
    ("__GNUC__", 12),
    ("__GNUC_MINOR__", 2),
    ("__linux__", 1),
    ("__unix__", 1),
    ("__x86_64__", 1),
    ("__STDC__", 1),
];

/// What counts.
#[derive(Debug, Default)]
pub(crate) struct Chosen {
    /// Bytes that do not count, in order.
    pub(crate) left_out: Vec<(usize, usize)>,
    /// For each line, whether it counts.
    pub(crate) counts: Vec<bool>,
}

/// Chooses branches and collects what is defined.
pub(crate) fn choose(lines: &[Line<'_>], length: usize, macros: &mut Macros) -> Chosen {
    let branches = branches(lines);
    let mut chosen = Chosen::default();
    // Of each open condition: the line that begins its chosen branch, and whether all
    // around it counts.
    let mut open: Vec<(Option<usize>, bool)> = Vec::new();
    let mut counts = true;
    let mut since = 0;
    for (index, line) in lines.iter().enumerate() {
        let before = counts;
        match line.word {
            "if" | "ifdef" | "ifndef" => {
                let choice = counts
                    .then(|| pick(&branches[index], lines, macros))
                    .flatten();
                open.push((choice, counts));
                counts &= choice == Some(index);
            }
            "elif" | "else" | "elifdef" | "elifndef" => {
                if let Some((choice, around)) = open.last() {
                    counts = *around && *choice == Some(index);
                }
            }
            "endif" => {
                if let Some((_, around)) = open.pop() {
                    counts = around;
                }
            }
            "define" if counts => macros.define(line.rest),
            "undef" if counts => macros.undefine(line.rest.trim()),
            _ => {}
        }
        chosen.counts.push(before && counts);
        match (before, counts) {
            (true, false) => since = line.start,
            (false, true) => chosen.left_out.push((since, line.start)),
            _ => {}
        }
    }
    if !counts {
        chosen.left_out.push((since, length));
    }
    chosen
}

/// For each line that begins a condition, the lines that begin its branches, with whether
/// they hold directives.
fn branches(lines: &[Line<'_>]) -> Vec<Vec<(usize, bool)>> {
    let mut all = vec![Vec::new(); lines.len()];
    let mut open: Vec<usize> = Vec::new();
    for (index, line) in lines.iter().enumerate() {
        match line.word {
            "if" | "ifdef" | "ifndef" => {
                open.push(index);
                all[index].push((index, false));
            }
            "elif" | "else" | "elifdef" | "elifndef" => {
                if let Some(first) = open.last() {
                    all[*first].push((index, false));
                }
            }
            "endif" => {
                open.pop();
            }
            _ if line.omp => {
                for first in &open {
                    if let Some(branch) = all[*first].last_mut() {
                        branch.1 = true;
                    }
                }
            }
            _ => {}
        }
    }
    all
}

fn pick(branches: &[(usize, bool)], lines: &[Line<'_>], macros: &Macros) -> Option<usize> {
    let sure = branches.iter().find(
        |(index, omp)| match condition(&lines[*index], macros, None) {
            Some(value) => value != 0,
            None => *omp,
        },
    );
    let likely = || {
        branches.iter().find(|(index, _)| {
            let line = &lines[*index];
            line.word == "else" || condition(line, macros, Some(0)).is_some_and(|value| value != 0)
        })
    };
    sure.or_else(likely).map(|(index, _)| *index)
}

/// The value of a condition; names that are not defined have the value `unknown`. An
/// `else` has none.
fn condition(line: &Line<'_>, macros: &Macros, unknown: Option<i64>) -> Option<i64> {
    let text = match line.word {
        "ifdef" | "elifdef" => format!("defined {}", first_word(line.rest)),
        "ifndef" | "elifndef" => format!("!defined {}", first_word(line.rest)),
        "else" => return None,
        _ => line.rest.replace("\\\r\n", " ").replace("\\\n", " "),
    };
    let text = match text.find("/*").or_else(|| text.find("//")) {
        Some(at) => &text[..at],
        None => &text,
    };
    let built_in = |name: &str| {
        let known = DEFINED.iter().find(|(known, _)| *known == name);
        known.map(|(_, value)| *value)
    };
    super::macros::evaluate(text, &mut |name| {
        if let Some(name) = name.strip_prefix("defined ") {
            let known = macros.get(name).is_some() || built_in(name).is_some();
            return if known { Some(1) } else { unknown };
        }
        let known = macros.value(name).or_else(|| built_in(name));
        known.or_else(|| {
            if macros.get(name).is_some() {
                None
            } else {
                unknown
            }
        })
    })
}

fn first_word(text: &str) -> &str {
    text.split_whitespace().next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The letters that remain; `!` stands for a directive.
    fn left(source: &str) -> String {
        let mut lines = Vec::new();
        let mut at = 0;
        for text in source.split('\n') {
            if let Some(rest) = text.strip_prefix('#') {
                let (word, rest) = rest.split_once(' ').unwrap_or((rest, ""));
                let omp = word == "pragma";
                let (start, end) = (at, at + text.len());
                lines.push(Line {
                    start,
                    end,
                    word,
                    rest,
                    omp,
                });
            }
            at += text.len() + 1;
        }
        let chosen = choose(&lines, source.len(), &mut Macros::default());
        let mut bytes = source.as_bytes().to_vec();
        for (start, end) in chosen.left_out {
            super::super::blank(&mut bytes[start..end]);
        }
        let text = String::from_utf8(bytes).unwrap();
        let kept = text.split('\n').filter(|line| !line.starts_with('#'));
        kept.collect::<String>().replace(' ', "")
    }

    #[test]
    fn one_branch_remains() {
        for (source, expected) in [
            ("a\n#ifdef X\nb\n#else\nc\n#endif\nd", "acd"),
            ("#ifndef H\n#define H\nb\n#endif\nd", "bd"),
            ("#ifdef X\nb\n#pragma omp\n#else\nc\n#endif", "b"),
            ("#ifdef X\nb\n#else\n#pragma omp\nc\n#endif", "c"),
            ("#if 0\nb\n#pragma omp\n#endif\nc", "c"),
            (
                "#define N 3\n#if N > 2\nb\n#elif N > 1\nc\n#else\nd\n#endif",
                "b",
            ),
            ("#if defined(_OPENMP) && !X\nb\n#else\nc\n#endif", "b"),
            (
                "#ifdef X\n#ifdef Y\na\n#endif\nb\n#else\nc\n#endif\nd",
                "cd",
            ),
            ("#endif\na\n#else\nb", "ab"),
            ("a\n#ifdef X\nb", "a"),
        ] {
            assert_eq!(left(source), expected, "{source}");
        }
    }
}
