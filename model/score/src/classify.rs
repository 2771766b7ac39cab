//! Whether an access counts, hits or misses (section 4.2.2 of the thesis).

use crate::kernel::{Access, Statement};
use crate::rules::{Ignored, Rules};
use serde::Serialize;

/// What an access is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// It does not count: it does not vary, or in fewer dimensions than others do.
    Ignored,
    /// It comes again before all of its array has passed.
    Hit,
    /// Its array passes, neighbours one after the other.
    Streaming,
    /// Its array passes, each access far from the one before.
    Latency,
}

/// A class with its reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Judgement {
    /// The class.
    pub class: Class,
    /// Whether the array comes again after it passed.
    pub reused: bool,
    /// The reason, part of a sentence.
    pub why: &'static str,
}

/// Classifies an access of `statement`; `most` are the most dimensions in use by an access
/// of the region.
#[must_use]
pub fn judge(access: &Access, statement: &Statement, most: u32, rules: &Rules) -> Judgement {
    let judged = |class, reused, why| Judgement { class, reused, why };
    let of_statement = statement.accesses.iter().map(|one| one.dimensions).max();
    let needed = match rules.ignored {
        Ignored::InStatement => of_statement.unwrap_or(0),
        Ignored::InRegion => most,
        Ignored::Scalars => 1,
    };
    if access.dimensions == 0 {
        return judged(Class::Ignored, true, "the same element always");
    }
    if access.irregular {
        return if rules.irregular_hits {
            judged(
                Class::Hit,
                true,
                "a subscript is read from memory: taken as a hit",
            )
        } else {
            judged(Class::Latency, true, "a subscript is read from memory")
        };
    }
    if access.dimensions < needed {
        return judged(Class::Ignored, true, "fewer varying dimensions than others");
    }
    // The loops it uses are the innermost ones if they are as many as there are from the
    // outermost of them inwards.
    let passes = access
        .uses
        .first()
        .is_some_and(|outermost| statement.loops.saturating_sub(*outermost) == access.uses.len());
    if !passes {
        return judged(
            Class::Hit,
            true,
            "it comes again before all of its array has passed",
        );
    }
    let reused = access.uses.len() < statement.loops;
    match (access.consecutive, reused) {
        (true, true) => judged(
            Class::Streaming,
            true,
            "its indices are the fastest ones: all of its array passes before it comes again",
        ),
        (true, false) => judged(Class::Streaming, false, "neighbours in sequence, once"),
        (false, true) => judged(
            Class::Latency,
            true,
            "its indices are the fastest ones, and neighbours are far apart",
        ),
        (false, false) => judged(Class::Latency, false, "neighbours are far apart"),
    }
}
