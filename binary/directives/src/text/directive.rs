//! From the text of a directive, without its sentinel, to its names and clauses.

use fathomp_regions::{Clause, Directive, Place};

/// What a directive does to the statements behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Applies {
    /// To nothing: `barrier` and the like.
    Alone,
    /// To the next statement.
    Statement,
    /// To the next loop; Fortran's end directive may be left out.
    Loop,
    /// To what stands until its end directive; in C, to the next statement.
    Block,
}

/// Words that make names of directives, and after which ones (any if none are named).
const WORDS: [(&str, &[&str]); 52] = [
    ("allocate", &[""]),
    ("allocators", &[""]),
    ("assume", &[""]),
    ("assumes", &["", "begin"]),
    ("atomic", &[""]),
    ("barrier", &[""]),
    ("begin", &[""]),
    ("cancel", &[""]),
    ("cancellation", &[""]),
    ("critical", &[""]),
    ("data", &["target"]),
    ("declare", &["", "begin"]),
    ("depobj", &[""]),
    ("dispatch", &[""]),
    ("distribute", &["", "teams"]),
    ("do", &["", "parallel"]),
    ("enter", &["target"]),
    ("error", &[""]),
    ("exit", &["target"]),
    ("flush", &[""]),
    ("for", &["", "parallel"]),
    ("fuse", &[""]),
    ("interchange", &[""]),
    ("interop", &[""]),
    ("loop", &["", "parallel", "teams"]),
    ("mapper", &["declare"]),
    ("masked", &["", "parallel"]),
    ("master", &["", "parallel"]),
    ("metadirective", &["", "begin"]),
    ("nothing", &[""]),
    ("ordered", &[""]),
    ("parallel", &["", "target", "distribute"]),
    ("point", &["cancellation"]),
    ("reduction", &["declare"]),
    ("requires", &[""]),
    ("reverse", &[""]),
    ("scan", &[""]),
    ("scope", &[""]),
    ("section", &[""]),
    ("sections", &["", "parallel"]),
    (
        "simd",
        &[
            "",
            "for",
            "do",
            "taskloop",
            "distribute",
            "target",
            "parallel",
            "declare",
            "ordered",
        ],
    ),
    ("single", &[""]),
    ("target", &["", "declare"]),
    ("task", &[""]),
    ("taskgroup", &[""]),
    ("taskloop", &["", "master", "masked"]),
    ("taskwait", &[""]),
    ("taskyield", &[""]),
    ("teams", &["", "target"]),
    ("threadprivate", &[""]),
    ("tile", &[""]),
    ("unroll", &[""]),
];
/// Further such words.
const MORE_WORDS: [(&str, &[&str]); 4] = [
    ("data", &["enter", "exit"]),
    ("update", &["target"]),
    ("variant", &["declare"]),
    ("workshare", &["", "parallel"]),
];

fn continues(word: &str, last: &str) -> bool {
    let known = WORDS.iter().chain(&MORE_WORDS);
    known
        .filter(|(known, _)| *known == word)
        .any(|(_, after)| after.contains(&last))
}

/// Fortran allows words of a directive to be written as one.
const JOINED: [(&str, &str); 8] = [
    ("paralleldo", "parallel do"),
    ("parallelsections", "parallel sections"),
    ("parallelworkshare", "parallel workshare"),
    ("parallelmaster", "parallel master"),
    ("dosimd", "do simd"),
    ("targetdata", "target data"),
    ("taskloopsimd", "taskloop simd"),
    ("declaresimd", "declare simd"),
];

/// Reads a directive. What it consists of besides its names is kept as clauses; an argument
/// of the directive itself, such as the name of a critical section, is one without a name.
pub(crate) fn parse(text: &str, place: Place) -> Directive {
    let text = text.replace("\\\r\n", " ").replace("\\\n", " ");
    let mut rest = text.trim_start();
    let mut names: Vec<String> = Vec::new();
    loop {
        let length = word_length(rest);
        let word = rest[..length].to_ascii_lowercase();
        if word.is_empty() {
            break;
        }
        // Fortran: `end parallel do`, `endparalleldo`.
        let (end, word) = match word.strip_prefix("end") {
            Some(word) if names.is_empty() => (true, word.to_owned()),
            _ => (false, word),
        };
        let word = JOINED
            .iter()
            .find(|(joined, _)| *joined == word)
            .map_or(word, |(_, apart)| (*apart).to_owned());
        let last = match names.last().map(String::as_str) {
            None | Some("end") => "",
            Some(last) => last,
        };
        let first = word.split(' ').next().unwrap_or("");
        let only_end = end && word.is_empty();
        if !only_end && !continues(first, last) {
            break;
        }
        if end {
            names.push("end".to_owned());
        }
        names.extend(
            word.split(' ')
                .filter(|part| !part.is_empty())
                .map(str::to_owned),
        );
        rest = rest[length..].trim_start();
    }
    Directive {
        name: names.join(" "),
        place,
        clauses: clauses(rest),
    }
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
        .unwrap_or(text.len())
}

fn clauses(mut rest: &str) -> Vec<Clause> {
    let mut clauses = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',');
        if rest.is_empty() || rest.starts_with("//") {
            return clauses;
        }
        if let Some(comment) = rest.strip_prefix("/*") {
            rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
            continue;
        }
        let length = word_length(rest);
        let name = rest[..length].to_ascii_lowercase();
        rest = &rest[length..];
        let behind = rest.trim_start();
        let mut argument = String::new();
        if behind.starts_with('(') {
            let end = closing(behind);
            argument = squeeze(behind[1..end].trim());
            rest = behind.get(end + 1..).unwrap_or("");
        } else if length == 0 {
            // Something that is neither a word nor an argument.
            let first = rest.chars().next().map_or(0, char::len_utf8);
            rest = &rest[first..];
            continue;
        }
        clauses.push(Clause { name, argument });
    }
}

/// The byte of the parenthesis that closes the first one; the end if none does.
fn closing(text: &str) -> usize {
    let mut depth = 0_u32;
    let mut quote = None;
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '(') => depth += 1,
            (None, ')') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// `text` with every run of white space as one blank.
pub(crate) fn squeeze(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for word in text.split_whitespace() {
        if !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
    out
}

/// What a directive applies to.
pub(crate) fn applies(directive: &Directive) -> Applies {
    let name = directive.name.as_str();
    let has = |clause: &str| directive.clauses.iter().any(|found| found.name == clause);
    let words: Vec<&str> = name.split(' ').collect();
    match words[0] {
        "barrier" | "taskwait" | "taskyield" | "flush" | "cancel" | "cancellation"
        | "threadprivate" | "declare" | "requires" | "scan" | "error" | "nothing" | "interop"
        | "depobj" | "allocate" | "begin" | "end" | "assumes" | "metadirective" | "" => {
            Applies::Alone
        }
        "ordered" if has("depend") || has("doacross") => Applies::Alone,
        "target"
            if words
                .iter()
                .any(|word| matches!(*word, "enter" | "exit" | "update")) =>
        {
            Applies::Alone
        }
        "atomic" | "dispatch" | "allocators" => Applies::Statement,
        _ if is_loop(name) => Applies::Loop,
        _ => Applies::Block,
    }
}

/// Whether a directive of this name applies to loops.
pub(crate) fn is_loop(name: &str) -> bool {
    name.split(' ').any(|word| {
        matches!(
            word,
            "for"
                | "do"
                | "simd"
                | "loop"
                | "distribute"
                | "taskloop"
                | "tile"
                | "unroll"
                | "fuse"
                | "interchange"
                | "reverse"
        )
    }) && !name.starts_with("declare")
        && !name.starts_with("ordered")
}

/// Whether a directive of this name divides the iterations of its loops among threads.
pub(crate) fn divides_loop(name: &str) -> bool {
    name.split(' ')
        .any(|word| matches!(word, "for" | "do" | "loop" | "distribute" | "taskloop"))
}

/// Whether what a directive of this name applies to becomes code of its own.
pub(crate) fn has_own_code(name: &str) -> bool {
    let mut words = name.split(' ');
    !name.starts_with("declare")
        && !name.starts_with("end")
        && match words.next() {
            Some("target") => words.next() != Some("data"),
            Some("parallel" | "teams" | "task" | "taskloop") => true,
            Some("distribute" | "master" | "masked") => {
                words.any(|word| matches!(word, "parallel" | "taskloop"))
            }
            _ => false,
        }
}

/// Whether a directive of this name shares work among a team that is formed elsewhere.
pub(crate) fn is_worksharing(name: &str) -> bool {
    let first = name.split(' ').next().unwrap_or("");
    matches!(
        first,
        "for" | "do" | "sections" | "single" | "workshare" | "distribute" | "loop" | "scope"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> String {
        let directive = parse(text, Place::default());
        let clauses = directive.clauses.iter();
        let clauses: Vec<String> = clauses
            .map(|clause| format!("{}[{}]", clause.name, clause.argument))
            .collect();
        format!("{}: {}", directive.name, clauses.join(" "))
    }

    #[test]
    fn names_and_clauses_are_told_apart() {
        for (text, expected) in [
            (
                "parallel for schedule(static, 4) if (n > f(1))",
                "parallel for: schedule[static, 4] if[n > f(1)]",
            ),
            ("PARALLEL DO PRIVATE(I,J)", "parallel do: private[I,J]"),
            ("for ordered(2) nowait", "for: ordered[2] nowait[]"),
            ("ordered simd", "ordered simd: "),
            ("critical (name)", "critical: [name]"),
            ("atomic update", "atomic: update[]"),
            ("cancel for", "cancel: for[]"),
            (
                "target teams distribute parallel for simd map(to: a[0:n])",
                "target teams distribute parallel for simd: map[to: a[0:n]]",
            ),
            (
                "parallel default(none) \\\n  shared(a, \\\n b) // why",
                "parallel: default[none] shared[a, b]",
            ),
            ("endparalleldo", "end parallel do: "),
            ("end do nowait", "end do: nowait[]"),
            ("target update to(x)", "target update: to[x]"),
            (
                "target enter data map(to:x)",
                "target enter data: map[to:x]",
            ),
            (
                "declare reduction(+: T: omp_out += omp_in)",
                "declare reduction: [+: T: omp_out += omp_in]",
            ),
            ("parallel if(", "parallel: if[]"),
            ("nonsense", ": nonsense[]"),
            ("", ": "),
        ] {
            assert_eq!(read(text), expected, "{text}");
        }
    }
}
