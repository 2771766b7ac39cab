//! What a statement of C, C++ or Fortran stores a block in that it allocates.
//!
//! A name is found only where the call that allocates is directly assigned to it, or a
//! container is made or grown by it. Whatever else stands on the line is none: neither the
//! counter of a loop nor a sum is what a block belongs to.

/// What receives a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Receiver {
    /// As it is written: `per`, `rows[i]`, `p->cells`.
    pub(super) name: String,
    /// It is a variable, not a part of one.
    pub(super) is_variable: bool,
}

/// Casts and parentheses that are looked through.
const DEPTH_MAX: usize = 8;

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// What receives the block that a statement's call of a function allocates. `called` is the
/// function's name, if it is one of the program; without, it is one of the C library or `new`.
/// The statement's text may begin anywhere before the call.
pub(super) fn receiver(text: &str, called: Option<&str>, fortran: bool) -> Option<Receiver> {
    if fortran {
        return allocated(text);
    }
    let text = without_comments(text);
    let called = called.map(base_name);
    let mut calls = calls(&text, called);
    let (at, word) = calls.next()?;
    if calls.next().is_some() {
        return None;
    }
    let before = text.get(..at)?;
    if word == "posix_memalign" {
        let first = text
            .get(at + word.len()..)?
            .trim_start()
            .strip_prefix('(')?;
        let first = first.split(',').next()?.trim();
        return named(without_cast(first).trim_start().strip_prefix('&')?);
    }
    let container = called == Some(word) && !word.starts_with("make_") && word != "allocate_shared";
    if container && let Some(found) = grown(before).or_else(|| made(&text, at + word.len())) {
        return Some(found);
    }
    assigned(before)
}

/// Whether a statement returns the block that its call of a function allocates.
#[must_use]
pub fn returns(text: &str, called: Option<&str>) -> bool {
    let text = without_comments(text);
    let called = called.map(base_name);
    let mut calls = calls(&text, called);
    let (Some((at, _)), None) = (calls.next(), calls.next()) else {
        return false;
    };
    uncast(&text[..at]).ends_with("return")
}

/// The part of a function's name that calls are written with.
fn base_name(name: &str) -> &str {
    let head = match name.find('(') {
        Some(at) if !name.starts_with('(') => &name[..at],
        _ => name,
    };
    // Arguments of templates may contain names as well.
    let (mut depth, mut from, mut to) = (0_usize, 0, head.len());
    for (at, c) in head.char_indices() {
        match c {
            '<' => {
                if depth == 0 {
                    to = at;
                }
                depth += 1;
            }
            '>' => depth = depth.saturating_sub(1),
            ':' | ' ' if depth == 0 => {
                from = at + 1;
                to = head.len();
            }
            _ => {}
        }
    }
    head.get(from..to).unwrap_or(head)
}

/// Where functions that allocate are called, and their names.
fn calls<'t>(text: &'t str, called: Option<&'t str>) -> impl Iterator<Item = (usize, &'t str)> {
    words(text).filter(move |(at, word)| {
        let rest = text[at + word.len()..].trim_start();
        match called {
            Some(called) => *word == called,
            None if *word == "new" => true,
            None => {
                let allocates = word.to_lowercase().contains("alloc")
                    || matches!(*word, "strdup" | "strndup" | "mmap" | "posix_memalign");
                allocates && rest.starts_with('(')
            }
        }
    })
}

fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text.get(at..)?.find(is_word)?;
        let rest = &text[start..];
        let length = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
        at = start + length;
        Some((start, &rest[..length]))
    })
}

/// The text without comments, and with nothing in its strings.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        match (c, rest.peek()) {
            ('/', Some('/')) => while rest.next_if(|c| *c != '\n').is_some() {},
            ('/', Some('*')) => {
                let mut last = ' ';
                for c in rest.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                plain.push(' ');
            }
            ('"' | '\'', _) => {
                plain.push(c);
                while let Some(inner) = rest.next() {
                    if inner == '\\' {
                        rest.next();
                    } else if inner == c {
                        break;
                    }
                }
                plain.push(c);
            }
            _ => plain.push(c),
        }
    }
    plain
}

/// `text` without a cast that it begins with.
fn without_cast(text: &str) -> &str {
    let inner = text.trim_start();
    match inner
        .strip_prefix('(')
        .and_then(|rest| rest.split_once(')'))
    {
        Some((kind, rest)) if kind.trim_end().ends_with('*') => rest,
        _ => inner,
    }
}

/// What stands before a call, without qualifiers and casts of it.
fn uncast(before: &str) -> &str {
    let mut before = before.trim_end();
    for _ in 0..DEPTH_MAX {
        // `std::`, `static_cast<T *>(`, `(T *)`, and parentheses.
        let shorter = if let Some(outer) = before.strip_suffix("::") {
            outer.trim_end_matches(is_word)
        } else if let Some(outer) = before.strip_suffix('(')
            && let Some(kind) = outer.trim_end().strip_suffix('>')
            && let Some(at) = kind.rfind("_cast")
        {
            kind[..at].trim_end_matches(is_word)
        } else if let Some(kind) = before.strip_suffix(')')
            && let Some(at) = kind.rfind('(')
            && (kind.trim_end().ends_with('*'))
            && !kind[..at].trim_end().ends_with(is_word)
        {
            &kind[..at]
        } else if let Some(outer) = before.strip_suffix('(')
            && outer.trim_end().ends_with('=')
        {
            outer
        } else {
            break;
        };
        before = shorter.trim_end();
    }
    before
}

/// What is assigned to by a call behind `before`.
fn assigned(before: &str) -> Option<Receiver> {
    let before = uncast(before);
    if let Some(left) = before.strip_suffix('=') {
        let compared = left.ends_with(|c| "=!<>+-*/%&|^".contains(c));
        return (!compared).then(|| named(left)).flatten();
    }
    // `std::unique_ptr<T> p(new T)`, `p.reset(new T)`.
    let outer = before.strip_suffix(['(', '{'])?.trim_end();
    if let Some(pointer) = outer.strip_suffix("reset") {
        let pointer = pointer.strip_suffix('.');
        return pointer.and_then(named);
    }
    let kind = outer.trim_end_matches(is_word);
    let declared = kind.len() < outer.len() && kind.trim_end().ends_with('>');
    declared.then(|| named(outer)).flatten()
}

/// The container that `before` ends with, of which a function is called.
fn grown(before: &str) -> Option<Receiver> {
    let object = before.trim_end();
    let object = object
        .strip_suffix('.')
        .or_else(|| object.strip_suffix("->"))?;
    named(object)
}

/// The container that is declared behind its type's name, which ends at `at`: the only one
/// there.
fn made(text: &str, at: usize) -> Option<Receiver> {
    let rest = text.get(at..)?.trim_start();
    let rest = match rest.starts_with('<') {
        true => {
            let mut depth = 0_usize;
            let end = rest.find(|c| {
                match c {
                    '<' => depth += 1,
                    '>' => depth = depth.saturating_sub(1),
                    _ => {}
                }
                depth == 0
            })?;
            &rest[end + 1..]
        }
        false => rest,
    };
    let rest = rest.trim_start();
    let length = rest.find(|c| !is_word(c))?;
    let (name, behind) = rest.split_at(length);
    let mut depth = 0_usize;
    let single = behind.chars().all(|c| {
        match c {
            '(' | '{' | '[' | '<' => depth += 1,
            ')' | '}' | ']' | '>' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c != ',' || depth > 0
    });
    let initialised = behind.trim_start().starts_with(['(', '{', '=']);
    named(name).filter(|_| single && initialised)
}

/// The expression of variables, members and indices that a text ends with.
fn named(text: &str) -> Option<Receiver> {
    let text = text.trim_end();
    let mut start = text.len();
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' => depth = depth.checked_sub(1)?,
            _ if depth > 0 => {}
            '.' | '%' => {}
            '>' if text[..at].ends_with('-') => {}
            '-' if text[at..].starts_with("->") => {}
            c if is_word(c) => {}
            _ => break,
        }
        start = at;
    }
    let name = text.get(start..)?;
    let name = name.strip_prefix("this->").unwrap_or(name);
    let first = name.chars().next()?;
    let last = name.chars().next_back()?;
    let whole = (is_word(first) && !first.is_ascii_digit()) && (is_word(last) || last == ']');
    // `a + x.b`: what comes before may belong to it.
    whole.then(|| Receiver {
        name: name.to_owned(),
        is_variable: name.chars().all(is_word),
    })
}

/// The only object of an `allocate` statement of Fortran.
fn allocated(text: &str) -> Option<Receiver> {
    let text = text.split('!').next()?.to_lowercase();
    let mut found = words(&text).filter(|(_, word)| *word == "allocate");
    let (at, word) = found.next()?;
    if found.next().is_some() {
        return None;
    }
    let rest = text
        .get(at + word.len()..)?
        .trim_start()
        .strip_prefix('(')?;
    // A type may be written first.
    let rest = rest
        .split_once("::")
        .map_or(rest, |(_, rest)| rest)
        .trim_start();
    let mut depth = 0_usize;
    let mut objects = rest.split(|c| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let object = objects.next()?.trim_end();
    let option = |text: &str| {
        text.split_once('=')
            .is_some_and(|(name, _)| !name.contains('('))
    };
    if objects.any(|object| !option(object)) {
        return None;
    }
    // Its shape.
    let end = match object.trim_end_matches(')').rfind('(') {
        Some(_) => shape(object)?,
        None => object.trim_end_matches(')').len(),
    };
    named(object.get(..end)?)
}

/// Where the last pair of parentheses of an object begins.
fn shape(object: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut begin = None;
    for (at, c) in object.char_indices() {
        match c {
            '(' => {
                if depth == 0 {
                    begin = Some(at);
                }
                depth += 1;
            }
            ')' => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => break,
            },
            _ => {}
        }
    }
    begin
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Option<String> {
        receiver(text, None, false).map(|found| found.name)
    }

    fn by(text: &str, called: &str) -> Option<String> {
        receiver(text, Some(called), false).map(|found| found.name)
    }

    fn fortran(text: &str) -> Option<String> {
        receiver(text, None, true).map(|found| found.name)
    }

    #[test]
    fn what_is_assigned_receives_the_block() {
        let found = |text| of(text).unwrap_or_default();
        assert_eq!(found("    struct s *per = calloc(n, sizeof *per);"), "per");
        assert_eq!(found("if (!(p->cells=malloc(n)))"), "p->cells");
        assert_eq!(found("double *a = (double *) malloc(n * sizeof *a);"), "a");
        assert_eq!(
            found("int k = 0; a = static_cast<double *>(std::malloc(n));"),
            "a"
        );
        assert_eq!(
            found("for (int i = 0; i < n; i++) rows[i] = new double[n];"),
            "rows[i]"
        );
        assert_eq!(found("if ((a = xmalloc(8)) == NULL) x = 1;"), "a");
        assert_eq!(found("std::unique_ptr<T[]> p(new T[n]);"), "p");
        assert_eq!(found("p.reset(new T[n]);"), "p");
        assert_eq!(found("posix_memalign((void **)&a, 64, n);"), "a");
        assert_eq!(found("int e = posix_memalign(&buf, 64, n);"), "buf");
        assert_eq!(found("this->a = new T; // b = new U"), "a");
        assert_eq!(found("double *a =\n    malloc(n);"), "a");
    }

    #[test]
    fn another_assignment_on_the_line_does_not() {
        for text in [
            "for (int i = 0; i < n; i++) use(malloc(8));",
            "for (int i = 0; i < n; i++) v.push_back(new T(i));",
            "size_t n = 8; free(malloc(n));",
            "while (a == b) c += d;",
            "bool same = a == malloc(8);",
            "n = 2 * *(int *)malloc(8);",
            "a = malloc(8); b = malloc(8);",
            "f(malloc(8));",
            "i = 0; return new T;",
            "x = \"a = malloc(8)\";",
            "=x",
            "",
        ] {
            assert_eq!(of(text), None, "{text}");
        }
    }

    #[test]
    fn functions_of_the_program_and_containers() {
        let push = "std::vector<long, std::allocator<long> >::push_back(long&&)";
        let looped = "for (int i = 0; i < n; i++) v.push_back(i);";
        assert_eq!(by(looped, push).as_deref(), Some("v"));
        assert_eq!(
            by("for (int i = 0; i < n; i++) w->a.resize(i);", "resize").as_deref(),
            Some("w->a")
        );
        assert_eq!(by("a.resize(n); b.resize(n);", "resize"), None);
        assert_eq!(
            by("int n = 3; std::vector<long> v(n);", "vector").as_deref(),
            Some("v")
        );
        assert_eq!(
            by("std::vector<std::pair<int, int>> v(n, f(1, 2));", "vector").as_deref(),
            Some("v")
        );
        assert_eq!(by("std::vector<long> v(n), w(n);", "vector"), None);
        let shared = "std::make_shared<T, int>(int&&)";
        let assigned = "auto p = std::make_shared<T>(i = 3);";
        assert_eq!(by(assigned, shared).as_deref(), Some("p"));
        let pushed = "for (int i = 0; i < n; i++) v.push_back(std::make_shared<T>(i));";
        assert_eq!(by(pushed, shared), None);
        assert_eq!(
            by("double *a = grid_new(n);", "grid_new").as_deref(),
            Some("a")
        );
        assert_eq!(by("int i = 0; run(a);", "run"), None);
    }

    #[test]
    fn allocate_statements() {
        assert_eq!(
            fortran("  allocate( Work(n), stat=i)").as_deref(),
            Some("work")
        );
        assert_eq!(
            fortran("if (k == 1) allocate(a(n,size(b)))").as_deref(),
            Some("a")
        );
        assert_eq!(fortran("allocate(real(8) :: a(0:n))").as_deref(), Some("a"));
        assert_eq!(
            fortran("allocate(this%a(n)) ! and b").as_deref(),
            Some("this%a")
        );
        assert_eq!(fortran("allocate(p)").as_deref(), Some("p"));
        assert_eq!(fortran("allocate(a(n), b(n))"), None);
        assert_eq!(fortran("deallocate(a)"), None);
        assert_eq!(fortran("a = b + c"), None);
    }
}
