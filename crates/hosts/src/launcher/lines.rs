//! Output of several hosts in one stream: lines stay whole.

use std::collections::BTreeMap;

/// A line that is longer is not waited for.
const LINE_BYTES_MAX: usize = 4 << 10;

/// Beginnings of lines whose ends have not come yet.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<u16, Vec<u8>>);

impl Lines {
    /// A piece of a host's output; gives what is to be written of it.
    pub(super) fn push(&mut self, host: u16, piece: &[u8]) -> Vec<u8> {
        let held = self.0.entry(host).or_default();
        held.extend(piece);
        let whole = match held.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => last + 1,
            None => 0,
        };
        if held.len() - whole > LINE_BYTES_MAX {
            return std::mem::take(held);
        }
        let rest = held.split_off(whole);
        std::mem::replace(held, rest)
    }

    /// Whether something waits for the end of its line.
    pub(super) fn hold_some(&self) -> bool {
        self.0.values().any(|held| !held.is_empty())
    }

    /// Waits no longer.
    pub(super) fn flush(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.0);
        held.into_values().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_hosts_do_not_mix() {
        let mut lines = Lines::default();
        assert_eq!(lines.push(0, b"one "), b"");
        assert_eq!(lines.push(1, b"three\nfour"), b"three\n");
        assert_eq!(lines.push(0, b"two\n"), b"one two\n");
        assert!(lines.hold_some());
        assert_eq!(lines.push(1, b"\n\n"), b"four\n\n");
        assert!(!lines.hold_some());
        lines.push(1, b"b");
        lines.push(0, b"a");
        assert_eq!(lines.flush(), b"ab");
        assert!(!lines.hold_some());
    }

    #[test]
    fn what_has_no_lines_is_passed_on() {
        let mut lines = Lines::default();
        let long = vec![7; LINE_BYTES_MAX + 1];
        assert_eq!(lines.push(0, &long), long);
        assert_eq!(lines.push(0, &long[1..]), b"");
        assert_eq!(lines.push(0, &[7]), long);
    }
}
