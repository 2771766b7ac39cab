//! Numbers as people read them: one unit, three significant digits, and the
//! same rounding in the page, the terminal and the sentences.

use std::time::Duration;

/// Separates digit groups and a number from its unit in the page, where lines
/// may break anywhere else.
pub const NARROW_SPACE: char = '\u{202f}';

/// What is printed where there is no number.
pub const NOTHING: &str = "–";

/// A duration of `ns` nanoseconds, such as `1.24 ms`.
#[must_use]
pub fn duration(ns: f64) -> String {
    if !ns.is_finite() {
        return NOTHING.to_owned();
    }
    const UNITS: [(f64, &str); 4] = [(1.0, "ns"), (1e3, "µs"), (1e6, "ms"), (1e9, "s")];
    // 999.6 µs rounds to 1000 µs with three digits: that is 1.00 ms.
    let rounded = ns.abs() * 1.000_5;
    let (scale, unit) = UNITS
        .into_iter()
        .rev()
        .find(|(scale, _)| rounded >= *scale)
        .unwrap_or(UNITS[0]);
    let value = ns / scale;
    if unit == "ns" {
        return format!("{value:.0} ns");
    }
    format!("{} {unit}", significant(value))
}

/// A number and the unit behind it, as people write both.
#[must_use]
pub fn split(text: &str) -> (&str, &str) {
    let is_of_unit = |letter: char| !letter.is_ascii_digit() && letter != '.';
    let end = text.find(is_of_unit).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    (number, unit.trim())
}

/// A length of time with its unit as people write it: `90s`, `20ms`, `1.5min`; 0 needs none.
#[must_use]
pub fn parse_duration(text: &str) -> Option<Duration> {
    let (number, unit) = split(text);
    let number: f64 = number.parse().ok()?;
    let seconds = match unit {
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        "s" => 1.0,
        "min" => 60.0,
        "" if number == 0.0 => 1.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * seconds).ok()
}

/// A duration on an axis: no digits that say nothing.
pub fn tick(ns: f64) -> String {
    let text = duration(ns);
    match text.split_once(' ') {
        Some(("0", _)) => "0".to_owned(),
        Some((number, unit)) if number.contains('.') => {
            let number = number.trim_end_matches('0').trim_end_matches('.');
            format!("{number} {unit}")
        }
        _ => text,
    }
}

/// A share of one as a percentage: `31 %`, `0.4 %`, `< 0.1 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    if !share.is_finite() {
        return NOTHING.to_owned();
    }
    let percent = share * 100.0;
    if percent == 0.0 {
        "0 %".to_owned()
    } else if percent.abs() < 0.1 {
        "< 0.1 %".to_owned()
    } else if percent.abs() < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A relative error.
pub fn signed(error: f64) -> String {
    let sign = if error < 0.0 { "-" } else { "+" };
    format!("{sign}{}", percent(error.abs()))
}

/// A plain ratio such as a speedup, with two decimals below ten and two digits of
/// what is small.
pub fn ratio(value: f64) -> String {
    if !value.is_finite() {
        NOTHING.to_owned()
    } else if (1e-6..0.0995).contains(&value.abs()) {
        let decimals = 1 - value.abs().log10().floor() as i32;
        format!("{value:.*}", decimals.unsigned_abs() as usize)
    } else if value.abs() < 9.995 {
        format!("{value:.2}")
    } else if value.abs() < 99.95 {
        format!("{value:.1}")
    } else {
        format!("{value:.0}")
    }
}

/// A count with its digits in groups of three.
pub fn count(value: u64) -> String {
    let digits = value.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3 * 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) && digits.len() > 4 {
            text.push(NARROW_SPACE);
        }
        text.push(digit);
    }
    text
}

/// A count in at most six columns: `987654`, `1.23M`.
#[must_use]
pub fn short_count(value: u64) -> String {
    const UNITS: [(f64, &str); 4] = [(1e6, "M"), (1e9, "G"), (1e12, "T"), (1e15, "P")];
    if value < 1_000_000 {
        return value.to_string();
    }
    let rounded = value as f64 * 1.000_5;
    let (scale, unit) = UNITS
        .into_iter()
        .rev()
        .find(|(scale, _)| rounded >= *scale)
        .unwrap_or(UNITS[0]);
    format!("{}{unit}", significant(value as f64 / scale))
}

/// A size in bytes with binary units.
#[must_use]
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = value as f64;
    let mut unit = 0;
    while scaled >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 {
        format!("{value} B")
    } else {
        format!("{} {}", significant(scaled), UNITS[unit])
    }
}

/// The noun with its number: `1 thread`, `4 threads`.
pub fn plural(number: u64, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number))
}

/// The day and minute of a time in nanoseconds since the Unix epoch, in UTC.
pub fn date(unix_ns: u64) -> String {
    let minutes = unix_ns / 60_000_000_000;
    let (hour, minute) = (minutes / 60 % 24, minutes % 60);
    // Days to a civil date in the proleptic Gregorian calendar: shift the
    // year to begin in March, so that the leap day is its last.
    let days = minutes / (60 * 24) + 719_468;
    let era = days / 146_097;
    let day_of_era = days % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02} UTC")
}

/// `value` (below 1000) with three significant digits.
fn significant(value: f64) -> String {
    let size = value.abs();
    if size >= 99.95 {
        format!("{value:.0}")
    } else if size >= 9.995 {
        format!("{value:.1}")
    } else {
        format!("{value:.2}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_change_unit_where_rounding_would_need_a_fourth_digit() {
        assert_eq!(duration(0.0), "0 ns");
        assert_eq!(duration(999.4), "999 ns");
        assert_eq!(duration(999.6), "1.00 µs");
        assert_eq!(duration(1_240_000.0), "1.24 ms");
        assert_eq!(duration(999_960_000.0), "1.00 s");
        assert_eq!(duration(61.3e9), "61.3 s");
        assert_eq!(duration(7_212.0e9), "7212 s");
        assert_eq!(duration(f64::NAN), NOTHING);
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!(tick(0.0), "0");
        assert_eq!(tick(8e9), "8 s");
        assert_eq!(tick(2.5e6), "2.5 ms");
        assert_eq!(tick(100e9), "100 s");
    }

    #[test]
    fn small_shares_do_not_become_zero() {
        assert_eq!(percent(0.0), "0 %");
        assert_eq!(percent(0.000_2), "< 0.1 %");
        assert_eq!(percent(0.004), "0.4 %");
        assert_eq!(percent(0.312), "31 %");
        assert_eq!(percent(1.0), "100 %");
    }

    #[test]
    fn counts_are_grouped() {
        assert_eq!(count(4096), "4096");
        assert_eq!(count(40_960), "40\u{202f}960");
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!(short_count(999_999), "999999");
        assert_eq!(short_count(1_234_567), "1.23M");
        assert_eq!(short_count(u64::MAX), "18447P");
        assert_eq!(bytes(4096), "4.00 KiB");
        assert_eq!(bytes(17), "17 B");
    }

    #[test]
    fn dates_follow_the_calendar() {
        assert_eq!(date(0), "1970-01-01 00:00 UTC");
        assert_eq!(date(1_709_208_000 * 1_000_000_000), "2024-02-29 12:00 UTC");
        assert_eq!(date(1_767_225_599 * 1_000_000_000), "2025-12-31 23:59 UTC");
    }
}
