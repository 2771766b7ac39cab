//! What a dry run has to know of a body beside its code.

use crate::program::Program;
use fathomp_regions::{Body, CallKind, Callee, Expr, Known};

/// Loops of a body that are counted, at most.
pub(crate) const LOOPS_MAX: usize = 64;
/// Calls that are answered, at most.
pub(crate) const CALLS_MAX: usize = 1024;

/// What a body's dry run has to know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DryPlan {
    /// Its loops; a loop stands behind the one around it.
    pub loops: Vec<LoopPlan>,
    /// Calls that are not followed, ascending by address.
    pub calls: Vec<(u64, Answer)>,
}

/// A loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopPlan {
    /// Its number in the body.
    pub id: u32,
    /// Address of its first block in the file.
    pub header: u64,
    /// The loop around it, by its place in [`DryPlan::loops`].
    pub parent: Option<u16>,
    /// Its trips for one thread alone, over words; none if they are not known or differ.
    pub trips: Option<Program>,
}

/// What a call comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// This value.
    Value(u64),
    /// A value that is not known.
    Unknown,
    /// All iterations of a worksharing loop of the ABI, by its arguments.
    LoopStart {
        /// A chunk size stands among the arguments.
        chunked: bool,
    },
    /// No dry run.
    GiveUp,
}

impl DryPlan {
    pub(super) fn answer(&self, at: u64) -> Option<Answer> {
        let found = self.calls.binary_search_by_key(&at, |(at, _)| *at);
        found
            .ok()
            .and_then(|found| self.calls.get(found))
            .map(|(_, answer)| *answer)
    }
}

/// What a dry run of `body` would have to know; `None` if it would find nothing that is not
/// known, or is bound to fail.
#[must_use]
pub fn plan(body: &Body, words: &[Expr]) -> Option<DryPlan> {
    let known = |looped: &fathomp_regions::Loop| match &looped.trips {
        // One that needs memory that differs by iteration has no value afterwards.
        Known::Known(trips) => evaluable(trips, words),
        Known::Unknown(_) => false,
    };
    let wanted = body.loops.iter().any(|looped| !known(looped));
    if !wanted || body.loops.len() > LOOPS_MAX || body.calls.len() > CALLS_MAX {
        return None;
    }
    let mut calls: Vec<(u64, Answer)> = body
        .calls
        .iter()
        .filter_map(|call| Some((call.at, answer(&call.callee, call.kind, call.followed)?)))
        .collect();
    // A body that starts teams or tasks holds more than its own loops.
    if calls.iter().any(|(_, answer)| *answer == Answer::GiveUp) {
        return None;
    }
    calls.sort_by_key(|(at, _)| *at);
    calls.dedup_by_key(|(at, _)| *at);
    let number = |part: &Expr| {
        let at = words.iter().position(|word| word == part)?;
        u16::try_from(at).ok()
    };
    let loops = (0..).zip(&body.loops).map(|(id, looped)| LoopPlan {
        id,
        header: looped.header,
        parent: looped
            .parent
            .and_then(|parent| u16::try_from(parent.0).ok()),
        trips: looped
            .trips
            .known()
            .filter(|trips| evaluable(trips, words) && !trips.depends_on_iterations())
            .and_then(|trips| Program::compile(trips, &mut |part| number(part)).ok()),
    });
    Some(DryPlan {
        loops: loops.collect(),
        calls,
    })
}

/// Whether all that an expression loads are words.
fn evaluable(expr: &Expr, words: &[Expr]) -> bool {
    if words.contains(expr) {
        return true;
    }
    match expr {
        Expr::Const(_) | Expr::Leaf(_) => true,
        Expr::Load { .. } => false,
        Expr::Op(_, left, right) => evaluable(left, words) && evaluable(right, words),
        Expr::Select(condition, yes, no) => [condition, yes, no]
            .into_iter()
            .all(|part| evaluable(part, words)),
    }
}

/// `None` if the callee is followed.
fn answer(callee: &Callee, kind: CallKind, followed: bool) -> Option<Answer> {
    let name = match callee {
        Callee::Import(name) => name.as_str(),
        // Its code is there, whether its accesses were taken in or not.
        Callee::Local(..) => return None,
        Callee::Indirect => return (!followed).then_some(Answer::GiveUp),
    };
    Some(match (name, kind) {
        ("omp_get_num_threads" | "omp_get_team_size" | "omp_in_parallel", _) => Answer::Value(1),
        ("omp_get_thread_num", _) => Answer::Value(0),
        ("GOMP_single_start", _) => Answer::Value(1),
        (_, CallKind::Parallel | CallKind::Tasking) => Answer::GiveUp,
        (name, CallKind::Worksharing) => worksharing(name),
        _ => Answer::Unknown,
    })
}

fn worksharing(name: &str) -> Answer {
    let Some(rest) = name.strip_prefix("GOMP_loop_") else {
        return Answer::GiveUp;
    };
    if rest.starts_with("end") {
        return Answer::Unknown;
    }
    let unusual = ["ull_", "doacross_", "ordered_"];
    if unusual.iter().any(|kind| rest.starts_with(kind)) {
        return Answer::GiveUp;
    }
    if rest.ends_with("_next") {
        return Answer::Value(0);
    }
    match rest.strip_suffix("_start") {
        Some(kind) => Answer::LoopStart {
            chunked: !kind.ends_with("runtime"),
        },
        None => Answer::GiveUp,
    }
}
