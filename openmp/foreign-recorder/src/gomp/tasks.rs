//! Tasks: libgomp is given a block of ours as a task's data, with the program's behind it, so
//! that ours is called when the task begins and ends.

use super::watched::{Body, watched};
use crate::front::front;
use crate::seen;
use std::ffi::{c_int, c_long, c_uint, c_ulong, c_ulonglong, c_void};
use std::ptr;

/// How the program copies a task's data.
type CopyData = unsafe extern "C" fn(*mut c_void, *mut c_void);

/// Of the flags of `GOMP_task`: there is an event, whose address goes to the data's first word.
const DETACH: c_uint = 1 << 13;
/// Of the flags of `GOMP_taskloop`: the data's third word has the address of reductions.
const REDUCTION: c_uint = 1 << 12;
/// Of those: it has the end of a group of its own.
const NO_GROUP: c_uint = 1 << 11;

/// What libgomp copies as a task's data. The program's follow at [`offset`](Self::offset), in
/// what is made for the task; before, they lie at [`data`](Self::data).
#[repr(C)]
#[derive(Clone, Copy)]
struct Block {
    /// Words that libgomp reads and writes: a taskloop's bounds and reductions, or an event.
    words: [u64; 3],
    /// How many of them go to the program's data.
    passed: usize,
    body: Body,
    copy: Option<CopyData>,
    data: *mut c_void,
    bytes: usize,
    offset: usize,
}

impl Block {
    fn new(task: &Program, words: [u64; 3], passed: usize) -> Self {
        let align = usize::try_from(task.align).unwrap_or(0).max(1);
        Self {
            words,
            passed,
            body: task.body,
            copy: task.copy,
            data: task.data,
            bytes: usize::try_from(task.bytes).unwrap_or(0),
            offset: size_of::<Self>().next_multiple_of(align),
        }
    }

    fn all_bytes(&self) -> c_long {
        c_long::try_from(self.offset + self.bytes).unwrap_or(c_long::MAX)
    }
}

/// A task as the program makes it.
struct Program {
    body: Body,
    data: *mut c_void,
    copy: Option<CopyData>,
    bytes: c_long,
    align: c_long,
}

impl Program {
    fn align_with_block(&self) -> c_long {
        self.align.max(align_of::<Block>() as c_long)
    }
}

/// Makes a task's data of a [`Block`].
///
/// # Safety
/// `from` is one that a front has made, and `to` has room for it and the program's data.
unsafe extern "C" fn copy(to: *mut c_void, from: *mut c_void) {
    // Of a taskloop there are several.
    if let Some(thread) = seen::thread() {
        thread.task_made();
    }
    // SAFETY: libgomp passes what it was given, and a place as large and aligned as it was told;
    // the program's data are there until the front has returned.
    unsafe {
        let block = from.cast::<Block>().read();
        to.cast::<Block>().write(block);
        let data = to.byte_add(block.offset);
        match block.copy {
            Some(copy) => copy(data, block.data),
            None => {
                ptr::copy_nonoverlapping(block.data.cast::<u8>(), data.cast::<u8>(), block.bytes)
            }
        }
    }
}

/// Runs a task.
///
/// # Safety
/// `block` is what [`copy`] has made.
unsafe extern "C" fn run(block: *mut c_void) {
    // SAFETY: libgomp calls it with the task's data, which are the thread's own now.
    unsafe {
        let data = block.byte_add((*block.cast::<Block>()).offset);
        let head = &*block.cast::<Block>();
        for (at, word) in head.words.iter().take(head.passed).enumerate() {
            data.cast::<u64>().add(at).write(*word);
        }
        let Some(thread) = seen::thread() else {
            return (head.body)(data);
        };
        thread.task_begins();
        (head.body)(data);
        thread.task_ends();
    }
}

front! {
    /// `#pragma omp task`.
    fn GOMP_task(
        body: Body, data: *mut c_void, copy_data: Option<CopyData>, bytes: c_long, align: c_long,
        deferred: bool, flags: c_uint, dependences: *mut *mut c_void, priority: c_int,
        event: *mut c_void
    ) |next| {
        if watched().is_none() {
            // SAFETY: promised by our caller.
            return unsafe {
                next(
                    body, data, copy_data, bytes, align, deferred, flags, dependences, priority,
                    event,
                )
            };
        }
        let task = Program { body, data, copy: copy_data, bytes, align };
        let passed = usize::from(flags & DETACH != 0 && !data.is_null());
        let mut block = Block::new(&task, [0; 3], passed);
        // SAFETY: promised by our caller; the block is there until the call returns, by which
        // time it has been copied.
        unsafe {
            next(
                run, (&raw mut block).cast(), Some(copy), block.all_bytes(),
                task.align_with_block(), deferred, flags, dependences, priority, event,
            );
        }
    }
}

/// `#pragma omp taskloop`, over signed or unsigned numbers.
macro_rules! taskloop {
    ($($name:ident: $number:ty;)+) => {
        front! { $(
            /// `#pragma omp taskloop`.
            fn $name(
                body: Body, data: *mut c_void, copy_data: Option<CopyData>, bytes: c_long,
                align: c_long, flags: c_uint, tasks: c_ulong, priority: c_int,
                from: $number, to: $number, step: $number
            ) |next| {
                let Some(thread) = watched() else {
                    // SAFETY: promised by our caller.
                    return unsafe {
                        next(
                            body, data, copy_data, bytes, align, flags, tasks, priority, from,
                            to, step,
                        )
                    };
                };
                let task = Program { body, data, copy: copy_data, bytes, align };
                let reductions = match flags & REDUCTION {
                    0 => 0,
                    // SAFETY: promised by our caller, by the flag.
                    _ => unsafe { data.cast::<u64>().add(2).read() },
                };
                let mut block = Block::new(&task, [0, 0, reductions], 2);
                let waits = flags & NO_GROUP == 0;
                if waits {
                    thread.wait_begins(fathomp_trace::state::State::TaskWait, 0);
                }
                // SAFETY: promised by our caller; the block is there until the call returns, by
                // which time it has been copied.
                unsafe {
                    next(
                        run, (&raw mut block).cast(), Some(copy), block.all_bytes(),
                        task.align_with_block(), flags, tasks, priority, from, to, step,
                    );
                }
                if waits {
                    thread.wait_ends();
                }
            }
        )+ }
    };
}

taskloop! {
    GOMP_taskloop: c_long;
    GOMP_taskloop_ull: c_ulonglong;
}
