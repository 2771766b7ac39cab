//! `OMP_PLACES` and `GOMP_CPU_AFFINITY`: what the user wrote, expanded but not
//! yet compared with the machine (see [`crate::places`] for that).

use std::str::FromStr;

/// Processors above this number do not exist (the kernel's limit is 8192);
/// bounds what a few characters can expand to.
pub const CPU_LIMIT: u32 = 1 << 16;
/// Longest list of places accepted.
const PLACE_LIMIT: usize = 1 << 16;

/// Parts of the machine an abstract name speaks of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PlaceKind {
    /// A hardware thread.
    Threads,
    /// A core.
    Cores,
    /// Cores that share a last-level cache.
    LlCaches,
    /// A NUMA domain.
    NumaDomains,
    /// A socket.
    Sockets,
}

/// A place list as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacesSpec {
    /// An abstract name, with the number of places if given.
    Abstract(PlaceKind, Option<u32>),
    /// Sets of processor numbers, each sorted.
    Explicit(Vec<Vec<u32>>),
}

/// The value of `OMP_PLACES`.
pub(super) fn places(text: &str) -> Option<PlacesSpec> {
    let mut scan = Scanner::new(text);
    let spec = match scan.word() {
        "" => PlacesSpec::Explicit(scan.place_list()?),
        word => {
            let kind = super::value::one_of(
                word,
                &[
                    ("threads", PlaceKind::Threads),
                    ("cores", PlaceKind::Cores),
                    ("ll_caches", PlaceKind::LlCaches),
                    ("numa_domains", PlaceKind::NumaDomains),
                    ("sockets", PlaceKind::Sockets),
                ],
            )?;
            let count = if scan.eat('(') {
                let count = scan.number::<u32>().filter(|&n| n > 0)?;
                scan.eat(')').then_some(Some(count))?
            } else {
                None
            };
            PlacesSpec::Abstract(kind, count)
        }
    };
    scan.at_end().then_some(spec)
}

/// The value of `GOMP_CPU_AFFINITY`: `cpu[-cpu[:stride]]`, separated by blanks
/// or commas. Every processor becomes a place; one may be named repeatedly.
pub(super) fn cpu_affinity(text: &str) -> Option<PlacesSpec> {
    let mut places = Vec::new();
    for item in text
        .split(|c: char| c == ',' || c.is_whitespace())
        .filter(|item| !item.is_empty())
    {
        let mut scan = Scanner::new(item);
        let first: u32 = scan.number()?;
        let last = if scan.eat('-') { scan.number()? } else { first };
        let stride = if scan.eat(':') {
            scan.number::<u32>().filter(|&n| n > 0)?
        } else {
            1
        };
        if !scan.at_end() || last < first || last >= CPU_LIMIT {
            return None;
        }
        places.extend((first..=last).step_by(stride as usize).map(|cpu| vec![cpu]));
        if places.len() > PLACE_LIMIT {
            return None;
        }
    }
    (!places.is_empty()).then_some(PlacesSpec::Explicit(places))
}

/// Walks over the text, blanks between tokens ignored.
struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a str) -> Self {
        Self { rest: text.trim() }
    }

    fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// Takes the characters that satisfy `belongs`, and blanks behind them.
    fn take(&mut self, belongs: impl Fn(char) -> bool) -> &'a str {
        let end = self
            .rest
            .find(|c: char| !belongs(c))
            .unwrap_or(self.rest.len());
        let (token, rest) = self.rest.split_at(end);
        self.rest = rest.trim_start();
        token
    }

    /// A word, if one comes next.
    fn word(&mut self) -> &'a str {
        if self.rest.starts_with(|c: char| c.is_ascii_alphabetic()) {
            self.take(|c| c.is_ascii_alphanumeric() || c == '_')
        } else {
            ""
        }
    }

    fn eat(&mut self, token: char) -> bool {
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }

    fn number<T: FromStr>(&mut self) -> Option<T> {
        self.take(|c| c.is_ascii_digit()).parse().ok()
    }

    fn signed(&mut self) -> Option<i64> {
        let negative = self.eat('-') || {
            self.eat('+');
            false
        };
        let magnitude = self.number::<u32>()?;
        Some(if negative {
            -i64::from(magnitude)
        } else {
            i64::from(magnitude)
        })
    }

    /// `[:len[:stride]]`; 1 and 1 if absent.
    fn interval(&mut self) -> Option<(u32, i64)> {
        if !self.eat(':') {
            return Some((1, 1));
        }
        let len = self
            .number::<u32>()
            .filter(|len| (1..=CPU_LIMIT).contains(len))?;
        let stride = if self.eat(':') { self.signed()? } else { 1 };
        Some((len, stride))
    }

    /// `{res-interval, ...}`, or a processor number alone.
    fn place(&mut self) -> Option<Vec<u32>> {
        if !self.eat('{') {
            return Some(vec![self.number().filter(|&cpu| cpu < CPU_LIMIT)?]);
        }
        let (mut cpus, mut excluded) = (Vec::new(), Vec::new());
        loop {
            if self.eat('!') {
                excluded.push(self.number::<u32>()?);
            } else {
                let first = self.number::<u32>()?;
                let (len, stride) = self.interval()?;
                for step in 0..i64::from(len) {
                    cpus.push(shifted(first, step * stride)?);
                }
            }
            if cpus.len() > PLACE_LIMIT {
                return None;
            }
            if self.eat('}') {
                break;
            }
            if !self.eat(',') {
                return None;
            }
        }
        cpus.sort_unstable();
        cpus.dedup();
        cpus.retain(|cpu| !excluded.contains(cpu));
        (!cpus.is_empty()).then_some(cpus)
    }

    /// `place-interval, ...`
    fn place_list(&mut self) -> Option<Vec<Vec<u32>>> {
        let (mut places, mut excluded) = (Vec::new(), Vec::new());
        let mut cpus = 0;
        loop {
            if self.eat('!') {
                excluded.push(self.place()?);
            } else {
                let place = self.place()?;
                let (len, stride) = self.interval()?;
                cpus += place.len() * len as usize;
                if cpus > 4 * PLACE_LIMIT {
                    return None;
                }
                for step in 0..i64::from(len) {
                    let moved = place.iter().map(|&cpu| shifted(cpu, step * stride));
                    places.push(moved.collect::<Option<Vec<_>>>()?);
                }
            }
            if !self.eat(',') {
                break;
            }
        }
        places.retain(|place| !excluded.contains(place));
        (!places.is_empty() && places.len() <= PLACE_LIMIT).then_some(places)
    }
}

fn shifted(cpu: u32, by: i64) -> Option<u32> {
    u32::try_from(i64::from(cpu) + by)
        .ok()
        .filter(|&cpu| cpu < CPU_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn explicit(text: &str) -> Option<Vec<Vec<u32>>> {
        match places(text) {
            Some(PlacesSpec::Explicit(list)) => Some(list),
            _ => None,
        }
    }

    #[test]
    fn abstract_names() {
        use PlaceKind::*;
        let spec = |kind, count| Some(PlacesSpec::Abstract(kind, count));
        assert_eq!(places(" Threads "), spec(Threads, None));
        assert_eq!(places("cores ( 3 )"), spec(Cores, Some(3)));
        assert_eq!(places("LL_CACHES"), spec(LlCaches, None));
        assert_eq!(places("numa_domains(2)"), spec(NumaDomains, Some(2)));
        for bad in [
            "core",
            "cores(0)",
            "cores(",
            "cores(2",
            "cores 2",
            "sockets(-1)",
            "",
        ] {
            assert_eq!(places(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn the_three_spellings_of_the_specification_agree() {
        let four_by_four = Some(vec![
            vec![0, 1, 2, 3],
            vec![4, 5, 6, 7],
            vec![8, 9, 10, 11],
            vec![12, 13, 14, 15],
        ]);
        assert_eq!(
            explicit("{0,1,2,3},{4,5,6,7},{8,9,10,11},{12,13,14,15}"),
            four_by_four
        );
        assert_eq!(explicit("{0:4},{4:4},{8:4},{12:4}"), four_by_four);
        assert_eq!(explicit("{0:4}:4:4"), four_by_four);
    }

    #[test]
    fn strides_exclusions_and_bare_numbers() {
        assert_eq!(explicit("{0:3:2, !2}"), Some(vec![vec![0, 4]]));
        assert_eq!(
            explicit("{6:2}:3:-3"),
            Some(vec![vec![6, 7], vec![3, 4], vec![0, 1]])
        );
        assert_eq!(
            explicit("{0}:4, !{2}"),
            Some(vec![vec![0], vec![1], vec![3]])
        );
        assert_eq!(explicit("3, 1"), Some(vec![vec![3], vec![1]]));
        for bad in [
            "{}",
            "{0",
            "{0}}",
            "{0},",
            "{0}:0",
            "{0:-1}",
            "{1}:3:-1",
            "{!0}",
            "{0},!{0}",
            "{0:99999999}",
            "{99999999}",
            "{0:65536}:65536",
        ] {
            assert_eq!(explicit(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn gomp_cpu_affinity() {
        let cpus = |text| match cpu_affinity(text) {
            Some(PlacesSpec::Explicit(list)) => Some(list.concat()),
            _ => None,
        };
        assert_eq!(cpus("0 3 1-2 4-15:5"), Some(vec![0, 3, 1, 2, 4, 9, 14]));
        assert_eq!(cpus("1,1"), Some(vec![1, 1]));
        for bad in ["", "x", "3-1", "1-", "0-8:0", "99999999"] {
            assert_eq!(cpus(bad), None, "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn no_text_upsets_the_parser(text in "[{}0-9,:!()a-z -]{0,24}") {
            if let Some(PlacesSpec::Explicit(list)) = places(&text) {
                prop_assert!(!list.is_empty());
                for place in list {
                    prop_assert!(!place.is_empty());
                    prop_assert!(place.is_sorted());
                }
            }
            let _ = cpu_affinity(&text);
        }
    }
}
