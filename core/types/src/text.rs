//! Names and lists inside sentences.

use std::borrow::Cow;

/// Width for a file or a pipe: tables have all their columns, and sentences are broken as on a
/// terminal of 100 columns.
pub const NO_TERMINAL: usize = 1 << 16;

/// `text` with at most `limit` characters: a long one keeps its beginning and
/// its end, where names differ.
#[must_use]
pub fn shorten(text: &str, limit: usize) -> String {
    let length = text.chars().count();
    if length <= limit {
        return text.to_owned();
    }
    let head = limit.saturating_sub(1) * 2 / 3;
    let tail = limit.saturating_sub(1) - head;
    let start: String = text.chars().take(head).collect();
    let end: String = text.chars().skip(length - tail).collect();
    format!("{start}…{end}")
}

/// `a`, `a and b`, `a, b and c`.
#[must_use]
pub fn list(items: &[String]) -> String {
    match items {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// `text` as one line of a terminal: names and values out of files may hold any characters,
/// also those that end a line or move the cursor, and show as `\u{fffd}` here.
#[must_use]
pub fn one_line(text: &str) -> Cow<'_, str> {
    if text.contains(char::is_control) {
        Cow::Owned(text.replace(char::is_control, "\u{fffd}"))
    } else {
        Cow::Borrowed(text)
    }
}

/// `text` with a capital and a full stop.
#[must_use]
pub fn sentence(text: &str) -> String {
    let text = text.trim();
    let mut letters = text.chars();
    let Some(first) = letters.next() else {
        return String::new();
    };
    let mut sentence: String = first.to_uppercase().chain(letters).collect();
    if !sentence.ends_with(['.', '!', '?']) {
        sentence.push('.');
    }
    sentence
}

/// `text` with numbers bound to their units, so that no line breaks between.
#[must_use]
pub fn bound(text: &str) -> String {
    const UNITS: [&str; 8] = ["%", "ns", "µs", "ms", "s", "KiB", "MiB", "GiB"];
    let mut bound = String::with_capacity(text.len());
    let mut after_digit = false;
    for word in text.split(' ') {
        if !bound.is_empty() {
            let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
            let joins = after_digit && UNITS.contains(&bare);
            bound.push(if joins { '\u{a0}' } else { ' ' });
        }
        bound.push_str(word);
        after_digit = word.ends_with(|last: char| last.is_ascii_digit());
    }
    bound
}

/// A field of a CSV file (RFC 4180), in quotes if it needs them. A field that a spreadsheet would take
/// for a formula is kept from being one by a space.
#[must_use]
pub fn csv_field(text: &str) -> String {
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = if formula {
        format!(" {text}")
    } else {
        text.to_owned()
    };
    if text.contains([',', '"', '\n', '\r']) || formula {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_names_keep_both_ends() {
        assert_eq!(shorten("short", 10), "short");
        assert_eq!(shorten("abcdefghijklmnop", 10), "abcdef…nop");
        assert_eq!(shorten("äöüäöüäöüäöü", 4).chars().count(), 4);
    }

    #[test]
    fn no_name_breaks_the_line() {
        assert_eq!(one_line("region é"), "region é");
        assert_eq!(one_line("a\nb\u{1b}[2J"), "a\u{fffd}b\u{fffd}[2J");
    }

    #[test]
    fn lists_read_as_sentences() {
        let items = ["a".to_owned(), "b".to_owned(), "c".to_owned()];
        assert_eq!(list(&items), "a, b and c");
        assert_eq!(list(&items[..1]), "a");
    }

    #[test]
    fn sentences_begin_and_end_as_such() {
        assert_eq!(sentence("region a stops"), "Region a stops.");
        assert_eq!(sentence("Done."), "Done.");
        assert_eq!(sentence(""), "");
    }

    #[test]
    fn numbers_stay_with_their_units() {
        assert_eq!(
            bound("it took 1.2 s, 30 % more. s"),
            "it took 1.2\u{a0}s, 30\u{a0}% more. s"
        );
    }

    #[test]
    fn csv_fields_with_separators_and_formulas_are_quoted() {
        assert_eq!(csv_field("plain.c:12"), "plain.c:12");
        assert_eq!(csv_field("f(int, int)"), "\"f(int, int)\"");
        assert_eq!(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
        assert_eq!(csv_field("=1+1"), "\" =1+1\"");
    }
}
