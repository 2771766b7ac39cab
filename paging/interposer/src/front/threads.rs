//! Threads that begin. Their end is told by the C library (`engine::process`).

use super::macros::missing;
use crate::engine::turn::{Turn, frame};
use crate::engine::{Call, blocks, thread};
use fathomp_sys::dlsym_next::function;
use std::ffi::{c_int, c_void};
use std::ptr;

/// What a thread runs, as for `pthread_create`.
type Routine = unsafe extern "C" fn(*mut c_void) -> *mut c_void;
/// What a thread runs, as for `thrd_create`.
type ThrdRoutine = unsafe extern "C" fn(*mut c_void) -> c_int;

/// As `pthread_create`.
///
/// # Safety
/// As of the function behind.
#[unsafe(export_name = "fathomp_paging_front_pthread_create")]
unsafe extern "C" fn pthread_create(
    thread: *mut c_void,
    attributes: *const c_void,
    routine: *mut c_void,
    argument: *mut c_void,
) -> c_int {
    static CALL: Call = call!("pthread_create");
    type Next = unsafe extern "C" fn(*mut c_void, *const c_void, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the function of this name has this type.
    let Some(next) = (unsafe { CALL.next.function::<Next>() }) else {
        return libc::EAGAIN;
    };
    let begin: Routine = begin;
    with_block(
        routine,
        argument,
        begin as *mut c_void,
        |routine, argument| {
            // SAFETY: promised by our caller; `begin` is a routine for the block it is given.
            unsafe { next(thread, attributes, routine, argument) }
        },
    )
}

/// As `thrd_create`.
///
/// # Safety
/// As of the function behind.
#[unsafe(export_name = "fathomp_paging_front_thrd_create")]
unsafe extern "C" fn thrd_create(
    thread: *mut c_void,
    routine: *mut c_void,
    argument: *mut c_void,
) -> c_int {
    static CALL: Call = call!("thrd_create");
    type Next = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_void) -> c_int;
    // SAFETY: the function of this name has this type.
    let Some(next) = (unsafe { CALL.next.function::<Next>() }) else {
        return missing();
    };
    let begin: ThrdRoutine = thrd_begin;
    with_block(
        routine,
        argument,
        begin as *mut c_void,
        |routine, argument| {
            // SAFETY: promised by our caller; `begin` is a routine for the block it is given.
            unsafe { next(thread, routine, argument) }
        },
    )
}

/// Lets `create` make a thread that runs `begin` with a block, in which stands what it is to
/// run. What the sink creates, and what nobody records, runs its routine at once.
fn with_block(
    routine: *mut c_void,
    argument: *mut c_void,
    begin: *mut c_void,
    create: impl Fn(*mut c_void, *mut c_void) -> c_int,
) -> c_int {
    let is_recorded = Turn::take(frame()).is_some();
    let Some(block) = is_recorded.then(blocks::take).flatten() else {
        return create(routine, argument);
    };
    block.prepare(routine, argument);
    let result = create(begin, ptr::from_ref(block).cast_mut().cast());
    if result != 0 {
        thread::give_up(block);
    }
    result
}

/// Begins the record of the thread whose block that is.
///
/// # Safety
/// The block is one that [`with_block`] prepared for this thread.
unsafe fn unpack(block: *mut c_void) -> (*mut c_void, *mut c_void) {
    // SAFETY: blocks stay for ever.
    let block = unsafe { &*block.cast::<thread::Thread>() };
    let prepared = block.prepared();
    thread::begin(block);
    prepared
}

unsafe extern "C" fn begin(block: *mut c_void) -> *mut c_void {
    // SAFETY: only `with_block` names us.
    let (routine, argument) = unsafe { unpack(block) };
    // SAFETY: what the program gave to `pthread_create`.
    unsafe { function::<Routine>(routine)(argument) }
}

unsafe extern "C" fn thrd_begin(block: *mut c_void) -> c_int {
    // SAFETY: as above.
    let (routine, argument) = unsafe { unpack(block) };
    // SAFETY: what the program gave to `thrd_create`.
    unsafe { function::<ThrdRoutine>(routine)(argument) }
}
