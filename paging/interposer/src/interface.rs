//! What fathomp's runtime and the program itself tell the interposer.
//!
//! The runtime looks for [`fathomp_paging_interface`]; programs include
//! `include/fathomp_paging.h`, whose functions do nothing where the interposer is not loaded.

use crate::engine::turn::{Turn, frame};
use crate::engine::{process, thread};
use crate::sink::Identity;
use fathomp_paging::{Activity, Cause, Counter, Ending, MarkKind};
use fathomp_types::interposer::{Interface, Mark, SharedCount, VERSION};
use std::ffi::{CStr, c_char, c_int};
use std::ptr;
use std::slice;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

static INTERFACE: Interface = Interface {
    enter: communicate,
    leave,
    name,
    mark: mark_told,
    counters,
    identity,
    ignore,
    forked,
};

/// Gives the interface of that version; null if the process is not recorded, or if the
/// version is another.
#[unsafe(no_mangle)]
pub extern "C" fn fathomp_paging_interface(version: u32) -> *const Interface {
    if version == VERSION && process::sink().is_some() {
        &raw const INTERFACE
    } else {
        ptr::null()
    }
}

extern "C" fn communicate(cause: u32) {
    enter(Activity::Communication, cause);
}

fn enter(activity: Activity, cause: u32) {
    if let Some(mut turn) = Turn::take(frame()) {
        turn.own().enter_told(activity, Cause(cause));
    }
}

extern "C" fn leave() {
    if let Some(mut turn) = Turn::take(frame()) {
        turn.own().leave_told();
    }
}

unsafe extern "C" fn name(text: *const c_char, length: usize) -> u32 {
    if text.is_null() {
        return 0;
    }
    // SAFETY: the caller gives so many bytes.
    let bytes = unsafe { slice::from_raw_parts(text.cast(), length) };
    let turn = Turn::take(frame());
    let number = match (std::str::from_utf8(bytes), process::sink()) {
        (Ok(text), Some(sink)) => sink.name(text),
        _ => 0,
    };
    drop(turn);
    number
}

extern "C" fn mark_told(number: u32, name: u32) {
    match Mark::from_number(number) {
        Some(Mark::Barrier) => mark(MarkKind::Barrier, name),
        Some(Mark::RegionBegin) => mark(MarkKind::RegionBegin, name),
        Some(Mark::RegionEnd) => mark(MarkKind::RegionEnd, name),
        None => {}
    }
}

fn mark(kind: MarkKind, name: u32) {
    if let Some(mut turn) = Turn::take(frame()) {
        turn.own().mark(kind, name);
    }
}

/// The counter of the first word that the runtime counts in.
const FIRST: usize = Counter::DsmWriteFaults.index();

// The others follow it, in the same order.
const _: () = {
    assert!(Counter::DsmFetchFaults.index() == FIRST + SharedCount::FetchFaults as usize);
    assert!(Counter::DsmPagesIn.index() == FIRST + SharedCount::PagesIn as usize);
    assert!(Counter::DsmPagesOut.index() == FIRST + SharedCount::PagesOut as usize);
    assert!(Counter::DsmBytesIn.index() == FIRST + SharedCount::BytesIn as usize);
    assert!(Counter::DsmBytesOut.index() == FIRST + SharedCount::BytesOut as usize);
};

unsafe extern "C" fn counters(values: *const AtomicU64) {
    if let Some(mut turn) = Turn::take(frame()) {
        let words = match values.is_null() {
            true => &[],
            // SAFETY: the caller gives so many words, which stay until the thread ends or
            // calls again.
            false => unsafe { slice::from_raw_parts(values, SharedCount::COUNT) },
        };
        turn.own().further(words, FIRST);
    }
}

extern "C" fn identity(node: u32, thread: u32) {
    let known = |number: u32| (number != u32::MAX).then_some(number);
    if let Some(mut turn) = Turn::take(frame()) {
        turn.own().identity(&Identity {
            rank: None,
            node: known(node),
            openmp_thread: known(thread),
        });
    }
}

extern "C" fn ignore() {
    if let Some(turn) = Turn::take(frame()) {
        thread::end(turn, Ending::Exit);
    }
}

extern "C" fn forked() {
    process::forked();
}

/// The number of the name of stays that the program tells, once it was asked for.
static PROGRAM: AtomicU32 = AtomicU32::new(u32::MAX);

/// For `fathomp_enter` of the header: the thread enters an activity, a number of
/// [`Activity::ALL`].
#[unsafe(no_mangle)]
pub extern "C" fn fathomp_paging_enter(activity: c_int) {
    let activity = usize::try_from(activity).ok();
    let Some(activity) = activity.and_then(|number| Activity::ALL.get(number)) else {
        return;
    };
    let mut cause = PROGRAM.load(Ordering::Relaxed);
    if cause == u32::MAX {
        let text = c"fathomp_enter";
        // SAFETY: so many bytes.
        cause = unsafe { name(text.as_ptr(), text.count_bytes()) };
        PROGRAM.store(cause, Ordering::Relaxed);
    }
    enter(*activity, cause);
}

/// For `fathomp_leave` of the header: the thread leaves what it entered last.
#[unsafe(no_mangle)]
pub extern "C" fn fathomp_paging_leave() {
    leave();
}

/// For `fathomp_phase` of the header: a phase of that name begins.
///
/// # Safety
/// The name is null or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fathomp_paging_phase(text: *const c_char) {
    if text.is_null() {
        return;
    }
    // SAFETY: promised by our caller.
    let text = unsafe { CStr::from_ptr(text) };
    // SAFETY: so many bytes.
    let number = unsafe { name(text.as_ptr(), text.count_bytes()) };
    mark(MarkKind::Phase, number);
}
