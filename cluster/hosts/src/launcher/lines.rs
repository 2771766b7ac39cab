//! Output of several hosts in one stream: lines stay whole, and what fathomp's own runtime says
//! alike on several hosts, such as why it refuses a program, is said once.

use std::collections::BTreeMap;

/// A line that is longer is not waited for.
const LINE_BYTES_MAX: usize = 4 << 10;

/// How lines of the runtime begin.
const OURS: &[u8] = b"fathomp: ";
/// So many different ones are remembered.
const REMEMBERED_MAX: usize = 256;

/// Beginnings of lines whose ends have not come yet.
#[derive(Debug, Default)]
pub(super) struct Lines {
    held: BTreeMap<u16, Vec<u8>>,
    said: Said,
}

/// How often each host has said a line of the runtime.
#[derive(Debug, Default)]
struct Said(BTreeMap<Vec<u8>, BTreeMap<u16, u32>>);

impl Said {
    /// Whole lines of a host without those that another host has said, as often as this one.
    fn leave_out(&mut self, host: u16, whole: Vec<u8>) -> Vec<u8> {
        if !whole.windows(OURS.len()).any(|piece| piece == OURS) {
            return whole;
        }
        let lines = whole.split_inclusive(|byte| *byte == b'\n');
        let new = lines.filter(|line| self.is_new(host, line));
        new.flatten().copied().collect()
    }

    fn is_new(&mut self, host: u16, line: &[u8]) -> bool {
        if !line.starts_with(OURS) {
            return true;
        }
        if !self.0.contains_key(line) && self.0.len() >= REMEMBERED_MAX {
            return true;
        }
        let hosts = self.0.entry(line.to_owned()).or_default();
        let most = hosts.values().max().copied().unwrap_or(0);
        let times = hosts.entry(host).or_default();
        *times = times.saturating_add(1);
        *times > most
    }
}

impl Lines {
    /// A piece of a host's output; gives what is to be written of it.
    pub(super) fn push(&mut self, host: u16, piece: &[u8]) -> Vec<u8> {
        let held = self.held.entry(host).or_default();
        held.extend(piece);
        let whole = match held.iter().rposition(|byte| *byte == b'\n') {
            Some(last) => last + 1,
            None => 0,
        };
        if held.len() - whole > LINE_BYTES_MAX {
            return std::mem::take(held);
        }
        let rest = held.split_off(whole);
        let whole = std::mem::replace(held, rest);
        self.said.leave_out(host, whole)
    }

    /// Whether something waits for the end of its line.
    pub(super) fn hold_some(&self) -> bool {
        self.held.values().any(|held| !held.is_empty())
    }

    /// Waits no longer.
    pub(super) fn flush(&mut self) -> Vec<u8> {
        let held = std::mem::take(&mut self.held);
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
    fn what_all_hosts_say_alike_is_said_once() {
        let mut lines = Lines::default();
        let refused = b"fathomp: the program runs code on its stack\n";
        assert_eq!(lines.push(0, refused), refused);
        assert_eq!(lines.push(1, refused), b"");
        assert_eq!(lines.push(2, b"fathomp: the pro"), b"");
        assert_eq!(lines.push(2, b"gram runs code on its stack\nx\n"), b"x\n");
        // One host says it again, and others follow; or something else; or the program says it.
        assert_eq!(lines.push(1, refused), refused);
        assert_eq!(lines.push(0, refused), b"");
        for host in [0, 1] {
            let said = b"said by fathomp: once\nfathomp\n";
            assert_eq!(lines.push(host, said), said);
        }
        let other = b"fathomp: on host b\nfathomp: on host b\n";
        assert_eq!(lines.push(1, other), other);
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
