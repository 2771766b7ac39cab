//! From facts and predictions to causes: why a program does not run faster on more
//! threads, ranked by what each reason costs.
//!
//! There is one list, and every page reads it: what a report calls the largest loss,
//! what limits a region, and what it advises come from the same [`Cause`]s, so that
//! they cannot contradict each other. A cause states its evidence in numbers, what it
//! costs at the measured and at the largest predicted thread count, and one thing to
//! do. What cannot be told apart is one cause that says so.
//!
//! | Module | Finds |
//! |---|---|
//! | [`waiting`] | why threads wait for each other: unequal work, few pieces, page faults, constructs that hold too little work |
//! | [`constructs`] | locks, critical and ordered sections, chunks, tasks, forks |
//! | [`floats`] | threads that compute with different floating-point environments |
//! | [`growth`] | computing that takes longer with more threads: memory or shared cache lines |
//! | [`library`] | the functions of libraries in which it does |
//! | [`pace`] | how much of that the processors did themselves |
//! | [`teams`] | teams whose size does not follow what the program is given, and who decided that |
//! | [`program`] | serial time, shared processors, blocking, nodes, other programs, the recording itself |
//! | [`ranks`] | what ranks of an MPI program lose to each other, to messages and to MPI itself |
//! | [`soundness`] | whether anything may be concluded at all |
//! | [`ranking`] | what the scaling model says of each, and the order |
#![forbid(unsafe_code)]

mod between;
mod cause;
mod constructs;
mod floats;
mod growth;
mod input;
mod library;
mod mpi;
mod pace;
mod program;
mod ranking;
mod ranks;
mod region;
mod soundness;
mod tasks;
mod teams;
mod waited;
mod waiting;

pub use cause::{Basis, Cause, Cost, Diagnosis, Kind, WORTH_SAYING, costs};
pub use input::Input;
pub use ranks::{RankCause, diagnose_ranks};
pub use soundness::Soundness;

use between::Between;
use fathomp_analysis::SiteKind;
use region::Seen;

/// What recordings of one program allow to conclude: computed once, read by every page.
#[derive(Clone, Debug, Default)]
pub struct Verdict {
    /// Whether anything may be concluded at all.
    pub soundness: Soundness,
    /// The causes of lost time; none where nothing may be concluded.
    pub diagnosis: Diagnosis,
}

/// Finds the causes of lost time, the most expensive first.
#[must_use]
pub fn diagnose(input: &Input<'_>) -> Diagnosis {
    let mut causes = Vec::new();
    for region in &input.main.regions {
        if region.kind == SiteKind::Serial {
            continue;
        }
        let seen = Seen::new(input, region);
        waiting::find(&seen, &mut causes);
        constructs::find(&seen, &mut causes);
        growth::find(&seen, &mut causes);
        program::find_in_region(&seen, &mut causes);
        teams::find(&seen, &mut causes);
        floats::find(&seen, &mut causes);
    }
    let between = Between::of(input, &causes);
    program::find(input, between.as_ref(), &mut causes);
    if let Some(between) = &between {
        between.add_measured(input, &mut causes);
    }
    // Where threads could seldom run at the same time, times say more about the other programs.
    if input.main.taken().is_some() {
        causes.retain(|one| one.basis == Basis::Counts || one.kind.is_circumstance());
    }
    ranking::rank(input, between.as_ref(), causes)
}
