//! Numbers of threads and lists of them.

use std::str::FromStr;

/// More threads than any machine we can speak about.
const THREADS_MAX: u32 = 1 << 20;
/// More entries than anybody wants to wait for.
const ENTRIES_MAX: usize = 1000;

/// A number of threads, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadCount(pub u32);

impl ThreadCount {
    /// So many times as many.
    pub fn times(self, factor: u32) -> Self {
        Self(self.0.saturating_mul(factor))
    }
}

/// Numbers of threads, ascending, each once, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadList(pub Vec<u32>);

/// The text does not say how many threads.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ThreadsError {
    /// A part is no number of threads.
    #[error("\"{0}\" is not a number of threads: give a whole number from 1 to {THREADS_MAX}")]
    NotACount(String),
    /// It is no list.
    #[error("\"{0}\" is not a list of thread numbers: write them like 1,2,4 or 1-4")]
    NotAList(String),
    /// It names more numbers than anybody waits for.
    #[error("the list has more than {ENTRIES_MAX} numbers: name fewer")]
    TooLong,
}

impl FromStr for ThreadCount {
    type Err = ThreadsError;

    fn from_str(text: &str) -> Result<Self, ThreadsError> {
        count(text).map(Self)
    }
}

impl FromStr for ThreadList {
    type Err = ThreadsError;

    fn from_str(text: &str) -> Result<Self, ThreadsError> {
        let mut list = Vec::new();
        for part in text.split(',') {
            let (from, to) = match part.split_once('-') {
                Some((from, to)) if !from.trim().is_empty() => (count(from)?, count(to)?),
                Some(_) => return Err(ThreadsError::NotACount(part.trim().to_owned())),
                None if part.trim().is_empty() => {
                    return Err(ThreadsError::NotAList(text.to_owned()));
                }
                None => (count(part)?, count(part)?),
            };
            if from > to {
                return Err(ThreadsError::NotAList(text.to_owned()));
            }
            if (to - from) as usize + list.len() >= ENTRIES_MAX {
                return Err(ThreadsError::TooLong);
            }
            list.extend(from..=to);
        }
        list.sort_unstable();
        list.dedup();
        Ok(Self(list))
    }
}

impl ThreadList {
    /// Powers of two up to `most`, and `most` itself.
    pub fn doubling(most: u32) -> Self {
        let most = most.max(1);
        let mut list: Vec<u32> = (0..u32::BITS)
            .map(|shift| 1 << shift)
            .take_while(|count| *count < most)
            .collect();
        list.push(most);
        Self(list)
    }
}

fn count(text: &str) -> Result<u32, ThreadsError> {
    let text = text.trim();
    text.parse()
        .ok()
        .filter(|count| (1..=THREADS_MAX).contains(count))
        .ok_or_else(|| ThreadsError::NotACount(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(text: &str) -> Result<Vec<u32>, ThreadsError> {
        text.parse::<ThreadList>().map(|list| list.0)
    }

    #[test]
    fn lists_are_sorted_and_each_number_counts_once() {
        assert_eq!(list("4,1,2,2"), Ok(vec![1, 2, 4]));
        assert_eq!(list(" 1 , 3-5"), Ok(vec![1, 3, 4, 5]));
    }

    #[test]
    fn nonsense_is_named() {
        for text in [
            "",
            ",",
            "1,,2",
            "0",
            "-1",
            "two",
            "4-1",
            "1-",
            "99999999999",
            "1e3",
            "1-9999",
        ] {
            assert!(list(text).is_err(), "{text}");
        }
    }

    #[test]
    fn doubling_ends_at_the_most() {
        assert_eq!(ThreadList::doubling(6).0, [1, 2, 4, 6]);
        assert_eq!(ThreadList::doubling(8).0, [1, 2, 4, 8]);
        assert_eq!(ThreadList::doubling(1).0, [1]);
        assert_eq!(ThreadList::doubling(0).0, [1]);
    }
}
