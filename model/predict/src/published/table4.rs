//! The published table 4: mean errors by class and choice of programs.

use fathomp_launch::Protocol;
use serde::Serialize;
use std::collections::BTreeSet;

/// Programs whose speedups the paper leaves out of some means: they do so badly on a cluster
/// that their relative errors outweigh all others.
const LEFT_OUT: [&[&str]; 3] = [&[], &["lu"], &["lu", "cg"]];

/// A row of the table; `K` says who predicts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Table4Row<K> {
    /// What shared memory between nodes; none for threads of one process.
    pub protocol: Option<Protocol>,
    /// The programs' class, such as A; empty if they have none.
    pub class: String,
    /// Which programs: `all`, `without LU`, `without LU and CG`.
    pub subset: String,
    /// Who predicts.
    pub predictor: K,
    /// Mean of |predicted - observed| / observed, and of how many programs, by number of threads.
    pub errors: Vec<(u32, f64, u32)>,
}

/// A speedup that goes into the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Speedup<'a, K> {
    pub(crate) protocol: Option<Protocol>,
    pub(crate) program: &'a str,
    pub(crate) threads: u32,
    pub(crate) predictor: K,
    pub(crate) predicted: f64,
    pub(crate) observed: f64,
}

/// `cg` and `A` of `cg.A` and of `A CG`.
fn parts(program: &str) -> (String, String) {
    let is_class = |word: &str| matches!(word, "S" | "W" | "A" | "B" | "C" | "D" | "E");
    let (name, class) = match (program.rsplit_once('.'), program.split_once(' ')) {
        (Some((name, class)), _) if is_class(class) => (name, class),
        (_, Some((class, name))) if is_class(class) => (name, class),
        _ => (program, ""),
    };
    let name = name.rsplit('/').next().unwrap_or(name);
    (name.to_ascii_lowercase(), class.to_owned())
}

fn subset(left_out: &[&str]) -> String {
    match left_out {
        [] => "all".to_owned(),
        names => format!(
            "without {}",
            names
                .join(" and ")
                .to_ascii_uppercase()
                .replace(" AND ", " and ")
        ),
    }
}

/// The table of these speedups.
pub(crate) fn of_speedups<K: Copy + Ord>(speedups: &[Speedup<'_, K>]) -> Vec<Table4Row<K>> {
    let kind = |one: &Speedup<'_, K>| (one.protocol.map(Protocol::name), parts(one.program).1);
    let kinds: BTreeSet<_> = speedups.iter().map(kind).collect();
    let mut table = Vec::new();
    for wanted in kinds {
        let of_kind: Vec<_> = speedups.iter().filter(|one| kind(one) == wanted).collect();
        let mut before = usize::MAX;
        for left_out in LEFT_OUT {
            let mut kept = of_kind.clone();
            kept.retain(|one| !left_out.contains(&parts(one.program).0.as_str()));
            // Leaving out what is not there changes nothing.
            if kept.is_empty() || kept.len() == before {
                continue;
            }
            before = kept.len();
            table.extend(of_programs(&kept, &wanted.1, &subset(left_out)));
        }
    }
    table
}

fn of_programs<K: Copy + Ord>(
    kept: &[&Speedup<'_, K>],
    class: &str,
    subset: &str,
) -> Vec<Table4Row<K>> {
    let predictors: BTreeSet<K> = kept.iter().map(|one| one.predictor).collect();
    let threads: BTreeSet<u32> = kept.iter().map(|one| one.threads).collect();
    predictors
        .into_iter()
        .map(|predictor| Table4Row {
            protocol: kept.first().and_then(|one| one.protocol),
            class: class.to_owned(),
            subset: subset.to_owned(),
            predictor,
            errors: threads
                .iter()
                .filter_map(|threads| {
                    let pairs: Vec<(f64, f64)> = kept
                        .iter()
                        .filter(|one| one.threads == *threads && one.predictor == predictor)
                        .map(|one| (one.predicted, one.observed))
                        .collect();
                    Some((*threads, mean_relative_error(&pairs)?, pairs.len() as u32))
                })
                .collect(),
        })
        .collect()
}

/// Mean of |predicted - observed| / observed over (predicted, observed): the
/// error of the published table 4. None if there are no pairs.
#[must_use]
pub fn mean_relative_error(pairs: &[(f64, f64)]) -> Option<f64> {
    let sum: f64 = pairs
        .iter()
        .map(|(predicted, observed)| (predicted / observed - 1.0).abs())
        .sum();
    (!pairs.is_empty()).then(|| sum / pairs.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_classes() {
        assert_eq!(parts("npb/cg.A"), ("cg".to_owned(), "A".to_owned()));
        assert_eq!(parts("LU.S").0, "lu");
        assert_eq!(parts("C LU"), ("lu".to_owned(), "C".to_owned()));
        assert_eq!(parts("solver"), ("solver".to_owned(), String::new()));
        assert_eq!(parts("A"), ("a".to_owned(), String::new()));
        assert_eq!(parts("solver.exe").1, "");
        assert_eq!(subset(&["lu", "cg"]), "without LU and CG");
    }
}
