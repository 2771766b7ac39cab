//! Values of single environment variables, as OpenMP 5.1 chapter 6 writes
//! them: case and surrounding blanks do not matter.
//!
//! Every parser takes the whole value and returns `None` if it is not one.

use crate::icv::{ProcBind, Said, Schedule, ScheduleKind};

/// Largest number accepted where the API hands it out as an `int`.
const INT_MAX: u64 = i32::MAX as u64;

/// `true` or `false`.
pub(super) fn boolean(text: &str) -> Option<bool> {
    one_of(text, &[("true", true), ("false", false)])
}

/// One word of a list.
pub(super) fn one_of<T: Copy>(text: &str, words: &[(&str, T)]) -> Option<T> {
    let text = text.trim();
    words
        .iter()
        .find(|(word, _)| text.eq_ignore_ascii_case(word))
        .map(|&(_, value)| value)
}

/// A whole number from 0 to `int`'s largest. A sign `+` is allowed, as
/// everybody's `strtol` allows it.
pub(super) fn non_negative(text: &str) -> Option<u32> {
    let number: u64 = text.trim().parse().ok()?;
    (number <= INT_MAX).then_some(number as u32)
}

/// A whole number from 1 to `int`'s largest.
pub(super) fn positive(text: &str) -> Option<u32> {
    non_negative(text).filter(|&number| number > 0)
}

/// `positive{,positive}`
pub(super) fn positive_list(text: &str) -> Option<Vec<u32>> {
    text.split(',').map(positive).collect()
}

/// A size in bytes: a number and a unit B, K, M or G, K if none.
pub(super) fn size(text: &str) -> Option<usize> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c.is_whitespace());
    let shift = match &*text[digits.len()..].trim().to_ascii_lowercase() {
        "b" => 0,
        "" | "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    let number: usize = digits.parse().ok()?;
    number.checked_mul(1 << shift).filter(|&bytes| bytes > 0)
}

/// `GOMP_SPINCOUNT`: a number, with a decimal unit k, M, G or T, or
/// `infinite`; the largest number stands for that.
pub(super) fn spin_count(text: &str) -> Option<u64> {
    let text = text.trim();
    if let Some(count) = one_of(text, &[("infinite", u64::MAX), ("infinity", u64::MAX)]) {
        return Some(count);
    }
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c.is_whitespace());
    let unit = match &*text[digits.len()..].trim().to_ascii_lowercase() {
        "" => 1,
        "k" => 1_000,
        "m" => 1_000_000,
        "g" => 1_000_000_000,
        "t" => 1_000_000_000_000,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(unit)
}

/// `[modifier:]kind[,chunk]`
pub(super) fn schedule(text: &str) -> Option<Schedule> {
    let (modifier, rest) = match text.split_once(':') {
        Some((modifier, rest)) => (
            Some(one_of(
                modifier,
                &[("monotonic", true), ("nonmonotonic", false)],
            )?),
            rest,
        ),
        None => (None, text),
    };
    let (kind, chunk) = match rest.split_once(',') {
        Some((kind, chunk)) => (kind, Some(non_negative(chunk)?)),
        None => (rest, None),
    };
    let kind = one_of(
        kind,
        &[
            ("static", ScheduleKind::Static),
            ("dynamic", ScheduleKind::Dynamic),
            ("guided", ScheduleKind::Guided),
            ("auto", ScheduleKind::Auto),
            // LLVM's.
            ("trapezoidal", ScheduleKind::Trapezoidal),
            ("static_steal", ScheduleKind::Dynamic),
        ],
    )?;
    Some(Schedule {
        kind,
        // Without a modifier a static schedule is monotonic, others are not
        // (OpenMP 5.1, 2.11.4).
        monotonic: modifier.unwrap_or(kind == ScheduleKind::Static),
        chunk: match kind {
            ScheduleKind::Auto => 0,
            ScheduleKind::Static => chunk.unwrap_or(0),
            _ => chunk.unwrap_or(1).max(1),
        },
        said: match modifier {
            Some(_) => Said::All,
            None => Said::Kind,
        },
    })
}

/// `true`, `false`, or a list of policies.
pub(super) fn proc_bind(text: &str) -> Option<Vec<ProcBind>> {
    if let Some(on) = boolean(text) {
        return Some(vec![if on { ProcBind::True } else { ProcBind::False }]);
    }
    text.split(',')
        .map(|word| {
            one_of(
                word,
                &[
                    ("primary", ProcBind::Primary),
                    ("master", ProcBind::Primary),
                    ("close", ProcBind::Close),
                    ("spread", ProcBind::Spread),
                ],
            )
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers() {
        assert_eq!(positive(" 7 "), Some(7));
        assert_eq!(positive("2147483647"), Some(2_147_483_647));
        for bad in [
            "0",
            "-1",
            "2147483648",
            "",
            " ",
            "4x",
            "1e3",
            "99999999999999999999",
        ] {
            assert_eq!(positive(bad), None, "{bad:?}");
        }
        assert_eq!(positive_list("4, 3 ,2"), Some(vec![4, 3, 2]));
        assert_eq!(positive_list("4,,2"), None);
        assert_eq!(positive_list("4,"), None);
    }

    #[test]
    fn sizes() {
        assert_eq!(size("64"), Some(64 << 10));
        assert_eq!(size(" 2 M "), Some(2 << 20));
        assert_eq!(size("3g"), Some(3 << 30));
        assert_eq!(size("500b"), Some(500));
        for bad in [
            "",
            "M",
            "-1M",
            "1T",
            "1MB",
            "0",
            "99999999999999999999G",
            "18446744073709551615G",
        ] {
            assert_eq!(size(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn spin_counts() {
        assert_eq!(spin_count("0"), Some(0));
        assert_eq!(spin_count("3k"), Some(3_000));
        assert_eq!(spin_count(" INFINITE"), Some(u64::MAX));
        assert_eq!(spin_count("abc"), None);
    }

    #[test]
    fn schedules() {
        let parse = |text| schedule(text).map(|s| (s.kind.name(), s.monotonic, s.chunk));
        assert_eq!(parse("STATIC"), Some(("static", true, 0)));
        assert_eq!(parse(" dynamic , 4 "), Some(("dynamic", false, 4)));
        assert_eq!(parse("guided"), Some(("guided", false, 1)));
        assert_eq!(parse("auto,9"), Some(("auto", false, 0)));
        assert_eq!(parse("trapezoidal,3"), Some(("trapezoidal", false, 3)));
        assert_eq!(parse("static_steal"), Some(("dynamic", false, 1)));
        assert_eq!(parse("monotonic:dynamic"), Some(("dynamic", true, 1)));
        assert_eq!(parse("nonmonotonic : static,2"), Some(("static", false, 2)));
        for bad in [
            "",
            "fast",
            "static,",
            "static,-1",
            "mono:static",
            "static:1",
            "dynamic,1,2",
        ] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn policies() {
        assert_eq!(proc_bind("TRUE"), Some(vec![ProcBind::True]));
        assert_eq!(
            proc_bind(" spread, Master ,close"),
            Some(vec![ProcBind::Spread, ProcBind::Primary, ProcBind::Close])
        );
        assert_eq!(proc_bind("true,close"), None);
        assert_eq!(proc_bind("close,"), None);
    }

    proptest! {
        #[test]
        fn no_text_upsets_a_parser(text in "\\PC{0,24}") {
            let _ = (boolean(&text), positive_list(&text), size(&text), spin_count(&text));
            let _ = (schedule(&text), proc_bind(&text));
        }
    }
}
