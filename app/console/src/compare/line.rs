//! A line of output as words and numbers, and what of it may differ between
//! runs that are alike.

/// A piece of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Number(Number<'a>),
}

/// A number as it was written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Number<'a> {
    text: &'a str,
    value: f64,
    /// Times, rates, addresses: they say nothing about the result.
    volatile: bool,
}

/// Words beside numbers that are of the run, not of its result.
const VOLATILE: &[&str] = &[
    "address",
    "bandwidth",
    "cpu",
    "cycles",
    "date",
    "duration",
    "efficiency",
    "elapsed",
    "flop",
    "flops",
    "fps",
    "gb",
    "gbs",
    "gflop",
    "gflops",
    "gib",
    "kb",
    "kib",
    "latency",
    "mb",
    "mbs",
    "mflop",
    "mflops",
    "mib",
    "mops",
    "mop",
    "overhead",
    "performance",
    "pid",
    "rate",
    "rss",
    "runtime",
    "seed",
    "speedup",
    "sys",
    "tflops",
    "throughput",
    "tick",
    "ticks",
    "time",
    "timer",
    "times",
    "timing",
    "timings",
    "took",
    "usage",
    "user",
    "wall",
    "wallclock",
    "walltime",
    "wtime",
];
/// Units of time, behind a number or in front of it.
const UNITS: &[&str] = &[
    "h",
    "hour",
    "hours",
    "microseconds",
    "milliseconds",
    "min",
    "minutes",
    "mins",
    "ms",
    "msec",
    "msecs",
    "nanoseconds",
    "ns",
    "nsec",
    "nsecs",
    "s",
    "sec",
    "second",
    "seconds",
    "secs",
    "us",
    "usec",
    "usecs",
];
/// Units of sizes and rates.
const SIZES: &[&str] = &[
    "b", "gb", "gflops", "gib", "kb", "kib", "mb", "mflops", "mib", "tb", "tflops", "tib",
];
/// Words of lines that tell how work was shared out.
const SHARES: &[&str] = &[
    "core",
    "cores",
    "cpus",
    "host",
    "hostname",
    "nthreads",
    "numthreads",
    "place",
    "places",
    "processor",
    "processors",
    "procs",
    "rank",
    "ranks",
    "team",
    "thread",
    "threads",
    "tid",
    "worker",
    "workers",
];

/// Relative difference up to which numbers are the same.
const TOLERANCE: f64 = 1e-6;
/// Smaller numbers are what rounding leaves of zero.
const NOTHING: f64 = 1e-10;
/// What random numbers change in results, relatively: a data race mostly changes more. Counts are
/// another thing: a race may lose one of a million.
const SLIGHT: f64 = 0.05;
/// From so many digits on, the last of a number may be rounded otherwise.
const ROUNDED_DIGITS: usize = 4;

/// The pieces of a line, with what is volatile marked.
pub(super) fn tokens(line: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let bytes = line.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(b' ');
    let mut next = 0;
    while next < bytes.len() {
        let byte = at(next);
        let begin = next;
        if byte == 0x1b && at(next + 1) == b'[' {
            // A colour of a terminal.
            next += 2;
            while next < bytes.len() && !(0x40..=0x7e).contains(&at(next)) {
                next += 1;
            }
            next += 1;
        } else if let Some(length) = number_length(&bytes[begin..]) {
            next += length;
            if let Some(text) = line.get(begin..next) {
                tokens.push(Token::Number(Number {
                    text,
                    value: value(text),
                    volatile: text.starts_with("0x"),
                }));
            }
        } else if byte.is_ascii_alphabetic() || byte >= 0x80 || byte == b'_' {
            while at(next).is_ascii_alphanumeric() || at(next) >= 0x80 || at(next) == b'_' {
                next += 1;
            }
            tokens.extend(line.get(begin..next).map(Token::Word));
        } else {
            next += 1;
            if !byte.is_ascii_whitespace() && byte != 0 {
                tokens.extend(line.get(begin..next).map(Token::Word));
            }
        }
    }
    mark(&mut tokens);
    tokens
}

/// Bytes of the number that `bytes` begin with, if they do.
fn number_length(bytes: &[u8]) -> Option<usize> {
    let at = |index: usize| bytes.get(index).copied().unwrap_or(b' ');
    if at(0) == b'0' && matches!(at(1), b'x' | b'X') && at(2).is_ascii_hexdigit() {
        return Some(
            2 + bytes[2..]
                .iter()
                .take_while(|b| b.is_ascii_hexdigit())
                .count(),
        );
    }
    let digits = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        rest.iter().take_while(|b| b.is_ascii_digit()).count()
    };
    let sign = usize::from(matches!(at(0), b'-' | b'+'));
    let whole = digits(sign);
    let mut end = sign + whole;
    let mut part = 0;
    if at(end) == b'.' {
        part = digits(end + 1);
        end += 1 + part;
    }
    if whole + part == 0 {
        return None;
    }
    if matches!(at(end), b'e' | b'E' | b'd' | b'D') {
        let sign = usize::from(matches!(at(end + 1), b'-' | b'+'));
        let power = digits(end + 1 + sign);
        if power > 0 {
            end += 1 + sign + power;
        }
    }
    Some(end)
}

fn value(text: &str) -> f64 {
    let text = text.replace(['d', 'D'], "e");
    text.trim_start_matches('+').parse().unwrap_or(f64::NAN)
}

/// Whether a word, or a part of a compound, is one of a list.
fn is_any(word: &str, list: &[&str]) -> bool {
    word.split(|c: char| !c.is_alphabetic())
        .any(|part| list.iter().any(|known| part.eq_ignore_ascii_case(known)))
}

/// Marks numbers whose unit or label says that they are of the run.
fn mark(tokens: &mut [Token<'_>]) {
    let kind = |token: Option<&Token<'_>>, list: &[&str]| match token {
        Some(Token::Word(word)) => is_any(word, list),
        _ => false,
    };
    // The words since the number before are a number's label.
    let (mut label_is_volatile, mut unit_of_last) = (false, false);
    for index in 0..tokens.len() {
        let unit_follows = kind(tokens.get(index + 1), UNITS)
            || (matches!(tokens.get(index + 1), Some(Token::Word("[" | "(")))
                && kind(tokens.get(index + 2), UNITS));
        let rate_follows = kind(tokens.get(index + 1), VOLATILE);
        // 12:34:56 is a time of day.
        let clock = matches!(tokens.get(index + 1), Some(Token::Word(":")))
            && matches!(tokens.get(index + 2), Some(Token::Number(_)))
            || index >= 2
                && matches!(tokens.get(index - 1), Some(Token::Word(":")))
                && matches!(tokens.get(index - 2), Some(Token::Number(_)));
        match tokens.get_mut(index) {
            Some(Token::Number(number)) => {
                number.volatile |= label_is_volatile || unit_follows || rate_follows || clock;
                unit_of_last = unit_follows;
                label_is_volatile = false;
            }
            Some(Token::Word(word)) => {
                let of_last = std::mem::take(&mut unit_of_last);
                let says = is_any(word, VOLATILE) || is_any(word, UNITS) && !of_last;
                label_is_volatile |= says;
            }
            None => {}
        }
    }
}

/// Whether the line tells how work was shared out among threads, which depends
/// on their number.
pub(super) fn is_about_shares(tokens: &[Token<'_>]) -> bool {
    let words = tokens.iter().filter_map(|token| match token {
        Token::Word(word) => Some(word),
        Token::Number(_) => None,
    });
    words.into_iter().any(|word| is_any(word, SHARES))
}

/// Makes the numbers of a line volatile under the headings of a table.
pub(super) fn mark_columns(tokens: &mut [Token<'_>], headings: &[Token<'_>]) {
    let of_run = |token: Option<&Token<'_>>| match token {
        Some(Token::Word(word)) => {
            is_any(word, VOLATILE) || is_any(word, UNITS) || is_any(word, SHARES)
        }
        _ => false,
    };
    for (column, token) in tokens.iter_mut().enumerate() {
        if let Token::Number(number) = token {
            number.volatile |= of_run(headings.get(column));
        }
    }
}

/// Whether a line is nothing but numbers.
pub(super) fn is_row(tokens: &[Token<'_>]) -> bool {
    !tokens.is_empty() && tokens.iter().all(|token| matches!(token, Token::Number(_)))
}

/// Whether a line is nothing but words, as headings of a table are.
pub(super) fn is_heading(tokens: &[Token<'_>]) -> bool {
    !tokens.is_empty() && tokens.iter().all(|token| matches!(token, Token::Word(_)))
}

/// Whether two lines say the same, `threads` being those of either run: a
/// number may be that.
pub(super) fn alike(ours: &[Token<'_>], theirs: &[Token<'_>], threads: [u32; 2]) -> bool {
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|pair| match pair {
            (Token::Word(ours), Token::Word(theirs)) => same_word(ours, theirs),
            (Token::Number(ours), Token::Number(theirs)) => same(ours, theirs, threads),
            _ => false,
        })
}

/// Whether two lines have the same words, and numbers that differ by little.
pub(super) fn nearly(ours: &[Token<'_>], theirs: &[Token<'_>], threads: [u32; 2]) -> bool {
    same_words(ours, theirs)
        && ours.iter().zip(theirs).all(|pair| match pair {
            (Token::Number(ours), Token::Number(theirs)) => {
                same(ours, theirs, threads) || slightly_apart(ours, theirs)
            }
            _ => true,
        })
}

fn slightly_apart(ours: &Number<'_>, theirs: &Number<'_>) -> bool {
    let (a, b) = (ours.value, theirs.value);
    let counts = decimals(ours.text).is_none() && decimals(theirs.text).is_none();
    !counts && (a - b).abs() <= SLIGHT * a.abs().max(b.abs())
}

/// Whether two lines have the same words, whatever the numbers.
pub(super) fn same_words(ours: &[Token<'_>], theirs: &[Token<'_>]) -> bool {
    ours.len() == theirs.len()
        && ours.iter().zip(theirs).all(|pair| match pair {
            (Token::Word(ours), Token::Word(theirs)) => same_word(ours, theirs),
            (Token::Number(_), Token::Number(_)) => true,
            _ => false,
        })
}

/// Times and sizes may come in other units.
fn same_word(ours: &str, theirs: &str) -> bool {
    ours == theirs
        || [UNITS, SIZES]
            .iter()
            .any(|units| is_any(ours, units) && is_any(theirs, units))
}

fn same(ours: &Number<'_>, theirs: &Number<'_>, threads: [u32; 2]) -> bool {
    if ours.volatile || theirs.volatile || ours.text == theirs.text {
        return true;
    }
    let (a, b) = (ours.value, theirs.value);
    if [a, b] == threads.map(f64::from) {
        return true;
    }
    // Counts are exact.
    let [Some(ours), Some(theirs)] = [ours, theirs].map(|number| decimals(number.text)) else {
        return a == b;
    };
    if a.is_nan() || b.is_nan() {
        return a.is_nan() && b.is_nan();
    }
    let largest = a.abs().max(b.abs());
    let rounded = if ours.digits.min(theirs.digits) >= ROUNDED_DIGITS {
        // One in the last place, with room for the error of this arithmetic.
        1.01 * ours.last_place.max(theirs.last_place)
    } else {
        0.0
    };
    (a - b).abs() <= (TOLERANCE * largest).max(rounded) || largest <= NOTHING
}

/// How finely a number was written.
struct Decimals {
    digits: usize,
    /// What one in the last digit is worth.
    last_place: f64,
}

/// Nothing for whole numbers.
fn decimals(text: &str) -> Option<Decimals> {
    let text = text.to_ascii_lowercase().replace('d', "e");
    let (mantissa, power) = text.split_once('e').unwrap_or((&text, "0"));
    if !mantissa.contains('.') && !text.contains('e') {
        return None;
    }
    let places = mantissa.split_once('.').map_or(0, |(_, part)| part.len());
    let significant = mantissa.trim_start_matches(['+', '-', '0', '.']);
    let power: i32 = power.parse().unwrap_or(0);
    Some(Decimals {
        digits: significant.bytes().filter(u8::is_ascii_digit).count(),
        last_place: 10_f64.powi(power - i32::try_from(places).unwrap_or(0)),
    })
}

/// Makes numbers volatile that differ between two lines of runs that are alike.
pub(super) fn mark_differences(tokens: &mut [Token<'_>], other: &[Token<'_>]) {
    if !same_words(tokens, other) {
        return;
    }
    for (token, other) in tokens.iter_mut().zip(other) {
        if let (Token::Number(number), Token::Number(other)) = (token, other) {
            number.volatile |= !same(number, other, [0, 0]);
        }
    }
}
