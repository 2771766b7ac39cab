//! `taskloop`, for iteration variables that fit into `long` and for others.

use super::reductions;
use super::task::{Flags, size};
use crate::entry::entries;
use fathomp_omp::task::{self, Clauses, Grain, TaskLoop};
use fathomp_omp::{current, observer};
use fathomp_sys::outlined::{Opaque, Outlined};
use fathomp_sys::task_arguments::{Arguments, CopyFunction};
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_ulonglong};

/// What both entry points have in common.
struct Asked {
    function: extern "C" fn(Opaque),
    data: Opaque,
    copy: Option<CopyFunction>,
    bytes: c_long,
    align: c_long,
    flags: Flags,
    num_tasks: c_ulong,
    priority: c_int,
}

entries! {
    /// `void GOMP_taskloop(void (*fn)(void *), void *data, void (*cpyfn)(void *, void *),
    /// long arg_size, long arg_align, unsigned flags, unsigned long num_tasks,
    /// int priority, long start, long end, long step)`
    fn GOMP_taskloop(
        function: extern "C" fn(Opaque),
        data: Opaque,
        copy: Option<CopyFunction>,
        bytes: c_long,
        align: c_long,
        flags: c_uint,
        num_tasks: c_ulong,
        priority: c_int,
        start: c_long,
        end: c_long,
        step: c_long,
    ) {
        let asked = Asked {
            function,
            data,
            copy,
            bytes,
            align,
            flags: Flags(flags),
            num_tasks,
            priority,
        };
        let count = if step > 0 {
            count_up(start < end, end.wrapping_sub(start), step.unsigned_abs())
        } else {
            count_up(start > end, start.wrapping_sub(end), step.unsigned_abs())
        };
        // SAFETY: promised by our caller; bounds wrap to the same 64 bits.
        unsafe { run(&asked, count, start as u64, end as u64, step as u64) };
    }
    /// `void GOMP_taskloop_ull(...)`: as [`GOMP_taskloop`], with bounds and step of
    /// type `unsigned long long` and a flag for the direction.
    fn GOMP_taskloop_ull(
        function: extern "C" fn(Opaque),
        data: Opaque,
        copy: Option<CopyFunction>,
        bytes: c_long,
        align: c_long,
        flags: c_uint,
        num_tasks: c_ulong,
        priority: c_int,
        start: c_ulonglong,
        end: c_ulonglong,
        step: c_ulonglong,
    ) {
        let asked = Asked {
            function,
            data,
            copy,
            bytes,
            align,
            flags: Flags(flags),
            num_tasks,
            priority,
        };
        let count = if asked.flags.has(Flags::UP) {
            count_up(start < end, end.wrapping_sub(start) as i64, step)
        } else {
            count_up(
                start > end,
                start.wrapping_sub(end) as i64,
                step.wrapping_neg(),
            )
        };
        // SAFETY: promised by our caller.
        unsafe { run(&asked, count, start, end, step) };
    }
}

/// Iterations of a loop over `distance` (as 64 bits without sign), if there
/// are any.
fn count_up(any: bool, distance: i64, step: u64) -> u64 {
    if any {
        (distance as u64).div_ceil(step.max(1))
    } else {
        0
    }
}

/// # Safety
/// As of [`GOMP_taskloop`].
unsafe fn run(asked: &Asked, count: u64, start: u64, end: u64, step: u64) {
    let flags = asked.flags;
    let member = current();
    let grouped = !flags.has(Flags::NOGROUP);
    let reduces = grouped && flags.has(Flags::REDUCTION);
    // SAFETY: with reductions, the table's address is the block's third word.
    let table = reduces.then(|| unsafe { reductions::table_of_taskloop(asked.data) });
    if count == 0 {
        if let Some(table) = table {
            // SAFETY: the table the compiler built for this construct.
            unsafe { reductions::mark_unregistered(table) };
        }
        return;
    }
    if grouped {
        task::group_start(member);
    }
    if let Some(table) = table {
        // SAFETY: as above.
        unsafe { reductions::register_in_group(member, table) };
    }
    // SAFETY: promised by our caller; the function for as long as tasks live.
    let (function, arguments) = unsafe {
        (
            Outlined::from_program(asked.function),
            Arguments::from_program(asked.data, size(asked.bytes), size(asked.align), asked.copy),
        )
    };
    let number = asked.num_tasks;
    let asked = TaskLoop {
        function,
        arguments,
        start,
        end,
        step,
        count,
        grain: match (flags.has(Flags::GRAINSIZE), flags.has(Flags::STRICT)) {
            (false, _) => Grain::Tasks(number),
            (true, false) => Grain::AtLeast(number),
            (true, true) => Grain::Exactly(number),
        },
        clauses: Clauses {
            deferrable: flags.has(Flags::IF),
            is_final: flags.is_final(),
            priority: flags.priority(asked.priority),
            stays: false,
        },
        is_grouped: grouped,
    };
    observer::announce(|| flags.told());
    observer::taskloop(member, count, || task::taskloop(member, &asked));
    if grouped {
        task::group_end(member);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_reach_the_types_limits() {
        let span = i64::MAX.wrapping_sub(i64::MIN);
        assert_eq!(count_up(true, span, 1), u64::MAX);
        assert_eq!(count_up(true, 10, 3), 4);
        assert_eq!(count_up(false, 10, 3), 0);
        assert_eq!(count_up(true, 10, 0), 10);
    }
}
