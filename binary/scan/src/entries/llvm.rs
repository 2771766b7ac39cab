//! LLVM's OpenMP interface, which clang compiles into: `__kmpc_*`.
//!
//! Bounds of loops are inclusive and have the width of the loop's variable, which the end of the
//! entry point's name says.

use fathomp_regions::{BodyKind, CallKind, ScheduleKind};

/// What an entry point starts, and which of its arguments is the function.
pub(super) fn starter(name: &str) -> Option<(BodyKind, u8)> {
    Some(match name {
        "__kmpc_fork_call" | "__kmpc_fork_call_if" => (BodyKind::Parallel, 2),
        "__kmpc_fork_teams" => (BodyKind::Target, 2),
        "__kmpc_omp_task_alloc" | "__kmpc_omp_target_task_alloc" => (BodyKind::Task, 5),
        _ => return None,
    })
}

/// A call that says which part of a loop a thread gets: which of its arguments say what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Loop {
    pub(crate) call: LoopCall,
    /// Bytes of the loop's variable.
    pub(crate) bytes: u8,
}

/// Kinds of such calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LoopCall {
    /// Changes the bounds of the loop, whose addresses are arguments, to those of the thread's
    /// part: arguments 4 to 6 are the addresses of the first and the last value and the stride,
    /// then come step and chunk size.
    Static,
    /// The same for a part of a team's part; the address of the team's last value comes before
    /// that of the stride.
    StaticOfTeam,
    /// Begins a loop: arguments 3 to 6 are the first and the last value, step and chunk size.
    Begin,
    /// Asks for a chunk: arguments 3 and 4 are where the bounds go.
    Next,
}

/// What a call of that name is for a loop.
pub(crate) fn loop_call(name: &str) -> Option<Loop> {
    let rest = name.strip_prefix("__kmpc_")?;
    let rest = rest.strip_suffix('u').unwrap_or(rest);
    let (rest, bytes) = match rest.strip_suffix("_4") {
        Some(rest) => (rest, 4),
        None => (rest.strip_suffix("_8")?, 8),
    };
    let call = match rest {
        "for_static_init" => LoopCall::Static,
        "dist_for_static_init" => LoopCall::StaticOfTeam,
        "dispatch_init" => LoopCall::Begin,
        "dispatch_next" => LoopCall::Next,
        _ => return None,
    };
    Some(Loop { call, bytes })
}

/// How a loop is divided, by the number that the compiler passes; whether it is chunks in turn.
pub(crate) fn schedule(number: i64) -> (ScheduleKind, bool) {
    // Without modifiers, and ordered loops as others.
    let number = number & !(3 << 29);
    let number = match number {
        64..128 => number - 32,
        _ => number,
    };
    match number {
        33 => (ScheduleKind::Static, true),
        35 => (ScheduleKind::Dynamic, false),
        36 | 42 | 43 | 46 => (ScheduleKind::Guided, false),
        37 | 47 => (ScheduleKind::Runtime, false),
        _ => (ScheduleKind::Static, false),
    }
}

/// Whether a function of that name shares work between threads.
pub(super) fn shares(name: &str) -> bool {
    loop_call(name).is_some() || matches!(name, "__kmpc_single" | "__kmpc_sections_init")
}

/// Whether the call that starts a body is of this interface: then its function takes the
/// addresses of two numbers and an argument for each variable.
pub(crate) fn is_entry(name: &str) -> bool {
    name.starts_with("__kmpc_")
}

/// What a function is, by its name behind the prefix.
pub(super) fn kind(rest: &str) -> CallKind {
    let begins = |names: &[&str]| names.iter().any(|name| rest.starts_with(name));
    if begins(&["barrier", "cancel_barrier"]) {
        CallKind::Barrier
    } else if begins(&["critical", "end_critical", "reduce", "end_reduce", "atomic"]) {
        CallKind::Mutex
    } else if begins(&["omp_task", "omp_wait", "task", "end_task"]) {
        CallKind::Tasking
    } else if begins(&["fork", "serialized_parallel", "end_serialized_parallel"]) {
        CallKind::Parallel
    } else if begins(&[
        "for_static",
        "dist",
        "dispatch",
        "single",
        "end_single",
        "copyprivate",
        "ordered",
        "end_ordered",
        "doacross",
        "sections",
        "next_section",
        "end_sections",
    ]) {
        CallKind::Worksharing
    } else {
        CallKind::Runtime
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_calls_are() {
        let call = |name| loop_call(name).map(|found| (found.call, found.bytes));
        assert_eq!(
            call("__kmpc_for_static_init_8u"),
            Some((LoopCall::Static, 8))
        );
        assert_eq!(call("__kmpc_dispatch_next_4"), Some((LoopCall::Next, 4)));
        assert_eq!(call("__kmpc_dispatch_fini_4"), None);
        assert_eq!(starter("__kmpc_fork_call"), Some((BodyKind::Parallel, 2)));
        assert_eq!(kind("end_reduce_nowait"), CallKind::Mutex);
        assert_eq!(kind("omp_taskwait"), CallKind::Tasking);
        assert_eq!(kind("push_num_threads"), CallKind::Runtime);
    }

    #[test]
    fn numbers_say_how_loops_are_divided() {
        assert_eq!(schedule(34), (ScheduleKind::Static, false));
        assert_eq!(schedule(33), (ScheduleKind::Static, true));
        assert_eq!(schedule(1 << 30 | 35), (ScheduleKind::Dynamic, false));
        assert_eq!(schedule(68), (ScheduleKind::Guided, false));
    }
}
