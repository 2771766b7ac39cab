//! `taskloop` constructs: a task that the program has filled in is copied for each piece of the
//! loop.

use super::task_memory::{FINAL, TaskMemory};
use super::tasks::create;
use super::types::{KmpTask, Location};
use crate::entry::entries;
use fathomp_omp::task::{self, Clauses, Grain, TaskLoop};
use fathomp_omp::{cluster, current, observer};
use fathomp_sys::outlined::{Opaque, Outlined, Way};
use fathomp_sys::task_arguments::Arguments;

/// Fills in what a copy cannot have by itself: `void dup(kmp_task_t *new, kmp_task_t *pattern,
/// int last)`.
type Duplicate = extern "C" fn(*mut KmpTask, *mut KmpTask, i32);

/// What the construct asks for.
struct Asked {
    pattern: TaskMemory,
    if_clause: bool,
    /// Where the pattern has its bounds.
    bounds: [*mut u64; 2],
    step: i64,
    grain: Grain,
    duplicate: Option<Duplicate>,
    /// The tasks are to be waited for, and are all that its taskgroup has.
    is_grouped: bool,
}

/// Iterations from `first` up to `last`, whatever their type: compilers see to it that what they
/// pass here is none if the first is beyond the last.
fn count(first: u64, last: u64, step: i64) -> u64 {
    match step {
        1 => last.wrapping_sub(first).wrapping_add(1),
        _ if step < 0 => first.wrapping_sub(last) / step.unsigned_abs() + 1,
        _ => last.wrapping_sub(first) / step.unsigned_abs().max(1) + 1,
    }
}

/// What all tasks of a loop have in common whose memory is made where they run, behind the two
/// words that the runtime writes: the first iteration of each and where it ends.
#[repr(C)]
struct Shared {
    bounds: [u64; 2],
    pattern: *mut KmpTask,
    /// Where in its memory a task has its bounds.
    places: [usize; 2],
    step: i64,
}

/// Runs a task of such a loop.
pub(super) extern "C" fn call(_code: usize, data: Opaque) {
    // SAFETY: tasks called this way have a copy of what `run_copies` has made, with bounds. The
    // pattern stays until the construct's taskgroup has ended.
    let (shared, pattern) = unsafe {
        let shared = &*std::ptr::with_exposed_provenance::<Shared>(data.0);
        (shared, TaskMemory::of(shared.pattern))
    };
    let [first, end] = shared.bounds;
    pattern.run_copy(|task| {
        // SAFETY: the bounds lie in the structure, so they have the same place in its copy.
        unsafe { write_bounds(task, shared.places, first, end, shared.step) };
    });
}

/// # Safety
/// At these places `task` has the first and the last iteration that it runs.
unsafe fn write_bounds(task: *mut KmpTask, places: [usize; 2], first: u64, end: u64, step: i64) {
    let [lower, upper] = places.map(|place| task.wrapping_byte_add(place).cast::<u64>());
    // SAFETY: promised by our caller.
    unsafe {
        lower.write(first);
        upper.write(end.wrapping_sub(step as u64));
    }
}

/// # Safety
/// These are the arguments of an entry point.
unsafe fn run(asked: &Asked) {
    let pattern = asked.pattern;
    // SAFETY: promised by our caller.
    let [first, last] = asked.bounds.map(|bound| unsafe { bound.read() });
    let count = count(first, last, asked.step);
    if count != 0 {
        let whole = Whole {
            first,
            count,
            places: asked
                .bounds
                .map(|bound| bound.addr().wrapping_sub(pattern.address())),
        };
        let made_where_run = asked.is_grouped
            && asked.duplicate.is_none()
            && pattern.has_short_copies()
            && !cluster::is_node();
        // SAFETY: promised by our caller.
        observer::taskloop(current(), count, || unsafe {
            match made_where_run {
                true => run_copies(asked, &whole),
                false => create_copies(asked, &whole),
            }
        });
    }
    if asked.is_grouped {
        // Before the pattern is destroyed, which tasks may still copy.
        task::group_wait(current());
    }
    pattern.destroy();
    pattern.free();
}

/// The iterations of a loop, and where a task has its bounds.
struct Whole {
    first: u64,
    count: u64,
    places: [usize; 2],
}

/// # Safety
/// As of [`run`], with a pattern of which copies are all that tasks need.
unsafe fn run_copies(asked: &Asked, whole: &Whole) {
    let pattern = asked.pattern;
    let shared = Shared {
        bounds: [0; 2],
        pattern: pattern.pointer(),
        places: whole.places,
        step: asked.step,
    };
    let data = Opaque((&raw const shared).expose_provenance());
    let step = asked.step as u64;
    // SAFETY: the function may be called with what `call` makes of a copy of these arguments.
    let (function, arguments) = unsafe {
        (
            Outlined::called_by(Way::LoopTask, pattern.code()),
            Arguments::from_program(data, size_of::<Shared>(), align_of::<Shared>(), None),
        )
    };
    task::taskloop(
        current(),
        &TaskLoop {
            function,
            arguments,
            start: whole.first,
            end: whole.first.wrapping_add(whole.count.wrapping_mul(step)),
            step,
            count: whole.count,
            grain: asked.grain,
            clauses: Clauses {
                deferrable: asked.if_clause,
                is_final: pattern.flags() & FINAL != 0,
                priority: pattern.priority(),
                stays: false,
            },
            is_grouped: true,
        },
    );
}

/// # Safety
/// As of [`run`].
unsafe fn create_copies(asked: &Asked, whole: &Whole) {
    let pattern = asked.pattern;
    let at = |number: u64| {
        let distance = number.wrapping_mul(asked.step as u64);
        whole.first.wrapping_add(distance)
    };
    let member = current();
    for piece in task::pieces(member, asked.grain, whole.count) {
        let copy = pattern.copy();
        let end = at(piece.from + piece.count);
        // SAFETY: the bounds lie in the structure, so they have the same place in its copy.
        unsafe {
            write_bounds(
                copy.pointer(),
                whole.places,
                at(piece.from),
                end,
                asked.step,
            );
            if let Some(duplicate) = asked.duplicate {
                duplicate(copy.pointer(), pattern.pointer(), i32::from(piece.is_last));
            }
            observer::piece(member, piece.from, piece.count);
            create(copy, asked.if_clause, &[]);
        }
    }
}

entries! {
    /// `void __kmpc_taskloop(ident_t *, int gtid, kmp_task_t *, int if_val, kmp_uint64 *lb,
    /// kmp_uint64 *ub, kmp_int64 st, int nogroup, int sched, kmp_uint64 grainsize, void
    /// *task_dup)`
    fn __kmpc_taskloop(location: Location, gtid: i32, task: *mut KmpTask, if_clause: i32,
        lower: *mut u64, upper: *mut u64, step: i64, nogroup: i32, schedule: i32, size: u64,
        duplicate: Option<Duplicate>) {
        // SAFETY: promised by our caller.
        unsafe {
            __kmpc_taskloop_5::body(location, gtid, task, if_clause, lower, upper, step, nogroup,
                schedule, size, 0, duplicate);
        }
    }
    /// The same with `int modifier` before `task_dup`: 1 is `strict`.
    fn __kmpc_taskloop_5(_location: Location, _gtid: i32, task: *mut KmpTask, if_clause: i32,
        lower: *mut u64, upper: *mut u64, step: i64, nogroup: i32, schedule: i32, size: u64,
        modifier: i32, duplicate: Option<Duplicate>) {
        let member = current();
        if nogroup == 0 {
            task::group_start(member);
        }
        let asked = Asked {
            // SAFETY: promised by our caller.
            pattern: unsafe { TaskMemory::of(task) },
            if_clause: if_clause != 0,
            bounds: [lower, upper],
            step,
            grain: match (schedule, modifier) {
                (1, 1) => Grain::Exactly(size),
                (1, _) => Grain::AtLeast(size),
                (2, _) => Grain::Tasks(size),
                _ => Grain::Tasks(0),
            },
            duplicate,
            // clang writes a taskgroup around loops without the clause, and says `nogroup` always.
            is_grouped: task::group_is_fresh(member),
        };
        // SAFETY: promised by our caller.
        unsafe { run(&asked) };
        if nogroup == 0 {
            task::group_end(member);
        }
    }
}
