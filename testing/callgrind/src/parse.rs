//! The format of callgrind's output, as far as instructions need it (valgrind manual,
//! "Callgrind Format Specification").

use crate::{Counts, Profile};
use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

/// Why text is no profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A line makes no sense.
    #[error("line {line} of callgrind's output is not understood: {why}")]
    Line {
        /// From 1 on.
        line: usize,
        /// What is wrong.
        why: &'static str,
    },
    /// Counts are by line only.
    #[error("callgrind's output has no addresses of instructions: run it with --dump-instr=yes")]
    NoAddresses,
}

/// Which count stands in which column.
type Column = Option<fn(&mut Counts) -> &mut u64>;

fn column(event: &str) -> Column {
    Some(match event {
        "Ir" => |counts| &mut counts.executed,
        "Dr" => |counts| &mut counts.reads,
        "Dw" => |counts| &mut counts.writes,
        "D1mr" => |counts| &mut counts.first_read_misses,
        "D1mw" => |counts| &mut counts.first_write_misses,
        "DLmr" => |counts| &mut counts.last_read_misses,
        "DLmw" => |counts| &mut counts.last_write_misses,
        _ => return None,
    })
}

#[derive(Default)]
struct Reading {
    positions: usize,
    columns: Vec<Column>,
    address: u64,
    names: HashMap<String, PathBuf>,
    current: PathBuf,
    files: BTreeMap<PathBuf, BTreeMap<u64, Counts>>,
}

pub(crate) fn parse(text: &str) -> Result<Profile, ParseError> {
    let mut reading = Reading::default();
    // The line after `calls=` has the costs of what was called, which count there already.
    let mut of_call = false;
    for (number, line) in text.lines().enumerate() {
        let error = |why| ParseError::Line {
            line: number + 1,
            why,
        };
        let line = line.trim();
        let begins = line.as_bytes().first().copied().unwrap_or(b'#');
        if begins.is_ascii_digit() || matches!(begins, b'+' | b'-' | b'*') {
            reading.costs(line, of_call).map_err(error)?;
            of_call = false;
        } else if let Some(given) = line.strip_prefix("positions:") {
            let mut names = given.split_whitespace();
            if names.next() != Some("instr") {
                return Err(ParseError::NoAddresses);
            }
            reading.positions = 1 + names.count();
        } else if let Some(given) = line.strip_prefix("events:") {
            reading.columns = given.split_whitespace().map(column).collect();
        } else if let Some(given) = line.strip_prefix("ob=") {
            reading.current = reading.name(given);
        } else if let Some(given) = line.strip_prefix("cob=") {
            // Only for the name that it may define.
            reading.name(given);
        } else if line.starts_with("calls=") {
            of_call = true;
        }
    }
    if reading.positions == 0 {
        return Err(ParseError::NoAddresses);
    }
    Ok(Profile {
        files: reading.files,
    })
}

impl Reading {
    /// A name, which may be given a number, `(1) name`, or stand as that number, `(1)`.
    fn name(&mut self, given: &str) -> PathBuf {
        let Some((number, name)) = given
            .strip_prefix('(')
            .and_then(|rest| rest.split_once(')'))
        else {
            return PathBuf::from(given);
        };
        let name = name.trim();
        if name.is_empty() {
            return self.names.get(number).cloned().unwrap_or_default();
        }
        self.names.insert(number.to_owned(), PathBuf::from(name));
        PathBuf::from(name)
    }

    fn costs(&mut self, line: &str, of_call: bool) -> Result<(), &'static str> {
        let mut words = line.split_whitespace();
        let position = words.next().ok_or("a position is missing")?;
        self.address = address(position, self.address).ok_or("a position is no number")?;
        if of_call {
            return Ok(());
        }
        if self.positions == 0 {
            return Err("costs stand before `positions:`");
        }
        let file = match self.files.get_mut(&self.current) {
            Some(file) => file,
            None => self.files.entry(self.current.clone()).or_default(),
        };
        let mut counts = Counts::default();
        // Counts of 0 at the end are left out.
        for (word, column) in words.skip(self.positions - 1).zip(&self.columns) {
            let count = word.parse().map_err(|_| "a count is no number")?;
            if let Some(field) = column {
                *field(&mut counts) = count;
            }
        }
        file.entry(self.address).or_default().add(&counts);
        Ok(())
    }
}

/// An address, perhaps relative to the one before.
fn address(word: &str, before: u64) -> Option<u64> {
    let number = |digits: &str| match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => digits.parse().ok(),
    };
    match word.as_bytes().first()? {
        b'*' => Some(before),
        b'+' => before.checked_add(number(&word[1..])?),
        b'-' => before.checked_sub(number(&word[1..])?),
        _ => number(word),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::path::Path;

    const TEXT: &str = "# callgrind format\nversion: 1\npositions: instr line\n\
        events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw\n\n\
        ob=(1) /bin/a\nfn=(1) main\n0x11e0 15 1 0 1 1 0 0 1\n+2 16 1\n* 17 4 3 0 0 2\n\
        cob=(2) /lib/b\ncfn=(2) f\ncalls=1 0x142b0 0\n0x11e5 10 8 4\n0x11e5 10 1\n\n\
        ob=(2)\nfn=(2)\n-5 3 7 7\n";

    #[test]
    fn instructions_are_counted_where_they_lie() {
        let profile = Profile::parse(TEXT).unwrap();
        let a = Path::new("/bin/a");
        assert_eq!(profile.at(a, 0x11e0).writes, 1);
        let again = profile.at(a, 0x11e2);
        assert_eq!(
            (again.executed, again.reads, again.first_misses()),
            (5, 3, 2)
        );
        assert_eq!(profile.at(a, 0x11e5).executed, 1);
        assert_eq!(profile.at(Path::new("/lib/b"), 0x11e0).executed, 7);
        assert_eq!(profile.sum(a, 0x11e0, 0x11e5).executed, 6);
        assert_eq!(profile.at(a, 1), Counts::default());
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        assert_eq!(Profile::parse(""), Err(ParseError::NoAddresses));
        let by_line = TEXT.replace("instr line", "line");
        assert_eq!(Profile::parse(&by_line), Err(ParseError::NoAddresses));
        let odd = TEXT.replace("+2 16 1", "+2 16 x");
        let error = Profile::parse(&odd).unwrap_err();
        assert_eq!(
            error.to_string(),
            "line 9 of callgrind's output is not understood: a count is no number"
        );
    }

    proptest! {
        #[test]
        fn anything_is_read_without_panicking(text in "[0-9a-fx()+*=: \nobcalspitnreIDw-]{0,200}") {
            let _ = Profile::parse(&text);
            let _ = Profile::parse(&format!("positions: instr line\nevents: Ir Dr\n{text}"));
        }
    }
}
